/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES    65536
#define LINE_BYTES_MAX 4096

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* "ffffffffc0201000 t name\t[module]" */
static bool line_parse(const char *at, const char *end, struct kallsyms_line *ret)
{
	const char *start = at;
	uint64_t address = 0;
	int digit;

	for (; at < end && (digit = hex_digit(*at)) >= 0; at++)
		address = address << 4 | (uint64_t)digit;
	if (at == start || at - start > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return false;
	*ret = (struct kallsyms_line){.address = address, .type = at[1], .name = at + 3};
	const char *tab = memchr(ret->name, '\t', (size_t)(end - ret->name));
	ret->name_size = (size_t)((tab ? tab : end) - ret->name);
	if (tab) {
		if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
			return false;
		ret->module = tab + 2;
		ret->module_size = (size_t)(end - 1 - ret->module);
	}
	return ret->name_size > 0;
}

struct feed {
	int (*f)(void *arg, const struct kallsyms_line *line);
	void *arg;
	uint64_t refused;
	bool skipping; /* in the middle of a line that is too long */
};

static int feed_line(struct feed *feed, const char *at, const char *end)
{
	struct kallsyms_line line;

	if (feed->skipping || end - at > LINE_BYTES_MAX || !line_parse(at, end, &line)) {
		feed->skipping = false;
		feed->refused++;
		return 0;
	}
	return feed->f(feed->arg, &line);
}

/* Takes the complete lines of data; *ret_rest is the size of the incomplete one at its end. */
static int feed_lines(struct feed *feed, const char *data, size_t size, size_t *ret_rest)
{
	const char *at = data, *end = data + size, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		int r = feed_line(feed, at, newline);

		if (r)
			return r;
		at = newline + 1;
	}
	*ret_rest = (size_t)(end - at);
	return 0;
}

static int feed_file(struct feed *feed, int fd, char *data)
{
	size_t kept = 0;

	for (;;) {
		ssize_t n = read(fd, data + kept, PIECE_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return kept ? feed_line(feed, data, data + kept) : 0;
		size_t size = kept + (size_t)n;
		int r = feed_lines(feed, data, size, &kept);
		if (r)
			return r;
		if (kept > LINE_BYTES_MAX) {
			feed->skipping = true;
			kept = 1; /* so that the end of the line is still seen as one */
		}
		memmove(data, data + size - kept, kept);
	}
}

int kallsyms_each(const char *path, int (*f)(void *arg, const struct kallsyms_line *line),
		  void *arg, uint64_t *ret_refused, struct diag *diag)
{
	struct feed feed = {.f = f, .arg = arg};
	char *data = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0) {
		r = diag_fail(diag, errno, "cannot open %s: %s", path, strerror(errno));
		goto out;
	}
	data = malloc(LINE_BYTES_MAX + PIECE_BYTES);
	if (!data) {
		r = -ENOMEM;
		goto out;
	}
	r = feed_file(&feed, fd, data);
	if (r < 0)
		diag_fail(diag, -r, "cannot read %s: %s", path, strerror(-r));
	else
		*ret_refused = feed.refused;
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return r;
}
