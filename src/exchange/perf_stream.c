/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>
#include "util/io.h"

#define PIPE_BLOCK_BYTES (4u << 20)
#define PIECE_BYTES	 (4u << 20) /* between two words of progress */
#define RECORD_BYTES_MAX 65536
#define AUXTRACE_ARM_SPE 4
#define ZSTD_BYTES_MAX	 (64u << 20) /* that one compressed record may hold */

struct perf_zstd {
	ZSTD_DStream *stream;
	struct perf_stream inner;
	uint8_t rest[RECORD_BYTES_MAX]; /* the beginning of a record */
	size_t rest_size;
};

/* All further data is of no use: said once, in the words of the first reason. */
static void stop(struct perf *p, const char *why)
{
	if (!p->cut[0])
		snprintf(p->cut, sizeof(p->cut), "%s", why);
}

static int zstd_open(struct perf *p)
{
	struct perf_zstd *z = calloc(1, sizeof(*z));

	if (z)
		z->stream = ZSTD_createDStream();
	if (!z || !z->stream) {
		free(z);
		return p->error = -ENOMEM;
	}
	/* The window is memory that the file asks for. */
	ZSTD_DCtx_setParameter(z->stream, ZSTD_d_windowLogMax, 27);
	p->zstd = z;
	return 0;
}

void perf_stream_free(struct perf *p)
{
	if (p->zstd)
		ZSTD_freeDStream(p->zstd->stream);
	free(p->zstd);
	p->zstd = NULL;
}

/* What the bytes hold, after what was left of the record before. */
static struct perf_block *inflate(struct perf *p, const uint8_t *data, size_t size)
{
	struct perf_zstd *z = p->zstd;
	ZSTD_inBuffer in = {data, size, 0};
	struct perf_block *b = perf_block_new(z->rest_size + 16 * RECORD_BYTES_MAX);

	if (!b) {
		p->error = -ENOMEM;
		return NULL;
	}
	memcpy(b->data, z->rest, z->rest_size);
	b->size = z->rest_size;
	z->rest_size = 0;
	for (;;) {
		ZSTD_outBuffer out = {b->data, b->room, b->size};
		size_t r = ZSTD_decompressStream(z->stream, &out, &in), grown = b->room * 2;
		struct perf_block *more;

		b->size = out.pos;
		if (ZSTD_isError(r)) {
			stop(p, "a compressed part is damaged");
			return b;
		}
		if (out.pos < out.size)
			return b;
		more = grown > ZSTD_BYTES_MAX ? NULL : realloc(b, sizeof(*b) + grown);
		if (!more) {
			stop(p, "a compressed part is larger than any that perf writes");
			return b;
		}
		b = more;
		b->room = grown;
	}
}

static size_t feed(struct perf *p, struct perf_stream *s, struct perf_block *block,
		   const uint8_t *data, size_t size);

static void take_compressed(struct perf *p, const struct perf_stream *s, const uint8_t *data,
			    size_t size)
{
	struct perf_block *b;
	size_t used;

	if (p->zstd && s == &p->zstd->inner) {
		stop(p, "a compressed part contains another");
		return;
	}
	if (!p->zstd && zstd_open(p))
		return;
	b = inflate(p, data, size);
	if (!b)
		return;
	used = feed(p, &p->zstd->inner, b, b->data, b->size);
	if (b->size - used <= RECORD_BYTES_MAX) {
		memcpy(p->zstd->rest, b->data + used, b->size - used);
		p->zstd->rest_size = b->size - used;
	}
	perf_block_done(p, b);
}

/* The time of a record, 0 where it has none. */
static uint64_t time_of(struct perf *p, const uint8_t *record, size_t size)
{
	struct perf_attr *a = perf_header_find(p, record, size);
	size_t at;

	if (!a)
		return 0;
	if (perf_u32(record) == PERF_RECORD_SAMPLE)
		at = a->time_at < 0 ? SIZE_MAX : 8 + (size_t)a->time_at;
	else
		at = a->time_back < 0 ? SIZE_MAX : size - (size_t)a->time_back;
	return at < 8 || at > size || size - at < 8 ? 0 : perf_u64(record + at);
}

/* Records of perf's own, which have no time and count where they stand. */
static void take_own(struct perf *p, struct perf_stream *s, const uint8_t *record, size_t size)
{
	switch (perf_u32(record)) {
	case PERF_USER_ATTR:
		perf_header_attr(p, record + 8, size - 8);
		break;
	case PERF_USER_EVENT_UPDATE:
		perf_header_update(p, record + 8, size - 8);
		break;
	case PERF_USER_FEATURE:
		if (size >= 16 && perf_u64(record + 8) < 256)
			perf_header_feature(p, (unsigned)perf_u64(record + 8), record + 16,
					    size - 16);
		break;
	case PERF_USER_BUILD_ID:
		perf_header_build_id(p, record, size);
		break;
	case PERF_USER_TRACING_DATA:
		if (size >= 12)
			s->skip = ((uint64_t)perf_u32(record + 8) + 7) / 8 * 8;
		break;
	case PERF_USER_AUXTRACE_INFO:
		p->has_spe = size >= 12 && perf_u32(record + 8) == AUXTRACE_ARM_SPE;
		break;
	case PERF_USER_AUXTRACE:
		if (size >= 16) {
			s->skip = perf_u64(record + 8);
			if (!perf_aux_begin(p, record, size))
				p->counters.aux_bytes += s->skip;
		}
		break;
	case PERF_USER_COMPRESSED:
		take_compressed(p, s, record + 8, size - 8);
		break;
	case PERF_USER_COMPRESSED2:
		if (size >= 16 && perf_u64(record + 8) <= size - 16)
			take_compressed(p, s, record + 16, perf_u64(record + 8));
		break;
	case PERF_USER_FINISHED_ROUND:
		perf_order_round(p);
		break;
	default:
		break;
	}
}

