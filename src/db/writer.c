/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/batch_rows.h"
#include "db/epoch.h"
#include "db/pack.h"
#include "db/writer_state.h"

/*
 * The following holds at every instant, whatever call fails and whenever the process dies
 * (invariants of one pack are in pack.h):
 *
 *  1. There is one writer of a machine's directory: it holds the lock on its lock file. Readers
 *     take no lock, and do not matter to the writer.
 *  2. Segments of an epoch are numbered from 1 without a gap. A number is used up only when its
 *     segment is durable; a flush that failed is followed by one of the same number, which replaces
 *     whatever the failed one may have left.
 *  3. An acknowledged segment is either there, or there is a base whose generation is the highest
 *     and whose UPTO is the segment's number or more.
 *  4. Only what the base of the highest generation covers is ever deleted, and only after that base
 *     is durable; and of that only what is undamaged. What is damaged is renamed.
 *  5. A base of generation G + 1 is made of all that was in the base of generation G and of the
 *     segments after it up to its own UPTO, each once.
 *  6. A sealed epoch gets no more segments (it may still be compacted). All epochs but the writer's
 *     current one are sealed while a writer lives.
 *  7. Whatever is named *.tmp, making-* or removing-* counts for nothing and may be deleted by the
 *     writer. An epoch that is begun as making-NAME gets its name when it is sealed.
 */

#define EPOCHS_IN_A_SECOND_MAX 10000

/* "BOOT-ID PID\n", always of the same size, so that writing replaces what was there. */
static void lock_text(char out[64])
{
	char *boot = NULL;
	size_t size;

	if (io_read_file("/proc/sys/kernel/random/boot_id", 4096, &boot, &size) < 0)
		boot = NULL;
	snprintf(out, 64, "%-36.36s %-10d\n", boot ? boot : "unknown", (int)getpid());
	free(boot);
}

static int lock_busy(struct db_writer *w, struct diag *diag)
{
	char theirs[64] = "", ours[64];
	int pid = 0;

	lock_text(ours);
	if (w->io->read(w->io->arg, w->lock_fd, theirs, sizeof(theirs) - 1, 0) < 36)
		return diag_fail(diag, EBUSY, "another writer is using the database %s", w->path);
	sscanf(theirs + 36, "%d", &pid);
	if (memcmp(theirs, ours, 36) == 0)
		return diag_fail(diag, EBUSY,
				 "process %d is writing to the database %s: stop it, or write to "
				 "another database",
				 pid, w->path);
	return diag_fail(diag, EBUSY,
			 "process %d of another host is writing to the database %s for machine %s",
			 pid, w->path, w->machine);
}

/* It is written to: no file of somebody's that the database's owner linked there. */
static int lock_open(const struct db_writer *w)
{
	const struct io *io = w->io;
	int fd = io->open(io->arg, w->machine_fd, LAYOUT_LOCK,
			  O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0640),
	    r;
	struct stat st;

	if (fd < 0)
		return fd;
	r = io->stat(io->arg, fd, &st);
	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (r == 0 && st.st_nlink > 1)
		r = -EMLINK;
	if (r == 0)
		return fd;
	io->close(io->arg, fd);
	return r;
}

static int lock_take(struct db_writer *w, struct diag *diag)
{
	char text[64];
	int r = w->lock_fd = lock_open(w);

	if (r < 0)
		return diag_fail(diag, -r, "cannot write to the database %s: %s", w->path,
				 layout_write_error(-r));
	r = w->io->lock(w->io->arg, w->lock_fd);
	if (r == -EWOULDBLOCK)
		return lock_busy(w, diag);
	if (r < 0)
		return diag_fail(diag, -r, "cannot lock the database %s: %s", w->path,
				 strerror(-r));
	lock_text(text);
	/* Only for the message of whom it keeps out: on a full disk it may be missing. */
	(void)io_write_all(w->io, w->lock_fd, text, strlen(text));
	return 0;
}

/* Of what a home or a file system has by itself: hidden files, and what fsck found. */
static bool is_of_anybody(const char *name)
{
	return name[0] == '.' || strcmp(name, "lost+found") == 0;
}

