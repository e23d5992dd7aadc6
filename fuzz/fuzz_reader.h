/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FUZZ_READER_H
#define CULPRIT_FUZZ_READER_H

#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include "exchange/readers.h"
#include "exchange/store.h"

/*
 * One input through a reader of foreign profiles: whatever it makes of it, its harvest must be one
 * that the other side takes.
 */
static int fuzz_reader_with(reader *read_form, const struct reading_host *host, const uint8_t *data,
			    size_t size)
{
	static int fd = -1;
	char cut[READING_CUT_MAX] = "";
	struct harvest *h = harvest_new();
	struct store s = {0};
	struct diag diag = {""};
	struct buf bytes;

	if (fd < 0)
		fd = memfd_create("profile", MFD_CLOEXEC);
	if (!h || fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	lseek(fd, 0, SEEK_SET);
	buf_init(&bytes, 256u << 20);
	if (!read_form(&(struct reading){.fd = fd,
					 .cut = cut,
					 .program = "/none/program",
					 .keep_raw = true,
					 .host = host},
		       h, &diag)) {
		harvest_save(h, &bytes);
		if (!bytes.error && store_load(&s, bytes.data, bytes.size, &diag))
			abort();
	} else if (!diag.text[0]) {
		abort();
	}
	arena_free(s.memory);
	buf_free(&bytes);
	harvest_free(h);
	return 0;
}

static inline int fuzz_reader(reader *read_form, const uint8_t *data, size_t size)
{
	return fuzz_reader_with(read_form, NULL, data, size);
}

#endif
