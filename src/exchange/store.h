/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_STORE_H
#define CULPRIT_EXCHANGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "exchange/harvest.h"
#include "exchange/import.h"
#include "image/facts.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/identity.h"

/*
 * A harvest on its way into a database; for the store*.c files only. It comes from a process that a
 * hostile file may have taken over: nothing in it is trusted.
 */
struct store_text {
	const char *at; /* in the harvest's bytes, not terminated */
	size_t size;
};

struct store_image {
	/* As the harvest says. */
	enum harvest_kind kind;
	uint64_t inode, key;
	struct store_text build_id, path;
	bool used;
	/* As it was found. */
	struct image_id id;
	const char *name; /* the path that is stored */
	uint32_t segment_count;
	struct image_segment *segments; /* NULL: offsets stay as they are... */
	uint64_t less;			/* ...except for this */
};

struct store_event {
	struct store_text name;
	uint64_t period, flags;
};

struct store_symbol {
	uint32_t image, name; /* name: in strings */
};

/* What the file says of a place. The bytes are of triples: function and file, each a number in
 * strings plus 1 or 0, and a line. */
struct store_lines {
	uint32_t place;
	struct store_text chain;
};

struct store_counter {
	uint32_t event; /* HARVEST_NONE: of the whole */
	const char *name;
	uint64_t value;
};

struct store_fact {
	const char *name, *value;
};

struct store_place {
	uint32_t image;
	uint64_t offset;
};

struct store_frame {
	uint32_t parent, place;
};

struct store_count { /* of samples and stacks: event, subject and place or frame; edges: event,
			from, to */
	uint32_t event, second, third;
	uint64_t count;
};

struct store_list {
	struct store_count *at;
	size_t count;
};

struct store {
	struct arena *memory;
	uint64_t start_ns, end_ns, duration_ns;
	struct store_text *strings;
	struct store_event *events;
	struct store_text *subjects;
	struct store_image *images;
	struct store_symbol *symbols;
	struct store_counter *counters;
	struct store_fact *facts;
	struct store_place *places;
	struct store_lines *lines;
	struct store_frame *frames;
	struct harvest_raw *raws;
	size_t string_count, event_count, subject_count, image_count, symbol_count, counter_count,
		fact_count, place_count, line_count, frame_count, raw_count;
	struct store_list samples, stacks, edges;
	struct cursor insts; /* inst_count instruction samples, as harvest_take_inst() reads them */
	size_t inst_count;
};

/* store_load.c: takes the bytes apart, which must outlive it. -EBADMSG, -ENOMEM. */
int store_load(struct store *s, const void *data, size_t size, struct diag *diag);
/* NULL when the harvest does not have it. */
const char *store_fact(const struct store *s, const char *name);

/* store_images.c: finds the files of the images that are used, and says what each is. -ENOMEM. */
int store_find_images(struct store *s, const struct import_target *target,
		      struct import_result *result, struct diag *diag);
/* Where an address of a harvest's image is: false when the file has no code there. */
bool store_offset(const struct store_image *image, uint64_t offset, uint64_t *ret);

/*
 * store_names.c: keeps the symbols, the code and the lines of files while they are there; for
 * images whose files are not, the symbols and lines that the profile tells, added to what earlier
 * imports told. If the watch ends this, nothing is lost: reports look again; so they do for files
 * whose symbols could not be written, which are counted.
 */
int store_keep_names(struct store *s, const struct import_target *target,
		     struct import_result *result, struct diag *diag);
/* What the target's watch says. */
int store_tell(const struct import_target *target, const char *doing, uint64_t done, uint64_t of);

#endif
