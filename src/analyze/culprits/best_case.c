/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/best_case.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_INSTRUCTIONS_MAX 768 /* longer ones are cut: what was long ago holds nothing up */
#define PATH_BLOCKS_MAX	      128
#define CONTEXT_BLOCKS_MAX    2 /* before a path: what its first instructions wait for */

struct path {
	uint32_t blocks[PATH_BLOCKS_MAX];
	uint32_t count, instructions;
	bool is_loop;
};

struct work {
	const struct best_case_request *q;
	struct best_case *result;
	uint8_t *done; /* of each block */
	struct machine_instruction *list;
	struct machine_head *heads;
	uint32_t *numbers; /* of each of list, in the function */
};

void best_case_free(struct best_case *b)
{
	if (!b)
		return;
	free(b->prepared);
	free(b->heads);
	free(b->expected);
	free(b->block_cycles);
	free(b);
}

static void prepare(struct work *w)
{
	const struct cfg_function *f = w->q->function;
	struct machine_instruction *list = w->result->prepared;
	static const uint8_t unknown[1] = {0x90};

	for (uint32_t i = 0; i < f->instruction_count; i++) {
		const struct isa_instruction *in = &f->instructions[i];
		const uint8_t *code = w->q->code(w->q->arg, in->address);

		machine_prepare(w->q->model, code ? code : unknown, code ? in->size : 1,
				in->address, &list[i]);
	}
	for (uint32_t b = 0; b < f->block_count; b++)
		machine_fuse(w->q->model, list + f->blocks[b].first_instruction,
			     f->blocks[b].instruction_count);
}

/* The pace of issue alone, for code that is not worth a simulation. */
static void set_default(struct work *w)
{
	const struct cfg_function *f = w->q->function;
	double width = machine_model_core(w->q->model)->issue_width;

	for (uint32_t i = 0; i < f->instruction_count; i++) {
		double slots = machine_cost_of(w->q->model, &w->result->prepared[i])->slots;

		w->result->heads[i] = (struct machine_head){.head_cycles = slots / width,
							    .slots = (uint32_t)slots,
							    .bound = MACHINE_BOUND_ISSUE,
							    .port = MACHINE_NO_PORT,
							    .cause = -1};
		w->result->expected[i] = slots / width;
	}
}

static bool path_has(const struct path *p, uint32_t block)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->blocks[i] == block)
			return true;
	return false;
}

static bool path_add(struct path *p, const struct cfg_function *f, uint32_t block)
{
	uint32_t n = f->blocks[block].instruction_count;

	if (p->count == PATH_BLOCKS_MAX || p->instructions + n > PATH_INSTRUCTIONS_MAX)
		return false;
	p->blocks[p->count++] = block;
	p->instructions += n;
	return true;
}

/* The heaviest successor (inside of the loop, when there is one), or CFG_OUTSIDE. */
static uint32_t heaviest_successor(const struct work *w, uint32_t block, uint32_t loop)
{
	const struct cfg_function *f = w->q->function;
	const struct cfg_block *b = &f->blocks[block];
	uint32_t best = CFG_OUTSIDE;

	for (uint32_t i = 0; i < b->succ_count; i++) {
		uint32_t to = f->edges[b->first_succ + i].to;

		if (to == CFG_OUTSIDE ||
		    (loop != CFG_LOOP_NONE && !cfg_loop_has(w->q->loops, loop, to)))
			continue;
		if (best == CFG_OUTSIDE || w->q->block_weight[to] > w->q->block_weight[best])
			best = to;
	}
	return best;
}

static uint32_t heaviest_predecessor(const struct work *w, uint32_t block)
{
	const struct cfg_function *f = w->q->function;
	const struct cfg_block *b = &f->blocks[block];
	uint32_t best = CFG_OUTSIDE;

	for (uint32_t i = 0; i < b->pred_count; i++) {
		uint32_t from = f->edges[f->preds[b->first_pred + i]].from;

		if (from == CFG_OUTSIDE)
			continue;
		if (best == CFG_OUTSIDE || w->q->block_weight[from] > w->q->block_weight[best])
			best = from;
	}
	return best;
}

