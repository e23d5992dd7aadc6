/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/prof_table.h"
#include "cmd/top_screen.h"
#include "util/text.h"

#define LINE_MAX_BYTES 2048
#define LINES_AROUND   4 /* two above the headings, the headings, one at the bottom */

/* One line, whose parts are escaped if they are names from outside. */
static void put_line(struct top_screen *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void escape_line(char out[LINE_MAX_BYTES], const char *format, va_list args)
{
	char raw[LINE_MAX_BYTES];

	vsnprintf(raw, sizeof(raw), format, args);
	text_escape_controls(out, LINE_MAX_BYTES, raw, strlen(raw));
}

static void put_line(struct top_screen *s, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	escape_line(line, format, args);
	va_end(args);
	screen_line(s->screen, line, strlen(line));
}

static void put_bottom(struct top_screen *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put_bottom(struct top_screen *s, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	escape_line(line, format, args);
	va_end(args);
	screen_bottom_line(s->screen, line, strlen(line));
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
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
	put_line(s, "%s%.0f samples/s in %.3g s, lost %llu, unknown %.2f%%, idle %.1f%%: %s",
		 s->paused ? "PAUSED  " : "", seconds > 0 ? (double)h->samples / seconds : 0,
		 seconds, (unsigned long long)h->lost, share(h->unknown, h->samples),
		 share(h->idle, f->taken), events);
}

static void put_choices(struct top_screen *s, const struct top_frame *f)
{
	const struct top_view *v = &s->top->view;
	const char *filter = v->rank.function;

	put_line(s, "by %s, sorted by %s, every %g s%s%s%s%s", prof_table_by_name(v->rank.by),
		 f->sorted_by ? f->sorted_by : "samples", (double)s->top->delay_ns / 1e9,
		 v->rank.idle ? ", with idle" : "", filter ? ", only /" : "", filter ? filter : "",
		 filter ? "/" : "");
}

static void put_help(struct top_screen *s, const struct top_frame *f)
{
	static const char *const lines[] = {
		"q          end (also Ctrl-C)",
		"space      pause: look at what is there; again to start anew",
		"z          start anew",
		"v, tab     by function, image, thread, subject, process (with --per-process)",
		"s          sort by the next event, or by name",
		"/          only functions that match a regular expression; Esc: all",
		"i          with the kernel's idle functions, or without",
		"+, -       longer or shorter between two pictures",
		"arrows, page up, page down, home, end",
		"",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put_line(s, "%s", lines[i]);
	for (size_t i = 0; i < f->header.note_count; i++)
		put_line(s, "note: %s", f->header.notes[i]);
}

static int put_table(struct top_screen *s, const struct top_frame *f, int columns)
{
	static const struct report_header none;
	char *text = NULL, *line, *end;
	size_t size, row = 0;
	FILE *out = open_memstream(&text, &size);
	int r;

	if (!out)
		return -ENOMEM;
	r = table_print(f->table, &none, TABLE_TEXT, out, columns);
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
		put_bottom(s, "/%s_%s%s", s->typed, *s->message ? "   " : "", s->message);
	else if (*s->message)
		put_bottom(s, "%s", s->message);
	else if (s->help)
		put_bottom(s, "any key: back");
	else
		put_bottom(s, "q end  h help  space pause  v view  s sort  / filter");
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
