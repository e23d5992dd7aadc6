/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/planner_wire.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "util/sanitized.h"

#define PROCESSOR_S 600 /* that a file may cost */

/* The one image that a process plans. */
struct served {
	int file;
	struct plans *plans; /* NULL: not yet */
	struct plans_facts facts;
};

static int plan(struct served *s, const struct planner_request *q, const void *data,
		struct buf *out, struct diag *diag)
{
	const uint64_t sampled = (q->size - q->names_size) / sizeof(uint64_t);
	const struct plans_request request = {
		.sampled = {sampled ? data : NULL, sampled},
		.names = q->names_size ? (const char *)data + sampled * sizeof(uint64_t) : NULL,
		.paths_max = q->paths_max};
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->file);
	r = s->plans ? -EINVAL : plans_new(path, &request, &s->plans, &s->facts, diag);
	return r ?: buf_append(out, &s->facts, sizeof(s->facts));
}

static void append_code(struct buf *out, const struct instrument_code *c)
{
	const struct planner_code w = {.entry = c->entry,
				       .address = c->address,
				       .original_hash = c->original_hash,
				       .size = c->size,
				       .entrance = c->entrance,
				       .place_count = c->place_count,
				       .patch_count = c->patch_count,
				       .first_slot = c->first_slot,
				       .slot_count = c->slot_count,
				       .piece_count = c->piece_count};

	buf_append(out, &w, sizeof(w));
	if (!w.size)
		return;
	buf_append(out, c->bytes, c->size);
	buf_append(out, c->places, c->place_count * sizeof(*c->places));
	buf_append(out, c->pieces, c->piece_count * sizeof(*c->pieces));
	buf_append(out, c->patches, c->patch_count * sizeof(*c->patches));
}

static int copy(const struct served *s, const struct planner_request *q, struct buf *out)
{
	uint32_t count = s->facts.planned;
	struct instrument_code *codes = calloc(count + 1, sizeof(*codes));
	int r = codes ? plans_copy(s->plans, &q->at, codes) : -ENOMEM;

	for (uint32_t i = 0; codes && i < count; i++) {
		if (!r)
			append_code(out, &codes[i]);
		instrument_code_free(&codes[i]);
	}
	free(codes);
	return r ?: out->error;
}

static int count(const struct served *s, const struct planner_request *q, const uint8_t *data,
		 struct buf *out)
{
	const struct plans_facts *f = &s->facts;

	if (q->size != f->slots * sizeof(uint64_t) + f->planned)
		return -EBADMSG;
	return plans_count(s->plans, (const uint64_t *)data, data + f->slots * sizeof(uint64_t),
			   out);
}

static int answer(struct served *s, const struct planner_request *q, const void *data,
		  struct buf *out, struct diag *diag)
{
	if (q->what == PLANNER_PLAN)
		return plan(s, q, data, out, diag);
	if (!s->plans)
		return -EINVAL;
	return q->what == PLANNER_COPY ? copy(s, q, out) : count(s, q, data, out);
}

/* What it has of its own, by which what others may have is reckoned. */
static uint64_t read_memory(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file && fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int serve_one(struct served *s, const struct planner_line *l)
{
	struct planner_answer a = {.diag = {""}};
	struct planner_request q;
	struct buf out;
	void *data;
	int r = planner_receive(l, &q, sizeof(q));

	if (r || q.size > PLANNER_MAX_BYTES)
		return r ?: -EBADMSG;
	data = malloc(q.size + 1);
	r = data ? planner_receive(l, data, q.size) : -ENOMEM;
	if (r) {
		free(data);
		return r;
	}
	buf_init(&out, PLANNER_MAX_BYTES);
	a.result = answer(s, &q, data, &out, &a.diag);
	a.size = a.result < 0 ? 0 : out.size;
	a.memory_bytes = SANITIZED ? 0 : read_memory();
	r = planner_send(l, &a, sizeof(a));
	r = r ?: planner_send(l, out.data, a.size);
	buf_free(&out);
	free(data);
	return r;
}

static void limit(uint64_t memory_bytes)
{
	const struct rlimit processor = {PROCESSOR_S, PROCESSOR_S}, cores = {0, 0};

	setrlimit(RLIMIT_CPU, &processor);
	setrlimit(RLIMIT_CORE, &cores);
	if (!SANITIZED)
		setrlimit(RLIMIT_DATA, &(struct rlimit){memory_bytes, memory_bytes});
}

/* Plans one image, until the other one closes its end. */
static void serve(int fd, int file, uint64_t memory_bytes)
{
	const struct planner_line l = {.fd = fd, .stop = -1, .until_ns = UINT64_MAX};
	struct served s = {.file = file};

	limit(memory_bytes);
	if (planner_jail_enter())
		return;
	while (!serve_one(&s, &l))
		;
}

static pid_t start(int fd, const struct planner_order *o, const int fds[2])
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	close(fd);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		serve(fds[0], fds[1], o->memory_bytes);
	_exit(0);
}

static void end(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
}

void planner_obey(int fd)
{
	static pid_t pids[PLANNER_IMAGES_MAX];
	struct planner_order o;
	int fds[2];

	/* Nothing is fetched from a network while a program waits. */
	unsetenv("DEBUGINFOD_URLS");
	while (!planner_receive_order(fd, &o, fds) && o.number < PLANNER_IMAGES_MAX) {
		end(&pids[o.number]);
		if (!o.end && fds[0] >= 0)
			pids[o.number] = start(fd, &o, fds);
		for (int i = 0; i < 2; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
}
