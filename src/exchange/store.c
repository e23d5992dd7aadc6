/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/instsamples.h"
#include "db/writer.h"
#include "util/clock.h"

#define BATCH_ROWS (4u << 20)
#define TELL_EACH  65536 /* rows */

struct filling {
	struct store *s;
	const struct import_target *target;
	struct import_result *result;
	struct db_writer *writer;
	struct db_batch *batch;
	uint32_t *events, *subjects, *images; /* numbers of this batch; UINT32_MAX: none yet */
	uint32_t unknown;
	uint64_t start_ns, end_ns;
	uint64_t outside; /* samples at offsets of a file where it has no code */
};

int store_tell(const struct import_target *target, const char *doing, uint64_t done, uint64_t of)
{
	const struct import_watch *w = &target->watch;

	return w->tell ? w->tell(w->arg, doing, done, of) : 0;
}

static void forget_numbers(struct filling *f)
{
	memset(f->events, 0xff, f->s->event_count * sizeof(*f->events));
	memset(f->subjects, 0xff, f->s->subject_count * sizeof(*f->subjects));
	memset(f->images, 0xff, f->s->image_count * sizeof(*f->images));
	f->unknown = UINT32_MAX;
}

static int flush(struct filling *f, struct diag *diag)
{
	db_batch_interval(f->batch, f->start_ns, f->end_ns);
	int r = db_writer_flush(f->writer, f->batch, diag);
	if (r)
		return r;
	db_batch_clear(f->batch);
	forget_numbers(f);
	return 0;
}

static int batch_event(struct filling *f, uint32_t event, uint32_t *ret)
{
	const struct store_event *e = &f->s->events[event];
	char name[1025];
	struct db_event known = {name, e->period, (uint32_t)e->flags};
	int r = 0;

	if (f->events[event] == UINT32_MAX) {
		snprintf(name, sizeof(name), "%.*s", (int)e->name.size, e->name.at);
		r = db_batch_event(f->batch, &known, &f->events[event]);
	}
	*ret = f->events[event];
	return r;
}

static int batch_subject(struct filling *f, uint32_t subject, uint32_t *ret)
{
	const struct store_text *t = &f->s->subjects[subject];
	int r = 0;

	if (f->subjects[subject] == UINT32_MAX)
		r = db_batch_subject(f->batch, t->at, t->size, &f->subjects[subject]);
	*ret = f->subjects[subject];
	return r;
}

static int batch_unknown(struct filling *f, uint32_t *ret)
{
	struct image_id id = {.kind = IMAGE_UNKNOWN};
	int r = 0;

	if (f->unknown == UINT32_MAX)
		r = db_batch_image(f->batch, &id, "[unknown]", 9, &f->unknown);
	*ret = f->unknown;
	return r;
}

/* *ret_outside, when asked for: it is at no code of its file, and so in the unknown image. */
static int batch_place(struct filling *f, uint32_t place, struct db_frame *ret, bool *ret_outside)
{
	const struct store_place *p = &f->s->places[place];
	const struct store_image *image = &f->s->images[p->image];
	bool outside = !store_offset(image, p->offset, &ret->offset);
	int r = 0;

	if (ret_outside)
		*ret_outside = outside;
	if (outside) {
		ret->offset = p->offset;
		return batch_unknown(f, &ret->image);
	}
	if (f->images[p->image] == UINT32_MAX)
		r = db_batch_image(f->batch, &image->id, image->name, strlen(image->name),
				   &f->images[p->image]);
	ret->image = f->images[p->image];
	return r;
}

static int add_sample(struct filling *f, size_t number)
{
	const struct store_count *c = &f->s->samples.at[number];
	uint32_t event, subject, profile;
	struct db_frame at;
	bool outside;

	if (!c->count)
		return 0;
	int r = batch_event(f, c->event, &event);
	if (!r)
		r = batch_subject(f, c->second, &subject);
	if (!r)
		r = batch_place(f, c->third, &at, &outside);
	if (!r)
		r = db_batch_profile(f->batch, at.image, event, subject, &profile);
	if (!r)
		r = db_batch_add(f->batch, profile, at.offset, c->count);
	if (!r && outside) {
		f->outside += c->count;
		r = db_batch_count(f->batch, event, "unknown.mapping", c->count);
	}
	if (!r)
		f->result->samples += c->count;
	return r;
}

