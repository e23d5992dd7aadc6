/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include "util/array.h"

#define MAGIC		  0x32454c4946524550ull /* "PERFILE2" */
#define MAGIC_SWAPPED	  0x50455246494c4532ull
#define HEADER_PIPE_BYTES 16
#define HEADER_FILE_BYTES 104
#define BUILD_IDS_MAX	  65536
#define ATTR_LEAST_BYTES  64

enum feature {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME,
	FEATURE_OSRELEASE,
	FEATURE_VERSION,
	FEATURE_ARCH,
	FEATURE_NRCPUS,
	FEATURE_CPUDESC,
	FEATURE_CPUID,
	FEATURE_CMDLINE = 11,
	FEATURE_EVENT_DESC,
	FEATURE_PMU_MAPPINGS = 16,
	FEATURE_CLOCK_DATA = 29,
};

/* Where what every sample of an event begins with is, in the order that the kernel writes it in. */
static void lay_out_samples(struct perf_attr *a)
{
	int stream, cpu, id, identifier;
	const struct {
		uint64_t bit;
		int *at;
	} fields[] = {
		{PERF_SAMPLE_IDENTIFIER, &identifier}, {PERF_SAMPLE_IP, &a->ip_at},
		{PERF_SAMPLE_TID, &a->tid_at},	       {PERF_SAMPLE_TIME, &a->time_at},
		{PERF_SAMPLE_ADDR, &a->address_at},    {PERF_SAMPLE_ID, &id},
		{PERF_SAMPLE_STREAM_ID, &stream},      {PERF_SAMPLE_CPU, &cpu},
		{PERF_SAMPLE_PERIOD, &a->period_at},
	};
	int at = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		*fields[i].at = a->sample_type & fields[i].bit ? at : -1;
		at += a->sample_type & fields[i].bit ? 8 : 0;
	}
	a->id_at = identifier < 0 ? id : identifier;
	a->fixed_bytes = (unsigned)at;
}

/* Where the time and the event's id are, in samples and at the end of other records. */
static void lay_out(struct perf_attr *a)
{
	uint64_t t = a->sample_type;
	int back = 0;

	lay_out_samples(a);
	a->time_back = a->id_back = a->pid_back = -1;
	if (!a->id_all)
		return;
	if (t & PERF_SAMPLE_IDENTIFIER)
		a->id_back = back += 8;
	back += t & PERF_SAMPLE_CPU ? 8 : 0;
	back += t & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	if (t & PERF_SAMPLE_ID) {
		back += 8;
		if (a->id_back < 0)
			a->id_back = back;
	}
	if (t & PERF_SAMPLE_TIME)
		a->time_back = back += 8;
	if (t & PERF_SAMPLE_TID)
		a->pid_back = back + 8;
}

static struct perf_attr *add_attr(struct perf *p, const uint8_t *data, size_t size)
{
	struct perf_event_attr raw = {0};
	struct perf_attr *a;

	if (p->attr_count == PERF_ATTRS_MAX || size < ATTR_LEAST_BYTES)
		return NULL;
	if (array_grow_short(&p->attrs, p->attr_count, sizeof(*p->attrs))) {
		p->error = -ENOMEM;
		return NULL;
	}
	a = &p->attrs[p->attr_count++];
	memcpy(&raw, data, size < sizeof(raw) ? size : sizeof(raw));
	*a = (struct perf_attr){
		.type = raw.type,
		.config = raw.config,
		.precise = raw.precise_ip,
		.period = raw.sample_period,
		.sample_type = raw.sample_type,
		.read_format = raw.read_format,
		.branch_type = raw.branch_sample_type,
		.regs_user = raw.sample_regs_user,
		.regs_intr = (unsigned)__builtin_popcountll(raw.sample_regs_intr),
		.max_stack = raw.sample_max_stack,
		.freq = raw.freq,
		.id_all = raw.sample_id_all,
		.no_user = raw.exclude_user,
		.no_kernel = raw.exclude_kernel,
		.event = HARVEST_NONE,
	};
	lay_out(a);
	return a;
}

static void add_ids(struct perf *p, size_t attr, const uint8_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (perf_u64(ids + 8 * i) != UINT64_MAX)
			map64_put(p->ids, perf_u64(ids + 8 * i), attr);
}

