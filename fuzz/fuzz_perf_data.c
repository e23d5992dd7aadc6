/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* perf.data, either form, up to the harvest that is taken apart again. Every image has the same
 * small unwind table. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/readers.h"
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS 5

/* By the frame pointer, the stack pointer with a piece of stack of each size, and the first frame.
 */
static void fill(struct image_unwind *u)
{
	for (uint32_t i = 0; i < ROWS; i++) {
		u->rows[i] = (struct image_unwind_row){i * 16, i};
		u->rules[i] = (struct wire_unwind_rule){
			.cfa = WIRE_CFA_REGISTER,
			.cfa_reg = i == 0 ? 6 : 7,
			.cfa_offset = i == 1 ? 16 : 48,
			.ra = i == 3 ? WIRE_LOCATION_UNDEFINED : WIRE_LOCATION_AT_CFA,
			.ra_offset = -8,
			.fp = i == 0 ? WIRE_LOCATION_AT_CFA : WIRE_LOCATION_SAME,
			.fp_offset = -16,
		};
	}
	u->rules[ROWS - 1] = (struct wire_unwind_rule){0};
	u->base = 0x1000;
}

static int find_code(void *arg, const struct harvest_image *image, struct reading_code *ret)
{
	struct image_unwind *u;

	(void)arg;
	if (image->path_size % 2)
		return -ENOENT;
	u = calloc(1, sizeof(*u));
	*ret = (struct reading_code){
		.segments = calloc(1, sizeof(*ret->segments)), .segment_count = 1, .unwind = u};
	u->memory = u->rules = calloc(ROWS, sizeof(*u->rules) + sizeof(*u->rows));
	u->rows = (void *)(u->rules + ROWS);
	u->row_count = u->rule_count = ROWS;
	fill(u);
	*ret->segments = (struct image_segment){0x1000, 0x1000, 0x1000};
	return 0;
}

static void progress(void *arg, uint64_t done, uint64_t of)
{
	(void)arg;
	if (of && done > of)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct reading_host host = {.find_code = find_code, .progress = progress};

	return fuzz_reader_with(read_perf_data, &host, data, size);
}
