/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Paths instead of edges: from the plan's graph to what is done at each of its edges. */
#include "instrument/paths.h"

#include <errno.h>
#include <stdlib.h>
#include "instrument/plan_state.h"

/* The most that a step, its detour, and what stands in front of a call have; and what all share. */
#define STEP_BYTES   320
#define COMMON_BYTES 256

static enum instrument_step step_of(const struct planning *p, const struct instrument_edge *e)
{
	const struct cfg_function *f = p->f;
	const uint8_t causes = p->blocks[e->block].causes;

	if (e->net)
		return INSTRUMENT_STEP_LEFT;
	if (e->from == f->block_count)
		return causes & PLANNING_LANDING ? INSTRUMENT_STEP_LAND : INSTRUMENT_STEP_ENTER;
	if (e->to != f->block_count)
		return e->site == INSTRUMENT_AT_ENTRANCE && (causes & PLANNING_RETURN)
			       ? INSTRUMENT_STEP_RETURN
			       : INSTRUMENT_STEP_FLOW;
	switch (cfg_block_last(f, &f->blocks[e->block])->branch) {
	case ISA_BRANCH_CALL:
		return INSTRUMENT_STEP_LEFT;
	case ISA_BRANCH_STOP:
		return INSTRUMENT_STEP_STOP;
	default:
		return INSTRUMENT_STEP_EXIT;
	}
}

/* What the checks at an edge would change are flags that somebody counts on. */
static bool needs_flags(const struct instrument_edge *e, enum instrument_step step)
{
	return e->flags && step != INSTRUMENT_STEP_FLOW && step != INSTRUMENT_STEP_LEFT;
}

static int take_edges(struct planning *p, struct instrument_paths *paths, uint32_t *ends)
{
	const struct instrument_plan *plan = p->plan;
	const uint32_t outside = p->f->block_count, exit = plan->node_count;

	for (uint32_t i = 0; i < plan->edge_count; i++) {
		const struct instrument_edge *e = &plan->edges[i];
		const enum instrument_step step = step_of(p, e);

		if (e->site == INSTRUMENT_AT_NONE && step != INSTRUMENT_STEP_LEFT)
			return planning_refuse(p, INSTRUMENT_WHY_SHARED);
		if (needs_flags(e, step))
			return planning_refuse(p, INSTRUMENT_WHY_FLAGS);
		paths->steps[i] = (uint8_t)step;
		paths->weights[i] = e->weight;
		/* A path that ends by a jump ends where that leads to, not where jumps meet. */
		paths->traits[i] = step == INSTRUMENT_STEP_LEFT ? PATHS_STILL
				   : e->to > outside		? PATHS_WHOLE
								: 0;
		ends[2 * i] = e->from;
		ends[2 * i + 1] = e->to == outside ? exit : e->to;
	}
	return 0;
}

static int number_paths(struct planning *p, struct instrument_paths *paths)
{
	const struct instrument_plan *plan = p->plan;
	uint32_t *ends = calloc(4 * (size_t)plan->edge_count + 1, sizeof(*ends));
	uint32_t *from = ends ? ends + 2 * (size_t)plan->edge_count : NULL;
	int r = ends ? take_edges(p, paths, ends) : -ENOMEM;

	for (uint32_t i = 0; i < plan->edge_count && !r; i++) {
		from[i] = ends[2 * i];
		from[plan->edge_count + i] = ends[2 * i + 1];
	}
	r = r
		    ?: cfg_graph_new(plan->node_count + 1, p->f->block_count, plan->node_count,
				     from, from + plan->edge_count, plan->edge_count,
				     &paths->graph);
	free(ends);
	if (r)
		return r;
	r = paths_number(&(struct paths_problem){.graph = paths->graph,
						 .weights = paths->weights,
						 .traits = paths->traits,
						 .max = p->q->paths_max},
			 &paths->numbering);
	if (r == -EINVAL)
		return planning_refuse(p, INSTRUMENT_WHY_SHARED);
	return r == -E2BIG ? planning_refuse(p, INSTRUMENT_WHY_PATHS) : r;
}

static bool does_something(const struct instrument_paths *paths, uint32_t edge)
{
	const struct paths_edge *e = &paths->numbering->edges[edge];

	switch (paths->steps[edge]) {
	case INSTRUMENT_STEP_FLOW:
		return e->cut || e->add;
	case INSTRUMENT_STEP_LEFT:
		return false;
	default:
		return true;
	}
}

