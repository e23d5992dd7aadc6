/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_CLOCK_METER_H
#define CULPRIT_COLLECT_COST_CLOCK_METER_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_METER_READINGS 64

/*
 * How fast the processor's clock is while samples are taken: the host of a virtual machine, and
 * what else runs on its processors, change it from one minute to the next, and nothing shows it but
 * a chain of additions, each of which takes a cycle. Zeros at first. However long it goes on, the
 * number of readings stays the same, spread over all of the time.
 */
struct clock_meter {
	double hz[CLOCK_METER_READINGS];
	size_t count;
	uint64_t gap_ns, next_ns;
	uint64_t begun_ns, interrupts; /* as clock_meter_begin was told */
};

/* Begins anew, without readings; interrupts: those so far (host_interrupts). */
void clock_meter_begin(struct clock_meter *m, uint64_t now_ns, uint64_t interrupts);
/*
 * The share of a CPU's time that interrupts took since the beginning, each at the same cost: those
 * of samples, the scheduler's, other tools'. 0: it is not known.
 */
double clock_meter_interrupted(const struct clock_meter *m, uint64_t now_ns, uint64_t interrupts,
			       unsigned cpus, double cost_ns);

/* Cycles a second now, between interrupts; takes 60 us of this CPU. 0: not on this processor. */
double clock_meter_read(void);
/* Reads it if that is due. */
void clock_meter_look(struct clock_meter *m, uint64_t now_ns);
/* A reading from elsewhere; <= 0 is none. */
void clock_meter_take(struct clock_meter *m, double hz);
/*
 * The median of the readings, 0: there are none; *ret_deviation: the deviation of its logarithm, by
 * the quartiles of the readings and their number.
 */
double clock_meter_hz(const struct clock_meter *m, double *ret_deviation);

#endif
