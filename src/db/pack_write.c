/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/layout.h"
#include "db/touches.h"
#include "util/hash.h"
#include "util/num.h"

struct pack_writer {
	const struct io *io;
	int dirfd, fd, level;
	char *name, *temporary;
	uint64_t size; /* written so far */
	struct catalog catalog;
	struct rows_builder *rows;
	struct edges_builder *edges; /* NULL before the first */
	struct stacks_builder *stacks;
	struct raws_builder *raws;
	struct image_id touch_image; /* of the last touch, its load, and the load's so far */
	uint64_t touch_from;
	uint32_t touch_count;
	struct intern *labels;	    /* names of images, numbered as in the catalog */
	struct image_id last_image; /* whose label was added last */
	struct buf entries;	    /* of struct catalog_entry; labels are indexes until the end */
	struct buf entry_labels;    /* of uint32_t, of all entries one after the other */
	uint32_t chunk_labels;	    /* of the chunk being built */
	struct buf out;
};

#define WRITER_LIST_MAX (256u << 20)

static void writer_free(struct pack_writer *w)
{
	if (w->fd >= 0)
		w->io->close(w->io->arg, w->fd);
	rows_builder_free(w->rows);
	edges_builder_free(w->edges);
	stacks_builder_free(w->stacks);
	raws_builder_free(w->raws);
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
	int r;

	buf_init(&stream, CHUNK_RAW_MAX);
	r = catalog_encode(&stream, c);
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
	int r;

	buf_append(&w->out, PACK_MAGIC, PACK_MAGIC_SIZE);
	buf_append_u32(&w->out, PACK_VERSION);
	buf_append_u32(&w->out, 0);
	if (!w->out.error)
		buf_append_u64(&w->out, chunk_sum(w->out.data, w->out.size));
	r = catalog_put(w, CHUNK_HEAD, head, &h);
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
	int r;

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
	w->rows = rows_builder_new();
	w->labels = intern_new(CATALOG_LABELS_MAX);
	w->name = strdup(name);
	if (!w->rows || !w->labels || !w->name || asprintf(&w->temporary, "%s.tmp", name) < 0) {
		w->temporary = NULL;
		writer_free(w);
		return diag_fail(diag, ENOMEM, "out of memory for writing %s", name);
	}
	w->fd = temporary_open(w);
	r = w->fd < 0 ? w->fd : head_put(w, head);
	if (r < 0) {
		pack_abandon(w);
		return diag_fail(diag, -r, "cannot write %s of the database: %s", name,
				 layout_write_error(-r));
	}
	*ret = w;
	return 0;
}

static int rows_put(struct pack_writer *w)
{
	struct chunk_header h;
	int r;

	if (!rows_builder_count(w->rows))
		return 0;
	r = rows_builder_finish(w->rows, w->level, &w->out, &h);
	return r < 0 ? r : chunk_put(w, &h, w->size);
}

static int edges_put(struct pack_writer *w)
{
	struct chunk_header h;
	int r;

	if (!w->edges || !edges_builder_count(w->edges))
		return 0;
	r = edges_builder_finish(w->edges, w->level, &w->out, &h);
	return r < 0 ? r : chunk_put(w, &h, w->size);
}

static int stacks_put(struct pack_writer *w)
{
	struct chunk_header h;
	int r;

	if (!w->stacks || !stacks_builder_count(w->stacks))
		return 0;
	r = stacks_builder_finish(w->stacks, w->level, &w->out, &h);
	return r < 0 ? r : chunk_put(w, &h, w->size);
}

static int raws_put(struct pack_writer *w)
{
	struct chunk_header h;
	int r;

	if (!w->raws || !raws_builder_count(w->raws))
		return 0;
	r = raws_builder_finish(w->raws, w->level, &w->out, &h);
	return r < 0 ? r : chunk_put(w, &h, w->size);
}