/* Of events that nobody gave a name, which perf did not do before 3.x and does not in pipes. */
static void name_by_number(struct perf_attr *a)
{
	static const char *const hardware[] = {
		"cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branches",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
	};
	const char *name = NULL;

	if (a->type == PERF_TYPE_HARDWARE && a->config < sizeof(hardware) / sizeof(*hardware))
		name = hardware[a->config];
	if (a->type == PERF_TYPE_SOFTWARE && a->config < sizeof(software) / sizeof(*software))
		name = software[a->config];
	if (!name) {
		snprintf(a->name, sizeof(a->name), "type %u config 0x%llx", a->type,
			 (unsigned long long)a->config);
		return;
	}
	snprintf(a->name, sizeof(a->name), "%s%s", name,
		 a->no_kernel ? ":u"
		 : a->no_user ? ":k"
			      : "");
}

int perf_header_name(struct perf *p, struct perf_attr *a)
{
	if (a->event != HARVEST_NONE)
		return 0;
	if (!a->name[0])
		name_by_number(a);
	return harvest_event(p->harvest, a->name, strlen(a->name), &a->event);
}

static int refuse(struct diag *diag, const char *why)
{
	return diag_fail(diag, EBADMSG, "not a perf.data that can be read: %s", why);
}

static bool inside(uint64_t offset, uint64_t bytes, size_t size)
{
	return offset <= size && bytes <= size - offset;
}

static int read_attrs(struct perf *p, const uint8_t *data, size_t size, struct diag *diag)
{
	uint64_t each = perf_u64(data + 16), at = perf_u64(data + 24), bytes = perf_u64(data + 32);
	uint64_t id_bytes = 0;

	if (each < ATTR_LEAST_BYTES + 16 || each > 4096 || !inside(at, bytes, size))
		return refuse(diag, "its list of events is outside of the file");
	for (uint64_t i = 0; i < bytes / each; i++) {
		const uint8_t *entry = data + at + i * each, *ids = entry + each - 16;
		struct perf_attr *a = add_attr(p, entry, each - 16);

		if (!a)
			return p->error ? p->error : refuse(diag, "it has more than 4096 events");
		if (!inside(perf_u64(ids), perf_u64(ids + 8), size))
			return refuse(diag, "the ids of its events are outside of the file");
		/* Else a small file would have the same ones read for each of 4096 events. */
		id_bytes += perf_u64(ids + 8);
		if (id_bytes > size)
			return refuse(diag, "its events have the same ids");
		add_ids(p, p->attr_count - 1, data + perf_u64(ids), perf_u64(ids + 8) / 8);
	}
	return p->attr_count ? 0 : refuse(diag, "it has no events");
}

/* They stand after the data, one bit of the header each. */
static void read_features(struct perf *p, const uint8_t *data, size_t size, uint64_t table)
{
	for (unsigned feature = 0; feature < 256; feature++) {
		uint64_t offset, bytes;

		if (!(data[72 + feature / 8] >> feature % 8 & 1))
			continue;
		if (!inside(table, 16, size)) {
			snprintf(p->cut, sizeof(p->cut),
				 "the file ends before its feature sections");
			return;
		}
		offset = perf_u64(data + table);
		bytes = perf_u64(data + table + 8);
		table += 16;
		if (inside(offset, bytes, size))
			perf_header_feature(p, feature, data + offset, bytes);
		else
			snprintf(p->cut, sizeof(p->cut),
				 "a feature section lies outside of the file");
	}
}

