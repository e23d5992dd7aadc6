/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/writer_state.h"
#include "util/array.h"
#include "util/num.h"

/*
 * Removes blobs that exceed their share of the database. Any user may run many large programs: what
 * is kept of them must not displace history.
 */

struct kept {
	const char *name;
	uint64_t bytes;
	bool spare; /* code and lines: mostly there is the file still */
};

static bool is_spare(const char *name)
{
	const char *kind = strrchr(name, '.');

	return kind && (!strncmp(kind, ".code", 5) || !strncmp(kind, ".lines", 6));
}

/* What goes first: what costs most. */
static int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->spare != y->spare)
		return x->spare ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int trim(const struct io *io, int fd, char **names, size_t count, uint64_t max_bytes,
		uint64_t *trimmed)
{
	struct kept *list = calloc(count + 1, sizeof(*list));
	uint64_t bytes = 0;
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		list[i] = (struct kept){names[i], layout_file_bytes(io, fd, names[i]),
					is_spare(names[i])};
		bytes = num_add_sat(bytes, list[i].bytes);
	}
	if (r == 0 && bytes > max_bytes)
		array_sort(list, count, sizeof(*list), compare_kept);
	for (size_t i = 0; r == 0 && i < count && bytes > max_bytes; i++) {
		/* One of somebody else's that cannot be removed does not keep the others. */
		if (!list[i].bytes || io->unlink(io->arg, fd, list[i].name, 0) < 0)
			continue;
		bytes -= list[i].bytes;
		++*trimmed;
	}
	free(list);
	return r;
}

int writer_trim_blobs(struct db_writer *w, uint64_t max_bytes, struct diag *diag)
{
	const struct io *io = w->io;
	int fd = layout_enter_dir(io, w->machine_fd, LAYOUT_IMAGES), r;
	char **names;
	size_t count;

	if (fd < 0)
		return fd == -ENOMEM ? diag_fail(diag, ENOMEM, "out of memory") : 0;
	r = layout_list(io, fd, &names, &count);
	if (r == 0) {
		r = trim(io, fd, names, count, max_bytes, &w->trimmed);
		free(names);
	}
	io->close(io->arg, fd);
	return r < 0 ? diag_fail(diag, -r, "cannot tidy %s/%s/" LAYOUT_IMAGES ": %s", w->path,
				 w->machine, strerror(-r))
		     : 0;
}
