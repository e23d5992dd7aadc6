/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/catalog.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

#define SLOTS_MIN    1024
#define IMAGES_MAX   65536
#define EVENTS_MAX   1024
#define SUBJECTS_MAX 65536
#define PROFILES_MAX (1u << 20)
#define COUNTERS_MAX 4096
#define FACTS_MAX    256
/* The limit for names and subjects together, so that they always fit in one chunk
 * (CHUNK_PAYLOAD_MAX). */
#define DICT_BYTES_MAX	(3u << 20)
#define DICT_ENTRY_COST 16 /* numbers that go with an entry */
#define LIST_FIRST	16 /* entries of the array beside a dictionary */

static void batch_drop(struct db_batch *b)
{
	for (uint32_t i = 0; b->images && i < intern_count(b->images); i++)
		free(b->paths[i].data);
	for (uint32_t i = 0; b->facts && i < intern_count(b->facts); i++)
		free((char *)b->fact_list[i].value);
	intern_free(b->images);
	intern_free(b->events);
	intern_free(b->subjects);
	intern_free(b->profiles);
	intern_free(b->counters);
	intern_free(b->facts);
	free(b->slots);
	for (size_t i = 0; i < db_batch_counted_size(&b->counted[CHUNK_VALUES]); i++)
		free(b->summaries[i]);
	free(b->summaries);
	for (size_t i = 0; i < DB_KIND_TYPES; i++)
		db_batch_counted_drop(&b->counted[i]);
	free(b->paths);
	free(b->event_list);
	free(b->counter_list);
	free(b->fact_list);
	*b = (struct db_batch){.max_rows = b->max_rows};
}

struct db_batch *db_batch_new(size_t max_rows)
{
	struct db_batch *b = calloc(1, sizeof(*b));

	if (b)
		b->max_rows = max_rows;
	return b;
}

void db_batch_free(struct db_batch *b)
{
	if (!b)
		return;
	batch_drop(b);
	free(b);
}

void db_batch_clear(struct db_batch *b)
{
	batch_drop(b);
}

/*
 * Finds or adds an entry of a dictionary (made at its first use). Returns 1 when it is new, and
 * charges its size against the batch's limit.
 */
static int dict_add(struct db_batch *b, struct intern **dict, uint32_t max_entries, const void *key,
		    size_t key_size, size_t extra_bytes, uint32_t *ret)
{
	/* Profiles are not written as such. */
	size_t cost = dict == &b->profiles ? 0 : key_size + extra_bytes + DICT_ENTRY_COST;

	if (!*dict)
		*dict = intern_new(max_entries);
	if (!*dict)
		return -ENOMEM;
	if (intern_find(*dict, key, key_size, ret) == 0)
		return 0;
	if (b->dict_bytes + cost > DICT_BYTES_MAX)
		return -ENOSPC;
	int r = intern_add(*dict, key, key_size, ret);
	if (r < 0)
		return r;
	b->dict_bytes += cost;
	return 1;
}

static uint32_t dict_count(const struct intern *dict)
{
	return dict ? intern_count(dict) : 0;
}

void db_batch_get_image(const struct db_batch *b, uint32_t image, const struct image_id **ret_id,
			const char **ret_path)
{
	*ret_id = intern_get(b->images, image, NULL);
	*ret_path = b->paths[image].data;
}

size_t db_batch_images(const struct db_batch *b)
{
	return dict_count(b->images);
}

int db_batch_image(struct db_batch *b, const struct image_id *id, const char *path,
		   size_t path_size, uint32_t *ret)
{
	uint32_t index = dict_count(b->images);
	char *copy;

	if (path_size > DB_PATH_MAX || id->size > IMAGE_ID_MAX)
		return -EINVAL;
	if (b->images && intern_find(b->images, id, sizeof(*id), ret) == 0)
		return 0;
	int r = array_grow(&b->paths, index, &b->path_room, sizeof(*b->paths), LIST_FIRST);
	if (r < 0)
		return r;
	copy = malloc(path_size + 1);
	if (!copy)
		return -ENOMEM;
	r = dict_add(b, &b->images, IMAGES_MAX, id, sizeof(*id), path_size, &index);
	if (r != 1) {
		free(copy);
		if (r == 0)
			*ret = index;
		return r;
	}
	memcpy(copy, path, path_size);
	copy[path_size] = 0;
	b->paths[index] = (struct db_batch_image_path){copy, path_size};
	*ret = index;
	return 0;
}

