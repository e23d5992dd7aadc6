/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_PAIRS_H
#define CULPRIT_DB_PAIRS_H

#include "db/batch.h"

/*
 * Raw records of kind DB_RAW_PAIR: two consecutive samples of one CPU, the first of them at the
 * record's image and offset. A record with a target says that the second sample was of the same
 * thread, which was not switched out in between, and hit the target. A record without target and
 * registers says that the thread was elsewhere by then: in the kernel, or asleep. There is no
 * record if the thread had only been made to wait.
 *
 * Value N of the record says how two general registers changed, those numbered 2N and 2N + 1 in
 * isa/operands.h, the first in the lower half; a value of 0 is left out. The content of a register
 * is kept only if it stayed the same and is small: then it may be a stride.
 */
#define DB_PAIR_REGISTERS 16

#define DB_PAIR_UNTOLD	INT32_MIN   /* the change is too large to be kept */
#define DB_PAIR_CHANGE	(1ll << 30) /* kept changes are less than this, either sign */
#define DB_PAIR_STAYING (1ll << 20) /* likewise kept contents that stayed */

/* Encodes the change of a register: twice the change if it changed (even); twice its content plus 1
 * if it stayed (odd); 0 if it stayed and the content is not kept; DB_PAIR_UNTOLD. */
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

/* Whether the register stayed the same; below, by how much it changed (0: it stayed, or not
 * kept). */
static inline bool db_pair_stayed(int32_t change)
{
	return !change || change & 1;
}

static inline int64_t db_pair_by(int32_t change)
{
	return db_pair_stayed(change) || change == DB_PAIR_UNTOLD ? 0 : change / 2;
}

/* Its content, if it stayed and the content was kept; else 0. */
static inline int64_t db_pair_value(int32_t change)
{
	return change & 1 ? ((int64_t)change - 1) / 2 : 0;
}

/* Sets form and values of the record of a pair that has a target. */
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
