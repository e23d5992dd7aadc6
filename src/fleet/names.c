/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/names.h"

#include <errno.h>
#include <string.h>
#include "util/array.h"

#define NAMES_MAX   (4u << 20) /* of a sort */
#define MEMORY_MAX  ((size_t)1 << 30)
#define ANSWER_MAX  ((size_t)1 << 30)
#define ASK_AT_ONCE 20000

static const char *const questions[] = {
	[FLEET_NAME_IMAGE] = "SELECT image, id, min(path) FROM images WHERE image IN (0",
	[FLEET_NAME_EVENT] =
		"SELECT DISTINCT event, name, period, flags FROM events WHERE event IN (0",
	[FLEET_NAME_SUBJECT] = "SELECT DISTINCT subject, pairs FROM subjects WHERE subject IN (0",
};
static const char *const ends[] = {
	[FLEET_NAME_IMAGE] = ") GROUP BY image, id FORMAT RowBinary",
	[FLEET_NAME_EVENT] = ") FORMAT RowBinary",
	[FLEET_NAME_SUBJECT] = ") FORMAT RowBinary",
};

int fleet_names_init(struct fleet_names *n)
{
	memset(n, 0, sizeof(*n));
	n->memory = arena_new(MEMORY_MAX);
	for (int i = 0; i < FLEET_NAME_SORTS; i++) {
		n->of[i].at = map64_new(NAMES_MAX);
		if (!n->memory || !n->of[i].at)
			return -ENOMEM;
	}
	return 0;
}

void fleet_names_free(struct fleet_names *n)
{
	for (int i = 0; i < FLEET_NAME_SORTS; i++) {
		map64_free(n->of[i].at);
		free(n->of[i].list);
	}
	arena_free(n->memory);
	memset(n, 0, sizeof(*n));
}

struct fleet_name *fleet_names_get(const struct fleet_names *n, enum fleet_sort sort,
				   uint64_t number)
{
	uint64_t at;

	return number != UINT64_MAX && !map64_get(n->of[sort].at, number, &at)
		       ? &n->of[sort].list[at]
		       : NULL;
}

int fleet_names_want(struct fleet_names *n, enum fleet_sort sort, uint64_t number, uint64_t samples)
{
	struct fleet_name *name = fleet_names_get(n, sort, number);
	int r = 0;

	if (number == UINT64_MAX)
		return 0;
	if (!name) {
		r = array_grow(&n->of[sort].list, n->of[sort].count, &n->of[sort].room,
			       sizeof(*name), 64);
		if (!r)
			r = map64_put(n->of[sort].at, number, n->of[sort].count);
		if (r)
			return r;
		name = &n->of[sort].list[n->of[sort].count++];
		*name = (struct fleet_name){.number = number, .index = UINT32_MAX};
	}
	name->samples += samples;
	return 0;
}

static int keep(struct fleet_names *n, const void *data, size_t size, struct db_bytes *ret)
{
	char *copy = arena_alloc(n->memory, size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, size ? data : "", size);
	copy[size] = 0;
	*ret = (struct db_bytes){copy, size};
	return 0;
}

/* Reads one row of an answer. Whether it is what its number says is found by making the number of
 * it. */
static int take_row(struct fleet_names *n, enum fleet_sort sort, struct cursor *c)
{
	uint64_t number = cursor_u64(c), made;
	struct fleet_name got = {.number = number}, *name;
	struct db_bytes first = {0}, text = {0};
	int r = 0;

	first.data = cursor_string(c, SUBJECT_MAX_BYTES, &first.size);
	if (sort == FLEET_NAME_IMAGE)
		text.data = cursor_string(c, DB_PATH_MAX, &text.size);
	if (sort == FLEET_NAME_EVENT) {
		got.event.period = cursor_u64(c);
		got.event.flags = cursor_u32(c);
	}
	if (c->error)
		return -EPROTO;
	name = fleet_names_get(n, sort, number);
	if (!name || name->known)
		return 0;
	r = keep(n, first.data, first.size, &first);
	if (!r && sort == FLEET_NAME_IMAGE)
		r = keep(n, text.data, text.size, &got.text);
	if (r)
		return r;
	if (sort == FLEET_NAME_IMAGE) {
		made = image_id_parse(first.data, &got.image) ? 0 : fleet_id_image(&got.image);
	} else if (sort == FLEET_NAME_EVENT) {
		got.event.name = first.data;
		made = strlen(first.data) == first.size ? fleet_id_event(&got.event) : 0;
	} else {
		got.text = first;
		made = fleet_id_subject(first.data, first.size);
	}
	got.index = UINT32_MAX;
	got.samples = name->samples;
	got.known = made == number;
	n->forged += !got.known;
	if (got.known)
		*name = got;
	return 0;
}

static int ask(struct fleet_names *n, enum fleet_sort sort, struct fleet_server *s, struct buf *sql,
	       struct buf *answer, struct diag *diag)
{
	struct cursor c;
	int r = 0;

	buf_clear(sql);
	buf_printf(sql, "%s", questions[sort]);
	for (size_t i = 0; i < ASK_AT_ONCE && n->of[sort].asked < n->of[sort].count; i++)
		buf_printf(sql, ",%llu",
			   (unsigned long long)n->of[sort].list[n->of[sort].asked++].number);
	buf_printf(sql, "%s", ends[sort]);
	buf_append_u8(sql, 0);
	r = sql->error ? diag_fail(diag, ENOMEM, "out of memory")
		       : fleet_server_run(s, (const char *)sql->data, NULL, answer, diag);
	if (r)
		return r;
	c = cursor_over(answer->data, answer->size);
	while (cursor_left(&c) && !r)
		r = take_row(n, sort, &c);
	return r ? diag_fail(diag, -r, "cannot take the names of the fleet: %s", strerror(-r)) : 0;
}

int fleet_names_ask(struct fleet_names *n, struct fleet_server *s, struct diag *diag)
{
	struct buf sql, answer;
	int r = 0;

	buf_init(&sql, 1 << 20);
	buf_init(&answer, ANSWER_MAX);
	for (int i = 0; i < FLEET_NAME_SORTS; i++)
		while (!r && n->of[i].asked < n->of[i].count)
			r = ask(n, (enum fleet_sort)i, s, &sql, &answer, diag);
	buf_free(&sql);
	buf_free(&answer);
	return r;
}

int fleet_names_batch(struct fleet_names *n, enum fleet_sort sort, uint64_t number,
		      struct db_batch *batch, uint32_t *ret)
{
	struct fleet_name *name = fleet_names_get(n, sort, number);
	struct image_id unknown = {.kind = IMAGE_UNKNOWN};
	int r = 0;

	if (!name || (sort == FLEET_NAME_EVENT && !name->known))
		return -ENOENT;
	if (name->index == UINT32_MAX && sort == FLEET_NAME_EVENT)
		r = db_batch_event(batch, &name->event, &name->index);
	else if (name->index == UINT32_MAX && sort == FLEET_NAME_SUBJECT)
		r = db_batch_subject(batch, name->text.data ? name->text.data : "", name->text.size,
				     &name->index);
	else if (name->index == UINT32_MAX)
		r = name->known ? db_batch_image(batch, &name->image, name->text.data,
						 name->text.size, &name->index)
				: db_batch_image(batch, &unknown, "[unknown]", 9, &name->index);
	*ret = name->index;
	return r;
}

void fleet_names_forget(struct fleet_names *n)
{
	for (int i = 0; i < FLEET_NAME_SORTS; i++)
		for (size_t k = 0; k < n->of[i].count; k++)
			n->of[i].list[k].index = UINT32_MAX;
}
