/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/check.h"
#include "db/layout.h"
#include "db/writer_state.h"

/* Checks the packs and adds up what they say of themselves. */
static int inspect(struct db_stream *s)
{
	size_t count = s->epoch.pack_count;
	struct check_totals totals = {0};
	int r = 0;

	s->inputs = calloc(count + 1, sizeof(*s->inputs));
	s->sums = db_batch_new(0);
	if (!s->inputs || !s->sums)
		return -ENOMEM;
	for (size_t i = 0; i < count && !r; i++) {
		const struct pack *p = s->epoch.packs[i];
		bool *good = calloc(p->catalog.entry_count + 1, sizeof(*good));

		if (!good)
			return -ENOMEM;
		s->inputs[i] = (struct merge_input){p, good};
		r = check_pack(p, NULL, NULL, good, &totals);
		s->damaged += totals.damaged;
		if (!r || r == -EBADMSG)
			r = db_batch_add_catalog(s->sums, &p->catalog);
	}
	s->about = writer_batch_catalog(s->sums);
	return r;
}

static int open_machine(const struct io *io, const char *db, const char *machine)
{
	int fd = layout_open_dir(io, AT_FDCWD, db), machine_fd;

	if (fd < 0)
		return fd;
	machine_fd = layout_enter_dir(io, fd, machine);
	io->close(io->arg, fd);
	return machine_fd;
}

int db_stream_open(const struct io *io, const char *db, const char *machine, const char *epoch,
		   struct db_stream *ret, struct diag *diag)
{
	int fd = open_machine(io, db, machine), r;

	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open %s of %s: %s", machine, db, strerror(-fd));
	r = epoch_open(io, fd, epoch, &epoch_whole, NULL, NULL, &ret->epoch, diag);
	io->close(io->arg, fd);
	if (r)
		return r;
	r = ret->epoch.unread ? ret->epoch.unread : inspect(ret);
	return r ? diag_fail(diag, -r, "cannot read epoch %s of %s: %s", epoch, machine,
			     strerror(-r))
		 : 0;
}

void db_stream_close(struct db_stream *s)
{
	for (size_t i = 0; s->inputs && i < s->epoch.pack_count; i++)
		free((bool *)s->inputs[i].good);
	free(s->inputs);
	db_batch_free(s->sums);
	epoch_close(&s->epoch);
	memset(s, 0, sizeof(*s));
}

bool db_stream_has_since(const struct db_stream *s, uint32_t flush)
{
	return s->epoch.upto <= flush;
}

/* The number of the flush that a pack holds; 0 for a base. */
static uint32_t flush_of(const struct pack *p)
{
	const char *name = strrchr(p->label, '/');
	uint32_t number = 0;

	layout_parse_segment(name ? name + 1 : p->label, &number);
	return number;
}

int db_stream_each(const struct db_stream *s, const struct db_kind *kind, uint32_t after,
		   int (*f)(void *arg, const void *item), void *arg)
{
	size_t first = 0;

	while (after && first < s->epoch.pack_count && flush_of(s->epoch.packs[first]) <= after)
		first++;
	return merge_each(kind, s->inputs + first, s->epoch.pack_count - first, f, arg);
}
