/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_TUI_H
#define CULPRIT_CMD_TUI_H

#include "cmd/report.h"
#include "isa/decode.h"
#include "render/screen.h"
#include "report/browse/browse.h"
#include "report/code/list.h"

/* The state of culprit tui, for its files: the loop, the keys, the drawing, the pane of code. */

#define TUI_TYPED_MAX 128

/* A function's source and instructions, which take the screen until they are closed. */
struct tui_line {
	char *text;  /* escaped */
	double heat; /* percent of the function's samples */
};

struct tui_pane {
	bool shown;
	char title[400];
	enum listing_form form;
	struct tui_line *lines;
	size_t count;
	size_t selected;
};

struct tui {
	struct report_options report;
	enum isa_syntax syntax;

	struct report_run *run;
	struct screen *screen;
	int signals; /* signalfd */
	struct browse browse;
	struct outline outlines[BROWSE_VIEWS];
	enum browse_view view;
	enum browse_order order[BROWSE_VIEWS];
	struct tui_pane pane;
	bool help, typing, done;
	bool draw; /* the picture is out of date */
	int error; /* -ENOMEM: it ends */
	char typed[TUI_TYPED_MAX], message[300];
	size_t rows_shown, scroll, pane_scroll;
};

/* At the bottom, until the next key. */
void tui_say(struct tui *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tui_keys.c: what a key of screen_read_key does. */
void tui_take_key(struct tui *t, int key);
/* tui_draw.c: 0 or a negative errno; -EIO: the terminal is gone. */
int tui_draw(struct tui *t);
/* tui_pane.c: shows the selected function's code, in the pane's form; says why if it cannot. */
void tui_open_pane(struct tui *t);
void tui_close_pane(struct tui *t);
/* Selects the next line with more heat than the lines around it, or the one before. */
void tui_pane_hot(struct tui *t, bool down);

#endif
