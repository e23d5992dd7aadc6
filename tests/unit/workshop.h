/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_WORKSHOP_H
#define CULPRIT_TESTS_WORKSHOP_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "util/io.h"

/* A temporary directory in which a test compiles small programs. */
static char workshop_dir[64];

static inline int workshop_run(const char *command)
{
	char line[4096];
	int n = snprintf(line, sizeof(line),
			 "cd %s && { %s; } >log 2>&1 || { cat log >&2; exit 1; }", workshop_dir,
			 command);
	return n > 0 && (size_t)n < sizeof(line) ? system(line) : -1;
}

static inline int workshop_open(const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", workshop_dir, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static inline int workshop_write(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", workshop_dir, name);
	FILE *f = fopen(path, "we");
	if (!f || fputs(text, f) < 0)
		return -1;
	return fclose(f);
}

/* A whole file as malloc'ed bytes. */
static inline char *workshop_read(const char *name, size_t *ret_size)
{
	char path[256], *data = NULL;
	snprintf(path, sizeof(path), "%s/%s", workshop_dir, name);
	return io_read_file(path, 64 << 20, &data, ret_size) < 0 ? NULL : data;
}

/* A descriptor of bytes in memory. */
static inline int workshop_memory(const void *data, size_t size)
{
	int fd = memfd_create("workshop", MFD_CLOEXEC);
	if (fd >= 0 && io_write_all(&io_system, fd, data, size) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int workshop_setup(void **state)
{
	(void)state;
	strcpy(workshop_dir, "/tmp/culprit-test-XXXXXX");
	return mkdtemp(workshop_dir) ? 0 : -1;
}

static int workshop_teardown(void **state)
{
	(void)state;
	char line[128];
	snprintf(line, sizeof(line), "rm -rf %s", workshop_dir);
	return system(line);
}

#endif