static int add_stack(struct filling *f, size_t number)
{
	const struct store_count *c = &f->s->stacks.at[number];
	struct db_frame frames[DB_STACK_MAX];
	uint32_t event, subject, count = 0, at;

	if (!c->count)
		return 0;
	int r = batch_event(f, c->event, &event);
	if (!r)
		r = batch_subject(f, c->second, &subject);
	for (at = c->third; at != HARVEST_NONE && count < DB_STACK_MAX; count++)
		at = f->s->frames[at].parent;
	/* From the outermost in; of a deeper one than the database takes, the inner frames. */
	at = c->third;
	for (uint32_t i = count; i > 0 && !r; i--) {
		r = batch_place(f, f->s->frames[at].place, &frames[i - 1], NULL);
		at = f->s->frames[at].parent;
	}
	if (!r)
		r = db_batch_stack(f->batch, event, subject, frames, count, c->count);
	if (!r)
		f->result->stacks += c->count;
	return r;
}

static int add_edge(struct filling *f, size_t number)
{
	const struct store_count *c = &f->s->edges.at[number];
	struct db_frame from = {.offset = DB_EDGE_START}, to = {.offset = DB_EDGE_END};
	struct db_edge edge;
	uint32_t event;
	bool outside = false, also = false;

	if (!c->count)
		return 0;
	int r = batch_event(f, c->event, &event);
	if (!r && c->second != HARVEST_NONE)
		r = batch_place(f, c->second, &from, &outside);
	if (!r && c->third != HARVEST_NONE)
		r = batch_place(f, c->third, &to, &also);
	if (r || outside || also)
		return r;
	edge = (struct db_edge){
		.image = c->second == HARVEST_NONE ? to.image : from.image,
		.to_image = c->third == HARVEST_NONE ? from.image : to.image,
		.event = event,
		.evidence = DB_EVIDENCE_RECORDS, /* all that profiles of others have */
		.from = from.offset,
		.to = to.offset,
	};
	r = db_batch_edge(f->batch, &edge, c->count, c->count);
	if (!r)
		f->result->edges += c->count;
	return r;
}

static int add_raw(struct filling *f, size_t number)
{
	const struct harvest_raw *h = &f->s->raws[number];
	struct db_raw raw = {.target_image = DB_RAW_NO_TARGET, .form = h->form};
	struct db_frame at, to;
	int r = batch_event(f, h->event, &raw.event);

	if (!r)
		r = batch_subject(f, h->subject, &raw.subject);
	if (!r)
		r = batch_place(f, h->place, &at, NULL);
	if (!r && h->target != HARVEST_NONE) {
		r = batch_place(f, h->target, &to, NULL);
		raw.target_image = to.image;
		raw.target = to.offset;
	}
	if (r)
		return r;
	raw.image = at.image;
	raw.offset = at.offset;
	memcpy(raw.values, h->values, sizeof(raw.values));
	r = db_batch_raw(f->batch, &raw, 1);
	f->result->raws += r == 0;
	return r;
}

/* The values of a record, lowest field first; how many there are. */
static unsigned put_values(const struct inst_record *record, uint32_t *to)
{
	unsigned values = 0;

	to[values++] = record->events;
	for (uint32_t left = record->fields & ~1u; left; left &= left - 1)
		to[values++] = record->values[__builtin_ctz(left)];
	return values;
}

static int put_other(struct filling *f, const struct harvest_inst *h, unsigned values,
		     struct db_inst *inst)
{
	struct db_frame at;
	int r = batch_place(f, h->other_place, &at, NULL);

	if (r)
		return r;
	inst->other_image = at.image;
	inst->other = at.offset;
	inst->form.known[1] = h->other.known;
	inst->form.fields |= (uint64_t)h->other.fields << INST_PAIR_HALF |
			     UINT64_C(1) << INST_PAIR_DISTANCE | UINT64_C(1) << INST_PAIR_CYCLES;
	if (db_inst_values(&inst->form) > DB_INST_VALUES_MAX)
		return -EINVAL;
	values += put_values(&h->other, inst->values + values);
	inst->values[values++] = h->distance;
	inst->values[values++] = h->cycles;
	return 0;
}

/* They come one after the other: the next of them, which is read on only once it is added. */
static int add_inst(struct filling *f, size_t number)
{
	struct cursor c = f->s->insts;
	struct db_inst inst = {.other_image = DB_INST_NO_OTHER};
	struct harvest_inst h;
	struct db_frame at;

	(void)number;
	harvest_take_inst(&c, &h);
	int r = c.error ? c.error : batch_event(f, h.event, &inst.event);
	if (!r)
		r = batch_subject(f, h.subject, &inst.subject);
	if (!r)
		r = batch_place(f, h.place, &at, NULL);
	if (r)
		return r;
	inst.image = at.image;
	inst.offset = at.offset;
	inst.form.source = h.record.source;
	inst.form.known[0] = h.record.known;
	inst.form.fields = h.record.fields;
	unsigned values = put_values(&h.record, inst.values);
	if (h.other_place != HARVEST_NONE)
		r = put_other(f, &h, values, &inst);
	if (r)
		return r;
	r = db_batch_inst(f->batch, &inst, 1);
	if (r)
		return r;
	f->s->insts = c;
	f->result->insts++;
	return 0;
}

