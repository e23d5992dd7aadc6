/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct lane_state {
	uint64_t at; /* words read */
	bool begun;
};

struct sim_trace {
	struct wire_head *head;
	uint8_t *code;
	int fd; /* -1: bytes in memory */
	bool over, code_bad;
	char path[64];
	struct lane_state lanes[WIRE_LANES];
	uint64_t damaged, accesses_left_out;
	uint64_t accesses[SIM_ACCESSES_MAX];
};

static int trace_new(struct sim_trace **ret, struct diag *diag)
{
	struct sim_trace *t = calloc(1, sizeof(*t));

	if (!t)
		return diag_fail(diag, ENOMEM, "out of memory");
	t->head = MAP_FAILED;
	t->fd = memfd_create("culprit-sim", MFD_CLOEXEC);
	if (t->fd >= 0 && ftruncate(t->fd, (off_t)WIRE_BYTES) == 0)
		t->head = mmap(NULL, WIRE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
	if (t->head == MAP_FAILED) {
		int r = -errno;

		t->head = NULL;
		sim_trace_free(t);
		return diag_fail(diag, -r, "cannot make the memory for a trace: %s", strerror(-r));
	}
	t->code = (uint8_t *)t->head + WIRE_CODE_AT;
	snprintf(t->path, sizeof(t->path), "/proc/%d/fd/%d", (int)getpid(), t->fd);
	*ret = t;
	return 0;
}

int sim_trace_new(struct sim_trace **ret, struct diag *diag)
{
	int r = trace_new(ret, diag);

	if (!r)
		(*ret)->head->magic = WIRE_MAGIC;
	return r;
}

/* The bytes: the head, so many bytes of code as it says, and the words of each lane, one lane after
 * the other. */
int sim_trace_of(const void *data, size_t size, struct sim_trace **ret, struct diag *diag)
{
	const struct wire_head *head = data;
	const uint8_t *at = (const uint8_t *)data + sizeof(*head);
	struct sim_trace *t;
	size_t left;

	if (size < sizeof(*head) || head->magic != WIRE_MAGIC ||
	    head->code_used > size - sizeof(*head) || head->code_used > WIRE_CODE_BYTES)
		return diag_fail(diag, EBADMSG, "this is no trace, or it is cut off");
	int r = trace_new(&t, diag);
	if (r)
		return r;
	memcpy(t->head, head, sizeof(*head));
	memcpy(t->code, at, head->code_used);
	at += head->code_used;
	left = size - sizeof(*head) - head->code_used;
	for (unsigned i = 0; i < WIRE_LANES; i++) {
		struct wire_lane *lane = &t->head->lanes[i];
		uint64_t words = left / 8, room = WIRE_RING_WORDS;

		words = words < lane->written ? words : lane->written;
		words = words < room ? words : room;
		memcpy((uint8_t *)t->head + WIRE_RINGS_AT + (uint64_t)i * WIRE_RING_WORDS * 8, at,
		       words * 8);
		lane->written = words;
		lane->read = 0;
		at += words * 8;
		left -= words * 8;
	}
	sim_trace_end(t);
	*ret = t;
	return 0;
}

void sim_trace_free(struct sim_trace *t)
{
	if (!t)
		return;
	if (t->head)
		munmap(t->head, WIRE_BYTES);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

const char *sim_trace_path(const struct sim_trace *t)
{
	return t->path;
}

void sim_trace_end(struct sim_trace *t)
{
	t->over = true;
}

void sim_trace_stop(struct sim_trace *t)
{
	__atomic_store_n(&t->head->stop, 1, __ATOMIC_RELAXED);
}

static const uint64_t *ring_of(const struct sim_trace *t, unsigned lane)
{
	return (const uint64_t *)((const uint8_t *)t->head + WIRE_RINGS_AT) +
	       (uint64_t)lane * WIRE_RING_WORDS;
}

bool sim_trace_lane(struct sim_trace *t, unsigned lane, uint32_t *ret_process, uint32_t *ret_thread)
{
	const struct wire_lane *l = &t->head->lanes[lane];

	if (__atomic_load_n(&l->state, __ATOMIC_ACQUIRE) == WIRE_FREE)
		return false;
	*ret_process = l->process;
	*ret_thread = l->thread;
	return true;
}

/* Up to which word the reader may look now; never more than a ring of them. */
static uint64_t limit_of(struct sim_trace *t, unsigned lane)
{
	const struct wire_lane *l = &t->head->lanes[lane];
	uint64_t limit = __atomic_load_n(t->over ? &l->written : &l->shown, __ATOMIC_ACQUIRE);

	if (limit - t->lanes[lane].at > WIRE_RING_WORDS) {
		/* Nothing there can be believed: it goes on with what comes next. */
		t->damaged++;
		t->lanes[lane].at = limit;
	}
	return limit;
}

/* A lane that is empty: goes on, or is over. */
static int end_of_lane(struct sim_trace *t, unsigned lane, uint64_t limit)
{
	struct wire_lane *l = &t->head->lanes[lane];
	bool ended = __atomic_load_n(&l->state, __ATOMIC_ACQUIRE) == WIRE_ENDED;

	/* What was shown before it ended has to be looked at first. */
	if ((!ended && !t->over) || limit_of(t, lane) != limit)
		return 0;
	l->written = l->shown = l->read = t->lanes[lane].at = 0;
	__atomic_store_n(&l->state, WIRE_FREE, __ATOMIC_RELEASE);
	return -EPIPE;
}

static bool is_block(uint64_t word)
{
	return word >> WIRE_KIND_SHIFT == WIRE_BLOCK;
}

int sim_trace_next(struct sim_trace *t, unsigned lane, struct sim_run *ret)
{
	const uint64_t *ring = ring_of(t, lane);
	struct lane_state *s = &t->lanes[lane];
	uint64_t limit = limit_of(t, lane), at = s->at, count = 0, word;
	bool last;

	while (at != limit && !is_block(ring[at % WIRE_RING_WORDS])) {
		t->damaged++; /* words before the first block */
		at++;
	}
	if (at == limit) {
		s->at = at;
		return end_of_lane(t, lane, limit);
	}
	word = ring[at++ % WIRE_RING_WORDS];
	for (; at != limit && !is_block(ring[at % WIRE_RING_WORDS]); at++) {
		if (count == SIM_ACCESSES_MAX)
			t->accesses_left_out++;
		else
			t->accesses[count++] = ring[at % WIRE_RING_WORDS];
	}
	last = __atomic_load_n(&t->head->lanes[lane].state, __ATOMIC_ACQUIRE) == WIRE_ENDED ||
	       t->over;
	if (at == limit && (!last || limit_of(t, lane) != limit))
		return 0; /* the block may not be over yet */
	*ret = (struct sim_run){.block = (uint32_t)word,
				.next = at == limit ? 0 : (uint32_t)ring[at % WIRE_RING_WORDS],
				.accesses = t->accesses,
				.access_count = count};
	s->at = at;
	/* Room for the writer, now and then. */
	if (at - __atomic_load_n(&t->head->lanes[lane].read, __ATOMIC_RELAXED) >= WIRE_PUBLISHED ||
	    at == limit)
		__atomic_store_n(&t->head->lanes[lane].read, at, __ATOMIC_RELEASE);
	return 1;
}

/* Whether a record says the truth about its size. */
static bool is_sound(const struct wire_record_head *r, uint64_t room)
{
	const struct wire_mapping *m = (const void *)r;
	const struct wire_block *b = (const void *)r;

	if (r->bytes < sizeof(*r) || r->bytes % 8 || r->bytes > room)
		return false;
	switch (r->kind) {
	case WIRE_RECORD_MAPPING:
		return r->bytes >= sizeof(*m) && m->path_bytes <= r->bytes - sizeof(*m);
	case WIRE_RECORD_PAGE:
		return r->bytes >= sizeof(struct wire_page) + WIRE_PAGE;
	case WIRE_RECORD_BLOCK:
		return r->bytes >= sizeof(*b) && b->count && b->count <= WIRE_BLOCK_MAX &&
		       (uint64_t)b->count + b->bytes <= r->bytes - sizeof(*b);
	default:
		return false;
	}
}

const struct wire_record_head *sim_trace_record(struct sim_trace *t, uint64_t *at)
{
	uint64_t used = __atomic_load_n(&t->head->code_used, __ATOMIC_ACQUIRE);
	const struct wire_record_head *r = (const void *)(t->code + *at);

	used = used < WIRE_CODE_BYTES ? used : WIRE_CODE_BYTES;
	if (t->code_bad || *at >= used || used - *at < sizeof(*r) ||
	    !__atomic_load_n(&r->bytes, __ATOMIC_ACQUIRE))
		return NULL;
	if (!is_sound(r, used - *at)) {
		t->damaged++;
		t->code_bad = true;
		return NULL;
	}
	*at += r->bytes;
	return r;
}

const struct wire_block *sim_trace_block(const struct sim_trace *t, uint32_t number)
{
	uint64_t at = (uint64_t)number * 8, used = t->head->code_used;
	const struct wire_record_head *r;

	used = used < WIRE_CODE_BYTES ? used : WIRE_CODE_BYTES;
	if (at >= used || used - at < sizeof(*r))
		return NULL;
	r = (const void *)(t->code + at);
	if (r->kind != WIRE_RECORD_BLOCK || !is_sound(r, used - at))
		return NULL;
	return (const void *)r;
}

void sim_trace_read_counters(const struct sim_trace *t, struct sim_trace_counters *ret)
{
	const struct wire_head *h = t->head;

	*ret = (struct sim_trace_counters){
		.code_full = h->code_full,
		.threads_refused = h->threads_refused,
		.forks = h->forks,
		.execs = h->execs,
		.damaged = t->damaged,
		.accesses_left_out = t->accesses_left_out,
	};
}
