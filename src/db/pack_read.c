/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/pack.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/layout.h"
#include "util/num.h"
#include "util/text.h"

#define CATALOG_BYTES_MAX ((size_t)256 << 20)
#define SCAN_BLOCK	  65536
#define SCAN_BLOCK_FIRST  512 /* where a false start follows another, little is read for each */
/* What is searched of a file where nothing says that a chunk begins: somebody's file of a pack's
 * name may be as large as it likes. */
#define SCAN_SEARCH_MAX	 ((uint64_t)64 << 20)
#define SCAN_ENTRIES_MAX CATALOG_ENTRIES_MAX
#define TELL_LABELS	 8 /* images named in one message, the others counted */

void pack_close(struct pack *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		p->io->close(p->io->arg, p->fd);
	arena_free(p->arena);
	buf_free(&p->index_raw);
	free(p->label);
	free(p);
}

static void tell_labels(const struct pack *p, const struct catalog_entry *e, struct buf *out)
{
	char escaped[256];

	for (uint32_t i = 0; i < e->label_count && i < TELL_LABELS; i++) {
		const struct db_bytes *label = &p->catalog.labels[e->labels[i]];

		text_escape(escaped, sizeof(escaped), label->data, label->size);
		buf_printf(out, "%s%s", i ? ", " : " of ", escaped);
	}
	if (e->label_count > TELL_LABELS)
		buf_printf(out, " and %llu more %s",
			   TEXT_COUNT(e->label_count - TELL_LABELS, "image", "images"));
}

void pack_tell(const struct pack *p, const struct catalog_entry *e, pack_damage_fn *damage,
	       void *arg, const char *what)
{
	const struct db_kind *kind = e ? kind_of(e->chunk.type) : NULL;
	struct buf text;

	if (!damage)
		return;
	buf_init(&text, 8192);
	buf_printf(&text, "%s: %s", p->label, what);
	if (kind) {
		buf_printf(&text, "; lost: %" PRIu64 " %s %" PRIu32 " %s", e->chunk.samples,
			   text_plural(e->chunk.samples, kind->loss.one, kind->loss.many),
			   e->chunk.rows,
			   text_plural(e->chunk.rows, kind->items.one, kind->items.many));
		tell_labels(p, e, &text);
	}
	buf_append_u8(&text, 0);
	damage(arg, text.error ? p->label : (const char *)text.data);
	buf_free(&text);
}

__attribute__((format(printf, 5, 6))) static void tell_printf(const struct pack *p,
							      const struct catalog_entry *e,
							      pack_damage_fn *damage, void *arg,
							      const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	pack_tell(p, e, damage, arg, text);
}

static uint64_t entry_size(const struct catalog_entry *e)
{
	return (uint64_t)CHUNK_HEADER_SIZE + e->chunk.payload_size;
}

int pack_read_chunk(const struct pack *p, const struct catalog_entry *e, struct buf *ret_whole,
		    pack_damage_fn *damage, void *arg)
{
	uint64_t size = entry_size(e);
	struct chunk_header h;
	void *to;

	if (e->offset > p->size || size > p->size - e->offset) {
		tell_printf(p, e, damage, arg, "cut off in the chunk at byte %" PRIu64, e->offset);
		return -EBADMSG;
	}
	buf_clear(ret_whole);
	to = buf_reserve(ret_whole, size);
	if (!to)
		return -ENOMEM;
	int r = io_read_all(p->io, p->fd, to, size, e->offset);
	if (r < 0) {
		tell_printf(p, e, damage, arg, "cannot read the chunk at byte %" PRIu64 ": %s",
			    e->offset, strerror(-r));
		return r;
	}
	ret_whole->size = size;
	if (chunk_sum(ret_whole->data + CHUNK_HEADER_SIZE, e->chunk.payload_size) !=
	    e->chunk.payload_sum) {
		tell_printf(p, e, damage, arg, "wrong checksum of the chunk at byte %" PRIu64,
			    e->offset);
		return -EBADMSG;
	}
	if (chunk_header_decode(ret_whole->data, &h) < 0 || h.payload_sum != e->chunk.payload_sum ||
	    h.type != e->chunk.type || h.rows != e->chunk.rows || h.samples != e->chunk.samples)
		tell_printf(p, NULL, damage, arg,
			    "damaged header of the chunk at byte %" PRIu64 "; nothing is lost",
			    e->offset);
	return 0;
}

