/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/blob.h"
#include "find/finder.h"

/*
 * A build ID is what a file says of itself, so anybody may write one with another's. What is kept
 * of a file that not only root and who collects could write is a claim: it is kept by itself, in
 * blobs of other names, and counts only as long as nothing is kept of a file that is none.
 */

#define CLAIMED "-claimed"

static struct found_image *find_image(const struct image_finder *f, const struct image_id *id)
{
	uint32_t index;

	return intern_find(f->ids, id, sizeof(*id), &index) ? NULL : f->images[index];
}

int finder_read_blob(struct image_finder *f, const struct image_id *id, const char *kind,
		     bool own_only, size_t max_bytes, void **ret_data, size_t *ret_size)
{
	if (!f->db_path)
		return -ENOENT;
	int r = db_blob_read(&(struct db_blobs){f->db_path, f->machine, &io_system}, id, kind,
			     max_bytes, ret_data, ret_size, NULL);
	if (r == -ENOENT && f->machine && !own_only)
		r = db_blob_read(&(struct db_blobs){f->db_path, NULL, &io_system}, id, kind,
				 max_bytes, ret_data, ret_size, NULL);
	if (r == -EBADMSG || r == -EFBIG)
		f->counts.damaged++;
	return r;
}

int finder_load_kind(struct image_finder *f, const struct image_id *id, const char *kind,
		     struct image_symbols **ret)
{
	void *data;
	size_t size;
	int r = finder_read_blob(f, id, kind, false, FINDER_SYMBOLS_BYTES, &data, &size);

	if (r < 0)
		return r;
	r = image_symbols_load(data, size, ret, NULL);
	if (r == -EBADMSG)
		f->counts.damaged++;
	free(data);
	return r;
}

/* Names that an import told are nobody's file's. */
static bool has_symbols_of_file(struct image_finder *f, const struct image_id *id)
{
	struct image_symbols *s;
	bool told;

	if (!db_blob_is_there(&(struct db_blobs){f->db_path, NULL, &io_system}, id, "symbols") ||
	    finder_load_kind(f, id, "symbols", &s) < 0)
		return false;
	told = finder_is_told(s);
	image_symbols_free(s);
	return !told;
}

static bool is_kept_of_trusted(struct image_finder *f, const struct image_id *id)
{
	return f->db_path &&
	       (db_blob_is_there(&(struct db_blobs){f->db_path, NULL, &io_system}, id, "code") ||
		has_symbols_of_file(f, id));
}

bool finder_counts_claims(struct image_finder *f, const struct image_id *id)
{
	struct found_image *im = find_image(f, id);

	if (im && im->claims)
		return im->claims == CLAIMS_COUNT;
	bool count = !is_kept_of_trusted(f, id);
	if (im)
		im->claims = count ? CLAIMS_COUNT : CLAIMS_DO_NOT;
	return count;
}

/* What the files that were read for it are. */
static bool is_claim(const struct found_image *im)
{
	return im->file.path ? im->file.claimed : im->debug.path && im->debug.claimed;
}

const char *finder_claimed_kind(const char *kind, char ret[FINDER_KIND_MAX])
{
	snprintf(ret, FINDER_KIND_MAX, "%s" CLAIMED, kind);
	return ret;
}

const char *finder_saved_kind(const struct image_finder *f, const struct image_id *id,
			      const char *kind, char ret[FINDER_KIND_MAX])
{
	const struct found_image *im = find_image(f, id);

	if (strcmp(kind, "told") == 0 || !im || !is_claim(im))
		return kind;
	return finder_claimed_kind(kind, ret);
}