/* Adds count entries of a list; when the batch is full, it is written and the entry added again. */
static int add_list(struct filling *f, size_t count, int (*add)(struct filling *f, size_t number),
		    struct diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		int r = 0;

		if (i % TELL_EACH == 0)
			r = store_tell(f->target, "storing", i, count);
		if (r)
			return r;
		r = add(f, i);
		if (r == -ENOSPC) {
			r = flush(f, diag);
			if (r)
				return r;
			r = add(f, i);
		}
		if (r)
			return diag_fail(diag, -r, "cannot take the profile: %s", strerror(-r));
	}
	return 0;
}

static void tell_not_kept(struct import_result *result, const char *what, uint64_t value)
{
	size_t used = strlen(result->not_kept);

	snprintf(result->not_kept + used, sizeof(result->not_kept) - used, "%s%s %llu",
		 used ? ", " : "", what, (unsigned long long)value);
}

/* Counters of events that have no sample are written too: the event was there. */
static int add_counters(struct filling *f)
{
	struct import_result *result = f->result;
	uint32_t event;
	int r = 0;

	result->lost = result->unknown = result->event_count = 0;
	result->copies = result->copies_whole = 0;
	result->not_kept[0] = 0;
	for (size_t i = 0; i < f->s->counter_count && !r; i++) {
		const struct store_counter *c = &f->s->counters[i];

		event = DB_EVENT_NONE;
		if (c->event != HARVEST_NONE)
			r = batch_event(f, c->event, &event);
		if (!r)
			r = db_batch_count(f->batch, event, c->name, c->value);
		result->lost += !strncmp(c->name, "lost.", 5) ? c->value : 0;
		result->unknown += !strncmp(c->name, "unknown.", 8) ? c->value : 0;
		result->copies += !strcmp(c->name, "stacks.copies") ? c->value : 0;
		result->copies_whole += !strcmp(c->name, "stacks.end.complete") ? c->value : 0;
		if (!strncmp(c->name, "not_kept.", 9))
			tell_not_kept(result, c->name + 9, c->value);
		if (c->event == HARVEST_NONE || strcmp(c->name, "samples") ||
		    result->event_count == 16)
			continue;
		result->events[result->event_count].samples = c->value;
		result->events[result->event_count].period = f->s->events[c->event].period;
		snprintf(result->events[result->event_count++].name, 64, "%.*s",
			 (int)f->s->events[c->event].name.size, f->s->events[c->event].name.at);
	}
	for (size_t i = 0; i < f->s->fact_count && !r; i++)
		r = db_batch_fact(f->batch, f->s->facts[i].name, f->s->facts[i].value);
	result->unknown += f->outside;
	return r;
}

static int fill(struct filling *f, struct diag *diag)
{
	int r = add_list(f, f->s->samples.count, add_sample, diag);

	if (!r)
		r = add_list(f, f->s->stacks.count, add_stack, diag);
	if (!r)
		r = add_list(f, f->s->edges.count, add_edge, diag);
	if (!r)
		r = add_list(f, f->s->raw_count, add_raw, diag);
	if (!r)
		r = add_list(f, f->s->inst_count, add_inst, diag);
	if (r)
		return r;
	r = add_counters(f);
	if (r == -ENOSPC) {
		r = flush(f, diag);
		if (!r)
			r = add_counters(f);
	}
	return r ? diag_fail(diag, -r, "cannot take the counters: %s", strerror(-r))
		 : flush(f, diag);
}

static int fill_epoch(struct filling *f, struct diag *diag)
{
	const struct store *s = f->s;
	int r = -ENOMEM;

	f->batch = db_batch_new(BATCH_ROWS);
	f->events = calloc(s->event_count + 1, sizeof(*f->events));
	f->subjects = calloc(s->subject_count + 1, sizeof(*f->subjects));
	f->images = calloc(s->image_count + 1, sizeof(*f->images));
	if (f->batch && f->events && f->subjects && f->images) {
		forget_numbers(f);
		r = db_writer_begin_unseen(f->writer, f->start_ns, diag);
		if (!r)
			r = fill(f, diag);
		if (!r)
			snprintf(f->result->epoch, sizeof(f->result->epoch), "%s",
				 db_writer_epoch(f->writer));
		if (!r)
			r = db_writer_compact(f->writer, NULL, diag);
	} else {
		diag_fail(diag, ENOMEM, "out of memory");
	}
	db_batch_free(f->batch);
	free(f->events);
	free(f->subjects);
	free(f->images);
	return r;
}

