/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What processes write about the code that they make: perf maps and jitdump files. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include "image/jit/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct image_symbols *s)
{
	uint64_t end = 0;

	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		if (f->start < end || f->start + f->size < f->start || !f->name)
			abort();
		end = f->start + f->size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct image_symbols *s;
	struct diag diag;

	if (fd < 0)
		fd = memfd_create("jit", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (!image_perf_map_read(fd, 1 << 16, &s, &diag)) {
		check(s);
		image_symbols_free(s);
	}
	if (!image_jitdump_read(fd, 1 << 16, &s, &diag)) {
		check(s);
		image_symbols_free(s);
	}
	return 0;
}
