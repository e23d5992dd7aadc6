/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/blob.h"
#include "image/finder.h"
#include "util/io.h"

int finder_load_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     size_t max_bytes, void **ret_data, size_t *ret_size)
{
	if (!f->db_path)
		return -ENOENT;
	int err = db_blob_read(f->db_path, f->machine, &io_system, id, kind, max_bytes, ret_data,
			       ret_size, NULL);
	if (err == -EBADMSG || err == -EFBIG)
		f->counts.damaged++;
	return err;
}

int finder_save_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     const struct buf *b)
{
	int err = b->error ? b->error
			   : db_blob_write(f->db_path, f->machine, &io_system, id, kind, b->data,
					   b->size, NULL);
	if (err < 0)
		f->counts.keep_failed++;
	return err;
}

int finder_load_symbols(struct image_finder *f, const struct image_id *id,
			struct image_symbols **ret)
{
	void *data;
	size_t size;
	int err = finder_load_blob(f, id, "symbols", FINDER_SYMBOLS_BYTES, &data, &size);
	if (err < 0)
		return err;
	err = image_symbols_load(data, size, ret, NULL);
	if (err == -EBADMSG)
		f->counts.damaged++;
	free(data);
	return err;
}

void finder_save_symbols(struct image_finder *f, const struct image_id *id,
			 const struct image_symbols *s)
{
	struct buf b;
	if (!f->db_path || !f->machine)
		return;
	buf_init(&b, FINDER_SYMBOLS_BYTES);
	image_symbols_save(s, &b);
	if (finder_save_blob(f, id, "symbols", &b) == 0)
		f->counts.symbols_kept++;
	buf_free(&b);
}

bool finder_has_symbols(struct image_finder *f, const struct image_id *id)
{
	struct image_symbols *s;
	if (finder_load_symbols(f, id, &s) < 0)
		return false;
	image_symbols_free(s);
	return true;
}

void finder_load_code(struct image_finder *f, struct found_image *im)
{
	void *data;
	size_t size;
	if (im->code_tried)
		return;
	im->code_tried = true;
	/* Code and, for each piece, its place. */
	if (finder_load_blob(f, &im->id, "code", 4 * (size_t)CODE_CACHE_MAX_BYTES, &data, &size) <
	    0)
		return;
	if (code_cache_load(&im->code, data, size) < 0) {
		f->counts.damaged++;
		code_cache_free(&im->code);
	}
	free(data);
}

int finder_save_code(struct image_finder *f, struct found_image *im)
{
	struct buf b;
	if (!f->db_path || !f->machine || !im->code_changed)
		return 0;
	buf_init(&b, 4 * (size_t)CODE_CACHE_MAX_BYTES);
	code_cache_save(&im->code, &b);
	int err = finder_save_blob(f, &im->id, "code", &b);
	if (!err) {
		f->counts.code_kept++;
		im->code_changed = false;
	}
	buf_free(&b);
	return err;
}
