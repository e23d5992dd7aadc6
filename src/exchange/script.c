/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/places.h"
#include "exchange/readers.h"
#include "exchange/reading_lines.h"
#include "util/num.h"

/*
 * The text of perf script, with call chains or without. Its addresses are those of processes, and
 * of what was mapped there it does not say: functions are kept by name, in the file that it names.
 */

#define EVENTS_MAX 256

struct event {
	uint64_t samples, units, unknown;
};

struct script {
	struct harvest *h;
	struct event events[EVENTS_MAX];
	uint32_t event_count;
	uint64_t first_ns, last_ns, odd;

	/* The sample at hand. */
	bool open, counted;	 /* counted: it has no chain, and is done */
	struct script_head head; /* of its texts comm alone, which is in comm */
	struct buf comm;
	uint32_t event;
	struct places_stack stack;
	struct harvest_line inlined[HARVEST_LINES_MAX]; /* their names are its own */
	size_t inlined_count;
	bool unknown;
};

/* Modules as the collector calls them, "[module]/name"; the rest as perf does. */
static size_t name_image(struct script_text dso, char out[1024])
{
	static const char module[] = "[module]/";
	size_t size = dso.size < 1000 ? dso.size : 1000, at = 0;
	bool is_module = size > 2 && *dso.at == '[' && dso.at[size - 1] == ']' &&
			 memchr(dso.at, '.', size) == NULL && memcmp(dso.at, "[vdso]", 6) &&
			 memcmp(dso.at, "[vsys", 5) && memcmp(dso.at, "[heap", 5) &&
			 memcmp(dso.at, "[stac", 5);

	if (is_module) {
		memcpy(out, module, sizeof(module) - 1);
		at = sizeof(module) - 1;
		dso.at++;
		size -= 2;
	}
	memcpy(out + at, dso.at, size);
	return at + size;
}

static bool is(struct script_text t, const char *text)
{
	return t.size == strlen(text) && !memcmp(t.at, text, t.size);
}

static int place_frame(struct script *s, const struct script_frame *f, uint32_t *ret,
		       bool *ret_unknown)
{
	static const char none[] = "[no symbol]";
	bool no_symbol = !f->symbol.size || is(f->symbol, "[unknown]"),
	     no_dso = !f->dso.size || is(f->dso, "[unknown]");
	struct harvest_line *own = &s->inlined[s->inlined_count];
	char image[1024];
	size_t size;

	*ret_unknown = no_symbol && no_dso;
	if (*ret_unknown)
		return places_unknown(s->h, f->address, ret);
	size = no_dso ? strlen(strcpy(image, PLACES_NO_IMAGE)) : name_image(f->dso, image);
	*own = (struct harvest_line){
		.function = no_symbol ? none : f->symbol.at,
		.function_size = no_symbol ? strlen(none) : f->symbol.size,
	};
	return places_named(s->h, image, size, s->inlined, s->inlined_count + 1, ret, ret_unknown);
}

static void drop_inlined(struct script *s)
{
	while (s->inlined_count)
		free((void *)s->inlined[--s->inlined_count].function);
}

/* The line is gone before the frame comes that it was inlined into. */
static int add_inlined(struct script *s, struct script_text name)
{
	char *copy;

	if (s->inlined_count == HARVEST_LINES_MAX - 1)
		return 0;
	copy = strndup(name.size ? name.at : "", name.size);
	if (!copy)
		return -ENOMEM;
	s->inlined[s->inlined_count++] =
		(struct harvest_line){.function = copy, .function_size = strlen(copy)};
	return 0;
}

static int take_frame(struct script *s, const struct script_frame *f)
{
	uint32_t place;
	bool unknown;

	if (f->inlined)
		return add_inlined(s, f->symbol);
	int r = place_frame(s, f, &place, &unknown);
	drop_inlined(s);
	if (r)
		return r;
	s->unknown = s->stack.count ? s->unknown : unknown;
	places_push(&s->stack, place);
	return 0;
}