int db_batch_event(struct db_batch *b, const struct db_event *event, uint32_t *ret)
{
	struct {
		uint64_t period;
		uint32_t flags;
		char name[DB_NAME_MAX + 1];
	} key;
	size_t head = offsetof(__typeof__(key), name), name_size = strlen(event->name);
	const char *kept;
	uint32_t index = dict_count(b->events);

	if (name_size > DB_NAME_MAX)
		return -EINVAL;
	memset(&key, 0, head);
	key.period = event->period;
	key.flags = event->flags;
	memcpy(key.name, event->name, name_size + 1);
	int r = array_grow(&b->event_list, index, &b->event_room, sizeof(*b->event_list),
			   LIST_FIRST);
	if (r < 0)
		return r;
	r = dict_add(b, &b->events, EVENTS_MAX, &key, head + name_size, 0, &index);
	if (r < 0)
		return r;
	kept = intern_get(b->events, index, NULL);
	b->event_list[index] = (struct db_event){kept + head, event->period, event->flags};
	*ret = index;
	return 0;
}

int db_batch_subject(struct db_batch *b, const void *subject, size_t size, uint32_t *ret)
{
	uint32_t index;

	if (size > SUBJECT_MAX_BYTES)
		return -EINVAL;
	int r = dict_add(b, &b->subjects, SUBJECTS_MAX, subject, size, 0, &index);
	if (r < 0)
		return r;
	*ret = index;
	return 0;
}

int db_batch_profile(struct db_batch *b, uint32_t image, uint32_t event, uint32_t subject,
		     uint32_t *ret)
{
	struct db_batch_profile key = {image, event, subject};
	uint32_t index;

	if (image >= dict_count(b->images) || event >= dict_count(b->events) ||
	    subject >= dict_count(b->subjects))
		return -EINVAL;
	int r = dict_add(b, &b->profiles, PROFILES_MAX, &key, sizeof(key), 0, &index);
	if (r < 0)
		return r;
	*ret = index;
	return 0;
}

static uint64_t slot_hash(uint32_t profile, uint64_t offset)
{
	return hash_u64(offset ^ (uint64_t)profile * 0x9e3779b97f4a7c15u);
}

/* Scales the hash to the table, which so need not be a power of two. */
static size_t slot_home(uint64_t hash, size_t count)
{
	return (size_t)(((unsigned __int128)hash * count) >> 64);
}

static struct db_batch_slot *slot_find_hashed(struct db_batch_slot *slots, size_t count,
					      uint64_t hash, uint32_t profile, uint64_t offset)
{
	size_t at = slot_home(hash, count);

	while (slots[at].profile != DB_SLOT_FREE &&
	       (slots[at].profile != profile || slots[at].offset != offset))
		at = at + 1 == count ? 0 : at + 1;
	return &slots[at];
}

static struct db_batch_slot *slot_find(struct db_batch_slot *slots, size_t count, uint32_t profile,
				       uint64_t offset)
{
	return slot_find_hashed(slots, count, slot_hash(profile, offset), profile, offset);
}

static size_t slots_for(size_t rows)
{
	return rows + rows / 4 + 1;
}

