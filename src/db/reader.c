/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/epoch.h"
#include "db/layout.h"
#include "db/reader_state.h"
#include "util/array.h"
#include "util/num.h"

/* How far apart the clocks of machines that share a database may be. */
#define FUTURE_SLACK_NS (60 * 1000000000ull)

static void refs_free(struct db_reader *r)
{
	for (size_t i = 0; i < r->ref_count; i++) {
		free(r->refs[i].machine);
		free(r->refs[i].name);
	}
	free(r->refs);
	free(r->infos);
	free(r->chosen);
	r->refs = NULL;
	r->infos = NULL;
	r->chosen = NULL;
	r->ref_count = r->chosen_count = 0;
}

void db_reader_free(struct db_reader *r)
{
	if (!r)
		return;
	refs_free(r);
	for (size_t i = 0; i < r->note_count; i++)
		free(r->notes[i]);
	if (r->db_fd >= 0)
		r->io->close(r->io->arg, r->db_fd);
	free(r->path);
	free(r->machine);
	free(r);
}

void reader_note(struct db_reader *r, const char *note)
{
	for (size_t i = 0; i < r->note_count; i++)
		if (!strcmp(r->notes[i], note))
			return;
	if (r->note_count < READER_NOTES_MAX)
		r->notes[r->note_count] = strdup(note);
	if (r->note_count < READER_NOTES_MAX && r->notes[r->note_count])
		r->note_count++;
	else
		r->notes_refused++;
}

void reader_note_damage(struct db_reader *r, const char *what)
{
	char *note;

	r->damages++;
	if (asprintf(&note, DB_NOTE_DAMAGED "%s", what) < 0) {
		r->notes_refused++;
		return;
	}
	reader_note(r, note);
	free(note);
}

void reader_note_stray(struct db_reader *r, const char *name, int error)
{
	char text[320];

	snprintf(text, sizeof(text), "%.128s was passed over: %s", name,
		 error == -ENOTDIR || error == -ELOOP ? "it is not a directory" : strerror(-error));
	reader_note_damage(r, text);
}

const char *const *db_reader_take_notes(struct db_reader *r, size_t *ret_count, size_t *ret_more)
{
	size_t first = r->notes_taken;

	*ret_count = r->note_count - first;
	*ret_more = r->notes_refused;
	r->notes_taken = r->note_count;
	r->notes_refused = 0;
	return (const char *const *)r->notes + first;
}

size_t db_reader_damages(const struct db_reader *r)
{
	return r->damages;
}

static int ref_add(struct db_reader *r, const char *machine, const char *name)
{
	struct epoch_ref *to;

	if (array_grow_short(&r->refs, r->ref_count, sizeof(*r->refs)))
		return -ENOMEM;
	to = &r->refs[r->ref_count];
	*to = (struct epoch_ref){
		.machine = strdup(machine),
		.name = strdup(name),
		.future = layout_epoch_time_ns(name) > num_add_sat(r->now_ns, FUTURE_SLACK_NS),
	};
	if (!to->machine || !to->name) {
		free(to->machine);
		free(to->name);
		return -ENOMEM;
	}
	r->ref_count++;
	return 0;
}

static int list_machine(struct db_reader *r, const char *machine, struct diag *diag)
{
	int fd = layout_open_dir(r->io, r->db_fd, machine), err;
	char **names;
	size_t count;

	if (fd == -ENOTDIR || fd == -ENOENT)
		return 0;
	if (layout_is_stray(fd)) {
		reader_note_stray(r, machine, fd);
		return 0;
	}
	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open %s/%s: %s", r->path, machine,
				 strerror(-fd));
	err = layout_read_meta(r->io, fd, machine, diag);
	/* A damaged one is verify's business: packs have their own version. */
	if (err != -EPROTONOSUPPORT) {
		err = layout_list_epochs(r->io, fd, &names, &count);
		if (err < 0)
			diag_fail(diag, -err, "cannot list %s/%s: %s", r->path, machine,
				  strerror(-err));
	}
	if (err == 0) {
		for (size_t i = 0; i < count && err == 0; i++)
			err = ref_add(r, machine, names[i]);
		free(names);
		if (err < 0)
			diag_fail(diag, -err, "out of memory for the list of epochs");
	}
	r->io->close(r->io->arg, fd);
	return err;
}

