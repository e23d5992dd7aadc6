/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_CORE_MEASURE_H
#define CULPRIT_COLLECT_COST_CORE_MEASURE_H

#include "collect/cost/core_meter.h"
#include "machine/measured.h"
#include "util/diag.h"

/*
 * Measures how long the loops of machine/loops.h take on this machine: once, in at most half a
 * second of CPU time; kept in a cache by processor and microcode. Needs no privileges and no
 * counters.
 */

/* Cycles of a round of a loop, or 0 (core_meter_cycles; tests have their own). */
typedef double core_measure_meter(struct core_meter *m, machine_loop_run *run, void *buffer,
				  double patience_ns);

/*
 * Measures each loop of this processor three times, in separate rounds. -ENODATA, with the reason:
 * the times contradict one another, as they do beside neighbours on the same core, or no core can
 * have them; such a measurement must not be used. -EOPNOTSUPP: there are no loops for this
 * processor.
 */
int core_measure_loops(const struct machine_cpu *cpu, core_measure_meter *meter,
		       struct machine_measured *ret, struct diag *diag);

/* From the cache only: 0 or -ENOENT. */
int core_measure_recall(struct machine_measured *ret);
/* Measures on one CPU and fills the cache (one that cannot be written is not an error). Fails as
 * core_measure_loops. */
int core_measure(struct machine_measured *ret, struct diag *diag);

#define CORE_MEASURE_AGAIN_S 3600 /* after a measurement that could not be used */

/* The facts of a profile: which core it is, in words, and what was measured of it ("" when nothing
 * could be). From the cache, or measured now, unless that failed within CORE_MEASURE_AGAIN_S.
 * directory as in remembered.h. */
struct core_facts {
	char core[320];
	char loops[MACHINE_MEASURED_TEXT];
};
void core_measure_learn(const char *directory, core_measure_meter *meter, struct core_facts *ret);

/* The cache; directory as in remembered.h. */
int core_measure_cache_read(const char *directory, struct machine_measured *ret);
int core_measure_cache_write(const char *directory, const struct machine_measured *x);

#endif
