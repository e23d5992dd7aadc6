/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/top_screen.h"
#include "cmd/signals.h"
#include "util/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_PICTURES 4
#define FIRST_NS	 500000000ull /* the first picture comes sooner than the others */

void top_show_message(struct top_screen *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->message, sizeof(s->message), format, args);
	va_end(args);
	s->message_left = MESSAGE_PICTURES;
}

/* Takes what was sampled up to now. A failure (no room in /dev/shm) is shown, and may pass. */
static void load(struct top_screen *s)
{
	struct top *t = s->top;
	struct diag diag;
	int r = top_window_advance(&t->window, &diag);

	if (!r)
		r = top_view_load(&t->view, t->window.expression, &diag);
	if (r)
		top_show_message(s, "%s", diag.text);
	else if (t->pids.count && !pids_any_alive(&t->pids))
		top_show_message(s, "the processes have ended");
	else if (!s->typing && s->message_left && !--s->message_left)
		s->message[0] = 0;
	s->due_ns = clock_monotonic_ns() + t->delay_ns;
	s->pictures++;
	s->draw = true;
	if (t->iterations && s->pictures > t->iterations)
		s->done = true;
}

static void take_signals(struct top_screen *s)
{
	int signal;

	while ((signal = signals_next(s->top->signals))) {
		if (top_is_end(signal)) {
			s->done = true;
		} else if (signal == SIGTSTP) {
			screen_leave(s->screen);
			raise(SIGSTOP);
		} else if (signal == SIGCONT) {
			/* The shell may have changed the terminal meanwhile. */
			screen_leave(s->screen);
		}
		s->draw = true;
	}
}

static void take_keys(struct top_screen *s)
{
	int key;

	while (!s->done && (key = screen_read_key(s->screen)) != -EAGAIN) {
		if (key < 0)
			s->done = true;
		else
			top_take_key(s, key);
	}
}

static int ms_to_wait(const struct top_screen *s)
{
	uint64_t now = clock_monotonic_ns();

	if (s->paused)
		return -1;
	return s->due_ns <= now ? 0 : (int)((s->due_ns - now + 999999) / 1000000);
}

/* In the background nothing is drawn, but sampling goes on. */
static void show(struct top_screen *s)
{
	int r = screen_enter(s->screen);

	if (!r && screen_is_busy(s->screen))
		return;
	if (!r) {
		s->draw = false;
		r = top_draw(s);
	}
	if (r == -EIO)
		s->done = true;
}

static int step(struct top_screen *s, struct diag *diag)
{
	struct pollfd fds[2] = {{.fd = s->top->signals, .events = POLLIN}, screen_poll(s->screen)};
	int ready = session_wait(s->top->session, fds, 2, ms_to_wait(s));

	if (ready < 0 && ready != -EINTR)
		return diag_fail(diag, -ready, "cannot wait: %s", strerror(-ready));
	if (ready > 0 && fds[0].revents)
		take_signals(s);
	if (ready > 0 && fds[1].revents & POLLOUT && screen_send(s->screen))
		s->done = true;
	if (ready > 0 && fds[1].revents & ~POLLOUT)
		take_keys(s);
	if (!s->done && !s->paused && clock_monotonic_ns() >= s->due_ns)
		load(s);
	if (!s->done && s->draw)
		show(s);
	return 0;
}

int top_run_screen(struct top *t, struct diag *diag)
{
	struct top_screen s = {.top = t, .draw = true};
	int r = screen_new(&s.screen, diag);

	if (r)
		return r;
	s.due_ns = clock_monotonic_ns() + (t->delay_ns < FIRST_NS ? t->delay_ns : FIRST_NS);
	if (t->sampling.why && *t->sampling.why)
		top_show_message(&s, "%s: %s", t->sampling.events[0].name, t->sampling.why);
	show(&s);
	while (!s.done && !r)
		r = step(&s, diag);
	screen_free(s.screen);
	return r;
}
