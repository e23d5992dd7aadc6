/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/types/kernel_types.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "collect/host/cache_directory.h"
#include "collect/events/sampler.h"
#include "collect/events/tick.h"
#include "collect/stacks/unwinder.h"
#include "collect/edges/windows.h"
#include "db/blob.h"
#include "image/kernel/kernel_scan.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/io.h"

#define TYPES_BYTES_MAX (8u << 20)
#define OBJECTS		3

/* For whom the types were cut, and from what. */
struct key {
	struct image_id kernel;
	uint64_t objects[OBJECTS];
};

static const void *(*const get_object[OBJECTS])(size_t *) = {sampler_object, unwinder_object,
							     windows_object};

static int make_key(struct key *out)
{
	size_t size;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < OBJECTS; i++) {
		const void *bytes = get_object[i](&size);

		out->objects[i] = bytes ? hash_bytes(bytes, size) : 0;
	}
	return kernel_scan_core_id("", &out->kernel, NULL);
}

/* Of several builds of culprit the last one's is kept, for each kernel. */
static void make_name(const struct key *key, char out[17])
{
	snprintf(out, 17, "%016llx",
		 (unsigned long long)hash_bytes(&key->kernel, sizeof(key->kernel)));
}

static int make_file(const void *data, size_t size, char ret_path[KERNEL_TYPES_PATH])
{
	int fd = memfd_create("kernel-types", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = io_write_all(&io_system, fd, data, size);
	snprintf(ret_path, KERNEL_TYPES_PATH, "/proc/self/fd/%d", fd);
	if (!r && access(ret_path, R_OK))
		r = -errno;
	if (!r)
		return fd;
	close(fd);
	return r;
}

static int read_kept(const char *directory, const struct key *key, char ret_path[KERNEL_TYPES_PATH])
{
	int dir = cache_open(AT_FDCWD, directory, S_IFDIR), fd, r;
	char name[17];
	void *data;
	size_t size;

	if (dir < 0)
		return dir;
	make_name(key, name);
	fd = cache_open(dir, name, S_IFREG);
	close(dir);
	if (fd < 0)
		return fd;
	r = db_blob_unpack(&io_system, fd, TYPES_BYTES_MAX, &data, &size);
	close(fd);
	if (r)
		return r;
	if (size < sizeof(*key) || memcmp(data, key, sizeof(*key)) != 0)
		r = -ENOENT;
	else
		r = make_file((char *)data + sizeof(*key), size - sizeof(*key), ret_path);
	free(data);
	return r;
}

/* What cannot be kept is made again. */
static void keep(const char *directory, const struct key *key, const void *data, size_t size)
{
	struct buf plain, packed;
	char name[17];
	int dir;

	cache_directory_make(directory);
	dir = cache_open(AT_FDCWD, directory, S_IFDIR);
	if (dir < 0)
		return;
	make_name(key, name);
	buf_init(&plain, TYPES_BYTES_MAX);
	buf_init(&packed, 2 * (size_t)TYPES_BYTES_MAX);
	buf_append(&plain, key, sizeof(*key));
	if (!buf_append(&plain, data, size) && !db_blob_pack(plain.data, plain.size, &packed))
		io_place_file(&io_system, dir, name, packed.data, packed.size, 0600);
	buf_free(&plain);
	buf_free(&packed);
	close(dir);
}

static struct btf *cut(const struct btf *all)
{
	struct bpf_object *objects[OBJECTS] = {NULL};
	const struct btf *of[OBJECTS];
	struct btf *part = NULL;
	size_t count = 0, size;
	bool whole = true;

	for (size_t i = 0; i < OBJECTS; i++) {
		const void *bytes = get_object[i](&size);

		objects[i] = bytes ? bpf_object__open_mem(bytes, size, NULL) : NULL;
		of[count] = objects[i] ? bpf_object__btf(objects[i]) : NULL;
		whole &= !bytes || of[count];
		count += of[count] != NULL;
	}
	if (whole)
		part = kernel_types_cut(all, of, count, tick_variables);
	for (size_t i = 0; i < OBJECTS; i++)
		bpf_object__close(objects[i]);
	return part;
}

static int make(const char *directory, const struct key *key, char ret_path[KERNEL_TYPES_PATH])
{
	struct btf *all = btf__load_vmlinux_btf(), *part = all ? cut(all) : NULL;
	const void *data = NULL;
	uint32_t size;
	int r = -ENOENT;

	if (part)
		data = btf__raw_data(part, &size);
	if (data)
		r = make_file(data, size, ret_path);
	if (r >= 0 && directory)
		keep(directory, key, data, size);
	btf__free(part);
	btf__free(all);
	return r;
}

int kernel_types_open(const char *directory, char ret_path[KERNEL_TYPES_PATH])
{
	libbpf_print_fn_t print;
	char own[PATH_MAX];
	struct key key;
	int r = make_key(&key);

	if (r)
		return r;
	if (!directory && cache_directory_find("types", own))
		directory = own;
	r = directory ? read_kept(directory, &key, ret_path) : -ENOENT;
	if (r >= 0)
		return r;
	print = libbpf_set_print(NULL); /* whoever loads the programs says what is wrong */
	r = make(directory, &key, ret_path);
	libbpf_set_print(print);
	return r;
}
