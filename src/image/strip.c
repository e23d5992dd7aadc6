/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/strip.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "micro/translate.h"
#include "util/io.h"

struct decoded {
	struct wire_strip strip;
	struct wire_micro micros[WIRE_STRIP_BYTES];
	uint8_t bytes[IMAGE_STRIP_BYTES_MAX];
};

int image_strip_describe(int fd, const struct image_strip_wanted *wanted, struct buf *out,
			 struct diag *diag)
{
	struct micro_code code = {.begin = wanted->begin,
				  .starts = wanted->starts,
				  .start_count = wanted->start_count};
	struct micro_decoder *micro = NULL;
	struct decoded *d = NULL;
	ssize_t size;

	if (wanted->size > IMAGE_STRIP_BYTES_MAX)
		return diag_fail(diag, EINVAL, "%u bytes of code at once: at most %u", wanted->size,
				 IMAGE_STRIP_BYTES_MAX);
	int r = micro_decoder_new(EM_X86_64, &micro, diag);
	if (r)
		return r;
	d = malloc(sizeof(*d));
	size = d ? io_pread(fd, d->bytes, wanted->size, wanted->begin) : 0;
	if (!d) {
		r = diag_fail(diag, ENOMEM, "out of memory for decoded code");
	} else if (size <= 0) {
		r = size ? (int)-size : ENODATA;
		r = diag_fail(diag, r, "cannot read the code: %s", strerror(r));
	} else {
		code.bytes = d->bytes;
		code.size = (size_t)size;
		size = micro_translate_strip(micro, &code, wanted->number, &d->strip, d->micros);
		r = buf_append(out, &d->strip, sizeof(d->strip));
		if (!r)
			r = buf_append(out, d->micros, (size_t)size * sizeof(*d->micros));
	}
	free(d);
	micro_decoder_free(micro);
	return r;
}
