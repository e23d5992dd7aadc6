/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/query.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include "analyze/query/query_state.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"
#include "util/text.h"

#define MEMORY_MAX_BYTES ((size_t)1 << 30)
#define IMAGES_MAX	 (1u << 20)
#define GROUPS_MAX	 (1u << 20)
#define PARTS_MAX	 ((size_t)1 << 22)
#define ROWS_MAX	 ((size_t)1 << 26)

int query_new(const struct query_selection *selection, enum query_group group, struct query **ret,
	      struct diag *diag)
{
	struct query *q;

	for (size_t i = 0; i < selection->subject_count; i++) {
		const char *subject = selection->subjects[i], *equals = strchr(subject, '=');

		if (!equals || equals == subject)
			return diag_fail(diag, EINVAL,
					 "subject '%s' is not KEY=GLOB, as in comm=gcc*", subject);
		if (!subject_has_key(subject, (size_t)(equals - subject)))
			return diag_fail(diag, EINVAL,
					 "subject '%s': '%.*s' is not one of " SUBJECT_KEYS,
					 subject, (int)(equals - subject), subject);
	}
	q = calloc(1, sizeof(*q));
	if (!q)
		return diag_fail(diag, ENOMEM, "out of memory");
	q->selection = *selection;
	q->group = group;
	q->memory = arena_new(MEMORY_MAX_BYTES);
	q->event_keys = intern_new(QUERY_EVENTS_MAX);
	q->image_keys = intern_new(IMAGES_MAX);
	q->paths = intern_new(IMAGES_MAX);
	q->groups = intern_new(GROUPS_MAX);
	q->part_keys = map64_new(PARTS_MAX);
	q->events = calloc(QUERY_EVENTS_MAX, sizeof(*q->events));
	if (!q->memory || !q->event_keys || !q->image_keys || !q->paths || !q->groups ||
	    !q->part_keys || !q->events) {
		query_free(q);
		return diag_fail(diag, ENOMEM, "out of memory");
	}
	*ret = q;
	return 0;
}

void query_free(struct query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->part_count; i++)
		free(q->parts[i].rows);
	free(q->parts);
	free(q->images);
	free(q->events);
	intern_free(q->event_keys);
	intern_free(q->image_keys);
	intern_free(q->paths);
	intern_free(q->groups);
	map64_free(q->part_keys);
	arena_free(q->memory);
	free(q);
}

/* The event's index; events that differ in name or period are different ones. */
static int find_event(struct query *q, const struct db_event *event, uint32_t *ret)
{
	char *key = NULL;
	uint32_t index;
	int size = asprintf(&key, "%llu %s", (unsigned long long)event->period, event->name);

	if (size < 0)
		return -ENOMEM;
	int r = intern_add(q->event_keys, key, (size_t)size, &index);
	free(key);
	if (r)
		return r;
	if (index == q->event_count) {
		struct query_event e = {.period = event->period, .flags = event->flags};

		e.name = arena_strndup(q->memory, event->name, strlen(event->name));
		if (!e.name)
			return -ENOMEM;
		q->events[q->event_count++] = e;
	}
	q->events[index].flags &= event->flags;
	q->events[index].governed |= (event->flags & DB_EVENT_GOVERNED) != 0;
	*ret = index;
	return 0;
}

static int find_image(struct query *q, const struct db_profile *p, uint32_t *ret)
{
	struct query_image *image;
	uint32_t index, path;
	int r = intern_add(q->image_keys, p->image, sizeof(*p->image), &index);

	if (r)
		return r;
	if (array_reserve_zeroed(&q->images, (size_t)index + 1, &q->image_room, sizeof(*q->images),
				 64))
		return -ENOMEM;
	/* The newest path: the likeliest to be there still. Interned, as it may go to and fro. */
	r = intern_add(q->paths, p->image_path, p->image_path_size, &path);
	if (r)
		return r;
	image = &q->images[index];
	image->id = *p->image;
	image->path = intern_get(q->paths, path, &image->path_size);
	*ret = index;
	return 0;
}

