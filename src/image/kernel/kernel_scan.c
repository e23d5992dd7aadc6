/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "util/id_hash.h"
#include "image/kernel/kernel_iomem.h"
#include "image/elf/notes.h"
#include "util/hash.h"
#include "util/io.h"

#define SMALL_FILE_MAX	 65536
#define MODULES_FILE_MAX (4 << 20)
#define MODULE_NAME_MAX	 64  /* the kernel's MODULE_NAME_LEN */
#define SYMBOL_NAME_MAX	 512 /* the kernel's KSYM_NAME_LEN */
/* kallsyms gives no sizes: a program ends where the next symbol starts, and after this at most. */
#define BPF_BYTES_MAX (1 << 20)

#define SCAN_ENDS 1 /* before the file does */

struct scan {
	const char *root;
	struct kernel_regions *regions;
	struct image_id core_id;
	uint64_t text, stext, etext; /* run-time addresses, 0: not seen */
	uint64_t end;		     /* of what else the core kernel has, as far as it is named */
	uint64_t lines_refused;
	bool part;						  /* ends behind _text */
	int (*also)(void *arg, const struct kallsyms_line *line); /* sees the core's, or NULL */
	void *arg;
};

static int scan_read_file(const char *root, const char *path, size_t max, char **ret,
			  size_t *ret_size)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s", root, path);

	return n < 0 || (size_t)n >= sizeof(full) ? -ENAMETOOLONG
						  : io_read_file(full, max, ret, ret_size);
}

static bool name_is(const struct kallsyms_line *line, const char *name)
{
	return line->name_size == strlen(name) && !memcmp(line->name, name, line->name_size);
}

static bool line_is_bpf(const struct kallsyms_line *line)
{
	static const char builtin[] = "__builtin__"; /* ftrace's and kprobes' trampolines */

	return (line->module_size == 3 && !memcmp(line->module, "bpf", 3)) ||
	       (line->module_size >= sizeof(builtin) - 1 &&
		!memcmp(line->module, builtin, sizeof(builtin) - 1));
}

struct kernel_region kernel_scan_bpf_region(uint64_t start, uint64_t size, const char *name)
{
	uint64_t end = start + size < start ? UINT64_MAX : start + size;

	return (struct kernel_region){
		.region = {.start = start,
			   .end = end,
			   .bias = start,
			   .path = name,
			   .id = image_id_hash(IMAGE_BPF, name, strlen(name))}};
}

static int scan_add_bpf(struct scan *s, const struct kallsyms_line *line)
{
	char name[SYMBOL_NAME_MAX];

	if (line->name_size >= sizeof(name) || !line->address) {
		s->lines_refused++;
		return 0;
	}
	memcpy(name, line->name, line->name_size);
	name[line->name_size] = 0;
	struct kernel_region r = kernel_scan_bpf_region(line->address, BPF_BYTES_MAX, name);
	int status = kernel_regions_append(s->regions, &r);
	return status == -ENOSPC ? 0 : status; /* counted there */
}

static void scan_mark(struct scan *s, const struct kallsyms_line *line)
{
	if (line->name[0] != '_')
		return;
	if (name_is(line, "_text"))
		s->text = line->address;
	else if (name_is(line, "_stext"))
		s->stext = line->address;
	else if (name_is(line, "_etext"))
		s->etext = line->address;
	else if (name_is(line, "_einittext") || name_is(line, "_end"))
		s->end = line->address > s->end ? line->address : s->end;
}

static int scan_line(void *arg, const struct kallsyms_line *line)
{
	struct scan *s = arg;

	if (line->module_size)
		return s->regions && line_is_bpf(line) ? scan_add_bpf(s, line) : 0;
	/* In ascending order, except what comes before the text. */
	if (s->part && s->text != UINT64_MAX && line->address != s->text)
		return SCAN_ENDS;
	scan_mark(s, line);
	if (s->part && s->text == 0)
		return SCAN_ENDS; /* they are hidden */
	return s->also ? s->also(s->arg, line) : 0;
}

