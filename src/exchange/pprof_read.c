/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/gzip.h"
#include "exchange/places.h"
#include "exchange/pprof.pb-c.h"
#include "exchange/readers.h"
#include "util/hash.h"
#include "util/num.h"
#include "util/text.h"

/*
 * pprof's profile, compressed or not. A location with an address is a place of its mapping's image;
 * one without is a function by name. What it says of functions and lines is kept beside.
 */

#define MESSAGE_BYTES_MAX ((size_t)512 << 20)
#define IDS_MAX		  (16u << 20)
#define EVENTS_MAX	  256

typedef Culprit__Pprof__Profile pprof_profile;

/* An event: the type that counts samples, and the one that says what they stand for. */
struct event {
	size_t count, units; /* indexes of values; equal: there is one only */
	uint32_t number;
	uint64_t samples, unit_sum, unknown;
};

struct unpacker {
	struct harvest *h;
	const pprof_profile *profile;
	const char *program;
	struct map64 *mappings, *locations, *functions; /* id -> index */
	struct image {
		uint32_t number;
		bool known, fixed; /* fixed: addresses are the image's own */
	} * images;		   /* of mappings */
	struct place {
		uint32_t number;
		bool known, unknown;
	} * places; /* of locations */
	struct event events[EVENTS_MAX];
	size_t event_count;
	uint64_t negative, labels_cut;
};

static const char *get_text(const struct unpacker *u, int64_t number)
{
	const pprof_profile *p = u->profile;

	return number > 0 && (uint64_t)number < p->n_string_table ? p->string_table[number] : "";
}

/* A map has no place for the key UINT64_MAX. */
static bool find_id(const struct map64 *ids, uint64_t id, uint64_t *ret)
{
	return id != UINT64_MAX && !map64_get(ids, id, ret);
}

