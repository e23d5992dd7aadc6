/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The ELF reader that runs on every file that the collector sees mapped. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include "image/facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct image_facts facts;
	struct diag diag;

	if (fd < 0)
		fd = memfd_create("facts", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (image_facts_read(fd, &facts, &diag))
		return 0;
	if (!facts.id.size || facts.segment_count > IMAGE_SEGMENTS_MAX)
		abort();
	return 0;
}