int perf_header_read(struct perf *p, const uint8_t *data, size_t size, size_t *ret_start,
		     size_t *ret_end, struct diag *diag)
{
	uint64_t start, bytes;

	if (size < HEADER_PIPE_BYTES)
		return refuse(diag, "it is shorter than its header");
	if (perf_u64(data) == MAGIC_SWAPPED)
		return refuse(diag, "it was recorded on a machine of the other byte order");
	if (perf_u64(data) != MAGIC)
		return refuse(diag, "it does not begin with PERFILE2");
	if (perf_u64(data + 8) == HEADER_PIPE_BYTES) {
		*ret_start = HEADER_PIPE_BYTES;
		*ret_end = SIZE_MAX;
		return 0;
	}
	if (perf_u64(data + 8) != HEADER_FILE_BYTES || size < HEADER_FILE_BYTES)
		return refuse(diag, "its header has an unknown length");
	int r = read_attrs(p, data, size, diag);
	if (r)
		return r;
	start = perf_u64(data + 40);
	bytes = perf_u64(data + 48);
	if (start > size)
		return refuse(diag, "its data lies outside of the file");
	if (bytes == 0) /* perf was killed before it could say */
		snprintf(p->cut, sizeof(p->cut), "perf record did not finish this file");
	else if (bytes > size - start)
		snprintf(p->cut, sizeof(p->cut), "the file is shorter than its header says");
	else
		read_features(p, data, size, start + bytes);
	*ret_start = start;
	*ret_end = p->cut[0] && (bytes == 0 || bytes > size - start) ? size : start + bytes;
	return 0;
}

/* A string of a feature: its size, padded, then bytes up to a zero. */
static const char *take_string(struct cursor *c, size_t *ret_size)
{
	uint32_t bytes = cursor_u32(c);
	const char *s = cursor_bytes(c, bytes);

	*ret_size = s ? strnlen(s, bytes) : 0;
	return s ? s : "";
}

static void take_names(struct perf *p, struct cursor *c)
{
	uint32_t events = cursor_u32(c), attr_size = cursor_u32(c);

	for (uint32_t i = 0; i < events && !c->error; i++) {
		const void *attr = cursor_bytes(c, attr_size);
		uint32_t ids = cursor_u32(c);
		size_t size;
		const char *name = take_string(c, &size);
		const uint8_t *list = cursor_bytes(c, (size_t)ids * 8);
		uint64_t index = i;

		if (!attr || !list)
			return;
		/* By the first id: there may be events without a description. */
		if (ids)
			map64_get(p->ids, perf_u64(list), &index);
		if (index >= p->attr_count)
			continue;
		snprintf(p->attrs[index].name, PERF_NAME_MAX, "%.*s", (int)size, name);
	}
}

static void take_pmus(struct perf *p, struct cursor *c)
{
	uint32_t pmus = cursor_u32(c);

	for (uint32_t i = 0; i < pmus && !c->error; i++) {
		uint32_t type = cursor_u32(c);
		size_t size;
		const char *name = take_string(c, &size);

		if (c->error)
			return;
		perf_raw_pmu(p, type, name, size);
		perf_aux_pmu(p, type, name, size);
	}
}

static void take_build_ids(struct perf *p, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at + 8 <= size;) {
		size_t bytes = perf_u16(data + at + 6);

		if (bytes < 8 + 28 || bytes > size - at)
			return;
		perf_header_build_id(p, data + at, bytes);
		at += bytes;
	}
}

/* struct perf_event_header, pid, 24 bytes of which the 21st is the size, then the path. */
void perf_header_build_id(struct perf *p, const uint8_t *record, size_t size)
{
	const uint8_t *id = record + 12;
	const char *path = (const char *)record + 36;
	bool sized;
	struct perf_build_id *list;

	if (size <= 36 || p->build_id_count >= BUILD_IDS_MAX)
		return;
	sized = perf_u16(record + 4) & (1u << 15) && id[20] && id[20] <= IMAGE_ID_MAX;
	if (array_grow(&p->build_id, p->build_id_count, &p->build_id_room, sizeof(*list), 64))
		return;
	list = &p->build_id[p->build_id_count];
	list->size = sized ? id[20] : IMAGE_ID_MAX;
	memcpy(list->bytes, id, IMAGE_ID_MAX);
	memset(list->bytes + list->size, 0, IMAGE_ID_MAX - list->size);
	map64_put(p->build_ids, hash_bytes(path, strnlen(path, size - 36)) >> 1,
		  p->build_id_count++);
}

static void take_fact(struct perf *p, const char *name, struct cursor *c)
{
	size_t size;
	const char *s = take_string(c, &size);

	if (size)
		harvest_fact(p->harvest, name, s, size);
}

/* "GenuineIntel,6,143,8": vendor, family, model, stepping. */
static void take_vendor(struct perf *p, struct cursor *c)
{
	static const char intel[] = "GenuineIntel,";
	size_t size;
	const char *s = take_string(c, &size);

	p->is_intel = size > strlen(intel) && !memcmp(s, intel, strlen(intel));
}