static bool has_start(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

static bool has_end(const char *s, const char *end)
{
	size_t size = strlen(s);

	return size >= strlen(end) && !strcmp(s + size - strlen(end), end);
}

/* By custom a type of this name only counts what the next type measures. */
static bool counts_next(const struct unpacker *u, size_t type)
{
	const pprof_profile *p = u->profile;
	const char *name = get_text(u, p->sample_type[type]->type);

	return type + 1 < p->n_sample_type &&
	       !strcmp(get_text(u, p->sample_type[type]->unit), "count") &&
	       (!strcmp(name, "samples") || has_start(name, "samples.") ||
		has_end(name, "_sample"));
}

/* Time of a processor is what Linux calls cpu-clock, and perf_to_profile's names have an end. */
static int name_event(struct unpacker *u, struct event *e)
{
	const Culprit__Pprof__ValueType *type = u->profile->sample_type[e->units];
	const char *name = get_text(u, type->type);
	size_t size = strlen(name);

	if (!strcmp(name, "cpu") && !strcmp(get_text(u, type->unit), "nanoseconds"))
		return harvest_event(u->h, "cpu-clock", 9, &e->number);
	if (has_end(name, "_event"))
		size -= strlen("_event");
	return size ? harvest_event(u->h, name, size, &e->number)
		    : harvest_event(u->h, "samples", 7, &e->number);
}

static int find_events(struct unpacker *u, struct diag *diag)
{
	const pprof_profile *p = u->profile;
	int r = 0;

	for (size_t i = 0; i < p->n_sample_type && !r; i++) {
		struct event *e = &u->events[u->event_count++];

		if (u->event_count == EVENTS_MAX)
			return diag_fail(diag, EBADMSG, "it has more than %d types of values",
					 EVENTS_MAX - 1);
		e->count = i;
		if (counts_next(u, i))
			i++;
		e->units = i;
		r = name_event(u, e);
	}
	if (!r && !u->event_count)
		return diag_fail(diag, EBADMSG, "it does not say what its values count");
	return r == -EINVAL ? diag_fail(diag, EBADMSG, "an event's name is too long") : r;
}

static int index_ids(struct unpacker *u, struct diag *diag)
{
	const pprof_profile *p = u->profile;
	int r = 0;

	for (size_t i = 0; i < p->n_mapping && !r; i++)
		if (p->mapping[i]->id != UINT64_MAX)
			r = map64_put(u->mappings, p->mapping[i]->id, i);
	for (size_t i = 0; i < p->n_function && !r; i++)
		if (p->function[i]->id != UINT64_MAX)
			r = map64_put(u->functions, p->function[i]->id, i);
	for (size_t i = 0; i < p->n_location && !r; i++)
		if (p->location[i]->id != UINT64_MAX)
			r = map64_put(u->locations, p->location[i]->id, i);
	return r == -ENOSPC ? diag_fail(diag, ENOSPC, "it has more than %u locations", IDS_MAX) : r;
}

/* A build ID, of which a file can be found again, or an identity as culprit writes it. */
static int name_image(struct unpacker *u, const Culprit__Pprof__Mapping *m, struct image *image)
{
	const char *path = get_text(u, m->filename);
	struct harvest_image known = {.kind = image->fixed ? HARVEST_ADDRESSES : HARVEST_FILE,
				      .path = path,
				      .path_size = strlen(path)};
	struct image_id id;

	if (!image_id_parse(get_text(u, m->build_id), &id) && id.size) {
		known.build_id_size = id.size;
		memcpy(known.build_id, id.bytes, id.size);
		if (id.kind != IMAGE_BUILD_ID) {
			known.kind = HARVEST_KNOWN;
			known.key = id.kind;
		}
	}
	return harvest_image(u->h, &known, &image->number);
}

static int find_image(struct unpacker *u, size_t index, struct image **ret)
{
	const Culprit__Pprof__Mapping *m = u->profile->mapping[index];
	struct image *image = &u->images[index];
	int r = 0;

	if (!image->known) {
		image->fixed = m->file_offset == m->memory_start;
		r = name_image(u, m, image);
		image->known = !r;
	}
	*ret = image;
	return r;
}

static size_t find_lines(const struct unpacker *u, const Culprit__Pprof__Location *l,
			 struct harvest_line lines[HARVEST_LINES_MAX])
{
	size_t count = 0,
	       skipped = l->n_line > HARVEST_LINES_MAX ? l->n_line - HARVEST_LINES_MAX : 0;

	for (size_t i = skipped; i < l->n_line; i++) {
		const Culprit__Pprof__Line *line = l->line[i];
		const Culprit__Pprof__Function *f;
		const char *name, *file;
		uint64_t index;

		if (!find_id(u->functions, line->function_id, &index))
			continue;
		f = u->profile->function[index];
		name = get_text(u, *get_text(u, f->name) ? f->name : f->system_name);
		file = get_text(u, f->filename);
		lines[count++] = (struct harvest_line){
			.function = name,
			.function_size = strlen(name),
			.file = file,
			.file_size = strlen(file),
			.line = line->line > 0 && line->line <= UINT32_MAX ? (uint32_t)line->line
									   : 0,
		};
	}
	return count;
}

static int place_in_image(struct unpacker *u, const Culprit__Pprof__Location *l, size_t mapping,
			  const struct harvest_line *lines, size_t count, struct place *place)
{
	static const char none[] = "[no symbol]";
	const Culprit__Pprof__Mapping *m = u->profile->mapping[mapping];
	struct harvest_line said[HARVEST_LINES_MAX];
	struct image *image;
	int r = find_image(u, mapping, &image);

	if (!r)
		r = harvest_place(u->h, image->number,
				  l->address - m->memory_start + m->file_offset, &place->number);
	if (r || !count)
		return r;
	memcpy(said, lines, count * sizeof(*lines));
	/* What has no name has none here either. */
	if (!strcmp(said[count - 1].function, none))
		said[count - 1].function_size = 0;
	return harvest_lines(u->h, place->number, said, count);
}

static int make_place(struct unpacker *u, const Culprit__Pprof__Location *l, struct place *place)
{
	struct harvest_line lines[HARVEST_LINES_MAX];
	size_t count = find_lines(u, l, lines);
	const char *path = PLACES_NO_IMAGE;
	uint64_t mapping;
	bool mapped = find_id(u->mappings, l->mapping_id, &mapping);

	if (l->address && mapped && *get_text(u, u->profile->mapping[mapping]->filename))
		return place_in_image(u, l, mapping, lines, count, place);
	if (!count && l->address) {
		place->unknown = true;
		return places_unknown(u->h, l->address, &place->number);
	}
	if (mapped && *get_text(u, u->profile->mapping[mapping]->filename))
		path = get_text(u, u->profile->mapping[mapping]->filename);
	return places_named(u->h, path, strlen(path), lines, count, &place->number,
			    &place->unknown);
}

static int find_place(struct unpacker *u, uint64_t id, struct place **ret, struct diag *diag)
{
	struct place *place;
	uint64_t index;
	int r = 0;

	if (!find_id(u->locations, id, &index))
		return diag_fail(diag, EBADMSG,
				 "a sample is at location %llu, which does not exist",
				 (unsigned long long)id);
	place = &u->places[index];
	if (!place->known)
		r = make_place(u, u->profile->location[index], place);
	place->known = !r;
	*ret = place;
	return r == -EINVAL ? diag_fail(diag, EBADMSG, "location %llu has a name that is too long",
					(unsigned long long)id)
			    : r;
}

/* The keys that a subject has of its own; all others are labels. */
static void name_key(const char *key, char out[300])
{
	snprintf(out, 300, "%s%.256s", subject_has_key(key, strlen(key)) ? "" : "label.", key);
}

struct subject {
	struct subject_pair pairs[SUBJECT_MAX_PAIRS];
	char keys[SUBJECT_MAX_PAIRS][300], numbers[SUBJECT_MAX_PAIRS][64];
	size_t count;
};

static void add_label(struct unpacker *u, struct subject *s, const Culprit__Pprof__Label *label)
{
	const char *value = get_text(u, label->str);

	if (s->count == SUBJECT_MAX_PAIRS - 1 || !*get_text(u, label->key)) {
		u->labels_cut++;
		return;
	}
	if (!*value) {
		snprintf(s->numbers[s->count], sizeof(s->numbers[0]), "%lld%s%.32s",
			 (long long)label->num, *get_text(u, label->num_unit) ? " " : "",
			 get_text(u, label->num_unit));
		value = s->numbers[s->count];
	}
	name_key(get_text(u, label->key), s->keys[s->count]);
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->keys[i], s->keys[s->count])) { /* a key may have several values */
			u->labels_cut++;
			return;
		}
	s->pairs[s->count] = (struct subject_pair){s->keys[s->count], value,
						   strlen(s->keys[s->count]), strlen(value)};
	s->count++;
}

