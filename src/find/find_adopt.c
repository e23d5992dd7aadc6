/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is kept of a file, handed on from one database to another. */
#include <errno.h>
#include "find/finder.h"

#define KEPT_BYTES_MAX (64u << 20) /* of a blob; a larger one is rebuilt */

void image_kept_init(struct image_kept *k)
{
	*k = (struct image_kept){0};
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++)
		buf_init(&k->blobs[i], KEPT_BYTES_MAX);
}

void image_kept_free(struct image_kept *k)
{
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++)
		buf_free(&k->blobs[i]);
}

bool image_finder_keep_new(struct image_finder *f, const struct image_id *id, const char *path,
			   struct image_kept *ret, int *ret_error)
{
	const uint64_t refused = f->counts.names_refused;
	struct found_image *im;

	f->kept = ret;
	*ret_error = image_finder_keep(f, id, path, NULL);
	f->kept = NULL;
	/* What was refused is counted each time. */
	if (*ret_error || !ret->blobs[IMAGE_KEPT_SYMBOLS].size ||
	    f->counts.names_refused != refused ||
	    (finder_has_file(id) && !ret->blobs[IMAGE_KEPT_CODE].size) ||
	    finder_image(f, id, path, &im, NULL) < 0 || !im->kept)
		return false;
	ret->machine = im->machine;
	ret->bits = (uint8_t)im->bits;
	ret->in_pieces = im->in_pieces;
	ret->without_lines = im->without_lines;
	return true;
}

int image_finder_adopt(struct image_finder *f, const struct image_id *id, const char *path,
		       const struct image_kept *k)
{
	struct found_image *im;

	f->keeps = true;
	if (!f->db_path || !f->machine)
		return -ENOENT;
	int r = finder_image(f, id, path, &im, NULL);
	if (r < 0 || im->kept || im->keep_error)
		return r < 0 ? r : -EEXIST;
	finder_meet_file(f, im);
	r = finder_place(f, id, k);
	if (r < 0)
		return r;
	im->machine = k->machine;
	im->bits = k->bits;
	im->in_pieces = k->in_pieces;
	im->without_lines = k->without_lines;
	im->kept = true;
	return 0;
}

int image_finder_open_files(struct image_finder *f, const struct image_id *id, const char *path,
			    int ret_fds[2])
{
	struct found_image *im;

	if (id->kind != IMAGE_BUILD_ID && id->kind != IMAGE_CONTENT)
		return -ENOENT;
	int r = finder_image(f, id, path, &im, NULL);
	ret_fds[0] = r < 0 ? r : finder_open_file(f, im, NULL);
	if (ret_fds[0] < 0)
		return ret_fds[0];
	ret_fds[1] = finder_open_debug(f, im, ret_fds[0], NULL);
	return 0;
}
