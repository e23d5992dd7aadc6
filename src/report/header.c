/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/header.h"
#include "util/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

int report_header_metric(struct report_header *h, const struct report_metric *m)
{
	if (array_grow_short(&h->metrics, h->metric_count, sizeof(*h->metrics)))
		return -ENOMEM;
	h->metrics[h->metric_count++] = *m;
	return 0;
}

int report_header_note(struct report_header *h, const char *format, ...)
{
	char *note;
	va_list args;
	int n;

	if (h->note_count >= REPORT_NOTES_MAX) {
		h->notes_refused++;
		return -ENOSPC;
	}
	if (array_grow_short(&h->notes, h->note_count, sizeof(*h->notes)))
		return -ENOMEM;
	va_start(args, format);
	n = vasprintf(&note, format, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	h->notes[h->note_count++] = note;
	return 0;
}
