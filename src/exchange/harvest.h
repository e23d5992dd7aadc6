/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_HARVEST_H
#define CULPRIT_EXCHANGE_HARVEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/batch.h"
#include "instsample/record.h"
#include "util/buf.h"
#include "util/identity.h"

/*
 * The result of reading a foreign profile: everything added up, with images named as the
 * file names them. It is made by a process without privileges that cannot look at any image, and
 * handed over as bytes; the receiver (store.h) finds the images and writes the database.
 */
struct harvest;

enum harvest_kind {
	HARVEST_FILE = 1,  /* offsets are file offsets */
	HARVEST_ADDRESSES, /* a file; offsets are its own virtual addresses */
	HARVEST_KERNEL,	   /* addresses as linked */
	HARVEST_MODULE,	   /* offsets from where the module was loaded */
	HARVEST_BPF,	   /* a BPF program; the path is its name */
	HARVEST_VDSO,
	HARVEST_CODE,	 /* made at run time; key says by whom */
	HARVEST_NAMES,	 /* functions by name alone: offsets are from harvest_symbol_start() */
	HARVEST_UNKNOWN, /* no mapping explains it: offsets are addresses */
	HARVEST_NOTE,	 /* stands for frames of a stack that are not there */
	HARVEST_KNOWN,	 /* by identity: key is its kind, build_id its bytes */
};

struct harvest_image {
	enum harvest_kind kind;
	const char *path;
	size_t path_size;
	uint8_t build_id_size, build_id[IMAGE_ID_MAX];
	uint64_t inode; /* 0: not known */
	uint64_t key;	/* what tells it from others of this path */
};

#define HARVEST_LINES_MAX 64	     /* of one place */
#define HARVEST_NONE	  UINT32_MAX /* no event; the parent of an outermost frame */

struct harvest *harvest_new(void);
void harvest_free(struct harvest *h);

/* Equal things get equal numbers. 0, -ENOSPC (a limit), -ENOMEM, -EINVAL (a name too long). */
int harvest_image(struct harvest *h, const struct harvest_image *image, uint32_t *ret);
/* An image that was added; its path is valid until the next one is added. */
void harvest_image_get(const struct harvest *h, uint32_t number, struct harvest_image *ret);
/* Events are told apart by name; clocks have their usual one, see event_mode.h. */
int harvest_event(struct harvest *h, const char *name, size_t size, uint32_t *ret);
/* The mean distance between samples, and DB_EVENT_... flags. */
void harvest_event_set(struct harvest *h, uint32_t event, uint64_t period, uint32_t flags);
/* A canonical subject (util/identity.h). */
int harvest_subject(struct harvest *h, const void *subject, size_t size, uint32_t *ret);
int harvest_place(struct harvest *h, uint32_t image, uint64_t offset, uint32_t *ret);
/* A frame below its caller's: parent is the caller, HARVEST_NONE for the outermost. */
int harvest_frame(struct harvest *h, uint32_t parent, uint32_t place, uint32_t *ret);
/* A function of an image of names: it has the addresses from its start on. */
int harvest_symbol(struct harvest *h, uint32_t image, const char *name, size_t size);

struct harvest_line {
	const char *function, *file; /* sizes 0: not known */
	size_t function_size, file_size;
	uint32_t line; /* 0: not known */
};
/* What the file says of a place: the functions that were inlined there, innermost first, then the
 * one that has the code. If said twice, the first counts. */
int harvest_lines(struct harvest *h, uint32_t place, const struct harvest_line *lines,
		  size_t count);

int harvest_sample(struct harvest *h, uint32_t event, uint32_t subject, uint32_t place,
		   uint64_t count);
int harvest_stack(struct harvest *h, uint32_t event, uint32_t subject, uint32_t frame,
		  uint64_t count);
/* Control went count times from one place to another. */
int harvest_edge(struct harvest *h, uint32_t event, uint32_t from, uint32_t to, uint64_t count);
struct harvest_raw {
	uint32_t event, subject, place, target; /* target: HARVEST_NONE where there is none */
	struct db_raw_form form;
	uint64_t values[DB_RAW_VALUES_MAX];
};
#define HARVEST_RAWS_MAX (1u << 22)
/* Adds a record of one sample: see db_batch_raw. -E2BIG past HARVEST_RAWS_MAX, -ENOMEM. */
int harvest_raw(struct harvest *h, const struct harvest_raw *raw);

struct harvest_inst {
	uint32_t event, subject, place;
	struct inst_record record;
	/* A pair's other half; other_place HARVEST_NONE: it is none. */
	uint32_t other_place, distance, cycles;
	struct inst_record other;
};
#define HARVEST_INSTS_MAX (1u << 23)
/* Adds an instruction sample. -E2BIG past HARVEST_INSTS_MAX, -ENOMEM. */
int harvest_inst(struct harvest *h, const struct harvest_inst *inst);
/* Reads one as it is saved: an error in c. Its numbers may be of nothing. */
void harvest_take_inst(struct cursor *c, struct harvest_inst *ret);
/* Adds to a counter of an event or, with HARVEST_NONE, of the whole. Errors of this and
 * of harvest_fact are reported by harvest_save. */
void harvest_count(struct harvest *h, uint32_t event, const char *name, uint64_t value);
void harvest_fact(struct harvest *h, const char *name, const char *value, size_t size);
/* When it was sampled, ns since 1970; not said: 0, 0. */
void harvest_interval(struct harvest *h, uint64_t start_ns, uint64_t end_ns);
/* How long it was sampled, where the file does not say when. */
void harvest_duration(struct harvest *h, uint64_t duration_ns);

/* The bytes; taken apart by store.c, which trusts nothing in them. Errors are kept in out. */
void harvest_save(const struct harvest *h, struct buf *out);

/*
 * Where a function of an image of names starts: by its name, so that it is at the same place in
 * every import; never at 0, which is for what has no name. Of 100,000 functions two collide once in
 * 1700 times.
 */
#define HARVEST_SYMBOL_STEP (1u << 20)
uint64_t harvest_symbol_start(const char *name, size_t size);

#endif
