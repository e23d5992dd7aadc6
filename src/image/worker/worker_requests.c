/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What can be asked of the worker, and what its answers must look like to be believed. */
#include "image/worker/worker.h"

#include <errno.h>
#include <string.h>
#include "image/code.h"
#include "image/worker/worker_call.h"

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

/* Asks of one file, or two where there is a debug file, and gets at most max bytes: free them. */
static int ask(struct image_worker *w, struct worker_request request, int fd, int debug_fd,
	       const void *payload, uint64_t max, struct buf *ret, struct diag *diag)
{
	int files[] = {fd, debug_fd};

	request.file_count = debug_fd < 0 ? 1 : 2;
	buf_init(ret, (size_t)max);
	int r = worker_call(w, request, files, payload, ret, diag);
	if (r)
		buf_free(ret);
	return r;
}

/* Frees the reply; r is what was made of it. */
static int take(struct image_worker *w, struct buf *reply, int r, struct diag *diag)
{
	buf_free(reply);
	return r == -EBADMSG ? worker_refuse(w, diag) : r;
}

/* Asks of one file what is answered with so many bytes. */
static int request_fixed(struct image_worker *w, enum worker_kind kind, int fd, void *ret,
			 size_t size, struct diag *diag)
{
	struct buf reply;
	int r = ask(w, (struct worker_request){.kind = kind}, fd, -1, NULL, size, &reply, diag);

	if (r)
		return r;
	if (reply.size != size)
		return take(w, &reply, -EBADMSG, diag);
	memcpy(ret, reply.data, size);
	return take(w, &reply, 0, diag);
}

static int request_facts(struct image_worker *w, enum worker_kind kind, int fd,
			 struct image_facts *ret, struct diag *diag)
{
	struct image_facts facts;
	int r = request_fixed(w, kind, fd, &facts, sizeof(facts), diag);

	if (r)
		return r;
	if (!facts_make_sense(&facts) ||
	    (facts.id.kind == IMAGE_FILE_OFFSET && kind == WORKER_FACTS))
		return worker_refuse(w, diag);
	*ret = facts;
	return 0;
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
	struct worker_request request = {.kind = kind, .arguments = {max_bytes}};
	uint64_t max = worker_memory_bytes(w);
	struct buf reply;

	if (max_bytes < max / SYMBOLS_REPLY_FACTOR)
		max = max_bytes * SYMBOLS_REPLY_FACTOR + SYMBOLS_REPLY_EXTRA;
	int r = ask(w, request, fd, debug_fd, NULL, max, &reply, diag);
	if (r)
		return r;
	return take(w, &reply, image_symbols_load(reply.data, reply.size, ret, diag), diag);
}

int image_worker_symbols(struct image_worker *w, int fd, int debug_fd, size_t max_bytes,
			 struct image_symbols **ret, struct diag *diag)
{
	return request_symbols(w, WORKER_SYMBOLS, fd, debug_fd, max_bytes, ret, diag);
}

int image_worker_data_symbols(struct image_worker *w, int fd, int debug_fd, size_t max_bytes,
			      struct image_symbols **ret, struct diag *diag)
{
	return request_symbols(w, WORKER_DATA_SYMBOLS, fd, debug_fd, max_bytes, ret, diag);
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
	struct worker_request request = {.kind = WORKER_LINES,
					 .payload_size = count * sizeof(*addresses)};
	struct buf reply;

	if (count > IMAGE_WORKER_ADDRESSES_MAX)
		return diag_fail(diag, E2BIG, "lines of %zu addresses at once: at most %u", count,
				 IMAGE_WORKER_ADDRESSES_MAX);
	int r = ask(w, request, fd, debug_fd, addresses, worker_memory_bytes(w), &reply, diag);
	if (r)
		return r;
	return take(w, &reply, image_lines_load(reply.data, reply.size, ret, diag), diag);
}

int image_worker_line_table(struct image_worker *w, int fd, int debug_fd,
			    const struct image_range *ranges, size_t count,
			    struct image_line_table *ret, struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_LINE_TABLE,
					 .payload_size = count * sizeof(*ranges)};
	struct buf reply;

	if (count > IMAGE_WORKER_RANGES_MAX)
		return diag_fail(diag, E2BIG, "lines of %zu functions at once: at most %u", count,
				 IMAGE_WORKER_RANGES_MAX);
	int r = ask(w, request, fd, debug_fd, ranges, LINE_TABLE_MAX_BYTES, &reply, diag);
	if (r)
		return r;
	return take(w, &reply, image_line_table_load(reply.data, reply.size, ret), diag);
}

