/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_PAIRS_H
#define CULPRIT_DB_PAIRS_H

#include "db/batch.h"

/*
 * Raw records of kind DB_RAW_PAIR: two samples of a CPU, one after the other, of which the first
 * was at the record's place. With a target the second was of the same thread, which was not
 * switched out in between, and is where that was. Without one, and without registers, the thread
 * was elsewhere: in the kernel, or it slept. Where it was only made to wait there is no record.
 *
 * Register N of the record has how two general registers changed, those of numbers 2N and 2N + 1
 * (isa/operands.h), the first in the lower half; one that is 0 is left out. No value of a register
 * is kept but small ones that stayed, which may be strides.
 */
#define DB_PAIR_REGISTERS 16

#define DB_PAIR_UNTOLD	INT32_MIN   /* changed by more than has room */
#define DB_PAIR_CHANGE	(1ll << 30) /* changes are below */
#define DB_PAIR_STAYING (1ll << 20) /* values that stay are below, or are not told */

/* Even: twice the change; odd: twice the value, which stayed, and 1; 0: stayed. */
static inline int32_t db_pair_change(uint64_t before, uint64_t after)
{
	const int64_t change = (int64_t)(after - before), value = (int64_t)before;

	if (!change)
		return value > -DB_PAIR_STAYING && value < DB_PAIR_STAYING
			       ? (int32_t)(2 * value + 1)
			       : 0;
	return change > -DB_PAIR_CHANGE && change < DB_PAIR_CHANGE ? (int32_t)(2 * change)
								   : DB_PAIR_UNTOLD;
}

/* Whether it stayed; if it changed, by how much (0: not told). */
static inline bool db_pair_stayed(int32_t change)
{
	return !change || change & 1;
}

static inline int64_t db_pair_by(int32_t change)
{
	return db_pair_stayed(change) || change == DB_PAIR_UNTOLD ? 0 : change / 2;
}

/* What it had, where it stayed and that is told; else 0. */
static inline int64_t db_pair_value(int32_t change)
{
	return change & 1 ? ((int64_t)change - 1) / 2 : 0;
}

/* Of a pair with a second half: sets form and values. */
static inline void db_pair_put(struct db_raw *raw, const int32_t changes[DB_PAIR_REGISTERS])
{
	unsigned count = 0;

	raw->form.kind = DB_RAW_PAIR;
	raw->form.mask = 0;
	for (unsigned i = 0; i < DB_PAIR_REGISTERS; i += 2) {
		const uint64_t both =
			(uint64_t)(uint32_t)changes[i + 1] << 32 | (uint32_t)changes[i];

		if (!both)
			continue;
		raw->form.mask |= 1u << i / 2;
		raw->values[count++] = both;
	}
}

static inline void db_pair_get(const struct db_raw_form *form, const uint64_t *values,
			       int32_t changes[DB_PAIR_REGISTERS])
{
	for (unsigned i = 0; i < DB_PAIR_REGISTERS; i += 2) {
		const uint64_t both = form->mask >> i / 2 & 1 ? *values++ : 0;

		changes[i] = (int32_t)(uint32_t)both;
		changes[i + 1] = (int32_t)(uint32_t)(both >> 32);
	}
}

#endif
