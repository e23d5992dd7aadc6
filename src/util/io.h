/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_IO_H
#define CULPRIT_UTIL_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/stat.h>

/* What the clocks of this machine show. */
struct io_time {
	uint64_t wall_ns; /* since 1970; may be wrong, and may be set */
	uint64_t boot_ns; /* since the machine was started, its sleep too: nobody sets it */
	char boot_id[37]; /* which start that was; "" where it cannot be known */
};

/*
 * File I/O and the clocks behind a table of functions, so that a test can make any call fail or the
 * process die at it. Every function returns a negative errno on failure. io_system is the real one.
 * All file descriptors are close-on-exec. Paths are relative to dirfd as in openat(2).
 */
struct io {
	int (*open)(void *arg, int dirfd, const char *path, int flags, mode_t mode);
	ssize_t (*read)(void *arg, int fd, void *data, size_t size, uint64_t offset);
	ssize_t (*write)(void *arg, int fd, const void *data, size_t size); /* may be short */
	int (*stat)(void *arg, int fd, struct stat *ret);
	int (*sync_data)(void *arg, int fd); /* fdatasync */
	int (*sync_dir)(void *arg, int fd);  /* fsync of a directory */
	int (*rename)(void *arg, int dirfd, const char *from, const char *to);
	int (*unlink)(void *arg, int dirfd, const char *path, int flags);
	int (*mkdir)(void *arg, int dirfd, const char *path, mode_t mode);
	/* Names of a directory except . and .., a zero byte after each, in one block to free(). */
	int (*list)(void *arg, int fd, char **ret_names, size_t *ret_count);
	int (*lock)(void *arg, int fd); /* exclusive, without waiting: -EWOULDBLOCK when taken */
	int (*close)(void *arg, int fd);
	void (*time)(void *arg, struct io_time *ret);
	void *arg;
};

extern const struct io io_system;

/* Writes all of it, however short each write is. */
int io_write_all(const struct io *io, int fd, const void *data, size_t size);
/* Reads exactly size bytes at offset, or -EBADMSG when the file ends before. */
int io_read_all(const struct io *io, int fd, void *data, size_t size, uint64_t offset);
/*
 * Up to size bytes at offset of a file that somebody else may change meanwhile: how many, fewer at
 * its end, or a negative errno. These go to the system at once: nobody's database is at stake.
 */
ssize_t io_pread(int fd, void *data, size_t size, uint64_t offset);
/* The same from where the descriptor stands, for pipes. */
ssize_t io_read(int fd, void *data, size_t size);
/*
 * Replaces dirfd/name by the data so that a crash leaves either the old or the new: temporary file,
 * fdatasync, rename, fsync of the directory. On failure the temporary file is gone.
 */
int io_replace_file(const struct io *io, int dirfd, const char *name, const void *data, size_t size,
		    mode_t mode);
/* The same without the last fsync, for what can be made again: a crash may leave the old. */
int io_place_file(const struct io *io, int dirfd, const char *name, const void *data, size_t size,
		  mode_t mode);
/* A whole small file into a malloc'ed block with a zero byte after it; -EFBIG past max_bytes. */
int io_read_file(const char *path, size_t max_bytes, char **ret_data, size_t *ret_size);

#endif