/* Threads that are called as their process is have no name of their own in the subject. */
static const char *get_value(const void *subject, size_t subject_size, const char *key,
			     size_t *ret_size)
{
	const char *found = subject_get(subject, subject_size, key, ret_size);

	if (!found && !strcmp(key, "thread"))
		found = subject_get(subject, subject_size, "comm", ret_size);
	return found;
}

/* The group of all subjects with the same values of comm and one key more. */
static int find_pair_group(struct query *q, const void *subject, size_t subject_size,
			   const char *key, uint32_t *ret)
{
	const char *const keys[] = {"comm", key};
	struct subject_pair pairs[2];
	char group[SUBJECT_MAX_BYTES];
	size_t count = 0;
	long size;

	for (size_t i = 0; i < 2; i++) {
		struct subject_pair *pair = &pairs[count];

		pair->key = keys[i];
		pair->key_size = strlen(keys[i]);
		pair->value = get_value(subject, subject_size, keys[i], &pair->value_size);
		count += pair->value != NULL;
	}
	size = subject_build(pairs, count, group, sizeof(group));
	return size < 0 ? (int)size : intern_add(q->groups, group, (size_t)size, ret);
}

/* The group that a subject's samples go to. */
static int find_group(struct query *q, const void *subject, size_t subject_size, uint32_t *ret)
{
	switch (q->group) {
	case QUERY_SUBJECT:
		return intern_add(q->groups, subject, subject_size, ret);
	case QUERY_PROCESS:
		return find_pair_group(q, subject, subject_size, "pid", ret);
	case QUERY_THREAD:
		return find_pair_group(q, subject, subject_size, "thread", ret);
	case QUERY_WHOLE:
		break;
	}
	*ret = QUERY_NO_GROUP;
	return 0;
}

static int find_part(struct query *q, uint32_t image, uint32_t group, bool selected, size_t *ret)
{
	uint64_t key = (uint64_t)image << 32 | (uint64_t)selected << 31 | group, index;

	if (!map64_get(q->part_keys, key, &index)) {
		*ret = (size_t)index;
		return 0;
	}
	int r = array_grow(&q->parts, q->part_count, &q->part_room, sizeof(*q->parts), 64);
	if (!r)
		r = map64_put(q->part_keys, key, q->part_count);
	if (r)
		return r;
	*ret = q->part_count;
	q->parts[q->part_count++] = (struct query_part){image, group, selected};
	return 0;
}

/* A name in brackets is one of ours, such as [kernel.kallsyms]: no set of letters, which an image
 * that is called by one of them would match and the one that is meant would not. */
static bool is_bracketed(const char *glob)
{
	size_t size = strlen(glob);

	return size > 2 && glob[0] == '[' && strcspn(glob, "]*?") == size - 1;
}

bool query_match_image(const char *glob, const struct image_id *id, const char *path)
{
	char text[IMAGE_ID_TEXT_MAX];

	if (glob && is_bracketed(glob))
		return !strcmp(glob, path);
	if (!glob || text_match_glob(glob, path) || text_match_glob(glob, text_base_name(path)))
		return true;
	image_id_format(id, text);
	return text_match_glob(glob, text);
}

static bool match_image(const struct query *q, const struct db_profile *p)
{
	char *path;
	bool match;

	if (!q->selection.image)
		return true;
	path = strndup(p->image_path, p->image_path_size);
	if (!path)
		return false;
	match = query_match_image(q->selection.image, p->image, path);
	free(path);
	return match;
}

