/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_TOP_SCREEN_H
#define CULPRIT_CMD_TOP_SCREEN_H

#include "cmd/top.h"
#include "render/screen.h"

/* The state of culprit top on a screen, for its files: the loop, the keys and the drawing. */

#define TOP_FILTER_MAX 128

struct top_screen {
	struct top *top;
	struct screen *screen;
	bool paused, help, typing;
	bool done; /* the end was asked for, or the terminal is gone */
	bool draw; /* the picture is out of date */
	char typed[TOP_FILTER_MAX], filter[TOP_FILTER_MAX]; /* as typed; the last valid one */
	char message[1100];				    /* "" for none */
	unsigned message_left;				    /* pictures until it goes */
	uint64_t due_ns, pictures;
	size_t scroll, rows_shown, row_count, event_count;
};

/* At the bottom, for some pictures or until the next key. */
void top_show_message(struct top_screen *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* top_keys.c: what a key of screen_read_key does. */
void top_take_key(struct top_screen *s, int key);

/* top_draw.c: 0 or a negative errno; -EIO: the terminal is gone. */
int top_draw(struct top_screen *s);

#endif