/* Makes place for need more rows. */
static int slots_grow(struct db_batch *b, size_t need)
{
	size_t most = slots_for(b->max_rows), count = b->slot_count * 2;
	struct db_batch_slot *slots;

	if (b->used + need > b->max_rows)
		return -ENOSPC;
	if (b->slot_count && slots_for(b->used + need) <= b->slot_count)
		return 0;
	if (count < SLOTS_MIN)
		count = SLOTS_MIN;
	if (count > most)
		count = most;
	slots = malloc(count * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, count * sizeof(*slots));
	for (size_t i = 0; i < b->slot_count; i++)
		if (b->slots[i].profile != DB_SLOT_FREE)
			*slot_find(slots, count, b->slots[i].profile, b->slots[i].offset) =
				b->slots[i];
	free(b->slots);
	b->slots = slots;
	b->slot_count = count;
	return 0;
}

static uint32_t slot_value(struct db_batch *b, uint32_t profile, uint64_t offset, size_t *ret_need)
{
	struct db_batch_slot *s;

	if (!b->slots) {
		*ret_need += 1;
		return 0;
	}
	s = slot_find(b->slots, b->slot_count, profile, offset);
	*ret_need += s->profile == DB_SLOT_FREE;
	return s->profile == DB_SLOT_FREE ? 0 : s->count;
}

static void slot_set(struct db_batch *b, uint32_t profile, uint64_t offset, uint32_t count)
{
	struct db_batch_slot *s = slot_find(b->slots, b->slot_count, profile, offset);

	b->used += s->profile == DB_SLOT_FREE;
	*s = (struct db_batch_slot){profile, count, offset};
}

/* Adds to the upper half of a 64-bit count, which stops at the largest. */
static void carry(struct db_batch *b, uint32_t profile, uint64_t offset)
{
	struct db_batch_slot *s =
		slot_find(b->slots, b->slot_count, profile | DB_PROFILE_HIGH, offset);

	if (s->profile != DB_SLOT_FREE && s->count == UINT32_MAX)
		slot_set(b, profile, offset, UINT32_MAX);
	else
		slot_set(b, profile | DB_PROFILE_HIGH, offset,
			 s->profile == DB_SLOT_FREE ? 1 : s->count + 1);
}

static void settle_one(struct db_batch *b)
{
	struct db_batch_waiting w = b->queue[b->queue_first];
	struct db_batch_slot *s =
		slot_find_hashed(b->slots, b->slot_count, w.hash, w.profile, w.offset);

	b->queue_first = (b->queue_first + 1) % DB_QUEUE;
	b->queue_count--;
	if (s->profile == DB_SLOT_FREE) {
		*s = (struct db_batch_slot){w.profile, w.count, w.offset};
		b->used++;
		return;
	}
	s->count += w.count;
	if (s->count < w.count)
		carry(b, w.profile, w.offset);
}

void db_batch_settle(const struct db_batch *b)
{
	while (b->queue_count)
		settle_one((struct db_batch *)b);
}

static void enqueue(struct db_batch *b, uint32_t profile, uint64_t offset, uint32_t count)
{
	uint64_t hash = slot_hash(profile, offset);

	__builtin_prefetch(&b->slots[slot_home(hash, b->slot_count)], 1);
	if (b->queue_count == DB_QUEUE)
		settle_one(b);
	b->queue[(b->queue_first + b->queue_count++) % DB_QUEUE] =
		(struct db_batch_waiting){profile, count, offset, hash};
	b->samples = num_add_sat(b->samples, count);
}

int db_batch_add(struct db_batch *b, uint32_t profile, uint64_t offset, uint64_t count)
{
	/* Each that waits may need a slot, and one for its upper half. */
	size_t most = 2 * ((size_t)b->queue_count + 1), need = 0;
	uint64_t low, high = 0;

	if (profile >= dict_count(b->profiles))
		return -EINVAL;
	if (!count)
		return 0;
	if (count <= UINT32_MAX && slots_grow(b, most) == 0) {
		enqueue(b, profile, offset, (uint32_t)count);
		return 0;
	}
	/* Nearly full: exactly what is needed decides. */
	db_batch_settle(b);
	low = slot_value(b, profile, offset, &need) + (count & UINT32_MAX);
	if ((low >> 32) + (count >> 32)) {
		high = slot_value(b, profile | DB_PROFILE_HIGH, offset, &need);
		high += (low >> 32) + (count >> 32);
		if (high > UINT32_MAX)
			high = low = UINT32_MAX; /* stops at the largest 64-bit count */
	}
	int r = slots_grow(b, need);
	if (r < 0)
		return r;
	slot_set(b, profile, offset, (uint32_t)low);
	if (high)
		slot_set(b, profile | DB_PROFILE_HIGH, offset, (uint32_t)high);
	b->samples = num_add_sat(b->samples, count);
	return 0;
}

