/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/screen_keys.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "render/screen.h"

/* How long the rest of a key's sequence may take; after that an Esc is the key of that name. */
#define REST_MS 25

/* Reads more behind what is left. 0 or a negative errno. */
static int fill(struct screen_keys *k, int fd)
{
	ssize_t n;

	memmove(k->bytes, k->bytes + k->at, k->size - k->at);
	k->size -= k->at;
	k->at = 0;
	do
		n = read(fd, k->bytes + k->size, sizeof(k->bytes) - k->size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EIO;
	if (n == 0)
		return -EIO;
	k->size += (size_t)n;
	return 0;
}

static bool fill_rest(struct screen_keys *k, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (k->at < k->size)
		return true;
	return poll(&p, 1, REST_MS) > 0 && fill(k, fd) == 0;
}

/* The key of a sequence's last byte and its first number. */
static int name_key(uint8_t last, unsigned number)
{
	static const struct {
		uint8_t last;
		unsigned number;
		int key;
	} names[] = {
		{'A', 0, SCREEN_UP},	    {'B', 0, SCREEN_DOWN}, {'H', 0, SCREEN_HOME},
		{'F', 0, SCREEN_END},	    {'~', 1, SCREEN_HOME}, {'~', 7, SCREEN_HOME},
		{'~', 4, SCREEN_END},	    {'~', 8, SCREEN_END},  {'~', 5, SCREEN_PAGE_UP},
		{'~', 6, SCREEN_PAGE_DOWN},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].last == last && (last != '~' || names[i].number == number))
			return names[i].key;
	return SCREEN_OTHER;
}

/* After an Esc: ESC [ parameters letter, or ESC O letter. */
static int read_sequence(struct screen_keys *k, int fd)
{
	unsigned number = 0;
	bool first = true;
	uint8_t kind, c;

	if (!fill_rest(k, fd))
		return SCREEN_ESCAPE;
	kind = k->bytes[k->at];
	if (kind != '[' && kind != 'O')
		return SCREEN_ESCAPE;
	k->at++;
	while (fill_rest(k, fd)) {
		c = k->bytes[k->at++];
		if (c >= 0x40)
			return name_key(c, number);
		first &= c >= '0' && c <= '9';
		if (first && number < 1000)
			number = 10 * number + (c - '0');
	}
	return SCREEN_OTHER;
}

int screen_keys_read(struct screen_keys *k, int fd)
{
	uint8_t c;

	if (k->at == k->size) {
		int r = fill(k, fd);

		if (r)
			return r;
	}
	c = k->bytes[k->at++];
	if (c == SCREEN_ESCAPE)
		return read_sequence(k, fd);
	if (c == '\n')
		return SCREEN_ENTER;
	return c == '\b' ? SCREEN_BACKSPACE : c;
}