/* What is being built becomes a chunk. */
static int all_put(struct pack_writer *w)
{
	int r = rows_put(w);

	if (r == 0)
		r = edges_put(w);
	if (r == 0)
		r = stacks_put(w);
	return r < 0 ? r : raws_put(w);
}

/* Notes that the chunk being built holds this image. */
static int label_add(struct pack_writer *w, const struct image_id *image, struct db_bytes label)
{
	char text[IMAGE_ID_TEXT_MAX];
	uint32_t number;
	int r;

	if (w->chunk_labels && memcmp(&w->last_image, image, sizeof(w->last_image)) == 0)
		return 0;
	w->last_image = *image;
	if (!label.size) {
		image_id_format(image, text);
		label = (struct db_bytes){text, strlen(text)};
	}
	r = intern_add(w->labels, label.data, label.size, &number);
	if (r == 0)
		r = buf_append(&w->entry_labels, &number, sizeof(number));
	w->chunk_labels += r == 0;
	return r;
}

int pack_add_row(void *writer, const struct db_row *row)
{
	struct pack_writer *w = writer;
	int r = label_add(w, row->image, row->path);

	if (r == 0)
		r = rows_builder_add(w->rows, row);
	if (r == 0 && rows_builder_full(w->rows))
		r = rows_put(w);
	return r;
}

/* Whether a load has enough touches without this one. */
static bool is_touch_too_many(struct pack_writer *w, const struct db_edge_item *e)
{
	if (!db_event_is_touches(e->event))
		return false;
	if (w->touch_count && w->touch_from == e->from &&
	    memcmp(&w->touch_image, e->image, sizeof(w->touch_image)) == 0)
		return w->touch_count++ >= DB_TOUCHES_MAX;
	w->touch_image = *e->image;
	w->touch_from = e->from;
	w->touch_count = 1;
	return false;
}

int pack_add_edge(void *writer, const struct db_edge_item *e)
{
	struct pack_writer *w = writer;
	int r = rows_put(w);

	if (is_touch_too_many(w, e))
		return r;
	if (r == 0 && !w->edges) {
		w->edges = edges_builder_new();
		r = w->edges ? 0 : -ENOMEM;
	}
	if (r == 0 && !edges_builder_takes(w->edges, e))
		r = edges_put(w);
	if (r == 0)
		r = label_add(w, e->image, e->path);
	return r < 0 ? r : edges_builder_add(w->edges, e);
}

/* What it holds has no label: a stack goes through many images. */
int pack_add_stack(void *writer, const struct db_stack_item *s)
{
	struct pack_writer *w = writer;
	int r = rows_put(w);

	if (r == 0)
		r = edges_put(w);
	if (r == 0 && !w->stacks) {
		w->stacks = stacks_builder_new();
		r = w->stacks ? 0 : -ENOMEM;
	}
	if (r == 0 && !stacks_builder_takes(w->stacks, s))
		r = stacks_put(w);
	return r < 0 ? r : stacks_builder_add(w->stacks, s);
}

int pack_add_raw(void *writer, const struct db_raw_item *raw)
{
	struct pack_writer *w = writer;
	int r = rows_put(w);

	if (r == 0)
		r = edges_put(w);
	if (r == 0)
		r = stacks_put(w);
	if (r == 0 && !w->raws) {
		w->raws = raws_builder_new();
		r = w->raws ? 0 : -ENOMEM;
	}
	if (r == 0 && !raws_builder_takes(w->raws, raw))
		r = raws_put(w);
	if (r == 0)
		r = label_add(w, raw->image, raw->path);
	return r < 0 ? r : raws_builder_add(w->raws, raw);
}

int pack_add_chunk(struct pack_writer *w, const struct chunk_header *h, const void *whole)
{
	int r = all_put(w);

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
	int r;

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
	r = catalog_put(w, CHUNK_INDEX, c, &h);
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
	int r = all_put(w), closed;

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
