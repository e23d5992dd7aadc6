/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/layout.h"
#include "util/hash.h"
#include "util/num.h"

struct pack_writer {
	const struct io *io;
	int dirfd, fd, level;
	char *name, *temporary;
	uint64_t size; /* written so far */
	struct catalog catalog;
	const struct db_kind *kind; /* of the items that come; NULL: of none */
	void *builder;		    /* of the chunk being built; NULL: of none */
	struct chunk_header built;  /* what is in it */
	struct intern *labels;	    /* names of images, numbered as in the catalog */
	struct image_id last_image; /* whose label was added last */
	struct buf entries;	    /* of struct catalog_entry; labels are indexes until the end */
	struct buf entry_labels;    /* of uint32_t, of all entries one after the other */
	uint32_t chunk_labels;	    /* of the chunk being built */
	struct buf out;
};

#define WRITER_LIST_MAX (256u << 20)

static void builder_drop(struct pack_writer *w)
{
	if (w->builder)
		kind_builder_free(w->kind, w->builder);
	w->builder = NULL;
	w->built = (struct chunk_header){0};
}

static void writer_free(struct pack_writer *w)
{
	if (w->fd >= 0)
		w->io->close(w->io->arg, w->fd);
	builder_drop(w);
	intern_free(w->labels);
	buf_free(&w->entries);
	buf_free(&w->entry_labels);
	buf_free(&w->out);
	free(w->name);
	free(w->temporary);
	free(w);
}

void pack_abandon(struct pack_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		w->io->unlink(w->io->arg, w->dirfd, w->temporary, 0);
	writer_free(w);
}

static int out_write(struct pack_writer *w)
{
	int r = w->out.error;

	if (r == 0)
		r = io_write_all(w->io, w->fd, w->out.data, w->out.size);
	w->size += w->out.size;
	buf_clear(&w->out);
	return r;
}

/* Notes the chunk at the end of out, and writes it. */
static int chunk_put(struct pack_writer *w, const struct chunk_header *h, uint64_t offset)
{
	struct catalog_entry e = {.offset = offset, .chunk = *h, .label_count = w->chunk_labels};

	w->chunk_labels = 0;
	buf_append(&w->entries, &e, sizeof(e));
	if (w->entries.error)
		return w->entries.error;
	if (h->type == CHUNK_ROWS) {
		w->catalog.rows += h->rows;
		w->catalog.samples = num_add_sat(w->catalog.samples, h->samples);
	}
	return out_write(w);
}

static int catalog_put(struct pack_writer *w, enum chunk_type type, const struct catalog *c,
		       struct chunk_header *ret)
{
	struct chunk_header h = {.type = type};
	struct buf stream;

	buf_init(&stream, CHUNK_RAW_MAX);
	int r = catalog_encode(&stream, c);
	if (r == 0)
		r = chunk_append(&w->out, &h, &stream, 1, w->level);
	buf_free(&stream);
	if (r == 0)
		*ret = h;
	return r;
}

static int head_put(struct pack_writer *w, const struct catalog *head)
{
	struct chunk_header h;

	buf_append(&w->out, PACK_MAGIC, PACK_MAGIC_SIZE);
	buf_append_u32(&w->out, PACK_VERSION);
	buf_append_u32(&w->out, 0);
	if (!w->out.error)
		buf_append_u64(&w->out, chunk_sum(w->out.data, w->out.size));
	int r = catalog_put(w, CHUNK_HEAD, head, &h);
	return r < 0 ? r : chunk_put(w, &h, PACK_HEADER_SIZE);
}

/* A new file: one of that name is left over, or is somebody's link. */
static int temporary_open(const struct pack_writer *w)
{
	const struct io *io = w->io;
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = io->open(io->arg, w->dirfd, w->temporary, flags, 0640);

	if (fd != -EEXIST)
		return fd;
	layout_make_way(io, w->dirfd, w->temporary);
	return io->open(io->arg, w->dirfd, w->temporary, flags, 0640);
}

int pack_create(const struct io *io, int dirfd, const char *name, const struct catalog *head,
		int zstd_level, struct pack_writer **ret, struct diag *diag)
{
	struct pack_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return diag_fail(diag, ENOMEM, "out of memory for writing %s", name);
	w->io = io;
	w->dirfd = dirfd;
	w->fd = -1;
	w->level = zstd_level;
	buf_init(&w->out, 2 * CHUNK_PAYLOAD_MAX);
	buf_init(&w->entries, WRITER_LIST_MAX);
	buf_init(&w->entry_labels, WRITER_LIST_MAX);
	w->catalog = *head;
	w->catalog.rows = w->catalog.samples = 0;
	w->labels = intern_new(CATALOG_LABELS_MAX);
	w->name = strdup(name);
	if (!w->labels || !w->name || asprintf(&w->temporary, "%s.tmp", name) < 0) {
		w->temporary = NULL;
		writer_free(w);
		return diag_fail(diag, ENOMEM, "out of memory for writing %s", name);
	}
	w->fd = temporary_open(w);
	int r = w->fd < 0 ? w->fd : head_put(w, head);
	if (r < 0) {
		pack_abandon(w);
		return diag_fail(diag, -r, "cannot write %s of the database: %s", name,
				 layout_write_error(-r));
	}
	*ret = w;
	return 0;
}