static void take_command(struct perf *p, struct cursor *c)
{
	uint32_t words = cursor_u32(c);
	struct buf all;

	buf_init(&all, 4000);
	for (uint32_t i = 0; i < words && !c->error && !all.error; i++) {
		size_t size;
		const char *s = take_string(c, &size);

		buf_printf(&all, "%s%.*s", i ? " " : "", (int)size, s);
	}
	if (all.size)
		harvest_fact(p->harvest, "command", (char *)all.data, all.size);
	buf_free(&all);
}

void perf_header_feature(struct perf *p, unsigned feature, const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	char number[16];

	switch (feature) {
	case FEATURE_BUILD_ID:
		take_build_ids(p, data, size);
		break;
	case FEATURE_HOSTNAME:
		take_fact(p, "hostname", &c);
		break;
	case FEATURE_OSRELEASE:
		take_fact(p, "kernel", &c);
		break;
	case FEATURE_VERSION:
		take_fact(p, "perf", &c);
		break;
	case FEATURE_ARCH:
		if (size > 4 + 7 && !memcmp(data + 4, "aarch64", 7))
			p->kernel_link = 0xffff800080000000ull;
		p->is_other_arch = size < 4 + 6 || memcmp(data + 4, "x86_64", 6) != 0;
		take_fact(p, "arch", &c);
		break;
	case FEATURE_NRCPUS:
		cursor_u32(&c); /* those that could be; then those that were there */
		snprintf(number, sizeof(number), "%u", cursor_u32(&c));
		harvest_fact(p->harvest, "cpus", number, strlen(number));
		break;
	case FEATURE_CPUDESC:
		take_fact(p, "cpu", &c);
		break;
	case FEATURE_CPUID:
		take_vendor(p, &c);
		break;
	case FEATURE_CMDLINE:
		take_command(p, &c);
		break;
	case FEATURE_EVENT_DESC:
		take_names(p, &c);
		break;
	case FEATURE_PMU_MAPPINGS:
		take_pmus(p, &c);
		break;
	case FEATURE_CLOCK_DATA:
		cursor_u64(&c); /* version and number of the clock */
		p->wall_ns = cursor_u64(&c);
		p->clock_ns = cursor_u64(&c);
		break;
	default:
		break;
	}
}

/* Of a pipe: an attribute and its ids. */
void perf_header_attr(struct perf *p, const uint8_t *body, size_t size)
{
	uint32_t attr_size;

	if (size < ATTR_LEAST_BYTES)
		return;
	attr_size = perf_u32(body + 4);
	if (attr_size < ATTR_LEAST_BYTES || attr_size > size)
		attr_size = size < ATTR_LEAST_BYTES + 8 ? (uint32_t)size : ATTR_LEAST_BYTES;
	if (add_attr(p, body, attr_size))
		add_ids(p, p->attr_count - 1, body + attr_size, (size - attr_size) / 8);
}

/* Of a pipe: what an event is called (type 2: name) after its id. */
void perf_header_update(struct perf *p, const uint8_t *body, size_t size)
{
	uint64_t index;

	if (size <= 16 || perf_u64(body) != 2 || map64_get(p->ids, perf_u64(body + 8), &index))
		return;
	snprintf(p->attrs[index].name, PERF_NAME_MAX, "%.*s",
		 (int)strnlen((char *)body + 16, size - 16), body + 16);
}

struct perf_attr *perf_header_find_id(struct perf *p, const uint8_t *record, size_t size)
{
	bool sample = perf_u32(record) == PERF_RECORD_SAMPLE;
	struct perf_attr *a = p->attrs;
	uint64_t index, id = 0;
	size_t at;

	if (p->attr_count <= 1)
		return p->attr_count ? a : NULL;
	if ((sample ? a->id_at : a->id_back) < 0)
		return a;
	at = sample ? 8 + (size_t)a->id_at : size - (size_t)a->id_back;
	if (at < 8 || at > size || size - at < 8)
		return NULL;
	id = perf_u64(record + at);
	/* Records that perf made itself have none. */
	if (!sample && id == 0)
		return a;
	return map64_get(p->ids, id, &index) ? NULL : &p->attrs[index];
}
