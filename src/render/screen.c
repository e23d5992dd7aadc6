/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "render/screen_keys.h"
#include "util/buf.h"
#include "util/text.h"

#define PICTURE_MAX_BYTES ((size_t)8 << 20)
#define HELD_MAX_BYTES	  65536 /* of what went to stderr meanwhile */
#define LAST_WORD_MS	  200

/* Alternate screen, no cursor, no wrapping at the edge; and back. CAN ends a sequence cut short. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\030\033[0m\033[?7h\033[?25h\033[?1049l"

struct screen {
	int fd; /* an open file of its own, so that O_NONBLOCK is not the shell's too */
	struct termios before;
	bool entered, opening;	/* opening: ENTER is still to be sent */
	int held_fd, stderr_fd; /* -1: stderr goes elsewhere anyway */
	int rows, columns, row;
	struct buf picture;
	size_t sent;
	struct screen_keys keys;
};

bool screen_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* A message in the middle of a picture would be gone with the next one. */
static void hold_stderr(struct screen *s)
{
	s->held_fd = s->stderr_fd = -1;
	if (!isatty(STDERR_FILENO))
		return;
	s->held_fd = memfd_create("culprit-stderr", MFD_CLOEXEC);
	s->stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->held_fd >= 0 && s->stderr_fd >= 0)
		dup2(s->held_fd, STDERR_FILENO);
}

static void release_stderr(struct screen *s)
{
	char held[HELD_MAX_BYTES];
	ssize_t size = -1;

	if (s->held_fd >= 0 && s->stderr_fd >= 0) {
		dup2(s->stderr_fd, STDERR_FILENO);
		size = pread(s->held_fd, held, sizeof(held), 0);
	}
	if (size > 0 && write(STDERR_FILENO, held, (size_t)size) < 0)
		size = -1; /* nowhere left to say so */
	if (s->held_fd >= 0)
		close(s->held_fd);
	if (s->stderr_fd >= 0)
		close(s->stderr_fd);
	s->held_fd = s->stderr_fd = -1;
}

int screen_new(struct screen **ret, struct diag *diag)
{
	struct screen *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	buf_init(&s->picture, PICTURE_MAX_BYTES);
	s->held_fd = s->stderr_fd = -1;
	s->rows = s->columns = 1;
	s->fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (s->fd < 0)
		r = diag_fail(diag, errno, "cannot open the terminal: %s", strerror(errno));
	if (r) {
		screen_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void screen_free(struct screen *s)
{
	if (!s)
		return;
	screen_leave(s);
	if (s->fd >= 0)
		close(s->fd);
	buf_free(&s->picture);
	free(s);
}

/* Ctrl-C and Ctrl-Z stay signals; Ctrl-S and Ctrl-Q, which would stop the screen, do not. */
int screen_enter(struct screen *s)
{
	struct termios raw;

	if (s->entered)
		return 0;
	if (tcgetpgrp(s->fd) != getpgrp())
		return -EAGAIN;
	if (tcgetattr(s->fd, &s->before))
		return -EIO;
	raw = s->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(s->fd, TCSANOW, &raw))
		return -EIO;
	hold_stderr(s);
	s->entered = true;
	buf_clear(&s->picture);
	s->sent = 0;
	/* Sent with the first picture. */
	s->opening = true;
	return 0;
}

void screen_leave(struct screen *s)
{
	struct pollfd room = {.fd = s->fd, .events = POLLOUT};

	if (!s->entered)
		return;
	s->entered = false;
	buf_clear(&s->picture);
	s->sent = 0;
	if (!s->opening)
		buf_append(&s->picture, LEAVE, strlen(LEAVE));
	/* A terminal that takes nothing any more is left as it is. */
	while (screen_send(s) == 0 && screen_is_busy(s) && poll(&room, 1, LAST_WORD_MS) > 0)
		;
	tcsetattr(s->fd, TCSANOW, &s->before);
	release_stderr(s);
}

struct pollfd screen_poll(const struct screen *s)
{
	return (struct pollfd){.fd = s->entered ? s->fd : -1,
			       .events = (short)(POLLIN | (screen_is_busy(s) ? POLLOUT : 0))};
}

bool screen_is_busy(const struct screen *s)
{
	return s->sent < s->picture.size;
}

int screen_send(struct screen *s)
{
	while (screen_is_busy(s)) {
		ssize_t n = write(s->fd, s->picture.data + s->sent, s->picture.size - s->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -EIO;
		s->sent += (size_t)n;
	}
	return 0;
}

void screen_measure(struct screen *s, int *ret_rows, int *ret_columns)
{
	struct winsize size = {0};

	if (ioctl(s->fd, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	*ret_rows = s->rows = size.ws_row;
	*ret_columns = s->columns = size.ws_col;
}

void screen_begin(struct screen *s)
{
	buf_clear(&s->picture);
	s->sent = 0;
	s->row = 0;
	if (s->opening)
		buf_append(&s->picture, ENTER, strlen(ENTER));
	s->opening = false;
}

/* How many bytes the character or sequence at text has, and its columns. */
static size_t measure_character(const char *text, size_t size, size_t *ret_width)
{
	char one[5] = {0};
	size_t n = 1;

	*ret_width = 0;
	if (*text == '\033') {
		while (n < size && (n < 2 || (unsigned char)text[n] < 0x40))
			n++;
		return n < size ? n + 1 : size;
	}
	while (n < size && n < 4 && (text[n] & 0xc0) == 0x80)
		n++;
	memcpy(one, text, n);
	*ret_width = text_width(one);
	return n;
}

static void put_cut(struct screen *s, const char *text, size_t size)
{
	size_t width, columns = 0, n;

	for (size_t i = 0; i < size; i += n) {
		n = measure_character(text + i, size - i, &width);
		columns += width;
		if (columns <= (size_t)s->columns)
			buf_append(&s->picture, text + i, n);
	}
	/* Erasing after the last column would take the character there away. */
	buf_printf(&s->picture, "\033[0m%s", columns < (size_t)s->columns ? "\033[K" : "");
}

void screen_line(struct screen *s, const char *text, size_t size)
{
	if (s->row >= s->rows)
		return;
	buf_printf(&s->picture, "\033[%d;1H", ++s->row);
	put_cut(s, text, size);
}

void screen_bottom_line(struct screen *s, const char *text, size_t size)
{
	while (s->row < s->rows - 1)
		screen_line(s, "", 0);
	s->row = s->rows - 1;
	screen_line(s, text, size);
}

int screen_end(struct screen *s)
{
	if (s->row < s->rows)
		buf_printf(&s->picture, "\033[%d;1H\033[J", s->row + 1);
	if (s->picture.error) {
		int r = s->picture.error;

		buf_clear(&s->picture);
		return r;
	}
	return screen_send(s);
}

int screen_read_key(struct screen *s)
{
	return screen_keys_read(&s->keys, s->fd);
}
