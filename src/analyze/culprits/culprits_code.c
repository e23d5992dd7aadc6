/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * I-cache, ITLB, branch predictor and decoders. An instruction can only wait for its code when it
 * begins a line of it, or was jumped to from another (section 6.3); and code that is small enough
 * to stay in the caches misses only when it comes first.
 */
#include <math.h>
#include "analyze/culprits/culprits_flow.h"
#include "analyze/culprits/culprits_rules.h"
#include "analyze/culprits/culprits_weights.h"

/* How much of the code in use a cache of this size cannot hold: 0 when it holds all, to 1. */
static double overflow(double used, double size)
{
	return used <= size || used <= 0 ? 0 : 1 - size / used;
}

/*
 * Of the executions of a way that stays in a loop: how many can find its code gone. What a loop ran
 * in the round before is still there, if it is small and calls nothing; so only the first round can
 * miss.
 */
static double first_rounds(const struct culprit_view *v, uint32_t edge)
{
	const struct cfg_function *f = v->function;
	uint32_t to = f->edges[edge].to, loop;
	double entries = 0, rounds = 0;

	if (!v->loops || (loop = v->loops->innermost[to]) == CFG_LOOP_NONE ||
	    v->loops->loops[loop].members > ROUND_BLOCKS_MAX ||
	    !cfg_loop_has(v->loops, loop, f->edges[edge].from))
		return 1;
	uint32_t header = v->loops->loops[loop].header;
	uint64_t bytes = 0;
	for (uint32_t b = 0; b < f->block_count; b++) {
		const struct cfg_block *block = &f->blocks[b];

		if (!cfg_loop_has(v->loops, loop, b))
			continue;
		bytes += block->end - block->start;
		for (uint32_t i = 0; i < block->succ_count; i++)
			if (f->edges[block->first_succ + i].kind == CFG_AFTER_CALL)
				return 1;
	}
	if ((double)bytes > v->limits.icache_lines * v->limits.line_bytes / ROUND_CACHE_SHARE)
		return 1;
	for (uint32_t i = 0; i < f->blocks[header].pred_count; i++) {
		uint32_t in = f->preds[f->blocks[header].first_pred + i];

		rounds += v->edge_count[in];
		if (f->edges[in].from == CFG_OUTSIDE ||
		    !cfg_loop_has(v->loops, loop, f->edges[in].from))
			entries += v->edge_count[in];
	}
	return rounds > 0 ? fmin(1, entries / rounds) : 1;
}

/* What a line that is gone costs: by which caches hold the code in use. */
static double fetch_cycles(const struct culprit_limits *l, double lines)
{
	return l->l2 + overflow(lines, l->cache_lines[1]) * (l->l3 - l->l2) +
	       overflow(lines, l->cache_lines[2]) * (l->memory / BUSY_MEMORY - l->l3);
}

/*
 * A line of code that has to come, from far at the most; how often it is gone tells what is likely:
 * a few times that cost, for a busy machine's caches, and before anything else.
 */
static void suspect_fetch(struct culprit_case *c, double bound, double gone, double weight)
{
	const struct culprit_view *v = c->view;
	const double cost = gone * fetch_cycles(&v->limits, v->footprint.code_lines);
	struct culprit_suspect *s = culprit_suspect(c, CULPRIT_ICACHE, bound,
						    weight * (v->footprint.known ? FETCH_FIRST : 1),
						    v->function->instructions[c->at].address);

	if (s && v->footprint.known)
		s->likely_most -= bound - fmin(bound, FETCH_DOUBT * cost);
}

/* Of executions of an instruction: in how many its line is gone. */
static double line_gone(const struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	const double life = v->footprint.life;
	const double count = v->block_count[culprit_block_of(v, c->at)];

	return fmax(isinf(life) ? 0 : exp(-count * life), GONE_LEAST);
}

/*
 * Of the executions of code that fits: in how many it may be gone, because others ran, the kernel
 * or another program. What runs all the time finds it there: they do not come that often.
 */
static double cold_share(const struct culprit_case *c)
{
	const struct culprit_footprint *f = &c->view->footprint;
	const double count = c->view->block_count[culprit_block_of(c->view, c->at)];

	if (f->cycles <= 0 || count <= 0)
		return COLD_SHARE;
	const double gone = isinf(f->life) ? 0 : exp(-count * f->life);
	return fmin(COLD_SHARE, gone + f->cycles / OTHERS_CYCLES / count);
}

