/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/num.h"

/* Decoded dictionaries of a chunk: several times CHUNK_RAW_MAX at most. */
#define CHECK_ARENA_MAX ((size_t)256 << 20)

struct check {
	const struct pack *p;
	pack_damage_fn *damage;
	void *arg;
	bool damaged;
	struct buf whole, raw;
	void *last[DB_KIND_TYPES]; /* items of kinds that are kept, each of its last sound chunk */
	struct check_totals totals;
};

static void check_told(void *arg, const char *what)
{
	struct check *c = arg;

	c->damaged = true;
	if (c->damage)
		c->damage(c->arg, what);
}

/* Every item of a chunk and their sum, and that they come after the chunk before; that they rise
 * within it is the cursor's business. */
static int check_items(struct check *c, const struct catalog_entry *e, struct kind_chunk *chunk)
{
	const struct db_kind *kind = chunk->kind;
	void **last = &c->last[kind->type], *kept = NULL;
	uint64_t sum = 0, count = 0;
	int r;

	for (; (r = kind_chunk_next(chunk)) == 1; count++) {
		if (!count && *last && kind->compare(*last, chunk->item) >= 0)
			return -EBADMSG;
		sum = num_add_sat(sum, kind_count(kind, chunk->item));
	}
	if (r < 0)
		return r;
	if (!count || sum != e->chunk.samples)
		return -EBADMSG;
	if (!kind->keep)
		return 0;
	/* The last item is there still. */
	kept = kind->keep(chunk->item);
	free(*last);
	*last = kept;
	return kept ? 0 : -ENOMEM;
}

static int check_decode(struct check *c, const struct catalog_entry *e,
			const struct db_bytes streams[CHUNK_STREAMS_MAX], struct arena *a)
{
	const struct db_kind *kind = kind_of(e->chunk.type);
	struct kind_chunk chunk;
	struct catalog head;

	if (!kind)
		return catalog_decode(&streams[0], a, &head);
	int r = kind_chunk_open(kind, streams, e->chunk.rows, a, &chunk);
	return r < 0 ? r : check_items(c, e, &chunk);
}

static int check_chunk(struct check *c, const struct catalog_entry *e)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct arena *a;
	int r = pack_read_chunk(c->p, e, &c->whole, check_told, c);

	if (r < 0 || kind_is_unknown(e->chunk.type))
		return r;
	a = arena_new(CHECK_ARENA_MAX);
	if (!a)
		return -ENOMEM;
	r = chunk_open(c->whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &c->raw, streams);
	if (r == 0)
		r = check_decode(c, e, streams, a);
	if (r == -EBADMSG) {
		char what[96];

		snprintf(what, sizeof(what), "the chunk at byte %" PRIu64 " cannot be decoded",
			 e->offset);
		pack_tell(c->p, e, check_told, c, what);
	}
	arena_free(a);
	return r;
}

/* Adds a chunk to the totals: sound, or -EBADMSG. */
static void check_count(struct check_totals *t, const struct chunk_header *h, int r)
{
	const struct db_kind *kind = kind_of(h->type);
	struct db_kind_totals *of = kind ? &t->of[kind->type] : NULL;

	t->chunks++;
	t->damaged += r == -EBADMSG;
	if (of && r == 0) {
		of->items += h->rows;
		of->sum = num_add_sat(of->sum, h->samples);
	} else if (of && r == -EBADMSG) {
		of->lost = num_add_sat(of->lost, h->samples);
	}
}

int check_pack(const struct pack *p, pack_damage_fn *damage, void *arg, bool *ret_good,
	       struct check_totals *ret)
{
	struct check *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->p = p;
	c->damage = damage;
	c->arg = arg;
	buf_init(&c->whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	buf_init(&c->raw, CHUNK_RAW_MAX + 1);
	for (uint32_t i = 0; i < p->catalog.entry_count && r == 0; i++) {
		const struct catalog_entry *e = &p->catalog.entries[i];

		r = check_chunk(c, e);
		if (ret_good)
			ret_good[i] = r == 0;
		check_count(&c->totals, &e->chunk, r);
		if (r == -EBADMSG)
			r = 0;
	}
	if (r == 0)
		r = pack_verify_frame(p, check_told, c);
	if (r == 0 && c->damaged)
		r = -EBADMSG;
	if (ret && (r == 0 || r == -EBADMSG))
		*ret = c->totals;
	for (size_t i = 0; i < DB_KIND_TYPES; i++)
		free(c->last[i]);
	buf_free(&c->whole);
	buf_free(&c->raw);
	free(c);
	return r;
}
