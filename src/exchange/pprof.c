/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/gzip.h"
#include "exchange/pprof.pb-c.h"
#include "exchange/stacks.h"
#include "util/arena.h"
#include "util/hash.h"
#include "util/identity.h"
#include "util/text.h"

/*
 * pprof's profile. A location is a frame of the set and has its number, a function and a mapping
 * too, all from 1; so nothing has to be looked up.
 */

#define MEMORY_MAX_BYTES ((size_t)4 << 30)
#define STRINGS_MAX	 (16u << 20)

typedef Culprit__Pprof__Profile pprof_profile;

struct packer {
	const struct stack_set *set;
	pprof_profile profile;
	struct arena *memory;
	struct intern *strings;
	int error;
};

/* Zeroed memory; all of it goes at once. */
static void *get_memory(struct packer *p, size_t count, size_t size)
{
	void *memory = arena_alloc(p->memory, count * size + 1);

	if (!memory)
		p->error = -ENOMEM;
	return memory;
}

/* A list of so many messages of a type, each begun. */
#define NEW_LIST(p, field, count, type, initializer)                    \
	do {                                                            \
		size_t n_ = (count);                                    \
		type *all_ = get_memory(p, n_, sizeof(*all_));          \
		(p)->profile.field = get_memory(p, n_, sizeof(void *)); \
		for (size_t i_ = 0; i_ < n_ && !(p)->error; i_++) {     \
			initializer(&all_[i_]);                         \
			(p)->profile.field[i_] = &all_[i_];             \
		}                                                       \
		(p)->profile.n_##field = (p)->error ? 0 : n_;           \
	} while (0)

static int64_t add_string(struct packer *p, const char *text, size_t size)
{
	char *safe = NULL;
	uint32_t number = 0;

	if (!text_is_utf8(text, size)) { /* a string of protobuf must be */
		size_t room = text_escape(NULL, 0, text, size) + 1;

		safe = malloc(room);
		size = safe ? text_escape(safe, room, text, size) : 0;
		text = safe ? safe : "";
	}
	int r = intern_add(p->strings, text, size, &number);
	if (r && !p->error)
		p->error = r;
	free(safe);
	return number;
}

static int64_t add_text(struct packer *p, const char *text)
{
	return text ? add_string(p, text, strlen(text)) : 0;
}

/* Tools take the first mapping for the program: of those that look like one, the most sampled. */
static size_t find_program(const struct packer *p)
{
	const struct stack_set *s = p->set;
	uint64_t *samples = get_memory((struct packer *)p, s->image_count, sizeof(*samples)),
		 most = 0;
	size_t best = 0;

	for (size_t i = 0; i < s->count_count && samples; i++) {
		uint32_t frame = s->nodes[s->counts[i].node].frame;

		if (frame != STACK_NO_FRAME)
			samples[s->frames[frame].image] += s->counts[i].count;
	}
	for (size_t i = 0; i < s->image_count && samples; i++) {
		const struct query_image *image = &s->images[i];

		if (image->id.kind != IMAGE_BUILD_ID || samples[i] <= most ||
		    strstr(text_base_name(image->path), ".so"))
			continue;
		most = samples[i];
		best = i;
	}
	return best;
}

static bool image_has_code(const struct query_image *image)
{
	return image->id.kind != IMAGE_NOTE && image->id.kind != IMAGE_UNKNOWN;
}

static void fill_mapping(struct packer *p, Culprit__Pprof__Mapping *m, size_t number)
{
	const struct query_image *image = &p->set->images[number];
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(&image->id, id);
	m->id = number + 1;
	m->filename = add_string(p, image->path, image->path_size);
	m->build_id = add_text(p, id);
	m->has_functions = m->has_filenames = m->has_line_numbers = m->has_inline_frames = true;
}

