/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/check.h"
#include "db/epoch.h"
#include "db/writer_state.h"

/* Removes files that do not count any more. */

static void note_damage(void *arg, const char *what)
{
	(void)what;
	*(bool *)arg = true;
}

/* Deletes what counts for nothing. A directory that somebody filled stays: that costs only room. */
static int drop(struct db_writer *w, int dirfd, const char *name)
{
	int r = w->io->unlink(w->io->arg, dirfd, name, 0);

	if (r == -EISDIR)
		r = w->io->unlink(w->io->arg, dirfd, name, AT_REMOVEDIR);
	return r == -ENOTEMPTY || r == -EEXIST || r == -ENOENT ? 0 : r;
}

/* 1: all of a pack can be read; 0: not, -ENODATA: it cannot be judged; -ENOMEM, ... */
static int pack_is_whole(struct db_writer *w, int epoch_fd, const char *name)
{
	bool damaged = false;
	struct pack *p;
	int r = pack_open(w->io, epoch_fd, name, name, note_damage, &damaged, &p, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : -ENODATA;
	r = check_pack(p, note_damage, &damaged, NULL, NULL);
	pack_close(p);
	return r < 0 && r != -EBADMSG ? r : !damaged && r == 0;
}

/*
 * A covered pack is deleted when all of it could be read, which is what the base was made of; else
 * it is kept under a name that says so. One that cannot be judged (I/O error, newer version) stays.
 */
static int drop_covered(struct db_writer *w, int epoch_fd, const char *name)
{
	char aside[2 * LAYOUT_NAME_MAX];
	int r = pack_is_whole(w, epoch_fd, name);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (r)
		return w->io->unlink(w->io->arg, epoch_fd, name, 0);
	snprintf(aside, sizeof(aside), LAYOUT_DAMAGED "%s", name);
	return w->io->rename(w->io->arg, epoch_fd, name, aside);
}

/* A seal's files stay until there is another seal. */
static bool counts_no_more(const struct epoch_listing *l, const char *name)
{
	return epoch_is_covered(l, name) && (l->seal_error || !seal_find(&l->seal, name));
}

/* Whether the newest base itself is whole, so that nothing older is needed any more. */
static int base_is_whole(struct db_writer *w, int epoch_fd, const struct epoch_base *base)
{
	char name[LAYOUT_NAME_MAX];

	layout_base_name(base->generation, base->upto, name);
	int r = pack_is_whole(w, epoch_fd, name);
	return r == -ENODATA ? 0 : r;
}

int writer_clean_epoch(struct db_writer *w, int epoch_fd, const char *name, struct diag *diag)
{
	struct epoch_listing l;
	int r = epoch_list(w->io, epoch_fd, &l), whole = 0;
	bool any = false;

	if (r < 0)
		return diag_fail(diag, -r, "cannot list epoch %s: %s", name, strerror(-r));
	for (size_t i = 0; i < l.name_count && l.base_count; i++)
		any |= counts_no_more(&l, l.names[i]);
	if (any)
		whole = r = base_is_whole(w, epoch_fd, &l.bases[0]);
	/* Who named the base may have died before its name was on the disk. */
	if (whole > 0)
		r = w->io->sync_dir(w->io->arg, epoch_fd);
	for (size_t i = 0; i < l.name_count && r >= 0; i++) {
		if (layout_is_temporary(l.names[i]) || epoch_is_unsealed_base(&l, l.names[i]))
			r = drop(w, epoch_fd, l.names[i]);
		else if (whole > 0 && counts_no_more(&l, l.names[i]))
			r = drop_covered(w, epoch_fd, l.names[i]);
	}
	epoch_listing_free(&l);
	if (r < 0)
		return diag_fail(diag, -r, "cannot tidy epoch %s: %s", name, strerror(-r));
	return 0;
}

int writer_remove_dir(struct db_writer *w, const char *name, struct diag *diag)
{
	int fd = layout_enter_dir(w->io, w->machine_fd, name), r;
	char **names;
	size_t count;

	if (fd == -ENOENT)
		return 0;
	if (fd == -ENOTDIR) { /* by somebody else, of a name that counts for nothing */
		r = drop(w, w->machine_fd, name);
		return r < 0 ? diag_fail(diag, -r, "cannot remove %s/%s/%s: %s", w->path,
					 w->machine, name, strerror(-r))
			     : 0;
	}
	/* Its name must be on the disk first: a crash would bring an epoch back without its files.
	 */
	r = fd < 0 ? fd : w->io->sync_dir(w->io->arg, w->machine_fd);
	if (r == 0)
		r = layout_list(w->io, fd, &names, &count);
	if (r == 0) {
		for (size_t i = 0; i < count && r == 0; i++)
			r = drop(w, fd, names[i]);
		free(names);
	}
	if (fd >= 0)
		w->io->close(w->io->arg, fd);
	if (r == 0)
		r = w->io->unlink(w->io->arg, w->machine_fd, name, AT_REMOVEDIR);
	if (r == -ENOTEMPTY || r == -EEXIST)
		r = 0;
	if (r < 0)
		return diag_fail(diag, -r, "cannot remove %s/%s/%s: %s", w->path, w->machine, name,
				 strerror(-r));
	return 0;
}

int writer_remove_epoch(struct db_writer *w, const char *name, struct diag *diag)
{
	char away[2 * LAYOUT_NAME_MAX];

	snprintf(away, sizeof(away), LAYOUT_REMOVING "%s", name);
	int r = w->io->rename(w->io->arg, w->machine_fd, name, away);
	if (r == -ENOTEMPTY || r == -EEXIST || r == -ENOTDIR) { /* an older one, or somebody's */
		r = writer_remove_dir(w, away, diag);
		if (r < 0)
			return r;
		r = layout_make_way(w->io, w->machine_fd, away)
			    ?: w->io->rename(w->io->arg, w->machine_fd, name, away);
	}
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return diag_fail(diag, -r, "cannot remove epoch %s: %s", name, strerror(-r));
	return writer_remove_dir(w, away, diag);
}
