/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/places.h"

#include <string.h>
#include "analyze/calls/stack_set.h"
#include "util/hash.h"
#include "util/identity.h"

#define UNKNOWN	  "[unknown]"
#define NO_SYMBOL "[no symbol]"
#define LEFT_OUT  "[frames left out]"
#define COMM_MAX  256
/* An export of ours says so of samples that no stack is known of. */
#define CALLERS "[callers not known]"

static int place_in(struct harvest *h, const struct harvest_image *image, uint64_t offset,
		    uint32_t *ret)
{
	uint32_t number;
	int r = harvest_image(h, image, &number);

	return r ? r : harvest_place(h, number, offset, ret);
}

int places_unknown(struct harvest *h, uint64_t address, uint32_t *ret)
{
	return place_in(h,
			&(struct harvest_image){.kind = HARVEST_UNKNOWN,
						.path = UNKNOWN,
						.path_size = strlen(UNKNOWN)},
			address, ret);
}

int places_note(struct harvest *h, uint64_t key, const char *text, size_t size, uint32_t *ret)
{
	return place_in(h,
			&(struct harvest_image){
				.kind = HARVEST_NOTE, .key = key, .path = text, .path_size = size},
			0, ret);
}

static bool is(const char *name, size_t size, const char *text)
{
	return size == strlen(text) && !memcmp(name, text, size);
}

static bool is_note(const char *name, size_t size)
{
	return is(name, size, LEFT_OUT) || is(name, size, CALLERS) ||
	       (size > strlen(STACK_TRUNCATED) && name[size - 1] == ']' &&
		!memcmp(name, STACK_TRUNCATED, strlen(STACK_TRUNCATED)));
}

/* Different lines of a function are different places in it: by what is said of them. */
static uint64_t place_in_function(const struct harvest_line *lines, size_t count)
{
	uint64_t hash = 0;

	if (count == 1 && !lines->file_size && !lines->line)
		return 0;
	for (size_t i = 0; i < count; i++) {
		hash = hash_u64(hash ^ hash_bytes(lines[i].function, lines[i].function_size));
		hash = hash_u64(hash ^ hash_bytes(lines[i].file, lines[i].file_size));
		hash = hash_u64(hash ^ lines[i].line);
	}
	return hash % HARVEST_SYMBOL_STEP;
}

int places_named(struct harvest *h, const char *image, size_t image_size,
		 const struct harvest_line *lines, size_t count, uint32_t *ret, bool *ret_unknown)
{
	struct harvest_image in = {.kind = HARVEST_NAMES, .path = image, .path_size = image_size};
	const struct harvest_line *outer = count ? &lines[count - 1] : NULL;
	size_t size = outer ? outer->function_size : 0;
	uint64_t start = 0;
	uint32_t number;

	*ret_unknown = !size || is(outer->function, size, UNKNOWN);
	if (*ret_unknown)
		return places_unknown(h, 0, ret);
	if (is_note(outer->function, size))
		return places_note(h, 0, outer->function, size, ret);
	int r = harvest_image(h, &in, &number);
	if (!r && !is(outer->function, size, NO_SYMBOL)) {
		r = harvest_symbol(h, number, outer->function, size);
		start = harvest_symbol_start(outer->function, size) +
			place_in_function(lines, count);
	}
	if (!r)
		r = harvest_place(h, number, start, ret);
	if (!r && start % HARVEST_SYMBOL_STEP)
		r = harvest_lines(h, *ret, lines, count);
	return r;
}

int places_add_stack(struct harvest *h, uint32_t event, uint32_t subject,
		     const struct places_stack *s, uint32_t note, uint64_t count)
{
	static const char deeper[] = STACK_TRUNCATED "deeper than is kept]";
	uint32_t frame = HARVEST_NONE;
	int r = 0;

	if (note == HARVEST_NONE && s->frames > s->count)
		r = places_note(h, 0, deeper, strlen(deeper), &note);
	if (!r && note != HARVEST_NONE)
		r = harvest_frame(h, frame, note, &frame);
	for (size_t i = s->count; i > 0 && !r; i--)
		r = harvest_frame(h, frame, s->place[i - 1], &frame);
	return r || frame == HARVEST_NONE ? r : harvest_stack(h, event, subject, frame, count);
}

int places_command(struct harvest *h, const char *comm, size_t size, uint32_t *ret)
{
	struct subject_pair pair = {"comm", comm, 4, size < COMM_MAX ? size : COMM_MAX};
	uint8_t bytes[SUBJECT_MAX_BYTES];
	long built = subject_build(&pair, size ? 1 : 0, bytes, sizeof(bytes));

	return built < 0 ? (int)built : harvest_subject(h, bytes, (size_t)built, ret);
}
