/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_IO_H
#define CULPRIT_UTIL_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/stat.h>

/* The time by this machine's clocks. */
struct io_time {
	uint64_t wall_ns; /* since 1970, UTC; may be wrong, and may be set */
	uint64_t boot_ns; /* since boot, time asleep included; cannot be set */
	char boot_id[37]; /* identifies the boot; "" where it is not known */
};

/*
 * File I/O and the clocks behind a table of functions, so that a test can make any call fail or the
 * process die in it. Every function returns a negative errno on failure; open returns a descriptor,
 * read and write the number of bytes. io_system makes the real system calls. All file descriptors
 * are close-on-exec. Paths are relative to dirfd as in openat(2).
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
	/* The names in a directory except . and .., each with a zero byte after it, in one block
	 * that the caller frees. */
	int (*list)(void *arg, int fd, char **ret_names, size_t *ret_count);
	int (*lock)(void *arg, int fd); /* exclusive, no wait: -EWOULDBLOCK when taken */
	int (*close)(void *arg, int fd);
	void (*time)(void *arg, struct io_time *ret);
	void *arg;
};

extern const struct io io_system;

/* Writes all of the data, in several writes where one is short. */
int io_write_all(const struct io *io, int fd, const void *data, size_t size);
/* Reads exactly size bytes at offset; -EBADMSG when the file ends before that. */
int io_read_all(const struct io *io, int fd, void *data, size_t size, uint64_t offset);
/*
 * Reads up to size bytes at offset of a file that somebody else may change at the same time.
 * Returns the number of bytes, fewer than size only at the end of the file, or a negative errno.
 * These two call the system directly, not through a struct io, as no database is at stake.
 */
ssize_t io_pread(int fd, void *data, size_t size, uint64_t offset);
/* The same from the descriptor's current position, for pipes. */
ssize_t io_read(int fd, void *data, size_t size);
/*
 * Replaces the file name in dirfd such that a crash leaves either the old or the new content:
 * temporary file, fdatasync, rename, fsync of the directory. A failure before the rename leaves the
 * old content, and removes the temporary file.
 */
int io_replace_file(const struct io *io, int dirfd, const char *name, const void *data, size_t size,
		    mode_t mode);
/* The same without the fsync of the directory, for what can be made again: after a crash the old
 * content may be there, though the call had returned. */
int io_place_file(const struct io *io, int dirfd, const char *name, const void *data, size_t size,
		  mode_t mode);
/* Reads a whole file into a block that the caller frees, with a zero byte after the content.
 * ret_size may be NULL. -EFBIG past max_bytes; -EISDIR or -EINVAL for what is not a regular
 * file. */
int io_read_file(const char *path, size_t max_bytes, char **ret_data, size_t *ret_size);

#endif
