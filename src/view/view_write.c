/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "exchange/gzip.h"
#include "view/view_page.h"
#include "view/view_state.h"

/* The page: its data is JSON, compressed by gzip, in base64 (RFC 4648, section 4). */

#define LINE_BYTES 57 /* of data a line: 76 characters */

static void put_base64(const struct buf *data, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[LINE_BYTES / 3 * 4 + 1];
	size_t used = 0;

	for (size_t i = 0; i < data->size; i += 3) {
		const size_t left = data->size - i;
		const uint32_t three = (uint32_t)data->data[i] << 16 |
				       (uint32_t)(left > 1 ? data->data[i + 1] : 0) << 8 |
				       (left > 2 ? data->data[i + 2] : 0);

		line[used++] = digits[three >> 18];
		line[used++] = digits[three >> 12 & 63];
		line[used++] = left > 1 ? digits[three >> 6 & 63] : '=';
		line[used++] = left > 2 ? digits[three & 63] : '=';
		if (used == sizeof(line) - 1 || left <= 3) {
			line[used++] = '\n';
			buf_append(out, line, used);
			used = 0;
		}
	}
}

int view_page(const struct view *v, const struct report_header *h, struct buf *out)
{
	struct buf json, packed;
	int r;

	buf_init(&json, VIEW_JSON_MAX);
	buf_init(&packed, VIEW_JSON_MAX);
	r = view_json(v, h, &json);
	if (!r)
		r = gzip_write(json.data, json.size, &packed);
	buf_free(&json);
	if (!r) {
		buf_append(out, view_page_head, view_page_head_size);
		put_base64(&packed, out);
		buf_append(out, view_page_tail, view_page_tail_size);
	}
	buf_free(&packed);
	return r ? r : out->error;
}

int view_write(const struct view *v, const struct report_header *h, FILE *out, struct diag *diag)
{
	struct buf page;
	int r, written;

	buf_init(&page, VIEW_JSON_MAX);
	r = view_page(v, h, &page);
	errno = 0;
	if (!r)
		fwrite(page.data, 1, page.size, out);
	written = errno;
	buf_free(&page);
	if (!r && ferror(out))
		r = -(written ? written : EIO);
	return r ? diag_fail(diag, -r, "cannot write the page: %s", strerror(-r)) : 0;
}
