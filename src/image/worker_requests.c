/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What can be asked of the worker, and what its answers must look like to be believed. */
#include "image/worker.h"

#include <errno.h>
#include <string.h>
#include "image/code.h"
#include "image/worker_call.h"

/* The saved form of tables that were read within max_bytes: never as much as this. */
#define SYMBOLS_REPLY_FACTOR 4
#define SYMBOLS_REPLY_EXTRA  (1u << 20)

static bool id_makes_sense(const struct image_id *id)
{
	static const uint8_t zero[IMAGE_ID_MAX];

	return id->size && id->size <= IMAGE_ID_MAX &&
	       !memcmp(id->bytes + id->size, zero, IMAGE_ID_MAX - id->size);
}

static bool facts_make_sense(const struct image_facts *f)
{
	if (!id_makes_sense(&f->id))
		return false;
	if (f->id.kind == IMAGE_FILE_OFFSET)
		return f->segment_count == 0;
	if (f->id.kind != IMAGE_BUILD_ID && f->id.kind != IMAGE_CONTENT)
		return false;
	if ((f->bits != 32 && f->bits != 64) || f->segment_count > IMAGE_SEGMENTS_MAX)
		return false;
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const struct image_segment *s = &f->segments[i];
		if (s->address + s->file_size < s->address ||
		    s->file_offset + s->file_size < s->file_offset)
			return false;
	}
	return true;
}

static int request_facts(struct image_worker *w, enum worker_kind kind, int fd,
			 struct image_facts *ret, struct diag *diag)
{
	struct worker_request request = {.kind = kind, .file_count = 1};
	struct image_facts facts;
	struct buf reply;

	buf_init(&reply, sizeof(facts));
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	if (r)
		goto out;
	if (reply.size == sizeof(facts))
		memcpy(&facts, reply.data, sizeof(facts));
	if (reply.size != sizeof(facts) || !facts_make_sense(&facts) ||
	    (facts.id.kind == IMAGE_FILE_OFFSET && kind == WORKER_FACTS)) {
		r = worker_refuse(w, diag);
		goto out;
	}
	*ret = facts;
out:
	buf_free(&reply);
	return r;
}

int image_worker_facts(struct image_worker *w, int fd, struct image_facts *ret, struct diag *diag)
{
	return request_facts(w, WORKER_FACTS, fd, ret, diag);
}

int image_worker_identify(struct image_worker *w, int fd, struct image_facts *ret,
			  struct diag *diag)
{
	return request_facts(w, WORKER_IDENTITY, fd, ret, diag);
}

/* For the kinds of requests that read within max_bytes and answer with symbols. */
static int request_symbols(struct image_worker *w, enum worker_kind kind, int fd, int debug_fd,
			   size_t max_bytes, struct image_symbols **ret, struct diag *diag)
{
	int files[] = {fd, debug_fd};
	struct worker_request request = {
		.kind = kind, .file_count = debug_fd < 0 ? 1 : 2, .arguments = {max_bytes}};
	uint64_t max = worker_memory_bytes(w);
	struct buf reply;

	if (max_bytes < max / SYMBOLS_REPLY_FACTOR)
		max = max_bytes * SYMBOLS_REPLY_FACTOR + SYMBOLS_REPLY_EXTRA;
	buf_init(&reply, (size_t)max);
	int r = worker_call(w, request, files, NULL, &reply, diag);
	if (!r && (r = image_symbols_load(reply.data, reply.size, ret, diag)) == -EBADMSG)
		r = worker_refuse(w, diag);
	buf_free(&reply);
	return r;
}

int image_worker_symbols(struct image_worker *w, int fd, int debug_fd, size_t max_bytes,
			 struct image_symbols **ret, struct diag *diag)
{
	return request_symbols(w, WORKER_SYMBOLS, fd, debug_fd, max_bytes, ret, diag);
}

int image_worker_jit(struct image_worker *w, int fd, bool is_jitdump, size_t max_bytes,
		     struct image_symbols **ret, struct diag *diag)
{
	return request_symbols(w, is_jitdump ? WORKER_JITDUMP : WORKER_PERF_MAP, fd, -1, max_bytes,
			       ret, diag);
}

