/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_SCREEN_H
#define CULPRIT_RENDER_SCREEN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include "util/diag.h"

/*
 * A whole terminal to draw on: its alternate screen, keys one by one, and everything restored when
 * it is given back. Never waits for the terminal: what it does not take at once is sent when it can
 * take more, so a slow or stopped one holds nothing up.
 *
 * Signals (Ctrl-C is one) are the caller's. Only ECMA-48 sequences that every terminal knows.
 */
struct screen;

/* True when keys can be read and a screen drawn: both ends are a terminal that is not "dumb". */
bool screen_is_possible(void);
/* Opens the controlling terminal. */
int screen_new(struct screen **ret, struct diag *diag);
/* Gives it back. s may be NULL. */
void screen_free(struct screen *s);

/*
 * Takes the terminal over, if it is not yet; the caller has SIGTTOU blocked. -EAGAIN while the
 * process is in the background, -EIO when the terminal is gone. What is written to stderr while it
 * is the terminal is held back until the screen is left.
 */
int screen_enter(struct screen *s);
/* Gives it back, for a stop (Ctrl-Z) or for good. */
void screen_leave(struct screen *s);

/* For poll: interested in keys, and in room while something is left to be sent. */
struct pollfd screen_poll(const struct screen *s);
/* True while the last picture is not sent yet: another would come too late. */
bool screen_is_busy(const struct screen *s);
/* Sends what is left. 0, or -EIO when the terminal is gone. */
int screen_send(struct screen *s);

/* Asks for the size again. At least 1 by 1. */
void screen_measure(struct screen *s, int *ret_rows, int *ret_columns);

/*
 * A picture: begin, lines from the top, perhaps one at the bottom, end. Lines are escaped text
 * (util/text.h); they are cut at the right edge, and those past the last are left out. SGR
 * sequences in them are let through, and end with the line.
 */
void screen_begin(struct screen *s);
void screen_line(struct screen *s, const char *text, size_t size);
void screen_bottom_line(struct screen *s, const char *text, size_t size);
int screen_end(struct screen *s); /* as screen_send, or -ENOMEM */

enum screen_key {
	SCREEN_ESCAPE = 27,
	SCREEN_ENTER = '\r',
	SCREEN_BACKSPACE = 127,
	SCREEN_UP = 256,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_OTHER, /* a key that has no name here */
};

/* The next key or byte of a typed text; -EAGAIN: there is none, -EIO: the terminal is gone. */
int screen_read_key(struct screen *s);

#endif
