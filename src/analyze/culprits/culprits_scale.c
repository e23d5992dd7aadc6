/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/culprits_scale.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "analyze/culprits/culprits_flow.h"
#include "analyze/culprits/culprits_kinds.h"
#include "analyze/culprits/culprits_rules.h"
#include "analyze/culprits/culprits_weights.h"

/* Of the instructions that share a scale: those of one loop, or of none. */
struct pool {
	double cycles, best; /* of those that cannot have stalled: sampled, and the model's */
	double width;	     /* what those need of the core's width alone */
	double all;	     /* the model's, of all */
};

/* True when nothing but the core's own limits can hold it up, if it is there in time. */
static bool is_innocent(const struct culprit_view *v, uint32_t at)
{
	const struct isa_operands *o = &v->operands[at];
	const struct machine_cost *cost = machine_cost_of(v->model, &v->prepared[at]);

	if (v->masks && v->function->instructions[at].unmasks)
		return false;
	if (cost->microcoded || !cost->known) /* may take much more than the model has */
		return false;
	if (v->prepared[at].traits &
	    (MACHINE_DIVIDES | MACHINE_LOCKED | MACHINE_FENCE | MACHINE_SERIAL))
		return false;
	return !culprit_memory(o, ISA_ACCESS_READS | ISA_ACCESS_WRITES) &&
	       culprit_kind_of(v->kinds, o) != CULPRIT_KIND_FLOAT;
}

/* Whether a block's first instruction is always there in time: it is come to from its own loop
 * alone, by branches that are hardly ever mispredicted. */
static bool comes_in_time(const struct culprit_view *v, uint32_t block)
{
	const struct cfg_function *f = v->function;
	const struct cfg_block *b = &f->blocks[block];
	uint32_t loop = v->loops ? v->loops->innermost[block] : CFG_LOOP_NONE;

	if (loop == CFG_LOOP_NONE)
		return false;
	for (uint32_t i = 0; i < b->pred_count; i++) {
		uint32_t edge = f->preds[b->first_pred + i], from = f->edges[edge].from;

		if (v->edge_count[edge] < WAY_LEAST * v->block_count[block])
			continue;
		if (from == CFG_OUTSIDE || v->loops->innermost[from] != loop ||
		    f->edges[edge].kind == CFG_AFTER_CALL ||
		    culprit_mispredict_weight(v, edge) > BRANCH_TRUSTED)
			return false;
	}
	return true;
}

/* Whether the branch that ends a block may be mispredicted: its samples may be those of a refill.
 */
static bool is_uncertain(const struct culprit_view *v, uint32_t block)
{
	const struct cfg_block *b = &v->function->blocks[block];

	for (uint32_t i = 0; i < b->succ_count; i++)
		if (culprit_mispredict_weight(v, b->first_succ + i) > BRANCH_TRUSTED)
			return true;
	return false;
}

/* Whether it may miss caches: its latency says nothing then of how long it takes. */
static bool may_miss(const struct culprit_view *v, uint32_t at)
{
	const struct isa_operand *load = culprit_memory(&v->operands[at], ISA_ACCESS_READS);
	int64_t stride;

	if (v->operands[at].attributes & ISA_REPEATED) /* nor does its count */
		return true;
	return load && culprit_find_motion(v, at, load, &stride) != CULPRIT_MOTION_FIXED;
}

/* Whether it stores to places that move, and loads nothing: what comes behind it waits for room in
 * the store buffer, and for nothing else of it. */
static bool may_fill_buffer(const struct culprit_view *v, uint32_t at)
{
	const struct isa_operand *store = culprit_memory(&v->operands[at], ISA_ACCESS_WRITES);
	int64_t stride;

	return store && !culprit_memory(&v->operands[at], ISA_ACCESS_READS) &&
	       culprit_find_motion(v, at, store, &stride) != CULPRIT_MOTION_FIXED;
}

/* The same on a core that was measured: what the model knows takes as long as it says, rare
 * instructions, too, but for accesses that may miss. */
static bool is_known(const struct culprit_view *v, uint32_t at)
{
	if (!v->limits.measured || v->masks)
		return is_innocent(v, at);
	return culprit_kind_of(v->kinds, &v->operands[at]) != CULPRIT_KIND_MASKED &&
	       v->function->instructions[at].branch != ISA_BRANCH_SYSTEM &&
	       !machine_cost_of(v->model, &v->prepared[at])->microcoded && !may_miss(v, at) &&
	       !may_fill_buffer(v, at);
}

/* innocent: whether an instruction cannot have stalled. */
static void add_block(const struct culprit_view *v, uint32_t block,
		      bool (*innocent)(const struct culprit_view *v, uint32_t at), struct pool *p)
{
	const struct cfg_block *b = &v->function->blocks[block];
	uint32_t first = b->first_instruction, last = first + b->instruction_count - 1;
	bool timely = comes_in_time(v, block), uncertain = is_uncertain(v, block);

	for (uint32_t i = first; b->instruction_count && i <= last; i++) {
		double count = v->sites[i].count;
		bool ends = i == last || (v->prepared[i].traits & MACHINE_FUSES && i + 1 == last);

		p->all += v->expected[i] * count;
		if (!innocent(v, i) || (i == first && !timely) || (ends && uncertain))
			continue;
		p->cycles += v->sites[i].cycles * count;
		p->best += v->expected[i] * count;
		p->width += v->heads[i].slots / v->limits.issue_width * count;
	}
}