/* Adds the caches of code for a way into an instruction. share: of its executions. */
static void suspect_code(struct culprit_case *c, uint64_t from, double share, double weight)
{
	const struct culprit_view *v = c->view;
	const struct culprit_limits *l = &v->limits;
	const struct isa_instruction *in = &v->function->instructions[c->at];
	const double cold = cold_share(c);
	double lines = 1, pages = 1, icache, itlb;
	uint64_t last = in->address + in->size - 1;

	if (v->footprint.known) {
		lines = overflow(v->footprint.code_lines, l->icache_lines);
		pages = overflow(v->footprint.code_pages, l->itlb_pages);
	}
	icache = share * fmax(lines, cold);
	itlb = share * fmax(pages, cold);
	if (v->events && v->events[c->at].icache_misses >= 0)
		icache = fmin(icache, EVENT_SLACK * share * v->events[c->at].icache_misses);
	if (v->events && v->events[c->at].itlb_misses >= 0)
		itlb = fmin(itlb, EVENT_SLACK * share * v->events[c->at].itlb_misses);
	/* The pressure on each of the two tells which of them comes first. */
	double line_pressure = v->footprint.code_lines / l->icache_lines;
	double page_pressure = v->footprint.code_pages / l->itlb_pages;
	double page_weight = pages > 0 && page_pressure > line_pressure ? ITLB_FIRST : ITLB_WEIGHT;
	if ((uint64_t)(from / (uint64_t)l->line_bytes) != last / (uint64_t)l->line_bytes)
		suspect_fetch(c, icache * l->memory, share * line_gone(c),
			      weight * fmax(lines, COLD_WEIGHT));
	if ((uint64_t)(from / (uint64_t)l->page_bytes) != last / (uint64_t)l->page_bytes)
		culprit_suspect(c, CULPRIT_ITLB, itlb * l->page_walk,
				weight * page_weight * fmax(pages, COLD_WEIGHT), in->address);
}

void culprit_suspect_line(struct culprit_case *c)
{
	const struct cfg_function *f = c->view->function;
	uint32_t next = c->at + 1;

	/* The sample is at the successor: it is the one whose code may be missing. */
	if (next >= f->instruction_count)
		return;
	struct culprit_case successor = *c;
	successor.at = next;
	suspect_code(&successor, f->instructions[c->at].address, 1, CODE_STRAIGHT);
	successor.at = c->at;
	*c = successor;
}

/* The other way that a conditional branch goes, by its count; 0 when there is none. */
static double other_way(const struct culprit_view *v, uint32_t edge)
{
	const struct cfg_function *f = v->function;
	const struct cfg_block *b = &f->blocks[f->edges[edge].from];
	double other = 0;

	for (uint32_t i = 0; i < b->succ_count; i++)
		if (b->first_succ + i != edge)
			other += v->edge_count[b->first_succ + i];
	return other;
}

static bool is_back_edge(const struct culprit_view *v, uint32_t edge)
{
	const struct cfg_edge *e = &v->function->edges[edge];
	uint32_t loop =
		v->loops && e->to != CFG_OUTSIDE ? v->loops->innermost[e->to] : CFG_LOOP_NONE;

	return loop != CFG_LOOP_NONE && v->loops->loops[loop].header == e->to &&
	       cfg_loop_has(v->loops, loop, e->from);
}

/* By the share of a branch's executions that go its less frequent way. */
static double weight_of_share(double share)
{
	return share < BRANCH_RARE     ? BRANCH_RARE_WEIGHT
	       : share < BRANCH_SELDOM ? BRANCH_SELDOM_WEIGHT
				       : BRANCH_WEIGHT;
}

/*
 * A predictor that knows nothing but which way is the more frequent is wrong as often as the other
 * way is taken: no more arrivals by an edge than that can have been mispredicted.
 */
static double mispredicted_arrivals(const struct culprit_view *v, uint32_t edge, uint32_t branch,
				    double *ret_weight)
{
	const struct isa_instruction *in = &v->function->instructions[branch];
	double arrivals = v->edge_count[edge], other = other_way(v, edge), wrong;

	*ret_weight = 0;
	if (in->branch == ISA_BRANCH_NONE)
		return 0;
	if (in->branch == ISA_BRANCH_CONDITIONAL) {
		wrong = fmin(arrivals, other);
		*ret_weight =
			weight_of_share(arrivals + other > 0 ? wrong / (arrivals + other) : 0);
		if (v->edge_known && !v->edge_known[edge]) {
			bool loop = is_back_edge(v, edge);

			wrong = (loop ? BRANCH_LOOP_WRONG : BRANCH_OTHER_WRONG) * arrivals;
			*ret_weight = loop ? BRANCH_LOOP_WEIGHT : BRANCH_OTHER_WEIGHT;
		}
	} else if (in->target != ISA_NO_ADDRESS) {
		return 0; /* one way alone */
	} else if (in->branch != ISA_BRANCH_RETURN && other > 0 && v->edge_known &&
		   v->edge_known[edge]) {
		wrong = fmin(arrivals, other);
		*ret_weight = weight_of_share(wrong / (arrivals + other));
	} else {
		wrong = arrivals;
		*ret_weight =
			in->branch == ISA_BRANCH_RETURN ? BRANCH_RETURN_WEIGHT : BRANCH_TO_ANYWHERE;
	}
	if (v->events && v->events[branch].branch_misses >= 0)
		wrong = fmin(wrong, EVENT_SLACK * v->events[branch].branch_misses *
					    v->sites[branch].count);
	return wrong;
}

static void suspect_branch(struct culprit_case *c, uint32_t edge, uint32_t branch)
{
	const struct culprit_view *v = c->view;
	double weight, wrong = mispredicted_arrivals(v, edge, branch, &weight);

	culprit_suspect(c, CULPRIT_BRANCH_MISPREDICT,
			wrong / v->sites[c->at].count * v->limits.mispredict, weight,
			v->function->instructions[branch].address);
}

