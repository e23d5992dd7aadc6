/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "find/finder.h"
#include "image/kernel/kernel_ahead.h"
#include "image/vdso.h"

void image_finder_lend_kernel(struct image_finder *f, struct kernel_ahead *a)
{
	f->kernel_ahead = a;
}

static struct image_kernel *finder_kernel(struct image_finder *f)
{
	if (!f->kernel_tried) {
		f->kernel_tried = true;
		if (image_kernel_new("", &f->kernel, &f->kernel_why) < 0)
			f->kernel = NULL;
	}
	return f->kernel;
}

/* Of a BPF program that is gone at least its name is known: it is the path. For another database
 * the kernel is asked again. */
static int bpf_symbols(struct image_finder *f, const struct found_image *im,
		       struct image_symbols **ret)
{
	const struct image_symbol all = {0, UINT32_MAX, im->path};

	f->kept = NULL;
	return image_symbols_build(&all, 1, "name", ret);
}

int finder_kernel_symbols(struct image_finder *f, struct found_image *im,
			  struct image_symbols **ret, struct diag *diag)
{
	struct image_kernel *k;
	int r = -ENOENT;

	if (im->id.kind == IMAGE_KERNEL && f->kernel_ahead &&
	    !kernel_ahead_take(f->kernel_ahead, &im->id, ret))
		return 0;
	if (im->id.kind == IMAGE_KERNEL && !f->kernel_tried)
		return image_kernel_core_symbols("", &im->id, ret, diag);
	k = finder_kernel(f);
	if (!k)
		diag_fail(diag, ENOENT, "%s", f->kernel_why.text);
	else
		r = image_kernel_symbols(k, &im->id, ret, diag);
	if (r < 0 && im->id.kind == IMAGE_BPF)
		return bpf_symbols(f, im, ret);
	return r;
}

int finder_kernel_code(struct image_finder *f, struct found_image *im, uint64_t address,
		       size_t size, uint8_t **ret_data, size_t *ret_size, struct diag *diag)
{
	struct image_kernel *k = finder_kernel(f);

	if (!k)
		return diag_fail(diag, ENOENT, "%s", f->kernel_why.text);
	const struct image_kernel_region *r = image_kernel_by_id(k, &im->id);
	if (!r)
		return diag_fail(diag, ENOENT,
				 "%s is not part of the running kernel: it was "
				 "another build, or is no longer loaded",
				 im->path);
	uint64_t at = address + r->bias;
	if (at < r->start || at >= r->end)
		return diag_fail(diag, ERANGE, "%s has no code at 0x%llx", im->path,
				 (unsigned long long)address);
	if (size > r->end - at)
		size = r->end - at;
	if (size > IMAGE_KERNEL_CODE_MAX)
		size = IMAGE_KERNEL_CODE_MAX;
	int err = image_kernel_code(k, at, size, ret_data, diag);
	if (!err)
		*ret_size = size;
	return err;
}

int finder_each_vmlinux(const char *debug_root, int (*f)(void *arg, const char *path), void *arg)
{
	static const char *const places[] = {
		"%s/boot/vmlinux-%s",	       "%s/lib/modules/%s/vmlinux",
		"%.0s/boot/vmlinux-%s",	       "%.0s/lib/modules/%s/build/vmlinux",
		"%.0s/lib/modules/%s/vmlinux",
	};
	struct utsname name;
	int r = -ENOENT;

	if (uname(&name) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && r == -ENOENT; i++) {
		char path[PATH_MAX];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), places[i], debug_root, name.release);
#pragma GCC diagnostic pop
		r = f(arg, path);
	}
	return r;
}

int finder_vdso(struct image_finder *f)
{
	if (f->vdso_fd < 0)
		f->vdso_fd = image_vdso_copy();
	return f->vdso_fd < 0 ? -ENOENT : f->vdso_fd;
}