static bool match_pair(const char *wanted, const void *subject, size_t subject_size)
{
	char value[SUBJECT_MAX_BYTES + 1], key[SUBJECT_MAX_BYTES + 1];
	const char *equals = strchr(wanted, '='), *found;
	size_t size;

	if ((size_t)(equals - wanted) > SUBJECT_MAX_BYTES)
		return false;
	memcpy(key, wanted, (size_t)(equals - wanted));
	key[equals - wanted] = 0;
	found = get_value(subject, subject_size, key, &size);
	if (!found || size > SUBJECT_MAX_BYTES)
		return false;
	memcpy(value, found, size);
	value[size] = 0;
	return text_match_glob(equals + 1, value);
}

static bool have_same_key(const char *a, const char *b)
{
	size_t size = strcspn(a, "=");

	return size == strcspn(b, "=") && !memcmp(a, b, size);
}

/* A subject has one value of each key: several globs of a key can only mean any of them. */
static bool match_pairs(const char *const *wanted, size_t begin, size_t end, const void *subject,
			size_t subject_size)
{
	for (size_t i = begin; i < end; i++) {
		bool match = false;

		for (size_t j = begin; j < end && !match; j++)
			match = have_same_key(wanted[i], wanted[j]) &&
				match_pair(wanted[j], subject, subject_size);
		if (!match)
			return false;
	}
	return true;
}

/* False: it is as if the database did not have it. */
static bool is_there(const struct query *q, const void *subject, size_t subject_size)
{
	const struct query_selection *s = &q->selection;

	return match_pairs(s->subjects, s->subject_count - s->subject_own, s->subject_count,
			   subject, subject_size);
}

static bool match_subject(const struct query *q, const void *subject, size_t subject_size)
{
	const struct query_selection *s = &q->selection;

	return is_there(q, subject, subject_size) &&
	       match_pairs(s->subjects, 0, s->subject_count - s->subject_own, subject,
			   subject_size);
}

static bool match_event(const struct query *q, const struct db_event *event)
{
	return !q->selection.event || text_match_glob(q->selection.event, event->name);
}

static bool want_profile(void *arg, const struct db_profile *p)
{
	return match_event(arg, p->event);
}

static int add_rows(void *arg, const struct db_profile *p, const uint64_t *offsets,
		    const uint64_t *counts, size_t n)
{
	struct query *q = arg;
	bool selected = match_image(q, p) && match_subject(q, p->subject, p->subject_size);
	uint32_t event, image, group = QUERY_NO_GROUP;
	uint64_t sum = 0;
	size_t part = 0;

	for (size_t i = 0; i < n; i++)
		sum = num_add_sat(sum, counts[i]);
	int r = find_event(q, p->event, &event);
	if (r == -ENOSPC) {
		q->refused = num_add_sat(q->refused, sum);
		return 0;
	}
	if (r)
		return r;
	query_note_epoch(q, event, p->epoch ? p->epoch : "");
	if (!is_there(q, p->subject, p->subject_size))
		return 0;
	q->events[event].samples = num_add_sat(q->events[event].samples, sum);
	if (p->image->kind == IMAGE_UNKNOWN)
		q->events[event].unknown = num_add_sat(q->events[event].unknown, sum);
	if (!selected && !image_id_is_kernel(p->image))
		return 0;
	if (selected)
		q->events[event].selected = num_add_sat(q->events[event].selected, sum);
	r = find_image(q, p, &image);
	if (!r && selected)
		r = find_group(q, p->subject, p->subject_size, &group);
	if (!r)
		r = find_part(q, image, group, selected, &part);
	if (r)
		return r == -ENOSPC ? -E2BIG : r;
	q->row_total -= q->parts[part].row_count;
	for (size_t i = 0; i < n && !r; i++)
		r = query_rows_add(&q->parts[part], offsets[i], event, counts[i]);
	q->row_total += q->parts[part].row_count;
	return r ? r : q->row_total > ROWS_MAX ? -E2BIG : 0;
}

