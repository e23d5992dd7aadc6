/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BENCH_SAMPLER_COST_H
#define CULPRIT_BENCH_SAMPLER_COST_H

#include <bpf/bpf.h>
#include <unistd.h>
#include "collect/events/sampler_state.h"

/* Before the start: gives every event the program that does nothing instead. */
static inline int sampler_nothing(struct sampler *s, struct diag *diag)
{
	for (size_t i = 0; i < s->cpus.count * s->event_count; i++) {
		if (s->links[i] < 0)
			continue;
		close(s->links[i]);
		s->links[i] = sampler_attach(s, s->fds[i], true, diag);
		if (s->links[i] < 0)
			return s->links[i];
	}
	return 0;
}

/* Total run time and runs of the sampling program or the one that does nothing, while the kernel
 * keeps BPF statistics. */
static inline int sampler_read_cost(const struct sampler *s, bool nothing, uint64_t *ret_ns,
				    uint64_t *ret_runs)
{
	const struct bpf_program *p = nothing ? s->bpf->progs.sample_nothing : s->bpf->progs.sample;
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int r = bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size);

	if (r)
		return r;
	*ret_ns = info.run_time_ns;
	*ret_runs = info.run_cnt;
	return 0;
}

#endif
