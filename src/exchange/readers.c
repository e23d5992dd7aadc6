/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "exchange/reader_start.h"
#include "util/buf.h"
#include "util/io.h"

#define INPUT_BYTES_MAX ((size_t)512 << 20)
#define PIECE_BYTES	((size_t)1 << 20)

static const struct {
	const char *name;
	reader *read;
} readers[] = {
	{"perf", read_perf_data},     {"pprof", read_pprof}, {"folded", read_folded},
	{"script", read_perf_script}, {"gmon", read_gmon},
};

int reader_choose(const char *name, const uint8_t *start, size_t size, reader **ret,
		  struct diag *diag)
{
	const char *wanted = name ? name : size ? reader_name_by_start(start, size) : NULL;

	if (!wanted)
		return diag_fail(diag, EBADMSG, "%s",
				 size ? "it does not begin like any known profile (see --format)"
				      : "it is empty");
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(readers[i].name, wanted)) {
			*ret = readers[i].read;
			return 0;
		}
	return diag_fail(diag, EINVAL, "there is no format '%s'", wanted);
}

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
