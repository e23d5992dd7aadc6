/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VIEW_VIEW_STATE_H
#define CULPRIT_VIEW_VIEW_STATE_H

#include "analyze/calls/stack_set.h"
#include "analyze/insight.h"
#include "util/arena.h"
#include "util/hash.h"
#include "view/view.h"

/* What is behind struct view; for the view*.c files only. */

#define VIEW_NONE	 UINT32_MAX
#define VIEW_FRAMES_MAX	 (1u << 23)
#define VIEW_NODES_MAX	 (1u << 23)
#define VIEW_JSON_MAX	 ((size_t)2 << 30)
#define VIEW_CODE_MAX	 60000	    /* instructions whose text is in a page */
#define VIEW_SOURCE_MAX	 (8u << 20) /* bytes of source text in a page */
#define VIEW_WHOLE_LINES 3000	    /* a file of more is there around its samples alone */
#define VIEW_AROUND	 30	    /* lines of such a file around each one with samples */

/* Of a function, as a sum. */
enum view_flag {
	VIEW_INLINED = 1,
	VIEW_KERNEL = 2,
	VIEW_NOTE = 4, /* no code: why callers are missing, or what no symbol tells */
};

struct view_image {
	struct image_id id;
	uint32_t path; /* string */
	uint64_t base; /* the least address that is told of */
	uint32_t set;  /* whose finder knows it */
};

/* The key of a function, and all that there is of it. */
struct view_function {
	uint64_t start; /* 0 of one that was inlined */
	uint32_t image, name, flags, unused;
};

struct view_place {
	uint32_t function, file, line; /* file: string; line 0: not known */
};

/* An address of an image. */
struct view_frame {
	uint64_t offset;
	uint32_t image;
	uint32_t first_place, place_count; /* outermost first; 0: not named yet */
	uint32_t loop;			   /* innermost, or VIEW_NONE */
};

struct view_loop {
	uint64_t header; /* address */
	uint32_t image, parent, frame;
	bool irreducible;
};

struct view_event {
	uint32_t set, name, plain; /* strings; plain: without the period */
	double sample_ns;	   /* 0: it tells no time */
	double units;		   /* that one sample stands for */
	uint64_t period, total, idle;
};

struct view_count {
	uint32_t at; /* frame, or node */
	uint32_t event;
	uint64_t count;
};

/* What is known of a source file beside its name. */
struct view_file {
	uint32_t name;
	uint64_t built_ns, samples;
	bool read; /* its text is in the page, or it is known to have none */
	uint8_t md5[IMAGE_LINES_MD5_BYTES];
	bool has_md5;
};

struct view_set {
	uint32_t name; /* string */
	struct report_session *session;
	struct stack_set *stacks;
	struct insights *insights;
	uint32_t first_event;
};

/* How much of each table a page had when it was written. */
struct view_sizes {
	size_t strings, functions, places, frames, loops, sources;
};

struct view {
	struct view_options options;
	struct intern *strings, *function_keys, *image_keys, *frame_keys, *loop_keys, *file_keys;
	struct view_image *images;
	struct view_frame *frames;
	struct view_place *places;
	struct view_loop *loops;
	struct view_file *files;
	struct view_count *flat, *stacked;
	struct view_event *events;
	uint32_t *node_parents, *node_frames;
	size_t image_count, image_room, frame_count, frame_room, place_count, place_room,
		loop_count, loop_room, file_count, file_room, flat_count, flat_room, stacked_count,
		stacked_room, node_count, parent_room, node_room, event_count, event_room;
	struct view_set sets[VIEW_SETS_MAX];
	size_t set_count, named;  /* named: leading frames that have places */
	struct buf code, sources; /* as JSON, behind commas */
	struct view_counts counts;
	struct view_sizes written;
};

/* view.c. 0, -ENOSPC or -ENOMEM. */
int view_add_string(struct view *v, const char *text, uint32_t *ret);
int view_add_image(struct view *v, const struct query_image *image, uint32_t *ret);
int view_add_frame(struct view *v, uint32_t image, uint64_t offset, uint32_t *ret);
int view_add_function(struct view *v, const struct view_function *f, uint32_t *ret);

/* view_samples.c: the samples of a session that was read, by address and by stack. */
int view_add_samples(struct view *v, struct view_set *set);
int view_add_stacks(struct view *v, struct view_set *set);
/* view_names.c: places and loops of the frames that have none yet. */
int view_name_frames(struct view *v);
/* view_code.c: finds the functions that matter, and their instructions as frames; then, when these
 * have names, writes all. */
struct view_code;
int view_code_choose(struct view *v, struct view_set *set, struct view_code **ret);
/* The same of one function. -ENOENT: it has no instructions. */
int view_code_choose_one(struct view *v, struct view_set *set, uint32_t function,
			 struct view_code **ret);
int view_code_write(struct view *v, struct view_code *c);
void view_code_free(struct view_code *c);
/* view_json.c: what v->written does not have, and all of v->code. */
int view_json_more(const struct view *v, struct buf *out);
/* view_source.c: of files that were not read yet. */
int view_read_sources(struct view *v);

#endif
