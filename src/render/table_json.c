/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "render/json.h"
#include "render/table_cells.h"
#include "util/text.h"

/* A name as it is, or escaped when JSON could not hold it. */
static json_t *json_name(const char *name, size_t size)
{
	json_t *value;
	char *escaped;

	if (text_is_utf8(name, size))
		return json_stringn(name, size);
	escaped = table_escape(name, size);
	value = escaped ? json_string(escaped) : NULL;
	free(escaped);
	return value;
}

json_t *report_json_text(const char *text)
{
	return text ? json_name(text, strlen(text)) : json_null();
}

json_t *report_json_count(uint64_t value)
{
	/* jansson's integers are signed. */
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

/* No JSON number is infinite or not a number. */
json_t *report_json_number(double value)
{
	json_t *real = json_real(value);

	return real ? real : json_null();
}

json_t *report_json_address(uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return json_string(text);
}

static json_t *json_cell(const struct table_cell *cell, enum table_type type)
{
	if (!cell->present)
		return json_null();
	switch (type) {
	case TABLE_NAME:
	case TABLE_FIGURE:
		return json_name(cell->name, cell->size);
	case TABLE_RAW:
		return json_loadb(cell->name, cell->size, JSON_DECODE_ANY, NULL);
	case TABLE_COUNT:
		return report_json_count(cell->count);
	case TABLE_ADDRESS:
		return report_json_address(cell->count);
	case TABLE_PERCENT:
	case TABLE_REAL:
	case TABLE_VALUE:
		return report_json_number(cell->real);
	}
	return NULL;
}

/* jansson's keys must be UTF-8. */
static int set_key(json_t *object, const char *key, json_t *value)
{
	char *escaped;

	if (text_is_utf8(key, strlen(key)))
		return json_object_set_new(object, key, value) ? -ENOMEM : 0;
	escaped = table_escape(key, strlen(key));
	if (!escaped) {
		json_decref(value);
		return -ENOMEM;
	}
	int r = json_object_set_new(object, escaped, value) ? -ENOMEM : 0;
	free(escaped);
	return r;
}

static json_t *json_row(const struct table *t, size_t row)
{
	json_t *object = json_object(), *into;
	int r = object ? 0 : -ENOMEM;

	for (int c = 0; c < t->column_count && !r; c++) {
		const struct table_column *column = &t->columns[c];

		if (!column->key)
			continue;
		into = object;
		if (column->group) {
			into = json_object_get(object, column->group);
			if (!into) {
				into = json_object();
				r = json_object_set_new(object, column->group, into) ? -ENOMEM : 0;
			}
		}
		if (!r)
			r = set_key(into, column->key,
				    json_cell(table_cell_at(t, row, c), column->type));
	}
	if (r) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *json_events(const struct report_header *h)
{
	json_t *events = json_array();

	for (size_t i = 0; i < h->event_count; i++) {
		const struct report_event *e = &h->events[i];

		json_array_append_new(events, json_pack("{s:o, s:o, s:b, s:b, s:o, s:o, s:o}",
							"name", report_json_text(e->name), "period",
							report_json_count(e->period), "precise",
							e->precise, "randomized", e->randomized,
							"samples", report_json_count(e->samples),
							"lost", report_json_count(e->lost), "scale",
							report_json_number(e->scale)));
	}
	return events;
}

static json_t *json_list(char *const *texts, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, report_json_text(texts[i]));
	return list;
}

static json_t *json_sets(const struct report_header *h)
{
	json_t *sets = json_array();

	for (size_t i = 0; i < h->set_count; i++) {
		const struct report_set *s = &h->sets[i];

		json_array_append_new(
			sets,
			json_pack("{s:o, s:o, s:o}", "name", report_json_text(s->name), "samples",
				  report_json_count(s->samples), "seconds",
				  s->seconds > 0 ? report_json_number(s->seconds) : json_null()));
	}
	return sets;
}

static json_t *json_metrics(const struct report_header *h)
{
	json_t *metrics = json_array();

	for (size_t i = 0; i < h->metric_count; i++) {
		const struct report_metric *m = &h->metrics[i];

		json_array_append_new(
			metrics,
			json_pack("{s:o, s:o, s:s, s:o, s:o}", "name", report_json_text(m->name),
				  "formula", report_json_text(m->formula), "of",
				  m->of ? m->of : "all", "value",
				  m->known ? report_json_number(m->value) : json_null(),
				  "undefined",
				  m->cells ? report_json_count(m->undefined) : json_null()));
	}
	return metrics;
}

json_t *report_json_header(const char *report, const struct report_header *h)
{
	json_t *causes, *notes, *header;

	if (h->error)
		return NULL;
	causes = json_object();
	notes = json_list(h->notes, h->note_count);
	for (size_t i = 0; i < h->lost_causes; i++)
		set_key(causes, h->lost_by_cause[i].name,
			report_json_count(h->lost_by_cause[i].value));
	if (h->notes_refused)
		json_array_append_new(notes,
				      json_sprintf("and %llu more %s",
						   TEXT_COUNT(h->notes_refused, "note", "notes")));
	header = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "report",
			   report, "events", json_events(h), "samples",
			   report_json_count(h->samples), "lost", report_json_count(h->lost),
			   "lost_by_cause", causes, "unknown", report_json_count(h->unknown),
			   "idle", report_json_count(h->idle), "epochs",
			   json_list(h->epochs, h->epoch_count), "start_ns",
			   report_json_count(h->start_ns), "end_ns", report_json_count(h->end_ns),
			   "machine", report_json_text(h->machine), "notes", notes);
	if (header && h->set_count)
		json_object_set_new(header, "sets", json_sets(h));
	if (header && h->metric_count)
		json_object_set_new(header, "metrics", json_metrics(h));
	return header;
}

int report_json_print(json_t *value, size_t cut, FILE *out)
{
	char *text = value ? json_dumps(value, REPORT_JSON_FLAGS) : NULL;
	int r = -ENOMEM;

	if (text) {
		fwrite(text, 1, strlen(text) - cut, out);
		r = 0;
	}
	free(text);
	json_decref(value);
	return r;
}

int table_print_json(const struct table *t, const struct report_header *h, FILE *out)
{
	int r = report_json_print(report_json_header(t->report, h), 1, out);

	if (r)
		return r;
	fputs(",\n\"rows\":[", out);
	for (size_t row = 0; row < t->row_count && !r; row++) {
		fputs(row ? ",\n" : "\n", out);
		r = report_json_print(json_row(t, row), 0, out);
	}
	fputs("\n]}\n", out);
	return r;
}