static void add_mappings(struct packer *p)
{
	const struct stack_set *s = p->set;
	size_t program = find_program(p), count = 0;
	Culprit__Pprof__Mapping **of = get_memory(p, s->image_count, sizeof(void *));

	NEW_LIST(p, mapping, s->image_count, Culprit__Pprof__Mapping,
		 culprit__pprof__mapping__init);
	for (size_t i = 0; i < s->image_count && !p->error; i++) {
		/* The program changes places with the first. */
		size_t number = i ? i == program ? 0 : i : program;

		if (!image_has_code(&s->images[number]))
			continue;
		of[number] = p->profile.mapping[count++];
		fill_mapping(p, of[number], number);
	}
	if (p->error)
		return;
	p->profile.n_mapping = count;
	for (size_t i = 0; i < s->frame_count; i++) {
		Culprit__Pprof__Mapping *m = of[s->frames[i].image];
		uint64_t page = s->frames[i].offset & ~(uint64_t)0xfff;

		if (!m)
			continue;
		if (!m->memory_limit || page < m->memory_start)
			m->memory_start = page;
		if (page + 0x1000 > m->memory_limit)
			m->memory_limit = page + 0x1000;
	}
	for (size_t i = 0; i < count; i++) /* so that address - start + offset is the address */
		p->profile.mapping[i]->file_offset = p->profile.mapping[i]->memory_start;
}

static void add_locations(struct packer *p)
{
	const struct stack_set *s = p->set;

	NEW_LIST(p, location, s->frame_count, Culprit__Pprof__Location,
		 culprit__pprof__location__init);
	for (size_t i = 0; i < s->frame_count && !p->error; i++) {
		const struct stack_frame *f = &s->frames[i];
		Culprit__Pprof__Location *l = p->profile.location[i];
		Culprit__Pprof__Line *lines = get_memory(p, f->place_count, sizeof(*lines));

		l->id = i + 1;
		if (image_has_code(&s->images[f->image])) {
			l->mapping_id = f->image + 1;
			l->address = f->offset;
		}
		l->line = get_memory(p, f->place_count, sizeof(void *));
		for (size_t k = 0; k < f->place_count && !p->error; k++) {
			const struct stack_place *place =
				&s->places[f->first_place + f->place_count - 1 - k];

			culprit__pprof__line__init(&lines[k]);
			lines[k].function_id = place->function + 1;
			lines[k].line = place->line;
			l->line[k] = &lines[k];
		}
		l->n_line = p->error ? 0 : f->place_count;
	}
}

static void add_functions(struct packer *p)
{
	const struct stack_set *s = p->set;

	NEW_LIST(p, function, s->function_count, Culprit__Pprof__Function,
		 culprit__pprof__function__init);
	for (size_t i = 0; i < s->function_count && !p->error; i++) {
		Culprit__Pprof__Function *f = p->profile.function[i];

		f->id = i + 1;
		f->name = f->system_name = add_text(p, s->functions[i].name);
	}
	for (size_t i = 0; i < s->place_count && !p->error; i++) {
		Culprit__Pprof__Function *f = p->profile.function[s->places[i].function];

		if (!f->filename)
			f->filename = add_text(p, s->places[i].file);
	}
}

/* What pprof calls them by custom: "samples", and "cpu" for time. */
static void add_types(struct packer *p)
{
	const struct query *q = p->set->query;
	char samples[STACKS_NAME_MAX], units[STACKS_NAME_MAX];

	NEW_LIST(p, sample_type, 2 * q->event_count, Culprit__Pprof__ValueType,
		 culprit__pprof__value_type__init);
	for (size_t i = 0; i < q->event_count && !p->error; i++) {
		const struct query_event *e = &q->events[i];
		Culprit__Pprof__ValueType **type = &p->profile.sample_type[2 * i];

		stacks_event_names(p->set, i, samples, units);
		type[0]->type = add_text(p, samples);
		type[0]->unit = add_text(p, "count");
		type[1]->type = add_text(p, units);
		type[1]->unit = add_text(p, stacks_is_clock(e) ? "nanoseconds" : "count");
	}
	if (p->error || !q->event_count)
		return;
	p->profile.period_type = p->profile.sample_type[1];
	p->profile.period = (int64_t)q->events[0].period;
	p->profile.default_sample_type = p->profile.sample_type[1]->type;
}

static void add_labels(struct packer *p, Culprit__Pprof__Sample *sample, uint32_t group)
{
	size_t size = 0, at = 0, count = 0;
	const void *subject;
	struct subject_pair pair;
	Culprit__Pprof__Label *labels;

	if (group == QUERY_NO_GROUP)
		return;
	subject = intern_get(p->set->query->groups, group, &size);
	while (subject_next(subject, size, &at, &pair))
		count++;
	labels = get_memory(p, count, sizeof(*labels));
	sample->label = get_memory(p, count, sizeof(void *));
	at = 0;
	for (size_t i = 0; i < count && !p->error; i++) {
		subject_next(subject, size, &at, &pair);
		culprit__pprof__label__init(&labels[i]);
		labels[i].key = add_string(p, pair.key, pair.key_size);
		labels[i].str = add_string(p, pair.value, pair.value_size);
		sample->label[i] = &labels[i];
	}
	sample->n_label = p->error ? 0 : count;
}

