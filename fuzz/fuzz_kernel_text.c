/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* /proc/kallsyms and /proc/iomem, in which modules have their say. The first byte says which text
 * the rest is. */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "image/kernel/kallsyms.h"
#include "image/kernel/kernel_iomem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A root whose proc/iomem is the file in memory; nothing is left of it at the end. */
static char root[] = "/tmp/fuzz-kernel-text-XXXXXX", path[64];

static void remove_root(void)
{
	char at[PATH_MAX];

	snprintf(at, sizeof(at), "%s/proc/iomem", root);
	unlink(at);
	snprintf(at, sizeof(at), "%s/proc", root);
	rmdir(at);
	rmdir(root);
}

static int make_file(void)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	char at[PATH_MAX];

	if (fd < 0 || !mkdtemp(root))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(at, sizeof(at), "%s/proc", root);
	if (mkdir(at, 0700))
		abort();
	snprintf(at, sizeof(at), "%s/proc/iomem", root);
	if (symlink(path, at) || atexit(remove_root))
		abort();
	return fd;
}

static int take_line(void *arg, const struct kallsyms_line *line)
{
	size_t *left = arg;

	/* Each is of the text, and none twice. */
	if (!line->name_size || line->name_size + line->module_size > *left ||
	    memchr(line->name, '\n', line->name_size))
		abort();
	*left -= line->name_size + line->module_size;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	uint64_t refused, code, all;
	struct diag diag;

	if (fd < 0)
		fd = make_file();
	if (!size--)
		return 0;
	if (ftruncate(fd, 0) || pwrite(fd, data + 1, size, 0) != (ssize_t)size)
		abort();
	if (data[0] % 2) {
		if (kernel_iomem_sizes(root, &code, &all) == 0 && (!code || code > all))
			abort();
	} else if (kallsyms_each(path, take_line, &size, &refused, &diag)) {
		abort();
	}
	return 0;
}