static int compare_refs(const void *a, const void *b)
{
	const struct epoch_ref *x = a, *y = b;
	int order = layout_compare_epochs(x->name, y->name);

	return order ? order : strcmp(x->machine, y->machine);
}

int reader_list(struct db_reader *r, struct diag *diag)
{
	struct io_time now;
	char **names;
	size_t count;
	int err = layout_list(r->io, r->db_fd, &names, &count);

	r->io->time(r->io->arg, &now);
	r->now_ns = now.wall_ns;

	if (err < 0)
		return diag_fail(diag, -err, "cannot list the database %s: %s", r->path,
				 strerror(-err));
	refs_free(r);
	for (size_t i = 0; i < count && err == 0; i++)
		if (layout_is_machine(names[i]))
			err = list_machine(r, names[i], diag);
	free(names);
	if (err == 0 && r->ref_count)
		array_sort(r->refs, r->ref_count, sizeof(*r->refs), compare_refs);
	return err;
}

int db_reader_open(const char *path, const struct io *io, struct db_reader **ret, struct diag *diag)
{
	struct db_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return diag_fail(diag, ENOMEM, "out of memory for the database %s", path);
	r->io = io;
	r->db_fd = -1;
	r->path = strdup(path);
	if (!r->path) {
		db_reader_free(r);
		return diag_fail(diag, ENOMEM, "out of memory for the database %s", path);
	}
	r->db_fd = layout_open_dir(io, AT_FDCWD, path);
	if (r->db_fd < 0)
		err = layout_fail_open(path, r->db_fd, diag);
	else
		err = reader_list(r, diag);
	if (err < 0) {
		db_reader_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

static void note_damage(void *arg, const char *what)
{
	reader_note_damage(arg, what);
}

int reader_load(struct db_reader *r, struct epoch_ref *ref, struct diag *diag)
{
	struct epoch e;
	int fd, err;

	if (ref->loaded)
		return 0;
	fd = layout_open_dir(r->io, r->db_fd, ref->machine);
	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open %s/%s: %s", r->path, ref->machine,
				 strerror(-fd));
	err = epoch_open(r->io, fd, ref->name, &epoch_whole, note_damage, r, &e, diag);
	r->io->close(r->io->arg, fd);
	if (err < 0)
		return err;
	ref->info = (struct db_epoch){
		.machine = ref->machine,
		.name = ref->name,
		.bytes = e.bytes,
		.files = (unsigned)e.pack_count,
		.sealed = e.sealed,
		.future = ref->future,
	};
	epoch_summarize(&e, ref->name, &ref->info.start_ns, &ref->info.end_ns, &ref->info.samples);
	epoch_close(&e);
	ref->loaded = true;
	return 0;
}

int db_reader_epochs(struct db_reader *r, const struct db_epoch **ret, size_t *ret_count,
		     struct diag *diag)
{
	size_t count = 0;
	int err = reader_list(r, diag);

	if (err < 0)
		return err;
	r->infos = calloc(r->ref_count + 1, sizeof(*r->infos));
	if (!r->infos)
		return diag_fail(diag, ENOMEM, "out of memory for the list of epochs");
	for (size_t i = 0; i < r->ref_count; i++) {
		err = reader_load(r, &r->refs[i], diag);
		if (err == 0)
			r->infos[count++] = r->refs[i].info;
		else if (layout_is_stray(err))
			reader_note_stray(r, r->refs[i].name, err);
		else if (err != -ENOENT) /* removed since it was listed */
			return err;
	}
	*ret = r->infos;
	*ret_count = count;
	return 0;
}