void culprit_suspect_refill(struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	const struct cfg_function *f = v->function;
	struct culprit_walk w;
	uint32_t i, block = culprit_block_of(v, c->at);

	culprit_walk_begin(&w, v, c->at);
	for (int n = 0; n < AFTER_REFILL && (i = culprit_walk_back(&w)) != CULPRIT_NOBODY; n++) {
		double all = v->block_count[w.block], wrong = 0, weight = 0, most;

		if (w.block == block)
			continue;
		block = w.block;
		for (uint32_t k = 0; k < f->blocks[block].succ_count; k++) {
			wrong +=
				mispredicted_arrivals(v, f->blocks[block].first_succ + k, i, &most);
			weight = fmax(weight, most);
		}
		if (weight <= BRANCH_TRUSTED || all <= 0)
			continue;
		culprit_suspect(c, CULPRIT_BRANCH_MISPREDICT,
				fmin(1, wrong / all) * v->limits.mispredict, weight * REFILL_WEIGHT,
				f->instructions[i].address);
		return;
	}
}

double culprit_mispredict_weight(const struct culprit_view *v, uint32_t edge)
{
	const struct cfg_function *f = v->function;
	uint32_t from = f->edges[edge].from;
	double weight;

	if (from == CFG_OUTSIDE || f->blocks[from].instruction_count == 0)
		return 0;
	mispredicted_arrivals(
		v, edge, f->blocks[from].first_instruction + f->blocks[from].instruction_count - 1,
		&weight);
	return weight;
}

void culprit_suspect_departure(struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	const struct cfg_block *b = &v->function->blocks[culprit_block_of(v, c->at)];
	uint32_t last = b->first_instruction + b->instruction_count - 1;
	bool fused = v->prepared[c->at].traits & MACHINE_FUSES;

	if (c->at != last && !(fused && c->at + 1 == last))
		return;
	for (uint32_t i = 0; i < b->succ_count; i++)
		suspect_branch(c, b->first_succ + i, last);
}

/* What the last instruction of the block before may itself have waited for. */
static void suspect_predecessor(struct culprit_case *c, uint32_t branch, double share)
{
	const struct culprit_view *v = c->view;
	const struct cfg_function *f = v->function;

	culprit_suspect_data(c, branch, share, BEFORE_WEIGHT);
	culprit_suspect_rare(c, branch, share);
	/* Compare and jump are one operation: the jump's samples are the compare's too. */
	if (branch > 0 && (v->prepared[branch].traits & MACHINE_FUSED)) {
		culprit_suspect_data(c, branch - 1, share, FUSED_WEIGHT);
		culprit_suspect_rare(c, branch - 1, share);
	}
	if (f->instructions[branch].branch == ISA_BRANCH_CALL)
		culprit_suspect_stores(c, branch, share);
}

/* A call's return may go wrong, as where calls are deeper than the core remembers. */
static void suspect_return(struct culprit_case *c, uint32_t call, double share)
{
	const struct isa_instruction *in = &c->view->function->instructions[call];

	if (in->branch == ISA_BRANCH_CALL)
		culprit_suspect(c, CULPRIT_BRANCH_MISPREDICT, share * c->view->limits.mispredict,
				CALL_RETURN_WEIGHT, in->address);
}

void culprit_suspect_arrival(struct culprit_case *c)
{
	const struct culprit_view *v = c->view;
	const struct cfg_function *f = v->function;
	const struct cfg_block *b = &f->blocks[culprit_block_of(v, c->at)];
	double executions = v->sites[c->at].count, inside = 0, share;

	for (uint32_t i = 0; i < b->pred_count; i++) {
		uint32_t edge = f->preds[b->first_pred + i], from = f->edges[edge].from;

		if (from == CFG_OUTSIDE || f->blocks[from].instruction_count == 0 ||
		    v->edge_count[edge] < WAY_LEAST * executions)
			continue;
		uint32_t last =
			f->blocks[from].first_instruction + f->blocks[from].instruction_count - 1;
		share = fmin(1, v->edge_count[edge] / executions);
		inside += share;
		if (f->edges[edge].kind == CFG_AFTER_CALL) {
			suspect_code(c, ISA_NO_ADDRESS, share, CODE_AFTER_CALL);
			suspect_return(c, last, share);
			if (f->instructions[last].branch == ISA_BRANCH_SYSTEM)
				suspect_predecessor(c, last, share);
			continue;
		}
		suspect_code(c, f->instructions[last].address, share * first_rounds(v, edge),
			     CODE_JUMPED_TO);
		suspect_branch(c, edge, last);
		suspect_predecessor(c, last, share);
	}
	/* From callers: any line, and who called is not known here. */
	if (inside < WAYS_KNOWN)
		suspect_code(c, ISA_NO_ADDRESS, 1 - inside, CODE_FROM_AFAR);
	culprit_suspect(c, CULPRIT_FRONT_END, REDIRECT_CYCLES, REDIRECT_WEIGHT,
			f->instructions[c->at].address);
}
