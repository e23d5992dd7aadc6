/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/places.h"
#include "exchange/readers.h"
#include "exchange/reading_lines.h"
#include "util/num.h"
#include "util/text.h"

/*
 * Folded stacks: "command;outermost;...;innermost COUNT", a line a stack. There are names and
 * nothing else. With a program given the command is that, and all are functions.
 */
struct folded {
	struct harvest *h;
	const char *program;
	uint32_t event;
	uint64_t samples, unknown;
};

struct text {
	const char *at;
	size_t size;
};

static bool has_end(const struct text *t, const char *end)
{
	return t->size > strlen(end) && !memcmp(t->at + t->size - strlen(end), end, strlen(end));
}

/* The marks of stackcollapse-perf.pl: kernel, made at run time, inlined. */
static struct text take_image(struct text *name)
{
	static const struct {
		const char *mark, *image;
	} marks[] = {{"_[k]", "[kernel.kallsyms]"}, {"_[j]", "[jit]"}, {"_[i]", PLACES_NO_IMAGE}};

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (has_end(name, marks[i].mark)) {
			name->size -= strlen(marks[i].mark);
			return (struct text){marks[i].image, strlen(marks[i].image)};
		}
	return (struct text){PLACES_NO_IMAGE, strlen(PLACES_NO_IMAGE)};
}

static int push_frame(struct folded *f, struct places_stack *s, struct text name, uint64_t count)
{
	struct text image = take_image(&name);
	struct harvest_line line = {.function = name.at, .function_size = name.size};
	uint32_t place;
	bool unknown;
	int r = places_named(f->h, image.at, image.size, &line, 1, &place, &unknown);

	if (unknown && !s->count)
		f->unknown = num_add_sat(f->unknown, count);
	places_push(s, place);
	return r;
}

static int take_stack(struct folded *f, struct text line, uint64_t count)
{
	struct text comm = {f->program, f->program ? strlen(f->program) : 0};
	struct places_stack stack = {.count = 0};
	uint32_t subject;
	int r = 0;

	while (line.size && !r) {
		const char *cut = memrchr(line.at, ';', line.size);
		const char *start = cut ? cut + 1 : line.at;
		struct text name = {start, (size_t)(line.at + line.size - start)};

		line.size = cut ? (size_t)(cut - line.at) : 0;
		if (!cut && !f->program)
			comm = name;
		else if (name.size)
			r = push_frame(f, &stack, name, count);
	}
	if (!r && !stack.count) /* a command alone */
		r = push_frame(f, &stack, (struct text){"[unknown]", 9}, count);
	if (!r)
		r = places_command(f->h, comm.at, comm.size, &subject);
	if (!r)
		r = harvest_sample(f->h, f->event, subject, stack.place[0], count);
	return r ? r : places_add_stack(f->h, f->event, subject, &stack, HARVEST_NONE, count);
}

/* The number at the end, which is cut off; false when there is none. */
static bool take_count(struct text *line, uint64_t *ret)
{
	const char *space = memrchr(line->at, ' ', line->size);
	uint64_t count = 0;

	if (!space || space == line->at || space + 1 == line->at + line->size)
		return false;
	for (const char *c = space + 1; c < line->at + line->size; c++) {
		if (*c < '0' || *c > '9' || count > UINT64_MAX / 16)
			return false;
		count = 10 * count + (uint64_t)(*c - '0');
	}
	line->size = (size_t)(space - line->at);
	*ret = count;
	return true;
}

static int take_line(struct folded *f, struct text line, uint64_t number, struct diag *diag)
{
	uint64_t count;
	int r;

	if (line.size && line.at[line.size - 1] == '\r')
		line.size--;
	if (!line.size || *line.at == '#')
		return 0;
	if (!take_count(&line, &count))
		return diag_fail(diag, EBADMSG, "line %llu does not end in a count",
				 (unsigned long long)number);
	r = take_stack(f, line, count);
	f->samples = num_add_sat(f->samples, count);
	return r == -EINVAL ? diag_fail(diag, EBADMSG, "line %llu has a name that is too long",
					(unsigned long long)number)
			    : r;
}

static int take_lines(struct folded *f, struct reading_lines *lines, struct diag *diag)
{
	int r = harvest_event(f->h, "samples", 7, &f->event);
	struct text line;

	while (!r && (r = reading_lines_next(lines, &line.at, &line.size, diag)) > 0)
		r = take_line(f, line, lines->number, diag);
	if (r)
		return r;
	harvest_event_set(f->h, f->event, 1, DB_EVENT_USER | DB_EVENT_KERNEL);
	harvest_count(f->h, f->event, "samples", f->samples);
	harvest_count(f->h, f->event, "unknown.mapping", f->unknown);
	return 0;
}

int read_folded(const struct reading *in, struct harvest *harvest, struct diag *diag)
{
	struct folded f = {.h = harvest,
			   .program = in->program ? text_base_name(in->program) : NULL};
	struct reading_lines lines;

	reading_lines_begin(&lines, in);
	int r = take_lines(&f, &lines, diag);
	reading_lines_end(&lines);
	return reading_end(r, diag);
}
