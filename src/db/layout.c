/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/layout.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "db/chunk.h"
#include "util/array.h"
#include "util/num.h"

#define MACHINE_NAME_MAX 128
#define NS_PER_S	 1000000000u

/* "YYYYMMDDTHHMMSSZ" with 0 for each digit. */
#define EPOCH_SHAPE "00000000T000000Z"

bool layout_is_machine(const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			return false;
	return size && size <= MACHINE_NAME_MAX && name[0] != '.';
}

char *layout_machine_name(void)
{
	char host[65] = "", *text = NULL, *name = NULL;
	size_t size;

	if (io_read_file("/etc/machine-id", 4096, &text, &size) == 0) {
		text[strcspn(text, "\n")] = 0;
		/* In the image of a machine that was not started yet, see machine-id(5). */
		if (layout_is_machine(text) && strcmp(text, "uninitialized") != 0)
			return text;
		free(text);
	}
	gethostname(host, sizeof(host) - 1);
	for (char *c = host; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '-';
	return asprintf(&name, "host-%s", host) < 0 ? NULL : name;
}

/* A decimal number of at least least digits, to its last digit. */
static bool number_parse(const char **at, unsigned least, uint32_t *ret)
{
	uint64_t value = 0;
	unsigned digits = 0;

	for (; isdigit((unsigned char)**at) && digits < 10; (*at)++, digits++)
		value = value * 10 + (uint64_t)(**at - '0');
	if (digits < least || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* The number after the second in an epoch's name, 1 when there is none; 0: not an epoch's name. */
static uint32_t epoch_number(const char *name)
{
	uint32_t number;

	for (const char *shape = EPOCH_SHAPE; *shape; shape++, name++)
		if (*shape == '0' ? !isdigit((unsigned char)*name) : *name != *shape)
			return 0;
	if (!*name)
		return 1;
	if (*name++ != '-' || *name == '0' || !number_parse(&name, 1, &number) || *name)
		return 0;
	return number > 1 ? number : 0;
}

bool layout_is_epoch(const char *name)
{
	return epoch_number(name) > 0;
}

bool layout_is_temporary(const char *name)
{
	size_t size = strlen(name);

	return size > 4 && strcmp(name + size - 4, ".tmp") == 0;
}

int layout_compare_epochs(const char *a, const char *b)
{
	int order = strncmp(a, b, strlen(EPOCH_SHAPE));
	uint32_t m = epoch_number(a), n = epoch_number(b);

	return order ? order : NUM_ORDER(m, n);
}

void layout_epoch_name(uint64_t start_ns, unsigned number, char out[LAYOUT_NAME_MAX])
{
	time_t s = (time_t)(start_ns / NS_PER_S);
	struct tm tm = {.tm_year = 70, .tm_mday = 1};
	size_t size;

	/* 64-bit nanoseconds end in the year 2554: four digits. */
	gmtime_r(&s, &tm);
	size = strftime(out, LAYOUT_NAME_MAX, "%Y%m%dT%H%M%SZ", &tm);
	if (number > 1)
		snprintf(out + size, LAYOUT_NAME_MAX - size, "-%u", number);
}

uint64_t layout_epoch_time_ns(const char *name)
{
	struct tm tm = {0};

	if (!strptime(name, "%Y%m%dT%H%M%SZ", &tm))
		return 0;
	return (uint64_t)timegm(&tm) * NS_PER_S;
}

void layout_segment_name(uint32_t number, char out[LAYOUT_NAME_MAX])
{
	snprintf(out, LAYOUT_NAME_MAX, "seg-%08" PRIu32, number);
}

void layout_base_name(uint32_t generation, uint32_t upto, char out[LAYOUT_NAME_MAX])
{
	snprintf(out, LAYOUT_NAME_MAX, "base-%08" PRIu32 "-%08" PRIu32, generation, upto);
}

bool layout_parse_segment(const char *name, uint32_t *ret_number)
{
	uint32_t number;

	if (strncmp(name, "seg-", 4) != 0)
		return false;
	name += 4;
	if (!number_parse(&name, 8, &number) || *name || !number)
		return false;
	*ret_number = number;
	return true;
}

bool layout_parse_base(const char *name, uint32_t *ret_generation, uint32_t *ret_upto)
{
	uint32_t generation, upto;

	if (strncmp(name, "base-", 5) != 0)
		return false;
	name += 5;
	if (!number_parse(&name, 8, &generation) || *name++ != '-' ||
	    !number_parse(&name, 8, &upto) || *name || !generation || !upto)
		return false;
	*ret_generation = generation;
	*ret_upto = upto;
	return true;
}

int layout_open_dir(const struct io *io, int dirfd, const char *path)
{
	return io->open(io->arg, dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int layout_enter_dir(const struct io *io, int dirfd, const char *name)
{
	return io->open(io->arg, dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

int layout_open_file(const struct io *io, int dirfd, const char *path)
{
	return io->open(io->arg, dirfd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0);
}

int layout_make_way(const struct io *io, int dirfd, const char *name)
{
	char aside[4 * LAYOUT_NAME_MAX];
	int r = io->unlink(io->arg, dirfd, name, 0);

	if (r == -EISDIR)
		r = io->unlink(io->arg, dirfd, name, AT_REMOVEDIR);
	if (r == -ENOTEMPTY || r == -EEXIST) {
		snprintf(aside, sizeof(aside), LAYOUT_STRANGE "%s", name);
		r = io->rename(io->arg, dirfd, name, aside);
	}
	return r == -ENOENT ? 0 : r;
}

uint64_t layout_file_bytes(const struct io *io, int dirfd, const char *name)
{
	int fd = layout_open_file(io, dirfd, name);
	uint64_t bytes = 0, blocks;
	struct stat st;

	if (fd < 0)
		return 0;
	if (io->stat(io->arg, fd, &st) == 0 && S_ISREG(st.st_mode)) {
		bytes = (uint64_t)st.st_size;
		blocks = (uint64_t)st.st_blocks * 512;
		bytes = blocks < bytes ? blocks : bytes;
	}
	io->close(io->arg, fd);
	return bytes;
}

bool layout_is_stray(int error)
{
	return error == -ENOTDIR || error == -ELOOP || error == -EISDIR || error == -ENXIO ||
	       error == -ENODEV || error == -EACCES || error == -EPERM;
}

int layout_make_dir(const struct io *io, int dirfd, const char *path)
{
	int (*open_dir)(const struct io *, int, const char *) =
		dirfd == AT_FDCWD ? layout_open_dir : layout_enter_dir;
	int fd = open_dir(io, dirfd, path), parent, r;
	char up[4096];
	const char *slash;

	if (fd != -ENOENT)
		return fd;
	r = io->mkdir(io->arg, dirfd, path, 0750);
	if (r < 0 && r != -EEXIST)
		return r;
	fd = open_dir(io, dirfd, path);
	if (fd < 0)
		return fd;
	/* The parent must know of it for good before anything in it counts. */
	for (slash = path + strlen(path); slash > path && slash[-1] == '/'; slash--)
		;
	while (slash > path && slash[-1] != '/')
		slash--;
	if (snprintf(up, sizeof(up), "%.*s.", (int)(slash - path), path) >= (int)sizeof(up)) {
		io->close(io->arg, fd);
		return -ENAMETOOLONG;
	}
	parent = layout_open_dir(io, dirfd, up);
	r = parent < 0 ? parent : io->sync_dir(io->arg, parent);
	if (parent >= 0)
		io->close(io->arg, parent);
	if (r == 0)
		return fd;
	io->close(io->arg, fd);
	return r;
}

int layout_list(const struct io *io, int fd, char ***ret_names, size_t *ret_count)
{
	char *block, **names, *copy;
	size_t count, size = 0;
	int r = io->list(io->arg, fd, &block, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		size += strlen(block + size) + 1;
	names = malloc(count * sizeof(*names) + size + 1);
	if (!names) {
		free(block);
		return -ENOMEM;
	}
	copy = (char *)(names + count);
	if (size)
		memcpy(copy, block, size);
	free(block);
	for (size_t i = 0; i < count; i++, copy += strlen(copy) + 1)
		names[i] = copy;
	*ret_names = names;
	*ret_count = count;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return layout_compare_epochs(*(char *const *)a, *(char *const *)b);
}

int layout_list_epochs(const struct io *io, int fd, char ***ret_names, size_t *ret_count)
{
	size_t count, kept = 0;
	char **names;
	int r = layout_list(io, fd, &names, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		if (layout_is_epoch(names[i]))
			names[kept++] = names[i];
	array_sort(names, kept, sizeof(*names), compare_names);
	*ret_names = names;
	*ret_count = kept;
	return 0;
}

/* "culprit database, version 1\nsum 0123456789abcdef\n" */
static int meta_format(unsigned version, char out[LAYOUT_NAME_MAX + 32])
{
	int n = snprintf(out, LAYOUT_NAME_MAX, LAYOUT_VERSION_LABEL "%u\n", version);

	return n + snprintf(out + n, 32, "sum %016" PRIx64 "\n", chunk_sum(out, (size_t)n));
}

int layout_read_meta(const struct io *io, int machine_fd, const char *machine, struct diag *diag)
{
	char text[LAYOUT_NAME_MAX + 33] = "", expected[LAYOUT_NAME_MAX + 32];
	unsigned version = 0;
	ssize_t size;
	int fd = layout_open_file(io, machine_fd, LAYOUT_META);

	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open %s/" LAYOUT_META ": %s", machine,
				 strerror(-fd));
	size = io->read(io->arg, fd, text, sizeof(text) - 1, 0);
	io->close(io->arg, fd);
	if (size < 0)
		return diag_fail(diag, (int)-size, "cannot read %s/" LAYOUT_META ": %s", machine,
				 strerror((int)-size));
	if (sscanf(text, LAYOUT_VERSION_LABEL "%9u", &version) != 1 ||
	    meta_format(version, expected) != size || memcmp(text, expected, (size_t)size) != 0)
		return diag_fail(diag, EBADMSG, "%s/" LAYOUT_META " is damaged", machine);
	if (version > LAYOUT_VERSION)
		return diag_fail(diag, EPROTONOSUPPORT,
				 "the database of machine %s has format version %u, this culprit "
				 "reads %d: use a newer culprit",
				 machine, version, LAYOUT_VERSION);
	return 0;
}

int layout_write_meta(const struct io *io, int machine_fd)
{
	char text[LAYOUT_NAME_MAX + 32];
	int size = meta_format(LAYOUT_VERSION, text);

	return io_replace_file(io, machine_fd, LAYOUT_META, text, (size_t)size, 0640);
}

int layout_fail_open(const char *path, int error, struct diag *diag)
{
	switch (error) {
	case -ENOENT:
		return diag_fail(diag, ENOENT,
				 "there is no database %s: make one with culprit record, or name "
				 "one with -i",
				 path);
	case -ENOTDIR:
		return diag_fail(diag, ENOTDIR,
				 "%s is not a database: a database is a directory, made by culprit "
				 "record, culprit import or the daemon",
				 path);
	case -EACCES:
		return diag_fail(diag, EACCES,
				 "the database %s is not yours to read: ask as its owner, as a "
				 "member of its group, or with sudo",
				 path);
	default:
		return diag_fail(diag, -error, "cannot open the database %s: %s", path,
				 strerror(-error));
	}
}

const char *layout_write_error(int error)
{
	switch (error) {
	case ENOSPC:
		return "No space left on device: make room on its disk";
	case EDQUOT:
		return "Disk quota exceeded: make room on its disk";
	case EROFS:
		return "Read-only file system: mount it writable, or name a database elsewhere";
	case EACCES:
	case EPERM:
		return "Permission denied: do it as its owner or with sudo, or name a database "
		       "elsewhere";
	default:
		return strerror(error);
	}
}
