/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_LAYOUT_H
#define CULPRIT_DB_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"
#include "util/io.h"

/*
 * The names of files and directories, and their meaning:
 *
 *	DB/MACHINE/meta			version
 *	DB/MACHINE/lock			who writes
 *	DB/MACHINE/EPOCH/seg-NNNNNNNN	pack number N, one a flush, from 1, without a gap
 *	DB/MACHINE/EPOCH/base-GGGGGGGG-UPTOUPTO	generation G: stands for all segments to UPTO
 *	DB/MACHINE/EPOCH/SEALED		nothing will be added
 *	DB/MACHINE/EPOCH/damaged-NAME	a pack set aside: what could be read of it is in the base
 *	DB/MACHINE/EPOCH/strange-NAME	somebody's directory that was in the way of NAME
 *	DB/MACHINE/images/ID.KIND	see blob.h
 *	DB/MACHINE/making-EPOCH		not yet there: gets its name when it is whole
 *	DB/MACHINE/removing-EPOCH	on its way out
 *	*.tmp				not yet there
 */
#define LAYOUT_META	     "meta"
#define LAYOUT_LOCK	     "lock"
#define LAYOUT_IMAGES	     "images"
#define LAYOUT_SEALED	     "SEALED"
#define LAYOUT_DAMAGED	     "damaged-"
#define LAYOUT_STRANGE	     "strange-"
#define LAYOUT_MAKING	     "making-"
#define LAYOUT_REMOVING	     "removing-"
#define LAYOUT_NAME_MAX	     64 /* of a pack or an epoch, including the terminator */
#define LAYOUT_VERSION	     1
#define LAYOUT_VERSION_LABEL "culprit database, version "

bool layout_is_machine(const char *name);
/* This machine's name: its machine-id or, without one, a name made from the host name. The caller
 * frees it. */
char *layout_machine_name(void);
bool layout_is_epoch(const char *name);
bool layout_is_temporary(const char *name);
/* Compares names in chronological order: by the second, then by the number appended. */
int layout_compare_epochs(const char *a, const char *b);
/* "20261121T053000Z", with "-number" when number is above 1. */
void layout_epoch_name(uint64_t start_ns, unsigned number, char out[LAYOUT_NAME_MAX]);
uint64_t layout_epoch_time_ns(const char *name);

void layout_segment_name(uint32_t number, char out[LAYOUT_NAME_MAX]);
void layout_base_name(uint32_t generation, uint32_t upto, char out[LAYOUT_NAME_MAX]);
bool layout_parse_segment(const char *name, uint32_t *ret_number);
bool layout_parse_base(const char *name, uint32_t *ret_generation, uint32_t *ret_upto);

/*
 * Directories. Each returns a descriptor or a negative errno. The owner of a database may have put
 * symbolic links anywhere in it, and the writer may be root. So writers follow no link below the
 * database's own path, which may be one.
 */
int layout_open_dir(const struct io *io, int dirfd, const char *path);
int layout_enter_dir(const struct io *io, int dirfd, const char *name); /* -ENOTDIR: a link */
/* The same, but makes the directory, durably, if it is missing. With AT_FDCWD path may be a
 * link. */
int layout_make_dir(const struct io *io, int dirfd, const char *path);

/* Opens a file of a database for reading: follows no link, and does not block on a FIFO. */
int layout_open_file(const struct io *io, int dirfd, const char *path);
/* The bytes that a file takes on disk: less than its size if it has holes. 0 if it is not a regular
 * file or cannot be opened. */
uint64_t layout_file_bytes(const struct io *io, int dirfd, const char *name);

/*
 * Clears a name for a file of ours from what a rename would not replace: a directory that somebody
 * put there is removed if it is empty, else renamed to strange-NAME, which is ignored. A file is
 * removed too. 0 when the name is free.
 */
int layout_make_way(const struct io *io, int dirfd, const char *name);

/*
 * Whether an error of opening a file or directory by its name says that something else has that
 * name or that it belongs to somebody else: a file instead of a directory, a link, a socket,
 * missing rights. Only this one item is lost then. False for errors of the disk and for lack of
 * memory.
 */
bool layout_is_stray(int error);

/* The names in a directory. The array and the strings are one block that the caller frees. */
int layout_list(const struct io *io, int fd, char ***ret_names, size_t *ret_count);
/* The same for those that are epochs, oldest first. */
int layout_list_epochs(const struct io *io, int fd, char ***ret_names, size_t *ret_count);

/*
 * Reads and checks the machine directory's meta file. 0; -ENOENT; -EBADMSG when it is damaged;
 * -EPROTONOSUPPORT when it was written by a newer version.
 */
int layout_read_meta(const struct io *io, int machine_fd, const char *machine, struct diag *diag);
int layout_write_meta(const struct io *io, int machine_fd);

/* Says in diag why layout_open_dir refused a database directory with error, which it returns. */
int layout_fail_open(const char *path, int error, struct diag *diag);
/* The reason for a failure to write (a positive errno), with what to do about it where that is
 * known. The string is static. */
const char *layout_write_error(int error);

#endif
