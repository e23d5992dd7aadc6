/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "db/blob.h"
#include "db/layout.h"
#include "find/finder.h"

/* Claims are kept by themselves. */
static int load_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     bool own_only, size_t max_bytes, void **ret_data, size_t *ret_size)
{
	bool claims = strcmp(kind, "told") != 0 && finder_counts_claims(f, id);
	char claimed[FINDER_KIND_MAX];
	int r = own_only && claims
			? -ENOENT
			: finder_read_blob(f, id, kind, own_only, max_bytes, ret_data, ret_size);

	if (r == -ENOENT && claims)
		r = finder_read_blob(f, id, finder_claimed_kind(kind, claimed), own_only, max_bytes,
				     ret_data, ret_size);
	return r;
}

int finder_fail(struct diag *diag, int r, const struct diag *why, int cache_err, const char *kept)
{
	if (cache_err != -EBADMSG && cache_err != -EFBIG)
		return diag_fail(diag, -r, "%s", why->text);
	return diag_fail(diag, -r, "the kept %s damaged (see: culprit db verify); %s", kept,
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
		if (strncmp(kind, kept_kinds[i], strlen(kept_kinds[i])) == 0)
			return &f->kept->blobs[i];
	return NULL;
}

static int write_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		      const struct buf *b)
{
	struct buf *copy = copy_of(f, kind);

	if (copy) {
		copy->size = 0;
		int r = db_blob_pack(b->data, b->size, copy);
		if (!r)
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
	char saved[FINDER_KIND_MAX];

	if (is_for_another(f))
		return -EPERM;
	kind = finder_saved_kind(f, id, kind, saved);
	int r = b->error ? diag_fail(&f->keep_why, -b->error, "out of memory")
			 : write_blob(f, id, kind, b);
	if (r < 0)
		f->counts.keep_failed++;
	return r;
}

/* Samples count for more: so much of the disk is left to them by code and lines, and by symbols. */
#define CODE_LEAVES	((uint64_t)1 << 30)
#define SYMBOLS_LEAVE	((uint64_t)64 << 20)
#define SMALL_DISK_PART 4 /* of a small disk, the fourth part */

static bool leaves_room(const struct image_finder *f, uint64_t bytes, uint64_t most)
{
	struct statvfs disk;

	if (statvfs(f->db_path, &disk) < 0)
		return true;
	uint64_t part = (uint64_t)disk.f_blocks * disk.f_frsize / SMALL_DISK_PART;
	return (uint64_t)disk.f_bavail * disk.f_frsize >= bytes + (part < most ? part : most);
}

int finder_place(struct image_finder *f, const struct image_id *id, const struct image_kept *k)
{
	char saved[FINDER_KIND_MAX];

	if (!leaves_room(f, k->blobs[IMAGE_KEPT_CODE].size, CODE_LEAVES))
		return -ENOSPC;
	/* What is there may have more: functions that were wanted. */
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++)
		if (db_blob_is_there(&(struct db_blobs){f->db_path, f->machine, &io_system}, id,
				     finder_saved_kind(f, id, kept_kinds[i], saved)))
			return -EEXIST;
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++) {
		const struct buf *blob = &k->blobs[i];
		int r = 0;

		if (blob->size)
			r = db_blob_place(&(struct db_blobs){f->db_path, f->machine, &io_system},
					  id, finder_saved_kind(f, id, kept_kinds[i], saved),
					  blob->data, blob->size, NULL);
		if (r < 0)
			return r;
	}
	f->counts.symbols_kept++;
	f->counts.code_kept += k->blobs[IMAGE_KEPT_CODE].size != 0;
	return 0;
}

/* A file tells better than a profile did, whosever it is. */
int finder_load_symbols(struct image_finder *f, const struct image_id *id,
			struct image_symbols **ret)
{
	struct image_symbols *claimed;
	char kind[FINDER_KIND_MAX];
	int r = finder_load_kind(f, id, "symbols", ret), claimed_err;

	if ((r != -ENOENT && (r < 0 || !finder_is_told(*ret))) || !finder_counts_claims(f, id))
		return r;
	claimed_err = finder_load_kind(f, id, finder_claimed_kind("symbols", kind), &claimed);
	if (claimed_err)
		return r ? claimed_err : 0;
	if (!r)
		image_symbols_free(*ret);
	*ret = claimed;
	return 0;
}

