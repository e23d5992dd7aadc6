/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "fleet/push_state.h"

/* What the packs say of themselves. */
static int put_counters(struct push *p)
{
	const struct catalog *t = &p->stream.about;
	uint64_t event;
	int r = 0;

	for (uint32_t i = 0; i < t->event_count && !r; i++)
		r = push_event(p, &t->events[i], &event);
	for (uint32_t i = 0; i < t->counter_count && !r; i++) {
		const struct db_counter *c = &t->counters[i];
		struct buf *b = fleet_row(&p->rows, FLEET_COUNTERS);

		event = FLEET_NO_EVENT;
		if (c->event != DB_EVENT_NONE)
			event = fleet_id_event(&t->events[c->event]);
		fleet_put_u16(b, p->day);
		buf_append_u64(b, p->epoch);
		buf_append_u64(b, event);
		buf_append_string(b, c->name, strlen(c->name));
		buf_append_u64(b, c->value);
		buf_append_u64(b, p->stream.epoch.last_segment);
		r = fleet_row_end(&p->rows, FLEET_COUNTERS, p->diag);
	}
	return r;
}

static int put_facts(struct push *p)
{
	const struct catalog *t = &p->stream.about;
	int r = 0;

	for (uint32_t i = 0; i < t->fact_count && !r; i++) {
		struct buf *b = fleet_row(&p->rows, FLEET_FACTS);

		fleet_put_u16(b, p->day);
		buf_append_u64(b, p->epoch);
		buf_append_string(b, t->facts[i].name, strlen(t->facts[i].name));
		buf_append_string(b, t->facts[i].value, strlen(t->facts[i].value));
		buf_append_u64(b, p->stream.epoch.last_segment);
		r = fleet_row_end(&p->rows, FLEET_FACTS, p->diag);
	}
	return r;
}

static int put_machine(struct push *p)
{
	struct buf *b = fleet_row(&p->rows, FLEET_MACHINES);

	buf_append_u64(b, fleet_id_machine(p->machine));
	buf_append_string(b, p->machine, strlen(p->machine));
	fleet_put_u16(b, p->day);
	return fleet_row_end(&p->rows, FLEET_MACHINES, p->diag);
}

/* The row that says that all others have arrived. */
static int put_epoch(struct push *p, bool sealed)
{
	struct buf *b = fleet_row(&p->rows, FLEET_EPOCHS);
	uint64_t start_ns, end_ns, samples;
	int r;

	epoch_summarize(&p->stream.epoch, p->epoch_name, &start_ns, &end_ns, &samples);
	fleet_put_u16(b, p->day);
	buf_append_u64(b, fleet_id_machine(p->machine));
	buf_append_u64(b, p->epoch);
	buf_append_string(b, p->epoch_name, strlen(p->epoch_name));
	buf_append_u64(b, start_ns);
	buf_append_u64(b, end_ns);
	buf_append_u64(b, samples);
	buf_append_u8(b, sealed);
	buf_append_u64(b, p->stream.epoch.last_segment);
	r = fleet_row_end(&p->rows, FLEET_EPOCHS, p->diag);
	return r ? r : fleet_rows_send(&p->rows, FLEET_EPOCHS, p->diag);
}

int push_epoch(struct push *p, bool sealed)
{
	static int (*const parts[])(struct push *) = {
		push_samples, push_stacks, push_edges,	push_chunks,
		put_counters, put_facts,   put_machine,
	};
	int r = 0;

	p->result->damaged += p->stream.damaged;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !r; i++)
		r = parts[i](p);
	if (!r && !p->options->no_names)
		r = push_blobs(p);
	if (!r)
		r = fleet_rows_send_all(&p->rows, p->diag);
	if (!r)
		r = put_epoch(p, sealed);
	fleet_rows_drop(&p->rows);
	push_names_forget(p);
	return r;
}
