/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "db/blob_name.h"
#include "db/chunk.h"
#include "db/layout.h"

/* magic, u64 bytes of data, u64 sum of the data, u64 sum of the three; then the data, zstd. */
#define BLOB_MAGIC \
	"\x89"     \
	"CULBLB\n"
#define BLOB_MAGIC_SIZE	 8
#define BLOB_HEADER_SIZE 32
#define BLOB_LEVEL	 1 /* 2: a twentieth smaller, in a third more time; 6: a fifth, in five times */
#define BLOB_STORED_MAX	 ((size_t)1 << 30)

static int blob_name(const struct image_id *image, const char *kind, char out[BLOB_NAME_MAX],
		     struct diag *diag)
{
	char id[IMAGE_ID_TEXT_MAX];

	if (!*kind || strlen(kind) > 24 ||
	    strspn(kind, "abcdefghijklmnopqrstuvwxyz-") != strlen(kind))
		return diag_fail(diag, EINVAL, "'%s' cannot name a kind of blob", kind);
	image_id_format(image, id);
	snprintf(out, BLOB_NAME_MAX, "%s.%s", id, kind);
	return 0;
}

int db_blob_pack(const void *data, size_t size, struct buf *out)
{
	size_t room = ZSTD_compressBound(size), stored;
	void *to;

	buf_append(out, BLOB_MAGIC, BLOB_MAGIC_SIZE);
	buf_append_u64(out, size);
	buf_append_u64(out, chunk_sum(data, size));
	if (!out->error)
		buf_append_u64(out, chunk_sum(out->data, out->size));
	to = buf_reserve(out, room);
	if (!to)
		return out->error;
	stored = ZSTD_compress(to, room, data, size, BLOB_LEVEL);
	if (ZSTD_isError(stored))
		return -ENOMEM;
	out->size += stored;
	return 0;
}

/* DB/MACHINE/images; machine NULL: this machine's. */
static int images_make(const struct db_blobs *in, struct diag *diag)
{
	const struct io *io = in->io;
	char *own = in->machine ? NULL : layout_machine_name();
	const char *name = in->machine ? in->machine : own;
	int db_fd = name ? layout_open_dir(io, AT_FDCWD, in->db_path) : -ENOMEM;
	int machine_fd = db_fd < 0 ? db_fd : layout_enter_dir(io, db_fd, name);
	int fd = machine_fd < 0 ? machine_fd : layout_make_dir(io, machine_fd, LAYOUT_IMAGES);

	if (fd < 0)
		diag_fail(diag, -fd, "cannot make %s/%s/" LAYOUT_IMAGES ": %s", in->db_path,
			  name ? name : "", layout_write_error(-fd));
	if (machine_fd >= 0)
		io->close(io->arg, machine_fd);
	if (db_fd >= 0)
		io->close(io->arg, db_fd);
	free(own);
	return fd;
}

struct blob {
	const struct image_id *image;
	const char *kind;
	const void *data;
	size_t size;
};

static int write_stored(const struct db_blobs *in, const struct blob *b, bool lasting,
			struct diag *diag)
{
	char name[BLOB_NAME_MAX];
	int fd, r = blob_name(b->image, b->kind, name, diag);

	if (r < 0)
		return r;
	fd = images_make(in, diag);
	if (fd < 0)
		return fd;
	r = (lasting ? io_replace_file : io_place_file)(in->io, fd, name, b->data, b->size, 0640);
	if (r < 0)
		diag_fail(diag, -r, "cannot write %s/%s: %s", in->db_path, name,
			  layout_write_error(-r));
	in->io->close(in->io->arg, fd);
	return r;
}

static int write_blob(const struct db_blobs *in, const struct blob *b, bool lasting,
		      struct diag *diag)
{
	struct buf file;

	buf_init(&file, BLOB_STORED_MAX);
	int r = db_blob_pack(b->data, b->size, &file);
	if (r < 0)
		diag_fail(diag, -r, "cannot pack %s: %s", b->kind, strerror(-r));
	else
		r = write_stored(in, &(struct blob){b->image, b->kind, file.data, file.size},
				 lasting, diag);
	buf_free(&file);
	return r;
}

int db_blob_write(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *data, size_t size, struct diag *diag)
{
	return write_blob(in, &(struct blob){image, kind, data, size}, true, diag);
}

int db_blob_cache(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *data, size_t size, struct diag *diag)
{
	return write_blob(in, &(struct blob){image, kind, data, size}, false, diag);
}

