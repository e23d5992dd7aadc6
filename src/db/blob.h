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
 * What is known about an image beside its samples, kept so that reports work when the file is gone:
 * <db>/<machine-id>/images/<image-id>.<kind>, one checksummed, zstd-compressed blob each
 * ("symbols", "code", "lines", these also as "...-claimed", and "told"). Written by atomic
 * replacement, by the collector and by reports alike; no lock. Losing one costs only a new look-up.
 */
struct db_blobs {		       /* where they are; all is borrowed */
	const char *db_path, *machine; /* machine NULL: this one; to read, any */
	const struct io *io;
};

int db_blob_write(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *data, size_t size, struct diag *diag);
/* The same for who can make it again and writes many: a crash of the machine may lose it. */
int db_blob_cache(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *data, size_t size, struct diag *diag);
/* -ENOENT, -EBADMSG (damaged), -EFBIG past max_bytes. free() the data. */
int db_blob_read(const struct db_blobs *in, const struct image_id *image, const char *kind,
		 size_t max_bytes, void **ret_data, size_t *ret_size, struct diag *diag);

/* db_blob_write of the bytes of a blob that db_blob_pack made. */
int db_blob_place(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *packed, size_t size, struct diag *diag);
/* Whether the machine (NULL: any) has one, damaged or not. */
bool db_blob_is_there(const struct db_blobs *in, const struct image_id *image, const char *kind);
/* Whether that of the machine, not NULL, is of just these bytes. */
bool db_blob_holds(const struct db_blobs *in, const struct image_id *image, const char *kind,
		   const void *packed, size_t size);

/* The bytes of a blob, for files elsewhere. -EFBIG past out's maximum, -ENOMEM. */
int db_blob_pack(const void *data, size_t size, struct buf *out);
/* Of these bytes, or from a descriptor; they fail as db_blob_read does. */
int db_blob_open(const void *packed, size_t packed_size, size_t max_bytes, void **ret_data,
		 size_t *ret_size);
int db_blob_unpack(const struct io *io, int fd, size_t max_bytes, void **ret_data,
		   size_t *ret_size);

#endif
