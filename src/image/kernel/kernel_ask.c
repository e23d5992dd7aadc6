/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A region found by one of its addresses. Most machines run a handful of BPF programs that were
 * loaded before a recording began, and a scan of all names for the first sample in one of them is
 * dearer than all else that a short recording does.
 */
#include "image/kernel/kernel_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "image/kernel/kernel.h"
#include "image/kernel/kernel_read.h"
#include "image/kernel/kernel_state.h"

/* BPF programs have no module here; trampolines of ftrace and kprobes have one of their own. */
static bool is_lone_code(const char *name, const char *module)
{
	return *module ? strcmp(module, "[bpf]") == 0 || strncmp(module, "[__builtin__", 12) == 0
		       : strncmp(name, "bpf_", 4) == 0;
}

int kernel_answer_parse(const char *text, uint64_t address, struct kernel_answer *ret)
{
	struct kernel_answer a = {0};
	char module[64] = "";
	uint64_t offset;
	int end = 0;

	if (strncmp(text, "0x", 2) == 0)
		return -ENOENT;
	if (sscanf(text, "%511[^+]+0x%" SCNx64 "/0x%" SCNx64 "%n", a.name, &offset, &a.size,
		   &end) != 3 ||
	    !end || (text[end] && sscanf(text + end, " %63s", module) != 1) || offset >= a.size ||
	    offset > address || !is_lone_code(a.name, module))
		return -EAGAIN;
	a.start = address - offset;
	*ret = a;
	return 0;
}

void kernel_note_unnamed(struct image_kernel *k, uint64_t address)
{
	uint64_t chunk = address / KERNEL_CHUNK_BYTES;

	k->unnamed_chunks[chunk % KERNEL_UNNAMED_CHUNKS] = chunk;
}

const struct image_kernel_region *image_kernel_unnamed(const struct image_kernel *k,
						       uint64_t address)
{
	uint64_t chunk = address / KERNEL_CHUNK_BYTES;

	if (k->unnamed_chunks[chunk % KERNEL_UNNAMED_CHUNKS] != chunk ||
	    address < k->unnamed.start || address >= k->unnamed.end)
		return NULL;
	return &k->unnamed;
}

int image_kernel_ask(struct image_kernel *k, uint64_t address)
{
	char text[2 * KERNEL_SYMBOL_MAX];
	struct kernel_answer a;

	if (*k->root || k->mute)
		return -EAGAIN;
	k->counts.asked++;
	int r = kernel_name_bpf(&k->reader, address, text, sizeof(text));
	if (r) {
		k->mute = true;
		return -EAGAIN;
	}
	r = kernel_answer_parse(text, address, &a);
	if (r == -ENOENT)
		kernel_note_unnamed(k, address);
	return r ?: image_kernel_ksymbol(k, a.start, a.size, a.name, 0);
}
