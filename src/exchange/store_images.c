/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/store.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "exchange/import_files.h"
#include "util/id_hash.h"
#include "image/kernel/kernel.h"
#include "image/worker/worker.h"

struct search {
	struct store *store;
	struct import_result *result;
	struct import_files files;
	struct image_kernel *kernel; /* NULL: not looked at yet, or not the same */
	bool kernel_tried;
};

bool store_offset(const struct store_image *image, uint64_t offset, uint64_t *ret)
{
	if (!image->segments) {
		*ret = offset - image->less;
		return true;
	}
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *s = &image->segments[i];

		if (offset - s->file_offset < s->file_size) {
			*ret = offset - s->file_offset + s->address;
			return true;
		}
	}
	return false;
}

static void set_id(struct store_image *image, enum image_kind kind, const void *bytes, size_t size)
{
	image->id = (struct image_id){.kind = (uint8_t)kind, .size = (uint8_t)size};
	memcpy(image->id.bytes, bytes, size);
}

/* The record's build ID, else one made of what is known. */
static void set_id_or_hash(struct store_image *image, enum image_kind kind)
{
	if (image->build_id.size)
		set_id(image, kind, image->build_id.at, image->build_id.size);
	else
		image->id = image_id_hash(kind, image->path.at, image->path.size);
}

static int take_file(struct search *q, struct store_image *image, const struct import_file *file)
{
	const struct image_facts *facts = &file->facts;

	image->segment_count = facts->segment_count;
	if (image->kind == HARVEST_FILE) {
		image->segments = arena_alloc(q->store->memory, (facts->segment_count + 1) *
									sizeof(*image->segments));
		if (!image->segments)
			return -ENOMEM;
		memcpy(image->segments, facts->segments,
		       facts->segment_count * sizeof(*image->segments));
	}
	image->name = arena_strndup(q->store->memory, file->path, strlen(file->path));
	image->id = facts->id;
	return image->name ? 0 : -ENOMEM;
}

static int find_file(struct search *q, struct store_image *image)
{
	struct harvest_image wanted = {
		.kind = image->kind,
		.path = image->path.at,
		.path_size = image->path.size,
		.inode = image->inode,
		.build_id_size = (uint8_t)image->build_id.size,
	};
	struct import_file file;

	memcpy(wanted.build_id, image->build_id.at, image->build_id.size);
	q->result->images++;
	int r = import_files_open(&q->files, &wanted, &file);
	if (!r) {
		close(file.fd);
		q->result->images_found++;
		return take_file(q, image, &file);
	}
	if (r == -ENOMEM)
		return r;
	set_id_or_hash(image, image->kind == HARVEST_FILE ? IMAGE_FILE_OFFSET : IMAGE_BUILD_ID);
	return 0;
}

/* The running kernel, when it is the one of the recording and lets itself be looked at. */
static struct image_kernel *running_kernel(struct search *q)
{
	if (!q->kernel_tried && image_kernel_new("", &q->kernel, NULL))
		q->kernel = NULL;
	q->kernel_tried = true;
	return q->kernel;
}

/* Modules are numbered from their .text; perf's records say where they were loaded. */
static void find_module(struct search *q, struct store_image *image)
{
	const struct image_kernel_region *region = NULL;

	set_id_or_hash(image, IMAGE_MODULE);
	if (running_kernel(q))
		region = image_kernel_by_id(q->kernel, &image->id);
	if (region)
		image->less = region->bias - region->start;
}

/* Functions have their place by name, so that all that an image needs is one. The kernel stays what
 * it is: in some of its functions it is idle. */
static void find_names(struct store_image *image)
{
	bool kernel = !strcmp(image->name, "[kernel.kallsyms]") || !strcmp(image->name, "[kernel]");

	image->id =
		image_id_hash(kernel ? IMAGE_KERNEL : IMAGE_JIT, image->path.at, image->path.size);
}

static int find_image(struct search *q, struct store_image *image)
{
	uint64_t key = image->key;

	switch (image->kind) {
	case HARVEST_FILE:
	case HARVEST_ADDRESSES:
		return find_file(q, image);
	case HARVEST_KERNEL:
		set_id_or_hash(image, IMAGE_KERNEL);
		q->result->kernel_not_told |= !image->build_id.size;
		return 0;
	case HARVEST_MODULE:
		find_module(q, image);
		return 0;
	case HARVEST_BPF:
		image->id = image_id_hash(IMAGE_BPF, image->path.at, image->path.size);
		return 0;
	case HARVEST_VDSO:
		set_id(image, IMAGE_VDSO, image->build_id.at, image->build_id.size);
		image->id.size = image->id.size ? image->id.size : 1;
		return 0;
	case HARVEST_CODE:
		image->id = image_id_hash(IMAGE_JIT, &key, sizeof(key));
		return 0;
	case HARVEST_NAMES:
		find_names(image);
		return 0;
	case HARVEST_NOTE:
		if (key)
			set_id(image, IMAGE_NOTE, &key, 1);
		else
			set_id_or_hash(image, IMAGE_NOTE);
		return 0;
	case HARVEST_KNOWN:
		set_id(image, (enum image_kind)key, image->build_id.at, image->build_id.size);
		return 0;
	default:
		set_id(image, IMAGE_UNKNOWN, "", 0);
		return 0;
	}
}

int store_find_images(struct store *s, const struct import_target *target,
		      struct import_result *result, struct diag *diag)
{
	struct search q = {.store = s,
			   .result = result,
			   .files = {.root = target->root,
				     .end_ns = target->end_ns,
				     .worker = image_worker_new(NULL)}};
	int r = 0;

	if (!q.files.worker)
		r = -ENOMEM;
	for (size_t i = 0; i < s->image_count && !r; i++) {
		struct store_image *image = &s->images[i];

		r = store_tell(target, "finding files", i, s->image_count);
		if (r)
			break;
		image->name = arena_strndup(s->memory, image->path.at, image->path.size);
		if (!image->name)
			r = -ENOMEM;
		else if (image->used)
			r = find_image(&q, image);
	}
	image_kernel_free(q.kernel);
	image_worker_free(q.files.worker);
	return r == -ECANCELED ? r
	       : r	       ? diag_fail(diag, -r, "cannot find images: %s", strerror(-r))
			       : 0;
}
