/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_COMPARE_SETS_H
#define CULPRIT_REPORT_COMPARE_SETS_H

#include "analyze/query/rank.h"
#include "report/session.h"

/*
 * Sets of samples, for the reports that compare: stats and diff. A set is written
 *
 *	[PLACE][,KEY=GLOB]...
 *
 * where PLACE is a database (all of its epochs), DB@EPOCHS, @EPOCHS or EPOCHS of the report's
 * database (as --epoch takes them), and each KEY=GLOB leaves only what matches: machine=, or a key
 * of the subject (comm=, container=, label.NAME=). label:NAME=GLOB is another way to write
 * label.NAME. What they leave out is in none of the set's totals.
 */

#define SETS_MAX 900 /* a column each; STATS_SETS_MAX is more */

struct set {
	const char *name; /* for people: as it was written, or the epoch's */
	struct report_options report;
	struct report_session session; /* of that; its finder is the sets' */
	struct rank *rank;
	uint32_t event;	  /* number in the query's of what is compared */
	uint64_t samples; /* of it, of all the set, idle left out */
	double seconds;	  /* that the command ran, else of collection; 0: not known */
	double weight;	  /* what a sample counts for, so that sets can be compared */
};

struct sets_finder;

struct sets {
	struct set **list;
	size_t count;
	/* As in report_session; to be set before the first is added. */
	void (*progress)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	struct arena *memory; /* of all names */
	struct sets_finder *finders;
	const char *event; /* the name of what is compared */
	uint64_t period;   /* of the first set; samples of the others are counted in it */
};

enum sets_normal {
	SETS_AS_THEY_ARE, /* except for different periods */
	SETS_BY_TIME,	  /* as if all had lasted as long as the mean of them */
	SETS_BY_SAMPLES,  /* as if all had the same number of samples: shares */
};
#define SETS_NORMALS "none time samples" /* in that order */

/* Reads one set as it is written; base: what holds for all. 0, -EINVAL, -ENOMEM. */
int sets_add(struct sets *s, const struct report_options *base, const char *text,
	     struct diag *diag);
/* Makes a set of each epoch of each set. */
int sets_split(struct sets *s, struct diag *diag);
/* Reads and ranks all. Errors as in report_session_read and rank_new. */
int sets_rank(struct sets *s, const struct rank_options *options, struct diag *diag);
/* Gives each its weight. -ENODATA: the run time of a set is not known, or it has no samples. */
int sets_weigh(struct sets *s, enum sets_normal normal, struct diag *diag);
/* The header of a report on them. */
void sets_describe(const struct sets *s, bool idle, struct report_header *h);
void sets_free(struct sets *s); /* what it owns */

#endif
