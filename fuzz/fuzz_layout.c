/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names in a database's directories, and its meta file, as somebody else may have put them there.
 * The first byte says what the rest is. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "db/layout.h"
#include "db/epoch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A directory whose every file has these bytes, or whose listing they are. */
struct memory {
	const uint8_t *data;
	size_t size;
};

static int memory_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	(void)arg, (void)dirfd, (void)path, (void)flags, (void)mode;
	return 1000;
}

static ssize_t memory_read(void *arg, int fd, void *data, size_t size, uint64_t offset)
{
	const struct memory *m = arg;

	(void)fd;
	if (offset >= m->size)
		return 0;
	size = size < m->size - offset ? size : m->size - offset;
	memcpy(data, m->data + offset, size);
	return (ssize_t)size;
}

static int memory_stat(void *arg, int fd, struct stat *ret)
{
	const struct memory *m = arg;

	(void)fd;
	*ret = (struct stat){.st_mode = S_IFREG | 0600, .st_size = (off_t)m->size};
	return 0;
}

/* Names end with zero bytes. */
static int memory_list(void *arg, int fd, char **ret_names, size_t *ret_count)
{
	const struct memory *m = arg;
	size_t count = 0;
	char *names = malloc(m->size + 1);

	(void)fd;
	if (!names)
		return -ENOMEM;
	memcpy(names, m->data, m->size);
	names[m->size] = 0;
	for (size_t at = 0; at < m->size; at += strlen(names + at) + 1)
		count++;
	*ret_names = names;
	*ret_count = count;
	return 0;
}

static int memory_close(void *arg, int fd)
{
	(void)arg, (void)fd;
	return 0;
}

static void try_meta(const struct io *io)
{
	struct diag diag = {""};

	if (layout_read_meta(io, 3, "machine", &diag) && !diag.text[0])
		abort();
}

static void try_listing(const struct io *io)
{
	struct epoch_listing l;

	if (epoch_list(io, 3, &l))
		return;
	for (size_t i = 1; i < l.segment_count; i++)
		if (l.segments[i] < l.segments[i - 1])
			abort();
	for (size_t i = 1; i < l.base_count; i++)
		if (l.bases[i].generation > l.bases[i - 1].generation)
			abort();
	if (l.segment_count + l.base_count > l.name_count)
		abort();
	epoch_listing_free(&l);
}

/* A name of an epoch is the one that its time and number make. */
static void try_epochs(const struct io *io)
{
	char **names;
	size_t count;

	if (layout_list_epochs(io, 3, &names, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (!layout_is_epoch(names[i]) || strlen(names[i]) >= LAYOUT_NAME_MAX)
			abort();
	free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const try[])(const struct io *io) = {try_meta, try_listing, try_epochs};
	struct memory m = {data + 1, size - 1};
	const struct io io = {.open = memory_open,
			      .read = memory_read,
			      .stat = memory_stat,
			      .list = memory_list,
			      .close = memory_close,
			      .arg = &m};

	if (size)
		try[data[0] % (sizeof(try) / sizeof(*try))](&io);
	return 0;
}
