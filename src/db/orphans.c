/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "db/dict.h"
#include "db/epoch.h"
#include "db/writer_state.h"
#include "util/num.h"

/* Removes blobs of images whose last samples retention has removed. */

#define ORPHAN_IMAGES_MAX (1u << 20)
#define ORPHAN_ARENA_MAX  ((size_t)256 << 20)
/* A younger blob may belong to samples that are not flushed yet. */
#define ORPHAN_AGE_NS (24 * 3600 * 1000000000ull)

/* The names of the images with which stream 0 begins. */
static int collect_images(const struct db_bytes *stream, struct intern *ids)
{
	struct cursor c = cursor_over(stream->data, stream->size);
	struct arena *a = arena_new(ORPHAN_ARENA_MAX);
	char text[IMAGE_ID_TEXT_MAX];
	struct dict_images images = {0};
	uint32_t index;
	int r = -ENOMEM;

	if (a) {
		dict_images_decode(&c, a, &images);
		r = c.error;
	}
	for (uint32_t i = 0; r == 0 && i < images.count; i++) {
		image_id_format(&images.ids[i], text);
		r = intern_add(ids, text, strlen(text), &index);
	}
	arena_free(a);
	return r;
}

/*
 * Every kind of chunk begins with the images that it names (sampled ones, callers, targets), one
 * that this version does not know too. Where such a one does not, nobody can tell what is in use:
 * -EOPNOTSUPP.
 */
static int collect_chunk(const struct pack *p, const struct catalog_entry *e, struct buf *whole,
			 struct buf *raw, struct intern *ids)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];

	if (e->chunk.type == CHUNK_HEAD || e->chunk.type == CHUNK_INDEX)
		return 0;
	int r = pack_read_chunk(p, e, whole, NULL, NULL);
	if (r < 0)
		return r == -EBADMSG ? 0 : r; /* what is lost needs no blob */
	r = chunk_open(whole->data + CHUNK_HEADER_SIZE, e->chunk.payload_size, raw, streams);
	if (r == 0)
		r = collect_images(&streams[0], ids);
	if (r == -EBADMSG)
		return kind_is_unknown(e->chunk.type) ? -EOPNOTSUPP : 0;
	return r;
}

static int collect_epoch(struct db_writer *w, const char *name, struct intern *ids,
			 struct diag *diag)
{
	struct buf whole, raw;
	struct epoch e;
	int r = epoch_open(w->io, w->machine_fd, name, &epoch_whole, NULL, NULL, &e, diag);

	if (r == -ENOTDIR) /* something else of such a name holds no samples */
		return 0;
	if (r < 0)
		return r;
	buf_init(&whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	buf_init(&raw, CHUNK_RAW_MAX + 1);
	/* Not knowing all that is in use, nothing may be removed. */
	r = e.unread;
	for (size_t i = 0; i < e.pack_count && r == 0; i++) {
		const struct catalog *c = &e.packs[i]->catalog;

		for (uint32_t n = 0; n < c->entry_count && r == 0; n++)
			r = collect_chunk(e.packs[i], &c->entries[n], &whole, &raw, ids);
	}
	buf_free(&whole);
	buf_free(&raw);
	epoch_close(&e);
	if (r < 0 && r != -EOPNOTSUPP)
		diag_fail(diag, -r, "cannot read epoch %s: %s", name, strerror(-r));
	return r;
}

/* A wall clock that was ahead has written it, or is ahead now: neither makes it old too early. */
static bool is_old(const struct db_writer *w, const struct io_time *now, int fd, const char *name)
{
	const struct io *io = w->io;
	int file = layout_open_file(io, fd, name);
	uint64_t now_ns = now->wall_ns < w->age.ns ? now->wall_ns : w->age.ns, written_ns;
	struct stat st;
	bool old = false;

	if (file < 0)
		return false;
	if (io->stat(io->arg, file, &st) == 0 && S_ISREG(st.st_mode)) {
		written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u;
		old = num_add_sat(written_ns, ORPHAN_AGE_NS) < now_ns ||
		      written_ns > num_add_sat(now->wall_ns, ORPHAN_AGE_NS);
	}
	io->close(io->arg, file);
	return old;
}

static int remove_blobs(struct db_writer *w, const struct intern *ids)
{
	const struct io *io = w->io;
	int fd = layout_enter_dir(io, w->machine_fd, LAYOUT_IMAGES), r;
	struct io_time now;
	uint32_t index;
	char **names;
	size_t count;

	if (fd < 0)
		return fd == -ENOENT || layout_is_stray(fd) ? 0 : fd;
	io->time(io->arg, &now);
	r = layout_list(io, fd, &names, &count);
	if (r == 0) {
		for (size_t i = 0; i < count && r == 0; i++)
			if (intern_find(ids, names[i], strcspn(names[i], "."), &index) < 0 &&
			    is_old(w, &now, fd, names[i]))
				r = io->unlink(io->arg, fd, names[i], 0);
		free(names);
	}
	io->close(io->arg, fd);
	return r == -ENOENT ? 0 : r;
}

int writer_remove_orphans(struct db_writer *w, struct diag *diag)
{
	struct intern *ids = intern_new(ORPHAN_IMAGES_MAX);
	char **names;
	size_t count;
	int r = ids ? layout_list_epochs(w->io, w->machine_fd, &names, &count) : -ENOMEM;

	if (r < 0) {
		intern_free(ids);
		return diag_fail(diag, -r, "cannot list the epochs of %s: %s", w->path,
				 strerror(-r));
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = collect_epoch(w, names[i], ids, diag);
	free(names);
	if (r == 0) {
		r = remove_blobs(w, ids);
		if (r < 0)
			diag_fail(diag, -r, "cannot tidy %s/%s/" LAYOUT_IMAGES ": %s", w->path,
				  w->machine, strerror(-r));
	}
	intern_free(ids);
	return r == -EOPNOTSUPP ? 0 : r;
}
