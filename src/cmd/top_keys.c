/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "cmd/top_screen.h"
#include "util/clock.h"

static void change_delay(struct top_screen *s, bool longer)
{
	static const uint64_t steps_ms[] = {200,   500,	  1000,	  2000,	  5000,	  10000,
					    30000, 60000, 300000, 600000, 3600000};
	const size_t count = sizeof(steps_ms) / sizeof(steps_ms[0]);
	uint64_t now_ms = s->top->delay_ns / 1000000, to_ms = now_ms;

	for (size_t i = 0; i < count; i++) {
		if (longer && steps_ms[i] > now_ms) {
			to_ms = steps_ms[i];
			break;
		}
		if (!longer && steps_ms[i] < now_ms)
			to_ms = steps_ms[i];
	}
	s->top->delay_ns = to_ms * 1000000;
	s->due_ns = clock_monotonic_ns() + s->top->delay_ns;
}

/* What a process is called is not kept apart without --per-process. */
static void next_view(struct top_screen *s)
{
	static const enum rank_by order[] = {RANK_FUNCTION, RANK_IMAGE, RANK_THREAD, RANK_SUBJECT,
					     RANK_PROCESS};
	struct top_view *v = &s->top->view;
	size_t count = s->top->sampling.per_process ? 5 : 4, next = 0;

	for (size_t i = 0; i < count; i++)
		if (order[i] == v->rank.by)
			next = (i + 1) % count;
	v->rank.by = order[next];
	s->scroll = 0;
}

static void next_sort(struct top_screen *s)
{
	struct top_view *v = &s->top->view;

	if (!v->sort)
		v->sort_at = s->event_count ? (v->sort_at + 1) % (s->event_count + 1) : 0;
	v->sort = NULL;
}

/* A new window. What was sampled during a pause belongs to none. */
static void start_anew(struct top_screen *s)
{
	struct top *t = s->top;
	struct diag diag;
	int r = top_window_restart(&t->window, &diag);

	if (!r)
		r = top_view_load(&t->view, t->window.expression, &diag);
	if (r)
		top_show_message(s, "%s", diag.text);
	s->due_ns = clock_monotonic_ns() + t->delay_ns;
	s->scroll = 0;
}

static void pause_or_go_on(struct top_screen *s)
{
	s->paused = !s->paused;
	if (!s->paused)
		start_anew(s);
}

/* What is typed holds at once, as far as it is a regular expression. */
static void apply_filter(struct top_screen *s)
{
	char reason[200];
	regex_t regex;
	int r = regcomp(&regex, s->typed, REG_EXTENDED | REG_NOSUB);

	s->message[0] = 0;
	if (r) {
		regerror(r, &regex, reason, sizeof(reason));
		top_show_message(s, "not a regular expression: %s", reason);
		return;
	}
	regfree(&regex);
	memcpy(s->filter, s->typed, sizeof(s->filter));
	s->top->view.rank.function = *s->filter ? s->filter : NULL;
	s->scroll = 0;
}

static void type_filter(struct top_screen *s, int key)
{
	size_t size = strlen(s->typed);

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
		s->typing = false;
	if (key == SCREEN_ESCAPE) {
		s->typed[0] = 0;
	} else if (key == SCREEN_BACKSPACE) {
		/* A character, however many bytes. */
		while (size && (s->typed[--size] & 0xc0) == 0x80)
			;
		s->typed[size] = 0;
	} else if (key >= ' ' && key < 256 && size + 1 < sizeof(s->typed)) {
		s->typed[size] = (char)key;
		s->typed[size + 1] = 0;
	}
	apply_filter(s);
}

static void scroll_by(struct top_screen *s, bool down, size_t rows)
{
	if (down)
		s->scroll += rows;
	else
		s->scroll -= rows < s->scroll ? rows : s->scroll;
}

static bool take_move(struct top_screen *s, int key)
{
	size_t page = s->rows_shown > 1 ? s->rows_shown - 1 : 1;

	switch (key) {
	case SCREEN_UP:
	case SCREEN_DOWN:
		scroll_by(s, key == SCREEN_DOWN, 1);
		return true;
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		scroll_by(s, key == SCREEN_PAGE_DOWN, page);
		return true;
	case SCREEN_HOME:
		s->scroll = 0;
		return true;
	case SCREEN_END:
		s->scroll = s->row_count;
		return true;
	}
	return false;
}

static void take_command(struct top_screen *s, int key)
{
	switch (key) {
	case 'q':
		s->done = true;
		break;
	case ' ':
		pause_or_go_on(s);
		break;
	case 's':
		next_sort(s);
		break;
	case 'v':
	case '\t':
		next_view(s);
		break;
	case '/':
		s->typing = true;
		break;
	case SCREEN_ESCAPE:
		s->typed[0] = 0;
		apply_filter(s);
		break;
	case '+':
	case '-':
		change_delay(s, key == '+');
		break;
	case 'z':
		start_anew(s);
		break;
	case 'i':
		s->top->view.rank.idle = !s->top->view.rank.idle;
		break;
	case 'h':
	case '?':
		s->help = true;
		break;
	}
}

void top_take_key(struct top_screen *s, int key)
{
	s->draw = true;
	if (s->typing) {
		type_filter(s, key);
		return;
	}
	s->message[0] = 0;
	if (s->help)
		s->help = false;
	else if (!take_move(s, key))
		take_command(s, key);
}
