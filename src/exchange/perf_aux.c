/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AUX_BYTES_MAX ((uint64_t)256 << 20) /* of one piece: perf's buffers are smaller */
#define HEAD_BYTES    48

void perf_aux_pmu(struct perf *p, uint32_t type, const char *name, size_t size)
{
	static const char spe[] = "arm_spe_";

	if (size >= strlen(spe) && !memcmp(name, spe, strlen(spe)))
		map64_put(p->spe_types, type, 1);
}

/* The event whose records are in the traces; NULL: none is known. */
static struct perf_attr *find_event(struct perf *p)
{
	uint64_t is_there;

	for (size_t i = 0; i < p->attr_count; i++)
		if (p->pmus_known ? !map64_get(p->spe_types, p->attrs[i].type, &is_there)
				  : !strncmp(p->attrs[i].name, "arm_spe", 7))
			return &p->attrs[i];
	return NULL;
}

bool perf_aux_begin(struct perf *p, const uint8_t *record, size_t size)
{
	uint64_t bytes = perf_u64(record + 8);
	struct perf_block *b;

	/* A compressed part may have ended within another's. */
	perf_aux_finish(p);
	if (!p->has_spe || !find_event(p) || size < HEAD_BYTES || bytes > AUX_BYTES_MAX)
		return false;
	b = perf_block_new(HEAD_BYTES + (size_t)bytes);
	if (!b) {
		p->error = -ENOMEM;
		return false;
	}
	memcpy(b->data, record, HEAD_BYTES);
	b->size = HEAD_BYTES;
	p->aux = (struct perf_aux){b, HEAD_BYTES + (size_t)bytes};
	if (!bytes)
		perf_aux_finish(p);
	return true;
}

void perf_aux_more(struct perf *p, const uint8_t *data, size_t size)
{
	struct perf_block *b = p->aux.block;

	if (!b)
		return;
	if (size > p->aux.wanted - b->size)
		size = p->aux.wanted - b->size;
	memcpy(b->data + b->size, data, size);
	b->size += size;
	if (b->size == p->aux.wanted)
		perf_aux_finish(p);
}

/* perf reads a processor's records before its trace: what these had told by then was so when most
 * of the trace was written. */
void perf_aux_finish(struct perf *p)
{
	struct perf_block *b = p->aux.block;
	uint64_t left;

	if (!b)
		return;
	p->aux.block = NULL;
	left = b->size - HEAD_BYTES;
	memcpy(b->data + 8, &left, sizeof(left));
	perf_order_add(p, perf_order_newest(p), b->data, b);
	perf_block_done(p, b);
}

static int add_sample(struct perf *p, struct perf_attr *a, const struct spe_record *one,
		      uint32_t tid)
{
	uint32_t pid = perf_world_process(p, tid);
	struct perf_sampled sampled = {.pid = pid,
				       .event = a->event,
				       .mode = one->is_kernel ? PERF_KERNEL : PERF_USER,
				       .address = one->address};
	struct perf_inst at = {.data = one->has_data ? one->data : 0, .pid = pid};
	struct inst_record inst = one->inst;
	enum perf_found found;
	int r = perf_world_subject(p, pid, tid, 0, &at.subject);

	sampled.subject = at.subject;
	if (!r)
		r = perf_world_sample(p, &sampled, &at.place, &found);
	if (r)
		return r;
	a->samples++;
	a->units += a->period;
	a->unknown_process += found == PERF_NO_PROCESS;
	a->unknown_mapping += found == PERF_NO_MAPPING;
	a->unknown_kernel += found == PERF_NO_KERNEL;
	a->raw_physical += one->had_physical;
	return perf_inst_add(p, a, &at, &inst);
}

void perf_aux_take(struct perf *p, const uint8_t *record)
{
	struct perf_attr *a = find_event(p);
	uint32_t tid = perf_u32(record + 36);
	struct spe_reader reader =
		spe_reader_over(record + HEAD_BYTES, perf_u64(record + 8), perf_u64(record + 16));
	struct spe_record one;
	int r = a ? perf_header_name(p, a) : -ENOENT;

	while (!r && spe_next(&reader, &one))
		r = add_sample(p, a, &one, one.has_context ? one.context : tid);
	p->counters.spe_lost += reader.records_lost;
	p->counters.spe_bad_bytes += reader.bad_bytes;
	if (r == -ENOMEM || r == -ENOSPC)
		p->error = r;
}