static int scan_core_id(struct scan *s, struct diag *diag)
{
	char *data = NULL;
	size_t size;
	int r = scan_read_file(s->root, "/sys/kernel/notes", SMALL_FILE_MAX, &data, &size);

	if (!r)
		r = image_notes_build_id(data, size, 4, &s->core_id);
	s->core_id.kind = IMAGE_KERNEL;
	if (!r)
		goto out;
	/* Linked without a build ID: what was built where and when names it nearly as well. */
	free(data);
	data = NULL;
	r = scan_read_file(s->root, "/proc/version", SMALL_FILE_MAX, &data, &size);
	if (r) {
		diag_fail(diag, -r,
			  "cannot tell which kernel runs: neither /sys/kernel/notes nor "
			  "/proc/version can be read: %s",
			  strerror(-r));
		goto out;
	}
	s->core_id = image_id_hash(IMAGE_KERNEL, data, size);
out:
	free(data);
	return r;
}

static int scan_core(struct scan *s, struct kernel_region *ret, struct diag *diag)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/proc/kallsyms", s->root);

	if (n < 0 || (size_t)n >= sizeof(path))
		return diag_fail(diag, ENAMETOOLONG, "%s: the path is too long", s->root);
	uint64_t refused = 0, code, all;
	s->text = s->stext = s->etext = UINT64_MAX;
	int r = kallsyms_each(path, scan_line, s, &refused, diag);
	if (r < 0)
		return r;
	s->lines_refused += refused;
	if (s->text == UINT64_MAX)
		s->text = s->stext;
	if (s->part && !kernel_iomem_sizes(s->root, &code, &all)) {
		s->etext = s->text + code;
		s->end = s->text + all;
	}
	if (s->text == UINT64_MAX || s->etext == UINT64_MAX)
		return diag_fail(diag, ENOENT,
				 "%s names no _text and _etext: the kernel was built "
				 "without CONFIG_KALLSYMS",
				 path);
	if (!s->text || !s->etext)
		return diag_fail(diag, EACCES,
				 "%s hides the kernel's addresses: run with CAP_SYSLOG, and if "
				 "that is so, sysctl kernel.kptr_restrict=1",
				 path);
	uint64_t start = s->stext < s->text && s->stext ? s->stext : s->text;
	if (s->etext <= start)
		return diag_fail(diag, EBADMSG, "%s: _etext is not after _text", path);
	*ret = (struct kernel_region){.region = {.start = start,
						 .end = s->etext,
						 .bias = s->text - KERNEL_LINK_TEXT,
						 .id = s->core_id,
						 .path = KERNEL_CORE_PATH},
				      .exact = true};
	return 0;
}

/* A name that is put into a path must not lead elsewhere. */
static bool module_name_is_safe(const char *name)
{
	return name[0] != '.' && !strchr(name, '/') && strlen(name) < MODULE_NAME_MAX;
}

/* The build ID, else a hash of what tells one build of a module from another. */
static struct image_id module_id(const struct scan *s, const char *name)
{
	char path[256], *data = NULL;
	size_t size;
	struct image_id id = {0};

	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	if (!scan_read_file(s->root, path, SMALL_FILE_MAX, &data, &size) &&
	    !image_notes_build_id(data, size, 4, &id)) {
		id.kind = IMAGE_MODULE;
		free(data);
		return id;
	}
	free(data);
	data = NULL;
	snprintf(path, sizeof(path), "/sys/module/%s/srcversion", name);
	if (scan_read_file(s->root, path, MODULE_NAME_MAX, &data, &size))
		size = 0;
	char kernel[IMAGE_ID_TEXT_MAX], key[512];
	image_id_format(&s->core_id, kernel);
	int n = snprintf(key, sizeof(key), "%s %.*s %s", name, (int)size, data ? data : "", kernel);
	free(data);
	return image_id_hash(IMAGE_MODULE, key, (size_t)n);
}

/* Where the module's .text is; its base when that is hidden or makes no sense. */
static uint64_t module_text(const struct scan *s, const char *name, uint64_t base, uint64_t size)
{
	char path[256], *data;
	size_t bytes;

	snprintf(path, sizeof(path), "/sys/module/%s/sections/.text", name);
	if (scan_read_file(s->root, path, SMALL_FILE_MAX, &data, &bytes))
		return base;
	uint64_t text = strtoull(data, NULL, 16);
	free(data);
	return text >= base && text - base < size ? text : base;
}

