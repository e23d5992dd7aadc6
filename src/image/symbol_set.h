/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_SYMBOL_SET_H
#define CULPRIT_IMAGE_SYMBOL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/symbols.h"
#include "util/buf.h"

/*
 * Symbols as they are found, with aliases, overlaps and missing sizes, on their way to the sorted
 * and disjoint functions of struct image_symbols. Only for the readers within src/image.
 */

/* A name longer than this is not kept: its function counts as unnamed. */
#define SYMBOL_NAME_MAX 16384

struct symbol_candidate {
	uint64_t start, size; /* size 0: not known, up to the next start */
	uint64_t limit;	      /* the end of its section: it cannot reach further; 0: not known */
	uint32_t name;	      /* offset in names; 0: none */
	uint32_t order;	      /* of several at one start, the lowest rank, then order, wins */
	uint8_t rank;
};

/* Ranks: which name of an address is shown, namely the one a user of the image would call it by. */
enum symbol_rank {
	SYMBOL_GLOBAL,	/* global and weak functions */
	SYMBOL_LOCAL,	/* static functions */
	SYMBOL_LABEL,	/* labels of assembly, without a type */
	SYMBOL_START,	/* a start without a name, from .eh_frame */
	SYMBOL_SECTION, /* a region of code that is nothing else */
};

struct symbol_set {
	struct symbol_candidate *list;
	size_t count, room, max_bytes;
	struct buf names;
	uint64_t names_refused;
};

int symbol_set_init(struct symbol_set *s, size_t max_bytes);
void symbol_set_free(struct symbol_set *s);
/*
 * Adds c under name (NULL or "": none); its field name is filled in here. A name past the limits is
 * refused, and counted, and the function kept. 0, -ENOMEM, or -EFBIG when the table is full.
 */
int symbol_set_add(struct symbol_set *s, const struct symbol_candidate *c, const char *name);
/* Sorts, resolves aliases and overlaps, and makes the result. The set is left empty. */
int symbol_set_finish(struct symbol_set *s, const char *source, struct image_symbols **ret);

/* The rows of struct image_symbols, as symbol_set_finish and the loader hand them over. */
struct symbol_row {
	uint64_t start;
	uint32_t size;	    /* a function over 4 GiB is cut */
	uint32_t name : 31; /* offset in the names, 0: none, FUN_... is made up when asked for */
	uint32_t local : 1; /* the symbol's binding */
};
struct symbol_rows {
	struct symbol_row *list;
	size_t count;
	char *names; /* begins with a zero byte */
	size_t names_size;
	uint64_t names_refused;
};
/* Takes over what is in them (malloc'ed) when it succeeds. */
int image_symbols_new(const struct symbol_rows *rows, const char *source,
		      struct image_symbols **ret);

#endif