static bool is_machine_dir(const struct db_writer *w, const char *name)
{
	bool has_meta = false;
	int fd, meta;

	if (strcmp(name, w->machine) == 0)
		return true;
	if (!layout_is_machine(name))
		return false;
	fd = layout_enter_dir(w->io, w->db_fd, name);
	if (fd < 0)
		return false;
	meta = layout_open_file(w->io, fd, LAYOUT_META);
	if (meta >= 0) {
		has_meta = true;
		w->io->close(w->io->arg, meta);
	}
	w->io->close(w->io->arg, fd);
	return has_meta;
}

/* A name typed too early, as in -o /etc, must not strew a database among somebody's files. */
static int check_foreign(struct db_writer *w, struct diag *diag)
{
	char **names;
	size_t count;
	bool foreign = false, ours = false;
	int r = layout_list(w->io, w->db_fd, &names, &count);

	if (r < 0)
		return diag_fail(diag, -r, "cannot list %s: %s", w->path, strerror(-r));
	for (size_t i = 0; i < count && !ours; i++) {
		if (is_of_anybody(names[i]) || layout_is_temporary(names[i]))
			continue;
		ours = is_machine_dir(w, names[i]);
		foreign = true;
	}
	free(names);
	if (!foreign || ours)
		return 0;
	return diag_fail(
		diag, ENOTEMPTY,
		"%s is neither empty nor a database; name a new directory, or an empty one (-o DB)",
		w->path);
}

static int open_dirs(struct db_writer *w, const char *machine, struct diag *diag)
{
	w->machine = machine ? strdup(machine) : layout_machine_name();
	if (!w->machine || !w->path)
		return diag_fail(diag, ENOMEM, "out of memory for the database %s", w->path);
	if (!layout_is_machine(w->machine))
		return diag_fail(diag, EINVAL,
				 "'%s' cannot name a machine: use letters, digits, '-', '_', '.'",
				 w->machine);
	w->db_fd = layout_make_dir(w->io, AT_FDCWD, w->path);
	if (w->db_fd < 0)
		return diag_fail(diag, -w->db_fd,
				 "cannot make the database %s: %s; name one elsewhere (-o DB)",
				 w->path, strerror(-w->db_fd));
	int r = check_foreign(w, diag);
	if (r < 0)
		return r;
	w->machine_fd = layout_make_dir(w->io, w->db_fd, w->machine);
	if (w->machine_fd < 0)
		return diag_fail(diag, -w->machine_fd, "cannot make %s/%s: %s", w->path, w->machine,
				 layout_write_error(-w->machine_fd));
	return 0;
}

static int check_version(struct db_writer *w, struct diag *diag)
{
	int r = layout_read_meta(w->io, w->machine_fd, w->machine, diag);

	if (r != -ENOENT && r != -EBADMSG)
		return r;
	/* New, or damaged: the packs carry their version themselves. */
	r = layout_write_meta(w->io, w->machine_fd);
	if (r < 0)
		return diag_fail(diag, -r, "cannot write %s/%s/" LAYOUT_META ": %s", w->path,
				 w->machine, layout_write_error(-r));
	return 0;
}

const struct age_clock *writer_age(struct db_writer *w)
{
	struct io_time now;

	w->io->time(w->io->arg, &now);
	age_advance(&w->age, &now);
	return &w->age;
}

/* Begins where the last seal of all ended. */
static int find_age(struct db_writer *w, char **names, size_t count)
{
	struct seal s;
	bool found = false;
	struct io_time now;

	for (size_t i = 0; i < count; i++) {
		int fd = layout_is_epoch(names[i])
				 ? layout_enter_dir(w->io, w->machine_fd, names[i])
				 : -ENOENT;
		int r = fd < 0 ? fd : seal_read(w->io, fd, &s);

		if (fd >= 0)
			w->io->close(w->io->arg, fd);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		if (!found || s.clock.ns > w->age.ns)
			w->age = s.clock;
		found = true;
		seal_free(&s);
	}
	w->io->time(w->io->arg, &now);
	if (!found)
		w->age = age_begin(&now);
	return 0;
}