static int add_stack(void *arg, const char *epoch, const void *item)
{
	const struct db_stack_item *s = item;
	struct query_stack stack = {.item = s, .group = QUERY_NO_GROUP};
	struct query *q = arg;

	if (!match_event(q, s->event))
		return 0;
	int r = find_event(q, s->event, &stack.event);
	if (r)
		return r == -ENOSPC ? 0 : r;
	query_note_epoch(q, stack.event, epoch ? epoch : "");
	stack.selected = match_subject(q, s->subject.data, s->subject.size);
	if (stack.selected)
		r = find_group(q, s->subject.data, s->subject.size, &stack.group);
	if (!r)
		r = q->stack(q->stack_arg, &stack);
	return r == -ENOSPC ? -E2BIG : r;
}

static int show_raw(void *arg, const char *epoch, const void *item)
{
	const struct db_raw_item *r = item;
	const struct db_profile p = {
		.image = r->image, .image_path = r->path.data, .image_path_size = r->path.size};
	struct query *q = arg;

	if (!match_event(q, r->event) || !match_image(q, &p) ||
	    !match_subject(q, r->subject.data, r->subject.size))
		return 0;
	return q->raw(q->raw_arg, epoch, r);
}

static int show_inst(void *arg, const char *epoch, const void *item)
{
	const struct db_inst_item *i = item;
	const struct db_profile p = {
		.image = i->image, .image_path = i->path.data, .image_path_size = i->path.size};
	struct query *q = arg;

	if (!match_event(q, i->event) || !match_image(q, &p) ||
	    !match_subject(q, i->subject.data, i->subject.size))
		return 0;
	return q->inst(q->inst_arg, epoch, i);
}

static int show_path(void *arg, const char *epoch, const void *item)
{
	const struct db_path_item *p = item;
	const struct db_profile of = {.image = p->image,
				      .image_path = p->image_path.data,
				      .image_path_size = p->image_path.size};
	struct query *q = arg;

	return match_image(q, &of) ? q->path(q->path_arg, epoch, p) : 0;
}

static int show_value(void *arg, const char *epoch, const void *item)
{
	const struct db_value_item *v = item;
	const struct db_profile p = {
		.image = v->image, .image_path = v->path.data, .image_path_size = v->path.size};
	struct query *q = arg;

	return match_image(q, &p) ? q->value(q->value_arg, epoch, v) : 0;
}

/* Sums up by name; past the last place, under the last name. */
static int add_counter(struct query *q, struct query_counter *list, size_t room, size_t *count,
		       const char *name, uint64_t value)
{
	size_t i = 0;

	while (i < *count && strcmp(list[i].name, name))
		i++;
	if (i == room) {
		list[--i].name = "others";
	} else if (i == *count) {
		list[i].name = arena_strndup(q->memory, name, strlen(name));
		if (!list[i].name)
			return -ENOMEM;
		list[i].value = 0;
		++*count;
	}
	list[i].value = num_add_sat(list[i].value, value);
	return 0;
}

/* What an import knows of memory accesses. False: the counter is of something else. */
static bool take_memory(struct query *q, struct query_event *e, const char *name, uint64_t value,
			int *ret)
{
	*ret = 0;
	if (!strcmp(name, "weights"))
		e->weights = num_add_sat(e->weights, value);
	else if (!strcmp(name, "weights.sum"))
		e->weight_sum = num_add_sat(e->weight_sum, value);
	else if (!strncmp(name, "memory.", 7))
		*ret = add_counter(q, e->memory, QUERY_MEMORY_MAX, &e->memory_count, name + 7,
				   value);
	else
		return false;
	return true;
}

