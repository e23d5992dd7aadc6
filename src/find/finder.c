/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The images that a finder has met. How they are searched for is in find*.c. */
#include "find/finder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/array.h"

int image_finder_new(const char *db_path, const char *machine, struct image_finder **ret)
{
	struct image_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->vdso_fd = -1;
	f->db_path = db_path ? strdup(db_path) : NULL;
	f->machine = machine ? strdup(machine) : NULL;
	f->debug_root = strdup("/usr/lib/debug");
	f->ids = intern_new(FINDER_IMAGES_MAX);
	f->worker = image_worker_new(NULL);
	if ((db_path && !f->db_path) || (machine && !f->machine) || !f->debug_root || !f->ids ||
	    !f->worker) {
		image_finder_free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

static void image_clear(struct found_image *im)
{
	image_symbols_free(im->symbols);
	image_symbols_free(im->data);
	image_layout_free(im->code);
	free(im->asked);
	free(im->file.path);
	free(im->debug.path);
	free(im->path);
}

static void image_free(struct found_image *im)
{
	image_clear(im);
	free(im);
}

void image_finder_forget(struct image_finder *f, const struct image_id *id)
{
	struct found_image *im;
	uint32_t index;
	char *none = strdup("");

	if (!none || intern_find(f->ids, id, sizeof(*id), &index)) {
		free(none);
		return;
	}
	im = f->images[index];
	image_clear(im);
	*im = (struct found_image){.id = *id, .path = none};
}

void image_finder_free(struct image_finder *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->image_count; i++)
		image_free(f->images[i]);
	free(f->images);
	intern_free(f->ids);
	image_worker_free(f->worker);
	image_kernel_free(f->kernel);
	debuginfod_close(f->remote);
	if (f->vdso_fd >= 0)
		close(f->vdso_fd);
	free(f->debug_root);
	free(f->machine);
	free(f->db_path);
	free(f);
}

int image_finder_set_debug_root(struct image_finder *f, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(f->debug_root);
	f->debug_root = copy;
	return 0;
}

uint64_t image_finder_cpu_ns(struct image_finder *f)
{
	return image_worker_cpu_ns(f->worker);
}

void image_finder_idle(struct image_finder *f)
{
	image_worker_idle(f->worker);
}

const char *image_finder_keep_why(const struct image_finder *f)
{
	return f->keep_why.text;
}

struct image_finder_counts image_finder_counts(const struct image_finder *f)
{
	return f->counts;
}

static int image_add(struct image_finder *f, const struct image_id *id, const char *path)
{
	if (array_grow(&f->images, f->image_count, &f->image_room, sizeof(*f->images), 64))
		return -ENOMEM;
	struct found_image *im = calloc(1, sizeof(*im));
	char *copy = strdup(path);
	if (!im || !copy) {
		free(im);
		free(copy);
		return -ENOMEM;
	}
	im->id = *id;
	im->path = copy;
	f->images[f->image_count++] = im;
	return 0;
}

/* The same content under another path: what failed may work there. */
static int image_moved(struct found_image *im, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	free(im->path);
	im->path = copy;
	if (!im->file.path)
		im->file.tried = false;
	if (!im->bits)
		im->machine_tried = false;
	if (!im->debug.path)
		im->debug.tried = false;
	if (!im->symbols)
		im->symbols_tried = false;
	if (!im->data)
		im->data_tried = false;
	im->keep_error = 0;
	return 0;
}

int finder_image(struct image_finder *f, const struct image_id *id, const char *path,
		 struct found_image **ret, struct diag *diag)
{
	uint32_t index;

	path = path ? path : "";
	int r = intern_find(f->ids, id, sizeof(*id), &index);
	if (r == -ENOENT) {
		if (f->image_count >= FINDER_IMAGES_MAX)
			return diag_fail(diag, ENOSPC, "more than %d images", FINDER_IMAGES_MAX);
		r = image_add(f, id, path);
		if (!r && (r = intern_add(f->ids, id, sizeof(*id), &index)) < 0)
			image_free(f->images[--f->image_count]);
	} else if (!r && *path && strcmp(f->images[index]->path, path) != 0) {
		r = image_moved(f->images[index], path);
	}
	if (r < 0)
		return diag_fail(diag, ENOMEM, "out of memory for images");
	*ret = f->images[index];
	return 0;
}

bool finder_has_file(const struct image_id *id)
{
	return id->kind == IMAGE_BUILD_ID || id->kind == IMAGE_CONTENT || id->kind == IMAGE_VDSO;
}

bool finder_is_for_all(const struct stat *st)
{
	return st->st_mode & S_IROTH || st->st_uid == geteuid();
}

bool finder_is_told(const struct image_symbols *s)
{
	return strcmp(image_symbols_source(s), FINDER_TOLD) == 0;
}