/* Of every pack that is there. */
static int seal(struct db_writer *w, int epoch_fd, const char *name, struct diag *diag)
{
	struct seal s = {.clock = *writer_age(w)};
	struct epoch_listing l = {0};
	char file[LAYOUT_NAME_MAX];
	int r = epoch_list(w->io, epoch_fd, &l);

	for (size_t i = 0; r == 0 && i < l.base_count; i++) {
		layout_base_name(l.bases[i].generation, l.bases[i].upto, file);
		r = seal_add(&s, w->io, epoch_fd, file);
	}
	for (size_t i = 0; r == 0 && i < l.segment_count; i++) {
		layout_segment_name(l.segments[i], file);
		r = seal_add(&s, w->io, epoch_fd, file);
	}
	epoch_listing_free(&l);
	if (r == 0)
		r = seal_write(w->io, epoch_fd, &s);
	seal_free(&s);
	if (r < 0)
		return diag_fail(diag, -r, "cannot seal epoch %s: %s", name,
				 layout_write_error(-r));
	return 0;
}

/* Cleans an epoch of a predecessor, and seals it, or removes it when it is empty. */
static int settle_epoch(struct db_writer *w, const char *name, struct diag *diag)
{
	struct epoch_listing l = {0};
	bool empty, sealed;
	int fd = layout_enter_dir(w->io, w->machine_fd, name), r;

	if (layout_is_stray(fd)) /* something else of such a name: readers tell */
		return 0;
	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open epoch %s: %s", name, strerror(-fd));
	r = writer_clean_epoch(w, fd, name, diag);
	if (r < 0)
		goto out;
	r = epoch_list(w->io, fd, &l);
	if (r < 0) {
		diag_fail(diag, -r, "cannot list epoch %s: %s", name, strerror(-r));
		goto out;
	}
	sealed = l.seal_error != -ENOENT;
	empty = !l.name_count;
	epoch_listing_free(&l);
	if (empty)
		r = writer_remove_epoch(w, name, diag);
	else if (!sealed)
		r = seal(w, fd, name, diag);
out:
	w->io->close(w->io->arg, fd);
	return r;
}

/* What others did not live to write of symbols. A report that is at it now can do without. */
static void settle_images(struct db_writer *w)
{
	int fd = layout_enter_dir(w->io, w->machine_fd, LAYOUT_IMAGES);
	char **names;
	size_t count;

	if (fd < 0)
		return;
	if (layout_list(w->io, fd, &names, &count) == 0) {
		for (size_t i = 0; i < count; i++)
			if (layout_is_temporary(names[i]))
				w->io->unlink(w->io->arg, fd, names[i], 0);
		free(names);
	}
	w->io->close(w->io->arg, fd);
}

static int settle_machine(struct db_writer *w, struct diag *diag)
{
	char **names;
	size_t count;
	int r = layout_list(w->io, w->machine_fd, &names, &count);

	if (r < 0)
		return diag_fail(diag, -r, "cannot list %s/%s: %s", w->path, w->machine,
				 strerror(-r));
	r = find_age(w, names, count);
	if (r < 0)
		diag_fail(diag, -r, "out of memory for the epochs of %s", w->path);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (layout_is_epoch(names[i]))
			r = settle_epoch(w, names[i], diag);
		else if (layout_is_temporary(names[i]))
			w->io->unlink(w->io->arg, w->machine_fd, names[i], 0);
		else if (strncmp(names[i], LAYOUT_REMOVING, strlen(LAYOUT_REMOVING)) == 0 ||
			 strncmp(names[i], LAYOUT_MAKING, strlen(LAYOUT_MAKING)) == 0)
			r = writer_remove_dir(w, names[i], diag);
	}
	free(names);
	if (r < 0)
		return r;
	settle_images(w);
	/* Whatever the predecessor made but did not live to sync. */
	r = w->io->sync_dir(w->io->arg, w->machine_fd);
	if (r == 0)
		r = w->io->sync_dir(w->io->arg, w->db_fd);
	if (r < 0)
		return diag_fail(diag, -r, "cannot sync %s/%s: %s", w->path, w->machine,
				 strerror(-r));
	return 0;
}

