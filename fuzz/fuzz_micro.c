/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Code of any bytes, translated and interpreted from any registers over a small memory. The first
 * 256 bytes set registers and memory, the rest is code, a strip of it at most.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/interpret_user.h"
#include "isa/micro.h"

#define CODE 0x400000u
#define DATA 0x10000u
#define HEAD 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[4096];
static struct wire_strip strip;
static struct wire_micro micros[WIRE_STRIP_BYTES];

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	(void)context;
	if (address < DATA || address - DATA > sizeof(memory) - size)
		return -1;
	memcpy(to, memory + (address - DATA), size);
	return 0;
}

static const struct wire_strip *find_strip(void *context, struct wire_strip_key key)
{
	(void)context;
	return key.slot == 1 && key.number == 0 ? &strip : NULL;
}

static const struct wire_micro *find_micro(void *context, uint32_t index)
{
	(void)context;
	return index < strip.count ? &micros[index] : NULL;
}

static int find_mapping(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
			uint64_t *ret_end, uint64_t *ret_shift)
{
	(void)context;
	if (address < CODE || address >= CODE + WIRE_STRIP_BYTES)
		return WIRE_END_NO_FILE;
	*ret_slot = 1;
	*ret_begin = CODE;
	*ret_end = CODE + WIRE_STRIP_BYTES;
	*ret_shift = 0ull - CODE;
	return 0;
}

static void check_strip(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < WIRE_STRIP_WORDS; i++) {
		if (strip.rank[i] != count)
			abort();
		count += (unsigned)__builtin_popcountll(strip.starts[i]);
	}
	if (count != strip.count)
		abort();
	for (unsigned i = 0; i < count; i++)
		if (micros[i].op >= MICRO_OPS || (micros[i].length & 15) == 0)
			abort();
}

static void check_window(const struct wire_window *w, const uint64_t *path)
{
	if (w->instructions > WIRE_WINDOW_INSTRUCTIONS || w->edge_count > w->instructions ||
	    w->end_reason >= WIRE_END_REASONS ||
	    (w->end_reason == WIRE_END_FULL && w->instructions != WIRE_WINDOW_INSTRUCTIONS) ||
	    w->address != path[w->instructions])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct interpret_user user = {NULL, read_memory, find_strip, find_micro,
						   find_mapping};
	static struct isa_micro *micro;
	uint64_t path[WIRE_WINDOW_INSTRUCTIONS + 1], starts[2] = {0, 0};
	struct interpret_registers r = {.pc = CODE, .fs_base = DATA};
	struct wire_window window;
	struct diag diag;

	if (size <= HEAD)
		return 0;
	if (!micro && isa_micro_new(EM_X86_64, &micro, &diag))
		abort();
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = data[i % HEAD];
	memcpy(r.gpr, data, sizeof(r.gpr));
	memcpy(&r.flags, data + sizeof(r.gpr), sizeof(r.flags));
	/* Half of the registers point to memory. */
	for (unsigned i = 0; i < 16; i++)
		if (data[HEAD - 16 + i] & 1)
			r.gpr[i] = DATA + r.gpr[i] % sizeof(memory);
	starts[1] = data[HEAD - 1];
	struct isa_micro_code code = {data + HEAD, 0, size - HEAD, starts, 1u + (starts[1] != 0)};
	isa_micro_strip(micro, &code, 0, &strip, micros);
	check_strip();
	interpret_user(&user, &r, WIRE_WINDOW_INSTRUCTIONS, &window, NULL, path);
	check_window(&window, path);
	return 0;
}
