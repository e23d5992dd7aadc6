/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * jitdump, version 1, by tools/perf/Documentation/jitdump-specification.txt of Linux. Only the head
 * and the name of each record are read, not the code, so that a dump of gigabytes is no burden. A
 * dump is read while its process writes it: a last record that is not whole yet is left out.
 */
#include "image/jit/jit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "image/jit/jit_set.h"
#include "util/hash.h"
#include "util/io.h"

#define JITDUMP_MAGIC	      0x4A695444u
#define JITDUMP_MAGIC_FOREIGN 0x4454694Au
#define MOVES_MAX	      (1u << 22) /* addresses by which a later move finds its code */

enum { JIT_CODE_LOAD, JIT_CODE_MOVE, JIT_CODE_DEBUG_INFO, JIT_CODE_CLOSE, JIT_CODE_UNWINDING };

struct jitdump_header {
	uint32_t magic, version, total_size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct jitdump_record {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct jitdump_load { /* then the name with its zero byte, then the code */
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct jitdump_move {
	uint32_t pid, tid;
	uint64_t vma, old_address, new_address, size, index;
};

struct dump_reader {
	int fd;
	uint64_t offset, file_size;
	size_t left; /* bytes that may still be read */
	struct jit_set set;
	struct map64 *by_address; /* address -> index in the set, of the last code there */
	bool cut, damaged;
};

/* Up to size bytes at offset; the number read, short at the end of the file. */
static ssize_t dump_pread(struct dump_reader *d, void *out, size_t size, uint64_t offset)
{
	ssize_t n;

	if (size > d->left) {
		d->cut = true;
		return 0;
	}
	n = io_pread(d->fd, out, size, offset);
	if (n > 0)
		d->left -= (size_t)n;
	return n;
}

static int dump_read_header(struct dump_reader *d, struct diag *diag)
{
	struct jitdump_header h;
	ssize_t n = dump_pread(d, &h, sizeof(h), 0);

	if (n < 0)
		return diag_fail(diag, (int)-n, "cannot read the jitdump: %s", strerror((int)-n));
	if (n >= 4 && h.magic == JITDUMP_MAGIC_FOREIGN)
		return diag_fail(diag, EBADMSG, "a jitdump of a machine of the other byte order");
	if ((size_t)n < sizeof(h) || h.magic != JITDUMP_MAGIC)
		return diag_fail(diag, EBADMSG, "not a jitdump");
	if (h.version != 1 || h.total_size < sizeof(h))
		return diag_fail(diag, EBADMSG, "a jitdump of version %u: only 1 is known",
				 h.version);
	d->offset = h.total_size;
	return 0;
}

static int dump_add(struct dump_reader *d, uint64_t address, uint64_t size, const char *name,
		    size_t name_size)
{
	int r = jit_set_add(&d->set, address, size, name, name_size);

	if (r == -ENOSPC) {
		d->cut = true;
		return 0;
	}
	if (r == -EINVAL) {
		d->damaged = true;
		return 0;
	}
	/* Past its maximum only a later move of this code goes unseen. */
	if (!r && address != UINT64_MAX)
		map64_put(d->by_address, address, d->set.count - 1);
	return r;
}

static int dump_take_load(struct dump_reader *d, const char *data, size_t size)
{
	struct jitdump_load load;

	if (size <= sizeof(load)) {
		d->damaged = true;
		return 0;
	}
	memcpy(&load, data, sizeof(load));
	size_t room = size - sizeof(load);
	return dump_add(d, load.address, load.size, data + sizeof(load),
			strnlen(data + sizeof(load), room));
}

/* The old address stays known: samples of the time before the move are on their way. */
static int dump_take_move(struct dump_reader *d, const char *data, size_t size)
{
	struct jitdump_move move;
	uint64_t index;

	if (size < sizeof(move)) {
		d->damaged = true;
		return 0;
	}
	memcpy(&move, data, sizeof(move));
	if (move.old_address == UINT64_MAX || map64_get(d->by_address, move.old_address, &index))
		return 0;
	const char *name = d->set.list[index].name;
	return dump_add(d, move.new_address, move.size, name, strlen(name));
}

/* 1 when there is another record after this one, 0 at the end, or a negative errno. */
static int dump_take_record(struct dump_reader *d)
{
	struct jitdump_record record;
	char data[sizeof(struct jitdump_load) + JIT_NAME_MAX];

	ssize_t n = dump_pread(d, &record, sizeof(record), d->offset);

	if (n < (ssize_t)sizeof(record))
		return n < 0 ? (int)n : 0;
	if (record.total_size < sizeof(record)) {
		d->damaged = true;
		return 0;
	}
	if (d->offset > d->file_size || record.total_size > d->file_size - d->offset)
		return 0; /* not whole yet */
	size_t size = record.total_size - sizeof(record);
	uint64_t body = d->offset + sizeof(record);
	d->offset += record.total_size;
	if (record.id != JIT_CODE_LOAD && record.id != JIT_CODE_MOVE)
		return record.id != JIT_CODE_CLOSE;
	if (size > sizeof(data))
		size = sizeof(data);
	/* The name ends somewhere in it; what is read of the code after it is not looked at. */
	n = dump_pread(d, data, size, body);
	if (n < (ssize_t)size)
		return n < 0 ? (int)n : 0;
	int r = record.id == JIT_CODE_LOAD ? dump_take_load(d, data, size)
					   : dump_take_move(d, data, size);
	return r ? r : !d->cut;
}

static int dump_read(struct dump_reader *d, struct image_symbols **ret, struct diag *diag)
{
	int r = dump_read_header(d, diag);

	if (r)
		return r;
	while ((r = dump_take_record(d)) > 0)
		;
	if (r)
		return diag_fail(diag, -r, "cannot read the jitdump: %s", strerror(-r));
	return jit_set_finish(&d->set,
			      d->cut	   ? "jitdump (cut at the limit)"
			      : d->damaged ? "jitdump (damaged)"
					   : "jitdump",
			      ret);
}

int image_jitdump_read(int fd, size_t max_bytes, struct image_symbols **ret, struct diag *diag)
{
	struct dump_reader d = {.fd = fd, .left = max_bytes};
	struct stat st;

	if (fstat(fd, &st))
		return diag_fail(diag, errno, "cannot stat the jitdump: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return diag_fail(diag, EBADMSG, "the jitdump is not a regular file");
	d.file_size = (uint64_t)st.st_size;
	d.by_address = map64_new(MOVES_MAX);
	int r = d.by_address ? jit_set_init(&d.set, max_bytes) : -ENOMEM;
	if (!r)
		r = dump_read(&d, ret, diag);
	jit_set_free(&d.set);
	map64_free(d.by_address);
	return r;
}