/* A loop's hot way around. When it leads into a loop inside it, through that once. */
static void find_loop_path(const struct work *w, uint32_t loop, struct path *p)
{
	uint32_t header = w->q->loops->loops[loop].header, at = header;

	*p = (struct path){.count = 0};
	while (at != CFG_OUTSIDE && !path_has(p, at)) {
		if (!path_add(p, w->q->function, at))
			return;
		at = heaviest_successor(w, at, loop);
	}
	p->is_loop = at == header;
}

/* From a block on through what is not done, with a little of what comes before it. */
static void find_plain_path(const struct work *w, uint32_t block, struct path *p)
{
	uint32_t before[CONTEXT_BLOCKS_MAX], count = 0, at = block;

	*p = (struct path){.count = 0};
	while (count < CONTEXT_BLOCKS_MAX) {
		at = heaviest_predecessor(w, at);
		if (at == CFG_OUTSIDE || at == block ||
		    w->q->function->blocks[at].instruction_count > 64)
			break;
		before[count++] = at;
	}
	while (count > 0)
		path_add(p, w->q->function, before[--count]);
	if (path_has(p, block))
		*p = (struct path){.count = 0};
	for (at = block; at != CFG_OUTSIDE && !w->done[at] && !path_has(p, at);
	     at = heaviest_successor(w, at, CFG_LOOP_NONE))
		if (!path_add(p, w->q->function, at))
			return;
}

/* What each operation of a path has of the time that is nobody's. */
static double width_cycles(const struct machine_head *heads, uint32_t count)
{
	double cycles = 0, slots = 0;

	for (uint32_t i = 0; i < count; i++) {
		cycles += heads[i].head_cycles - heads[i].stall_cycles;
		slots += heads[i].slots;
	}
	return slots > 0 ? cycles / slots : 0;
}

/* Simulates a path, and keeps what it says of blocks that have nothing better yet. */
static int run_path(struct work *w, const struct path *p)
{
	const struct cfg_function *f = w->q->function;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct cfg_block *b = &f->blocks[p->blocks[i]];

		for (uint32_t k = 0; k < b->instruction_count; k++) {
			w->numbers[n] = b->first_instruction + k;
			w->list[n++] = w->result->prepared[b->first_instruction + k];
		}
	}
	if (n == 0)
		return 0;
	int r = machine_head_times(w->q->simulator, w->list, n,
				   p->is_loop ? MACHINE_LOOP : MACHINE_PATH, w->heads, NULL);
	if (r < 0)
		return r;
	double width = width_cycles(w->heads, n);
	n = 0;
	for (uint32_t i = 0; i < p->count; i++) {
		const struct cfg_block *b = &f->blocks[p->blocks[i]];

		for (uint32_t k = 0; k < b->instruction_count; k++, n++) {
			struct machine_head h = w->heads[n];

			if (h.cause >= 0)
				h.cause = (int32_t)w->numbers[h.cause];
			if (w->done[p->blocks[i]])
				continue;
			w->result->heads[w->numbers[n]] = h;
			w->result->expected[w->numbers[n]] = h.stall_cycles + h.slots * width;
		}
		w->done[p->blocks[i]] = 1;
	}
	return 0;
}

static int run_all(struct work *w)
{
	const struct cfg_function *f = w->q->function;
	uint32_t loops = w->q->loops ? w->q->loops->loop_count : 0;
	struct path p;
	int r = 0;

	/* Inner loops first: they have the time, and their own steady state. */
	for (uint32_t l = loops; l-- > 0 && !r;) {
		uint32_t header = w->q->loops->loops[l].header;

		if (header >= f->block_count || w->q->block_weight[header] <= 0 || w->done[header])
			continue;
		find_loop_path(w, l, &p);
		r = run_path(w, &p);
	}
	for (uint32_t b = 0; b < f->block_count && !r; b++) {
		if (w->done[b] || w->q->block_weight[b] <= 0 || f->blocks[b].instruction_count == 0)
			continue;
		find_plain_path(w, b, &p);
		r = run_path(w, &p);
	}
	return r;
}

