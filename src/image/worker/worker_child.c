/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The child's side: read a request, do it, answer, until the parent closes its end. */
#include "image/worker/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include "image/code.h"
#include "image/jit/jit.h"
#include "image/starts.h"
#include "image/worker/worker_wire.h"
#include "util/num.h"

struct child {
	struct worker_request request;
	int files[WORKER_FILES_MAX]; /* -1: not given */
	void *payload;
	uint64_t memory_bytes, time_ns, wait_ns;
};

static void child_take_files(struct child *c, struct msghdr *message)
{
	for (struct cmsghdr *m = CMSG_FIRSTHDR(message); m; m = CMSG_NXTHDR(message, m)) {
		if (m->cmsg_level != SOL_SOCKET || m->cmsg_type != SCM_RIGHTS)
			continue;
		size_t size = m->cmsg_len - CMSG_LEN(0);
		if (size <= sizeof(c->files))
			memcpy(c->files, CMSG_DATA(m), size);
	}
}

/* Reads size bytes, and the descriptors that come with them. False at the end of the parent. */
static bool child_read(struct child *c, void *out, size_t size)
{
	union {
		char bytes[CMSG_SPACE(sizeof(c->files))];
		struct cmsghdr align;
	} control;

	for (size_t done = 0; done < size;) {
		struct iovec iov = {(char *)out + done, size - done};
		struct msghdr message = {.msg_iov = &iov,
					 .msg_iovlen = 1,
					 .msg_control = control.bytes,
					 .msg_controllen = sizeof(control.bytes)};
		ssize_t n = recvmsg(WORKER_SOCKET, &message, MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		child_take_files(c, &message);
		done += (size_t)n;
	}
	return true;
}

static int do_facts(const struct child *c, struct buf *out, struct diag *diag)
{
	struct image_facts facts;

	/* Its unused bytes are sent too. */
	memset(&facts, 0, sizeof(facts));
	int r = c->request.kind == WORKER_IDENTITY ? image_facts_identify(c->files[0], &facts, diag)
						   : image_facts_read(c->files[0], &facts, diag);
	return r ? r : buf_append(out, &facts, sizeof(facts));
}

static int do_symbols(const struct child *c, struct buf *out, struct diag *diag)
{
	struct image_symbols *symbols;
	size_t max_bytes = (size_t)c->request.arguments[0];
	int r;

	if (c->request.kind == WORKER_PERF_MAP)
		r = image_perf_map_read(c->files[0], max_bytes, &symbols, diag);
	else if (c->request.kind == WORKER_JITDUMP)
		r = image_jitdump_read(c->files[0], max_bytes, &symbols, diag);
	else if (c->request.kind == WORKER_DATA_SYMBOLS)
		r = image_data_symbols_read(c->files[0], c->files[1], max_bytes, &symbols, diag);
	else
		r = image_symbols_read(c->files[0], c->files[1], max_bytes, &symbols, diag);
	if (r)
		return r;
	r = image_symbols_save(symbols, out);
	image_symbols_free(symbols);
	return r;
}

static int do_lines(const struct child *c, struct buf *out, struct diag *diag)
{
	struct image_lines *lines;
	int r = image_lines_read(c->files[0], c->files[1], c->payload,
				 (size_t)c->request.payload_size / sizeof(uint64_t), &lines, diag);

	if (r)
		return r;
	r = image_lines_save(lines, out);
	image_lines_free(lines);
	return r;
}

static int do_line_table(const struct child *c, struct buf *out, struct diag *diag)
{
	struct image_line_table table;
	size_t count = (size_t)c->request.payload_size / sizeof(struct image_range);
	int r = image_line_table_read(c->files[0], c->files[1], c->payload, count, &table, diag);

	if (r)
		return r;
	r = image_line_table_save(&table, out);
	if (!r && out->size > LINE_TABLE_MAX_BYTES)
		r = diag_fail(diag, EFBIG, "more line numbers than are kept at once");
	image_line_table_free(&table);
	return r;
}

static int do_debug_link(const struct child *c, struct buf *out, struct diag *diag)
{
	struct image_debug_link link;

	memset(&link, 0, sizeof(link));
	int r = image_debug_link_read(c->files[0], &link, diag);
	return r ? r : buf_append(out, &link, sizeof(link));
}

static int do_starts(const struct child *c, struct buf *out, struct diag *diag)
{
	uint64_t *starts;
	size_t count;
	int r = image_starts_read(c->files[0], (size_t)c->request.arguments[0], &starts, &count,
				  diag);

	if (r)
		return r;
	r = buf_append(out, starts, count * sizeof(*starts));
	free(starts);
	return r;
}

static int do_code(const struct child *c, struct buf *out, struct diag *diag)
{
	uint8_t *data;
	size_t size;
	int r = image_code_read(c->files[0], c->request.arguments[0],
				(size_t)c->request.arguments[1], &data, &size, diag);

	if (r)
		return r;
	r = buf_append(out, data, size);
	free(data);
	return r;
}

static int do_python(const struct child *c, struct buf *out, struct diag *diag)
{
	struct image_python python;
	int r = image_python_read(c->files[0], &python, diag);

	return r ? r : buf_append(out, &python, sizeof(python));
}

static int do_strip(const struct child *c, struct buf *out, struct diag *diag)
{
	const struct image_strip_wanted wanted = {.begin = c->request.arguments[0],
						  .number = (uint32_t)c->request.arguments[1],
						  .size = (uint32_t)(c->request.arguments[1] >> 32),
						  .starts = c->payload,
						  .start_count = (size_t)c->request.payload_size /
								 sizeof(uint64_t)};

	return image_strip_describe(c->files[0], &wanted, out, diag);
}

static int child_do(const struct child *c, struct buf *out, struct diag *diag)
{
	switch (c->request.kind) {
	case WORKER_FACTS:
	case WORKER_IDENTITY:
		return do_facts(c, out, diag);
	case WORKER_SYMBOLS:
	case WORKER_DATA_SYMBOLS:
	case WORKER_PERF_MAP:
	case WORKER_JITDUMP:
		return do_symbols(c, out, diag);
	case WORKER_LINES:
		return do_lines(c, out, diag);
	case WORKER_LINE_TABLE:
		return do_line_table(c, out, diag);
	case WORKER_DEBUG_LINK:
		return do_debug_link(c, out, diag);
	case WORKER_LAYOUT:
		return image_layout_describe(c->files[0], out, diag);
	case WORKER_STARTS:
		return do_starts(c, out, diag);
	case WORKER_UNWIND:
		return image_unwind_describe(c->files[0], out, diag);
	case WORKER_CODE:
		return do_code(c, out, diag);
	case WORKER_PYTHON:
		return do_python(c, out, diag);
	case WORKER_STRIP:
		return do_strip(c, out, diag);
	}
	return diag_fail(diag, EINVAL, "the image worker does not know request %u",
			 c->request.kind);
}

static void child_close_files(struct child *c)
{
	for (int i = 0; i < WORKER_FILES_MAX; i++)
		if (c->files[i] >= 0)
			close(c->files[i]);
}

static bool child_answer(struct child *c)
{
	struct worker_reply reply = {.serial = c->request.serial};
	struct diag diag = {0};
	struct buf out;

	buf_init(&out, (size_t)c->memory_bytes);
	reply.status = child_do(c, &out, &diag);
	child_close_files(c); /* before the parent goes on: it may want to unmount */
	if (reply.status)
		reply.reason_size = (uint32_t)strnlen(diag.text, WORKER_REASON_MAX);
	else
		reply.payload_size = out.size;
	bool sent = worker_jail_send(&reply, sizeof(reply)) &&
		    worker_jail_send(diag.text, reply.reason_size) &&
		    worker_jail_send(out.data, reply.payload_size);
	buf_free(&out);
	return sent;
}

static void child_set_timer(__itimer_which_t which, uint64_t time_ns)
{
	struct itimerval t = {.it_value = {.tv_sec = (time_t)(time_ns / 1000000000),
					   .tv_usec = (suseconds_t)(time_ns % 1000000000 / 1000)}};

	setitimer(which, &t, NULL);
}

static bool child_serve(struct child *c)
{
	c->files[0] = c->files[1] = -1;
	c->payload = NULL;
	bool good = child_read(c, &c->request, sizeof(c->request));
	uint64_t size = good ? c->request.payload_size : 0;
	if (size > IMAGE_WORKER_ADDRESSES_MAX * sizeof(uint64_t))
		good = false;
	if (good && size) {
		c->payload = malloc(size);
		good = c->payload && child_read(c, c->payload, size);
	}
	if (good) {
		/* Ends it by WORKER_SPENT. On a busy machine little of the time is its own. */
		child_set_timer(ITIMER_PROF, c->time_ns);
		/* The parent kills a child that takes too long; this is for a parent that is not
		 * there to do so. */
		child_set_timer(ITIMER_REAL, c->wait_ns + 1000000000);
		good = child_answer(c);
		child_set_timer(ITIMER_PROF, 0);
		child_set_timer(ITIMER_REAL, 0);
	}
	free(c->payload);
	return good;
}

void image_worker_dispatch(int argc, char **argv)
{
	struct child c = {0};

	if (argc < 1 || strcmp(argv[0], WORKER_NAME))
		return;
	if (argc != 4 || num_parse_u64(argv[1], &c.memory_bytes) ||
	    num_parse_u64(argv[2], &c.time_ns) || num_parse_u64(argv[3], &c.wait_ns))
		_exit(WORKER_EXIT_UNSAFE);
	/* A service manager that stops the parent signals the child too: the parent says when. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "culprit-worker", 0, 0, 0);
	int step = worker_jail_enter(c.memory_bytes);
	if (step)
		_exit(WORKER_EXIT_UNSAFE + step);
	while (child_serve(&c))
		;
	_exit(0);
}