/* The entry of the chunk that starts at offset, by its own header. */
static int entry_at(const struct pack *p, uint64_t offset, struct catalog_entry *ret)
{
	uint8_t bytes[CHUNK_HEADER_SIZE];

	if (offset > p->size || p->size - offset < CHUNK_HEADER_SIZE)
		return -EBADMSG;
	int r = io_read_all(p->io, p->fd, bytes, sizeof(bytes), offset);
	*ret = (struct catalog_entry){.offset = offset};
	return r < 0 ? r : chunk_header_decode(bytes, &ret->chunk);
}

/* Takes the catalog of a head or an index chunk. */
static int catalog_take(struct pack *p, const struct catalog_entry *e)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct buf whole;

	buf_init(&whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	int r = pack_read_chunk(p, e, &whole, NULL, NULL);
	if (r == 0)
		r = chunk_open(whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &p->index_raw,
			       streams);
	if (r == 0)
		r = catalog_decode(&streams[0], p->arena, &p->catalog);
	buf_free(&whole);
	return r;
}

/* Finds the index through the trailer. */
static int index_find(struct pack *p)
{
	uint8_t bytes[PACK_TRAILER_SIZE];
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	struct catalog_entry e;
	uint64_t offset;

	if (p->size < PACK_HEADER_SIZE + PACK_TRAILER_SIZE)
		return -EBADMSG;
	int r = io_read_all(p->io, p->fd, bytes, sizeof(bytes), p->size - sizeof(bytes));
	if (r < 0)
		return r;
	offset = cursor_u64(&c);
	if (cursor_u64(&c) != chunk_sum(bytes, 8) ||
	    memcmp(cursor_bytes(&c, PACK_MAGIC_SIZE), PACK_END_MAGIC, PACK_MAGIC_SIZE) != 0)
		return -EBADMSG;
	r = entry_at(p, offset, &e);
	if (r == 0 && e.chunk.type != CHUNK_INDEX)
		r = -EBADMSG;
	if (r == 0)
		r = catalog_take(p, &e);
	p->indexed = r == 0;
	p->index_end = r == 0 ? offset + entry_size(&e) : 0;
	p->index_sum = r == 0 ? e.chunk.payload_sum : 0;
	return r;
}

/*
 * The next place at or after offset where a chunk may start; the file's size when there is none. At
 * most *left bytes are read, and taken off it; when these do not do, -EFBIG and the place they
 * reach.
 */
static int magic_find(const struct pack *p, uint64_t offset, uint8_t *block, uint64_t *left,
		      uint64_t *ret)
{
	size_t size, want = SCAN_BLOCK_FIRST;
	const uint8_t *found;
	int r;

	for (; offset < p->size; want = want < SCAN_BLOCK ? 2 * want : want) {
		size = p->size - offset < want ? p->size - offset : want;
		if (size > *left) {
			*ret = offset;
			return -EFBIG;
		}
		*left -= size;
		r = io_read_all(p->io, p->fd, block, size, offset);
		if (r < 0)
			return r;
		found = memmem(block, size, CHUNK_MAGIC, CHUNK_MAGIC_SIZE);
		if (found) {
			*ret = offset + (size_t)(found - block);
			return 0;
		}
		if (size < CHUNK_MAGIC_SIZE)
			break;
		offset += size - CHUNK_MAGIC_SIZE + 1;
	}
	*ret = p->size;
	return 0;
}

static void scan_tell(const struct pack *p, uint64_t from, uint64_t to, pack_damage_fn *damage,
		      void *arg)
{
	/* What stands where a trailer stands is not more than that. */
	if (from < to && !(to == p->size && to - from == PACK_TRAILER_SIZE))
		tell_printf(p, NULL, damage, arg,
			    "bytes %" PRIu64 " to %" PRIu64 " belong to no chunk; lost: unknown",
			    from, to - 1);
}

