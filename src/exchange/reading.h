/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_READING_H
#define CULPRIT_EXCHANGE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exchange/harvest.h"
#include "image/facts.h"
#include "unwind/unwind.h"
#include "util/diag.h"

/* What a reader (readers.h) has: its input, and whom it may ask. */

struct reading_code { /* of an image */
	struct image_segment *segments;
	uint32_t segment_count;
	struct image_unwind *unwind; /* NULL: it has no table */
	const uint8_t *file;	     /* as it is mapped; NULL: not available */
	size_t file_size;
};

/* Whom a reader may ask, as it cannot look at anything itself. */
struct reading_host {
	/* The code of an image: 0, and the caller frees *ret; otherwise its file is not there. */
	int (*find_code)(void *arg, const struct harvest_image *image, struct reading_code *ret);
	/* How far it has come; of: 0 when that is not known. */
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};

struct reading {
	int fd;	      /* a regular file, or a pipe */
	uint64_t key; /* tells this input from others */
	char *cut;    /* 200 bytes: set when what was read is good but not all; empty otherwise */
	const char *program; /* the path of the program, where the file does not say; or NULL */
	bool keep_raw;	     /* raw records are wanted as they are, too */
	/* What was read from a pipe to find out its format; comes before what fd gives. */
	const uint8_t *start;
	size_t start_size;
	const struct reading_host *host; /* NULL: there is nobody */
};

#define READING_CUT_MAX 200

/* Tells the host how far it has come. */
void reading_tell(const struct reading *in, uint64_t done, uint64_t of);
/* All of the input, malloc'ed. -EFBIG past 512 MiB, and others, with the sentence in diag. */
int reading_load(const struct reading *in, uint8_t **ret, size_t *ret_size, struct diag *diag);
void reading_code_free(struct reading_code *code); /* its members */
/* Says what an error of the harvest means, unless something was said already. Returns it. */
int reading_end(int error, struct diag *diag);

#endif
