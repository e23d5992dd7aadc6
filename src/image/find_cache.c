/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "db/blob.h"
#include "image/finder.h"
#include "util/io.h"

/* What another machine of the database kept of the same build is as good to read. To keep something
 * it does not count: it goes with that machine's epochs. */
static int load_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     bool own_only, size_t max_bytes, void **ret_data, size_t *ret_size)
{
	if (!f->db_path)
		return -ENOENT;
	int err = db_blob_read(&(struct db_blobs){f->db_path, f->machine, &io_system}, id, kind,
			       max_bytes, ret_data, ret_size, NULL);
	if (err == -ENOENT && f->machine && !own_only)
		err = db_blob_read(&(struct db_blobs){f->db_path, NULL, &io_system}, id, kind,
				   max_bytes, ret_data, ret_size, NULL);
	if (err == -EBADMSG || err == -EFBIG)
		f->counts.damaged++;
	return err;
}

int finder_fail(struct diag *diag, int err, const struct diag *why, int cache_err, const char *kept)
{
	if (cache_err != -EBADMSG && cache_err != -EFBIG)
		return diag_fail(diag, -err, "%s", why->text);
	return diag_fail(diag, -err, "the kept %s damaged (see: culprit db verify); %s", kept,
			 why->text);
}

/* What a report reads with root's rights is not left to another: he would have chosen the files. */
static bool is_for_another(const struct image_finder *f)
{
	struct stat st;
	return !f->keeps && geteuid() == 0 && stat(f->db_path, &st) == 0 && st.st_uid != 0;
}

static const char *const kept_kinds[IMAGE_KEPT_BLOBS] = {"symbols", "code"};

/* The same bytes for who keeps them elsewhere too; without memory they are not. */
static struct buf *copy_of(const struct image_finder *f, const char *kind)
{
	for (size_t i = 0; f->kept && i < IMAGE_KEPT_BLOBS; i++)
		if (strcmp(kind, kept_kinds[i]) == 0)
			return &f->kept->blobs[i];
	return NULL;
}

static int write_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		      const struct buf *b)
{
	struct buf *copy = copy_of(f, kind);
	if (copy) {
		copy->size = 0;
		int err = db_blob_pack(b->data, b->size, copy);
		if (!err)
			return db_blob_place(&(struct db_blobs){f->db_path, f->machine, &io_system},
					     id, kind, copy->data, copy->size, &f->keep_why);
		copy->size = 0;
	}
	return (f->keeps ? db_blob_write
			 : db_blob_cache)(&(struct db_blobs){f->db_path, f->machine, &io_system},
					  id, kind, b->data, b->size, &f->keep_why);
}

int finder_save_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     const struct buf *b)
{
	if (is_for_another(f))
		return -EPERM;
	int err = b->error ? diag_fail(&f->keep_why, -b->error, "out of memory")
			   : write_blob(f, id, kind, b);
	if (err < 0)
		f->counts.keep_failed++;
	return err;
}

/* Samples count for more: code and lines leave this much of the disk to them. */
#define ROOM_BYTES ((uint64_t)1 << 30)
#define ROOM_SHARE 4 /* of a small disk, the fourth part */

static bool leaves_room(const struct image_finder *f, uint64_t bytes)
{
	struct statvfs disk;
	if (statvfs(f->db_path, &disk) < 0)
		return true;
	uint64_t room = (uint64_t)disk.f_blocks * disk.f_frsize / ROOM_SHARE;
	return (uint64_t)disk.f_bavail * disk.f_frsize >=
	       bytes + (room < ROOM_BYTES ? room : ROOM_BYTES);
}

int finder_place(struct image_finder *f, const struct image_id *id, const struct image_kept *k)
{
	if (!leaves_room(f, k->blobs[IMAGE_KEPT_CODE].size))
		return -ENOSPC;
	/* What is there may have more: functions that were wanted. */
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++)
		if (db_blob_is_there(&(struct db_blobs){f->db_path, f->machine, &io_system}, id,
				     kept_kinds[i]))
			return -EEXIST;
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++) {
		int err = db_blob_place(&(struct db_blobs){f->db_path, f->machine, &io_system}, id,
					kept_kinds[i], k->blobs[i].data, k->blobs[i].size, NULL);
		if (err < 0)
			return err;
	}
	f->counts.symbols_kept++;
	f->counts.code_kept++;
	return 0;
}

