/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_LAYOUT_H
#define CULPRIT_DB_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"
#include "util/io.h"

/*
 * The names of files and directories, and what they say:
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
#define LAYOUT_NAME_MAX	     64 /* of a pack or an epoch, with the terminator */
#define LAYOUT_VERSION	     1
#define LAYOUT_VERSION_LABEL "culprit database, version "

bool layout_is_machine(const char *name);
/* This machine's: its machine-id, or without one a name made from the host's. free() it. */
char *layout_machine_name(void);
bool layout_is_epoch(const char *name);
bool layout_is_temporary(const char *name);
/* In the order of time: by the second, then by the number appended. */
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
 * links anywhere in it, and who writes to it may be root: below its own path, which may be a link,
 * writers follow none.
 */
int layout_open_dir(const struct io *io, int dirfd, const char *path);
int layout_enter_dir(const struct io *io, int dirfd, const char *name); /* -ENOTDIR: a link */
/* Makes it first where it is not, and makes that durable. dirfd AT_FDCWD: path may be a link. */
int layout_make_dir(const struct io *io, int dirfd, const char *path);

/* A file of a database, to be read: does not wait for the writer of a FIFO, follows no link. */
int layout_open_file(const struct io *io, int dirfd, const char *path);
/* What a file takes on the disk: one with holes less than its size says. 0: it is none. */
uint64_t layout_file_bytes(const struct io *io, int dirfd, const char *name);

/*
 * Takes away what somebody has put in the place of a file of ours that a rename does not replace: a
 * directory with something in it gets a name that is ignored. 0 when the name is free.
 */
int layout_make_way(const struct io *io, int dirfd, const char *name);

/*
 * Whether an error of opening something by its name says that something else stands there, or that
 * it is somebody else's: a file for a directory, a link, a socket, one without our rights. Only
 * that one is lost. Errors of the disk and of memory are not meant.
 */
bool layout_is_stray(int error);

/* A directory's names, each of them in names, which together with them is one block to free(). */
int layout_list(const struct io *io, int fd, char ***ret_names, size_t *ret_count);
/* Likewise those that are epochs, oldest first. */
int layout_list_epochs(const struct io *io, int fd, char ***ret_names, size_t *ret_count);

/*
 * The machine directory's meta file. 0; -ENOENT; -EBADMSG when it is damaged; -EPROTONOSUPPORT when
 * it is of a newer version.
 */
int layout_read_meta(const struct io *io, int machine_fd, const char *machine, struct diag *diag);
int layout_write_meta(const struct io *io, int machine_fd);

/* The sentence for a database directory that layout_open_dir refused with error. Returns error. */
int layout_fail_open(const char *path, int error, struct diag *diag);
/* Why nothing could be written (a positive errno), with what to do where that is known. Static. */
const char *layout_write_error(int error);

#endif