/* A sample that does not say its command is of the program, which is the first mapping. */
static const char *find_command(const struct unpacker *u)
{
	const pprof_profile *p = u->profile;

	if (u->program)
		return text_base_name(u->program);
	return p->n_mapping ? text_base_name(get_text(u, p->mapping[0]->filename)) : "";
}

static int make_subject(struct unpacker *u, const Culprit__Pprof__Sample *sample, uint32_t *ret)
{
	struct subject s;
	uint8_t bytes[SUBJECT_MAX_BYTES];
	const char *comm = find_command(u);
	bool has_comm = false;
	long size;

	s.count = 0;
	for (size_t i = 0; i < sample->n_label; i++)
		add_label(u, &s, sample->label[i]);
	for (size_t i = 0; i < s.count; i++)
		has_comm |= !strcmp(s.keys[i], "comm");
	if (!has_comm && *comm)
		s.pairs[s.count++] = (struct subject_pair){"comm", comm, 4, strlen(comm)};
	size = subject_build(s.pairs, s.count, bytes, sizeof(bytes));
	if (size < 0) { /* too long together */
		u->labels_cut += s.count;
		size = subject_build(s.pairs, 0, bytes, sizeof(bytes));
	}
	return size < 0 ? (int)size : harvest_subject(u->h, bytes, (size_t)size, ret);
}

static int add_values(struct unpacker *u, const Culprit__Pprof__Sample *sample, uint32_t subject,
		      const struct places_stack *stack, bool unknown)
{
	int r = 0;

	for (size_t i = 0; i < u->event_count && !r; i++) {
		struct event *e = &u->events[i];
		int64_t count = sample->value[e->count], units = sample->value[e->units];

		if (count < 0 || units < 0) {
			u->negative++;
			continue;
		}
		if (!count)
			continue;
		e->samples = num_add_sat(e->samples, (uint64_t)count);
		e->unit_sum = num_add_sat(e->unit_sum, (uint64_t)units);
		e->unknown += unknown ? (uint64_t)count : 0;
		r = harvest_sample(u->h, e->number, subject, stack->place[0], (uint64_t)count);
		if (!r)
			r = places_add_stack(u->h, e->number, subject, stack, HARVEST_NONE,
					     (uint64_t)count);
	}
	return r;
}

