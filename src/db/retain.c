/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/epoch.h"
#include "db/writer_state.h"
#include "util/array.h"
#include "util/num.h"

/*
 * Retention: removes the oldest epochs. Their order and age come from their seals, by the clock of
 * age.h. Neither names nor the times of the data count, since a wall clock that was wrong may have
 * given them.
 */

#define KEPT_ALWAYS 3
#define BLOBS_SHARE 2 /* of the size the half is for samples */

struct held {
	const char *name;
	uint64_t sealed_ns; /* UINT64_MAX: it is not */
};

struct retention {
	struct db_writer *w;
	struct held *epochs; /* in the order in which they were sealed */
	size_t count;
	uint64_t now_ns;
};

static int compare_held(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return NUM_ORDER(x->sealed_ns, y->sealed_ns) ?: layout_compare_epochs(x->name, y->name);
}

/*
 * 1 and when it was sealed; 0: something else has the name, or it cannot be read now, and stays.
 * Where the seal is damaged the name must do, which is not believed when it is of the future.
 */
static int find_sealed(struct retention *t, const char *name, uint64_t *ret_ns)
{
	const struct io *io = t->w->io;
	int fd = layout_enter_dir(io, t->w->machine_fd, name), r;
	uint64_t named_ns = layout_epoch_time_ns(name);
	struct seal s;

	if (fd < 0)
		return fd == -ENOMEM ? fd : 0;
	r = seal_read(io, fd, &s);
	io->close(io->arg, fd);
	if (r == 0) {
		*ret_ns = s.clock.ns;
		seal_free(&s);
	} else if (r == -ENOENT) {
		*ret_ns = UINT64_MAX;
	} else if (r == -EBADMSG) {
		*ret_ns = named_ns < t->now_ns ? named_ns : t->now_ns;
	} else {
		return r == -ENOMEM ? r : 0;
	}
	return 1;
}

static int find_epochs(struct retention *t, char **names, size_t count)
{
	int r = 0;

	t->epochs = calloc(count + 1, sizeof(*t->epochs));
	if (!t->epochs)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		struct held *h = &t->epochs[t->count];

		h->name = names[i];
		r = find_sealed(t, names[i], &h->sealed_ns);
		t->count += r == 1;
	}
	array_sort(t->epochs, t->count, sizeof(*t->epochs), compare_held);
	return r < 0 ? r : 0;
}

/* All files of a directory, whatever they are. Those that vanish meanwhile take nothing. */
static int dir_bytes(const struct io *io, int fd, uint64_t *bytes)
{
	char **names;
	size_t count;
	int r = layout_list(io, fd, &names, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		*bytes = num_add_sat(*bytes, layout_file_bytes(io, fd, names[i]));
	free(names);
	return 0;
}

/* All that is in the machine's directory: there is nothing of ours deeper than two levels. */
static int machine_bytes(const struct db_writer *w, uint64_t *ret)
{
	const struct io *io = w->io;
	uint64_t bytes = 0;
	char **names;
	size_t count;
	int r = layout_list(io, w->machine_fd, &names, &count), fd;

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++) {
		fd = layout_enter_dir(io, w->machine_fd, names[i]);
		if (fd >= 0) {
			r = dir_bytes(io, fd, &bytes);
			io->close(io->arg, fd);
		} else {
			bytes = num_add_sat(bytes, layout_file_bytes(io, w->machine_fd, names[i]));
		}
		if (r != -ENOMEM) /* gone since, or not to be read: nothing can be said */
			r = 0;
	}
	free(names);
	*ret = bytes;
	return r;
}

/* The oldest and the blobs that only it used. */
static int remove_oldest(struct retention *t, unsigned *removed, struct diag *diag)
{
	int r = writer_remove_epoch(t->w, t->epochs->name, diag);

	if (r < 0)
		return r;
	++*removed;
	t->epochs++;
	t->count--;
	return 0;
}

/* One that can go: sealed, and not of the newest. */
static bool has_old(const struct retention *t)
{
	return t->count > KEPT_ALWAYS && t->epochs->sealed_ns != UINT64_MAX;
}

static bool is_aged(const struct retention *t, uint64_t max_age_ns)
{
	return max_age_ns && num_add_sat(t->epochs->sealed_ns, max_age_ns) < t->now_ns;
}

static int measure(const struct retention *t, uint64_t *ret_bytes, struct diag *diag)
{
	int r = machine_bytes(t->w, ret_bytes);

	return r < 0 ? diag_fail(diag, -r, "cannot measure the database %s: %s", t->w->path,
				 strerror(-r))
		     : 0;
}

static int make_room(struct retention *t, uint64_t max_bytes, unsigned *removed, struct diag *diag)
{
	uint64_t bytes = 0;
	int r = measure(t, &bytes, diag);

	if (r == 0 && bytes > max_bytes) {
		r = writer_trim_blobs(t->w, max_bytes / BLOBS_SHARE, diag);
		if (r == 0)
			r = measure(t, &bytes, diag);
	}
	/* What an epoch's symbols take is known when they are gone. */
	while (r == 0 && bytes > max_bytes && has_old(t)) {
		r = remove_oldest(t, removed, diag);
		if (r == 0)
			r = writer_remove_orphans(t->w, diag);
		if (r == 0)
			r = measure(t, &bytes, diag);
	}
	return r;
}

static int retain(struct retention *t, uint64_t max_age_ns, uint64_t max_bytes, unsigned *removed,
		  struct diag *diag)
{
	int r = 0;

	while (r == 0 && has_old(t) && is_aged(t, max_age_ns))
		r = remove_oldest(t, removed, diag);
	if (r == 0 && *removed)
		r = writer_remove_orphans(t->w, diag);
	if (r == 0 && max_bytes)
		r = make_room(t, max_bytes, removed, diag);
	return r;
}

int db_writer_retain(struct db_writer *w, uint64_t max_age_ns, uint64_t max_bytes,
		     unsigned *ret_removed, struct diag *diag)
{
	struct retention t = {.w = w, .now_ns = writer_age(w)->ns};
	struct held *epochs;
	unsigned removed = 0;
	char **names;
	size_t count;
	int r = layout_list_epochs(w->io, w->machine_fd, &names, &count);

	if (r == 0) {
		r = find_epochs(&t, names, count);
		epochs = t.epochs;
		if (r == 0)
			r = retain(&t, max_age_ns, max_bytes, &removed, diag);
		else
			diag_fail(diag, -r, "out of memory for the list of epochs");
		free(epochs);
		free(names);
	} else {
		diag_fail(diag, -r, "cannot list the epochs of %s: %s", w->path, strerror(-r));
	}
	if (r == 0)
		*ret_removed = removed;
	return r;
}
