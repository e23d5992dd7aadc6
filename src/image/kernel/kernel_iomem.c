/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel_iomem.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/io.h"

#ifdef __x86_64__
#define IOMEM_FILE_MAX (1 << 20)
#define ALL_BYTES_MAX  (UINT64_C(1) << 30) /* what the kernel's image has room for */

/* "  01000000-02209987 : Kernel code". ret_end is exclusive. */
static bool parse_line(const char *line, const char *what, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t first, last;
	int name = 0;

	if (sscanf(line, " %" SCNx64 "-%" SCNx64 " : %n", &first, &last, &name) != 2 || !name ||
	    strcmp(line + name, what) != 0 || !first || last < first)
		return false;
	*ret_start = first;
	*ret_end = last + 1;
	return true;
}

int kernel_iomem_sizes(const char *root, uint64_t *ret_code, uint64_t *ret_all)
{
	uint64_t start = 0, code_end = 0, bss, end = 0;
	char path[PATH_MAX], *data, *line, *rest;
	int n = snprintf(path, sizeof(path), "%s/proc/iomem", root);
	size_t size;

	if (n < 0 || (size_t)n >= sizeof(path) || io_read_file(path, IOMEM_FILE_MAX, &data, &size))
		return -ENODATA;
	rest = data;
	while ((line = strsep(&rest, "\n")))
		if (!parse_line(line, "Kernel code", &start, &code_end))
			parse_line(line, "Kernel bss", &bss, &end);
	free(data);
	if (code_end <= start || end < code_end || end - start > ALL_BYTES_MAX)
		return -ENODATA;
	*ret_code = code_end - start;
	*ret_all = end - start;
	return 0;
}

#else

int kernel_iomem_sizes(const char *root, uint64_t *ret_code, uint64_t *ret_all)
{
	(void)root, (void)ret_code, (void)ret_all;
	return -ENODATA;
}

#endif