static void give_sites(struct planning *p, struct instrument_paths *paths)
{
	struct instrument_plan *plan = p->plan;
	const struct cfg_function *f = p->f;

	plan->slot_count = paths->numbering->count + 1;
	paths->bytes_max = COMMON_BYTES;
	for (uint32_t b = 0; b < f->block_count; b++) {
		for (int s = 0; s < INSTRUMENT_SITES; s++)
			plan->at[b][s] = INSTRUMENT_NONE;
		if (cfg_block_last(f, &f->blocks[b])->branch != ISA_BRANCH_CALL)
			continue;
		paths->calls[b] = plan->slot_count++;
		paths->bytes_max += STEP_BYTES;
	}
	for (uint32_t i = 0; i < plan->edge_count; i++)
		if (does_something(paths, i)) {
			plan->at[plan->edges[i].block][plan->edges[i].site] = i;
			paths->bytes_max += STEP_BYTES;
		}
}

int planning_number(struct planning *p)
{
	struct instrument_plan *plan = p->plan;
	const size_t edges = (size_t)plan->edge_count + 1, blocks = p->f->block_count;
	struct instrument_paths *paths = calloc(1, sizeof(*paths));
	int r;

	if (!paths)
		return -ENOMEM;
	plan->paths = paths;
	for (uint32_t b = 0; b < p->f->block_count; b++)
		if (plan->through[b])
			return planning_refuse(p, INSTRUMENT_WHY_ROOM);
	paths->steps = calloc(edges, sizeof(*paths->steps));
	paths->traits = calloc(edges, sizeof(*paths->traits));
	paths->weights = calloc(edges, sizeof(*paths->weights));
	paths->calls = calloc(blocks, sizeof(*paths->calls));
	plan->at = calloc(blocks, sizeof(*plan->at));
	if (!paths->steps || !paths->traits || !paths->weights || !paths->calls || !plan->at)
		return -ENOMEM;
	r = number_paths(p, paths);
	if (!r)
		give_sites(p, paths);
	return r;
}

void instrument_paths_free(struct instrument_paths *p)
{
	if (!p)
		return;
	paths_numbering_free(p->numbering);
	cfg_graph_free(p->graph);
	free(p->steps);
	free(p->calls);
	free(p->weights);
	free(p->traits);
	free(p);
}

static void set_end(const struct instrument_plan *plan, uint32_t edge, struct instrument_path *ret)
{
	const struct instrument_paths *paths = plan->paths;
	const enum paths_cut cut = paths->numbering->edges[edge].cut;

	ret->to = CFG_OUTSIDE;
	if (cut) {
		ret->end = cut == PATHS_CUT_BACK ? INSTRUMENT_PATH_BACK : INSTRUMENT_PATH_CUT;
		ret->to = paths->graph->to[edge];
	} else if (paths->steps[edge] == INSTRUMENT_STEP_EXIT) {
		ret->end = INSTRUMENT_PATH_RETURN;
	} else {
		ret->end = plan->edges[edge].net ? INSTRUMENT_PATH_LEFT : INSTRUMENT_PATH_CALL;
	}
}

bool instrument_path_find(const struct instrument_plan *plan, uint32_t number, uint32_t *edges,
			  struct instrument_path *ret)
{
	const struct instrument_paths *paths = plan->paths;
	const uint32_t blocks = plan->function->block_count;
	uint32_t begin, count = paths_find(paths->numbering, number, &begin, edges);

	if (!count)
		return false;
	ret->count = 0;
	if (begin < blocks)
		ret->blocks[ret->count++] = begin;
	for (uint32_t i = 0; i + 1 < count; i++)
		if (paths->graph->to[edges[i]] < blocks)
			ret->blocks[ret->count++] = paths->graph->to[edges[i]];
	set_end(plan, edges[count - 1], ret);
	return ret->count != 0;
}

static void settle_one(uint64_t *table, uint32_t slots, uint64_t now)
{
	const uint32_t slot = (uint32_t)now;

	if (slot < INSTRUMENT_PATHS_FIRST_SLOT || slot >= slots)
		return;
	table[now >> 32 ? slot : INSTRUMENT_PATHS_LEFT]++;
}

void instrument_paths_settle(uint64_t *table, uint32_t slots)
{
	struct instrument_paths_frame *frames;
	uint64_t depth;

	if (slots < INSTRUMENT_PATHS_FIRST_SLOT)
		return;
	frames = (struct instrument_paths_frame *)&table[INSTRUMENT_PATHS_STACK];
	depth = table[INSTRUMENT_PATHS_DEPTH] / sizeof(*frames);
	settle_one(table, slots, table[INSTRUMENT_PATHS_NOW]);
	for (uint64_t i = 0; i < depth && i < INSTRUMENT_PATHS_FRAMES_MAX; i++) {
		if (frames[i].entered_at)
			settle_one(table, slots, frames[i].now);
		frames[i] = (struct instrument_paths_frame){0};
	}
	table[INSTRUMENT_PATHS_NOW] = table[INSTRUMENT_PATHS_STACK_POINTER] = 0;
	table[INSTRUMENT_PATHS_DEPTH] = 0;
}
