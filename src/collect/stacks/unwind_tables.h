/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_UNWIND_TABLES_H
#define CULPRIT_COLLECT_STACKS_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "collect/process/originals.h"
#include "image/facts.h"
#include "unwind/unwind.h"

/*
 * The unwind tables of files, in memory that is shared with the in-kernel program: rows of 4 bytes
 * that name rules which all files share. Tables are placed as they come; when there is no room, the
 * least recently used make it.
 */
struct unwind_tables;

/* Where tables go: the maps of the unwinder, or a test's. */
struct unwind_memory {
	uint32_t *rows;
	struct wire_unwind_rule *rules;
	uint32_t row_count, rule_count, slot_count;
	/* Makes the memory of rows [first, first + count), which grows as it is used; NULL: it is
	 * there. 0 or -ENOMEM. */
	int (*reach)(void *arg, uint32_t first, uint32_t count);
	int (*put)(void *arg, uint32_t slot, const struct wire_unwind_table *table);
	/* Returns when no program uses a table that was taken away before. */
	int (*quiesce)(void *arg);
	void *arg;
};

struct unwind_tables *unwind_tables_new(const struct unwind_memory *memory);
void unwind_tables_free(struct unwind_tables *t);

/*
 * Places the table of a slot, whose addresses are those of the segments. u may be
 * NULL: no code has a row. 0; -ENOSPC: larger than all the memory; -ERANGE: no
 * such slot; -ENOMEM.
 */
int unwind_tables_put(struct unwind_tables *t, uint32_t slot, const struct image_unwind *u,
		      const struct image_segment *segments, uint32_t segment_count);
/* The same, of a table of originals: the runs of a file of copies, ascending. */
int unwind_tables_put_originals(struct unwind_tables *t, uint32_t slot,
				const struct originals_run *runs, size_t count);
void unwind_tables_drop(struct unwind_tables *t, uint32_t slot);
/* Notes that a stack went through it. */
void unwind_tables_use(struct unwind_tables *t, uint32_t slot);

/* The rule of a file offset by the table of a slot, as the program finds it; NULL: there is no
 * table. One with WIRE_CFA_NONE: nothing has a rule there. */
const struct wire_unwind_rule *unwind_tables_find(const struct unwind_tables *t, uint32_t slot,
						  uint32_t offset);

struct unwind_tables_counters {
	uint64_t tables, rows, rules;	   /* there now; rows: with those that pages take */
	uint64_t placed, evicted, refused; /* refused: rows whose rule found no number */
};
void unwind_tables_count(const struct unwind_tables *t, struct unwind_tables_counters *ret);

#endif
