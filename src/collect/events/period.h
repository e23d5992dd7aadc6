/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_PERIOD_H
#define CULPRIT_COLLECT_EVENTS_PERIOD_H

#include <stdint.h>

/* Half width of the range that periods are drawn from, as a share of the nominal. */
#define PERIOD_WIDTH_DEFAULT 0.125
#define PERIOD_WIDTH_MAX     0.5
/* A period is kept for about this many samples, but not redrawn more often than this. */
#define PERIOD_SAMPLES_PER_DRAW 64
#define PERIOD_DRAW_MIN_NS	250000000

/* Random sampling periods of one event on one CPU; period.c says why and how. */
struct period {
	uint64_t low, high;	   /* the range, including both ends, in units of the event */
	uint64_t draw_interval_ns; /* mean time between redraws */
	uint64_t state, stream;	   /* of the generator */
};

/*
 * nominal: the period wished for, in units of the event; rate_hz: samples a second that it gives on
 * a busy CPU (for a clock 1e9 / nominal); width: PERIOD_WIDTH_DEFAULT, or 0 to PERIOD_WIDTH_MAX, 0
 * for a fixed period. Equal seeds give equal periods; different CPUs and events (stream)
 * independent ones.
 */
void period_init(struct period *p, uint64_t nominal, double rate_hz, double width, uint64_t seed,
		 uint64_t stream);
/* A planned period at another rate, factor times the planned one: at least 1, as the kernel takes 0
 * for an event that only counts. */
uint64_t period_at(uint64_t planned, double factor);
/* The next period, for PERF_EVENT_IOC_PERIOD. */
uint64_t period_draw(struct period *p);
/* How long to keep it: uniform between half and one and a half times the mean interval. */
uint64_t period_draw_interval_ns(struct period *p);

#endif
