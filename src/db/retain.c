/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "db/epoch.h"
#include "db/writer_state.h"
#include "util/num.h"

/* Forgetting the oldest. */

#define KEPT_ALWAYS 3

/* What the files of an epoch take, whatever they are. Files that vanish meanwhile take nothing. */
static int epoch_bytes(struct db_writer *w, const char *name, uint64_t *ret)
{
	const struct io *io = w->io;
	int dir = layout_enter_dir(io, w->machine_fd, name), r, fd;
	uint64_t bytes = 0;
	struct stat st;
	char **names;
	size_t count;

	if (dir < 0)
		return dir;
	r = layout_list(io, dir, &names, &count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		fd = layout_open_file(io, dir, names[i]);
		if (fd < 0)
			continue;
		if (io->stat(io->arg, fd, &st) == 0)
			bytes = num_add_sat(bytes, (uint64_t)st.st_size);
		io->close(io->arg, fd);
	}
	if (r == 0) {
		free(names);
		*ret = bytes;
	}
	io->close(io->arg, dir);
	return r;
}

/* 1 when an epoch is sealed and so may go, and when its data ends. */
static int epoch_end(struct db_writer *w, const char *name, uint64_t *ret_end_ns, struct diag *diag)
{
	uint64_t start_ns, samples;
	struct epoch e;
	int r = epoch_open(w->io, w->machine_fd, name, &epoch_whole, NULL, NULL, &e, diag), sealed;

	if (r < 0)
		return r;
	epoch_summarize(&e, name, &start_ns, ret_end_ns, &samples);
	sealed = e.sealed;
	epoch_close(&e);
	return sealed;
}

static int retain(struct db_writer *w, char **names, size_t count, uint64_t now_ns,
		  uint64_t max_age_ns, uint64_t max_bytes, unsigned *ret_removed, struct diag *diag)
{
	uint64_t *bytes = calloc(count + 1, sizeof(*bytes)), total = 0, end_ns = 0;
	unsigned removed = 0;
	int r = bytes ? 0 : diag_fail(diag, ENOMEM, "out of memory for the list of epochs");

	for (size_t i = 0; i < count && r == 0 && max_bytes; i++) {
		r = epoch_bytes(w, names[i], &bytes[i]);
		if (r < 0)
			diag_fail(diag, -r, "cannot measure epoch %s: %s", names[i], strerror(-r));
		total = num_add_sat(total, bytes[i]);
	}
	for (size_t i = 0; i + KEPT_ALWAYS < count && r == 0; i++) {
		r = epoch_end(w, names[i], &end_ns, diag);
		if (r < 0)
			break;
		if (!(max_bytes && total > max_bytes) &&
		    !(max_age_ns && num_add_sat(end_ns, max_age_ns) < now_ns))
			break;
		if (r == 0) /* the current one, named so by a clock that was set back */
			continue;
		r = writer_remove_epoch(w, names[i], diag);
		removed += r == 0;
		total -= bytes[i];
	}
	free(bytes);
	*ret_removed = removed;
	return r < 0 ? r : 0;
}

int db_writer_retain(struct db_writer *w, uint64_t now_ns, uint64_t max_age_ns, uint64_t max_bytes,
		     unsigned *ret_removed, struct diag *diag)
{
	unsigned removed = 0;
	char **names;
	size_t count;
	int r = layout_list_epochs(w->io, w->machine_fd, &names, &count);

	if (r < 0)
		return diag_fail(diag, -r, "cannot list the epochs of %s: %s", w->path,
				 strerror(-r));
	r = retain(w, names, count, now_ns, max_age_ns, max_bytes, &removed, diag);
	free(names);
	if (r == 0 && removed)
		r = writer_remove_orphans(w, now_ns, diag);
	if (r == 0)
		*ret_removed = removed;
	return r;
}
