/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/blob.h"
#include "fleet/push_state.h"

/* What reports need of an image beside samples: once for each image and fleet. Names are also a
 * table, for those who ask without culprit. */
#define BLOB_MAX   (64u << 20)
#define ANSWER_MAX (64u << 20)
#define SQL_MAX	   (16u << 20)

static const char *const kinds[] = {"symbols",	       "code",	       "lines",	       "told",
				    "symbols-claimed", "code-claimed", "lines-claimed"};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static struct db_blobs place(const struct push *p)
{
	return (struct db_blobs){p->options->db, p->machine, &io_system};
}

struct image_symbols *push_symbols(const struct push *p, const struct image_id *id)
{
	struct db_blobs blobs = place(p);
	struct image_symbols *symbols;
	void *data;
	size_t size;
	int r;

	if (db_blob_read(&blobs, id, "symbols", BLOB_MAX, &data, &size, NULL))
		return NULL;
	r = image_symbols_load(data, size, &symbols, NULL);
	free(data);
	return r ? NULL : symbols;
}

static uint64_t key_of(uint64_t image, size_t kind)
{
	uint64_t key = hash_u64(image + kind);

	return key == UINT64_MAX ? 0 : key;
}

static int note_known(struct push *p, struct map64 *known, const struct buf *answer)
{
	struct cursor c = cursor_over(answer->data, answer->size);
	int r = 0;

	while (cursor_left(&c) && !r) {
		uint64_t image = cursor_u64(&c);
		size_t size = 0;
		const char *kind = cursor_string(&c, 64, &size);

		if (c.error)
			return diag_fail(p->diag, EPROTO, "the server's answer ends within a row");
		for (size_t i = 0; i < KIND_COUNT && !r; i++)
			if (size == strlen(kinds[i]) && !memcmp(kind, kinds[i], size))
				r = map64_put(known, key_of(image, i), 1);
	}
	return r ? diag_fail(p->diag, -r, "cannot hold the fleet's images: %s", strerror(-r)) : 0;
}

/* Which blobs of the epoch's images the fleet has. */
static int ask_known(struct push *p, struct map64 *known)
{
	struct buf sql, answer;
	int r;

	buf_init(&sql, SQL_MAX);
	buf_init(&answer, ANSWER_MAX);
	buf_printf(&sql, "SELECT image, kind FROM blobs WHERE image IN (0");
	for (size_t i = 0; i < p->image_count; i++)
		buf_printf(&sql, ",%llu", (unsigned long long)p->images[i]->number);
	buf_printf(&sql, ") GROUP BY image, kind FORMAT RowBinary");
	buf_append_u8(&sql, 0);
	r = sql.error ? diag_fail(p->diag, -sql.error, "too many images")
		      : fleet_server_run(p->server, (const char *)sql.data, NULL, &answer, p->diag);
	if (!r)
		r = note_known(p, known, &answer);
	buf_free(&sql);
	buf_free(&answer);
	return r;
}

static int put_names(struct push *p, const struct push_image *image)
{
	size_t count = image->symbols ? image_symbols_count(image->symbols) : 0;
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		const struct image_function *f = image_symbols_at(image->symbols, i);
		struct buf *b = fleet_row(&p->rows, FLEET_NAMES);

		buf_append_u64(b, image->number);
		buf_append_u64(b, f->start);
		buf_append_string(b, f->demangled, strlen(f->demangled));
		fleet_put_u16(b, p->day);
		r = fleet_row_end(&p->rows, FLEET_NAMES, p->diag);
	}
	return r;
}

static int put_blob(struct push *p, const struct push_image *image, size_t kind)
{
	struct db_blobs blobs = place(p);
	struct buf packed, *b;
	void *data = NULL;
	size_t size;
	int r = db_blob_read(&blobs, &image->id, kinds[kind], BLOB_MAX, &data, &size, NULL);

	if (r == -EFBIG)
		p->result->too_large++;
	if (r) /* there is none, or it is of no use to anybody */
		return r == -ENOMEM ? diag_fail(p->diag, ENOMEM, "out of memory") : 0;
	buf_init(&packed, BLOB_MAX);
	r = db_blob_pack(data, size, &packed);
	free(data);
	if (!r) {
		b = fleet_row(&p->rows, FLEET_BLOBS);
		buf_append_u64(b, image->number);
		buf_append_string(b, kinds[kind], strlen(kinds[kind]));
		buf_append_string(b, (const char *)packed.data, packed.size);
		fleet_put_u16(b, p->day);
		r = fleet_row_end(&p->rows, FLEET_BLOBS, p->diag);
		p->result->blobs++;
	} else {
		p->result->too_large++;
		r = 0;
	}
	buf_free(&packed);
	return !r && kind == 0 ? put_names(p, image) : r;
}

int push_blobs(struct push *p)
{
	struct map64 *known = map64_new(PUSH_NAMES_MAX);
	struct db_blobs blobs = place(p);
	uint64_t found;
	int r = known ? ask_known(p, known) : diag_fail(p->diag, ENOMEM, "out of memory");

	for (size_t i = 0; i < p->image_count && !r; i++)
		for (size_t k = 0; k < KIND_COUNT && !r; k++)
			if (map64_get(known, key_of(p->images[i]->number, k), &found) &&
			    db_blob_is_there(&blobs, &p->images[i]->id, kinds[k]))
				r = put_blob(p, p->images[i], k);
	map64_free(known);
	return r;
}