int db_blob_place(const struct db_blobs *in, const struct image_id *image, const char *kind,
		  const void *packed, size_t size, struct diag *diag)
{
	return write_stored(in, &(struct blob){image, kind, packed, size}, true, diag);
}

static int open_of_machine(const struct io *io, int db_fd, const char *machine, const char *name)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s/" LAYOUT_IMAGES "/%s", machine, name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return layout_open_file(io, db_fd, path);
}

static bool machine_has(const struct io *io, int db_fd, const char *machine, const char *name)
{
	int fd = open_of_machine(io, db_fd, machine, name);

	if (fd >= 0)
		io->close(io->arg, fd);
	return fd >= 0;
}

static bool any_machine_has(const struct io *io, int db_fd, const char *name)
{
	char **machines;
	size_t count;
	bool has = false;

	if (layout_list(io, db_fd, &machines, &count) < 0)
		return false;
	for (size_t i = 0; i < count && !has; i++)
		has = layout_is_machine(machines[i]) && machine_has(io, db_fd, machines[i], name);
	free(machines);
	return has;
}

bool db_blob_is_there(const struct db_blobs *in, const struct image_id *image, const char *kind)
{
	char name[BLOB_NAME_MAX];
	int db_fd;
	bool is;

	if (blob_name(image, kind, name, NULL) < 0)
		return false;
	db_fd = layout_open_dir(in->io, AT_FDCWD, in->db_path);
	if (db_fd < 0)
		return false;
	is = in->machine ? machine_has(in->io, db_fd, in->machine, name)
			 : any_machine_has(in->io, db_fd, name);
	in->io->close(in->io->arg, db_fd);
	return is;
}

static bool holds(const struct io *io, int fd, const uint8_t *bytes, size_t size)
{
	uint8_t block[16384];
	struct stat st;
	size_t n;

	if (io->stat(io->arg, fd, &st) < 0 || (uint64_t)st.st_size != size)
		return false;
	for (size_t at = 0; at < size; at += n) {
		n = size - at < sizeof(block) ? size - at : sizeof(block);
		if (io_read_all(io, fd, block, n, at) < 0 || memcmp(block, bytes + at, n) != 0)
			return false;
	}
	return true;
}

bool db_blob_holds(const struct db_blobs *in, const struct image_id *image, const char *kind,
		   const void *packed, size_t size)
{
	char name[BLOB_NAME_MAX];
	int db_fd = -1, fd = -1;
	bool is;

	if (in->machine && !blob_name(image, kind, name, NULL))
		db_fd = layout_open_dir(in->io, AT_FDCWD, in->db_path);
	if (db_fd >= 0)
		fd = open_of_machine(in->io, db_fd, in->machine, name);
	is = fd >= 0 && holds(in->io, fd, packed, size);
	if (fd >= 0)
		in->io->close(in->io->arg, fd);
	if (db_fd >= 0)
		in->io->close(in->io->arg, db_fd);
	return is;
}

struct blob_header {
	uint64_t size, sum;
};

static int header_decode(const uint8_t *bytes, struct blob_header *ret)
{
	struct cursor c = cursor_over(bytes, BLOB_HEADER_SIZE);

	if (memcmp(cursor_bytes(&c, BLOB_MAGIC_SIZE), BLOB_MAGIC, BLOB_MAGIC_SIZE) != 0)
		return -EBADMSG;
	ret->size = cursor_u64(&c);
	ret->sum = cursor_u64(&c);
	return cursor_u64(&c) == chunk_sum(bytes, BLOB_HEADER_SIZE - 8) ? 0 : -EBADMSG;
}

/* stored: what comes after the header. */
static int blob_decode(const struct blob_header *h, const void *stored, size_t stored_size,
		       void **ret_data)
{
	size_t size = h->size;
	void *data;

	/* One more, so that an empty blob is not NULL. */
	data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	if (ZSTD_decompress(data, size, stored, stored_size) != size ||
	    chunk_sum(data, size) != h->sum) {
		free(data);
		return -EBADMSG;
	}
	*ret_data = data;
	return 0;
}

/* Before more is read: that it is a header, and that so many bytes can hold what it says. */
static int header_check(const uint8_t *bytes, uint64_t stored, size_t max_bytes,
			struct blob_header *ret)
{
	int r = header_decode(bytes, ret);

	if (r < 0)
		return r;
	if (ret->size > max_bytes || ret->size > BLOB_STORED_MAX)
		return -EFBIG;
	return stored > ZSTD_compressBound(ret->size) ? -EBADMSG : 0;
}

