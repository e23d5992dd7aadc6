/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The code that processes have mapped. Of most mappings, which are none, nothing is asked. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collect/host/rights.h"
#include "collect/process/procfs.h"
#include "util/proc.h"

/* The kernel's struct procmap_query (Linux 6.11), which older headers do not have. */
struct maps_query {
	uint64_t size, flags, address;
	uint64_t start, end, rights, page_size, offset, inode;
	uint32_t device_major, device_minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

#define MAPS_QUERY     _IOWR('f', 17, struct maps_query)
#define QUERY_CODE     0x04u /* executable mappings alone */
#define QUERY_NEXT     0x10u /* the one at the address, or the next */
#define NAME_BYTES_MAX 4096u

static void set_name(struct procfs_mapping *m, const char *path, size_t size)
{
	/* The kernel's records name it so. */
	file_name_set(&m->name, size ? path : "//anon", size ? size : 6);
}

int procfs_parse_mapping(char *line, struct procfs_mapping *ret)
{
	const char *space = strchr(line, ' ');
	struct proc_mapping m;
	int r;

	/* Most are not, and the rest of the line takes as long to read as the kernel to write. */
	if (space && strnlen(space, 4) == 4 && space[3] != 'x')
		return -ENOMSG;
	r = proc_parse_mapping(line, &m);
	if (r)
		return r;
	*ret = (struct procfs_mapping){
		.start = m.start,
		.end = m.end,
		.file_offset = m.offset,
		.name = {.device_major = m.device_major,
			 .device_minor = m.device_minor,
			 .inode = m.inode},
	};
	set_name(ret, m.path, m.path_size);
	return 0;
}

/* The first one that ends after an address. -ENOENT: there is no more. */
static int ask(int fd, uint64_t address, char name[NAME_BYTES_MAX], struct procfs_mapping *ret)
{
	struct maps_query q = {.size = sizeof(q),
			       .flags = QUERY_CODE | QUERY_NEXT,
			       .address = address,
			       .name_size = NAME_BYTES_MAX,
			       .name = (uintptr_t)name};

	if (ioctl(fd, MAPS_QUERY, &q))
		return -errno;
	*ret = (struct procfs_mapping){
		.start = q.start,
		.end = q.end,
		.file_offset = q.offset,
		.name = {.device_major = q.device_major,
			 .device_minor = q.device_minor,
			 .inode = q.inode},
	};
	set_name(ret, name, q.name_size ? q.name_size - 1 : 0);
	return 0;
}

/* The text, of those that begin at an address or after it. */
static int read_from(int fd, uint64_t address, void (*f)(void *arg, const struct procfs_mapping *m),
		     void *arg)
{
	struct procfs_mapping m;
	char *line = NULL;
	size_t room = 0, lines = 0;
	int copy = dup(fd);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "r");

	if (!file) {
		if (copy >= 0)
			close(copy);
		return -ENOMEM;
	}
	while (lines < PROCFS_MAPPINGS_MAX && getline(&line, &room, file) > 0) {
		lines++;
		if (procfs_parse_mapping(line, &m) == 0 && m.start >= address)
			f(arg, &m);
	}
	free(line);
	fclose(file);
	return lines == PROCFS_MAPPINGS_MAX ? -E2BIG : 0;
}

int procfs_each_mapping(pid_t pid, void (*f)(void *arg, const struct procfs_mapping *m), void *arg)
{
	char name[NAME_BYTES_MAX];
	struct procfs_mapping m;
	uint64_t address = 0;
	size_t count = 0;
	int fd = rights_open_maps(pid), r;

	if (fd < 0)
		return fd;
	while ((r = ask(fd, address, name, &m)) == 0 && count++ < PROCFS_MAPPINGS_MAX) {
		f(arg, &m);
		address = m.end;
	}
	if (r == 0)
		r = -E2BIG;
	else if (r == -ENOENT || r == -ESRCH)
		r = 0; /* there is no more, or no memory at all: it has ended, or is the kernel's */
	else
		r = read_from(fd, address, f, arg); /* an older kernel, or too long a name */
	close(fd);
	return r;
}
