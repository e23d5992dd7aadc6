/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>
#include "report/code/structure_form.h"
#include "util/quote.h"

/* The form of bloop's documents in HPCToolkit, with more attributes: structure.xsd. */

static void begin(struct structure_writing *w)
{
	struct buf *b = &w->to.buf;
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(&w->report->id, id);
	buf_printf(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LM");
	quote_xml(b, "n", w->report->path);
	buf_printf(b, " version=\"%d\"", STRUCTURE_VERSION);
	quote_xml(b, "build_id", id);
	buf_printf(b, ">\n");
}

static void open_file(struct structure_writing *w, const char *file)
{
	buf_printf(&w->to.buf, "<F");
	if (file)
		quote_xml(&w->to.buf, "n", file);
	buf_printf(&w->to.buf, ">\n");
}

static void close_file(struct structure_writing *w)
{
	buf_printf(&w->to.buf, "</F>\n");
}

static void put_name(struct buf *b, const char *name, const char *text)
{
	if (text)
		quote_xml(b, name, text);
}

static void put_lines(struct buf *b, const struct structure_scope *s)
{
	if (s->first_line)
		buf_printf(b, " b=\"%u\" e=\"%u\"", s->first_line, s->last_line);
}

static void put_function(struct buf *b, const struct structure_function *f)
{
	const struct structure_scope *s = &f->scopes[0];

	put_name(b, "n", s->name);
	put_name(b, "ln", s->linkage);
	put_lines(b, s);
	buf_printf(b, " entry=\"0x%" PRIx64 "\"", s->address);
	if (!f->complete)
		buf_printf(b, " complete=\"false\"");
	if (f->lines_refused)
		buf_printf(b, " lines=\"refused\"");
}

static void put_inlined(struct buf *b, const struct structure_scope *s)
{
	put_name(b, "n", s->name);
	put_name(b, "ln", s->linkage);
	put_name(b, "f", s->file);
	put_lines(b, s);
	put_name(b, "call_f", s->call_file);
	if (s->call_line)
		buf_printf(b, " call=\"%u\"", s->call_line);
}

static void put_loop(struct buf *b, const struct structure_function *f, uint32_t i)
{
	const struct structure_scope *s = &f->scopes[i];

	put_name(b, "f", structure_other_file(f, i));
	put_lines(b, s);
	buf_printf(b, " depth=\"%u\" header=\"0x%" PRIx64 "\"", s->depth, s->address);
	if (s->copies > 1)
		buf_printf(b, " copies=\"%u\"", s->copies);
	if (s->irreducible)
		buf_printf(b, " irreducible=\"true\"");
}

static const char *const elements[] = {
	[STRUCTURE_FUNCTION] = "P",
	[STRUCTURE_INLINED] = "A",
	[STRUCTURE_LOOP] = "L",
	[STRUCTURE_STATEMENT] = "S",
};

static void open_scope(struct structure_writing *w, const struct structure_function *f, uint32_t i)
{
	const struct structure_scope *s = &f->scopes[i];
	struct buf *b = &w->to.buf;

	buf_printf(b, "<%s", elements[s->kind]);
	if (s->kind == STRUCTURE_FUNCTION)
		put_function(b, f);
	else if (s->kind == STRUCTURE_INLINED)
		put_inlined(b, s);
	else if (s->kind == STRUCTURE_LOOP)
		put_loop(b, f, i);
	else
		put_name(b, "f", structure_other_file(f, i));
	if (s->kind == STRUCTURE_STATEMENT)
		put_lines(b, s);
	for (uint32_t k = 0; k < s->range_count; k++)
		buf_printf(b, "%s0x%" PRIx64 "-0x%" PRIx64, k ? " " : " v=\"", s->ranges[k].start,
			   s->ranges[k].end);
	buf_printf(b, "%s%s", s->range_count ? "\"" : "", s->end == i + 1 ? "/>\n" : ">\n");
}

static void close_scope(struct structure_writing *w, const struct structure_function *f, uint32_t i)
{
	if (f->scopes[i].end > i + 1)
		buf_printf(&w->to.buf, "</%s>\n", elements[f->scopes[i].kind]);
}

static void end(struct structure_writing *w)
{
	buf_printf(&w->to.buf, "</LM>\n");
}

const struct structure_form structure_xml = {begin,	 open_file,   close_file,
					     open_scope, close_scope, end};