int db_blob_open(const void *packed, size_t packed_size, size_t max_bytes, void **ret_data,
		 size_t *ret_size)
{
	struct blob_header h = {0};
	size_t stored = packed_size - BLOB_HEADER_SIZE;
	int r = packed_size < BLOB_HEADER_SIZE ? -EBADMSG
					       : header_check(packed, stored, max_bytes, &h);

	if (r == 0)
		r = blob_decode(&h, (const uint8_t *)packed + BLOB_HEADER_SIZE, stored, ret_data);
	if (r == 0)
		*ret_size = h.size;
	return r;
}

static int header_read(const struct io *io, int fd, size_t max_bytes, struct blob_header *ret,
		       size_t *ret_stored)
{
	uint8_t bytes[BLOB_HEADER_SIZE];
	struct stat st;
	int r = io->stat(io->arg, fd, &st);

	if (r == 0 && !S_ISREG(st.st_mode))
		r = -EBADMSG;
	if (r == 0)
		r = io_read_all(io, fd, bytes, sizeof(bytes), 0);
	if (r == 0)
		r = header_check(bytes, (uint64_t)st.st_size - BLOB_HEADER_SIZE, max_bytes, ret);
	if (r == 0)
		*ret_stored = (size_t)st.st_size - BLOB_HEADER_SIZE;
	return r;
}

int db_blob_unpack(const struct io *io, int fd, size_t max_bytes, void **ret_data, size_t *ret_size)
{
	struct blob_header h = {0};
	struct buf stored;
	size_t size = 0;
	void *to;
	int r = header_read(io, fd, max_bytes, &h, &size);

	if (r < 0)
		return r;
	buf_init(&stored, size + 1);
	to = buf_reserve(&stored, size + 1);
	r = to ? io_read_all(io, fd, to, size, BLOB_HEADER_SIZE) : -ENOMEM;
	if (r == 0) {
		stored.size = size;
		r = blob_decode(&h, stored.data, stored.size, ret_data);
	}
	buf_free(&stored);
	if (r == 0)
		*ret_size = h.size;
	return r;
}

int blob_check(const struct io *io, int images_fd, const char *name, uint64_t *bytes)
{
	int fd = layout_open_file(io, images_fd, name), r;
	struct stat st;
	void *data;
	size_t size;

	if (fd < 0)
		return fd;
	r = db_blob_unpack(io, fd, BLOB_STORED_MAX, &data, &size);
	if (r == 0)
		free(data);
	if (io->stat(io->arg, fd, &st) == 0)
		*bytes += (uint64_t)st.st_size;
	io->close(io->arg, fd);
	return r;
}

static int blob_read_from(const struct io *io, int db_fd, const char *machine, const char *name,
			  size_t max_bytes, void **ret_data, size_t *ret_size)
{
	int fd = open_of_machine(io, db_fd, machine, name), r;

	if (fd < 0)
		return fd;
	r = db_blob_unpack(io, fd, max_bytes, ret_data, ret_size);
	io->close(io->arg, fd);
	return r;
}

/* The first machine's that has it. */
static int blob_read_any(const struct io *io, int db_fd, const char *name, size_t max_bytes,
			 void **ret_data, size_t *ret_size)
{
	char **machines;
	size_t count;
	int r = layout_list(io, db_fd, &machines, &count), found = -ENOENT;

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && found != 0; i++) {
		if (!layout_is_machine(machines[i]))
			continue;
		r = blob_read_from(io, db_fd, machines[i], name, max_bytes, ret_data, ret_size);
		if (r != -ENOENT && r != -ENOTDIR)
			found = r;
	}
	free(machines);
	return found;
}

int db_blob_read(const struct db_blobs *in, const struct image_id *image, const char *kind,
		 size_t max_bytes, void **ret_data, size_t *ret_size, struct diag *diag)
{
	const struct io *io = in->io;
	char name[BLOB_NAME_MAX];
	int r = blob_name(image, kind, name, diag), db_fd;

	if (r < 0)
		return r;
	db_fd = layout_open_dir(io, AT_FDCWD, in->db_path);
	if (db_fd < 0)
		return layout_fail_open(in->db_path, db_fd, diag);
	if (in->machine)
		r = blob_read_from(io, db_fd, in->machine, name, max_bytes, ret_data, ret_size);
	else
		r = blob_read_any(io, db_fd, name, max_bytes, ret_data, ret_size);
	io->close(io->arg, db_fd);
	if (r < 0)
		return diag_fail(diag, -r, "cannot read %s of %s: %s", name, in->db_path,
				 r == -EBADMSG ? "it is damaged" : strerror(-r));
	return 0;
}
