/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/plan_state.h"
#include "util/search.h"

/* What inserted code changes: that which adds one to memory keeps the carry flag. */
#define CHANGED \
	(ISA_FLAG_PARITY | ISA_FLAG_ADJUST | ISA_FLAG_ZERO | ISA_FLAG_SIGN | ISA_FLAG_OVERFLOW)

static uint16_t changed(const struct planning *p)
{
	return p->q->paths_max ? CHANGED | ISA_FLAG_CARRY : CHANGED;
}

static bool has_prefix(const uint8_t *code, size_t size, uint8_t wanted)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					   0x66, 0x67, 0xf0, 0xf2, 0xf3};

	for (size_t i = 0; i < size && memchr(prefixes, code[i], sizeof(prefixes)); i++)
		if (code[i] == wanted)
			return true;
	return false;
}

/* A direct branch gets another encoding, so its kind must be known: jmp, jcc, loop, jecxz. With an
 * operand size of 16 bits processors differ on where it leads. */
static bool can_branch(const struct isa_instruction *in, const struct isa_operands *o,
		       const uint8_t *code)
{
	if (in->target == ISA_NO_ADDRESS)
		return in->branch == ISA_BRANCH_JUMP;
	if (has_prefix(code, in->size, 0x66))
		return false;
	return in->branch == ISA_BRANCH_JUMP || o->condition != ISA_NO_CONDITION ||
	       (in->size >= 2 && code[in->size - 2] >= 0xe0 && code[in->size - 2] <= 0xe3);
}

static bool uses_segment(const struct planning *p, const struct isa_operands *o)
{
	const char *name = o->count == 1 ? isa_mnemonic_name(p->decoder, o->mnemonic) : "";

	if (strcmp(name, "rdgsbase") == 0 || strcmp(name, "wrgsbase") == 0)
		return true;
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].segment == ISA_REG_GS || o->list[i].reg == ISA_REG_GS)
			return true;
	return false;
}

/* Not those that stay as they were where a count (of a shift, of rep) is 0, or in the kernel. */
static uint16_t surely_written(const struct planning *p, const struct isa_instruction *in,
			       const struct isa_operands *o)
{
	if (in->branch == ISA_BRANCH_SYSTEM)
		return 0;
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER && o->list[i].reg == ISA_REG_FLAGS)
			return o->list[i].access & ISA_ACCESS_WRITE ? o->flags_written & changed(p)
								    : 0;
	return 0;
}

/* Code of the function of which another piece of code takes the address may be entered there. */
static bool leads_into(const struct cfg_function *f, uint64_t address)
{
	const size_t i = SEARCH_FIRST(f->range_count, n, f->ranges[n].end > address);

	return address != f->entry && i < f->range_count && address >= f->ranges[i].start;
}

static int check_instruction(struct planning *p, const struct isa_instruction *in,
			     const struct isa_operands *o, const uint8_t *code)
{
	const bool branches = in->branch == ISA_BRANCH_JUMP || in->branch == ISA_BRANCH_CONDITIONAL;

	if ((branches && !can_branch(in, o, code)) ||
	    (in->relative && has_prefix(code, in->size, 0x67)))
		return planning_refuse(p, INSTRUMENT_WHY_INSTRUCTION);
	if (uses_segment(p, o))
		return planning_refuse(p, INSTRUMENT_WHY_SEGMENT);
	if (in->data != ISA_NO_ADDRESS && leads_into(p->f, in->data))
		return planning_refuse(p, INSTRUMENT_WHY_ENTERED);
	return 0;
}

/* Which flags a block reads before it writes them, and which it writes. */
struct effect {
	uint16_t read, written;
};

static int inspect_block(struct planning *p, const struct cfg_block *b, struct effect *ret)
{
	const struct cfg_function *f = p->f;
	struct effect e = {0};

	for (uint32_t i = 0; i < b->instruction_count; i++) {
		const struct isa_instruction *in = &f->instructions[b->first_instruction + i];
		size_t size = 0;
		const uint8_t *code = cfg_code_at(f->image, in->address, &size);
		struct isa_instruction again;
		struct isa_operands o;

		if (!code || size < in->size ||
		    !isa_decode_operands(p->decoder, code, size, in->address, &again, &o) ||
		    again.size != in->size || again.branch != in->branch ||
		    again.target != in->target)
			return planning_refuse(p, INSTRUMENT_WHY_INSTRUCTION);
		if (in + 1 < f->instructions + f->instruction_count &&
		    in[1].address < in->address + in->size)
			return planning_refuse(p, INSTRUMENT_WHY_OVERLAP);
		const int r = check_instruction(p, in, &o, code);
		if (r)
			return r;
		if (in->branch == ISA_BRANCH_CALL) { /* no flags go in, none come back unread */
			e.written = changed(p);
			continue;
		}
		e.read |= o.flags_read & changed(p) & ~e.written;
		e.written |= surely_written(p, in, &o);
	}
	*ret = e;
	return 0;
}

static uint16_t live_behind(const struct planning *p, const struct cfg_block *b)
{
	uint16_t live = 0;

	for (uint32_t i = 0; i < b->succ_count; i++) {
		const struct cfg_edge *e = &p->f->edges[b->first_succ + i];

		if (e->to != CFG_OUTSIDE)
			live |= p->blocks[e->to].flags_in;
		else if (p->q->returns_flags)
			live |= changed(p);
	}
	return live;
}

/* Each block comes up once, and again for each flag that is found live behind it. */
static int spread_liveness(struct planning *p, const struct effect *effects)
{
	const struct cfg_function *f = p->f;
	uint32_t *stack = calloc(f->block_count, sizeof(*stack)), top = 0;
	bool *waits = calloc(f->block_count, sizeof(*waits));

	if (!stack || !waits) {
		free(stack);
		free(waits);
		return -ENOMEM;
	}
	for (; top < f->block_count; top++) {
		stack[top] = top;
		waits[top] = true;
	}
	while (top) {
		const uint32_t n = stack[--top];
		const struct cfg_block *b = &f->blocks[n];
		const struct effect *e = &effects[n];
		const uint16_t end = live_behind(p, b);
		const uint16_t in = e->read | (uint16_t)(end & ~e->written);

		waits[n] = false;
		p->blocks[n].flags_end = cfg_block_last(f, b)->branch == ISA_BRANCH_CALL ? 0 : end;
		if (in == p->blocks[n].flags_in)
			continue;
		p->blocks[n].flags_in = in;
		for (uint32_t i = 0; i < b->pred_count; i++) {
			const uint32_t from = f->edges[f->preds[b->first_pred + i]].from;

			if (from != CFG_OUTSIDE && !waits[from]) {
				waits[from] = true;
				stack[top++] = from;
			}
		}
	}
	free(stack);
	free(waits);
	return 0;
}

int planning_inspect(struct planning *p)
{
	struct effect *effects = calloc(p->f->block_count, sizeof(*effects));
	int r = effects ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < p->f->block_count && !r; i++)
		r = inspect_block(p, &p->f->blocks[i], &effects[i]);
	if (!r)
		r = spread_liveness(p, effects);
	free(effects);
	return r;
}