int image_worker_debug_link(struct image_worker *w, int fd, struct image_debug_link *ret,
			    struct diag *diag)
{
	struct image_debug_link link;
	int r = request_fixed(w, WORKER_DEBUG_LINK, fd, &link, sizeof(link), diag);

	if (r)
		return r;
	if (!memchr(link.name, 0, sizeof(link.name)) || strchr(link.name, '/') || !link.name[0])
		return worker_refuse(w, diag);
	*ret = link;
	return 0;
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
	struct worker_request request = {.kind = WORKER_STARTS, .arguments = {max_bytes}};
	struct buf reply;
	int r = ask(w, request, fd, -1, NULL, max_bytes, &reply, diag);

	if (r)
		return r;
	if (!starts_make_sense((const uint64_t *)reply.data, reply.size))
		return take(w, &reply, -EBADMSG, diag);
	*ret = (uint64_t *)reply.data;
	*ret_count = reply.size / sizeof(**ret);
	return 0;
}

int image_worker_code(struct image_worker *w, int fd, uint64_t address, size_t size,
		      uint8_t **ret_data, size_t *ret_size, struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_CODE, .arguments = {address, size}};
	size_t max = size < IMAGE_CODE_MAX_BYTES ? size : IMAGE_CODE_MAX_BYTES;
	struct buf reply;
	int r = ask(w, request, fd, -1, NULL, max, &reply, diag);

	if (r)
		return r;
	if (!reply.size)
		return take(w, &reply, -EBADMSG, diag);
	*ret_data = reply.data;
	*ret_size = reply.size;
	return 0;
}

int image_worker_layout(struct image_worker *w, int fd, uint64_t max_bytes,
			struct image_layout **ret, struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_LAYOUT};
	struct buf reply;
	int r = ask(w, request, fd, -1, NULL, worker_memory_bytes(w), &reply, diag);

	if (r)
		return r;
	r = image_layout_load(reply.data, reply.size, fd, max_bytes, ret, diag);
	return take(w, &reply, r, diag);
}

int image_worker_unwind(struct image_worker *w, int fd, struct image_unwind **ret,
			struct diag *diag)
{
	struct worker_request request = {.kind = WORKER_UNWIND};
	struct buf reply;
	int r = ask(w, request, fd, -1, NULL, worker_memory_bytes(w), &reply, diag);

	if (r)
		return r;
	r = image_unwind_take(reply.data, reply.data, reply.size, ret);
	if (!r)
		reply.data = NULL;
	return take(w, &reply, r, diag);
}

int image_worker_python(struct image_worker *w, int fd, struct image_python *ret, struct diag *diag)
{
	/* Any address may be the runtime's: it is only ever read from. */
	return request_fixed(w, WORKER_PYTHON, fd, ret, sizeof(*ret), diag);
}

/* Its count is checked; its ranks, by which operations are found, are counted again. */
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
		.arguments = {wanted->begin, (uint64_t)wanted->size << 32 | wanted->number},
		.payload_size = wanted->start_count * sizeof(*wanted->starts)};
	struct wire_strip strip;
	struct buf reply;

	if (wanted->start_count > IMAGE_WORKER_ADDRESSES_MAX)
		return diag_fail(diag, E2BIG, "code with %zu starts: at most %u",
				 wanted->start_count, IMAGE_WORKER_ADDRESSES_MAX);
	int r = ask(w, request, fd, -1, wanted->starts,
		    sizeof(strip) + WIRE_STRIP_BYTES * sizeof(*ret_micros), &reply, diag);
	if (r)
		return r;
	struct cursor c = cursor_over(reply.data, reply.size);
	const void *from = cursor_bytes(&c, sizeof(strip));
	if (from)
		memcpy(&strip, from, sizeof(strip));
	if (!from || cursor_left(&c) % sizeof(*ret_micros) ||
	    !strip_make_sense(&strip, cursor_left(&c) / sizeof(*ret_micros)))
		return take(w, &reply, -EBADMSG, diag);
	memcpy(ret_micros, c.at, cursor_left(&c));
	*ret_strip = strip;
	return take(w, &reply, 0, diag);
}
