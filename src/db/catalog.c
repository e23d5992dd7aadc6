/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/catalog.h"

#include <errno.h>
#include <string.h>

void event_encode(struct buf *out, const struct db_event *e)
{
	buf_append_string(out, e->name, strlen(e->name));
	buf_append_varint(out, e->period);
	buf_append_varint(out, e->flags);
}

/* A string without zero bytes, as a C string. NULL on error, which is kept in c. */
static const char *name_decode(struct cursor *c, struct arena *a, size_t max)
{
	size_t size = 0;
	const char *s = cursor_string(c, max, &size), *copy;

	if (!s)
		return NULL;
	if (memchr(s, 0, size)) {
		c->error = -EBADMSG;
		return NULL;
	}
	copy = arena_strndup(a, s, size);
	if (!copy)
		c->error = -ENOMEM;
	return copy;
}

int event_decode(struct cursor *c, struct arena *a, struct db_event *ret)
{
	uint64_t flags;

	ret->name = name_decode(c, a, DB_NAME_MAX);
	ret->period = cursor_varint(c);
	flags = cursor_varint(c);
	ret->flags = (uint32_t)flags;
	if (!c->error && flags > UINT32_MAX)
		c->error = -EBADMSG;
	return c->error;
}

static void entry_encode(struct buf *out, const struct catalog_entry *e, uint64_t gap)
{
	buf_append_varint(out, gap);
	buf_append_varint(out, e->chunk.type);
	buf_append_varint(out, e->chunk.payload_size);
	buf_append_varint(out, e->chunk.rows);
	buf_append_varint(out, e->chunk.samples);
	buf_append_u64(out, e->chunk.payload_sum);
	buf_append_varint(out, e->label_count);
	for (uint32_t i = 0; i < e->label_count; i++)
		buf_append_varint(out, e->labels[i]);
}

static uint64_t entry_end(const struct catalog_entry *e)
{
	return e->offset + CHUNK_HEADER_SIZE + e->chunk.payload_size;
}

int catalog_encode(struct buf *out, const struct catalog *c)
{
	uint64_t end = 0;

	buf_append_varint(out, c->start_ns);
	buf_append_varint(out, c->end_ns);
	buf_append_varint(out, c->rows);
	buf_append_varint(out, c->samples);
	buf_append_varint(out, c->event_count);
	for (uint32_t i = 0; i < c->event_count; i++)
		event_encode(out, &c->events[i]);
	buf_append_varint(out, c->counter_count);
	for (uint32_t i = 0; i < c->counter_count; i++) {
		const struct db_counter *n = &c->counters[i];

		buf_append_varint(out, n->event == DB_EVENT_NONE ? 0 : n->event + 1);
		buf_append_string(out, n->name, strlen(n->name));
		buf_append_varint(out, n->value);
	}
	buf_append_varint(out, c->fact_count);
	for (uint32_t i = 0; i < c->fact_count; i++) {
		buf_append_string(out, c->facts[i].name, strlen(c->facts[i].name));
		buf_append_string(out, c->facts[i].value, strlen(c->facts[i].value));
	}
	buf_append_varint(out, c->label_count);
	for (uint32_t i = 0; i < c->label_count; i++)
		buf_append_string(out, c->labels[i].data, c->labels[i].size);
	buf_append_varint(out, c->entry_count);
	for (uint32_t i = 0; i < c->entry_count; i++) {
		entry_encode(out, &c->entries[i], c->entries[i].offset - end);
		end = entry_end(&c->entries[i]);
	}
	return out->error;
}

/*
 * A count of things of at least one byte each, and memory for them: what the bytes at hand cannot
 * hold is refused before it is allocated.
 */
static void *list_decode(struct cursor *c, struct arena *a, uint64_t max, size_t size,
			 uint32_t *ret_count)
{
	uint64_t count = cursor_varint(c);
	void *list;

	if (!c->error && (count > max || count > cursor_left(c)))
		c->error = -EBADMSG;
	if (c->error)
		return NULL;
	list = arena_alloc(a, count * size + 1);
	if (!list)
		c->error = -ENOMEM;
	else
		*ret_count = (uint32_t)count;
	return list;
}

