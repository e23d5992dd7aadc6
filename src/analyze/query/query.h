/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_QUERY_H
#define CULPRIT_ANALYZE_QUERY_QUERY_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/instsamples.h"
#include "db/values.h"
#include "db/key.h"
#include "db/paths.h"
#include "db/reader.h"
#include "util/arena.h"
#include "util/diag.h"
#include "util/hash.h"
#include "util/identity.h"

/*
 * What every report asks of a database: the samples that a selection picks, summed over files,
 * epochs and (if wanted) subjects, by image and offset; with the totals of everything, so that a
 * share is always a share of the whole.
 *
 *	query_new(&selection, group, &q, diag);
 *	query_read(q, reader, diag);	fills it
 */

#define QUERY_EVENTS_MAX 256

struct query_selection {
	const char *event; /* glob on its name; NULL: all */
	const char *image; /* glob on path, last component or identity; NULL: all */
	/* Each KEY=GLOB: of each key one of its globs must match. */
	const char *const *subjects;
	size_t subject_count;
	size_t subject_own; /* of these the last, which say what exists: the rest is in no total */
};

/* Whose samples are kept apart. */
enum query_group {
	QUERY_WHOLE,   /* nobody's: all subjects are summed */
	QUERY_PROCESS, /* by command name and process */
	QUERY_THREAD,  /* by command name and the thread's name */
	QUERY_SUBJECT, /* by the whole subject */
};

struct query_counter {
	const char *name; /* the cause, without "lost."; where a memory access was served */
	uint64_t value;
};

#define QUERY_MEMORY_MAX 12

/* What a clock's samples were made of (query_join.h). */
struct query_joined {
	const char *name;	/* of the event of the ticks; NULL: of nothing else */
	uint64_t ticks, timers; /* samples */
	double moved_percent;	/* of the time: to where random samples say that it was spent */
};

struct query_event {
	const char *name;
	const char *label; /* the name, with the period when two events differ only in that */
	uint64_t period;
	uint32_t flags;	   /* DB_EVENT_... that hold for all of it */
	uint64_t samples;  /* in the profiles, selected or not */
	uint64_t counted;  /* by the collector: more when something is damaged */
	uint64_t selected; /* of samples */
	uint64_t unknown;  /* of samples: no mapping explains them */
	uint64_t lost;
	uint64_t enabled_ns, running_ns; /* 0: never multiplexed */
	unsigned periods; /* how many were added: counts are in samples of this period */
	/* Of imported memory samples: where they were served, and their weights (latencies). */
	struct query_counter memory[QUERY_MEMORY_MAX];
	size_t memory_count;
	uint64_t weights, weight_sum;
	struct query_joined joined;

	/* Private. */
	uint64_t epoch_number; /* the last that has it */
	bool apart;	       /* an epoch has it with another period too */
	bool governed;	       /* the collector itself changed it (DB_EVENT_GOVERNED) */
};

struct query_image {
	struct image_id id;
	const char *path; /* the last one seen, terminated */
	size_t path_size;
};

struct query_row {
	uint64_t offset, count;
	uint32_t event; /* index in events */
};

/* The samples of one image and one group, by ascending (offset, event), each pair once. */
struct query_part {
	uint32_t image; /* index in images */
	uint32_t group; /* number in groups, QUERY_NO_GROUP with QUERY_WHOLE */
	bool selected;	/* false: kernel code that was not selected, kept to tell idle from busy */
	struct query_row *rows;
	size_t row_count, row_room, sorted; /* sorted: leading rows that are merged already */
};

#define QUERY_NO_GROUP 0x7fffffffu

/* A stack of an event that is selected; the selection's image does not matter here. */
struct query_stack {
	const struct db_stack_item *item;
	uint32_t event; /* in order of arrival, which query_finish changes */
	uint32_t group; /* as in a part */
	bool selected;	/* by its subject */
};

#define QUERY_COUNTERS_MAX 64

/* Read only, after query_read. */
struct query {
	struct query_event *events; /* the clock of the machine first, then by samples */
	size_t event_count;
	struct query_image *images;
	struct query_part *parts;
	size_t part_count, part_room;
	struct intern *groups; /* canonical subjects: comm and pid, or all */
	struct query_counter lost[QUERY_COUNTERS_MAX], unknown[QUERY_COUNTERS_MAX];
	size_t lost_count, unknown_count;
	/* What else went wrong: full names such as "records.lost". */
	struct query_counter trouble[QUERY_COUNTERS_MAX];
	size_t trouble_count;
	uint64_t lost_samples, idle_skipped; /* sum of lost; idle: counted but not stored */
	uint64_t refused;		     /* samples of events past QUERY_EVENTS_MAX */
	/* How long commands ran, and of how many epochs that is known (the fact wall_ns). */
	uint64_t wall_ns;
	size_t wall_epochs;

	/* To be set before query_read by whoever wants stacks. Returns 0, or a negative errno to
	 * stop. */
	int (*stack)(void *arg, const struct query_stack *s);
	void *stack_arg;
	/* The same for raw records, of which only those that are selected are shown. */
	int (*raw)(void *arg, const char *epoch, const struct db_raw_item *r);
	void *raw_arg;
	/* And for instruction samples. */
	int (*inst)(void *arg, const char *epoch, const struct db_inst_item *i);
	void *inst_arg;
	/* And for paths, which have no subject: of all that were counted. */
	int (*path)(void *arg, const char *epoch, const struct db_path_item *p);
	void *path_arg;
	/* And for summaries of values, of which only the image is selected. */
	int (*value)(void *arg, const char *epoch, const struct db_value_item *v);
	void *value_arg;

	/* Private. */
	struct query_selection selection;
	enum query_group group;
	struct arena *memory;
	struct intern *event_keys, *image_keys, *paths;
	struct map64 *part_keys;
	size_t image_room, row_total;
	const char *epoch;
	uint64_t epoch_number;
	const char *wall_epoch; /* the last that told */
	uint64_t wall_last_ns;
};

/* What the selection points to must outlive the query. -EINVAL for a --subject that is not
 * KEY=GLOB. */
int query_new(const struct query_selection *selection, enum query_group group, struct query **ret,
	      struct diag *diag);
void query_free(struct query *q);

/*
 * Reads the epochs that the reader has selected. -ENOENT when no event matches (diag names those
 * there are), -E2BIG when the selection has more rows than memory should hold.
 */
int query_read(struct query *q, struct db_reader *reader, struct diag *diag);

/* The two halves of query_read, for sources other than a reader. */
struct db_visitor query_visitor(struct query *q);
int query_finish(struct query *q, struct diag *diag);

/* Whether --image means an image: by path, its last component, or identity. glob NULL: all are. */
bool query_match_image(const char *glob, const struct image_id *id, const char *path);

/* The samples of one image, of a query with QUERY_WHOLE; NULL: none are selected. */
const struct query_part *query_find_part(const struct query *q, const struct query_image *image);
/* The first row at or after an offset. A NULL part has none. */
size_t query_part_seek(const struct query_part *p, uint64_t offset);
/* Adds to counts, for each event, the samples from start on and before end. */
void query_part_count(const struct query_part *p, uint64_t start, uint64_t end, uint64_t *counts);

/* Enabled over running time: what samples of a multiplexed event are multiplied by; at least 1. */
double query_event_scale(const struct query_event *e);

/* The extended regular expression of --function. regfree() it. -EINVAL when it is not one. */
int pattern_compile(const char *text, regex_t *ret, struct diag *diag);

#endif
