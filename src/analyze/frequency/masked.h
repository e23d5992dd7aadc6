/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_MASKED_H
#define CULPRIT_ANALYZE_FREQUENCY_MASKED_H

#include "cfg/cfg.h"

/*
 * Time in kernel code that runs with interrupts off. Where a timer's interrupt takes the samples
 * (cpu-clock; hardware counters interrupt always), those that fall due there are taken where
 * interrupts are enabled again. They tell of the code before, and nothing of the place they show.
 */

/*
 * The sti or popf after which an interrupt that had to wait is taken at instruction at, of block;
 * CFG_OUTSIDE: there is none in this function.
 */
uint32_t masked_until(const struct cfg_function *f, uint32_t block, uint32_t at);

#endif