/* Another machine's profiles have a directory of their own, by its name. */
static void name_machine(const struct store *s, const struct import_target *target,
			 struct import_result *result)
{
	const char *host = store_fact(s, "hostname");
	char here[256] = "";

	result->machine[0] = 0;
	gethostname(here, sizeof(here) - 1);
	if (target->machine) {
		snprintf(result->machine, sizeof(result->machine), "%s", target->machine);
	} else if (host && strcmp(host, here)) {
		size_t size = (size_t)snprintf(result->machine, 200, "host-%s", host);

		/* It names a directory. */
		for (size_t i = 0; i < size && i < 199; i++)
			if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._",
				    result->machine[i]))
				result->machine[i] = '_';
	}
}

static int write_all(struct store *s, const struct import_target *target,
		     struct import_result *result, struct diag *diag)
{
	struct filling f = {.s = s,
			    .target = target,
			    .result = result,
			    .start_ns = s->start_ns,
			    .end_ns = s->end_ns};

	if (!f.start_ns) {
		f.end_ns = target->end_ns ? target->end_ns : clock_wall_ns();
		f.start_ns = s->duration_ns < f.end_ns ? f.end_ns - s->duration_ns : f.end_ns;
	}
	name_machine(s, target, result);
	int r = db_writer_open(target->db, result->machine[0] ? result->machine : NULL, &io_system,
			       &f.writer, diag);
	if (r)
		return r;
	snprintf(result->machine, sizeof(result->machine), "%s", db_writer_machine(f.writer));
	r = fill_epoch(&f, diag);
	/* The last moment at which nothing is kept. */
	if (!r)
		r = store_tell(target, "storing", 1, 1);
	/* What only the file tells is part of it. */
	if (!r)
		r = store_keep_names(s, target, result, diag);
	if (r) {
		db_writer_abandon(f.writer);
		return r;
	}
	return db_writer_close(f.writer, diag);
}

/* "key=value" of --label to the subjects. -EINVAL. */
static int add_labels(struct store *s, const char *const *labels, size_t count, struct diag *diag)
{
	struct subject_pair pairs[SUBJECT_MAX_PAIRS];
	char keys[IMPORT_LABELS_MAX][300];

	for (size_t k = 0; k < s->subject_count; k++) {
		uint8_t *bytes = arena_alloc(s->memory, SUBJECT_MAX_BYTES);
		size_t at = 0, pair = 0;
		long size;

		if (!bytes)
			return diag_fail(diag, ENOMEM, "out of memory");
		while (pair + count < SUBJECT_MAX_PAIRS &&
		       subject_next(s->subjects[k].at, s->subjects[k].size, &at, &pairs[pair]))
			pair++;
		for (size_t i = 0; i < count; i++) {
			const char *equals = strchr(labels[i], '=');

			if (!equals || equals == labels[i] || equals - labels[i] > 256)
				return diag_fail(diag, EINVAL, "label '%s' is not KEY=VALUE",
						 labels[i]);
			snprintf(keys[i], sizeof(keys[i]), "label.%.*s", (int)(equals - labels[i]),
				 labels[i]);
			pairs[pair++] = (struct subject_pair){keys[i], equals + 1, strlen(keys[i]),
							      strlen(equals + 1)};
		}
		size = subject_build(pairs, pair, bytes, SUBJECT_MAX_BYTES);
		if (size < 0)
			return diag_fail(diag, (int)-size,
					 "the labels are too long, or two are of "
					 "one key");
		s->subjects[k] = (struct store_text){(char *)bytes, (size_t)size};
	}
	return 0;
}

int import_store(const struct import_target *target, const void *data, size_t size,
		 struct import_result *ret, struct diag *diag)
{
	struct store s = {0};

	memset(ret, 0, sizeof(*ret));
	int r = store_load(&s, data, size, diag);
	if (!r && target->label_count)
		r = add_labels(&s, target->labels, target->label_count, diag);
	if (!r)
		r = store_find_images(&s, target, ret, diag);
	if (!r && !s.samples.count)
		r = diag_fail(diag, ENODATA, "it has no samples");
	if (!r)
		r = write_all(&s, target, ret, diag);
	arena_free(s.memory);
	return r;
}
