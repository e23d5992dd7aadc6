/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_COUNTED_H
#define CULPRIT_EXCHANGE_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/frequency/frequency.h"
#include "cfg/cfg.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "util/buf.h"

/* What optimisers are told of an image: how often blocks and edges of its functions ran. */

struct counted_function {
	const struct cfg_function *function;
	uint64_t entries;		/* calls of it */
	const uint64_t *blocks, *edges; /* as in the function */
	bool counted;			/* its counts are exact, not estimates */
};

struct counted_image {
	const char *path;
	const struct image_symbols *symbols; /* NULL: it has none */
	const struct counted_function *functions;
	size_t function_count;
};

/* Frees the functions' arrays and the rest. */
struct counted_set {
	struct counted_image image;
	struct arena *memory;
};

/* From the estimates of one image's functions, rounded. -ENOMEM. */
int counted_new(const struct frequency_function *functions, size_t count, struct counted_set **ret);

/*
 * From samples alone (analyze/frequency/rough_counts.h): counts are relative to each other within a
 * function, and hardly more. rows: of one event, by ascending offset. -ENOMEM.
 */
struct counted_sample {
	uint64_t offset, count;
};
int counted_new_rough(struct cfg_image *graphs, const struct counted_sample *rows, size_t count,
		      struct counted_set **ret);
void counted_free(struct counted_set *s);

/*
 * For BOLT. Both have each branch that was taken, each call with a known target, each fall-through
 * from a block to the next, and the calls from elsewhere. Counts of 0 are left out. Errors are kept
 * in the buffer.
 *
 * bolt_write_preaggregated: by address, for perf2bolt -pa, which needs no symbols.
 * bolt_write_fdata: by symbol and offset, for llvm-bolt -data. Without symbols it is empty.
 */
void bolt_write_preaggregated(const struct counted_image *image, struct buf *out);
void bolt_write_fdata(const struct counted_image *image, struct buf *out);

/*
 * For people and scripts: every block of the functions that ran, with its instructions and
 * executions, a line each, under a line for its procedure (doc/exchange.md).
 */
void block_counts_write(const struct counted_image *image, struct buf *out);

/*
 * For compilers: the text form of AutoFDO's profiles, by function and line, with what was inlined
 * below its call (clang.llvm.org, User's Manual, "Sample Profile Text Format"). lines: the source
 * positions of each address that autofdo_addresses gave, in its order. -ENOMEM; -EFBIG.
 */
int autofdo_addresses(const struct counted_image *image, uint64_t **ret, size_t *ret_count);
int autofdo_write(const struct counted_image *image, const struct image_lines *lines,
		  struct buf *out);

#endif
