/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_DB_HELP_H
#define CULPRIT_TESTS_DB_HELP_H

/* What the tests of the database share: a place for one, data to put in, and a digest of it. */

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/paths.h"
#include "db/reader.h"
#include "db/writer.h"
#include "util/hash.h"

#define TEST_MACHINE "test-machine"
#define TEST_TIME_NS 1795000000000000000u

struct help_place {
	char dir[200], db[216];
};

/* A new directory in parent, NULL: where temporary files go. */
static inline void help_place_make_in(struct help_place *p, const char *parent)
{
	const char *tmp = getenv("TMPDIR");

	if (!parent)
		parent = tmp && strlen(tmp) < 100 ? tmp : "/tmp";
	snprintf(p->dir, sizeof(p->dir), "%s/culprit-db-XXXXXX", parent);
	if (!mkdtemp(p->dir))
		abort();
	snprintf(p->db, sizeof(p->db), "%s/db", p->dir);
}

static inline void help_place_make(struct help_place *p)
{
	help_place_make_in(p, NULL);
}

static inline int help_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void help_place_remove(const struct help_place *p)
{
	nftw(p->dir, help_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The system's files, and clocks that a test sets. */
struct help_clock {
	struct io io;
	struct io_time now;
};

static inline void help_time(void *arg, struct io_time *ret)
{
	*ret = ((struct help_clock *)arg)->now;
}

static inline void help_clock_init(struct help_clock *c, uint64_t wall_ns)
{
	c->io = io_system;
	c->io.time = help_time;
	c->io.arg = c;
	c->now = (struct io_time){.wall_ns = wall_ns, .boot_ns = 1000000000, .boot_id = "first"};
}

/* Time goes by. */
static inline void help_clock_pass(struct help_clock *c, uint64_t ns)
{
	c->now.wall_ns += ns;
	c->now.boot_ns += ns;
}

/* Numbers that are the same in every run (splitmix64, Steele et al. 2014). */
static inline uint64_t help_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/*
 * A digest of rows and edges that does not depend on how they are divided over files: the sums of
 * the counts, and the sum of each count times a hash of its key. All add up over flushes.
 */
struct help_digest {
	uint64_t samples, weighted, counted, facts, damages, rows;
	uint64_t passes, weighted_edges, edges;		 /* the part of weighted that is of edges */
	uint64_t stack_samples, weighted_stacks, stacks; /* ... that is of stacks */
	uint64_t raw_samples, weighted_raws, raws;	 /* ... of raw records */
	uint64_t path_passes, weighted_paths, paths;	 /* ... of paths */
	char last_damage[1024];
};

static inline void help_digest_add(struct help_digest *d, const struct db_profile *p,
				   uint64_t offset, uint64_t count)
{
	uint64_t key = hash_bytes(p->image, sizeof(*p->image));

	key = hash_u64(key ^ hash_bytes(p->event->name, strlen(p->event->name)));
	key = hash_u64(key ^ hash_u64(p->event->period));
	key = hash_u64(key ^ hash_bytes(p->subject, p->subject_size));
	d->samples += count;
	d->weighted += count * hash_u64(key ^ hash_u64(offset));
	d->rows++;
}

static inline int help_rows(void *arg, const struct db_profile *p, const uint64_t *offsets,
			    const uint64_t *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		help_digest_add(arg, p, offsets[i], counts[i]);
	return 0;
}

static inline int help_edge(void *arg, const char *epoch, const void *item)
{
	const struct db_edge_item *e = item;
	struct help_digest *d = arg;
	uint64_t key = hash_bytes(e->image, sizeof(*e->image));

	(void)epoch;
	key = hash_u64(key ^ hash_bytes(e->event->name, strlen(e->event->name)));
	key = hash_u64(key ^ hash_bytes(e->to_image, sizeof(*e->to_image)));
	key = hash_u64(hash_u64(key ^ e->from) + e->to + e->evidence);
	/* What is seen of an edge adds up, and both counts matter. */
	key = key * e->count + hash_u64(key) * e->windows;
	d->weighted += key;
	d->weighted_edges += key;
	d->passes += e->count;
	d->edges++;
	return 0;
}

static inline int help_stack(void *arg, const char *epoch, const void *item)
{
	const struct db_stack_item *s = item;
	struct help_digest *d = arg;
	uint64_t key = hash_bytes(s->event->name, strlen(s->event->name));

	(void)epoch;
	key = hash_u64(key ^ hash_bytes(s->subject.data, s->subject.size));
	for (uint32_t i = 0; i < s->frame_count; i++)
		key = hash_u64(key ^ hash_bytes(s->frames[i].image, sizeof(*s->frames[i].image)) ^
			       hash_u64(s->frames[i].offset));
	d->weighted += key * s->count;
	d->weighted_stacks += key * s->count;
	d->stack_samples += s->count;
	d->stacks++;
	return 0;
}

static inline int help_raw(void *arg, const char *epoch, const void *item)
{
	const struct db_raw_item *r = item;
	struct help_digest *d = arg;
	uint64_t key = hash_bytes(r->image, sizeof(*r->image));

	(void)epoch;
	key = hash_u64(key ^ hash_bytes(r->event->name, strlen(r->event->name)));
	key = hash_u64(key ^ hash_bytes(r->subject.data, r->subject.size));
	key = hash_u64(key ^ hash_bytes(&r->form, sizeof(r->form)) ^ r->offset);
	if (r->target_image)
		key = hash_u64(key ^ hash_bytes(r->target_image, sizeof(*r->target_image)) ^
			       r->target);
	for (unsigned i = 0; i < db_raw_values(&r->form); i++)
		key = hash_u64(key ^ r->values[i]);
	d->weighted += key * r->count;
	d->weighted_raws += key * r->count;
	d->raw_samples += r->count;
	d->raws++;
	return 0;
}

static inline int help_path(void *arg, const char *epoch, const void *item)
{
	const struct db_path_item *p = item;
	struct help_digest *d = arg;
	uint64_t key = hash_bytes(p->image, sizeof(*p->image));

	(void)epoch;
	key = hash_u64(key ^ hash_bytes(p->event->name, strlen(p->event->name)));
	key = hash_u64(hash_u64(key ^ p->function) + p->end + p->to);
	key = hash_u64(key ^ hash_bytes(p->blocks, p->block_count * sizeof(*p->blocks)));
	key = key * p->count + hash_u64(key) * p->timed + hash_u64(~key) * p->time_ns;
	d->weighted += key;
	d->weighted_paths += key;
	d->path_passes += p->count;
	d->paths++;
	return 0;
}

static inline int help_counter(void *arg, const struct db_event *event, const char *name,
			       uint64_t value)
{
	struct help_digest *d = arg;

	(void)event, (void)name;
	d->counted += value;
	return 0;
}

static inline int help_fact(void *arg, const char *epoch, const char *name, const char *value)
{
	struct help_digest *d = arg;

	(void)epoch, (void)name, (void)value;
	d->facts++;
	return 0;
}

static inline void help_damage(void *arg, const char *what)
{
	struct help_digest *d = arg;

	d->damages++;
	snprintf(d->last_damage, sizeof(d->last_damage), "%s", what);
}

/* Reads all epochs of a database. */
static inline int help_read(const char *db, const struct io *io, const char *epochs,
			    struct help_digest *ret, struct diag *diag)
{
	struct db_visitor v = {.rows = help_rows,
			       .item = {[CHUNK_EDGES] = help_edge,
					[CHUNK_STACKS] = help_stack,
					[CHUNK_RAWS] = help_raw,
					[CHUNK_PATHS] = help_path},
			       .counter = help_counter,
			       .fact = help_fact,
			       .damage = help_damage,
			       .arg = ret};
	struct db_reader *r;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = db_reader_open(db, io, &r, diag);
	if (err < 0)
		return err;
	err = db_reader_select(r, epochs, diag);
	if (err == 0)
		err = db_reader_query(r, &v, diag);
	db_reader_free(r);
	return err;
}

/* Adds a random edge, within an image or to another, or a window's start or end. */
static inline int help_fill_edge(struct db_batch *b, struct help_digest *d, uint64_t *state,
				 uint32_t image, const struct image_id *id)
{
	static const struct db_event windows = {"windows", 0, DB_EVENT_USER};
	static const enum db_evidence evidence[4] = {DB_EVIDENCE_WINDOWS, DB_EVIDENCE_RECORDS,
						     DB_EVIDENCE_COUNTS, DB_EVIDENCE_WINDOWS};
	static const struct image_id other = {
		.kind = IMAGE_CONTENT, .size = 20, .bytes = {3, 1, 4}};
	uint64_t n = help_random(state);
	struct db_edge e = {.image = image,
			    .evidence = evidence[n >> 59 & 3],
			    .to_image = image,
			    .from = n % 64 * 40};
	uint64_t count = 1 + (n >> 8) % 20, distinct = 1 + (n >> 16) % count;
	struct db_edge_item item = {.image = id,
				    .to_image = id,
				    .event = &windows,
				    .evidence = e.evidence,
				    .count = count,
				    .windows = distinct};
	int r = db_batch_event(b, &windows, &e.event);

	e.to = e.from + (n >> 24) % 512 - (e.from > 256 ? 256 : 0);
	if (n >> 61 == 0) {
		e.from = DB_EDGE_START;
	} else if (n >> 61 == 1) {
		e.to = DB_EDGE_END;
	} else if (n >> 61 == 2) {
		item.to_image = &other;
		if (r == 0)
			r = db_batch_image(b, &other, "/usr/lib/other", 14, &e.to_image);
	}
	if (r == 0)
		r = db_batch_edge(b, &e, count, distinct);
	item.from = e.from;
	item.to = e.to;
	return r < 0 ? r : help_edge(d, "", &item);
}

/* Adds a random stack of the image and others, one of few that begin alike. */
static inline int help_fill_stack(struct db_batch *b, struct help_digest *d, uint64_t *state,
				  uint32_t image, const struct image_id *id)
{
	static const struct db_event event = {"cpu-clock", 1000000, DB_EVENT_USER};
	static const struct image_id other = {
		.kind = IMAGE_CONTENT, .size = 20, .bytes = {2, 7, 1}};
	uint64_t n = help_random(state), count = 1 + (n >> 40) % 20;
	uint32_t depth = 1 + (uint32_t)n % 12, other_image, event_index, subject;
	struct db_frame_item items[12];
	struct db_frame frames[12];
	struct db_stack_item item = {&event, {"", 0}, items, depth, count};
	int r = db_batch_event(b, &event, &event_index);

	if (r == 0)
		r = db_batch_subject(b, "", 0, &subject);
	if (r == 0)
		r = db_batch_image(b, &other, "/usr/lib/other", 14, &other_image);
	for (uint32_t i = 0; i < depth && r == 0; i++) {
		bool is_other = (n >> (8 + i) & 1) != 0;

		frames[i] = (struct db_frame){is_other ? other_image : image, (n >> (20 + i)) % 3};
		items[i] =
			(struct db_frame_item){is_other ? &other : id, {NULL, 0}, frames[i].offset};
	}
	if (r == 0)
		r = db_batch_stack(b, event_index, subject, frames, depth, count);
	return r < 0 ? r : help_stack(d, "", &item);
}

/* Adds a raw record, one of few at few places, of two forms. */
static inline int help_fill_raw(struct db_batch *b, struct help_digest *d, uint64_t *state,
				uint32_t image, const struct image_id *id)
{
	static const struct db_event event = {"ibs_op//", 250000, DB_EVENT_PRECISE};
	static const struct image_id other = {
		.kind = IMAGE_CONTENT, .size = 20, .bytes = {1, 6, 1}};
	uint64_t n = help_random(state), count = 1 + (n >> 60);
	struct db_raw raw = {.image = image,
			     .target_image = DB_RAW_NO_TARGET,
			     .form = {DB_RAW_IBS_OP, 0x3ff, n % 3 ? 0x3d : 0xff},
			     .offset = (n >> 8) % 5 * 16};
	struct db_raw_item item = {
		.image = id, .event = &event, .subject = {"", 0}, .form = raw.form, .count = count};
	uint32_t other_image;
	int r = db_batch_event(b, &event, &raw.event);

	if (r == 0)
		r = db_batch_subject(b, "", 0, &raw.subject);
	if (r == 0)
		r = db_batch_image(b, &other, "/usr/lib/other", 14, &other_image);
	if (n >> 16 & 1) {
		raw.target_image = n >> 17 & 1 ? other_image : image;
		raw.target = (n >> 18) % 64 - 32;
		item.target_image = n >> 17 & 1 ? &other : id;
	}
	for (unsigned i = 0; i < db_raw_values(&raw.form); i++)
		raw.values[i] = item.values[i] = (n >> (20 + i)) % 3 * 0x0123456789abcdef;
	item.offset = raw.offset;
	item.target = raw.target;
	if (r == 0)
		r = db_batch_raw(b, &raw, count);
	return r < 0 ? r : help_raw(d, "", &item);
}

/* Adds a random path, one of few of few functions, that begin alike. */
static inline int help_fill_path(struct db_batch *b, struct help_digest *d, uint64_t *state,
				 uint32_t image, const struct image_id *id)
{
	static const struct db_event event = {DB_PATHS_EVENT, 1, DB_EVENT_USER};
	uint64_t n = help_random(state), blocks[6];
	struct db_path p = {.image = image,
			    .function = n % 3 * 0x400,
			    .blocks = blocks,
			    .block_count = 1 + (n >> 8) % 6,
			    .end = (enum db_path_end)(1 + (n >> 16) % DB_PATH_END_MAX)};
	struct db_path_sums sums = {1 + (n >> 24) % 20, 0, 0};
	struct db_path_item item = {.image = id, .event = &event, .blocks = blocks};
	int r = db_batch_event(b, &event, &p.event);

	if (n >> 32 & 1)
		sums = (struct db_path_sums){sums.count, sums.count, (n >> 40) % 1000};
	if (db_path_goes_on(p.end))
		p.to = p.function + (n >> 33) % 2 * 0x20;
	for (uint32_t i = 0; i < p.block_count; i++)
		blocks[i] = p.function + i * 0x20 + (n >> (50 + i)) % 2 * 8;
	if (r == 0)
		r = db_batch_path(b, &p, &sums);
	item.function = p.function;
	item.block_count = p.block_count;
	item.end = p.end;
	item.to = p.to;
	item.count = sums.count;
	item.timed = sums.timed;
	item.time_ns = sums.time_ns;
	return r < 0 ? r : help_path(d, "", &item);
}

/* Adds count random rows, over some images, two events and a few subjects, to batch and digest,
 * and a fourth as many edges, stacks, raw records and paths. */
static inline int help_fill(struct db_batch *b, struct help_digest *d, uint64_t seed,
			    unsigned count)
{
	static const struct db_event events[] = {{"cycles", 1000003, DB_EVENT_PRECISE},
						 {"cpu-clock:u", 1000000, DB_EVENT_USER}};
	uint64_t state = seed;

	for (unsigned i = 0; i < count; i++) {
		uint64_t n = help_random(&state), image_number = n % 7,
			 subject_number = (n >> 8) % 5;
		struct image_id id = {.kind = IMAGE_BUILD_ID,
				      .size = 20,
				      .bytes = {(uint8_t)image_number, 1, 2, 3}};
		const struct db_event *event = &events[(n >> 16) % 2];
		char path[32], subject[32];
		uint64_t offset = help_random(&state) % 4096, value = 1 + n % 3;
		uint32_t image_index, event_index, subject_index, profile;
		struct db_profile p;
		int r;

		snprintf(path, sizeof(path), "/usr/lib/image-%u", (unsigned)image_number);
		snprintf(subject, sizeof(subject), "%ccomm%cname-%u", 4, 6,
			 (unsigned)subject_number);
		r = db_batch_image(b, &id, path, strlen(path), &image_index);
		if (r == 0)
			r = db_batch_event(b, event, &event_index);
		if (r == 0)
			r = db_batch_subject(b, subject, strlen(subject), &subject_index);
		if (r == 0)
			r = db_batch_profile(b, image_index, event_index, subject_index, &profile);
		if (r == 0)
			r = db_batch_add(b, profile, offset, value);
		if (r == 0)
			r = db_batch_count(b, event_index, "samples", value);
		if (r == 0 && i % 4 == 3)
			r = help_fill_edge(b, d, &state, image_index, &id);
		if (r == 0 && i % 4 == 1)
			r = help_fill_stack(b, d, &state, image_index, &id);
		if (r == 0 && i % 4 == 2)
			r = help_fill_raw(b, d, &state, image_index, &id);
		if (r == 0 && i % 4 == 0)
			r = help_fill_path(b, d, &state, image_index, &id);
		if (r < 0)
			return r;
		p = (struct db_profile){.image = &id,
					.event = event,
					.subject = subject,
					.subject_size = strlen(subject)};
		help_digest_add(d, &p, offset, value);
		d->counted += value;
	}
	return 0;
}

/* What a check finds: how much, and the last of it. */
struct help_findings {
	unsigned count;
	char last[512];
};

static inline void help_keep_finding(void *arg, const char *what)
{
	struct help_findings *f = arg;

	f->count++;
	snprintf(f->last, sizeof(f->last), "%s", what);
}

#endif
