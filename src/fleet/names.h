/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_NAMES_H
#define CULPRIT_FLEET_NAMES_H

#include "db/batch.h"
#include "fleet/ids.h"
#include "fleet/server.h"
#include "util/arena.h"
#include "util/hash.h"

/*
 * What the numbers in a fleet's rows stand for: images, events, subjects. First all numbers are
 * wanted, then asked for at once, then they are what a batch has them as. A name that is not what
 * its number says is not taken: its number is then one without a name.
 */
enum fleet_sort { FLEET_NAME_IMAGE, FLEET_NAME_EVENT, FLEET_NAME_SUBJECT, FLEET_NAME_SORTS };

struct fleet_name {
	uint64_t number;
	bool known;
	struct image_id image;
	struct db_event event;
	struct db_bytes text; /* a path, or a subject */
	uint32_t index;	      /* in the batch; UINT32_MAX: not yet */
	uint64_t samples;     /* that want it */
};

struct fleet_names {
	struct {
		struct map64 *at;
		struct fleet_name *list;
		size_t count, room, asked;
	} of[FLEET_NAME_SORTS];
	struct arena *memory;
	uint64_t forged; /* names that are not what their number says */
};

int fleet_names_init(struct fleet_names *n);
void fleet_names_free(struct fleet_names *n);
/* 0, -ENOMEM, -ENOSPC. */
int fleet_names_want(struct fleet_names *n, enum fleet_sort sort, uint64_t number,
		     uint64_t samples);
/* Asks the server for those that were wanted since the last time. */
int fleet_names_ask(struct fleet_names *n, struct fleet_server *s, struct diag *diag);
/* The name of a number that was wanted. */
struct fleet_name *fleet_names_get(const struct fleet_names *n, enum fleet_sort sort,
				   uint64_t number);
/* As a batch has it; without a name it is an unknown image, or a subject without pairs. -ENOENT: an
 * event without a name. Others as db_batch_image. */
int fleet_names_batch(struct fleet_names *n, enum fleet_sort sort, uint64_t number,
		      struct db_batch *batch, uint32_t *ret);
/* The batch was cleared. */
void fleet_names_forget(struct fleet_names *n);

#endif