void finder_save_symbols(struct image_finder *f, const struct image_id *id,
			 const struct image_symbols *s)
{
	struct buf b;

	if (!f->db_path || !f->machine)
		return;
	buf_init(&b, FINDER_SYMBOLS_BYTES);
	image_symbols_save(s, &b);
	if (!leaves_room(f, b.size, SYMBOLS_LEAVE)) {
		f->counts.keep_failed++;
		diag_fail(&f->keep_why, ENOSPC, "cannot write %s/*/" LAYOUT_IMAGES ": %s",
			  f->db_path, layout_write_error(ENOSPC));
	} else if (b.error == -EFBIG) {
		f->counts.symbols_refused++;
	} else if (finder_save_blob(f, id, "symbols", &b) == 0) {
		f->counts.symbols_kept++;
	}
	buf_free(&b);
}

/* Lists of a file's frames and names come to the bytes. */
#define CODE_BLOB_MAX (4 * (size_t)IMAGE_LAYOUT_KEPT_MAX_BYTES)

int finder_load_code(struct image_finder *f, const struct image_id *id, bool own_only,
		     struct image_layout **ret)
{
	void *data;
	size_t size;
	int r = load_blob(f, id, "code", own_only, CODE_BLOB_MAX, &data, &size);

	if (r < 0)
		return r;
	r = image_layout_open(data, size, ret);
	f->counts.damaged += r == -EBADMSG;
	free(data);
	return r;
}

int finder_peek_code(struct image_finder *f, const struct image_id *id, bool own_only,
		     uint16_t *ret_machine, unsigned *ret_bits, bool *ret_whole)
{
	void *data;
	size_t size;
	int r = load_blob(f, id, "code", own_only, CODE_BLOB_MAX, &data, &size);

	if (r < 0)
		return r;
	r = image_layout_peek(data, size, ret_machine, ret_bits, ret_whole);
	free(data);
	return r;
}

int finder_save_code(struct image_finder *f, const struct image_id *id,
		     const struct image_layout *l)
{
	struct buf b;

	buf_init(&b, CODE_BLOB_MAX);
	image_layout_save(l, &b);
	bool refused = b.error == -EFBIG || !leaves_room(f, b.size, CODE_LEAVES);
	int r = refused ? -ENOSPC : finder_save_blob(f, id, "code", &b);
	f->counts.code_kept += r == 0;
	buf_free(&b);
	return r;
}

int finder_load_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      bool own_only, struct image_line_table *ret)
{
	void *data;
	size_t size;
	int r = load_blob(f, id, kind, own_only, LINE_TABLE_MAX_BYTES, &data, &size);

	if (r < 0)
		return r;
	r = image_line_table_load(data, size, ret);
	f->counts.damaged += r == -EBADMSG;
	free(data);
	return r;
}

int finder_save_lines(struct image_finder *f, const struct image_id *id, const char *kind,
		      const struct image_line_table *t)
{
	struct buf b;

	buf_init(&b, LINE_TABLE_MAX_BYTES);
	image_line_table_save(t, &b);
	/* What a profile told is nowhere else. */
	bool refused = b.error == -EFBIG ||
		       (strcmp(kind, "told") != 0 && !leaves_room(f, b.size, CODE_LEAVES));
	int r = refused ? -EFBIG : finder_save_blob(f, id, kind, &b);
	f->counts.lines_kept += r == 0;
	buf_free(&b);
	return r;
}

bool finder_has_lines(struct image_finder *f, const struct image_id *id, const struct buf *packed)
{
	char saved[FINDER_KIND_MAX];

	return f->db_path && packed->size &&
	       db_blob_holds(&(struct db_blobs){f->db_path, f->machine, &io_system}, id,
			     finder_saved_kind(f, id, "lines", saved), packed->data, packed->size);
}

int finder_place_lines(struct image_finder *f, const struct image_id *id, const struct buf *packed)
{
	char saved[FINDER_KIND_MAX];

	if (!leaves_room(f, packed->size, CODE_LEAVES))
		return -EFBIG;
	int r = db_blob_place(&(struct db_blobs){f->db_path, f->machine, &io_system}, id,
			      finder_saved_kind(f, id, "lines", saved), packed->data, packed->size,
			      &f->keep_why);
	f->counts.lines_kept += r == 0;
	f->counts.keep_failed += r < 0;
	return r;
}
