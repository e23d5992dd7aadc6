/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_SETUP_H
#define CULPRIT_SIM_SETUP_H

#include <stddef.h>
#include "machine/core.h"
#include "util/diag.h"

/*
 * The core that is modelled: one of the tables of machine/, which a person may change, and what
 * these do not have, as ways of caches.
 */
struct sim_config {
	struct machine_core core;
	unsigned l1i_kbytes, l1i_ways, l1d_ways, l2_ways, l3_ways;
	unsigned itlb_pages, tlb_ways, tlb2_cycles, walk_cycles;
	unsigned line_cycles;	 /* from one line that memory brings to the next: its bandwidth */
	unsigned prefetch_lines; /* ahead, by the streams; 0: none */
	unsigned stride_ahead;	 /* steps ahead, by the strides of instructions; 0: none */
	unsigned predictor_kentries;
};

void sim_config_init(struct sim_config *c, const struct machine_core *core);
/* Takes "KEY=VALUE". -EINVAL with the sentence: no such key, no number, or none that a core can
 * have. */
int sim_config_set(struct sim_config *c, const char *text, struct diag *diag);
/* The keys, one after the other, with the value that each has now and what it is; NULL after the
 * last. */
const char *sim_config_key(const struct sim_config *c, size_t index, unsigned *ret_value,
			   const char **ret_help);

#endif
