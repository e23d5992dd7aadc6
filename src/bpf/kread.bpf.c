// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What the kernel tells of itself by an address: its memory, for kernels without /proc/kcore, and
 * the name of code. Run by BPF_PROG_TEST_RUN, asked and answered through variables that user space
 * has mapped. The kernel refuses to load it under lockdown=confidentiality.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__u64 request_address;
__u32 request_size;
__s32 result;
char data[4096];

/* Copies bytes, one page at most. */
SEC("syscall")
int kread(void *ctx)
{
	__u32 size = request_size;

	if (size > sizeof(data))
		size = sizeof(data);
	result = bpf_probe_read_kernel(data, size, (const void *)request_address);
	return 0;
}

/* "symbol+0xoffset/0xsize", with " [module]" behind; or the address, if nothing is there. */
SEC("syscall")
int kname(void *ctx)
{
	static const char format[] = "%pS";
	__u64 address = request_address;

	result = bpf_snprintf(data, sizeof(data), format, &address, sizeof(address));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
