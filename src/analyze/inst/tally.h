/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_INST_TALLY_H
#define CULPRIT_ANALYZE_INST_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/query/query.h"
#include "instsample/record.h"
#include "util/arena.h"
#include "util/hash.h"

/*
 * Instruction samples, added up by instruction and sampled event: how often what happened, and what
 * each stage took. After section 5.1 of ProfileMe: a sample stands for a period of the event's
 * units, so k samples of something estimate that it happened k periods' times, with a relative
 * error of 1/sqrt(k) in 68% of all cases.
 */
#define INST_TALLY_ROWS_MAX (1u << 20)
#define INST_BUCKETS	    128

/* Of one latency: counts by size, eight exact ones and then four for each power of two. */
struct inst_latency {
	uint64_t count, sum;
	double squares; /* the sum of their squares */
	double units;	/* of the event, that the samples stand for, each times its latency */
	uint32_t least, most;
	uint64_t *buckets; /* INST_BUCKETS; NULL: not asked for */
};

struct inst_row {
	uint32_t image, event; /* numbers in the tally */
	uint64_t offset, samples;
	double units; /* of the event, that the samples stand for */
	uint64_t known[INST_EVENT_COUNT], happened[INST_EVENT_COUNT]; /* samples */
	double happened_units[INST_EVENT_COUNT];
	struct inst_latency *latencies[INST_LATENCY_COUNT]; /* NULL: no sample tells it */
};

struct inst_image {
	struct image_id id;
	const char *path;
};

struct inst_event_total {
	const char *name;
	uint64_t samples;
	uint32_t known;			/* events that any sample tells of */
	bool tells[INST_LATENCY_COUNT]; /* any sample has it, and not all of them 0 */
};

struct inst_tally {
	/* To be set before samples come. */
	bool has_buckets;
	const struct image_id *image; /* only of this image... */
	uint64_t start, size;	      /* ...and there; NULL: all */

	struct inst_row *rows;
	struct inst_image *images;
	struct inst_event_total *events;
	size_t row_count, image_count, event_count;
	uint64_t samples, refused; /* refused: of rows past INST_TALLY_ROWS_MAX */

	/* Private. */
	struct arena *memory;
	struct intern *row_keys, *image_keys, *event_keys;
	size_t row_room, image_room, event_room;
	uint32_t last_row;
};

int inst_tally_init(struct inst_tally *t);  /* of zeros but for what is to be set. 0 or -ENOMEM */
void inst_tally_free(struct inst_tally *t); /* what it owns */

/* For query.inst: adds a sample. arg: a struct inst_tally *. 0 or -ENOMEM. */
int inst_tally_add(void *arg, const char *epoch, const struct db_inst_item *item);
/* By image, address and event. To be called when all have been added. */
void inst_tally_sort(struct inst_tally *t);

/* The least latency that at least this share of the samples do not exceed, to within 1/8; 0 without
 * buckets or samples. */
uint32_t inst_latency_quantile(const struct inst_latency *l, double share);

/* A share of n that is k, and its interval of 68% (Wilson's). */
struct inst_share {
	double value, low, high; /* 0 to 1; 0, 0, 1 of nothing */
};
struct inst_share inst_share_of(uint64_t k, uint64_t n);

/* What k samples that stand for so many units estimate: with 1/sqrt(k) to either side. */
struct inst_share inst_count_of(uint64_t k, double units);
/* The mean latency, and all cycles that its samples stand for, each with its standard error to
 * either side. There must be a sample. */
struct inst_share inst_latency_mean(const struct inst_latency *l);
struct inst_share inst_latency_total(const struct inst_latency *l);

#endif
