/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/build_id.h"
#include "collect/cpus.h"
#include "collect/rights.h"
#include "util/buf.h"

/* With its control page just what perf_event_mlock_kb grants by default (516 KiB a CPU). */
#define RING_BYTES (512u << 10)
#define RECORD_MAX 65536
#define AHEAD_NS   1000000000u
#define NO_RECORD  UINT64_MAX
/* With less room than this a record may have found none. */
#define ROOM_LEAST 8192
#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1u << 4)
#endif

struct ring {
	int fd;
	struct perf_event_mmap_page *control;
	const uint8_t *data;
	uint64_t head, tail; /* of what is being read */
	uint64_t next_time;  /* of the record at tail, NO_RECORD at the end */
	bool tells_lost;     /* the event can be read (Linux 6.0) */
	bool full;	     /* or nearly, when this reading began */
	/* Records lost in all, as their LOST records say; and as was told our reader. */
	uint64_t lost, told;
};

struct sideband {
	struct ring *rings;
	size_t ring_count;
	bool build_ids; /* asked for */
	uint64_t malformed;
	uint8_t scratch[RECORD_MAX]; /* a record that wraps around its ring's end */
};

static int ring_open(struct ring *r, int cpu, bool build_ids, struct diag *diag)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.read_format = PERF_FORMAT_LOST,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.build_id = build_ids,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 2,
	};

	r->fd = rights_open_event(&attr, -1, cpu, -1);
	r->tells_lost = r->fd >= 0;
	if (r->fd == -EINVAL) {
		attr.read_format = 0;
		r->fd = rights_open_event(&attr, -1, cpu, -1);
	}
	if (r->fd < 0)
		return diag_fail(diag, -r->fd, "cannot follow the processes of CPU %d: %s", cpu,
				 strerror(-r->fd));
	void *p = mmap(NULL, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		       MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		return diag_fail(diag, errno,
				 "cannot map the records of CPU %d: %s; raise "
				 "kernel.perf_event_mlock_kb or give CAP_IPC_LOCK",
				 cpu, strerror(errno));
	r->control = p;
	r->data = (const uint8_t *)p + r->control->data_offset;
	return 0;
}