int db_batch_count(struct db_batch *b, uint32_t event, const char *name, uint64_t value)
{
	struct {
		uint32_t event;
		char name[DB_NAME_MAX + 1];
	} key;
	size_t head = offsetof(__typeof__(key), name), name_size = strlen(name);
	const char *kept;
	uint32_t index = dict_count(b->counters);

	if (name_size > DB_NAME_MAX || (event != DB_EVENT_NONE && event >= dict_count(b->events)))
		return -EINVAL;
	key.event = event;
	memcpy(key.name, name, name_size + 1);
	int r = array_grow(&b->counter_list, index, &b->counter_room, sizeof(*b->counter_list),
			   LIST_FIRST);
	if (r < 0)
		return r;
	r = dict_add(b, &b->counters, COUNTERS_MAX, &key, head + name_size, 0, &index);
	if (r < 0)
		return r;
	if (r == 1) {
		kept = intern_get(b->counters, index, NULL);
		b->counter_list[index] = (struct db_counter){event, kept + head, 0};
	}
	b->counter_list[index].value = num_add_sat(b->counter_list[index].value, value);
	return 0;
}

int db_batch_fact(struct db_batch *b, const char *name, const char *value)
{
	uint32_t index = dict_count(b->facts);
	char *copy;

	if (strlen(name) > DB_NAME_MAX || strlen(value) > DB_FACT_VALUE_MAX)
		return -EINVAL;
	int r = array_grow(&b->fact_list, index, &b->fact_room, sizeof(*b->fact_list), LIST_FIRST);
	if (r < 0)
		return r;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	r = dict_add(b, &b->facts, FACTS_MAX, name, strlen(name), strlen(value), &index);
	if (r < 0) {
		free(copy);
		return r;
	}
	if (r == 0)
		free((char *)b->fact_list[index].value);
	b->fact_list[index] = (struct db_fact){intern_get(b->facts, index, NULL), copy};
	return 0;
}

void db_batch_interval(struct db_batch *b, uint64_t start_ns, uint64_t end_ns)
{
	b->start_ns = start_ns;
	b->end_ns = end_ns;
}

uint64_t db_batch_samples(const struct db_batch *b)
{
	return b->samples;
}

size_t db_batch_rows(const struct db_batch *b)
{
	db_batch_settle(b);
	return b->used;
}

int db_batch_add_catalog(struct db_batch *b, const struct catalog *t)
{
	uint32_t event = 0;
	int r = 0;

	if (t->start_ns || t->end_ns) {
		if (!b->start_ns || t->start_ns < b->start_ns)
			b->start_ns = t->start_ns;
		if (t->end_ns > b->end_ns)
			b->end_ns = t->end_ns;
	}
	for (uint32_t i = 0; i < t->event_count && r == 0; i++)
		r = db_batch_event(b, &t->events[i], &event);
	for (uint32_t i = 0; i < t->counter_count && r == 0; i++) {
		const struct db_counter *n = &t->counters[i];

		event = DB_EVENT_NONE;
		if (n->event != DB_EVENT_NONE)
			r = db_batch_event(b, &t->events[n->event], &event);
		if (r == 0)
			r = db_batch_count(b, event, n->name, n->value);
	}
	for (uint32_t i = 0; i < t->fact_count && r == 0; i++)
		r = db_batch_fact(b, t->facts[i].name, t->facts[i].value);
	return r;
}
