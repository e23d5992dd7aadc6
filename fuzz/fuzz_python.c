/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a file has CPython's structures: read of every file that may be an interpreter. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include "image/python.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct image_python found;
	struct diag diag = {""};
	int r;

	if (fd < 0)
		fd = memfd_create("python", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	r = image_python_read(fd, &found, &diag);
	if (r ? !diag.text[0] : !found.runtime)
		abort();
	return 0;
}
