// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Copies bytes of the kernel's memory, one page at most, for kernels without /proc/kcore: it is run
 * by BPF_PROG_TEST_RUN, asked and answered through variables that user space has mapped. The kernel
 * refuses to load it under lockdown=confidentiality.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__u64 request_address;
__u32 request_size;
__s32 result;
char data[4096];

SEC("syscall")
int kread(void *ctx)
{
	__u32 size = request_size;

	if (size > sizeof(data))
		size = sizeof(data);
	result = bpf_probe_read_kernel(data, size, (const void *)request_address);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