/* What is being built, if anything, becomes a chunk. */
static int built_put(struct pack_writer *w)
{
	struct buf streams[CHUNK_STREAMS_MAX];
	struct chunk_header h = w->built;

	if (!w->builder)
		return 0;
	h.type = w->kind->type;
	chunk_streams_init(streams, w->kind->stream_count);
	int r = w->kind->encode(w->builder, streams);
	if (r == 0)
		r = chunk_append(&w->out, &h, streams, w->kind->stream_count, w->level);
	chunk_streams_free(streams, w->kind->stream_count);
	builder_drop(w);
	return r < 0 ? r : chunk_put(w, &h, w->size);
}

/* Notes that the chunk being built holds this image. */
static int label_add(struct pack_writer *w, const void *item)
{
	const struct image_id *image =
		*(const struct image_id *const *)((const char *)item + w->kind->image_at);
	struct db_bytes label = *(const struct db_bytes *)((const char *)item + w->kind->path_at);
	char text[IMAGE_ID_TEXT_MAX];
	uint32_t number;

	if (w->chunk_labels && memcmp(&w->last_image, image, sizeof(w->last_image)) == 0)
		return 0;
	w->last_image = *image;
	if (!label.size) {
		image_id_format(image, text);
		label = (struct db_bytes){text, strlen(text)};
	}
	int r = intern_add(w->labels, label.data, label.size, &number);
	if (r == 0)
		r = buf_append(&w->entry_labels, &number, sizeof(number));
	w->chunk_labels += r == 0;
	return r;
}

int pack_begin(struct pack_writer *w, const struct db_kind *kind)
{
	int r = built_put(w);

	w->kind = kind;
	return r;
}

int pack_add(void *writer, const void *item)
{
	struct pack_writer *w = writer;
	int r = 0;

	if (w->builder && !kind_builder_takes(w->kind, w->builder, item))
		r = built_put(w);
	if (r == 0 && !w->builder) {
		w->builder = kind_builder_new(w->kind);
		r = w->builder ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = w->kind->add(w->builder, item);
	if (r)
		return r < 0 ? r : 0;
	w->built.rows++;
	w->built.samples = num_add_sat(w->built.samples, kind_count(w->kind, item));
	return w->kind->is_labelled ? label_add(w, item) : 0;
}

int pack_add_chunk(struct pack_writer *w, const struct chunk_header *h, const void *whole)
{
	int r = built_put(w);

	if (r == 0)
		r = buf_append(&w->out, whole, CHUNK_HEADER_SIZE + h->payload_size);
	return r < 0 ? r : chunk_put(w, h, w->size);
}

/* The index and the trailer. */
static int end_put(struct pack_writer *w)
{
	struct catalog *c = &w->catalog;
	struct chunk_header h;
	uint64_t offset = w->size;
	uint32_t *labels = (uint32_t *)w->entry_labels.data;

	c->entries = (struct catalog_entry *)w->entries.data;
	c->entry_count = (uint32_t)(w->entries.size / sizeof(*c->entries));
	for (uint32_t i = 0; i < c->entry_count; i++) {
		c->entries[i].labels = labels;
		if (labels)
			labels += c->entries[i].label_count;
	}
	c->label_count = intern_count(w->labels);
	c->labels = calloc(c->label_count + 1, sizeof(*c->labels));
	if (!c->labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->label_count; i++)
		c->labels[i].data = intern_get(w->labels, i, &c->labels[i].size);
	int r = catalog_put(w, CHUNK_INDEX, c, &h);
	free(c->labels);
	if (r < 0)
		return r;
	buf_append_u64(&w->out, offset);
	if (!w->out.error)
		buf_append_u64(&w->out, chunk_sum(w->out.data + w->out.size - 8, 8));
	buf_append(&w->out, PACK_END_MAGIC, PACK_MAGIC_SIZE);
	return out_write(w);
}

static int take_name(const struct pack_writer *w)
{
	const struct io *io = w->io;
	int r = io->rename(io->arg, w->dirfd, w->temporary, w->name);

	if (r == -EISDIR)
		r = layout_make_way(io, w->dirfd, w->name)
			    ?: io->rename(io->arg, w->dirfd, w->temporary, w->name);
	return r;
}

int pack_finish(struct pack_writer *w, uint64_t *ret_bytes, struct diag *diag)
{
	const struct io *io = w->io;
	int r = built_put(w), closed;

	if (r == 0)
		r = end_put(w);
	if (r == 0)
		r = io->sync_data(io->arg, w->fd);
	closed = io->close(io->arg, w->fd);
	w->fd = -1;
	if (r == 0)
		r = closed;
	if (r == 0)
		r = take_name(w);
	if (r < 0) {
		io->unlink(io->arg, w->dirfd, w->temporary, 0);
	} else {
		r = io->sync_dir(io->arg, w->dirfd);
		/* Not known to be durable, so not acknowledged: best that nobody sees it. */
		if (r < 0)
			io->unlink(io->arg, w->dirfd, w->name, 0);
	}
	if (r < 0)
		diag_fail(diag, -r, "cannot write %s of the database: %s", w->name,
			  layout_write_error(-r));
	else
		*ret_bytes = w->size;
	writer_free(w);
	return r;
}