static int load_symbols(struct image_finder *f, const struct image_id *id, bool own_only,
			struct image_symbols **ret)
{
	void *data;
	size_t size;
	int err = load_blob(f, id, "symbols", own_only, FINDER_SYMBOLS_BYTES, &data, &size);
	if (err < 0)
		return err;
	err = image_symbols_load(data, size, ret, NULL);
	if (err == -EBADMSG)
		f->counts.damaged++;
	free(data);
	return err;
}

int finder_load_symbols(struct image_finder *f, const struct image_id *id,
			struct image_symbols **ret)
{
	return load_symbols(f, id, false, ret);
}

void finder_save_symbols(struct image_finder *f, const struct image_id *id,
			 const struct image_symbols *s)
{
	struct buf b;
	if (!f->db_path || !f->machine)
		return;
	buf_init(&b, FINDER_SYMBOLS_BYTES);
	image_symbols_save(s, &b);
	if (b.error != -EFBIG && finder_save_blob(f, id, "symbols", &b) == 0)
		f->counts.symbols_kept++;
	buf_free(&b);
}

bool finder_has_symbols(struct image_finder *f, const struct image_id *id)
{
	struct image_symbols *s;
	if (load_symbols(f, id, true, &s) < 0)
		return false;
	image_symbols_free(s);
	return true;
}

/* Lists of a file's frames and names come to the bytes. */
#define CODE_BLOB_MAX (4 * (size_t)IMAGE_LAYOUT_KEPT_MAX_BYTES)

int finder_load_code(struct image_finder *f, const struct image_id *id, bool own_only,
		     struct image_layout **ret)
{
	void *data;
	size_t size;
	int err = load_blob(f, id, "code", own_only, CODE_BLOB_MAX, &data, &size);
	if (err < 0)
		return err;
	err = image_layout_open(data, size, ret);
	f->counts.damaged += err == -EBADMSG;
	free(data);
	return err;
}

int finder_peek_code(struct image_finder *f, const struct image_id *id, bool own_only,
		     uint16_t *ret_machine, unsigned *ret_bits, bool *ret_whole)
{
	void *data;
	size_t size;
	int err = load_blob(f, id, "code", own_only, CODE_BLOB_MAX, &data, &size);
	if (err < 0)
		return err;
	err = image_layout_peek(data, size, ret_machine, ret_bits, ret_whole);
	free(data);
	return err;
}

int finder_save_code(struct image_finder *f, const struct image_id *id,
		     const struct image_layout *l)
{
	struct buf b;
	buf_init(&b, CODE_BLOB_MAX);
	image_layout_save(l, &b);
	bool refused = b.error == -EFBIG || !leaves_room(f, b.size);
	int err = refused ? -ENOSPC : finder_save_blob(f, id, "code", &b);
	f->counts.code_kept += err == 0;
	buf_free(&b);
	return err;
}

int finder_load_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      bool own_only, struct image_line_table *ret)
{
	void *data;
	size_t size;
	int err = load_blob(f, id, kind, own_only, LINE_TABLE_MAX_BYTES, &data, &size);
	if (err < 0)
		return err;
	err = image_line_table_load(data, size, ret);
	f->counts.damaged += err == -EBADMSG;
	free(data);
	return err;
}

int finder_save_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      const struct image_line_table *t)
{
	struct buf b;
	buf_init(&b, LINE_TABLE_MAX_BYTES);
	image_line_table_save(t, &b);
	/* What a profile told is nowhere else. */
	bool refused = b.error == -EFBIG || (strcmp(kind, "told") != 0 && !leaves_room(f, b.size));
	int err = refused ? -EFBIG : finder_save_blob(f, id, kind, &b);
	f->counts.lines_kept += err == 0;
	buf_free(&b);
	return err;
}
