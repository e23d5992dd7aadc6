/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/blob_name.h"
#include "db/check.h"
#include "db/epoch.h"
#include "db/layout.h"
#include "db/reader.h"
#include "util/num.h"
#include "util/text.h"

struct verify {
	const struct io *io;
	const char *path, *machine;
	void (*finding)(void *arg, const char *what);
	void *arg;
	struct db_verify_totals totals;
};

static void verify_told(void *arg, const char *what)
{
	struct verify *v = arg;

	v->totals.damaged++;
	if (v->finding)
		v->finding(v->arg, what);
}

static void tell_stray(struct verify *v, const char *name, int error)
{
	char text[320];

	snprintf(text, sizeof(text), "%.128s is passed over: %s", name,
		 error == -ENOTDIR || error == -ELOOP ? "it is not a directory" : strerror(-error));
	verify_told(v, text);
}

/* Packs that somebody else put into a sealed epoch: they do not count. */
static void verify_foreign(struct verify *v, int machine_fd, const char *name)
{
	int fd = layout_enter_dir(v->io, machine_fd, name);
	struct epoch_listing l = {0};
	char text[320];

	if (fd < 0)
		return;
	if (epoch_list(v->io, fd, &l) == 0)
		for (size_t i = 0; i < l.name_count; i++) {
			if (!epoch_is_foreign(&l, l.names[i]) || epoch_is_covered(&l, l.names[i]) ||
			    epoch_is_unsealed_base(&l, l.names[i]))
				continue;
			snprintf(text, sizeof(text),
				 "%.63s/%.63s was not there when the epoch was sealed: it does not "
				 "count",
				 name, l.names[i]);
			verify_told(v, text);
		}
	epoch_listing_free(&l);
	v->io->close(v->io->arg, fd);
}

static int verify_epoch(struct verify *v, int machine_fd, const char *name, struct diag *diag)
{
	struct check_totals t;
	struct epoch e;
	int r = epoch_open(v->io, machine_fd, name, &epoch_whole, verify_told, v, &e, diag);

	if (r == -ENOENT) /* removed since it was listed */
		return 0;
	if (layout_is_stray(r)) {
		tell_stray(v, name, r);
		return 0;
	}
	if (r < 0)
		return r;
	verify_foreign(v, machine_fd, name);
	v->totals.epochs++;
	v->totals.bytes += e.bytes;
	for (size_t i = 0; i < e.pack_count && r == 0; i++) {
		memset(&t, 0, sizeof(t));
		r = check_pack(e.packs[i], verify_told, v, NULL, &t);
		/* Damage and unreadable parts are told by now. */
		if (r != -ENOMEM)
			r = 0;
		v->totals.files++;
		v->totals.chunks += t.chunks;
		for (size_t k = 0; k < DB_KIND_TYPES; k++) {
			struct db_kind_totals *of = &v->totals.of[k];

			of->items += t.of[k].items;
			of->sum = num_add_sat(of->sum, t.of[k].sum);
		}
	}
	epoch_close(&e);
	return r < 0 ? diag_fail(diag, -r, "out of memory for checking %s", name) : 0;
}

static int verify_blobs(struct verify *v, int machine_fd, struct diag *diag)
{
	int fd = layout_enter_dir(v->io, machine_fd, LAYOUT_IMAGES), r;
	char text[BLOB_NAME_MAX + 64];
	char **names;
	size_t count;

	if (fd == -ENOENT)
		return 0;
	if (layout_is_stray(fd)) {
		tell_stray(v, LAYOUT_IMAGES, fd);
		return 0;
	}
	r = fd < 0 ? fd : layout_list(v->io, fd, &names, &count);
	if (r == 0) {
		for (size_t i = 0; i < count; i++) {
			if (layout_is_temporary(names[i]))
				continue;
			v->totals.files++;
			r = blob_check(v->io, fd, names[i], &v->totals.bytes);
			if (r == 0 || r == -ENOENT)
				continue;
			snprintf(text, sizeof(text),
				 LAYOUT_IMAGES "/%.80s: %s; what its file can still tell is "
					       "looked up again",
				 names[i], r == -EBADMSG ? "damaged" : strerror(-r));
			verify_told(v, text);
		}
		free(names);
		r = 0;
	}
	if (fd >= 0)
		v->io->close(v->io->arg, fd);
	if (r < 0)
		return diag_fail(diag, -r, "cannot list the images of %s: %s", v->machine,
				 strerror(-r));
	return 0;
}

static int verify_meta(struct verify *v, int machine_fd, size_t epoch_count, struct diag *diag)
{
	struct diag found = {0};
	int r = layout_read_meta(v->io, machine_fd, v->machine, &found);

	if (r == -EPROTONOSUPPORT)
		return diag_fail(diag, -r, "%s", found.text);
	/* Without meta and epochs it is some other directory. */
	if (r < 0 && (r != -ENOENT || epoch_count))
		verify_told(v, found.text);
	v->totals.machines += r == 0 || epoch_count;
	return 0;
}

static int verify_machine(struct verify *v, int fd, struct diag *diag)
{
	char **names;
	size_t count;
	int r = layout_list_epochs(v->io, fd, &names, &count);

	if (r < 0)
		return diag_fail(diag, -r, "cannot list %s/%s: %s", v->path, v->machine,
				 strerror(-r));
	r = verify_meta(v, fd, count, diag);
	for (size_t i = 0; i < count && r == 0; i++)
		r = verify_epoch(v, fd, names[i], diag);
	free(names);
	return r < 0 ? r : verify_blobs(v, fd, diag);
}

static int verify_all(struct verify *v, int db_fd, struct diag *diag)
{
	char **names;
	size_t count;
	int r = layout_list(v->io, db_fd, &names, &count), fd;

	if (r < 0)
		return diag_fail(diag, -r, "cannot list the database %s: %s", v->path,
				 strerror(-r));
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!layout_is_machine(names[i]))
			continue;
		fd = layout_open_dir(v->io, db_fd, names[i]);
		if (fd == -ENOTDIR || fd == -ENOENT)
			continue;
		if (layout_is_stray(fd)) {
			tell_stray(v, names[i], fd);
			continue;
		}
		v->machine = names[i];
		r = fd < 0 ? diag_fail(diag, -fd, "cannot open %s/%s: %s", v->path, names[i],
				       strerror(-fd))
			   : verify_machine(v, fd, diag);
		if (fd >= 0)
			v->io->close(v->io->arg, fd);
	}
	free(names);
	return r;
}

int db_verify(const char *path, const struct io *io, void (*finding)(void *arg, const char *what),
	      void *arg, struct db_verify_totals *ret, struct diag *diag)
{
	struct verify v = {.io = io, .path = path, .finding = finding, .arg = arg};
	int fd = layout_open_dir(io, AT_FDCWD, path), r;

	if (fd < 0)
		return layout_fail_open(path, fd, diag);
	r = verify_all(&v, fd, diag);
	io->close(io->arg, fd);
	if (r < 0)
		return r;
	*ret = v.totals;
	if (v.totals.damaged)
		return diag_fail(diag, EBADMSG, "%s: %llu damaged %s", path,
				 (unsigned long long)v.totals.damaged,
				 text_plural(v.totals.damaged, "part", "parts"));
	return 0;
}