static int take_counter(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	struct query *q = arg;
	struct query_event none = {0}, *e = &none;
	uint32_t index;
	int r;

	if (event && !match_event(q, event))
		return 0;
	if (event) {
		r = find_event(q, event, &index);
		if (r)
			return r == -ENOSPC ? 0 : r;
		e = &q->events[index];
	}
	if (event && value && take_memory(q, e, name, value, &r))
		return r;
	if (!strcmp(name, "samples")) {
		e->counted = num_add_sat(e->counted, value);
	} else if (!strcmp(name, "enabled_ns")) {
		e->enabled_ns = num_add_sat(e->enabled_ns, value);
	} else if (!strcmp(name, "running_ns")) {
		e->running_ns = num_add_sat(e->running_ns, value);
	} else if (!strcmp(name, "idle")) {
		q->idle_skipped = num_add_sat(q->idle_skipped, value);
	} else if (!strncmp(name, "unknown.", 8)) {
		return value ? add_counter(q, q->unknown, QUERY_COUNTERS_MAX, &q->unknown_count,
					   name + 8, value)
			     : 0;
	} else if (!strncmp(name, "lost.", 5) && value) {
		e->lost = num_add_sat(e->lost, value);
		q->lost_samples = num_add_sat(q->lost_samples, value);
		return add_counter(q, q->lost, QUERY_COUNTERS_MAX, &q->lost_count, name + 5, value);
	} else if (!event && value && strcmp(name, "outside") && strncmp(name, "windows.", 8)) {
		return add_counter(q, q->trouble, QUERY_COUNTERS_MAX, &q->trouble_count, name,
				   value);
	}
	return 0;
}

/* Of one epoch the last that was said counts. */
static int take_fact(void *arg, const char *epoch, const char *name, const char *value)
{
	struct query *q = arg;
	uint64_t wall_ns;

	if (strcmp(name, "wall_ns") != 0 || num_parse_u64(value, &wall_ns))
		return 0;
	if (q->wall_epoch && !strcmp(q->wall_epoch, epoch)) {
		q->wall_ns -= q->wall_last_ns;
	} else {
		q->wall_epoch = arena_strndup(q->memory, epoch, strlen(epoch));
		if (!q->wall_epoch)
			return -ENOMEM;
		q->wall_epochs++;
	}
	if (wall_ns > UINT64_MAX - q->wall_ns)
		wall_ns = 0;
	q->wall_last_ns = wall_ns;
	q->wall_ns += wall_ns;
	return 0;
}

struct db_visitor query_visitor(struct query *q)
{
	return (struct db_visitor){
		.want = want_profile,
		.rows = add_rows,
		.item = {[CHUNK_STACKS] = q->stack ? add_stack : NULL,
			 [CHUNK_RAWS] = q->raw ? show_raw : NULL,
			 [CHUNK_INSTSAMPLES] = q->inst ? show_inst : NULL,
			 [CHUNK_PATHS] = q->path ? show_path : NULL,
			 [CHUNK_VALUES] = q->value ? show_value : NULL},
		.counter = take_counter,
		.fact = take_fact,
		.arg = q,
	};
}

double query_event_scale(const struct query_event *e)
{
	if (!e->running_ns || e->enabled_ns <= e->running_ns)
		return 1;
	return (double)e->enabled_ns / (double)e->running_ns;
}

/* Samples by where they were taken. */

const struct query_part *query_find_part(const struct query *q, const struct query_image *image)
{
	for (size_t i = 0; i < q->part_count; i++)
		if (q->parts[i].selected && &q->images[q->parts[i].image] == image)
			return &q->parts[i];
	return NULL;
}

size_t query_part_seek(const struct query_part *p, uint64_t offset)
{
	return SEARCH_FIRST(p ? p->row_count : 0, i, p->rows[i].offset >= offset);
}

void query_part_count(const struct query_part *p, uint64_t start, uint64_t end, uint64_t *counts)
{
	for (size_t i = query_part_seek(p, start); p && i < p->row_count && p->rows[i].offset < end;
	     i++)
		counts[p->rows[i].event] = num_add_sat(counts[p->rows[i].event], p->rows[i].count);
}

int pattern_compile(const char *text, regex_t *ret, struct diag *diag)
{
	char reason[200];
	int r = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);

	if (!r)
		return 0;
	regerror(r, ret, reason, sizeof(reason));
	return diag_fail(diag, EINVAL, "'%s' is not a regular expression: %s", text, reason);
}
