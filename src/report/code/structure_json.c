/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>
#include "report/code/structure_form.h"

static void begin(struct structure_writing *w)
{
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(&w->report->id, id);
	json_writer_open(&w->to, NULL, '{');
	json_writer_text(&w->to, "report", "struct");
	json_writer_count(&w->to, "version", STRUCTURE_VERSION);
	json_writer_text(&w->to, "image", w->report->path);
	json_writer_text(&w->to, "build_id", id);
	json_writer_open(&w->to, "files", '[');
}

static void open_file(struct structure_writing *w, const char *file)
{
	json_writer_open(&w->to, NULL, '{');
	json_writer_text(&w->to, "file", file);
	json_writer_open(&w->to, "functions", '[');
}

static void close_file(struct structure_writing *w)
{
	json_writer_close(&w->to, ']');
	json_writer_close(&w->to, '}');
}

static void put_line(struct json_writer *w, const char *key, uint32_t line)
{
	if (line)
		json_writer_count(w, key, line);
	else
		json_writer_value(w, key, json_null());
}

static void put_own(struct json_writer *w, const struct structure_function *f,
		    const struct structure_scope *s)
{
	switch (s->kind) {
	case STRUCTURE_FUNCTION:
		json_writer_address(w, "entry", s->address);
		json_writer_bool(w, "complete", f->complete);
		json_writer_bool(w, "lines_refused", f->lines_refused);
		break;
	case STRUCTURE_INLINED:
		json_writer_text(w, "call_file", s->call_file);
		put_line(w, "call_line", s->call_line);
		break;
	case STRUCTURE_LOOP:
		json_writer_address(w, "header", s->address);
		json_writer_count(w, "depth", s->depth);
		json_writer_count(w, "copies", s->copies);
		json_writer_bool(w, "irreducible", s->irreducible);
		break;
	}
}

static void put_ranges(struct json_writer *w, const struct structure_scope *s)
{
	json_writer_open(w, "ranges", '[');
	for (uint32_t i = 0; i < s->range_count; i++) {
		json_writer_open(w, NULL, '[');
		json_writer_address(w, NULL, s->ranges[i].start);
		json_writer_address(w, NULL, s->ranges[i].end);
		json_writer_close(w, ']');
	}
	json_writer_close(w, ']');
}

static void open_scope(struct structure_writing *w, const struct structure_function *f, uint32_t i)
{
	static const char *const kinds[] = {
		[STRUCTURE_FUNCTION] = "function",
		[STRUCTURE_INLINED] = "inlined",
		[STRUCTURE_LOOP] = "loop",
		[STRUCTURE_STATEMENT] = "statement",
	};
	const struct structure_scope *s = &f->scopes[i];

	json_writer_open(&w->to, NULL, '{');
	json_writer_text(&w->to, "kind", kinds[s->kind]);
	if (s->kind == STRUCTURE_FUNCTION || s->kind == STRUCTURE_INLINED) {
		json_writer_text(&w->to, "name", s->name);
		json_writer_text(&w->to, "linkage", s->linkage);
	}
	json_writer_text(&w->to, "file", s->file);
	put_line(&w->to, "first_line", s->first_line);
	put_line(&w->to, "last_line", s->last_line);
	put_own(&w->to, f, s);
	if (s->kind != STRUCTURE_INLINED)
		put_ranges(&w->to, s);
	if (s->kind != STRUCTURE_STATEMENT)
		json_writer_open(&w->to, "scopes", '[');
}

static void close_scope(struct structure_writing *w, const struct structure_function *f, uint32_t i)
{
	if (f->scopes[i].kind != STRUCTURE_STATEMENT)
		json_writer_close(&w->to, ']');
	json_writer_close(&w->to, '}');
}

static void end(struct structure_writing *w)
{
	const struct structure_counts c = structure_counts(w->report->structure);

	json_writer_close(&w->to, ']');
	json_writer_open(&w->to, "counts", '{');
	json_writer_count(&w->to, "functions", c.functions);
	json_writer_count(&w->to, "loops", c.loops);
	json_writer_count(&w->to, "irreducible", c.irreducible);
	json_writer_count(&w->to, "inlined", c.inlined);
	json_writer_count(&w->to, "statements", c.statements);
	json_writer_count(&w->to, "incomplete", c.incomplete);
	json_writer_count(&w->to, "lines_refused", c.lines_refused);
	json_writer_count(&w->to, "loops_refused", c.loops_refused);
	json_writer_count(&w->to, "functions_refused", c.refused);
	json_writer_close(&w->to, '}');
	json_writer_close(&w->to, '}');
	buf_append_u8(&w->to.buf, '\n');
}

const struct structure_form structure_json = {begin,	  open_file,   close_file,
					      open_scope, close_scope, end};
