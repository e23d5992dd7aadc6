/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TEST_CFG_CHECK_H
#define CULPRIT_TEST_CFG_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include "cfg/cfg.h"

/* What must hold of every graph, whatever it was built from. For the tests and the fuzzer. */
#define CFG_CHECK(f, what)                                                    \
	do {                                                                  \
		if (!(what)) {                                                \
			fprintf(stderr, "function %#llx: %s does not hold\n", \
				(unsigned long long)(f)->entry, #what);       \
			abort();                                              \
		}                                                             \
	} while (0)

static inline void cfg_check_block(const struct cfg_function *f, uint32_t i)
{
	const struct cfg_block *b = &f->blocks[i];
	const uint32_t last = b->first_instruction + b->instruction_count - 1;
	CFG_CHECK(f, b->instruction_count > 0 && last < f->instruction_count);
	CFG_CHECK(f, b->start == f->instructions[b->first_instruction].address);
	CFG_CHECK(f, b->end == f->instructions[last].address + f->instructions[last].size);
	CFG_CHECK(f, i == 0 ? b->first_instruction == 0
			    : b->first_instruction ==
				      b[-1].first_instruction + b[-1].instruction_count);
	for (uint32_t k = b->first_instruction; k < last; k++) {
		const struct isa_instruction *in = &f->instructions[k];
		CFG_CHECK(f, in->address + in->size == in[1].address);
		CFG_CHECK(f, in->branch == ISA_BRANCH_NONE || in->branch == ISA_BRANCH_SYSTEM);
	}
	for (uint32_t e = 0; e < b->succ_count; e++)
		CFG_CHECK(f, f->edges[b->first_succ + e].from == i);
	for (uint32_t e = 0; e < b->pred_count; e++)
		CFG_CHECK(f, f->edges[f->preds[b->first_pred + e]].to == i);
	/* Control goes somewhere, unless it is known to end here. */
	CFG_CHECK(f, b->succ_count || b->flags & (CFG_BLOCK_NO_RETURN | CFG_BLOCK_STOP));
	CFG_CHECK(f, cfg_function_block_at(f, b->start) == i);
}

static inline void cfg_check_function(const struct cfg_function *f)
{
	uint32_t succ = 0, pred = 0, entered = 0, missing = 0, why = 0;
	for (uint32_t i = 0; i < f->instruction_count; i++)
		CFG_CHECK(f, f->instructions[i].valid &&
				     (i == 0 ||
				      f->instructions[i].address > f->instructions[i - 1].address));
	for (uint32_t i = 0; i < f->block_count; i++) {
		cfg_check_block(f, i);
		CFG_CHECK(f, f->blocks[i].first_succ == succ && f->blocks[i].first_pred == pred);
		succ += f->blocks[i].succ_count;
		pred += f->blocks[i].pred_count;
		missing += (f->blocks[i].flags & CFG_BLOCK_MISSING) != 0;
	}
	for (uint32_t e = 0; e < f->edge_count; e++) {
		const struct cfg_edge *edge = &f->edges[e];
		CFG_CHECK(f, edge->from != CFG_OUTSIDE ? edge->from < f->block_count : e >= succ);
		CFG_CHECK(f, edge->to == CFG_OUTSIDE || edge->to < f->block_count);
		entered += edge->kind == CFG_ENTER;
	}
	for (uint32_t c = 0; c < f->call_count; c++)
		CFG_CHECK(f, f->calls[c].instruction < f->instruction_count &&
				     (c == 0 ||
				      f->calls[c].instruction >= f->calls[c - 1].instruction));
	for (int i = 0; i < CFG_REASONS; i++)
		why += f->why[i];
	CFG_CHECK(f, f->complete == (why == 0));
	CFG_CHECK(f, !missing || !f->complete);
	if (f->entry_block == CFG_OUTSIDE)
		CFG_CHECK(f, entered == 0 && !f->complete);
	else
		CFG_CHECK(f, entered == 1 && f->blocks[f->entry_block].start == f->entry);
}

#endif
