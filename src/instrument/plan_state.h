/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_PLAN_STATE_H
#define CULPRIT_INSTRUMENT_PLAN_STATE_H

#include "instrument/plan.h"
#include "isa/operands.h"

/* A plan on its way; for the files of src/instrument that make plans only. */

/* Why the copy is entered at a block: by flow that did not come through the copy. */
enum planning_cause {
	PLANNING_ENTRY = 1,
	PLANNING_LANDING = 2,
	PLANNING_RETURN = 4, /* of a call */
	PLANNING_INDIRECT = 8,
	PLANNING_RUN = 16, /* from blocks that the original runs through */
};

struct planning_block {
	uint16_t flags_in;  /* live at its start: enum isa_flag, of those that a counter changes */
	uint16_t flags_end; /* live before the branch that ends it */
	uint8_t causes;	    /* enum planning_cause, or'ed */
	bool jumped;	    /* some jump leads here */
	uint32_t runs;	    /* of PLANNING_RUN: how many */
};

struct planning {
	const struct instrument_request *q;
	const struct cfg_function *f;
	struct instrument_plan *plan;
	struct isa_decoder *decoder;
	struct planning_block *blocks;
	enum instrument_reason why; /* of -EOPNOTSUPP */
	size_t edge_room;
};

static inline int planning_refuse(struct planning *p, enum instrument_reason why)
{
	p->why = why;
	return -EOPNOTSUPP;
}

/* Who stands for the set that i is in (union-find); paths to it are halved. */
static inline uint32_t planning_set(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

/* What does not depend on graphs: that each instruction can be moved, and the live flags. */
int planning_inspect(struct planning *p);
/* Where patches go: the plan's entrances. */
int planning_find_rooms(struct planning *p);
/* The plan's nodes and edges. */
int planning_model(struct planning *p);
/* Which of them have counters. */
int planning_place(struct planning *p);
/* Or, for paths, what is done at them. */
int planning_number(struct planning *p);

#endif