static void counter_decode(struct cursor *c, struct arena *a, uint32_t event_count,
			   struct db_counter *ret)
{
	uint64_t event = cursor_varint(c);

	ret->name = name_decode(c, a, DB_NAME_MAX);
	ret->value = cursor_varint(c);
	ret->event = event ? (uint32_t)event - 1 : DB_EVENT_NONE;
	if (!c->error && event > event_count)
		c->error = -EBADMSG;
}

static void entry_decode(struct cursor *c, struct arena *a, uint32_t label_count, uint64_t end,
			 struct catalog_entry *ret)
{
	uint64_t gap = cursor_varint(c), type = cursor_varint(c), size = cursor_varint(c);
	uint64_t rows = cursor_varint(c), label;

	ret->chunk = (struct chunk_header){(uint32_t)type, (uint32_t)size, (uint32_t)rows,
					   .samples = cursor_varint(c)};
	ret->chunk.payload_sum = cursor_u64(c);
	ret->offset = end + gap;
	if (!c->error && (gap > INT64_MAX || type > UINT32_MAX || size > CHUNK_PAYLOAD_MAX ||
			  rows > UINT32_MAX || ret->offset > INT64_MAX))
		c->error = -EBADMSG;
	/* One for each image, so more than there are different ones when images share a path. */
	ret->labels =
		list_decode(c, a, CATALOG_LABELS_MAX, sizeof(*ret->labels), &ret->label_count);
	for (uint32_t i = 0; i < ret->label_count && !c->error; i++) {
		label = cursor_varint(c);
		if (!c->error && label >= label_count)
			c->error = -EBADMSG;
		ret->labels[i] = (uint32_t)label;
	}
}

static void lists_decode(struct cursor *c, struct arena *a, struct catalog *t)
{
	uint64_t end = 0;

	t->events = list_decode(c, a, CATALOG_EVENTS_MAX, sizeof(*t->events), &t->event_count);
	for (uint32_t i = 0; i < t->event_count && !c->error; i++)
		event_decode(c, a, &t->events[i]);
	t->counters =
		list_decode(c, a, CATALOG_COUNTERS_MAX, sizeof(*t->counters), &t->counter_count);
	for (uint32_t i = 0; i < t->counter_count && !c->error; i++)
		counter_decode(c, a, t->event_count, &t->counters[i]);
	t->facts = list_decode(c, a, CATALOG_FACTS_MAX, sizeof(*t->facts), &t->fact_count);
	for (uint32_t i = 0; i < t->fact_count && !c->error; i++) {
		t->facts[i].name = name_decode(c, a, DB_NAME_MAX);
		t->facts[i].value = name_decode(c, a, DB_FACT_VALUE_MAX);
	}
	t->labels = list_decode(c, a, CATALOG_LABELS_MAX, sizeof(*t->labels), &t->label_count);
	for (uint32_t i = 0; i < t->label_count && !c->error; i++)
		t->labels[i].data = cursor_string(c, CATALOG_LABEL_MAX, &t->labels[i].size);
	t->entries = list_decode(c, a, CATALOG_ENTRIES_MAX, sizeof(*t->entries), &t->entry_count);
	for (uint32_t i = 0; i < t->entry_count && !c->error; i++) {
		entry_decode(c, a, t->label_count, end, &t->entries[i]);
		end = entry_end(&t->entries[i]);
	}
}

int catalog_decode(const struct db_bytes *data, struct arena *a, struct catalog *ret)
{
	struct cursor c = cursor_over(data->data, data->size);
	struct catalog t = {0};

	t.start_ns = cursor_varint(&c);
	t.end_ns = cursor_varint(&c);
	t.rows = cursor_varint(&c);
	t.samples = cursor_varint(&c);
	lists_decode(&c, a, &t);
	if (!c.error && cursor_left(&c))
		c.error = -EBADMSG;
	if (c.error)
		return c.error;
	*ret = t;
	return 0;
}
