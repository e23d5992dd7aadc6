/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Plans and copies of any code: what is made is in order, each instruction of a copy is at a place
 * or a piece, nothing is entered inside of a patch, and counters of any value are solved or
 * refused. The same where paths are counted: each of their numbers is that of a path.
 *
 * Input: flags (1: flags are returned), the number of functions (a byte), their starts (16 bits
 * each), 8 bytes that counters are made of; the code.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/copy.h"
#include "instrument/counts.h"
#include "instrument/paths.h"
#include "util/buf.h"
#include "util/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE 0x10000
#define MAX  16

static void expect(bool condition)
{
	if (!condition)
		abort();
}

static bool is_far(uint64_t to, uint64_t from)
{
	const int64_t reach = INT32_MAX - CODE, distance = (int64_t)(to - from);

	return to != ISA_NO_ADDRESS && (distance > reach || distance < -reach);
}

/* Whether an instruction names what may be out of its reach from a copy some pages away. */
static bool names_far(const struct cfg_function *f)
{
	for (uint32_t i = 0; i < f->instruction_count; i++) {
		const struct isa_instruction *in = &f->instructions[i];

		if (is_far(in->data, in->address) || is_far(in->target, in->address))
			return true;
	}
	return false;
}

static void check_instructions(const struct instrument_code *code)
{
	static struct isa_decoder *decoder;
	struct isa_instruction in;
	uint32_t place = 0, piece = 0;

	if (!decoder)
		expect(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &decoder, NULL) == 0);
	for (uint32_t at = 0; at < code->size; at += in.size) {
		isa_decode(decoder, code->bytes + at, code->size - at, code->address + at, &in);
		if (place < code->place_count && code->places[place].copy == at)
			place++;
		else
			expect(piece < code->piece_count && code->pieces[piece++].copy == at);
	}
	expect(place == code->place_count && piece == code->piece_count);
}

static void check_copy(const struct instrument_plan *plan)
{
	const struct instrument_destination near = {0x10000000, 0x10000000 + CODE - 0x4000, 7};
	const struct instrument_destination far = {0, (uint64_t)1 << 40, 0};
	const struct cfg_function *f = plan->function;
	struct instrument_code code;

	expect(instrument_copy_new(plan, &far, &code) == -ERANGE);
	const int r = instrument_copy_new(plan, &near, &code);
	expect(r == 0 || (r == -ERANGE && names_far(f)));
	if (r)
		return;
	expect(instrument_code_check(&code) == 0);
	check_instructions(&code);
	expect(code.size <= instrument_copy_size_max(plan));
	expect(code.place_count == f->instruction_count);
	for (uint32_t i = 0; i < code.place_count; i++) {
		const struct instrument_place *p = &code.places[i];

		expect(p->original == f->instructions[i].address + near.bias);
		expect(instrument_code_at_original(&code, p->original) == p);
		expect(instrument_code_at_copy(&code, code.address + p->copy) == p);
	}
	for (uint32_t i = 0; i < code.patch_count; i++) {
		const struct instrument_patch *p = &code.patches[i];

		for (uint32_t b = 0; b < f->block_count; b++) {
			const uint64_t start = f->blocks[b].start + near.bias;
			bool jumped = false;

			for (uint32_t e = 0; e < f->blocks[b].pred_count; e++)
				jumped |= f->edges[f->preds[f->blocks[b].first_pred + e]].kind !=
					  CFG_FALL_THROUGH;
			expect(!jumped || start <= p->address || start >= p->address + p->size);
		}
	}
	instrument_code_free(&code);
}

static void check_counts(const struct instrument_plan *plan, uint64_t seed)
{
	uint64_t *counters = calloc(plan->slot_count + 1u, sizeof(*counters));
	const struct instrument_presence presence = {plan->function->entry, (uint32_t)seed, 0};
	struct instrument_counts *c;

	expect(counters != NULL);
	expect(instrument_counts_new(plan, counters, NULL, 0, &c) == 0);
	expect(c->inconsistent == 0);
	instrument_counts_free(c);
	for (uint32_t i = 0; i < plan->slot_count; i++)
		counters[i] = seed >> (i * 7 & 63);
	const int r = instrument_counts_new(plan, counters, &presence, 1, &c);
	expect(r == 0 || r == -ERANGE);
	if (r == 0)
		instrument_counts_free(c);
	free(counters);
}

static void check_paths(const struct instrument_plan *plan)
{
	const uint32_t nodes = plan->node_count + 1;
	uint32_t *edges = calloc(2 * (size_t)nodes, sizeof(*edges));
	struct instrument_path path = {.blocks = edges + nodes};

	expect(edges != NULL);
	for (uint32_t i = 0; i < plan->paths->numbering->count; i++)
		expect(instrument_path_find(plan, i, edges, &path) && path.count <= nodes);
	expect(!instrument_path_find(plan, plan->paths->numbering->count, edges, &path));
	free(edges);
}

static void check_function(const struct instrument_request *q, uint64_t seed)
{
	struct instrument_plan *plan;
	enum instrument_reason why = INSTRUMENT_REASONS;
	const int r = instrument_plan_new(q, &plan, &why);

	if (r) {
		expect(r == -EOPNOTSUPP && why < INSTRUMENT_REASONS);
		return;
	}
	check_copy(plan);
	if (q->paths_max)
		check_paths(plan);
	else
		check_counts(plan, seed);
	instrument_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	struct cfg_extent extents[MAX] = {{0}};
	struct cfg_image *image;
	const uint8_t flags = cursor_u8(&c);
	const size_t count = cursor_u8(&c) % MAX;

	for (size_t i = 0; i < count; i++) {
		extents[i].start = CODE + cursor_u8(&c);
		extents[i].start += (uint64_t)cursor_u8(&c) << 8;
	}
	qsort(extents, count, sizeof(*extents), num_compare_u64);
	const uint64_t seed = cursor_u64(&c);
	const size_t code_size = cursor_left(&c);
	const struct cfg_bytes code = {CODE, cursor_bytes(&c, code_size), code_size};
	const struct cfg_source source = {.machine = EM_X86_64,
					  .bits = 64,
					  .code = &code,
					  .code_count = 1,
					  .data = &code, /* tables between the code */
					  .data_count = 1,
					  .extents = extents,
					  .extent_count = count};
	if (c.error || code_size == 0)
		return 0;
	expect(cfg_image_new(&source, &image, NULL) == 0);
	struct instrument_request q = {.returns_flags = flags & 1};
	uint64_t *entered;
	expect(instrument_entered_new(image, &entered, &q.entered_count) == 0);
	q.entered = entered;
	for (size_t i = 0; i < cfg_image_count(image); i++)
		if (cfg_image_function(image, cfg_image_entry(image, i), &q.function) == 0) {
			check_function(&q, seed);
			q.paths_max = 64;
			check_function(&q, seed);
			q.paths_max = 0;
		}
	free(entered);
	cfg_image_free(image);
	return 0;
}
