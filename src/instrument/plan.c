/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include "instrument/paths.h"
#include "instrument/plan_state.h"
#include "util/search.h"

const char *instrument_reason_text(enum instrument_reason why)
{
	static const char *const texts[INSTRUMENT_REASONS] = {
		[INSTRUMENT_WHY_GRAPH] = "the control flow is not completely known",
		[INSTRUMENT_WHY_TABLE] = "the end of a jump table is not proven",
		[INSTRUMENT_WHY_OVERLAP] = "instructions overlap",
		[INSTRUMENT_WHY_ENTERED] = "other code jumps into the middle",
		[INSTRUMENT_WHY_INSTRUCTION] = "an instruction cannot be moved",
		[INSTRUMENT_WHY_SEGMENT] = "an instruction uses %gs",
		[INSTRUMENT_WHY_ROOM] = "there is no room for a jump into the copy",
		[INSTRUMENT_WHY_SHARED] = "a place is entered in several ways at once",
		[INSTRUMENT_WHY_LIMIT] = "the function is too large",
		[INSTRUMENT_WHY_FLAGS] = "flags are passed over its entry or a call",
		[INSTRUMENT_WHY_PATHS] = "it has too many paths",
	};

	return why < INSTRUMENT_REASONS ? texts[why] : "?";
}

/* Known addresses behind the entry, in the function's ranges, at which others come in. */
static bool is_entered(const struct instrument_request *q)
{
	const struct cfg_function *f = q->function;

	for (uint32_t i = 0; i < f->range_count; i++) {
		const struct cfg_range *range = &f->ranges[i];
		size_t n = SEARCH_FIRST(q->entered_count, e, q->entered[e] >= range->start);

		for (; n < q->entered_count && q->entered[n] < range->end; n++)
			if (q->entered[n] != f->entry)
				return true;
	}
	return false;
}

static int check_function(struct planning *p)
{
	const struct cfg_function *f = p->f;

	if (!f->complete || f->entry_block == CFG_OUTSIDE)
		return planning_refuse(p, INSTRUMENT_WHY_GRAPH);
	if (f->tables_inferred)
		return planning_refuse(p, INSTRUMENT_WHY_TABLE);
	if (f->block_count > INSTRUMENT_BLOCKS_MAX || f->edge_count / 4 > INSTRUMENT_BLOCKS_MAX)
		return planning_refuse(p, INSTRUMENT_WHY_LIMIT);
	if (is_entered(p->q))
		return planning_refuse(p, INSTRUMENT_WHY_ENTERED);
	return 0;
}

static void find_causes(struct planning *p)
{
	static const uint8_t causes[] = {
		[CFG_ENTER] = PLANNING_ENTRY,
		[CFG_LANDING] = PLANNING_LANDING,
		[CFG_AFTER_CALL] = PLANNING_RETURN,
		[CFG_INDIRECT] = PLANNING_INDIRECT,
	};

	for (uint32_t i = 0; i < p->f->edge_count; i++) {
		const struct cfg_edge *e = &p->f->edges[i];

		if (e->to == CFG_OUTSIDE)
			continue;
		p->blocks[e->to].jumped |= e->kind == CFG_TAKEN || e->kind == CFG_JUMP;
		if (e->kind < sizeof(causes))
			p->blocks[e->to].causes |= causes[e->kind];
	}
}

static int make(struct planning *p)
{
	int r = check_function(p);

	if (r)
		return r;
	p->blocks = calloc(p->f->block_count, sizeof(*p->blocks));
	if (!p->blocks)
		return -ENOMEM;
	find_causes(p);
	r = isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &p->decoder, NULL);
	if (!r)
		r = planning_inspect(p);
	if (!r)
		r = planning_find_rooms(p);
	if (!r)
		r = planning_model(p);
	if (!r)
		r = p->q->paths_max ? planning_number(p) : planning_place(p);
	return r;
}

int instrument_plan_new(const struct instrument_request *q, struct instrument_plan **ret,
			enum instrument_reason *ret_why)
{
	struct planning p = {.q = q, .f = q->function};
	int r = -ENOMEM;

	p.plan = calloc(1, sizeof(*p.plan));
	if (p.plan) {
		p.plan->function = q->function;
		r = make(&p);
	}
	isa_decoder_free(p.decoder);
	free(p.blocks);
	if (r) {
		instrument_plan_free(p.plan);
		if (r == -EOPNOTSUPP)
			*ret_why = p.why;
		return r;
	}
	*ret = p.plan;
	return 0;
}

void instrument_plan_free(struct instrument_plan *plan)
{
	if (!plan)
		return;
	free(plan->edges);
	free(plan->of_edge);
	free(plan->at);
	free(plan->through);
	free(plan->entrances);
	instrument_paths_free(plan->paths);
	free(plan);
}
