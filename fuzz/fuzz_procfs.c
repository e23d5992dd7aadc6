/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What /proc says of processes, whose names and paths anybody may choose. The first byte says which
 * text the rest is: lines of /proc/PID/maps, or /proc/PID/cgroup. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "collect/process/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_maps(char *text)
{
	struct procfs_mapping m;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		size_t size = strlen(line);

		if (procfs_parse_mapping(line, &m) == 0 &&
		    (m.name.path_size > size + strlen("//anon") ||
		     memchr(m.name.path, 0, m.name.path_size)))
			abort();
	}
}

static void try_cgroup(const char *text)
{
	char *path = procfs_parse_cgroup(text);

	if (path && !strstr(text, path))
		abort();
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] % 2)
		try_cgroup(text);
	else
		try_maps(text);
	free(text);
	return 0;
}
