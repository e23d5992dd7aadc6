/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
#include "util/buf.h"

#define NAME_ROOM 512

int io_write_all(const struct io *io, int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size) {
		n = io->write(io->arg, fd, at, size);
		if (n < 0)
			return (int)n;
		if (!n)
			return -EIO; /* no progress and no reason: never spin */
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int io_read_all(const struct io *io, int fd, void *data, size_t size, uint64_t offset)
{
	char *at = data;
	ssize_t n;

	while (size) {
		n = io->read(io->arg, fd, at, size, offset);
		if (n < 0)
			return (int)n;
		if (!n)
			return -EBADMSG;
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

/* offset NULL: from the descriptor's current position. */
static ssize_t read_full(int fd, void *data, size_t size, const uint64_t *offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		char *at = (char *)data + done;

		n = offset ? pread(fd, at, size - done, (off_t)(*offset + done))
			   : read(fd, at, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t io_pread(int fd, void *data, size_t size, uint64_t offset)
{
	return read_full(fd, data, size, &offset);
}

ssize_t io_read(int fd, void *data, size_t size)
{
	return read_full(fd, data, size, NULL);
}

/* Each attempt gets a name of its own, since several reports may write the same blob at once. */
static int open_temporary(const struct io *io, int dirfd, const char *name, mode_t mode,
			  char out[NAME_ROOM])
{
	uint64_t random;
	int n;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	n = snprintf(out, NAME_ROOM, "%s.%016" PRIx64 ".tmp", name, random);
	if (n < 0 || n >= NAME_ROOM)
		return -ENAMETOOLONG;
	return io->open(io->arg, dirfd, out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int io_place_file(const struct io *io, int dirfd, const char *name, const void *data, size_t size,
		  mode_t mode)
{
	char temporary[NAME_ROOM];
	int fd, r, closed;

	fd = open_temporary(io, dirfd, name, mode, temporary);
	if (fd < 0)
		return fd;
	r = io_write_all(io, fd, data, size);
	if (!r)
		r = io->sync_data(io->arg, fd);
	closed = io->close(io->arg, fd);
	if (!r)
		r = closed;
	if (!r)
		r = io->rename(io->arg, dirfd, temporary, name);
	if (r)
		io->unlink(io->arg, dirfd, temporary, 0);
	return r;
}

int io_replace_file(const struct io *io, int dirfd, const char *name, const void *data, size_t size,
		    mode_t mode)
{
	int r = io_place_file(io, dirfd, name, data, size, mode);

	return r ? r : io->sync_dir(io->arg, dirfd);
}

/* Reads until the end of the file: stat(2) gives 0 as the size of files in /proc. */
static int read_to_end(int fd, size_t max_bytes, struct buf *b)
{
	size_t want;
	ssize_t n;
	char *to;

	buf_init(b, max_bytes < SIZE_MAX ? max_bytes + 1 : SIZE_MAX);
	for (;;) {
		want = b->room - b->size > 1 ? b->room - b->size : 4096;
		if (want > b->max - b->size)
			want = b->max - b->size;
		if (!want)
			return -EFBIG;
		to = buf_reserve(b, want);
		if (!to)
			return b->error;
		n = io_system.read(NULL, fd, to, want, b->size);
		if (n <= 0)
			return (int)n;
		b->size += (size_t)n;
	}
}

int io_read_file(const char *path, size_t max_bytes, char **ret_data, size_t *ret_size)
{
	struct buf b = {0};
	struct stat st;
	int fd, r;

	/* Without waiting: the path may be a FIFO that nobody writes. */
	fd = io_system.open(NULL, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	r = io_system.stat(NULL, fd, &st);
	if (!r && !S_ISREG(st.st_mode))
		r = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (!r)
		r = read_to_end(fd, max_bytes, &b);
	if (!r && b.size > max_bytes)
		r = -EFBIG;
	if (!r) {
		b.max = SIZE_MAX;
		r = buf_append_u8(&b, 0);
	}
	if (!r) {
		*ret_data = (char *)b.data;
		if (ret_size)
			*ret_size = b.size - 1;
	} else {
		buf_free(&b);
	}
	close(fd);
	return r;
}
