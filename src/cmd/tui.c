/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/tui.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/signals.h"

/* culprit tui: the trees of a profile and its code on a screen, to walk through with keys. */

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	REPORT_EPOCH_OPTION("last (default), all, NAME or its beginning, FROM..TO"),
	{"event", 0, "GLOB", "events by name", CMD_AT(TEXT, report_options, selection.event)},
	{"subject", REPORT_SUBJECT, "KEY=GLOB", SUBJECT_KEYS "; may be repeated"},
	REPORT_MACHINE_OPTION,
	{NULL},
};

const struct cmd_spec cmd_tui_spec = {
	"tui",
	"",
	"Shows a profile on a screen: who called what, who called it, functions by image; and of "
	"a\n"
	"function its source and instructions. h tells the keys.",
	options,
	false,
};

void tui_say(struct tui *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->message, sizeof(t->message), format, args);
	va_end(args);
}

static void take_signals(struct tui *t)
{
	int signal;

	while ((signal = signals_next(t->signals))) {
		if (signal == SIGTSTP) {
			screen_leave(t->screen);
			raise(SIGSTOP);
		} else if (signal == SIGCONT) {
			/* The shell may have changed the terminal meanwhile. */
			screen_leave(t->screen);
		} else if (signal != SIGWINCH && signal != SIGTTOU) {
			t->done = true;
		}
		t->draw = true;
	}
}

static void take_keys(struct tui *t)
{
	int key;

	while (!t->done && (key = screen_read_key(t->screen)) != -EAGAIN) {
		if (key < 0)
			t->done = true;
		else
			tui_take_key(t, key);
	}
}

static void show(struct tui *t)
{
	int r = screen_enter(t->screen);

	if (!r && screen_is_busy(t->screen))
		return;
	if (!r) {
		t->draw = false;
		r = tui_draw(t);
	}
	if (r == -EIO)
		t->done = true;
	else if (r && r != -EAGAIN)
		t->error = r;
}

/* Nothing changes by itself: without a key, it sleeps. In the background it is not drawn. */
static void step(struct tui *t)
{
	struct pollfd fds[2] = {{.fd = t->signals, .events = POLLIN}, screen_poll(t->screen)};

	if (poll(fds, 2, -1) < 0 && errno != EINTR) {
		t->error = -errno;
		return;
	}
	if (fds[0].revents)
		take_signals(t);
	if (fds[1].revents & POLLOUT && screen_send(t->screen))
		t->done = true;
	if (fds[1].revents & ~POLLOUT)
		take_keys(t);
	if (!t->done && t->draw)
		show(t);
}

static int prepare(struct tui *t, struct diag *diag)
{
	static const int signals[] = {SIGINT,  SIGTERM,	 SIGHUP,  SIGQUIT, SIGTSTP,
				      SIGCONT, SIGWINCH, SIGTTOU, 0};
	int r = browse_make(&t->run->session, &t->browse, &t->run->header, diag);

	for (int v = 0; v < BROWSE_VIEWS && !r; v++) {
		const struct browse_tree *tree = &t->browse.trees[v];

		r = outline_init(&t->outlines[v], tree->nodes, tree->children, tree->count);
		if (r)
			diag_fail(diag, ENOMEM, "out of memory");
		t->order[v] = v == BROWSE_DOWN ? BROWSE_BY_TOTAL : BROWSE_BY_SELF;
	}
	if (r)
		return r;
	t->view = t->browse.has_stacks ? BROWSE_DOWN : BROWSE_FLAT;
	progress_clear();
	/* No report tells of progress any more: it would be drawn over. */
	t->run->session.progress = NULL;
	t->signals = signals_take(signals, diag);
	return t->signals < 0 ? t->signals : screen_new(&t->screen, diag);
}

static int run(void *arg, struct report_run *run)
{
	struct tui *t = arg;
	int r;

	t->run = run;
	if (!screen_is_possible())
		return diag_fail(&run->diag, ENOTTY,
				 "this needs a terminal; culprit calls and "
				 "culprit prof print the same");
	r = prepare(t, &run->diag);
	if (!r) {
		show(t);
		while (!t->done && !t->error)
			step(t);
		if (t->error)
			r = diag_fail(&run->diag, -t->error, "%s", strerror(-t->error));
	}
	screen_free(t->screen);
	if (t->signals >= 0)
		close(t->signals);
	tui_close_pane(t);
	for (int v = 0; v < BROWSE_VIEWS; v++)
		outline_free(&t->outlines[v]);
	browse_free(&t->browse);
	return r;
}

int cmd_tui(int argc, char **argv)
{
	struct tui t = {.signals = -1};

	return report_run(&cmd_tui_spec, argc, argv, report_take_option, run, &t, NULL);
}