/* "name size references used-by state 0xaddress" */
static int scan_module(struct scan *s, char *line)
{
	char *rest = line, *name = strsep(&rest, " ");
	char *size_text = strsep(&rest, " ");
	const char *address = rest ? strstr(rest, " 0x") : NULL;
	uint64_t size = size_text ? strtoull(size_text, NULL, 10) : 0;
	uint64_t base = address ? strtoull(address + 1, NULL, 16) : 0;

	if (!size || !base || base + size < base || !module_name_is_safe(name)) {
		s->lines_refused++;
		return 0;
	}
	char path[MODULE_NAME_MAX + 16];
	snprintf(path, sizeof(path), "[module]/%s", name);
	/*
	 * Since Linux 6.4 the size is that of several areas of which only the text is at base: the
	 * end is then too high, and cut where the next region starts.
	 */
	struct kernel_region r = {.region = {.start = base,
					     .end = base + size,
					     .path = path,
					     .bias = module_text(s, name, base, size),
					     .id = module_id(s, name)}};
	int status = kernel_regions_append(s->regions, &r);
	return status == -ENOSPC ? 0 : status;
}

static int scan_modules(struct scan *s)
{
	char *data, *line, *rest;
	size_t size;
	int r = scan_read_file(s->root, "/proc/modules", MODULES_FILE_MAX, &data, &size);

	if (r)
		return r == -ENOENT ? 0 : r; /* a kernel without modules */
	rest = data;
	while (!r && (line = strsep(&rest, "\n")))
		if (*line)
			r = scan_module(s, line);
	free(data);
	return r;
}

int kernel_scan(const char *root, bool whole, struct kernel_regions *ret,
		uint64_t *ret_lines_refused, struct diag *diag)
{
	struct kernel_regions regions = {0};
	struct scan s = {.root = root, .regions = &regions, .part = !whole};
	struct kernel_region core;
	int r = scan_core_id(&s, diag);

	if (!r)
		r = scan_core(&s, &core, diag);
	if (!r)
		r = kernel_regions_append(&regions, &core);
	if (!r && whole && (r = scan_modules(&s)))
		diag_fail(diag, -r, "cannot read %s/proc/modules: %s", root, strerror(-r));
	if (r) {
		kernel_regions_free(&regions);
		return r;
	}
	kernel_regions_sort(&regions);
	regions.core_start = core.region.start;
	regions.core_end = s.end;
	*ret = regions;
	*ret_lines_refused = s.lines_refused;
	return 0;
}

int kernel_scan_core_id(const char *root, struct image_id *ret, struct diag *diag)
{
	struct scan s = {.root = root};
	int r = scan_core_id(&s, diag);

	if (!r)
		*ret = s.core_id;
	return r;
}

int kernel_scan_core(const char *root, const struct image_id *id,
		     int (*f)(void *arg, const struct kallsyms_line *line), void *arg,
		     struct kernel_region *ret, struct diag *diag)
{
	struct scan s = {.root = root, .also = f, .arg = arg};
	int r = scan_core_id(&s, diag);

	if (!r && memcmp(&s.core_id, id, sizeof(*id)))
		r = diag_fail(
			diag, ENOENT,
			"another kernel is running, or it is not known which one was profiled");
	return r ? r : scan_core(&s, ret, diag);
}

static int signature_add_ids(int (*next)(uint32_t start, uint32_t *ret), uint64_t *signature)
{
	uint32_t id = 0;

	for (int i = 0; i < KERNEL_REGIONS_MAX; i++) {
		if (next(id, &id))
			return errno == ENOENT ? 0 : -EPERM;
		*signature = hash_u64(*signature ^ id);
	}
	return 0;
}

int kernel_scan_signature(const char *root, uint64_t *ret)
{
	char *data;
	size_t size;
	uint64_t signature = 0;

	if (*root)
		return -EPERM; /* the BPF programs of this machine say nothing about that root */
	int r = scan_read_file(root, "/proc/modules", MODULES_FILE_MAX, &data, &size);
	if (!r) {
		/* Reference counts change all the time; the worst is a scan too many. */
		signature = hash_bytes(data, size);
		free(data);
	} else if (r != -ENOENT) {
		return r;
	}
	r = signature_add_ids(bpf_prog_get_next_id, &signature);
	if (!r)
		r = signature_add_ids(bpf_link_get_next_id, &signature);
	if (!r)
		*ret = signature;
	return r;
}
