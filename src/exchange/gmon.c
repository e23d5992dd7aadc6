/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/places.h"
#include "exchange/readers.h"
#include "util/num.h"
#include "util/text.h"

/*
 * gmon.out of gcc -pg, as gprof reads it (sys/gmon_out.h): a histogram of the program's own
 * addresses, and how often each call was made. The calls become an event of their own, whose
 * samples are exact counts, with stacks of two frames.
 */

#define VERSION	    1
#define TAG_HIST    0
#define TAG_CALL    1
#define TAG_BLOCKS  2
#define HEADER_REST 12 /* spare bytes behind magic and version */
#define NAME_BYTES  15 /* of the histogram's unit; a byte more has its abbreviation */
#define BINS_MAX    (256u << 20)

struct gmon {
	struct harvest *h;
	uint32_t image, subject, time, calls;
	uint64_t samples, called, rate, blocks;
	bool narrow; /* of a 32-bit program: addresses and counts of blocks have 4 bytes */
};

static int open_program(struct gmon *g, const char *program, struct diag *diag)
{
	struct harvest_image image = {.kind = HARVEST_ADDRESSES, .path = program};
	const char *name;

	if (!program)
		return diag_fail(diag, EINVAL,
				 "a gmon.out does not say which program it is of: name it with "
				 "--program");
	image.path_size = strlen(program);
	name = text_base_name(program);
	int r = harvest_image(g->h, &image, &g->image);
	if (!r)
		r = places_command(g->h, name, strlen(name), &g->subject);
	if (!r)
		r = harvest_event(g->h, "cpu-clock", 9, &g->time);
	if (!r)
		r = harvest_event(g->h, "calls", 5, &g->calls);
	return r == -EINVAL ? diag_fail(diag, EINVAL, "the program's name is too long") : r;
}

static int take_bin(struct gmon *g, uint64_t address, uint64_t count)
{
	uint32_t place;
	int r = harvest_place(g->h, g->image, address, &place);

	g->samples = num_add_sat(g->samples, count);
	return r ? r : harvest_sample(g->h, g->time, g->subject, place, count);
}

static uint64_t take_address(const struct gmon *g, struct cursor *c)
{
	return g->narrow ? cursor_u32(c) : cursor_u64(c);
}

/*
 * The file does not say how wide its addresses are, but where the unit of its histogram stands,
 * "seconds", does. c: at the records.
 */
static bool is_narrow(struct cursor c)
{
	static const char unit[] = "seconds";

	if (cursor_u8(&c) != TAG_HIST)
		return false;
	cursor_bytes(&c, 2 * 4 + 2 * 4);
	return cursor_left(&c) >= sizeof(unit) && !memcmp(c.at, unit, sizeof(unit));
}

/* Bins share out what is from low to high; a bin stands for its first address. */
static int take_histogram(struct gmon *g, struct cursor *c, struct diag *diag)
{
	uint64_t low = take_address(g, c), high = take_address(g, c);
	uint32_t bins = cursor_u32(c), rate = cursor_u32(c);
	const uint8_t *counts;
	int r = 0;

	cursor_bytes(c, NAME_BYTES + 1);
	if (bins > cursor_left(c) / 2 || bins > BINS_MAX)
		return -EBADMSG;
	counts = cursor_bytes(c, 2 * (size_t)bins);
	if (!counts && bins)
		return -EBADMSG;
	if (high < low || !rate || (g->rate && g->rate != rate))
		return diag_fail(diag, EBADMSG, "a histogram makes no sense");
	g->rate = rate;
	for (uint32_t i = 0; i < bins && !r; i++) {
		uint64_t count = counts[2 * i] | (uint64_t)counts[2 * i + 1] << 8;

		if (count)
			r = take_bin(g, low + (uint64_t)((__uint128_t)(high - low) * i / bins),
				     count);
	}
	return r;
}

static int take_call(struct gmon *g, struct cursor *c)
{
	uint64_t from = take_address(g, c), to = take_address(g, c);
	uint32_t count = cursor_u32(c), place;
	struct places_stack stack = {.count = 0};
	int r = c->error;

	if (!r)
		r = harvest_place(g->h, g->image, to, &place);
	if (!r)
		r = harvest_sample(g->h, g->calls, g->subject, place, count);
	if (r)
		return r;
	g->called = num_add_sat(g->called, count);
	places_push(&stack, place);
	/* Who called is said by where the call returns to; 0: not known. */
	if (from) {
		r = harvest_place(g->h, g->image, from - 1, &place);
		places_push(&stack, place);
	}
	return r ? r : places_add_stack(g->h, g->calls, g->subject, &stack, HARVEST_NONE, count);
}

static int skip_blocks(struct gmon *g, struct cursor *c)
{
	uint32_t count = cursor_u32(c), each = g->narrow ? 8 : 16;

	if (count > cursor_left(c) / each)
		return -EBADMSG;
	g->blocks = num_add_sat(g->blocks, count);
	cursor_bytes(c, each * (size_t)count);
	return c->error;
}

static int take_records(struct gmon *g, struct cursor *c, struct diag *diag)
{
	const void *magic = cursor_bytes(c, 4);
	int r = 0;

	if (!magic || memcmp(magic, "gmon", 4) || cursor_u32(c) != VERSION)
		return diag_fail(diag, EBADMSG, "it is not a gmon.out of version 1");
	cursor_bytes(c, HEADER_REST);
	g->narrow = is_narrow(*c);
	while (!r && !c->error && cursor_left(c)) {
		switch (cursor_u8(c)) {
		case TAG_HIST:
			r = take_histogram(g, c, diag);
			break;
		case TAG_CALL:
			r = take_call(g, c);
			break;
		case TAG_BLOCKS:
			r = skip_blocks(g, c);
			break;
		default:
			return diag_fail(diag, EBADMSG, "it has a record that gprof does not know");
		}
	}
	return r ? r : c->error;
}

static void tell(struct gmon *g)
{
	uint64_t period = g->rate ? 1000000000 / g->rate : 0;

	harvest_event_set(g->h, g->time, period, DB_EVENT_USER);
	harvest_event_set(g->h, g->calls, 1, DB_EVENT_USER | DB_EVENT_PRECISE);
	harvest_duration(g->h, num_mul_sat(g->samples, period));
	harvest_count(g->h, g->time, "samples", g->samples);
	harvest_count(g->h, g->calls, "samples", g->called);
	harvest_count(g->h, HARVEST_NONE, "not_kept.block_counts", g->blocks);
}

int read_gmon(const struct reading *in, struct harvest *harvest, struct diag *diag)
{
	struct gmon g = {.h = harvest};
	struct cursor c;
	uint8_t *data;
	size_t size;
	int r = open_program(&g, in->program, diag);

	if (!r)
		r = reading_load(in, &data, &size, diag);
	if (r)
		return reading_end(r, diag);
	c = cursor_over(data, size);
	r = take_records(&g, &c, diag);
	free(data);
	/* What stands before the damage is good, but not all: then shares would lie. */
	if (r == -EBADMSG && !diag->text[0])
		diag_fail(diag, EBADMSG, "it ends in the middle of a record");
	tell(&g);
	return reading_end(r, diag);
}
