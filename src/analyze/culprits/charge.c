/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/charge.h"

#include "analyze/frequency/masked.h"

/* How likely an instruction is to hold up those after it, against any other. */
#define SLOW_WEIGHT 8

static bool is_slow(const struct charge_request *q, uint32_t at)
{
	const struct isa_operands *o = &q->operands[at];

	if (q->prepared[at].traits & (MACHINE_DIVIDES | MACHINE_LOCKED | MACHINE_FENCE))
		return true;
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_MEMORY &&
		    (o->list[i].access & ISA_ACCESS_READS) && o->list[i].base != ISA_REG_STACK)
			return true;
	return false;
}

/* True for the first instruction after a branch that may go elsewhere: it may have to wait for its
 * code. */
static bool may_come_late(const struct charge_request *q, uint32_t block, uint32_t at)
{
	const struct cfg_function *f = q->function;
	const struct cfg_block *b = &f->blocks[block];

	for (uint32_t i = 0; i < b->pred_count && at == b->first_instruction; i++) {
		const struct cfg_edge *e = &f->edges[f->preds[b->first_pred + i]];

		if (e->from == CFG_OUTSIDE || f->blocks[e->from].succ_count > 1)
			return true;
	}
	return false;
}

/* A pair that runs as one operation is its first instruction's. */
static uint32_t operation_of(const struct charge_request *q, uint32_t at)
{
	return at > 0 && (q->prepared[at].traits & MACHINE_FUSED) ? at - 1 : at;
}

/* The operation that a way into a block comes from; CFG_OUTSIDE: it is not in this function. */
static uint32_t arrival(const struct charge_request *q, uint32_t edge)
{
	const struct cfg_function *f = q->function;
	const struct cfg_edge *e = &f->edges[edge];

	if (e->from == CFG_OUTSIDE || f->blocks[e->from].instruction_count == 0)
		return CFG_OUTSIDE;
	const struct cfg_block *from = &f->blocks[e->from];
	uint32_t last = from->first_instruction + from->instruction_count - 1;
	if (e->kind == CFG_AFTER_CALL && f->instructions[last].branch != ISA_BRANCH_SYSTEM)
		return CFG_OUTSIDE;
	return operation_of(q, last);
}

/* Samples at the first instruction of a block go to where it was come from. */
static void charge_head(const struct charge_request *q, const struct cfg_block *b, double samples,
			double *charged, double *fresh)
{
	const struct cfg_function *f = q->function;
	double sum = 0, weight;
	bool known = false;

	for (uint32_t i = 0; i < b->pred_count; i++)
		known |= q->edge_count[f->preds[b->first_pred + i]] > 0;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < b->pred_count; i++) {
			uint32_t edge = f->preds[b->first_pred + i], from = arrival(q, edge);

			weight = known ? q->edge_count[edge] : 1;
			if (from != CFG_OUTSIDE &&
			    (is_slow(q, from) || may_come_late(q, f->edges[edge].from, from)))
				weight *= SLOW_WEIGHT;
			if (pass == 0)
				sum += weight;
			else if (from != CFG_OUTSIDE && sum > 0)
				charged[from] += samples * weight / sum;
			else if (sum > 0) {
				charged[b->first_instruction] += samples * weight / sum;
				fresh[b->first_instruction] += samples * weight / sum;
			}
		}
	}
	if (sum <= 0) {
		charged[b->first_instruction] += samples;
		fresh[b->first_instruction] += samples;
	}
}

/* It can be interrupted before it is done, or is one of those that this machine shows so. */
static bool shows_itself(const struct charge_request *q, uint32_t at)
{
	return q->operands[at].attributes & ISA_REPEATED ||
	       (q->skid.shows_divisions && q->prepared[at].traits & MACHINE_DIVIDES);
}

void charge_samples(const struct charge_request *q, double *charged, double *fresh)
{
	const struct cfg_function *f = q->function;

	for (uint32_t i = 0; i < f->instruction_count; i++)
		charged[i] = fresh[i] = 0;
	for (uint32_t b = 0; b < f->block_count; b++) {
		const struct cfg_block *block = &f->blocks[b];

		for (uint32_t k = 0; k < block->instruction_count; k++) {
			uint32_t i = block->first_instruction + k, to = operation_of(q, i);
			double late = (double)q->samples[i] * q->skid.back;

			if (shows_itself(q, i))
				late = 0;
			charged[to] += (double)q->samples[i] - late;
			if (late <= 0)
				continue;
			uint32_t until = q->masks ? masked_until(f, b, i) : CFG_OUTSIDE;
			if (until != CFG_OUTSIDE) {
				charged[until] += late;
				continue;
			}
			/* A sample inside of a pair is the pair's own. */
			if (k == 0)
				charge_head(q, block, late, charged, fresh);
			else
				charged[to == i ? operation_of(q, i - 1) : to] += late;
		}
	}
}
