/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_LINE_TABLE_H
#define CULPRIT_IMAGE_LINE_TABLE_H

#include <stdbool.h>
#include "image/lines.h"
#include "image/range.h"

/*
 * The source positions of all addresses of some functions, as runs of addresses that have the same:
 * what a database keeps of an image's debug information (db/blob.h, kinds "lines" and "told").
 */
struct image_line_table {
	struct image_range *ranges; /* ascending, not overlapping: what the table covers fully */
	size_t range_count, range_room;
	uint64_t *starts; /* of runs, ascending; each range begins with one */
	size_t run_count, run_room;
	struct image_lines *lines; /* of the runs; not finished: only to be copied from */
};

#define LINE_TABLE_MAX_BYTES (32u << 20) /* of the saved form */
#define LINE_TABLE_MAX_RUNS  (2u << 20)
/* So that the collector can merge two: a program of many inlined calls has 64 at each address. */
#define LINE_TABLE_MAX_FRAMES (2u << 20)

void image_line_table_free(struct image_line_table *t); /* what it owns; may be {0} */

/*
 * Reads the functions at the ranges (ascending, not overlapping), as image_lines_read() would for
 * each address. A range of which nothing is known is left out. -EFBIG: too many runs. -ENOENT:
 * neither file has debug information, which a call with no ranges finds out cheaply.
 */
int image_line_table_read(int fd, int debug_fd, const struct image_range *ranges, size_t count,
			  struct image_line_table *ret, struct diag *diag);
/* Merges both; where ranges overlap, a's win. -EFBIG as above: too many runs, or frames of them. */
int image_line_table_merge(const struct image_line_table *a, const struct image_line_table *b,
			   struct image_line_table *ret);
/* A table of single addresses, ascending; UINT64_MAX is left out. lines is taken over if it returns
 * 0.
 */
int image_line_table_of(const uint64_t *addresses, size_t count, struct image_lines *lines,
			struct image_line_table *ret);
/* The run that address is in, SIZE_MAX: it is in no range. */
size_t image_line_table_find(const struct image_line_table *t, uint64_t address);

/* Loading is safe on hostile bytes (-EBADMSG). */
int image_line_table_save(const struct image_line_table *t, struct buf *out);
int image_line_table_load(const void *data, size_t size, struct image_line_table *ret);

/* Making a table: add a range, then its runs, the first at its start, with the frames of address k
 * of from. Runs that repeat the one before are left out. Begin with {.lines = } made for as many
 * runs as there may be; end with image_line_table_finish. */
int image_line_table_add_range(struct image_line_table *t, struct image_range range);
int image_line_table_add_run(struct image_line_table *t, uint64_t start,
			     const struct image_lines *from, size_t k);
void image_line_table_finish(struct image_line_table *t);

#endif
