/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/kread.skel.h"

struct kread_bpf {
	struct kread_bpf_skel *skel;
};

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

void kread_bpf_free(struct kread_bpf *reader)
{
	if (!reader)
		return;
	kread_bpf_skel__destroy(reader->skel);
	free(reader);
}

static int kread_load(struct kread_bpf **ret, struct diag *diag)
{
	struct kread_bpf *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	/* What the library would print is in the result. */
	libbpf_print_fn_t print = libbpf_set_print(print_nothing);
	errno = 0;
	reader->skel = kread_bpf_skel__open_and_load();
	int r = reader->skel ? 0 : errno ? -errno : -EINVAL;
	libbpf_set_print(print);
	if (!r) {
		*ret = reader;
		return 0;
	}
	kread_bpf_free(reader);
	return diag_fail(diag, -r, "a BPF program that reads it cannot be loaded: %s",
			 strerror(-r));
}

/* What the program returned in result, or why it did not run. */
static int run(struct kread_bpf *reader, const struct bpf_program *program, uint64_t address,
	       uint32_t size)
{
	struct kread_bpf_skel__bss *shared = reader->skel->bss;
	LIBBPF_OPTS(bpf_test_run_opts, options);

	shared->request_address = address;
	shared->request_size = size;
	shared->result = -EFAULT;
	int r = bpf_prog_test_run_opts(bpf_program__fd(program), &options);
	return r ?: shared->result;
}

static int kread_piece(struct kread_bpf *reader, uint64_t address, void *out, uint32_t size)
{
	int r = run(reader, reader->skel->progs.kread, address, size);

	if (!r)
		memcpy(out, reader->skel->bss->data, size);
	return r;
}

int kernel_name_bpf(struct kread_bpf **reader, uint64_t address, char *out, size_t size)
{
	int r = *reader ? 0 : kread_load(reader, NULL);

	if (!r)
		r = run(*reader, (*reader)->skel->progs.kname, address, 0);
	if (r < 0)
		return r;
	if ((size_t)r > size || (size_t)r > sizeof((*reader)->skel->bss->data) || !r)
		return -EFBIG;
	memcpy(out, (*reader)->skel->bss->data, (size_t)r);
	out[r - 1] = 0;
	return 0;
}

int kernel_read_bpf(struct kread_bpf **reader, uint64_t address, void *out, size_t size,
		    struct diag *diag)
{
	int r = *reader ? 0 : kread_load(reader, diag);

	if (r)
		return r;
	const size_t piece_max = sizeof((*reader)->skel->bss->data);
	for (size_t done = 0; done < size;) {
		size_t piece = size - done < piece_max ? size - done : piece_max;

		r = kread_piece(*reader, address + done, (char *)out + done, (uint32_t)piece);
		if (r)
			return diag_fail(diag, -r,
					 "the kernel's memory at 0x%" PRIx64 " cannot be read: %s",
					 address + done, strerror(-r));
		done += piece;
	}
	return 0;
}
