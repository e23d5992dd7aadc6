/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/check.h"
#include "db/epoch.h"
#include "db/merge.h"
#include "db/writer_state.h"
#include "util/num.h"

/*
 * Compaction: the base and the segments after it become the next base. It takes two passes: the
 * first reads everything and finds what is damaged, the second merges what is sound, so that the
 * new base can say at its start what it holds. At most FAN_IN packs are merged at once, which
 * bounds memory (one chunk each); more segments than that take several rounds. A sealed epoch of a
 * single segment gets a base too: nothing will be added to it, and a base is compressed more.
 */
#define FAN_IN 32

struct compaction {
	struct db_writer *w;
	int epoch_fd;
	const char *name;
	struct epoch epoch;
	struct merge_input inputs[FAN_IN];
	struct db_batch *sums; /* counters, facts and events of all inputs; no rows */
	uint64_t samples;
	uint64_t lost[DB_KIND_TYPES]; /* counts of damaged chunks, by type */
	struct diag *diag;
};

static void sum_totals(struct compaction *c, const struct check_totals *t, const struct pack *p)
{
	c->samples = num_add_sat(c->samples, t->of[CHUNK_ROWS].sum);
	for (size_t i = 0; i < DB_KIND_TYPES; i++)
		c->lost[i] = num_add_sat(c->lost[i], t->of[i].lost);
	c->lost[CHUNK_ROWS] = num_add_sat(c->lost[CHUNK_ROWS], p->lost_samples);
}

/* The first pass. */
static int inspect(struct compaction *c)
{
	struct check_totals totals;
	int r = 0;

	c->sums = db_batch_new(0);
	if (!c->sums)
		return -ENOMEM;
	for (size_t i = 0; i < c->epoch.pack_count && r == 0; i++) {
		const struct pack *p = c->epoch.packs[i];
		bool *good = calloc(p->catalog.entry_count + 1, sizeof(*good));

		if (!good)
			return -ENOMEM;
		c->inputs[i] = (struct merge_input){p, good};
		r = check_pack(p, NULL, NULL, good, &totals);
		if (r == -EBADMSG)
			r = 0;
		if (r < 0)
			return r;
		sum_totals(c, &totals, p);
		r = db_batch_add_catalog(c->sums, &p->catalog);
	}
	for (size_t i = 0; i < db_kind_count && r == 0; i++)
		if (c->lost[db_kinds[i]->type])
			r = db_batch_count(c->sums, DB_EVENT_NONE, db_kinds[i]->lost,
					   c->lost[db_kinds[i]->type]);
	return r;
}

