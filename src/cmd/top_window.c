/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/top_window.h"

#include <stdio.h>
#include <string.h>

#include "util/clock.h"

/* Epochs are named by the second, with -2, -3 ... -9 after it for more, and should sort by name. */
#define EPOCH_MIN_NS 125000000u
#define EPOCHS_MAX   (sizeof(((struct top_window *)0)->epochs) / sizeof(struct top_epoch))

static void drop_first(struct top_window *w, size_t n)
{
	w->count -= n;
	memmove(w->epochs, w->epochs + n, w->count * sizeof(*w->epochs));
}

/* The session has a new epoch. */
static void add_epoch(struct top_window *w, uint64_t now)
{
	struct session_status status;
	struct top_epoch *e;

	if (w->count == EPOCHS_MAX)
		drop_first(w, 1);
	session_read_status(w->session, &status);
	e = &w->epochs[w->count++];
	snprintf(e->name, sizeof(e->name), "%s", status.epoch);
	e->start_ns = now;
}

static void set_expression(struct top_window *w)
{
	snprintf(w->expression, sizeof(w->expression), "%.63s..", w->epochs[0].name);
}

void top_window_init(struct top_window *w, struct session *s, uint64_t length_ns)
{
	*w = (struct top_window){.session = s, .length_ns = length_ns};
	w->flushed_ns = clock_monotonic_ns();
	add_epoch(w, w->flushed_ns);
	set_expression(w);
}

/* Flushes, and begins the next epoch when this one is as long as it should be. */
static int flush(struct top_window *w, uint64_t epoch_ns, struct diag *diag)
{
	uint64_t now = clock_monotonic_ns();
	int r;

	if (now - w->epochs[w->count - 1].start_ns < epoch_ns) {
		r = session_flush(w->session, diag);
	} else {
		r = session_begin_epoch(w->session, diag);
		if (!r)
			add_epoch(w, now);
	}
	if (!r)
		w->flushed_ns = now;
	return r;
}

int top_window_advance(struct top_window *w, struct diag *diag)
{
	size_t gone = 0;
	int r = flush(w, w->length_ns / TOP_WINDOW_PARTS, diag);

	if (r)
		return r;
	while (gone + 1 < w->count && w->flushed_ns - w->epochs[gone + 1].start_ns >= w->length_ns)
		gone++;
	drop_first(w, gone);
	set_expression(w);
	return session_tidy(w->session, w->length_ns, 0, diag);
}

int top_window_restart(struct top_window *w, struct diag *diag)
{
	int r = flush(w, EPOCH_MIN_NS, diag);

	if (r)
		return r;
	drop_first(w, w->count - 1);
	set_expression(w);
	return 0;
}

double top_window_seconds(const struct top_window *w)
{
	return (double)(w->flushed_ns - w->epochs[0].start_ns) / 1e9;
}
