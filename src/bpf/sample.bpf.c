// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("perf_event")
int sample(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
