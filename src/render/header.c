/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/header.h"
#include "util/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void report_header_free(struct report_header *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->event_count; i++)
		free(h->events[i].name);
	for (size_t i = 0; i < h->lost_causes; i++)
		free(h->lost_by_cause[i].name);
	for (size_t i = 0; i < h->epoch_count; i++)
		free(h->epochs[i]);
	for (size_t i = 0; i < h->note_count; i++)
		free(h->notes[i]);
	free(h->events);
	free(h->lost_by_cause);
	free(h->epochs);
	for (size_t i = 0; i < h->set_count; i++)
		free(h->sets[i].name);
	free(h->sets);
	free(h->metrics);
	free(h->notes);
	free(h->machine);
	*h = (struct report_header){0};
}

void report_header_metric(struct report_header *h, const struct report_metric *m)
{
	if (array_grow_short(&h->metrics, h->metric_count, sizeof(*h->metrics)))
		h->error = -ENOMEM;
	else
		h->metrics[h->metric_count++] = *m;
}

static void *made(struct report_header *h, void *memory)
{
	if (!memory)
		h->error = -ENOMEM;
	return memory;
}

void *report_header_list(struct report_header *h, size_t count, size_t entry_bytes)
{
	return made(h, calloc(count + 1, entry_bytes));
}

char *report_header_text(struct report_header *h, const char *text)
{
	return made(h, strdup(text));
}

void report_header_note(struct report_header *h, const char *format, ...)
{
	va_list args;

	if (h->note_count >= REPORT_NOTES_MAX) {
		h->notes_refused++;
		return;
	}
	va_start(args, format);
	if (array_grow_short(&h->notes, h->note_count, sizeof(*h->notes)) ||
	    vasprintf(&h->notes[h->note_count], format, args) < 0)
		h->error = -ENOMEM;
	else
		h->note_count++;
	va_end(args);
}