/* The stack that ends at a node, the leaf first. */
static void fill_sample(struct packer *p, Culprit__Pprof__Sample *sample, uint32_t node)
{
	const struct stack_set *s = p->set;
	uint32_t group = QUERY_NO_GROUP;
	size_t depth = 0;

	for (uint32_t n = node; n; n = s->nodes[n].parent)
		depth++;
	sample->location_id = get_memory(p, depth, sizeof(uint64_t));
	sample->value = get_memory(p, p->profile.n_sample_type, sizeof(int64_t));
	if (p->error)
		return;
	sample->n_value = p->profile.n_sample_type;
	for (uint32_t n = node; n; n = s->nodes[n].parent) {
		if (s->nodes[n].frame == STACK_NO_FRAME)
			group = s->nodes[n].group;
		else
			sample->location_id[sample->n_location_id++] = s->nodes[n].frame + 1;
	}
	add_labels(p, sample, group);
}

static void add_samples(struct packer *p)
{
	const struct stack_set *s = p->set;
	uint32_t *order = stacks_order(s);
	Culprit__Pprof__Sample *sample = NULL;
	uint32_t node = 0;
	size_t count = 0;

	if (!order)
		p->error = -ENOMEM;
	NEW_LIST(p, sample, s->count_count, Culprit__Pprof__Sample, culprit__pprof__sample__init);
	for (size_t i = 0; i < s->count_count && !p->error; i++) {
		const struct stack_count *c = &s->counts[order[i]];

		if (!sample || c->node != node) {
			sample = p->profile.sample[count++];
			node = c->node;
			fill_sample(p, sample, node);
			if (p->error)
				break;
		}
		sample->value[2 * c->event] += (int64_t)c->count;
		sample->value[2 * c->event + 1] +=
			(int64_t)((double)c->count * stacks_units(s, c->event));
	}
	p->profile.n_sample = p->error ? 0 : count;
	free(order);
}

static void add_comment(struct packer *p)
{
	char text[512];

	stacks_describe(p->set, text, sizeof(text));
	p->profile.comment = get_memory(p, 1, sizeof(*p->profile.comment));
	if (p->error)
		return;
	p->profile.comment[0] = add_text(p, text);
	p->profile.n_comment = 1;
}

static void add_string_table(struct packer *p)
{
	uint32_t count = intern_count(p->strings);
	size_t size;

	p->profile.string_table = get_memory(p, count, sizeof(char *));
	if (p->error)
		return;
	for (uint32_t i = 0; i < count; i++)
		p->profile.string_table[i] = (char *)intern_get(p->strings, i, &size);
	p->profile.n_string_table = count;
}

static int save(const struct packer *p, struct buf *out)
{
	size_t size = culprit__pprof__profile__get_packed_size(&p->profile);
	uint8_t *data = malloc(size + 1);

	if (!data)
		return -ENOMEM;
	culprit__pprof__profile__pack(&p->profile, data);
	int r = gzip_write(data, size, out);
	free(data);
	return r;
}

int stacks_write_pprof(const struct stack_set *s, const struct stacks_about *about, struct buf *out)
{
	struct packer p = {.set = s,
			   .profile = CULPRIT__PPROF__PROFILE__INIT,
			   .memory = arena_new(MEMORY_MAX_BYTES),
			   .strings = intern_new(STRINGS_MAX)};

	if (p.memory && p.strings) {
		add_text(&p, "");
		p.profile.time_nanos = (int64_t)about->start_ns;
		p.profile.duration_nanos = (int64_t)(about->end_ns - about->start_ns);
		add_types(&p);
		add_mappings(&p);
		add_locations(&p);
		add_functions(&p);
		add_samples(&p);
		add_comment(&p);
		add_string_table(&p);
		if (!p.error)
			p.error = save(&p, out);
	} else {
		p.error = -ENOMEM;
	}
	arena_free(p.memory);
	intern_free(p.strings);
	if (p.error && !out->error)
		out->error = p.error;
	return p.error;
}