int db_writer_open(const char *path, const char *machine, const struct io *io,
		   struct db_writer **ret, struct diag *diag)
{
	struct db_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return diag_fail(diag, ENOMEM, "out of memory for the database %s", path);
	w->io = io;
	w->db_fd = w->machine_fd = w->lock_fd = w->epoch_fd = -1;
	w->path = strdup(path);
	int r = open_dirs(w, machine, diag);
	if (r == 0)
		r = lock_take(w, diag);
	if (r == 0)
		r = check_version(w, diag);
	if (r == 0)
		r = settle_machine(w, diag);
	if (r < 0) {
		db_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

static void close_fd(struct db_writer *w, int *fd)
{
	if (*fd >= 0)
		w->io->close(w->io->arg, *fd);
	*fd = -1;
}

void db_writer_free(struct db_writer *w)
{
	if (!w)
		return;
	close_fd(w, &w->epoch_fd);
	close_fd(w, &w->lock_fd);
	close_fd(w, &w->machine_fd);
	close_fd(w, &w->db_fd);
	free(w->machine);
	free(w->path);
	free(w);
}

void db_writer_abandon(struct db_writer *w)
{
	struct diag diag;

	if (w && w->epoch_fd >= 0)
		writer_remove_epoch(w, w->dir, &diag);
	db_writer_free(w);
}

/* Brings an epoch that was begun out of sight under its name. */
static int show_epoch(struct db_writer *w, struct diag *diag)
{
	if (!strcmp(w->dir, w->epoch))
		return 0;
	int r = w->io->rename(w->io->arg, w->machine_fd, w->dir, w->epoch);
	if (r == 0) {
		snprintf(w->dir, sizeof(w->dir), "%s", w->epoch);
		r = w->io->sync_dir(w->io->arg, w->machine_fd);
	}
	return r < 0 ? diag_fail(diag, -r, "cannot name epoch %s: %s", w->epoch,
				 layout_write_error(-r))
		     : 0;
}

static int end_epoch(struct db_writer *w, struct diag *diag)
{
	if (w->epoch_fd < 0)
		return 0;
	if (!w->last_segment)
		return writer_remove_epoch(w, w->dir, diag);
	int r = seal(w, w->epoch_fd, w->epoch, diag);
	return r < 0 ? r : show_epoch(w, diag);
}

int db_writer_close(struct db_writer *w, struct diag *diag)
{
	bool unseen = strcmp(w->dir, w->epoch) != 0;
	int r = end_epoch(w, diag);

	if (r < 0 && unseen)
		db_writer_abandon(w);
	else
		db_writer_free(w);
	return r;
}

struct new_epoch {
	char name[LAYOUT_NAME_MAX], dir[2 * LAYOUT_NAME_MAX];
	int fd;
};

/* Whether an epoch has the name: 0, -EEXIST, or why that cannot be told. */
static int check_free(struct db_writer *w, const char *name)
{
	int fd = layout_enter_dir(w->io, w->machine_fd, name);

	if (fd >= 0)
		w->io->close(w->io->arg, fd);
	return fd >= 0 ? -EEXIST : fd == -ENOENT ? 0 : fd;
}

/* A new directory of the first name that is free. */
static int make_epoch(struct db_writer *w, uint64_t start_ns, bool unseen, struct new_epoch *ret)
{
	int r = -EEXIST;

	for (unsigned i = 1; i < EPOCHS_IN_A_SECOND_MAX && r == -EEXIST; i++) {
		layout_epoch_name(start_ns, i, ret->name);
		snprintf(ret->dir, sizeof(ret->dir), "%s%s", unseen ? LAYOUT_MAKING : "",
			 ret->name);
		/* The current one may be out of sight too. */
		r = !strcmp(ret->name, w->epoch) ? -EEXIST : unseen ? check_free(w, ret->name) : 0;
		if (r == 0)
			r = w->io->mkdir(w->io->arg, w->machine_fd, ret->dir, 0750);
	}
	if (r < 0)
		return r;
	ret->fd = layout_enter_dir(w->io, w->machine_fd, ret->dir);
	r = ret->fd < 0 ? ret->fd : w->io->sync_dir(w->io->arg, w->machine_fd);
	if (r < 0) {
		close_fd(w, &ret->fd);
		w->io->unlink(w->io->arg, w->machine_fd, ret->dir, AT_REMOVEDIR);
	}
	return r;
}

static int begin_epoch(struct db_writer *w, uint64_t start_ns, bool unseen, struct diag *diag)
{
	struct new_epoch new = {.fd = -1};
	int r = make_epoch(w, start_ns, unseen, &new);

	if (r < 0)
		return diag_fail(diag, -r, "cannot make an epoch in %s/%s: %s", w->path, w->machine,
				 layout_write_error(-r));
	r = end_epoch(w, diag);
	if (r < 0) {
		close_fd(w, &new.fd);
		w->io->unlink(w->io->arg, w->machine_fd, new.dir, AT_REMOVEDIR);
		return r;
	}
	close_fd(w, &w->epoch_fd);
	w->epoch_fd = new.fd;
	w->last_segment = w->upto = 0;
	memcpy(w->epoch, new.name, sizeof(w->epoch));
	memcpy(w->dir, new.dir, sizeof(w->dir));
	return 0;
}

int db_writer_begin_epoch(struct db_writer *w, uint64_t start_ns, struct diag *diag)
{
	return begin_epoch(w, start_ns, false, diag);
}

int db_writer_begin_unseen(struct db_writer *w, uint64_t start_ns, struct diag *diag)
{
	return begin_epoch(w, start_ns, true, diag);
}

const char *db_writer_machine(const struct db_writer *w)
{
	return w->machine;
}

const char *db_writer_epoch(const struct db_writer *w)
{
	return w->epoch_fd < 0 ? NULL : w->epoch;
}

uint64_t db_writer_trimmed(const struct db_writer *w)
{
	return w->trimmed;
}

unsigned db_writer_segments(const struct db_writer *w)
{
	return w->last_segment - w->upto;
}

struct catalog writer_batch_catalog(const struct db_batch *batch)
{
	return (struct catalog){
		.start_ns = batch->start_ns,
		.end_ns = batch->end_ns,
		.samples = batch->samples,
		.events = batch->event_list,
		.event_count = batch->events ? intern_count(batch->events) : 0,
		.counters = batch->counter_list,
		.counter_count = batch->counters ? intern_count(batch->counters) : 0,
		.facts = batch->fact_list,
		.fact_count = batch->facts ? intern_count(batch->facts) : 0,
	};
}

/* A pack knows its own name only. */
static int fail_flush(const struct db_writer *w, int error, struct diag *diag)
{
	return diag ? diag_fail(diag, -error, "%s: %s", w->path, diag->text) : error;
}

int db_writer_flush(struct db_writer *w, const struct db_batch *batch, struct diag *diag)
{
	struct catalog head = writer_batch_catalog(batch);
	struct pack_writer *p;
	char name[LAYOUT_NAME_MAX];
	uint64_t bytes;

	if (w->epoch_fd < 0)
		return diag_fail(diag, EINVAL, "no epoch was begun in %s", w->path);
	if (w->last_segment == UINT32_MAX)
		return diag_fail(diag, EOVERFLOW, "epoch %s is full: begin another", w->epoch);
	layout_segment_name(w->last_segment + 1, name);
	int r = pack_create(w->io, w->epoch_fd, name, &head, PACK_LEVEL_SEGMENT, &p, diag);
	if (r < 0)
		return fail_flush(w, r, diag);
	for (size_t i = 0; i < db_kind_count && r == 0; i++) {
		r = pack_begin(p, db_kinds[i]);
		if (r == 0)
			r = kind_each(db_kinds[i], batch, pack_add, p);
	}
	if (r < 0) {
		pack_abandon(p);
		return diag_fail(diag, -r, "cannot write %s of epoch %s in %s: %s", name, w->epoch,
				 w->path, layout_write_error(-r));
	}
	r = pack_finish(p, &bytes, diag);
	if (r < 0)
		return fail_flush(w, r, diag);
	w->last_segment++;
	return 0;
}
