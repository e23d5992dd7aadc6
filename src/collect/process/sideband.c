/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "collect/process/build_id.h"
#include "collect/process/rings.h"
#include "util/buf.h"

#define STREAM_MAX (32u << 20)
#define AHEAD_NS   1000000000u
#define NO_RECORD  UINT64_MAX

/* What came of a ring. */
struct stream {
	struct buf bytes;
	size_t at;
	uint64_t next_time; /* of the record there, NO_RECORD at the end */
	/* Records lost in all, as their LOST records say; and as was told our reader. */
	uint64_t lost, told;
};

struct sideband {
	struct rings *rings;
	struct stream *streams;
	bool build_ids; /* asked for */
	uint64_t malformed;
};

int sideband_new(struct sideband **ret, struct diag *diag)
{
	struct sideband *s = calloc(1, sizeof(*s));

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->build_ids = build_ids_are_harmless();
	int r = rings_new(s->build_ids, &s->rings, diag);
	if (!r) {
		s->streams = calloc(rings_count(s->rings), sizeof(*s->streams));
		r = s->streams ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	}
	if (r) {
		sideband_free(s);
		return r;
	}
	for (size_t i = 0; i < rings_count(s->rings); i++)
		buf_init(&s->streams[i].bytes, STREAM_MAX);
	*ret = s;
	return 0;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->streams && i < rings_count(s->rings); i++)
		buf_free(&s->streams[i].bytes);
	rings_free(s->rings);
	free(s->streams);
	free(s);
}

int sideband_start(struct sideband *s, struct diag *diag)
{
	return rings_start(s->rings, diag);
}

int sideband_fd(const struct sideband *s)
{
	return rings_fd(s->rings);
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

/* A time that lies ahead would hold up its stream for ever, so the record counts as made now. */
static void find_next(struct sideband *s, struct stream *t, uint64_t horizon_ns)
{
	const uint8_t *record = t->bytes.data + t->at;
	struct perf_event_header h;

	t->next_time = NO_RECORD;
	if (t->at == t->bytes.size)
		return;
	memcpy(&h, record, sizeof(h));
	memcpy(&t->next_time, record + trailer_at(&h, record, h.size), 8);
	if (t->next_time > horizon_ns && t->next_time - horizon_ns > AHEAD_NS) {
		s->malformed++;
		t->next_time = horizon_ns;
	}
}

static struct stream *earliest(struct sideband *s)
{
	struct stream *best = &s->streams[0];

	for (size_t i = 1; i < rings_count(s->rings); i++)
		if (s->streams[i].next_time < best->next_time)
			best = &s->streams[i];
	return best;
}

/* What is lost in all, of which the reader may know some. */
static void tell_lost(struct stream *t, uint64_t lost, uint64_t time_ns,
		      void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	struct sideband_record record = {.type = SIDEBAND_LOST, .time_ns = time_ns};

	if (lost <= t->told)
		return;
	record.lost = lost - t->told;
	t->told = lost;
	take(arg, &record);
}

/* What is behind the last record that was handed over, and what came since. */
static void refill(struct sideband *s, size_t i, uint64_t horizon_ns, struct rings_taken *ret)
{
	struct stream *t = &s->streams[i];

	if (t->at)
		memmove(t->bytes.data, t->bytes.data + t->at, t->bytes.size - t->at);
	t->bytes.size -= t->at;
	t->at = 0;
	rings_take(s->rings, i, &t->bytes, ret);
	s->malformed += ret->malformed;
	find_next(s, t, horizon_ns);
}

/* The next record of a stream. */
static void hand_over(struct sideband *s, struct stream *t, uint64_t horizon_ns,
		      void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	const uint8_t *bytes = t->bytes.data + t->at;
	struct sideband_record record;
	struct perf_event_header h;
	int parsed;

	memcpy(&h, bytes, sizeof(h));
	parsed = sideband_parse(bytes, h.size, s->build_ids, &record);
	record.time_ns = t->next_time;
	if (parsed == 0 && record.type == SIDEBAND_LOST) {
		t->lost += record.lost;
		tell_lost(t, t->lost, record.time_ns, take, arg);
	} else if (parsed == 0) {
		take(arg, &record);
	} else if (parsed == -EBADMSG) {
		s->malformed++;
	}
	t->at += h.size;
	find_next(s, t, horizon_ns);
}

static void tell_left_out(struct sideband *s, uint64_t time_ns,
			  void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	struct sideband_record record = {.type = SIDEBAND_LEFT_OUT, .time_ns = time_ns};

	while (rings_calmed(s->rings, &record.pid, &record.lost))
		take(arg, &record);
}

void sideband_read(struct sideband *s, uint64_t horizon_ns,
		   void (*take)(void *arg, const struct sideband_record *r), void *arg)
{
	size_t count = rings_count(s->rings);
	struct rings_taken taken;
	uint64_t here = 0;

	for (size_t i = 0; i < count; i++) {
		refill(s, i, horizon_ns, &taken);
		here += taken.lost_here;
		tell_lost(&s->streams[i], taken.lost, horizon_ns, take, arg);
	}
	for (;;) {
		struct stream *t = earliest(s);

		if (t->next_time == NO_RECORD || t->next_time > horizon_ns)
			break;
		hand_over(s, t, horizon_ns, take, arg);
	}
	if (here)
		take(arg, &(struct sideband_record){
				  .type = SIDEBAND_LOST, .time_ns = horizon_ns, .lost = here});
	tell_left_out(s, horizon_ns, take, arg);
}