/*
 * Collects the chunks by their headers: from chunk to chunk, and over what is damaged to the next
 * magic. A chunk that the end of the file cuts is told by its header and left out.
 */
static int scan_chunks(struct pack *p, struct buf *entries, pack_damage_fn *damage, void *arg)
{
	uint64_t at = PACK_HEADER_SIZE, good = at, left = SCAN_SEARCH_MAX;
	uint8_t *block = malloc(SCAN_BLOCK);
	struct catalog_entry e;
	int r = block ? 0 : -ENOMEM;

	while (r == 0 && at < p->size) {
		r = entry_at(p, at, &e);
		if (r == 0 && entry_size(&e) <= p->size - at) {
			scan_tell(p, good, at, damage, arg);
			at = good = at + entry_size(&e);
			r = buf_append(entries, &e, sizeof(e));
			continue;
		}
		if (r == 0) {
			scan_tell(p, good, at, damage, arg);
			tell_printf(p, &e, damage, arg, "cut off in the chunk at byte %" PRIu64,
				    at);
			good = p->size;
			break;
		}
		if (r == -EBADMSG)
			r = magic_find(p, at + 1, block, &left, &at);
	}
	if (r == -EFBIG && at < p->size) {
		scan_tell(p, good, at, damage, arg);
		tell_printf(p, NULL, damage, arg,
			    "bytes %" PRIu64 " to %" PRIu64
			    " are not searched: too many before them are no chunk's",
			    at, p->size - 1);
		good = p->size;
		r = 0;
	}
	if (r == 0)
		scan_tell(p, good, p->size, damage, arg);
	free(block);
	return r;
}

/* Takes what the scan found as the list of chunks, and tells what the head says is missing. */
static int scan_take(struct pack *p, const struct buf *found, bool headed, pack_damage_fn *damage,
		     void *arg)
{
	struct catalog *c = &p->catalog;
	uint64_t samples = 0;

	c->entries = arena_alloc(p->arena, found->size + 1);
	if (!c->entries)
		return -ENOMEM;
	if (found->size)
		memcpy(c->entries, found->data, found->size);
	c->entry_count = (uint32_t)(found->size / sizeof(*c->entries));
	for (uint32_t i = 0; i < c->entry_count; i++)
		if (c->entries[i].chunk.type == CHUNK_ROWS)
			samples = num_add_sat(samples, c->entries[i].chunk.samples);
	if (!headed)
		pack_tell(p, NULL, damage, arg,
			  "both head and index are damaged; lost: the counters and facts");
	else if (samples < c->samples)
		tell_printf(p, NULL, damage, arg,
			    "chunks are missing; lost in all: %" PRIu64 " of %" PRIu64 " samples",
			    c->samples - samples, c->samples);
	p->lost_samples = samples < c->samples ? c->samples - samples : 0;
	c->samples = samples;
	return 0;
}

/* Without the trailer's help. The index may still be there, and has more to say than the head. */
static int scan_pack(struct pack *p, pack_damage_fn *damage, void *arg)
{
	const struct catalog_entry *e;
	struct buf found;
	bool headed = false;
	uint32_t count;

	buf_init(&found, SCAN_ENTRIES_MAX * sizeof(*e));
	int r = scan_chunks(p, &found, damage, arg);
	e = (const struct catalog_entry *)found.data;
	count = (uint32_t)(found.size / sizeof(*e));
	for (uint32_t i = count; i-- > 0 && r == 0 && !p->indexed;)
		p->indexed = e[i].chunk.type == CHUNK_INDEX && catalog_take(p, &e[i]) == 0;
	for (uint32_t i = 0; i < count && r == 0 && !p->indexed && !headed; i++)
		headed = e[i].chunk.type == CHUNK_HEAD && catalog_take(p, &e[i]) == 0;
	if (r == 0 && !p->indexed)
		r = scan_take(p, &found, headed, damage, arg);
	buf_free(&found);
	return r;
}

