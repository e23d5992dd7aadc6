/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_WHY_WHY_STATE_H
#define CULPRIT_REPORT_WHY_WHY_STATE_H

#include "analyze/calls/tree.h"
#include "report/why/why.h"
#include "util/arena.h"
#include "util/buf.h"

/* What the parts of the report share. */

/* From what share of all time on something is worth a sentence. */
#define WHY_PLACE_PERCENT    1.0
#define WHY_FUNCTION_PERCENT 3.0
/* Smaller parts of instructions' stalls are left out of sums: so there are 2000 at most. */
#define WHY_PIECE_PERCENT 0.05
/* Functions looked into: the hottest, until they have this share. */
#define WHY_CUTOFF_PERCENT 97.0
#define WHY_FUNCTIONS_MAX  1000

/* A sentence, and by what it is ordered among those of its part. */
struct why_candidate {
	struct why_sentence sentence;
	double weight;
};

/* Where stalls are: a line of a function, or an instruction where no line is known. Sums are of
 * samples. */
struct why_place {
	const struct query_image *image;
	const char *function;		  /* NULL: no symbol */
	uint64_t function_start, address; /* address: of the part with the most samples */
	const struct image_frame *frame;  /* NULL: no line is known */
	uint8_t level; /* of dcache: see struct culprit; 0: parts differ, or it is not known */
	double samples;
	/* By cause: likely, and those that nothing else explains. */
	double likely[CULPRIT_CAUSES], sure[CULPRIT_CAUSES];
	double cycles_count, count;	      /* cycles of all executions; executions of the line */
	enum frequency_confidence confidence; /* of how often it ran */
};

/* A function that was looked into. */
struct why_function {
	const struct insights_function *of;
	struct insight_summary summary;
	struct frequency_estimate entries, cpi;
	double placed; /* samples in places that have sentences */
};

struct why_program {
	const char *name;
	uint64_t samples;
};

struct why {
	struct report_session *session;
	struct why_report *made;
	struct report_header *header;
	struct arena *memory;

	struct estimates estimates;
	bool tells_time; /* an event does, so that estimates has something */
	double total;	 /* samples that shares are of: idle ones left out */
	const char *of;	 /* what total is, after a share: "of all time" */
	struct rank *functions, *loops;
	struct stack_set *stacks; /* NULL: none were taken */
	struct tree *tree;
	struct why_program *programs; /* the largest first */
	size_t program_count;
	uint64_t program_samples;

	struct why_place *places; /* the largest first */
	size_t place_count;
	struct image_lines **lines; /* that their frames are of */
	size_t line_sets;
	struct why_function *looked;
	size_t looked_count;
	struct insight_summary whole; /* of all looked into */

	struct why_candidate *found; /* of the part that is at work */
	size_t found_count;
};

/* why_places.c: looks into functions, and finds the places. 0 or -ENOMEM. */
int why_find_places(struct why *w, struct diag *diag);
/* why_where.c: sentences on places and functions. 0 or -ENOMEM. */
int why_tell_places(struct why *w);
int why_tell_functions(struct why *w);
/* why_whole.c: on all that was sampled; and on what is wrong with it. 0 or -ENOMEM. */
int why_tell_whole(struct why *w);
/* why_doubts.c */
int why_tell_doubts(struct why *w);

/* why_callers.c: ", called from main through a and b" of a function, where most stacks agree; else
 * nothing. 0 or -ENOMEM. */
int why_write_callers(const struct why *w, const struct query_image *image, uint64_t start,
		      struct buf *to);
/* Functions that run before a program's or a thread's own. */
bool why_is_start(const char *function);

/* why_words.c */
double why_share(const struct why *w, double samples); /* percent */
void why_write_share(struct buf *to, double percent);  /* "12%", "2.5%" */
void why_write_name(struct buf *to, const char *name); /* escaped */
/* "join.c:26", with the end of its path. */
void why_write_line(struct buf *to, const struct image_frame *frame);
/* "waits 43 cycles for memory". cycles: 0: not told. */
void why_write_cause(struct buf *to, enum culprit_cause cause, uint8_t level, double cycles,
		     bool about);
/* "for memory" */
const char *why_reason(enum culprit_cause cause, uint8_t level);
/* Of so many samples. */
enum frequency_confidence why_confidence(double samples);
/* The command and the selection of the report: "culprit calc -i DB". */
void why_begin_evidence(const struct why *w, struct buf *to, const char *command);
/* The function as an operand, with its image where the name is not enough. */
void why_write_function(const struct why *w, struct buf *to, const struct query_image *image,
			const char *name, uint64_t start);
/* Adds a sentence that is otherwise filled in. text and evidence are freed. 0 or -ENOMEM. */
int why_add(struct why *w, const struct why_sentence *s, double weight, struct buf *text,
	    struct buf *evidence);
/* Fills in where it is. */
int why_set_image(struct why *w, struct why_sentence *s, const struct query_image *image);
const char *why_keep(struct why *w, const char *text); /* a copy; NULL of NULL */

#endif
