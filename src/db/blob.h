/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_BLOB_H
#define CULPRIT_DB_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"
#include "util/identity.h"
#include "util/io.h"

/*
 * What is known of an image beside its samples, kept so that reports work when its file is gone:
 * <db>/<machine-id>/images/<image-id>.<kind>, each a checksummed, zstd-compressed blob. Kinds are
 * "symbols", "code" and "lines", these also as "...-claimed", and "told". Blobs are written by
 * atomic replacement and without a lock, by the collector and by reports alike. A lost blob costs a
 * new look-up where its source still exists.
 */
struct db_blobs {		       /* where blobs are; all pointers are borrowed */
	const char *db_path, *machine; /* machine NULL: this one; for reading, any */
	const struct io *io;
};

int db_blob_write(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *data, size_t size, struct diag *diag);
/* The same without a sync of the directory, for blobs that are many and can be made again: a crash
 * of the machine may lose one. */
int db_blob_cache(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *data, size_t size, struct diag *diag);
/* Reads a blob; the caller frees the data. -ENOENT, -EBADMSG (damaged), -EFBIG past max_bytes. */
int db_blob_read(const struct db_blobs *in, const struct image_id *image, const char *kind,
		 size_t max_bytes, void **ret_data, size_t *ret_size, struct diag *diag);

/* As db_blob_write, for bytes that db_blob_pack made. */
int db_blob_place(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *packed, size_t size, struct diag *diag);
/* Whether the machine (NULL: any) has such a blob, damaged or not. */
bool db_blob_is_there(const struct db_blobs *in, const struct image_id *image, const char *kind);
/* Whether the machine's blob consists of exactly these bytes. The machine must not be NULL. */
bool db_blob_holds(const struct db_blobs *in, const struct image_id *image, const char *kind,
		   const void *packed, size_t size);

/* Makes the bytes of a blob, for a file elsewhere. 0, -EFBIG past out's maximum, or -ENOMEM. */
int db_blob_pack(const void *data, size_t size, struct buf *out);
/* The content of such bytes, or of a file of them; the caller frees it. They fail as db_blob_read
 * does. */
int db_blob_open(const void *packed, size_t packed_size, size_t max_bytes, void **ret_data,
		 size_t *ret_size);
int db_blob_unpack(const struct io *io, int fd, size_t max_bytes, void **ret_data,
		   size_t *ret_size);

#endif
