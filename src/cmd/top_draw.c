/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/prof/prof_table.h"
#include "cmd/top_screen.h"
#include "util/text.h"

#define LINE_MAX_BYTES 2048
#define LINES_AROUND   4 /* two above the headings, the headings, one at the bottom */

typedef void put_fn(struct screen *s, const char *line, size_t size);

/* One line, the next or that at the bottom; its parts may be names from outside: it is escaped. */
static __attribute__((format(printf, 3, 4))) void put(struct top_screen *s, put_fn *to,
						      const char *format, ...)
{
	char raw[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	text_escape_controls(line, sizeof(line), raw, strlen(raw));
	to(s->screen, line, strlen(line));
}

/* "cpu-clock every 2.222 ms, cache-misses one in 10000" */
static void name_events(const struct top_screen *s, char *out, size_t room)
{
	const struct sampling_options *o = &s->top->sampling;
	size_t at = 0;

	*out = 0;
	for (size_t i = 0; i < o->event_count && at < room; i++) {
		const struct event *e = &o->events[i];
		uint64_t period = session_period(s->top->session, i);
		int n;

		if (event_is_clock(e))
			n = snprintf(out + at, room - at, "%s%s every %.4g ms", i ? ", " : "",
				     e->name, (double)period / 1e6);
		else
			n = snprintf(out + at, room - at, "%s%s one in %llu", i ? ", " : "",
				     e->name, (unsigned long long)period);
		at += n > 0 ? (size_t)n : 0;
	}
}

static void put_summary(struct top_screen *s, const struct top_frame *f)
{
	const struct report_header *h = &f->header;
	double seconds = top_window_seconds(&s->top->window);
	char events[512];

	name_events(s, events, sizeof(events));
	put(s, screen_line,
	    "%s%.0f samples/s in %.3g s, lost %llu, unknown %.2f%%, idle %.1f%%: %s",
	    s->paused ? "PAUSED  " : "", seconds > 0 ? (double)h->samples / seconds : 0, seconds,
	    (unsigned long long)h->lost, table_percent(h->unknown, h->samples),
	    table_percent(h->idle, f->taken), events);
}

static void put_choices(struct top_screen *s, const struct top_frame *f)
{
	const struct top_view *v = &s->top->view;
	const char *filter = v->rank.function;

	put(s, screen_line, "by %s, sorted by %s, every %g s%s%s%s%s",
	    prof_table_by_name(v->rank.by), f->sorted_by ? f->sorted_by : "samples",
	    (double)s->top->delay_ns / 1e9, v->rank.idle ? ", with idle" : "",
	    filter ? ", only /" : "", filter ? filter : "", filter ? "/" : "");
}

static void put_help(struct top_screen *s, const struct top_frame *f)
{
	static const char *const lines[] = {
		"q          end (also Ctrl-C)",
		"space      pause; again to start over",
		"z          start over",
		"v, tab     by function, image, thread, subject, process (with --per-process)",
		"s          sort by the next event, or by name",
		"/          only functions that match a regular expression; Esc: all",
		"i          with the kernel's idle functions, or without",
		"+, -       longer or shorter between refreshes",
		"arrows, page up, page down, home, end",
		"",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put(s, screen_line, "%s", lines[i]);
	for (size_t i = 0; i < f->header.note_count; i++)
		put(s, screen_line, "note: %s", f->header.notes[i]);
}

static int put_table(struct top_screen *s, const struct top_frame *f, int columns)
{
	static const struct report_header none;
	char *text = NULL, *line, *end;
	size_t size, row = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	int r = table_print(f->table, &none, TABLE_TEXT, out, columns);
	if (fclose(out))
		r = -ENOMEM;
	for (line = text; !r && (end = strchr(line, '\n')); line = end + 1, row++)
		if (!row || row > s->scroll)
			screen_line(s->screen, line, (size_t)(end - line));
	free(text);
	return r;
}

static void put_last_line(struct top_screen *s)
{
	if (s->typing)
		put(s, screen_bottom_line, "/%s_%s%s", s->typed, *s->message ? "   " : "",
		    s->message);
	else if (*s->message)
		put(s, screen_bottom_line, "%s", s->message);
	else if (s->help)
		put(s, screen_bottom_line, "any key: back");
	else
		put(s, screen_bottom_line, "q end  h help  space pause  v view  s sort  / filter");
}

/* Scrolling ends where the last row is at the bottom. */
static void clamp_scroll(struct top_screen *s, const struct top_frame *f)
{
	size_t most = f->row_count > s->rows_shown ? f->row_count - s->rows_shown : 0;

	s->row_count = f->row_count;
	s->event_count = f->query->event_count;
	if (s->scroll > most)
		s->scroll = most;
}

int top_draw(struct top_screen *s)
{
	struct top_frame f;
	struct diag diag;
	int rows, columns, r;

	screen_measure(s->screen, &rows, &columns);
	s->rows_shown = rows > LINES_AROUND ? (size_t)(rows - LINES_AROUND) : 0;
	if (s->scroll > s->row_count)
		s->scroll = s->row_count;
	/* One row at least, as no limit would be all. */
	r = top_view_make(&s->top->view, s->scroll + s->rows_shown + 1, &f, &diag);
	screen_begin(s->screen);
	if (r) {
		top_show_message(s, "%s", diag.text);
		put_last_line(s);
		return screen_end(s->screen);
	}
	clamp_scroll(s, &f);
	put_summary(s, &f);
	put_choices(s, &f);
	if (s->help)
		put_help(s, &f);
	else
		r = put_table(s, &f, columns);
	if (rows > 1)
		put_last_line(s);
	top_frame_free(&f);
	return r ? r : screen_end(s->screen);
}