int image_worker_lines(struct image_worker *w, int fd, int debug_fd, const uint64_t *addresses,
		       size_t count, struct image_lines **ret, struct diag *diag)
{
	int files[] = {fd, debug_fd};
	struct worker_request request = {.kind = WORKER_LINES,
					 .file_count = debug_fd < 0 ? 1 : 2,
					 .payload_size = count * sizeof(*addresses)};
	struct buf reply;

	if (count > IMAGE_WORKER_ADDRESSES_MAX)
		return diag_fail(diag, E2BIG, "lines of %zu addresses at once: at most %u", count,
				 IMAGE_WORKER_ADDRESSES_MAX);
	buf_init(&reply, (size_t)worker_memory_bytes(w));
	int r = worker_call(w, request, files, addresses, &reply, diag);
	if (!r && (r = image_lines_load(reply.data, reply.size, ret, diag)) == -EBADMSG)
		r = worker_refuse(w, diag);
	buf_free(&reply);
	return r;
}

int image_worker_line_table(struct image_worker *w, int fd, int debug_fd,
			    const struct image_range *ranges, size_t count,
			    struct image_line_table *ret, struct diag *diag)
{
	int files[] = {fd, debug_fd};
	struct worker_request request = {.kind = WORKER_LINE_TABLE,
					 .file_count = debug_fd < 0 ? 1 : 2,
					 .payload_size = count * sizeof(*ranges)};
	struct buf reply;

	if (count > IMAGE_WORKER_RANGES_MAX)
		return diag_fail(diag, E2BIG, "lines of %zu functions at once: at most %u", count,
				 IMAGE_WORKER_RANGES_MAX);
	buf_init(&reply, LINE_TABLE_MAX_BYTES);
	int r = worker_call(w, request, files, ranges, &reply, diag);
	if (!r && (r = image_line_table_load(reply.data, reply.size, ret)) == -EBADMSG)
		r = worker_refuse(w, diag);
	buf_free(&reply);
	return r;
}

int image_worker_debug_link(struct image_worker *w, int fd, struct image_debug_link *ret,
			    struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_DEBUG_LINK, .file_count = 1};
	struct image_debug_link link;
	struct buf reply;

	buf_init(&reply, sizeof(link));
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	if (r)
		goto out;
	if (reply.size == sizeof(link))
		memcpy(&link, reply.data, sizeof(link));
	if (reply.size != sizeof(link) || !memchr(link.name, 0, sizeof(link.name)) ||
	    strchr(link.name, '/') || !link.name[0]) {
		r = worker_refuse(w, diag);
		goto out;
	}
	*ret = link;
out:
	buf_free(&reply);
	return r;
}

static bool starts_make_sense(const uint64_t *starts, size_t size)
{
	if (size % sizeof(*starts))
		return false;
	for (size_t i = 1; i < size / sizeof(*starts); i++)
		if (starts[i - 1] >= starts[i])
			return false;
	return true;
}

int image_worker_starts(struct image_worker *w, int fd, size_t max_bytes, uint64_t **ret,
			size_t *ret_count, struct diag *diag)
{
	struct worker_request request = {
		.kind = WORKER_STARTS, .file_count = 1, .arguments = {max_bytes}};
	struct buf reply;

	buf_init(&reply, max_bytes);
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	if (!r && !starts_make_sense((const uint64_t *)reply.data, reply.size))
		r = worker_refuse(w, diag);
	if (r) {
		buf_free(&reply);
		return r;
	}
	*ret = (uint64_t *)reply.data;
	*ret_count = reply.size / sizeof(**ret);
	return 0;
}

