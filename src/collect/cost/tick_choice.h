/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_TICK_CHOICE_H
#define CULPRIT_COLLECT_COST_TICK_CHOICE_H

#include <stdbool.h>
#include "collect/events/event.h"
#include "util/diag.h"

/*
 * Which samples of time the daemon takes with --ticks where there are no hardware counters: those
 * of the scheduler's tick, which cost their handler, where timers of our own are dear, as in most
 * virtual machines; else timers, which are random.
 */

/* From this cost of an interrupt on. At it, 1% pays for about twice as many random samples as a
 * tick of 250 Hz gives for nothing. */
#define TICK_CHOICE_DEAR_NS 10000.0

/* Random samples a second, at most, beside ticks that were chosen: the least that tell which
 * programs are in step with the tick. */
#define TICK_CHOICE_RANDOM_HZ 40.0

/*
 * Whether ticks are to be taken, and e beside them, instead of e alone: e is "cpu-clock", the
 * kernel offers ticks, and an interrupt costs too much. *ret_why: why not, "" where e is another
 * event.
 */
bool tick_choice_at(const struct event *e, double interrupt_ns, struct diag *ret_why);

/* The same at the cost of a sample of any process, as remembered (cost_cache.h) or measured now
 * (0.2 to 0.4 s, up to 1.2 s on a busy machine). */
bool tick_choice_make(const struct event *e, struct diag *ret_why);

#endif
