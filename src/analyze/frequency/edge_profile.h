/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_EDGE_PROFILE_H
#define CULPRIT_ANALYZE_FREQUENCY_EDGE_PROFILE_H

#include "analyze/frequency/evidence.h"
#include "analyze/frequency/iterations.h"
#include "analyze/query/query.h"
#include "db/reader.h"

/* The edges and facts of the selected epochs, as the estimation of frequencies wants them. */

#define EDGE_PROFILE_ROWS_MAX (64u << 20)

struct edge_list {
	struct evidence_edge *rows; /* to_image: the number of the image in the query */
	size_t count, room;
};

struct pair_list {
	struct iterations_pair *rows;
	size_t count, room;
};

struct edge_profile {
	struct edge_list *images;  /* for each image of the query */
	struct edge_list *touches; /* likewise; from: a load, to: what it read (db/touches.h) */
	struct pair_list *pairs;   /* likewise */
	size_t image_count;
	uint64_t passes, windows; /* sums of interpreted windows: outcomes, and windows begun */
	uint64_t records;	  /* ... of the processor's records: branches */
	uint64_t counts;	  /* ... of counters in programs: executions */
	uint32_t counted_epochs;  /* for evidence_set_counted() */
	const char *part;	  /* why the counts are not those of the samples; NULL: they are */
	uint64_t elsewhere;	  /* passes that lead to or from an image that was not selected */
	uint64_t refused;	  /* passes past EDGE_PROFILE_ROWS_MAX */
	char cpu_id[64];	  /* the fact of that name, "" when there is none */
	char core_loops[1000];	  /* likewise, of the machine of cpu_id */
	char skid[256];		  /* likewise */
	double clock_hz;	  /* likewise; 0: none */
	double clock_deviation;	  /* of its logarithm; 0: not told */
	double interrupted;	  /* share of the time that interrupts took; 0: not told */
};

int edge_profile_read(const struct query *q, struct db_reader *reader, struct edge_profile **ret,
		      struct diag *diag);
void edge_profile_free(struct edge_profile *p);

#endif
