/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/readers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "exchange/script.h"
#include "util/buf.h"
#include "util/io.h"

#define INPUT_BYTES_MAX ((size_t)1 << 30)
#define PIECE_BYTES	((size_t)1 << 20)

static const struct {
	const char *name;
	reader *read;
} readers[] = {
	{"perf", read_perf_data},     {"pprof", read_pprof}, {"folded", read_folded},
	{"script", read_perf_script}, {"gmon", read_gmon},
};

static bool starts_with(const uint8_t *start, size_t size, const char *magic, size_t length)
{
	return size >= length && !memcmp(start, magic, length);
}

static bool is_text(const uint8_t *start, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (start[i] < ' ' && !memchr("\t\n\r\f\x1b", start[i], 5))
			return false;
	return true;
}

/* A message of protobuf begins with the number and type of a field: of a Profile's, those that are
 * messages and strings. */
static bool is_profile(const uint8_t *start, size_t size)
{
	return size > 2 && (start[0] & 7) == 2 && start[0] >> 3 >= 1 && start[0] >> 3 <= 6;
}

static const char *name_by_start(const uint8_t *start, size_t size)
{
	if (starts_with(start, size, "PERFILE2", 8) || starts_with(start, size, "2ELIFREP", 8))
		return "perf";
	if (starts_with(start, size, "gmon", 4))
		return "gmon";
	if (starts_with(start, size, "\x1f\x8b", 2))
		return "pprof";
	if (is_text(start, size))
		return script_text_kind((const char *)start, size);
	return is_profile(start, size) ? "pprof" : NULL;
}

int reader_choose(const char *name, const uint8_t *start, size_t size, reader **ret,
		  struct diag *diag)
{
	const char *wanted = name ? name : size ? name_by_start(start, size) : NULL;

	if (!wanted)
		return diag_fail(diag, EBADMSG, "%s",
				 size ? "it begins like no profile that is known (see --format)"
				      : "it is empty");
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(readers[i].name, wanted)) {
			*ret = readers[i].read;
			return 0;
		}
	return diag_fail(diag, EINVAL, "no format is called '%s'", wanted);
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
	return n == -EFBIG ? diag_fail(diag, EFBIG, "it is larger than 1 GiB")
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
