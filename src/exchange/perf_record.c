/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <string.h>
#include <linux/perf_event.h>

/* Set on records of forks that perf made up from /proc: what is mapped follows. */
#ifndef PERF_RECORD_MISC_FORK_EXEC
#define PERF_RECORD_MISC_FORK_EXEC (1 << 13)
#endif

/* The body of a record without its trailer. */
struct body {
	const uint8_t *at;
	size_t size;
	uint16_t misc;
};

static const char *name_at(const struct body *b, size_t at, size_t *ret_size)
{
	*ret_size = at < b->size ? strnlen((const char *)b->at + at, b->size - at) : 0;
	return (const char *)b->at + at;
}

/* The kernel's own mappings are of process -1, or of 0 in the idle thread's name. */
static bool is_kernel(const struct body *b)
{
	unsigned mode = b->misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_KERNEL;
}

static void take_mmap(struct perf *p, const struct body *b, bool second)
{
	struct perf_mmap m = {0};
	size_t name = second ? 64 : 32;

	if (b->size <= name) {
		p->counters.malformed++;
		return;
	}
	/* Of data: code is all that samples are in. */
	if (b->misc & PERF_RECORD_MISC_MMAP_DATA)
		return;
	m.pid = perf_u32(b->at);
	m.start = perf_u64(b->at + 8);
	m.size = perf_u64(b->at + 16);
	m.file_offset = perf_u64(b->at + 24);
	m.kernel = is_kernel(b);
	m.path = name_at(b, name, &m.path_size);
	if (second && b->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		m.build_id_size = b->at[32] <= IMAGE_ID_MAX ? b->at[32] : 0;
		m.build_id = b->at + 36;
	} else if (second) {
		m.inode = perf_u64(b->at + 40);
		m.has_inode = true;
	}
	perf_world_mmap(p, &m);
}

static void take_comm(struct perf *p, const struct body *b)
{
	size_t size;
	const char *name = name_at(b, 8, &size);

	if (b->size < 8)
		p->counters.malformed++;
	else
		perf_world_comm(p, perf_u32(b->at), perf_u32(b->at + 4), name, size,
				b->misc & PERF_RECORD_MISC_COMM_EXEC);
}

static void take_fork(struct perf *p, const struct body *b)
{
	if (b->size < 16)
		p->counters.malformed++;
	else
		perf_world_fork(p, perf_u32(b->at), perf_u32(b->at + 8), perf_u32(b->at + 4),
				perf_u32(b->at + 12), !(b->misc & PERF_RECORD_MISC_FORK_EXEC));
}

static void take_ksymbol(struct perf *p, const struct body *b)
{
	size_t size;
	const char *name = name_at(b, 16, &size);

	if (b->size <= 16)
		p->counters.malformed++;
	else
		perf_world_ksymbol(p, perf_u64(b->at), perf_u32(b->at + 8), name, size,
				   perf_u16(b->at + 14) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
}

static void take_cgroup(struct perf *p, const struct body *b)
{
	size_t size;
	const char *path = name_at(b, 8, &size);

	if (b->size > 8)
		perf_world_cgroup(p, perf_u64(b->at), path, size);
}

static void take_other(struct perf *p, uint32_t type, const struct body *b)
{
	switch (type) {
	case PERF_RECORD_LOST:
		p->counters.lost += b->size >= 16 ? perf_u64(b->at + 8) : 0;
		break;
	case PERF_RECORD_LOST_SAMPLES:
		p->counters.lost_samples += b->size >= 8 ? perf_u64(b->at) : 0;
		break;
	case PERF_RECORD_THROTTLE:
		p->counters.throttled++;
		break;
	case PERF_RECORD_TEXT_POKE:
		p->counters.text_pokes++;
		break;
	case PERF_RECORD_AUX:
		p->counters.aux_truncated +=
			b->size >= 24 && perf_u64(b->at + 16) & PERF_AUX_FLAG_TRUNCATED;
		break;
	case PERF_RECORD_EXIT:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_READ:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		break;
	default:
		p->counters.unknown_records++;
	}
}

void perf_record_take(struct perf *p, const uint8_t *record, size_t size)
{
	struct body b = {record + 8, size - 8, perf_u16(record + 4)};
	uint32_t type = perf_u32(record);
	struct perf_attr *a;
	int trailer;

	if (type == PERF_RECORD_SAMPLE) {
		perf_sample_take(p, record, size);
		return;
	}
	if (type == PERF_USER_AUXTRACE) {
		perf_aux_take(p, record);
		return;
	}
	a = perf_header_find(p, record, size);
	trailer = a ? (a->time_back > a->id_back ? a->time_back : a->id_back) : 0;
	if (a && a->pid_back > trailer)
		trailer = a->pid_back;
	/* Names end with a zero byte before the trailer, so it does not hurt if there is none. */
	if (trailer > 0 && (size_t)trailer < b.size && type != PERF_RECORD_KSYMBOL)
		b.size -= (size_t)trailer;
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(p, &b, type == PERF_RECORD_MMAP2);
		break;
	case PERF_RECORD_COMM:
		take_comm(p, &b);
		break;
	case PERF_RECORD_FORK:
		take_fork(p, &b);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(p, &b);
		break;
	case PERF_RECORD_CGROUP:
		take_cgroup(p, &b);
		break;
	default:
		take_other(p, type, &b);
	}
}
