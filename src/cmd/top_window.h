/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_TOP_WINDOW_H
#define CULPRIT_CMD_TOP_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include "collect/session.h"
#include "util/diag.h"

/*
 * The last so many seconds of a session: its epochs are made short, a part of the window each, and
 * the window is the newest of them. So it lasts its length, or up to a part more.
 */
#define TOP_WINDOW_PARTS 8

struct top_epoch {
	char name[64];
	uint64_t start_ns; /* CLOCK_MONOTONIC */
};

struct top_window {
	struct session *session;
	uint64_t length_ns;
	struct top_epoch epochs[TOP_WINDOW_PARTS + 3]; /* oldest first */
	size_t count;
	uint64_t flushed_ns; /* samples can be read up to then */
	char expression[80]; /* for db_reader_select */
};

/* Of a session that has just been started. */
void top_window_init(struct top_window *w, struct session *s, uint64_t length_ns);
/* Makes the samples up to now readable, and forgets those that have left the window. */
int top_window_advance(struct top_window *w, struct diag *diag);
/* Forgets everything before now. */
int top_window_restart(struct top_window *w, struct diag *diag);
double top_window_seconds(const struct top_window *w);

#endif
