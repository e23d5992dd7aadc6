/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/event_suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static unsigned char fold(char c)
{
	return c == '_' ? '-' : (unsigned char)tolower((unsigned char)c);
}

static unsigned int min_of(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

unsigned int event_suggest_distance(const char *a, const char *b, unsigned int limit)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned int rows[3][EVENT_SUGGEST_BYTES];
	unsigned int *before = rows[0], *last = rows[1], *row = rows[2];

	if (nb >= EVENT_SUGGEST_BYTES || na >= EVENT_SUGGEST_BYTES ||
	    (na > nb ? na - nb : nb - na) > limit)
		return limit + 1;
	for (size_t j = 0; j <= nb; j++)
		last[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int *spare = before, best = row[0] = (unsigned int)i;

		for (size_t j = 1; j <= nb; j++) {
			unsigned int same = fold(a[i - 1]) == fold(b[j - 1]);

			row[j] = min_of(last[j - 1] + !same, min_of(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]))
				row[j] = min_of(row[j], before[j - 2] + 1);
			best = min_of(best, row[j]);
		}
		if (best > limit)
			return limit + 1;
		before = last;
		last = row;
		row = spare;
	}
	return min_of(last[nb], limit + 1);
}

void event_suggest_init(struct event_suggest *s, const char *wanted)
{
	memset(s, 0, sizeof(*s));
	s->wanted = wanted;
}

void event_suggest_offer(struct event_suggest *s, const char *name)
{
	size_t size = strlen(s->wanted), at = 0;
	/* Two slips in any name, a third of the letters in a longer one. */
	unsigned int limit = size < 6 ? 2 : (unsigned int)size / 3, distance;

	if (size < 3)
		limit = 1;
	distance = event_suggest_distance(s->wanted, name, limit);
	if (distance > limit)
		return;
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->best[i].name, name))
			return;
	while (at < s->count && s->best[at].distance <= distance)
		at++;
	if (at == EVENT_SUGGEST_NAMES)
		return;
	if (s->count < EVENT_SUGGEST_NAMES)
		s->count++;
	memmove(&s->best[at + 1], &s->best[at], (s->count - at - 1) * sizeof(s->best[0]));
	snprintf(s->best[at].name, sizeof(s->best[at].name), "%s", name);
	s->best[at].distance = distance;
}

void event_suggest_format(const struct event_suggest *s, char *out, size_t room)
{
	size_t used = 0;

	if (room)
		out[0] = 0;
	for (size_t i = 0; i < s->count && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s",
					 !i ? "" : (i + 1 == s->count ? " or " : ", "),
					 s->best[i].name);
}
