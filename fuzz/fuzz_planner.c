/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a planner of counters answers, that a foreign file has taken over: the facts, and behind
 * them the copies of as many functions as they say. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "counting/planner_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

static void expect_within(const struct instrument_code *c, const struct plans_facts *f,
			  const struct instrument_destination *at)
{
	expect(c->address >= at->address && c->address + c->size <= at->address + f->bytes);
	expect(c->first_slot >= at->first_slot &&
	       (uint64_t)c->first_slot + c->slot_count <= at->first_slot + f->slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct instrument_destination at = {0x1000, 0x7f0000000000, 64};
	struct instrument_code *codes;
	struct plans_facts f;

	if (size < sizeof(f) || planner_take_facts(data, sizeof(f), &f) ||
	    f.planned > 4096) /* there is nothing new in more */
		return 0;
	codes = calloc(f.planned + 1, sizeof(*codes));
	if (!codes)
		return 0;
	const int r = planner_take_codes(data + sizeof(f), size - sizeof(f), &f, &at, codes);
	for (uint32_t i = 0; i < f.planned; i++) {
		if (!r && codes[i].size)
			expect_within(&codes[i], &f, &at);
		instrument_code_free(&codes[i]);
	}
	free(codes);
	return 0;
}