int sideband_new(struct sideband **ret, struct diag *diag)
{
	struct cpu_list *cpus = malloc(sizeof(*cpus));
	struct sideband *s = calloc(1, sizeof(*s));
	int r = cpus && s ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	if (!r)
		r = cpus_read_online(cpus, diag);
	if (!r) {
		s->build_ids = build_ids_are_harmless();
		s->rings = calloc(cpus->count, sizeof(*s->rings));
		r = s->rings ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	}
	for (unsigned i = 0; !r && i < cpus->count; i++) {
		s->ring_count = i + 1;
		r = ring_open(&s->rings[i], cpus->number[i], s->build_ids, diag);
	}
	free(cpus);
	if (r) {
		sideband_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->ring_count; i++) {
		if (s->rings[i].control)
			munmap(s->rings[i].control, RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
		if (s->rings[i].fd > 0)
			close(s->rings[i].fd);
	}
	free(s->rings);
	free(s);
}

int sideband_start(struct sideband *s, struct diag *diag)
{
	for (size_t i = 0; i < s->ring_count; i++)
		if (ioctl(s->rings[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return diag_fail(diag, errno, "cannot start following processes: %s",
					 strerror(errno));
	return 0;
}

size_t sideband_poll_fds(const struct sideband *s, struct pollfd *fds, size_t max)
{
	for (size_t i = 0; i < s->ring_count && i < max; i++)
		fds[i] = (struct pollfd){.fd = s->rings[i].fd, .events = POLLIN};
	return s->ring_count;
}

uint64_t sideband_malformed(const struct sideband *s)
{
	return s->malformed;
}

static void read_name(struct cursor *c, struct sideband_record *r)
{
	r->name_size = cursor_left(c);
	r->name = cursor_bytes(c, r->name_size);
	r->name_size = r->name ? strnlen(r->name, r->name_size) : 0;
}

static void parse_mmap2(struct cursor *c, uint16_t misc, struct sideband_record *r)
{
	r->pid = (int32_t)cursor_u32(c);
	r->tid = (int32_t)cursor_u32(c);
	r->address = cursor_u64(c);
	r->size = cursor_u64(c);
	r->file_offset = cursor_u64(c);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		uint8_t size = cursor_u8(c);

		cursor_bytes(c, 3);
		const void *id = cursor_bytes(c, sizeof(r->build_id));

		if (id && size <= sizeof(r->build_id)) {
			r->build_id_size = size;
			memcpy(r->build_id, id, size);
		}
	} else {
		r->device_major = cursor_u32(c);
		r->device_minor = cursor_u32(c);
		r->inode = cursor_u64(c);
		r->inode_generation = cursor_u64(c);
	}
	cursor_u64(c); /* protection and flags: only mappings of code are recorded */
	read_name(c, r);
}

static void parse_task(struct cursor *c, struct sideband_record *r)
{
	r->pid = (int32_t)cursor_u32(c);
	r->ppid = (int32_t)cursor_u32(c);
	r->tid = (int32_t)cursor_u32(c);
}

static void parse_ksymbol(struct cursor *c, struct sideband_record *r)
{
	r->address = cursor_u64(c);
	r->size = cursor_u32(c);
	uint32_t type_and_flags = cursor_u32(c);

	r->gone = type_and_flags >> 16 & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	read_name(c, r);
}

/*
 * Where the record's trailer is, which is its time. Usually at the end; but for each further
 * listener the kernel makes a KSYMBOL record 8 bytes longer than what it writes
 * (perf_event_ksymbol_output does not restore the header's size, seen on 6.18), so there it is
 * looked for behind the padded name.
 */
static size_t trailer_at(const struct perf_event_header *h, const uint8_t *record, size_t size)
{
	size_t name = sizeof(*h) + 16, at;

	if (h->type != PERF_RECORD_KSYMBOL || size < name + 8)
		return size - 8;
	at = name + (strnlen((const char *)record + name, size - name) + 8) / 8 * 8;
	return at + 8 <= size ? at : size - 8;
}

int sideband_parse(const void *record, size_t size, bool build_ids, struct sideband_record *ret)
{
	struct perf_event_header h;
	struct sideband_record r = {0};

	if (size < sizeof(h) + 8)
		return -EBADMSG;
	memcpy(&h, record, sizeof(h));
	size_t end = trailer_at(&h, record, size);
	struct cursor trailer = cursor_over((const uint8_t *)record + end, 8);
	struct cursor c = cursor_over((const uint8_t *)record + sizeof(h), end - sizeof(h));

	r.time_ns = cursor_u64(&trailer);
	switch (h.type) {
	case PERF_RECORD_MMAP2:
		r.type = SIDEBAND_MMAP;
		/* The mark alone may be another listener's: see build_id.h. */
		parse_mmap2(&c, build_ids ? h.misc : 0, &r);
		break;
	case PERF_RECORD_COMM:
		r.type = SIDEBAND_COMM;
		r.exec = h.misc & PERF_RECORD_MISC_COMM_EXEC;
		r.pid = (int32_t)cursor_u32(&c);
		r.tid = (int32_t)cursor_u32(&c);
		read_name(&c, &r);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		r.type = h.type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
		parse_task(&c, &r);
		break;
	case PERF_RECORD_KSYMBOL:
		r.type = SIDEBAND_KSYMBOL;
		parse_ksymbol(&c, &r);
		break;
	case PERF_RECORD_LOST:
		r.type = SIDEBAND_LOST;
		cursor_u64(&c);
		r.lost = cursor_u64(&c);
		break;
	default:
		return -ENOMSG;
	}
	if (c.error)
		return -EBADMSG;
	*ret = r;
	return 0;
}

/* The record at the ring's tail in one piece; NULL at the end, or when the ring makes no sense (it
 * is then given up to its head: the kernel wrote it, so this is our own mistake or memory gone
 * bad). */
static const uint8_t *ring_peek(struct sideband *s, struct ring *r, size_t *ret_size)
{
	struct perf_event_header h;
	uint64_t left = r->head - r->tail, at = r->tail % RING_BYTES;

	if (left == 0)
		return NULL;
	/* Headers are 8 bytes at multiples of 8, so they never wrap. */
	memcpy(&h, r->data + at, sizeof(h));
	if (left > RING_BYTES || h.size < sizeof(h) + 8 || h.size > left || h.size % 8) {
		s->malformed++;
		r->tail = r->head;
		return NULL;
	}
	*ret_size = h.size;
	if (at + h.size <= RING_BYTES)
		return r->data + at;
	memcpy(s->scratch, r->data + at, RING_BYTES - at);
	memcpy(s->scratch + (RING_BYTES - at), r->data, h.size - (RING_BYTES - at));
	return s->scratch;
}

/* A time that lies ahead would hold up its ring for ever, so the record counts as made just now. */
static void ring_find_next(struct sideband *s, struct ring *r, uint64_t horizon_ns)
{
	struct perf_event_header h;
	size_t size;
	const uint8_t *record = ring_peek(s, r, &size);

	r->next_time = NO_RECORD;
	if (!record)
		return;
	memcpy(&h, record, sizeof(h));
	memcpy(&r->next_time, record + trailer_at(&h, record, size), 8);
	if (r->next_time > horizon_ns && r->next_time - horizon_ns > AHEAD_NS) {
		s->malformed++;
		r->next_time = horizon_ns;
	}
}

static struct ring *earliest_ring(struct sideband *s)
{
	struct ring *best = &s->rings[0];

	for (size_t i = 1; i < s->ring_count; i++)
		if (s->rings[i].next_time < best->next_time)
			best = &s->rings[i];
	return best;
}

/* What is lost in all, of which the reader may know some. */
static void tell_lost(struct ring *r, uint64_t lost, uint64_t time_ns,
		      void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	struct sideband_record record = {.type = SIDEBAND_LOST, .time_ns = time_ns};

	if (lost <= r->told)
		return;
	record.lost = lost - r->told;
	r->told = lost;
	take(arg, &record);
}

/*
 * The kernel writes a LOST record when the next one finds room, which may never come: a ring that
 * was full is asked.
 */
static void ask_lost(struct ring *r, uint64_t time_ns,
		     void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	uint64_t v[2]; /* value, lost */

	if (r->full && r->tells_lost && read(r->fd, v, sizeof(v)) == (ssize_t)sizeof(v))
		tell_lost(r, v[1], time_ns, take, arg);
}

void sideband_read(struct sideband *s, uint64_t horizon_ns,
		   void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	for (size_t i = 0; i < s->ring_count; i++) {
		struct ring *r = &s->rings[i];

		r->head = __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
		r->tail = r->control->data_tail;
		r->full = r->head - r->tail > RING_BYTES - ROOM_LEAST;
		ring_find_next(s, r, horizon_ns);
	}
	for (;;) {
		struct ring *r = earliest_ring(s);
		struct sideband_record record;
		size_t size;

		if (r->next_time == NO_RECORD || r->next_time > horizon_ns)
			break;
		const uint8_t *bytes = ring_peek(s, r, &size);
		int parsed = sideband_parse(bytes, size, s->build_ids, &record);

		record.time_ns = r->next_time;
		if (parsed == 0 && record.type == SIDEBAND_LOST) {
			r->lost += record.lost;
			tell_lost(r, r->lost, record.time_ns, take, arg);
		} else if (parsed == 0)
			take(arg, &record);
		else if (parsed == -EBADMSG)
			s->malformed++;
		r->tail += size;
		ring_find_next(s, r, horizon_ns);
	}
	for (size_t i = 0; i < s->ring_count; i++)
		__atomic_store_n(&s->rings[i].control->data_tail, s->rings[i].tail,
				 __ATOMIC_RELEASE);
	for (size_t i = 0; i < s->ring_count; i++)
		ask_lost(&s->rings[i], horizon_ns, take, arg);
}
