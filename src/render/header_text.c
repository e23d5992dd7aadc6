/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "render/table_cells.h"
#include "render/wrap.h"
#include "util/text.h"

static int print_escaped(const char *text, FILE *out)
{
	char *escaped = table_escape(text, strlen(text));

	if (!escaped)
		return -ENOMEM;
	fputs(escaped, out);
	free(escaped);
	return 0;
}

void report_print_period(const char *event, uint64_t period, FILE *out)
{
	if (!strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10))
		fprintf(out, "one every %.4g ms of a CPU", (double)period / 1e6);
	else
		fprintf(out, "one in %" PRIu64, period);
}

static int print_event(const struct report_event *e, FILE *out)
{
	int r = print_escaped(e->name, out);

	fprintf(out, ": %llu %s, ", TEXT_COUNT(e->samples, "sample", "samples"));
	report_print_period(e->name, e->period, out);
	fprintf(out, "%s%s", e->randomized ? " on average (random)" : "",
		e->precise ? ", precise" : "");
	if (e->scale > 1.0005)
		fprintf(out, ", counting %.1f%% of the time", 100 / e->scale);
	putc('\n', out);
	return r;
}

static int print_counts(const struct report_header *h, FILE *out)
{
	double all = h->samples ? (double)h->samples : 1;
	int r = 0;

	fprintf(out, "lost %" PRIu64, h->lost);
	for (size_t i = 0; i < h->lost_causes && !r; i++) {
		fputs(i ? ", " : " (", out);
		r = print_escaped(h->lost_by_cause[i].name, out);
		fprintf(out, " %" PRIu64, h->lost_by_cause[i].value);
	}
	fprintf(out, "%s, unknown %" PRIu64 " (%.3f%%), idle %" PRIu64 "\n",
		h->lost_causes ? ")" : "", h->unknown, 100 * (double)h->unknown / all, h->idle);
	return r;
}

static void print_time(uint64_t time_ns, const char *format, FILE *out)
{
	char text[64];

	text_format_time(time_ns, format, text, sizeof(text));
	fputs(text, out);
}

/* Those of several sets come set by set. Names begin with the time. */
static int print_range(const struct report_header *h, FILE *out)
{
	const char *first = h->epochs[0], *last = h->epochs[0];

	for (size_t i = 1; i < h->epoch_count; i++) {
		first = strcmp(h->epochs[i], first) < 0 ? h->epochs[i] : first;
		last = strcmp(h->epochs[i], last) > 0 ? h->epochs[i] : last;
	}
	fputs(h->epoch_count > 1 ? "epochs " : "epoch ", out);
	int r = print_escaped(first, out);
	if (h->epoch_count > 1) {
		fputs(" to ", out);
		r = r ? r : print_escaped(last, out);
		fprintf(out, " (%zu)", h->epoch_count);
	}
	return r;
}

static int print_epochs(const struct report_header *h, FILE *out)
{
	if (!h->epoch_count)
		return 0;
	int r = print_range(h, out);
	if (h->end_ns > h->start_ns) {
		fputs(", ", out);
		print_time(h->start_ns, "%Y-%m-%d %H:%M:%S", out);
		print_time(h->end_ns, " to %Y-%m-%d %H:%M:%S UTC", out);
	}
	if (h->machine) {
		fputs(", machine ", out);
		r = r ? r : print_escaped(h->machine, out);
	}
	putc('\n', out);
	return r;
}

/* Names in notes may be escaped already. */
static int print_note(const char *note, FILE *out)
{
	size_t size = strlen(note), room = text_escape_controls(NULL, 0, note, size) + 1;
	char *escaped = malloc(room);

	if (!escaped)
		return -ENOMEM;
	text_escape_controls(escaped, room, note, size);
	fprintf(out, "note: %s\n", escaped);
	free(escaped);
	return 0;
}

static int print_sets(const struct report_header *h, FILE *out)
{
	int r = 0;

	for (size_t i = 0; i < h->set_count && !r; i++) {
		fprintf(out, "set %zu: ", i + 1);
		r = print_escaped(h->sets[i].name, out);
		fprintf(out, ", %llu %s", TEXT_COUNT(h->sets[i].samples, "sample", "samples"));
		if (h->sets[i].seconds > 0)
			fprintf(out, ", %.4g s", h->sets[i].seconds);
		putc('\n', out);
	}
	return r;
}

static int print_metric(const struct report_metric *m, FILE *out)
{
	int r = print_escaped(m->name, out);
	char value[32];

	table_format_value(m->value, value, sizeof(value));
	fputs(" = ", out);
	r = r ? r : print_escaped(m->formula, out);
	if (m->known)
		fprintf(out, ": %s of %s", value, m->of ? m->of : "all");
	else
		fprintf(out, ": no value of %s, as it divides by zero", m->of ? m->of : "all");
	if (m->undefined)
		fprintf(out, "; %" PRIu64 " of %" PRIu64 " cells %s none", m->undefined, m->cells,
			text_plural(m->undefined, "has", "have"));
	putc('\n', out);
	return r;
}

int report_header_print_samples(const struct report_header *h, FILE *out)
{
	int r = 0;

	for (size_t i = 0; i < h->event_count && !r; i++)
		r = print_event(&h->events[i], out);
	return !r && h->event_count ? print_counts(h, out) : r;
}

static int print_header(const struct report_header *h, FILE *out)
{
	int r = h->error;

	if (!r)
		r = report_header_print_samples(h, out);
	if (!r)
		r = print_epochs(h, out);
	if (!r)
		r = print_sets(h, out);
	for (size_t i = 0; i < h->metric_count && !r; i++)
		r = print_metric(&h->metrics[i], out);
	for (size_t i = 0; i < h->note_count && !r; i++)
		r = print_note(h->notes[i], out);
	if (h->notes_refused)
		fprintf(out, "note: and %llu more %s\n",
			TEXT_COUNT(h->notes_refused, "note", "notes"));
	if (h->event_count || h->epoch_count || h->note_count)
		putc('\n', out);
	return r;
}

int report_header_print(const struct report_header *h, FILE *out, int width)
{
	char *text = NULL;
	size_t size;
	FILE *lines;

	if (width <= 0)
		return print_header(h, out);
	lines = open_memstream(&text, &size);
	if (!lines)
		return -ENOMEM;
	int r = print_header(h, lines);
	if (fclose(lines))
		r = -ENOMEM;
	if (!r)
		wrap_print_lines(out, text, "  ", width);
	free(text);
	return r;
}