/* Chunks of types that this version does not know go along as they are. */
static int carry_unknown(const struct compaction *c, struct pack_writer *out)
{
	struct buf whole;
	int r = 0;

	buf_init(&whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	for (size_t i = 0; i < c->epoch.pack_count && r == 0; i++) {
		const struct catalog *t = &c->inputs[i].pack->catalog;

		for (uint32_t n = 0; n < t->entry_count && r == 0; n++) {
			const struct catalog_entry *e = &t->entries[n];

			if (!kind_is_unknown(e->chunk.type) || !c->inputs[i].good[n])
				continue;
			r = pack_read_chunk(c->inputs[i].pack, e, &whole, NULL, NULL);
			if (r == 0)
				r = pack_add_chunk(out, &e->chunk, whole.data);
		}
	}
	buf_free(&whole);
	return r;
}

/* The second pass. */
static int write_base(struct compaction *c, uint32_t generation)
{
	struct catalog head = writer_batch_catalog(c->sums);
	char name[LAYOUT_NAME_MAX];
	struct pack_writer *out;
	uint64_t bytes;

	head.samples = c->samples;
	layout_base_name(generation, c->epoch.last_segment, name);
	int r = pack_create(c->w->io, c->epoch_fd, name, &head, PACK_LEVEL_BASE, &out, c->diag);
	if (r < 0)
		return r;
	r = merge_packs(c->inputs, c->epoch.pack_count, out);
	if (r == 0)
		r = carry_unknown(c, out);
	if (r < 0) {
		pack_abandon(out);
		return diag_fail(c->diag, -r, "cannot compact epoch %s: %s", c->name, strerror(-r));
	}
	return pack_finish(out, &bytes, c->diag);
}

/* In place of what it covers. When that was sealed does not change. */
static int renew_seal(struct compaction *c, uint32_t generation)
{
	struct epoch_listing l = {0};
	struct seal s = {0};
	char file[LAYOUT_NAME_MAX];
	int r = epoch_list(c->w->io, c->epoch_fd, &l);

	if (r == 0)
		s.clock = l.seal_error ? *writer_age(c->w) : l.seal.clock;
	for (size_t i = 0; r == 0 && i < l.segment_count; i++) {
		if (l.segments[i] <= c->epoch.last_segment)
			continue;
		layout_segment_name(l.segments[i], file);
		r = seal_add(&s, c->w->io, c->epoch_fd, file);
	}
	epoch_listing_free(&l);
	layout_base_name(generation, c->epoch.last_segment, file);
	if (r == 0)
		r = seal_add(&s, c->w->io, c->epoch_fd, file);
	if (r == 0)
		r = seal_write(c->w->io, c->epoch_fd, &s);
	seal_free(&s);
	return r < 0 ? diag_fail(c->diag, -r, "cannot seal epoch %s: %s", c->name,
				 layout_write_error(-r))
		     : 0;
}

static int next_generation(const struct compaction *c, uint32_t *ret)
{
	struct epoch_listing l = {0};
	int r = epoch_list(c->w->io, c->epoch_fd, &l);

	if (r < 0)
		return r;
	if (l.base_count && l.bases[0].generation == UINT32_MAX)
		r = -EOVERFLOW;
	else
		*ret = l.base_count ? l.bases[0].generation + 1 : 1;
	epoch_listing_free(&l);
	return r;
}

/* One round. 1 when it made a base, 0 when there was nothing to do. */
static int compact_round(struct compaction *c, const struct epoch_limit *limit)
{
	uint32_t generation = 0;
	int r = epoch_open(c->w->io, c->w->machine_fd, c->name, limit, NULL, NULL, &c->epoch,
			   c->diag);

	if (r < 0)
		return r;
	if (c->epoch.unread)
		return diag_fail(c->diag, -c->epoch.unread,
				 "epoch %s has a pack that cannot be read now: not compacted",
				 c->name);
	if (c->epoch.pack_count < (c->epoch.sealed && !c->epoch.generation ? 1 : 2))
		return 0;
	r = inspect(c);
	if (r == 0)
		r = next_generation(c, &generation);
	if (r < 0)
		return diag_fail(c->diag, -r, "cannot compact epoch %s: %s", c->name, strerror(-r));
	r = write_base(c, generation);
	if (r == 0 && c->epoch.sealed)
		r = renew_seal(c, generation);
	return r < 0 ? r : 1;
}

static void round_end(struct compaction *c)
{
	for (size_t i = 0; i < FAN_IN; i++)
		free((bool *)c->inputs[i].good);
	db_batch_free(c->sums);
	epoch_close(&c->epoch);
}

int db_writer_compact(struct db_writer *w, const char *epoch, struct diag *diag)
{
	bool is_current = w->epoch_fd >= 0 && (!epoch || strcmp(epoch, w->epoch) == 0);
	struct epoch_limit limit = {is_current ? w->last_segment : UINT32_MAX, FAN_IN};
	const char *name = epoch ? epoch : w->epoch, *dir = is_current ? w->dir : name;
	int fd, cleaned, r = 1;

	if (!epoch && !is_current)
		return diag_fail(diag, EINVAL, "no epoch was begun in %s", w->path);
	if (!layout_is_epoch(name))
		return diag_fail(diag, EINVAL, "'%s' is not the name of an epoch", name);
	fd = layout_enter_dir(w->io, w->machine_fd, dir);
	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open epoch %s of %s: %s", name, w->path,
				 strerror(-fd));
	while (r == 1) {
		struct compaction c = {.w = w, .epoch_fd = fd, .name = dir, .diag = diag};

		r = compact_round(&c, &limit);
		if (r == 1 && is_current)
			w->upto = c.epoch.last_segment;
		round_end(&c);
		if (r == 1) {
			cleaned = writer_clean_epoch(w, fd, name, diag);
			r = cleaned < 0 ? cleaned : r;
		}
	}
	w->io->close(w->io->arg, fd);
	return r;
}
