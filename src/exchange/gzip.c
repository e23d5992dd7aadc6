/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/gzip.h"

#include <errno.h>
#include <zlib.h>

#define WINDOW_GZIP (15 + 16) /* the largest, with gzip's header */
#define PIECE_BYTES ((size_t)1 << 30)

int gzip_write(const uint8_t *data, size_t size, struct buf *out)
{
	z_stream z = {0};
	uint8_t piece[65536];
	int status;

	if (deflateInit2(&z, 6, Z_DEFLATED, WINDOW_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		out->error = -ENOMEM;
		return -ENOMEM;
	}
	do {
		if (!z.avail_in && size) {
			z.next_in = (uint8_t *)data;
			z.avail_in = (uInt)(size < PIECE_BYTES ? size : PIECE_BYTES);
			data += z.avail_in;
			size -= z.avail_in;
		}
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		status = deflate(&z, size ? Z_NO_FLUSH : Z_FINISH);
		buf_append(out, piece, sizeof(piece) - z.avail_out);
	} while (status != Z_STREAM_END && !out->error);
	deflateEnd(&z);
	return out->error;
}

/* All that is in one go of input; -EAGAIN: a member has ended. */
static int inflate_some(z_stream *z, struct buf *out)
{
	uint8_t piece[65536];
	int status;

	z->next_out = piece;
	z->avail_out = sizeof(piece);
	status = inflate(z, Z_NO_FLUSH);
	buf_append(out, piece, sizeof(piece) - z->avail_out);
	if (out->error)
		return out->error;
	if (status == Z_STREAM_END)
		return -EAGAIN;
	return status == Z_OK ? 0 : status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int gzip_read(const uint8_t *data, size_t size, struct buf *out)
{
	z_stream z = {0};
	int r = 0;

	if (size > UINT32_MAX)
		return -EFBIG;
	if (inflateInit2(&z, WINDOW_GZIP) != Z_OK)
		return -ENOMEM;
	z.next_in = (uint8_t *)data;
	z.avail_in = (uInt)size;
	do {
		r = inflate_some(&z, out);
		if (r == -EAGAIN && z.avail_in)
			r = inflateReset(&z) == Z_OK ? 0 : -ENOMEM;
	} while (!r);
	inflateEnd(&z);
	return r == -EAGAIN ? 0 : r;
}

size_t gzip_peek(const uint8_t *data, size_t size, uint8_t *out, size_t room)
{
	z_stream z = {0};

	if (inflateInit2(&z, WINDOW_GZIP) != Z_OK)
		return 0;
	z.next_in = (uint8_t *)data;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = (uInt)room;
	inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return room - z.avail_out;
}
