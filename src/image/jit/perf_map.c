/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/jit/jit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "image/jit/jit_set.h"

#define PIECE_BYTES    65536
#define LINE_BYTES_MAX (JIT_NAME_MAX + 64)

struct map_reader {
	struct jit_set set;
	char data[LINE_BYTES_MAX + PIECE_BYTES];
	size_t kept;	  /* bytes of data that wait for the rest of their line */
	uint64_t refused; /* lines that are not of the form */
	bool skipping;	  /* in the rest of a line that was too long */
	bool full;
};

/* A hexadecimal number, with 0x or without, and the space after it. */
static bool take_hex(const char **at, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	int digits = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	for (; *at < end && digits <= 16; (*at)++, digits++) {
		char c = (char)(**at | 0x20);

		if (**at >= '0' && **at <= '9')
			value = value << 4 | (uint64_t)(**at - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || *at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		(*at)++;
	*ret = value;
	return true;
}

/* 0, -ENOSPC or -ENOMEM; a line that is not of the form is counted. */
static int map_take_line(struct map_reader *m, const char *at, const char *end)
{
	uint64_t start, size;
	int r = -EINVAL;

	if (end > at && end[-1] == '\r')
		end--;
	if (take_hex(&at, end, &start) && take_hex(&at, end, &size))
		r = jit_set_add(&m->set, start, size, at, (size_t)(end - at));
	if (r != -EINVAL)
		return r;
	m->refused++;
	return 0;
}

/* The lines that end in the size bytes of data. A last one without an end is being written. */
static int map_take_piece(struct map_reader *m, size_t size)
{
	const char *at = m->data, *end = m->data + size, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		int r = m->skipping ? 0 : map_take_line(m, at, newline);

		if (r)
			return r;
		m->skipping = false;
		at = newline + 1;
	}
	m->kept = (size_t)(end - at);
	if (m->kept > LINE_BYTES_MAX) { /* its name is cut, its other lines are not lost */
		int r = m->skipping ? 0 : map_take_line(m, at, at + LINE_BYTES_MAX);

		m->kept = 0;
		m->skipping = true;
		return r;
	}
	memmove(m->data, at, m->kept);
	return 0;
}

static int map_read(struct map_reader *m, int fd, size_t max_bytes, struct diag *diag)
{
	for (size_t offset = 0; offset < max_bytes;) {
		size_t want = max_bytes - offset < PIECE_BYTES ? max_bytes - offset : PIECE_BYTES;
		ssize_t n = pread(fd, m->data + m->kept, want, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_fail(diag, errno, "cannot read the perf map: %s",
					 strerror(errno));
		if (n == 0)
			return 0;
		offset += (size_t)n;
		int r = map_take_piece(m, m->kept + (size_t)n);
		if (r && r != -ENOSPC)
			return r;
		if (r) {
			m->full = true;
			return 0;
		}
	}
	char more;
	m->full = pread(fd, &more, 1, (off_t)max_bytes) == 1;
	return 0;
}

int image_perf_map_read(int fd, size_t max_bytes, struct image_symbols **ret, struct diag *diag)
{
	struct stat st;

	if (fstat(fd, &st))
		return diag_fail(diag, errno, "cannot stat the perf map: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_fail(diag, EBADMSG, "the perf map is not a regular file");
	struct map_reader *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	int r = jit_set_init(&m->set, max_bytes);
	if (!r)
		r = map_read(m, fd, max_bytes, diag);
	if (!r && m->refused && !m->set.count)
		r = diag_fail(diag, EBADMSG, "not a perf map: no line of it is START SIZE NAME");
	if (!r)
		r = jit_set_finish(&m->set, m->full ? "perf map (cut at the limit)" : "perf map",
				   ret);
	jit_set_free(&m->set);
	free(m);
	return r;
}
