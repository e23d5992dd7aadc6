/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A function's code and its samples. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/disassemble.h"
#include "analyze/insight_state.h"
#include "machine/listing_decoder.h"
#include "util/search.h"

/* Of an instruction that the graph has, all of whose bytes are there. */
const uint8_t *insight_code_at(void *image, uint64_t address)
{
	const struct insight_image *i = image;
	size_t size;
	return cfg_code_at(i->cfg, address, &size);
}

size_t insight_first_sample(const struct insight_image *image, uint64_t address)
{
	return SEARCH_FIRST(image->sample_count, i, image->samples[i].offset >= address);
}

uint64_t insight_samples_between(const struct insight_image *image, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;
	for (size_t i = insight_first_sample(image, start);
	     i < image->sample_count && image->samples[i].offset < end; i++)
		sum += image->samples[i].count;
	return sum;
}

int insight_disassemble(struct insights *all, struct insight *i, size_t block,
			enum isa_syntax syntax)
{
	struct insight_image *image = &all->images[i->image - all->query->images];
	const struct insight_block *b = &i->blocks[block];
	struct isa_decoder **d = &image->writers[syntax];
	uint16_t machine;
	unsigned bits;
	int err = 0;
	if (!*d) {
		image_find_machine(all->finder, &image->image->id, image->image->path, &machine,
				   &bits);
		err = machine_listing_decoder_new(machine, bits, syntax, d, NULL);
	}
	for (uint32_t k = 0; k < b->instruction_count && !err; k++) {
		uint32_t n = b->first_instruction + k;
		const uint8_t *code = insight_code_at(image, i->instructions[n].address);
		if (!code)
			continue;
		i->instructions[n].text = disassemble(i->memory, *d, image->symbols, code,
						      &i->function->instructions[n]);
		err = i->instructions[n].text ? 0 : -ENOMEM;
	}
	return err;
}