/* -EPROTONOSUPPORT when an undamaged header says so; a damaged one is told. */
static int header_check(const struct pack *p, pack_damage_fn *damage, void *arg, struct diag *diag)
{
	uint8_t bytes[PACK_HEADER_SIZE];
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint32_t version;
	int r = io_read_all(p->io, p->fd, bytes, sizeof(bytes), 0);

	if (r == 0 && (memcmp(cursor_bytes(&c, PACK_MAGIC_SIZE), PACK_MAGIC, PACK_MAGIC_SIZE) ||
		       memcmp(bytes + sizeof(bytes) - 8,
			      &(uint64_t){chunk_sum(bytes, sizeof(bytes) - 8)}, 8)))
		r = -EBADMSG;
	if (r == -EBADMSG) {
		pack_tell(p, NULL, damage, arg, "damaged file header");
		return 0;
	}
	if (r < 0)
		return diag_fail(diag, -r, "cannot read %s: %s", p->label, strerror(-r));
	version = cursor_u32(&c);
	if (version != PACK_VERSION)
		return diag_fail(diag, EPROTONOSUPPORT,
				 "%s has format version %" PRIu32 ", this culprit reads %d: use a "
				 "newer culprit",
				 p->label, version, PACK_VERSION);
	return 0;
}

static int pack_load(struct pack *p, pack_damage_fn *damage, void *arg, struct diag *diag)
{
	struct stat st;
	int r = p->io->stat(p->io->arg, p->fd, &st);

	if (r < 0)
		return diag_fail(diag, -r, "cannot read %s: %s", p->label, strerror(-r));
	if (!S_ISREG(st.st_mode))
		return diag_fail(diag, EBADMSG, "%s is not a regular file", p->label);
	p->size = (uint64_t)st.st_size;
	r = header_check(p, damage, arg, diag);
	if (r < 0)
		return r;
	r = index_find(p);
	if (r == -EBADMSG) {
		pack_tell(p, NULL, damage, arg,
			  "damaged or missing index; its chunks were searched");
		r = scan_pack(p, damage, arg);
	}
	if (r == -ENOMEM)
		return diag_fail(diag, ENOMEM, "%s: out of memory, or its index is too big",
				 p->label);
	if (r < 0)
		return diag_fail(diag, -r, "cannot read %s: %s", p->label, strerror(-r));
	return 0;
}

int pack_open(const struct io *io, int dirfd, const char *name, const char *label,
	      pack_damage_fn *damage, void *arg, struct pack **ret, struct diag *diag)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return diag_fail(diag, ENOMEM, "out of memory for reading %s", label);
	p->io = io;
	p->fd = -1;
	buf_init(&p->index_raw, CHUNK_RAW_MAX + 1);
	p->label = strdup(label);
	p->arena = arena_new(CATALOG_BYTES_MAX);
	if (!p->label || !p->arena) {
		pack_close(p);
		return diag_fail(diag, ENOMEM, "out of memory for reading %s", label);
	}
	p->fd = layout_open_file(io, dirfd, name);
	int r = p->fd < 0 ? diag_fail(diag, -p->fd, "cannot open %s: %s", label, strerror(-p->fd))
			  : pack_load(p, damage, arg, diag);
	if (r < 0) {
		pack_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

int pack_verify_frame(const struct pack *p, pack_damage_fn *damage, void *arg)
{
	uint64_t at = PACK_HEADER_SIZE;
	struct catalog_entry index;

	if (!p->index_end) /* told when it was opened */
		return -EBADMSG;
	for (uint32_t i = 0; i < p->catalog.entry_count; i++) {
		if (p->catalog.entries[i].offset != at)
			break;
		at += entry_size(&p->catalog.entries[i]);
	}
	int r = entry_at(p, at, &index);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r < 0 || at + entry_size(&index) != p->index_end ||
	    p->index_end + PACK_TRAILER_SIZE != p->size) {
		pack_tell(p, NULL, damage, arg, "the index does not account for every byte");
		return -EBADMSG;
	}
	return 0;
}