/*
 * A loop of more operations than the cache of decoded ones holds is decoded again in every round:
 * at the decoders' pace, which its hot path alone does not show.
 */
static void slow_down_large_loops(struct work *w)
{
	const struct cfg_function *f = w->q->function;
	const struct machine_core *core = machine_model_core(w->q->model);
	double pace = 1.0 / core->decode_width - 1.0 / core->issue_width;

	for (uint32_t l = 0; w->q->loops && l < w->q->loops->loop_count && pace > 0; l++) {
		uint32_t slots = 0;

		for (uint32_t b = 0; b < f->block_count; b++)
			if (w->q->loops->innermost[b] == l)
				slots += f->blocks[b].instruction_count;
		if (slots <= core->uop_cache_size)
			continue;
		for (uint32_t b = 0; b < f->block_count; b++) {
			const struct cfg_block *block = &f->blocks[b];

			for (uint32_t k = 0; k < block->instruction_count; k++) {
				uint32_t i = block->first_instruction + k;
				struct machine_head *h = &w->result->heads[i];
				double late = h->slots * pace;

				if (w->q->loops->innermost[b] != l || h->stall_cycles >= late)
					continue;
				w->result->expected[i] += late - h->stall_cycles;
				h->stall_cycles = late;
				h->bound = MACHINE_BOUND_FRONT_END;
				h->cause = -1;
			}
		}
	}
}

/* What is one operation on its way through the core may still retire as two: samples of the jump
 * are those of the load then, and those behind it are the jump's alone. */
static void part_pairs(struct work *w)
{
	struct machine_instruction *list = w->result->prepared;

	if (!machine_model_core(w->q->model)->loads_retire_apart)
		return;
	for (uint32_t i = 0; i + 1 < w->q->function->instruction_count; i++) {
		if (!(list[i].traits & MACHINE_FUSES) || !(list[i].traits & MACHINE_LOADS))
			continue;
		list[i].traits &= (uint16_t)~MACHINE_FUSES;
		list[i + 1].traits &= (uint16_t)~MACHINE_FUSED;
	}
}

static void sum_blocks(struct work *w)
{
	const struct cfg_function *f = w->q->function;

	for (uint32_t b = 0; b < f->block_count; b++) {
		w->result->weighed |= w->q->block_weight[b] > 0;
		for (uint32_t k = 0; k < f->blocks[b].instruction_count; k++)
			w->result->block_cycles[b] +=
				w->result->expected[f->blocks[b].first_instruction + k];
	}
}

int best_case_new(const struct best_case_request *q, struct best_case **ret)
{
	const struct cfg_function *f = q->function;
	struct work w = {.q = q, .result = calloc(1, sizeof(*w.result))};
	int r = -ENOMEM;

	if (w.result) {
		w.result->prepared = calloc(f->instruction_count + 1, sizeof(*w.list));
		w.result->heads = calloc(f->instruction_count + 1, sizeof(*w.heads));
		w.result->expected = calloc(f->instruction_count + 1, sizeof(double));
		w.result->block_cycles = calloc(f->block_count + 1, sizeof(double));
	}
	w.done = calloc(f->block_count + 1, 1);
	w.list = malloc(PATH_INSTRUCTIONS_MAX * sizeof(*w.list));
	w.heads = malloc(PATH_INSTRUCTIONS_MAX * sizeof(*w.heads));
	w.numbers = malloc(PATH_INSTRUCTIONS_MAX * sizeof(*w.numbers));
	if (w.result && w.result->prepared && w.result->heads && w.result->expected &&
	    w.result->block_cycles && w.done && w.list && w.heads && w.numbers) {
		prepare(&w);
		set_default(&w);
		r = run_all(&w);
		slow_down_large_loops(&w);
		part_pairs(&w);
		sum_blocks(&w);
	}
	free(w.done);
	free(w.list);
	free(w.heads);
	free(w.numbers);
	if (r < 0)
		best_case_free(w.result);
	else
		*ret = w.result;
	return r;
}
