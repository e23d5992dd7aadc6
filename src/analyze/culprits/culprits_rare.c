/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Locked operations, fences, microcode, page faults, system calls: by what the instruction is. */
#include <math.h>
#include "analyze/culprits/culprits_flow.h"
#include "analyze/culprits/culprits_kinds.h"
#include "analyze/culprits/culprits_rules.h"
#include "analyze/culprits/culprits_weights.h"

static void suspect_fault(struct culprit_case *c, uint32_t at)
{
	const struct culprit_view *v = c->view;
	const struct isa_operands *o = &v->operands[at];
	const struct isa_operand *memory = culprit_memory(o, ISA_ACCESS_READS | ISA_ACCESS_WRITES);
	uint64_t blame = v->function->instructions[at].address;

	if (!memory || memory->base == ISA_REG_STACK || !v->events ||
	    v->events[at].page_faults <= 0)
		return;
	culprit_suspect(c, CULPRIT_PAGE_FAULT,
			EVENT_SLACK * v->events[at].page_faults * FAULT_CYCLES, FAULT_WEIGHT,
			blame);
}

void culprit_suspect_rare(struct culprit_case *c, uint32_t at, double share)
{
	const struct culprit_view *v = c->view;
	const struct isa_instruction *in = &v->function->instructions[at];
	const struct isa_operands *o = &v->operands[at];
	const struct machine_cost *cost = machine_cost_of(v->model, &v->prepared[at]);
	double most = share * BARRIER_MEMORY * v->limits.memory;

	if (share <= 0)
		return;
	if (v->masks && in->unmasks) {
		/* All of it, but what ran with interrupts off before is not known. */
		culprit_suspect(c, CULPRIT_INTERRUPTS_OFF, share * c->cycles, UNMASK_WEIGHT,
				in->address);
		return;
	}
	if (o->attributes & ISA_LOCKED)
		culprit_suspect(c, CULPRIT_LOCK, most, LOCK_WEIGHT, in->address);
	if (in->branch == ISA_BRANCH_SYSTEM)
		culprit_suspect(c, CULPRIT_SYSCALL, share * c->cycles, SYSCALL_WEIGHT, in->address);
	else if (o->attributes & (ISA_FENCE | ISA_SERIALISING))
		culprit_suspect(c, CULPRIT_FENCE, most, FENCE_WEIGHT, in->address);
	if (v->prepared[at].traits & MACHINE_DIVIDES)
		/* How long it takes depends on the numbers; the model has the least. */
		culprit_suspect(c, CULPRIT_DIVIDER,
				share * DIVIDER_MOST * fmax(DIVIDER_LEAST, cost->latency),
				DIVIDER_WEIGHT, in->address);
	if (culprit_kind_of(v->kinds, o) == CULPRIT_KIND_MASKED)
		/* Microcode decides when some of what is masked may not be touched. */
		culprit_suspect(c, CULPRIT_ASSIST, share * v->limits.assist, ASSIST_MASKED,
				in->address);
	else if (culprit_kind_of(v->kinds, o) == CULPRIT_KIND_FLOAT)
		culprit_suspect(c, CULPRIT_ASSIST, share * v->limits.assist, ASSIST_FLOAT,
				in->address);
	else if (o->attributes & ISA_REPEATED)
		/* To set it up; the rest is the memory that it goes through. */
		culprit_suspect(c, CULPRIT_ASSIST, share * REPEAT_CYCLES, ASSIST_REPEAT,
				in->address);
	else if (cost->microcoded)
		culprit_suspect(c, CULPRIT_ASSIST, share * c->cycles, ASSIST_MICROCODE,
				in->address);
	suspect_fault(c, at);
}

/* What holds up everything after it may show a few instructions later. */
void culprit_suspect_barriers(struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	struct culprit_walk w;
	uint32_t i;

	culprit_walk_begin(&w, v, c->at);
	for (int n = 0; n < AFTER_BARRIER && (i = culprit_walk_back(&w)) != CULPRIT_NOBODY; n++) {
		const struct isa_instruction *in = &v->function->instructions[i];
		unsigned attributes = v->operands[i].attributes;

		if (in->branch == ISA_BRANCH_SYSTEM)
			culprit_suspect(c, CULPRIT_SYSCALL, c->cycles, SYSCALL_AFTER, in->address);
		else if (attributes & (ISA_FENCE | ISA_SERIALISING))
			culprit_suspect(c, CULPRIT_FENCE, BARRIER_MEMORY * v->limits.memory,
					FENCE_AFTER, in->address);
		else if (attributes & ISA_LOCKED)
			culprit_suspect(c, CULPRIT_LOCK, v->limits.memory, LOCK_AFTER_WEIGHT,
					in->address);
	}
}

/*
 * The model's best case overlaps what comes before with what comes after. After a mispredicted
 * branch or a missing line there is nothing to overlap with: an instruction then waits for its
 * operands as long as their producer takes.
 */
void culprit_suspect_latency(struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	const struct isa_operands *o = &v->operands[c->at];
	double own = machine_cost_of(v->model, &v->prepared[c->at])->latency;

	for (unsigned i = 0; i < o->count; i++) {
		if (o->list[i].kind != ISA_OPERAND_REGISTER ||
		    !(o->list[i].access & ISA_ACCESS_READS) || o->list[i].reg == ISA_REG_STACK ||
		    (o->attributes & ISA_ZERO_IDIOM))
			continue;
		uint32_t producer = culprit_find_writer(v, c->at, o->list[i].reg);
		if (producer == CULPRIT_NOBODY)
			continue;
		double latency = machine_cost_of(v->model, &v->prepared[producer])->latency;
		struct culprit_suspect *s = culprit_suspect(
			c, CULPRIT_DEPENDENCY, own + LATENCY_TWICE * latency, LATENCY_WEIGHT,
			v->function->instructions[producer].address);
		if (s)
			s->culprit.reg = o->list[i].reg;
	}
}
