/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_TOP_H
#define CULPRIT_CMD_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include "cmd/pids.h"
#include "cmd/sampling.h"
#include "report/prof/top_view.h"
#include "cmd/top_window.h"
#include "render/table.h"

/* What the two forms of `culprit top`, on a screen and in a row, have in common. */
struct top {
	struct sampling_options sampling;
	struct pids pids;
	uint64_t delay_ns, window_ns;
	uint64_t iterations; /* 0: no end */
	uint64_t limit;	     /* rows of a printed table; 0: all */
	bool batch;
	enum table_format format;

	struct session *session;
	int signals; /* signalfd */
	struct top_window window;
	struct top_view view;
};

#define TOP_DELAY_MIN_NS 200000000ull
#define TOP_DELAY_MAX_NS 3600000000000ull

bool top_is_end(int signal); /* one that is to end the program */

/* Both return at the end: 0 or a negative errno and a sentence. */
int top_run_screen(struct top *t, struct diag *diag);
int top_run_batch(struct top *t, struct diag *diag);

#endif
