/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_CATALOG_H
#define CULPRIT_DB_CATALOG_H

#include "db/chunk.h"
#include "util/arena.h"

/*
 * What a pack says of itself: interval, totals, counters, facts; and in the second copy, the index
 * at the end, also every chunk and the names of the images in it, so that the loss of one can be
 * reported exactly.
 */
#define CATALOG_EVENTS_MAX   65536
#define CATALOG_COUNTERS_MAX (1u << 20)
#define CATALOG_FACTS_MAX    65536
#define CATALOG_LABELS_MAX   (1u << 20)
#define CATALOG_ENTRIES_MAX  (1u << 20)
#define CATALOG_LABEL_MAX    DB_PATH_MAX

struct catalog_entry {
	uint64_t offset; /* of the chunk in the file */
	struct chunk_header chunk;
	uint32_t *labels; /* images in it, as indexes in the catalog's labels */
	uint32_t label_count;
};

struct catalog {
	uint64_t start_ns, end_ns; /* both 0: unknown */
	uint64_t rows;		   /* 0 in a head, which is written first */
	uint64_t samples;	   /* of all rows chunks */
	struct db_event *events;
	struct db_counter *counters;
	struct db_fact *facts;
	struct db_bytes *labels; /* of images: the path or, without one, the id as text */
	struct catalog_entry *entries;
	uint32_t event_count, counter_count, fact_count, label_count, entry_count;
};

int catalog_encode(struct buf *out, const struct catalog *c);
/* Everything in ret is allocated in the arena or points into data. 0, -EBADMSG, -ENOMEM. */
int catalog_decode(const struct db_bytes *data, struct arena *a, struct catalog *ret);

/* An event, as it stands in all dictionaries of the format. */
void event_encode(struct buf *out, const struct db_event *e);
int event_decode(struct cursor *c, struct arena *a, struct db_event *ret);

#endif