static int take_sample(struct unpacker *u, const Culprit__Pprof__Sample *sample, struct diag *diag)
{
	struct places_stack stack = {.count = 0};
	bool unknown = false;
	struct place *place = NULL;
	uint32_t subject;
	int r = 0;

	if (sample->n_value != u->profile->n_sample_type)
		return diag_fail(diag, EBADMSG, "a sample does not have one value of each type");
	for (size_t i = 0; i < sample->n_location_id && !r; i++) {
		r = find_place(u, sample->location_id[i], &place, diag);
		if (r)
			return r;
		unknown |= !i && place->unknown;
		places_push(&stack, place->number);
	}
	if (!stack.count) {
		uint32_t none;

		r = places_unknown(u->h, 0, &none);
		places_push(&stack, none);
		unknown = true;
	}
	if (!r)
		r = make_subject(u, sample, &subject);
	return r ? r : add_values(u, sample, subject, &stack, unknown);
}

static void tell(struct unpacker *u)
{
	const pprof_profile *p = u->profile;

	for (size_t i = 0; i < u->event_count; i++) {
		const struct event *e = &u->events[i];
		uint64_t period = e->count == e->units || !e->samples
					  ? 1
					  : num_add_sat(e->unit_sum, e->samples / 2) / e->samples;

		harvest_event_set(u->h, e->number, period, DB_EVENT_USER | DB_EVENT_KERNEL);
		harvest_count(u->h, e->number, "samples", e->samples);
		harvest_count(u->h, e->number, "units", e->unit_sum);
		harvest_count(u->h, e->number, "unknown.mapping", e->unknown);
	}
	if (p->time_nanos > 0 && p->duration_nanos >= 0)
		harvest_interval(u->h, (uint64_t)p->time_nanos,
				 (uint64_t)p->time_nanos + (uint64_t)p->duration_nanos);
	else if (p->duration_nanos > 0)
		harvest_duration(u->h, (uint64_t)p->duration_nanos);
	harvest_count(u->h, HARVEST_NONE, "not_kept.negative_values", u->negative);
	harvest_count(u->h, HARVEST_NONE, "not_kept.labels", u->labels_cut);
}

static int take_profile(struct unpacker *u, struct diag *diag)
{
	const pprof_profile *p = u->profile;
	int r = -ENOMEM;

	u->mappings = map64_new(IDS_MAX);
	u->locations = map64_new(IDS_MAX);
	u->functions = map64_new(IDS_MAX);
	u->images = calloc(p->n_mapping + 1, sizeof(*u->images));
	u->places = calloc(p->n_location + 1, sizeof(*u->places));
	if (u->mappings && u->locations && u->functions && u->images && u->places)
		r = index_ids(u, diag);
	if (!r)
		r = find_events(u, diag);
	for (size_t i = 0; i < p->n_sample && !r; i++)
		r = take_sample(u, p->sample[i], diag);
	if (!r)
		tell(u);
	map64_free(u->mappings);
	map64_free(u->locations);
	map64_free(u->functions);
	free(u->images);
	free(u->places);
	return r;
}

/* What is in the file, decompressed if need be. */
static int load(const struct reading *in, struct buf *message, struct diag *diag)
{
	uint8_t *data;
	size_t size;
	int r = reading_load(in, &data, &size, diag);

	if (r)
		return r;
	if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
		r = gzip_read(data, size, message);
	else
		r = buf_append(message, data, size);
	free(data);
	if (r == -EFBIG)
		return diag_fail(diag, EFBIG, "it is a profile of more than %zu MiB",
				 MESSAGE_BYTES_MAX >> 20);
	return r == -EBADMSG ? diag_fail(diag, EBADMSG, "its gzip form is damaged or cut off") : r;
}

int read_pprof(const struct reading *in, struct harvest *harvest, struct diag *diag)
{
	struct unpacker u = {.h = harvest, .program = in->program};
	pprof_profile *profile = NULL;
	struct buf message;

	buf_init(&message, MESSAGE_BYTES_MAX);
	int r = load(in, &message, diag);
	if (!r) {
		profile = culprit__pprof__profile__unpack(NULL, message.size, message.data);
		if (!profile)
			r = diag_fail(diag, EBADMSG, "it is not a pprof profile, or it is damaged");
	}
	buf_free(&message);
	u.profile = profile;
	if (!r)
		r = take_profile(&u, diag);
	if (profile)
		culprit__pprof__profile__free_unpacked(profile, NULL);
	return reading_end(r, diag);
}