int image_worker_code(struct image_worker *w, int fd, uint64_t address, size_t size,
		      uint8_t **ret_data, size_t *ret_size, struct diag *diag)
{
	struct worker_request request = {
		.kind = WORKER_CODE, .file_count = 1, .arguments = {address, size}};
	struct buf reply;

	buf_init(&reply, size < IMAGE_CODE_MAX_BYTES ? size : IMAGE_CODE_MAX_BYTES);
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	if (!r && !reply.size)
		r = worker_refuse(w, diag);
	if (r) {
		buf_free(&reply);
		return r;
	}
	*ret_data = reply.data;
	*ret_size = reply.size;
	return 0;
}

int image_worker_layout(struct image_worker *w, int fd, uint64_t max_bytes,
			struct image_layout **ret, struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_LAYOUT, .file_count = 1};
	struct buf reply;

	buf_init(&reply, (size_t)worker_memory_bytes(w));
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	if (!r)
		r = image_layout_load(reply.data, reply.size, fd, max_bytes, ret, diag);
	if (r == -EBADMSG)
		r = worker_refuse(w, diag);
	buf_free(&reply);
	return r;
}

int image_worker_unwind(struct image_worker *w, int fd, struct image_unwind **ret,
			struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_UNWIND, .file_count = 1};
	struct buf reply;

	buf_init(&reply, (size_t)worker_memory_bytes(w));
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	if (!r && (r = image_unwind_load(reply.data, reply.size, ret)) == -EBADMSG)
		r = worker_refuse(w, diag);
	buf_free(&reply);
	return r;
}

int image_worker_python(struct image_worker *w, int fd, struct image_python *ret, struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_PYTHON, .file_count = 1};
	struct buf reply;

	buf_init(&reply, sizeof(*ret));
	int r = worker_call(w, request, &fd, NULL, &reply, diag);
	/* Any address may be the runtime's: it is only ever read from. */
	if (!r && reply.size == sizeof(*ret))
		memcpy(ret, reply.data, sizeof(*ret));
	else if (!r)
		r = worker_refuse(w, diag);
	buf_free(&reply);
	return r;
}

/* Its count is checked; its ranks, by which operations are found, are counted anew. */
static bool strip_make_sense(struct wire_strip *strip, size_t micros)
{
	uint32_t rank = 0;

	for (unsigned i = 0; i < WIRE_STRIP_WORDS; i++) {
		strip->rank[i] = (uint16_t)rank;
		rank += (uint32_t)__builtin_popcountll(strip->starts[i]);
	}
	strip->first = 0;
	return strip->count == rank && micros == rank;
}

int image_worker_strip(struct image_worker *w, int fd, const struct image_strip_wanted *wanted,
		       struct wire_strip *ret_strip, struct wire_micro ret_micros[WIRE_STRIP_BYTES],
		       struct diag *diag)
{
	struct worker_request request = {
		.kind = WORKER_STRIP,
		.file_count = 1,
		.arguments = {wanted->begin, (uint64_t)wanted->size << 32 | wanted->number},
		.payload_size = wanted->start_count * sizeof(*wanted->starts)};
	struct wire_strip strip;
	size_t micro_bytes = 0;
	struct buf reply;

	if (wanted->start_count > IMAGE_WORKER_ADDRESSES_MAX)
		return diag_fail(diag, E2BIG, "code with %zu starts: at most %u",
				 wanted->start_count, IMAGE_WORKER_ADDRESSES_MAX);
	buf_init(&reply, sizeof(strip) + WIRE_STRIP_BYTES * sizeof(*ret_micros));
	int r = worker_call(w, request, &fd, wanted->starts, &reply, diag);
	if (r)
		goto out;
	if (reply.size >= sizeof(strip)) {
		memcpy(&strip, reply.data, sizeof(strip));
		micro_bytes = reply.size - sizeof(strip);
	}
	if (reply.size < sizeof(strip) || micro_bytes % sizeof(*ret_micros) ||
	    !strip_make_sense(&strip, micro_bytes / sizeof(*ret_micros))) {
		r = worker_refuse(w, diag);
		goto out;
	}
	if (micro_bytes)
		memcpy(ret_micros, (const char *)reply.data + sizeof(strip), micro_bytes);
	*ret_strip = strip;
out:
	buf_free(&reply);
	return r;
}
