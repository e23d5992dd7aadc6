/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_PROFILE_FEED_H
#define TESTS_UNIT_PROFILE_FEED_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query.h"

/* Profiles for a query without a database: what a reader would show its visitor. */

struct feed_profile {
	uint8_t kind, id; /* of the image */
	const char *path, *event;
	uint64_t period;
	const char *comm, *pid; /* NULL: none */
	const char *epoch;	/* NULL: always the same */
	uint32_t flags;		/* of the event; 0: precise */
};

static inline int feed_rows(struct query *q, const struct feed_profile *f, const uint64_t *offsets,
			    const uint64_t *counts, size_t n)
{
	struct db_visitor v = query_visitor(q);
	struct image_id image = {.kind = f->kind, .size = 1, .bytes = {f->id}};
	struct db_event event = {f->event, f->period, f->flags ?: DB_EVENT_PRECISE};
	struct subject_pair pairs[2];
	char subject[256];
	size_t count = 0;
	struct db_profile p = {
		.image = &image,
		.image_path = f->path,
		.image_path_size = strlen(f->path),
		.event = &event,
		.subject = subject,
		.epoch = f->epoch ? f->epoch : "e",
	};

	if (f->comm)
		pairs[count++] = (struct subject_pair){"comm", f->comm, 4, strlen(f->comm)};
	if (f->pid)
		pairs[count++] = (struct subject_pair){"pid", f->pid, 3, strlen(f->pid)};
	p.subject_size = (size_t)subject_build(pairs, count, subject, sizeof(subject));
	return v.want(v.arg, &p) ? v.rows(v.arg, &p, offsets, counts, n) : 0;
}

/* One row. */
static inline int feed(struct query *q, const struct feed_profile *f, uint64_t offset,
		       uint64_t count)
{
	return feed_rows(q, f, &offset, &count, 1);
}

#endif
