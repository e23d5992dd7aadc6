/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/inst_table.h"

#include "render/estimate.h"
#include "util/buf.h"

#define CELL_MAX 4096

/* What is told of the instruction itself and not of a time that it ran: no text tells it again. */
static bool is_kind(unsigned event)
{
	return event == INST_RETIRED || event == INST_LOAD || event == INST_STORE ||
	       event == INST_BRANCH;
}

static void add_event(struct inst_columns *c, struct table *t, unsigned event)
{
	const char *name = inst_event_name(event);

	c->share[event] = table_add_group_column(t, TABLE_PERCENT, "events", name, NULL);
	c->low[event] = table_add_group_column(t, TABLE_PERCENT, "events_low", name, NULL);
	c->high[event] = table_add_group_column(t, TABLE_PERCENT, "events_high", name, NULL);
	c->happened[event] = table_add_group_column(t, TABLE_COUNT, "events_samples", name, NULL);
}

static void add_latency(struct inst_columns *c, struct table *t, unsigned latency)
{
	const char *name = inst_latency_name(INST_LATENCY_FIRST + latency);

	c->mean[latency] = table_add_group_column(t, TABLE_REAL, "latency_mean", name, NULL);
	c->error[latency] = table_add_group_column(t, TABLE_REAL, "latency_error", name, NULL);
	c->median[latency] = table_add_group_column(t, TABLE_COUNT, "latency_median", name, NULL);
	c->ninety[latency] = table_add_group_column(t, TABLE_COUNT, "latency_90", name, NULL);
	c->most[latency] = table_add_group_column(t, TABLE_COUNT, "latency_most", name, NULL);
}

static bool tells(const struct inst_tally *t, unsigned latency)
{
	for (size_t i = 0; i < t->event_count; i++)
		if (t->events[i].tells[latency])
			return true;
	return false;
}

void inst_columns_add(struct inst_columns *c, struct table *t, const struct inst_tally *tally)
{
	uint32_t known = 0;

	c->tally = tally;
	for (size_t i = 0; i < tally->event_count; i++)
		known |= tally->events[i].known;
	c->samples = table_add_column(t, TABLE_COUNT, "samples", "samples");
	c->count = table_add_estimate(t, "count", "count", "(68%)", 1);
	c->retired = table_add_column(t, TABLE_PERCENT, "retired_percent", "retired");
	c->events = table_add_text_column(t, NULL, "events");
	c->latencies = table_add_text_column(t, NULL, "cycles: mean, median, 90%");
	c->event = table_add_column(t, TABLE_NAME, "event",
				    tally->event_count > 1 ? "sampled by" : NULL);
	for (unsigned i = 0; i < INST_EVENT_COUNT; i++) {
		c->share[i] = c->low[i] = c->high[i] = c->happened[i] = -1;
		if (known >> i & 1)
			add_event(c, t, i);
	}
	for (unsigned i = 0; i < INST_LATENCY_COUNT; i++) {
		c->mean[i] = c->error[i] = c->median[i] = c->ninety[i] = c->most[i] = -1;
		if (tells(tally, i))
			add_latency(c, t, i);
	}
	table_set_spare(t, c->event, 3);
	table_set_spare(t, c->retired, 2);
}

/* Two digits of a share, or three. */
static void write_percent(struct buf *b, double share)
{
	buf_printf(b, share < 0.0995 ? "%.2g" : "%.0f", 100 * share);
}

/* "dcache_miss 12% (9.1-15)". */
static void write_event(struct buf *b, unsigned event, const struct inst_share *s)
{
	buf_printf(b, "%s%s ", b->size ? ", " : "", inst_event_name(event));
	write_percent(b, s->value);
	buf_printf(b, "%% (");
	write_percent(b, s->low);
	buf_printf(b, "-");
	write_percent(b, s->high);
	buf_printf(b, ")");
}

static void set_events(const struct inst_columns *c, struct table *t, const struct inst_row *row)
{
	struct buf text;

	buf_init(&text, CELL_MAX);
	for (unsigned i = 0; i < INST_EVENT_COUNT; i++) {
		struct inst_share s = inst_share_of(row->happened[i], row->known[i]);

		if (!row->known[i])
			continue;
		table_set_real(t, c->share[i], 100 * s.value);
		table_set_real(t, c->low[i], 100 * s.low);
		table_set_real(t, c->high[i], 100 * s.high);
		table_set_count(t, c->happened[i], row->happened[i]);
		if (row->happened[i] && !is_kind(i))
			write_event(&text, i, &s);
	}
	table_set_buf(t, c->events, &text);
	buf_free(&text);
}

static void set_latencies(const struct inst_columns *c, struct table *t, const struct inst_row *row)
{
	struct buf text;

	buf_init(&text, CELL_MAX);
	for (unsigned i = 0; i < INST_LATENCY_COUNT; i++) {
		const struct inst_latency *l = row->latencies[i];
		struct inst_share mean;
		uint32_t half, most;

		/* A field that is 0 in all samples of an event is one that its processor lacks. */
		if (!l || !c->tally->events[row->event].tells[i])
			continue;
		mean = inst_latency_mean(l);
		half = inst_latency_quantile(l, 0.5);
		most = inst_latency_quantile(l, 0.9);
		table_set_real(t, c->mean[i], mean.value);
		table_set_real(t, c->error[i], mean.high - mean.value);
		table_set_count(t, c->median[i], half);
		table_set_count(t, c->ninety[i], most);
		table_set_count(t, c->most[i], l->most);
		buf_printf(&text, "%s%s %.3g %u %u", text.size ? ", " : "",
			   inst_latency_name(INST_LATENCY_FIRST + i), mean.value, half, most);
	}
	table_set_buf(t, c->latencies, &text);
	buf_free(&text);
}

void inst_columns_set_base(const struct inst_columns *c, struct table *t,
			   const struct inst_row *row)
{
	struct inst_share count = inst_count_of(row->samples, row->units);

	table_set_count(t, c->samples, row->samples);
	table_set_estimate(t, c->count, count.value, count.low, count.high);
	table_set_text(t, c->event, c->tally->events[row->event].name);
	if (row->known[INST_RETIRED])
		table_set_real(
			t, c->retired,
			table_percent(row->happened[INST_RETIRED], row->known[INST_RETIRED]));
}

void inst_columns_set(const struct inst_columns *c, struct table *t, const struct inst_row *row)
{
	inst_columns_set_base(c, t, row);
	set_events(c, t, row);
	set_latencies(c, t, row);
}
