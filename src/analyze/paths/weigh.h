/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_PATHS_WEIGH_H
#define CULPRIT_ANALYZE_PATHS_WEIGH_H

#include "analyze/paths/tally.h"
#include "cfg/cfg.h"
#include "find/find.h"

/*
 * What paths cost, and which of them are hot (Ammons, Ball and Larus, PLDI 1997, section 6.4): a
 * path is hot if a share of the metric is its own, and then dense if it has more of the metric for
 * each instruction than all paths have together, else sparse (also where its code is not at hand).
 * Of the metric of instructions: more for each execution.
 */
enum path_metric {
	PATH_TIME,    /* of executions that were timed, times all executions */
	PATH_SAMPLES, /* an instruction's samples go to the paths through it by their executions */
	PATH_INSTRUCTIONS, /* that were run */
	PATH_EXECUTIONS,
	PATH_METRICS,
};
#define PATH_METRIC_NAMES "time samples instructions executions" /* in that order */
const char *path_metric_name(enum path_metric m);
/* What a metric is divided by where paths are dense or sparse. */
enum path_metric path_metric_base(enum path_metric m);

enum path_class { PATH_COLD, PATH_SPARSE, PATH_DENSE, PATH_CLASSES };
const char *path_class_name(enum path_class c); /* "dense" */

struct path_weight {
	double metrics[PATH_METRICS]; /* of all its executions; time in ns */
	uint32_t instructions;	      /* of one execution */
	enum path_class class;
};

struct path_weights {
	const struct path_tally *tally;
	struct path_weight *rows;      /* of each of the tally's */
	struct path_weight *functions; /* sums, and their classes as procedures */
	struct path_weight total;
	bool has[PATH_METRICS];
	size_t without_code; /* functions whose code is not at hand, or another build's */
	uint64_t untimed;    /* executions of paths of which none was timed, where others were */
};

/* Reads code by the finder, samples from q (NULL: none). -ENOMEM. path_weights_free() in any case.
 * The tally must outlive it. */
int path_weights_new(const struct path_tally *t, const struct query *q, struct image_finder *finder,
		     struct path_weights *ret);
void path_weights_free(struct path_weights *w); /* what it owns */

/* Sets all classes: hot has at least so many percent of the metric that the whole has: all, or one
 * of the functions. */
void path_weights_classify(struct path_weights *w, enum path_metric by, double hot_percent,
			   const struct path_weight *whole);

/* The first metric that there is; samples only if they are PATH_SAMPLES_LEAST. */
#define PATH_SAMPLES_LEAST 100
enum path_metric path_weights_best(const struct path_weights *w);

#endif
