/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_SUGGEST_H
#define CULPRIT_COLLECT_EVENTS_EVENT_SUGGEST_H

#include <stddef.h>

#define EVENT_SUGGEST_NAMES 3
#define EVENT_SUGGEST_BYTES 80

/* The names nearest to a misspelt one: offer every known name, then format. */
struct event_suggest {
	const char *wanted; /* the caller's */
	size_t count;
	struct {
		char name[EVENT_SUGGEST_BYTES];
		unsigned int distance;
	} best[EVENT_SUGGEST_NAMES]; /* nearest first */
};

void event_suggest_init(struct event_suggest *s, const char *wanted);
/* Names longer than EVENT_SUGGEST_BYTES - 1 are not considered. */
void event_suggest_offer(struct event_suggest *s, const char *name);
/* "a, b or c", or "" when nothing is near. */
void event_suggest_format(const struct event_suggest *s, char *out, size_t room);

/*
 * Edit distance: insertions, deletions, replacements and swaps of neighbours (optimal string
 * alignment; Damerau 1964). Case, and dash against underscore, do not count. Stops at limit + 1.
 */
unsigned int event_suggest_distance(const char *a, const char *b, unsigned int limit);

#endif