int culprit_find_scales(const struct culprit_view *v, struct arena *memory, double *ret_scales)
{
	const struct cfg_function *f = v->function;
	uint32_t loops = v->loops ? v->loops->loop_count : 0;
	struct pool *pools = arena_alloc(memory, ((size_t)loops + 1) * sizeof(*pools));

	if (!pools)
		return -ENOMEM;
	memset(pools, 0, ((size_t)loops + 1) * sizeof(*pools));
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t b = 0; b < f->block_count; b++) {
			uint32_t loop = v->loops ? v->loops->innermost[b] : CFG_LOOP_NONE;
			struct pool *p = &pools[loop == CFG_LOOP_NONE ? loops : loop];
			double doubt = f->blocks[b].instruction_count
					       ? v->sites[f->blocks[b].first_instruction].doubt
					       : 1;

			if (pass == 0)
				add_block(v, b, is_innocent, p);
			else if (p->best < INNOCENT_SHARE * p->all || p->best <= 0 || doubt <= 1)
				ret_scales[b] = 1;
			else
				ret_scales[b] = fmin(fmax(1 / doubt, p->cycles / p->best), doubt);
		}
	}
	return 0;
}

/* Cycles an execution of its block that mispredictions of a branch may be. */
static double refills(const struct culprit_view *v, uint32_t block)
{
	const struct cfg_block *b = &v->function->blocks[block];
	double wrong = 0, known = 1;

	for (uint32_t i = b->first_succ; i < b->first_succ + b->succ_count; i++) {
		known = fmin(known, v->edge_known[i]);
		if (culprit_mispredict_weight(v, i) > BRANCH_TRUSTED)
			wrong = fmax(wrong, v->edge_count[i]);
	}
	if (b->succ_count < 2 || known <= 0 || wrong <= 0 || v->block_count[block] <= 0)
		return 0;
	return fmax(0, 1 - wrong / v->block_count[block]) * v->limits.mispredict /
	       MISPREDICT_REFILLS;
}

/* The model's cycles that its latencies and ports make, not its width and the way into the core. */
static double waits_in_core(const struct culprit_view *v)
{
	double cycles = 0;

	for (uint32_t i = 0; i < v->function->instruction_count; i++)
		if (v->heads[i].bound != MACHINE_BOUND_FRONT_END)
			cycles += v->heads[i].stall_cycles * v->sites[i].count;
	return cycles;
}

/* Whether what runs has room to spare in the cache of decoded operations, so that nothing of it is
 * decoded again and again. */
static bool stays_decoded(const struct culprit_view *v)
{
	double slots = 0;

	for (uint32_t i = 0; i < v->function->instruction_count; i++)
		slots += v->sites[i].count > 0 ? v->heads[i].slots : 0;
	return DECODED_SPARE * slots <= v->limits.decoded;
}

double culprit_stall_by_shape(const struct culprit_view *v)
{
	const struct cfg_function *f = v->function;
	struct pool p = {0};
	double cycles = 0, refill = 0, like = 0, misses = 0, stores = 0, fresh = 0, stall = 0;

	for (uint32_t b = 0; b < f->block_count; b++) {
		add_block(v, b, is_known, &p);
		refill += refills(v, b) * v->block_count[b];
	}
	for (uint32_t i = 0; i < f->instruction_count; i++)
		cycles += v->sites[i].cycles * v->sites[i].count;
	if (cycles <= 0 || p.all <= 0)
		return 0;
	for (uint32_t i = 0; i < f->instruction_count; i++) {
		const struct culprit_site *site = &v->sites[i];

		like += fmin(site->cycles / cycles, v->expected[i] / p.all) * site->count;
		misses += may_miss(v, i) ? site->cycles * site->count : 0;
		stores += may_fill_buffer(v, i) ? site->cycles * site->count : 0;
		fresh += site->fresh * site->count;
	}
	/* What the width binds looks the same where decoders do: only its size tells them apart. */
	if (p.cycles > SHAPE_EVEN * cycles && waits_in_core(v) < p.all / 2 && !stays_decoded(v))
		return 0;
	/* The model has no loops through calls. */
	if (fresh > SHAPE_FRESH * cycles)
		return 0;
	/* While stores wait all latencies go on: only their width is still to be seen. */
	if (stores > SHAPE_STORES * cycles && p.best >= SHAPE_INNOCENT * p.all)
		p.best = fmin(p.best, p.width);
	else if (p.best < SHAPE_INNOCENT * p.all)
		p.best = 0;
	/* Those that are hardly seen went on behind others all the time. */
	if (p.best > 0 && p.cycles > SHAPE_SEEN * cycles)
		stall = fmin(fmax(1, cycles / p.all * p.best / fmax(p.cycles, 1e-9 * cycles)),
			     SHAPE_MOST);
	else if (like >= (v->limits.measured ? SHAPE_LIKE_MEASURED : SHAPE_LIKE) &&
		 misses <= SHAPE_MISSES * cycles)
		stall = v->limits.measured ? SHAPE_USUAL_MEASURED : SHAPE_USUAL;
	/* What refills take is the least of it: no estimate where nothing else is one. */
	const double least = 1 + refill / p.all;
	return stall > 0 ? fmax(stall, least) : refill > 0 && least > cycles / p.all ? least : 0;
}
