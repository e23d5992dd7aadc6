/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_TICK_H
#define CULPRIT_COLLECT_EVENTS_TICK_H

#include <bpf/btf.h>
#include <stdint.h>
#include "bpf/wire.h"
#include "util/diag.h"

/*
 * The scheduler's tick as a source of samples. Every busy CPU takes it anyway, by a timer in the
 * kernel's per-CPU memory. The kernel's types (BTF) tell where in that memory a program finds what
 * it needs, so neither names of functions nor addresses are used.
 */

/* The per-CPU variables that this needs, NULL after the last. */
extern const char *const tick_variables[];
#define TICK_SECTION ".data..percpu"

/* Time between two ticks of a busy CPU. */
uint64_t tick_period_ns(void);

/* Whether every busy CPU takes ticks, by a timer that can be followed. -EOPNOTSUPP: not here, and
 * why. root as in host.h. */
int tick_check(const char *root, struct diag *diag);

/* Whether ticks can be sampled here: the same, and the kernel's types say where they are.
 * -EOPNOTSUPP: not, and why. */
int tick_offered(struct diag *diag);

/* Where things are; btf: the kernel's types, or the part of kernel_types.h. The event's number is
 * left to the caller. -EOPNOTSUPP: they do not say. */
int tick_find(const struct btf *btf, struct wire_tick *ret, struct diag *diag);

#endif
