/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_GZIP_H
#define CULPRIT_EXCHANGE_GZIP_H

#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"

/* Appends the data as a gzip file (RFC 1952). 0, or the buffer's error. */
int gzip_write(const uint8_t *data, size_t size, struct buf *out);
/* Appends what a gzip file holds, also one of several members. -EBADMSG: damaged, or cut off; or
 * the buffer's error. */
int gzip_read(const uint8_t *data, size_t size, struct buf *out);
/* The beginning of what a gzip file holds, from its first bytes: how many bytes went to out. */
size_t gzip_peek(const uint8_t *data, size_t size, uint8_t *out, size_t room);

#endif
