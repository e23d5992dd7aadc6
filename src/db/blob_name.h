/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_BLOB_NAME_H
#define CULPRIT_DB_BLOB_NAME_H

#include "db/blob.h"

/* The inside of blobs, for blob.c and verify.c only. */
#define BLOB_NAME_MAX (IMAGE_ID_TEXT_MAX + 32)

/* Reads and checks a whole blob file, and adds its size to bytes. 0, -EBADMSG, or why it could not
 * be read. */
int blob_check(const struct io *io, int images_fd, const char *name, uint64_t *bytes);

#endif
