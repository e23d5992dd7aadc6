/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_KEEP_SCRIPTS_H
#define CULPRIT_COLLECT_KEEP_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/keep/keeper.h"
#include "db/batch.h"

/*
 * Source files that interpreters run, and the functions that were seen of each: images of kind
 * IMAGE_SCRIPT (image/script.h), whose symbols go to the database as they come.
 */
struct scripts;

#define SCRIPTS_MAX	      16384
#define SCRIPTS_FUNCTIONS_MAX 262144

struct scripts *scripts_new(void);
void scripts_free(struct scripts *s);

/*
 * A function of a file: the file's number, and its offset in the image. 0; -ENOSPC past the maxima;
 * -ENOMEM. Names are not empty, and have no zero bytes.
 */
int scripts_function(struct scripts *s, const char *path, size_t path_size, uint32_t first_line,
		     const char *name, size_t name_size, uint32_t *ret_script,
		     uint64_t *ret_function);
/* The image of a file in a batch; batch_number differs between batches. 0 or the batch's error. */
int scripts_image(struct scripts *s, uint32_t script, struct db_batch *batch, uint32_t batch_number,
		  uint32_t *ret_image);
/* Hands the functions that are new since the last call to the keeper. */
void scripts_keep(struct scripts *s, struct keeper *k);
/* Near the maxima: after scripts_keep all should be cleared. */
bool scripts_are_many(const struct scripts *s);
/* No number is valid after it. -ENOMEM: nothing can be added until it succeeds. */
int scripts_clear(struct scripts *s);

#endif
