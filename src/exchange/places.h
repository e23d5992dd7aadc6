/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_PLACES_H
#define CULPRIT_EXCHANGE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/batch.h"
#include "exchange/harvest.h"

/*
 * What readers of foreign profiles have in common: places without a mapping, places that are only
 * named, stacks of places, subjects. Each returns 0 or an error of the harvest.
 */

#define PLACES_NO_IMAGE "[no image]" /* of functions known only by name */

/* An address that nothing explains. */
int places_unknown(struct harvest *h, uint64_t address, uint32_t *ret);
/* A frame that stands for others. Notes with the same key are one; when it is 0, those with the
 * same text. */
int places_note(struct harvest *h, uint64_t key, const char *text, size_t size, uint32_t *ret);
/*
 * A function of an image by name, and where in it, as far as is known: lines as of harvest_lines.
 * Names that reports give to what has none ("[unknown]", "[no symbol]", "[truncated: ...]") become
 * what they stand for; *ret_unknown: nothing is known.
 */
int places_named(struct harvest *h, const char *image, size_t image_size,
		 const struct harvest_line *lines, size_t count, uint32_t *ret, bool *ret_unknown);

/* A stack being read, the innermost frame first. */
#define PLACES_STACK_MAX (DB_STACK_MAX - 2) /* that are kept; a note may stand for the rest */
struct places_stack {
	uint32_t place[PLACES_STACK_MAX];
	size_t count;
	uint64_t frames; /* in the file, including those not kept */
};

/* Adds a frame outside the others. */
static inline void places_push(struct places_stack *s, uint32_t place)
{
	s->frames++;
	if (s->count < PLACES_STACK_MAX)
		s->place[s->count++] = place;
}

/* note: a place that goes outside all others, or HARVEST_NONE; a stack too deep to keep gets one.
 */
int places_add_stack(struct harvest *h, uint32_t event, uint32_t subject,
		     const struct places_stack *s, uint32_t note, uint64_t count);

/* A command. */
int places_command(struct harvest *h, const char *comm, size_t size, uint32_t *ret);

#endif