/* Takes records one after the other; returns the bytes of those that are complete. */
static size_t feed(struct perf *p, struct perf_stream *s, struct perf_block *block,
		   const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (!p->error) {
		size_t left = size - at, bytes;

		if (s->skip) {
			bytes = s->skip < left ? (size_t)s->skip : left;
			perf_aux_more(p, data + at, bytes);
			s->skip -= bytes;
			at += bytes;
			left -= bytes;
		}
		if (s->skip || left < 8)
			return at;
		bytes = perf_u16(data + at + 6);
		if (bytes < 8) {
			stop(p, "a record has no length");
			s->ended = true;
			return size;
		}
		if (bytes > left)
			return at;
		p->counters.records++;
		if (perf_u32(data + at) >= PERF_USER_FIRST)
			take_own(p, s, data + at, bytes);
		else
			perf_order_add(p, time_of(p, data + at, bytes), data + at, block);
		at += bytes;
	}
	return size;
}

static int read_pipe(struct perf *p, const struct reading *in, struct diag *diag)
{
	struct perf_stream s = {0};
	struct perf_block *b = perf_block_new(PIPE_BLOCK_BYTES), *next;
	size_t start = 0, end, used;
	uint64_t came = 0;
	bool in_hand = in->start_size > 0; /* records that came with the start */
	ssize_t n;
	int r;

	if (!b)
		return -ENOMEM;
	b->size = in->start_size;
	if (b->size)
		memcpy(b->data, in->start, b->size);
	n = io_read(in->fd, b->data + b->size, b->size < 16 ? 16 - b->size : 0);
	b->size = n < 0 ? 0 : b->size + (size_t)n;
	if (n < 0)
		r = diag_fail(diag, (int)-n, "cannot read: %s", strerror((int)-n));
	else if (b->size >= 16 && perf_u64(b->data + 8) > 16)
		r = diag_fail(
			diag, EBADMSG,
			"a perf.data in file format cannot be read from a pipe: name the file");
	else
		r = perf_header_read(p, b->data, b->size, &start, &end, diag);
	if (!r) {
		b->size -= start;
		memmove(b->data, b->data + start, b->size);
	}
	while (!r && !p->error && !p->cut[0]) {
		n = io_read(in->fd, b->data + b->size, b->room - b->size);
		if (n < 0 || (n == 0 && !in_hand))
			break;
		in_hand = false;
		b->size += (size_t)n;
		came += (size_t)n;
		reading_tell(in, came, 0);
		used = feed(p, &s, b, b->data, b->size);
		next = perf_block_new(PIPE_BLOCK_BYTES);
		if (!next) {
			r = -ENOMEM;
			break;
		}
		memcpy(next->data, b->data + used, b->size - used);
		next->size = b->size - used;
		perf_block_done(p, b);
		b = next;
	}
	if (!r && b->size)
		stop(p, "the file ends in the middle of a record");
	perf_block_done(p, b);
	return r;
}

static int read_mapped(struct perf *p, const uint8_t *data, size_t size, struct diag *diag)
{
	struct perf_stream s = {0};
	size_t start, end, used;
	int r = perf_header_read(p, data, size, &start, &end, diag);

	if (r)
		return r;
	if (end > size) /* the pipe's form, in a file */
		end = size;
	for (size_t at = start; at < end && !p->error && !s.ended; at += used) {
		size_t left = end - at;

		reading_tell(p->in, at, end);
		used = feed(p, &s, NULL, data + at, left < PIECE_BYTES ? left : PIECE_BYTES);
		/* All that a piece may leave is a record that goes on behind it. */
		if (used == 0 || (left < PIECE_BYTES && used < left)) {
			stop(p, "the file ends in the middle of a record");
			break;
		}
	}
	if (s.skip)
		stop(p, "the file ends in the middle of a record");
	return 0;
}

int perf_read(struct perf *p, const struct reading *in, struct diag *diag)
{
	struct stat st;
	int r;

	if (fstat(in->fd, &st))
		return diag_fail(diag, errno, "cannot read: %s", strerror(errno));
	if (!S_ISREG(st.st_mode)) {
		r = read_pipe(p, in, diag);
		perf_aux_finish(p);
	} else if (st.st_size == 0) {
		r = diag_fail(diag, EBADMSG, "the file is empty");
	} else {
		uint8_t *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, in->fd, 0);

		if (data == MAP_FAILED)
			return diag_fail(diag, errno, "cannot read: %s", strerror(errno));
		r = read_mapped(p, data, (size_t)st.st_size, diag);
		perf_aux_finish(p);
		if (!r)
			perf_order_flush(p);
		p->order.count = 0;
		munmap(data, (size_t)st.st_size);
		return r ? r : p->error;
	}
	if (!r)
		perf_order_flush(p);
	return r ? r : p->error;
}
