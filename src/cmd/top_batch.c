/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/report.h"
#include "cmd/top.h"
#include "cmd/signals.h"
#include "util/clock.h"

/* The tables of culprit top in a row, for scripts. */

/* Samples for one delay. 1 when the end has come. */
static int wait_delay(struct top *t, struct diag *diag)
{
	uint64_t now, due = clock_monotonic_ns() + t->delay_ns;
	int ready, signal;

	while ((now = clock_monotonic_ns()) < due) {
		struct pollfd fd = {.fd = t->signals, .events = POLLIN};

		ready = session_wait(t->session, &fd, 1, (int)((due - now + 999999) / 1000000));
		if (ready < 0 && ready != -EINTR)
			return diag_fail(diag, -ready, "cannot wait: %s", strerror(-ready));
		while ((signal = signals_next(t->signals)))
			if (top_is_end(signal))
				return 1;
	}
	return 0;
}

/* One object a line: line ends are nowhere but between its parts. */
static int print_json(const struct top_frame *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	int r = table_print(f->table, &f->header, TABLE_JSON, out, 0);
	if (fclose(out))
		r = -ENOMEM;
	for (size_t i = 0; !r && i + 1 < size; i++)
		text[i] = text[i] == '\n' ? ' ' : text[i];
	if (!r)
		fwrite(text, 1, size, stdout);
	free(text);
	return r;
}

static int print_frame(struct top *t, struct diag *diag)
{
	struct top_frame f;
	int r = top_view_make(&t->view, (size_t)t->limit, &f, diag);

	if (r)
		return r;
	if (t->format == TABLE_JSON) {
		r = print_json(&f);
		if (r)
			diag_fail(diag, -r, "out of memory");
	} else {
		/* What is wrong with stdout is seen when it is flushed. */
		report_print(f.table, &f.header, t->format);
		if (t->format == TABLE_TEXT || t->iterations != 1)
			putchar('\n');
	}
	top_frame_free(&f);
	return r;
}

int top_run_batch(struct top *t, struct diag *diag)
{
	bool last = false;
	int r;

	for (uint64_t i = 0; !last && (!t->iterations || i < t->iterations); i++) {
		r = wait_delay(t, diag);
		if (r)
			return r > 0 ? 0 : r;
		last = t->pids.count && !pids_any_alive(&t->pids);
		r = top_window_advance(&t->window, diag);
		if (!r)
			r = top_view_load(&t->view, t->window.expression, diag);
		if (!r)
			r = print_frame(t, diag);
		if (r)
			return r;
		if (cmd_write("", 0) != CMD_OK || ferror(stdout))
			return 0;
	}
	return 0;
}
