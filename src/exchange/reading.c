/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "util/buf.h"
#include "util/io.h"

#define INPUT_BYTES_MAX ((size_t)512 << 20)
#define PIECE_BYTES	((size_t)1 << 20)

void reading_tell(const struct reading *in, uint64_t done, uint64_t of)
{
	if (in->host)
		in->host->progress(in->host->arg, done, of);
}

int reading_load(const struct reading *in, uint8_t **ret, size_t *ret_size, struct diag *diag)
{
	struct buf all;
	ssize_t n;

	buf_init(&all, INPUT_BYTES_MAX);
	buf_append(&all, in->start ? in->start : (const uint8_t *)"", in->start_size);
	do {
		uint8_t *room = buf_reserve(&all, PIECE_BYTES);

		n = room ? io_read(in->fd, room, PIECE_BYTES) : all.error;
		all.size += n > 0 ? (size_t)n : 0;
		reading_tell(in, all.size, 0);
	} while (n > 0);
	if (n == 0) {
		*ret = all.data;
		*ret_size = all.size;
		return 0;
	}
	buf_free(&all);
	return n == -EFBIG
		       ? diag_fail(diag, EFBIG, "it is larger than %zu MiB", INPUT_BYTES_MAX >> 20)
		       : diag_fail(diag, (int)-n, "cannot read: %s", strerror((int)-n));
}

void reading_code_free(struct reading_code *code)
{
	image_unwind_free(code->unwind);
	free(code->segments);
	if (code->file)
		munmap((void *)code->file, code->file_size);
	*code = (struct reading_code){0};
}

int reading_end(int error, struct diag *diag)
{
	if (error == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory");
	if (error == -ENOSPC)
		return diag_fail(diag, ENOSPC, "it holds more than one import can");
	return error;
}