/* What was read of the sample so far is all of it. chain: its stack too. */
static int end_sample(struct script *s, bool chain)
{
	struct event *e = &s->events[s->event];
	uint32_t subject;
	int r = 0;

	if (!s->open)
		return 0;
	s->open = false;
	if (!s->stack.count) { /* perf prints no frame where it has none */
		uint32_t place;

		r = places_unknown(s->h, 0, &place);
		places_push(&s->stack, place);
		s->unknown = true;
	}
	if (!r)
		r = places_command(s->h, s->head.comm.at, s->head.comm.size, &subject);
	if (!r)
		r = harvest_sample(s->h, s->event, subject, s->stack.place[0], 1);
	if (!r && chain)
		r = places_add_stack(s->h, s->event, subject, &s->stack, HARVEST_NONE, 1);
	e->samples++;
	e->units = num_add_sat(e->units, s->head.has_period ? s->head.period : 1);
	e->unknown += s->unknown;
	return r;
}

static int take_head(struct script *s, const struct script_head *head)
{
	const struct script_text *name = &head->event;
	struct script_frame frame;
	int r = end_sample(s, true);

	if (!r)
		r = name->size ? harvest_event(s->h, name->at, name->size, &s->event)
			       : harvest_event(s->h, "samples", 7, &s->event);
	if (r)
		return r;
	if (s->event >= EVENTS_MAX)
		return -ENOSPC;
	if (s->event >= s->event_count)
		s->event_count = s->event + 1;
	if (head->has_time) {
		if (!s->first_ns || head->time_ns < s->first_ns)
			s->first_ns = head->time_ns;
		s->last_ns = head->time_ns > s->last_ns ? head->time_ns : s->last_ns;
	}
	s->open = true;
	s->head = *head;
	buf_clear(&s->comm);
	if (buf_append(&s->comm, head->comm.at, head->comm.size))
		return s->comm.error;
	s->head.comm.at = s->comm.data ? (const char *)s->comm.data : "";
	s->stack.count = s->stack.frames = 0;
	drop_inlined(s);
	s->unknown = false;
	if (!head->rest.size || !script_parse_frame(head->rest, &frame))
		return 0;
	r = take_frame(s, &frame);
	return r ? r : end_sample(s, false);
}

static int take_line(struct script *s, struct script_text line)
{
	struct script_head head;
	struct script_frame frame;
	bool inner = line.size && (*line.at == ' ' || *line.at == '\t');

	if (!line.size || is(line, "\r"))
		return end_sample(s, true);
	if (*line.at == '#')
		return 0;
	/* Without chains, heads are indented; with them, frames are. */
	if (inner && s->open && script_parse_frame(line, &frame))
		return take_frame(s, &frame);
	if (script_parse_head(line, &head))
		return take_head(s, &head);
	s->odd++;
	return 0;
}

static void tell(struct script *s)
{
	for (uint32_t i = 0; i < s->event_count; i++) {
		const struct event *e = &s->events[i];

		harvest_event_set(s->h, i,
				  e->samples ? (e->units + e->samples / 2) / e->samples : 1,
				  DB_EVENT_USER | DB_EVENT_KERNEL);
		harvest_count(s->h, i, "samples", e->samples);
		harvest_count(s->h, i, "units", e->units);
		harvest_count(s->h, i, "unknown.mapping", e->unknown);
	}
	harvest_duration(s->h, s->last_ns - s->first_ns);
	harvest_count(s->h, HARVEST_NONE, "records.malformed", s->odd);
}

static int take_lines(struct script *s, struct reading_lines *lines, struct diag *diag)
{
	struct script_text line;
	int r;

	while ((r = reading_lines_next(lines, &line.at, &line.size, diag)) > 0) {
		r = take_line(s, line);
		if (r)
			break;
	}
	if (!r)
		r = end_sample(s, true);
	if (!r)
		tell(s);
	return r == -EINVAL ? diag_fail(diag, EBADMSG, "a name in it is too long") : r;
}

int read_perf_script(const struct reading *in, struct harvest *harvest, struct diag *diag)
{
	struct script *s = calloc(1, sizeof(*s));
	struct reading_lines lines;

	if (!s)
		return reading_end(-ENOMEM, diag);
	s->h = harvest;
	buf_init(&s->comm, READING_LINE_MAX);
	reading_lines_begin(&lines, in);
	int r = take_lines(s, &lines, diag);
	reading_lines_end(&lines);
	drop_inlined(s);
	buf_free(&s->comm);
	free(s);
	return reading_end(r, diag);
}
