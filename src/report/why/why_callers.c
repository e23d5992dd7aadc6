/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/why/why_state.h"

/*
 * Through whom a function is called: from all nodes of the calling context tree that are its own,
 * weighed by what was sampled there, step by step to the caller that most have in common.
 */

#define CHAIN_MAX   64
#define CHAIN_SHARE 0.5 /* of the function's stacks: with fewer in common, the chain ends */
#define CHAIN_SURE  0.8 /* with fewer, it says "mostly" */
#define NAMED_MAX   3	/* of the functions between */
#define STACKS_MIN  10	/* of so few nothing is said */

bool why_is_start(const char *function)
{
	static const char *const starts[] = {"_start",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "clone",
					     "__clone",
					     "__libc_start_call_main",
					     "clone3",
					     "__clone3",
					     "start_thread",
					     "thread_start",
					     "__libc_start_main@@GLIBC_2.34"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strcmp(function, starts[i]))
			return true;
	return false;
}

struct at {
	uint32_t node;
	uint64_t samples;
};

struct chain {
	const struct tree *tree;
	struct at *at; /* the nodes that all of the chain so far leads to */
	size_t count;
	uint64_t *sums;		  /* by function */
	uint32_t list[CHAIN_MAX]; /* functions, from the callee out */
	size_t length;
	uint64_t all, common;
};

static uint32_t find_function(const struct stack_set *s, const struct query_image *image,
			      uint64_t start)
{
	for (uint32_t i = 0; i < s->function_count; i++) {
		const struct stack_function *f = &s->functions[i];

		if (f->kind == STACK_CODE && !f->inlined && !f->by_name && f->start == start &&
		    !memcmp(&s->images[f->image].id, &image->id, sizeof(image->id)))
			return i;
	}
	return TREE_NO_FUNCTION;
}

static int begin(struct chain *c, uint32_t function)
{
	size_t nodes = 0;

	for (uint32_t n = 0; n < c->tree->node_count; n++)
		nodes += c->tree->nodes[n].function == function && tree_self(c->tree, n, 0);
	c->at = calloc(nodes + 1, sizeof(*c->at));
	c->sums = calloc(c->tree->set->function_count + 1, sizeof(*c->sums));
	if (!c->at || !c->sums)
		return -ENOMEM;
	for (uint32_t n = 0; n < c->tree->node_count; n++)
		if (c->tree->nodes[n].function == function && tree_self(c->tree, n, 0)) {
			c->at[c->count++] = (struct at){n, tree_self(c->tree, n, 0)};
			c->all += tree_self(c->tree, n, 0);
		}
	c->common = c->all;
	return 0;
}

/* The function's nearest caller that is another one, so that recursion is no step; else
 * TREE_NO_FUNCTION, also where a note says that nothing is known. */
static uint32_t step_out(const struct chain *c, struct at *at, uint32_t from)
{
	const struct tree_node *nodes = c->tree->nodes;

	do
		at->node = nodes[at->node].parent;
	while (at->node && nodes[at->node].function == from);
	if (!at->node || nodes[at->node].function == TREE_NO_FUNCTION ||
	    tree_function(c->tree, at->node)->kind == STACK_NOTE)
		return TREE_NO_FUNCTION;
	return nodes[at->node].function;
}

/* One step out, to the caller that most have. False: they do not agree, or it ends. */
static bool step(struct chain *c, uint32_t from)
{
	uint32_t best = TREE_NO_FUNCTION;
	size_t kept = 0;
	uint64_t sum;

	for (size_t i = 0; i < c->count; i++) {
		uint32_t f = step_out(c, &c->at[i], from);

		if (f == TREE_NO_FUNCTION)
			continue;
		c->sums[f] += c->at[i].samples;
		if (best == TREE_NO_FUNCTION || c->sums[f] > c->sums[best])
			best = f;
		c->at[kept++] = c->at[i];
	}
	sum = best == TREE_NO_FUNCTION ? 0 : c->sums[best];
	c->count = 0;
	for (size_t i = 0; i < kept; i++) {
		uint32_t f = c->tree->nodes[c->at[i].node].function;

		c->sums[f] = 0;
		if (f == best)
			c->at[c->count++] = c->at[i];
	}
	if ((double)sum < CHAIN_SHARE * (double)c->all || !sum)
		return false;
	c->common = sum;
	c->list[c->length++] = best;
	return true;
}

static const char *name_of(const struct chain *c, size_t at)
{
	return c->tree->set->functions[c->list[at]].name;
}

/* Without what runs before main or a thread's function; a program's own ends at its main. */
static size_t outermost(const struct chain *c)
{
	size_t length = c->length;

	for (size_t i = 0; i < c->length; i++)
		if (!strcmp(name_of(c, i), "main"))
			return i + 1;
	while (length && why_is_start(name_of(c, length - 1)))
		length--;
	return length;
}

/* Those between the outermost and the function, from the outside in. */
static void write_between(const struct chain *c, size_t between, struct buf *to)
{
	size_t shown = between > NAMED_MAX ? NAMED_MAX - 1 : between;

	for (size_t i = 0; i < shown; i++) {
		/* The last one shown is the function's direct caller. */
		bool last = i + 1 == shown;

		if (last && shown < between)
			buf_printf(to, " and %zu more to ", between - shown);
		else
			buf_printf(to, "%s", !i ? " through " : last ? " and " : ", ");
		why_write_name(to, name_of(c, last ? 0 : between - 1 - i));
	}
}

int why_write_callers(const struct why *w, const struct query_image *image, uint64_t start,
		      struct buf *to)
{
	struct chain c = {.tree = w->tree};
	uint32_t function = w->tree ? find_function(w->stacks, image, start) : TREE_NO_FUNCTION;
	uint32_t from = function;
	int r;

	if (function == TREE_NO_FUNCTION)
		return 0;
	r = begin(&c, function);
	while (!r && c.all >= STACKS_MIN && c.length < CHAIN_MAX && step(&c, from))
		from = c.list[c.length - 1];
	size_t length = r ? 0 : outermost(&c);
	if (length) {
		buf_printf(to, ", %scalled from ",
			   (double)c.common < CHAIN_SURE * (double)c.all ? "mostly " : "");
		why_write_name(to, name_of(&c, length - 1));
		write_between(&c, length - 1, to);
	}
	free(c.at);
	free(c.sums);
	return r;
}
