/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/frequency/frequency_flow.h"
#include "analyze/frequency/frequency_web.h"
#include "cfg/function_graph.h"

/* The sets of one function: blocks first, then edges. */
struct sets {
	uint32_t *parent, *number;
	double *visits, *weight;
	bool *jumps; /* by block: of the web */
	uint32_t room;
};

static uint32_t sets_root(struct sets *s, uint32_t i)
{
	while (s->parent[i] != i)
		i = s->parent[i] = s->parent[s->parent[i]];
	return i;
}

static void sets_join(struct sets *s, uint32_t a, uint32_t b)
{
	a = sets_root(s, a);
	b = sets_root(s, b);
	if (a < b)
		s->parent[b] = a;
	else
		s->parent[a] = b;
}

static void sets_free(struct sets *s)
{
	free(s->parent);
	free(s->number);
	free(s->visits);
	free(s->weight);
	free(s->jumps);
}

static int sets_start(struct sets *s, uint32_t count)
{
	if (count > s->room) {
		sets_free(s);
		s->parent = malloc(count * sizeof(*s->parent));
		s->number = malloc(count * sizeof(*s->number));
		s->visits = malloc(count * sizeof(*s->visits));
		s->weight = malloc(count * sizeof(*s->weight));
		s->jumps = malloc(count * sizeof(*s->jumps));
		s->room = count;
		if (!s->parent || !s->number || !s->visits || !s->weight || !s->jumps)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		s->parent[i] = i;
		s->number[i] = UINT32_MAX;
		s->visits[i] = s->weight[i] = 0;
	}
	return 0;
}

/* Members of an equivalence class. number is a scratch list here: the first member of each. */
static int join_classes(struct sets *s, const struct cfg_function *f)
{
	struct cfg_graph *graph = NULL;
	struct cfg_equivalence *q = NULL;
	int r = cfg_graph_of_function(f, &graph);

	if (!r)
		r = cfg_equivalence_of_function(f, graph, &q);
	for (uint32_t i = 0; !r && i < f->block_count + f->edge_count; i++) {
		const uint32_t class =
			i < f->block_count ? q->node_class[i] : q->edge_class[i - f->block_count];

		/* Classes that only the entry or exit node is in may push numbers past the room. */
		if (class >= f->block_count + f->edge_count)
			continue;
		if (s->number[class] == UINT32_MAX)
			s->number[class] = i;
		else
			sets_join(s, s->number[class], i);
	}
	cfg_equivalence_free(q);
	cfg_graph_free(graph);
	for (uint32_t i = 0; i < f->block_count + f->edge_count; i++)
		s->number[i] = UINT32_MAX;
	return r == -EINVAL ? 0 : r;
}

static void join_only_ways(struct sets *s, const struct cfg_function *f)
{
	for (uint32_t b = 0; b < f->block_count; b++) {
		const struct cfg_block *block = &f->blocks[b];

		if (block->succ_count == 1)
			sets_join(s, b, f->block_count + block->first_succ);
		if (block->pred_count == 1 && f->complete)
			sets_join(s, b, f->block_count + f->preds[block->first_pred]);
	}
}

/* What was seen of each set: visits of its blocks, or passes if it has edges only. */
static void sum_up(struct sets *s, const struct evidence *e, const struct evidence_function *f,
		   double scale)
{
	const uint32_t blocks = f->function->block_count;

	for (uint32_t k = 0; k < blocks; k++) {
		const struct evidence_block *b = &e->blocks[f->first_block + k];
		const uint32_t root = sets_root(s, k);

		s->visits[root] +=
			b->visits > 0 ? b->visits : 0.1 * scale * (double)b->samples / b->cost;
		s->weight[root]++;
	}
	for (uint32_t k = 0; k < f->function->edge_count; k++) {
		const struct evidence_way *way = &e->ways[f->first_edge + k];
		const uint32_t root = sets_root(s, blocks + k);

		if (root < blocks && s->visits[root] > 0)
			continue;
		s->visits[root] += way->passes + way->recorded;
		s->weight[root] += root >= blocks;
	}
}

/* What was counted: the sets of which something ran. */
static void number_counted(struct sets *s, struct logsum *m, const struct evidence *e,
			   const struct evidence_function *f, double start, struct flow_unknowns *u)
{
	const uint32_t blocks = f->function->block_count;

	for (uint32_t k = 0; k < blocks + f->function->edge_count; k++) {
		const double counted = k < blocks ? e->blocks[f->first_block + k].counted
						  : e->ways[f->first_edge + k - blocks].counted;
		uint32_t *number = &s->number[sets_root(s, k)];

		if (counted <= 0)
			continue;
		if (*number == FLOW_NONE)
			*number = logsum_variable(m, start + log(counted));
		if (k < blocks)
			u->blocks[f->first_block + k] = *number;
		else
			u->ways[f->first_edge + k - blocks] = *number;
	}
}

static int number(struct sets *s, struct logsum *m, const struct evidence *e, size_t i,
		  struct flow_unknowns *u)
{
	const struct evidence_function *f = &e->functions[i];
	const uint32_t blocks = f->function->block_count;
	double visits = 0, hardware = 0;
	bool all;
	int web = 0;

	for (uint32_t k = 0; k < blocks; k++) {
		visits += e->blocks[f->first_block + k].visits;
		hardware += e->blocks[f->first_block + k].executed;
	}
	for (uint32_t k = 0; k < f->function->edge_count; k++)
		hardware += e->ways[f->first_edge + k].recorded;
	/* Branch records have taken branches only: what they lack may have run. */
	all = hardware > 0 || (visits < FLOW_SEEN_LEAST && f->samples >= FLOW_SAMPLES_LEAST);
	if (all && hardware <= 0)
		web = flow_web_find(f->function, s->jumps);
	if (web > 0)
		flow_web_number(m, e, i, s->jumps, u);
	for (uint32_t k = 0; k < blocks + f->function->edge_count; k++) {
		const uint32_t root = sets_root(s, k);
		const double mean = s->visits[root] / fmax(s->weight[root], 1);

		if (k >= blocks && u->ways[f->first_edge + k - blocks] == FLOW_HUB)
			continue;
		if (s->number[root] == FLOW_NONE && (all || (mean > 0 && visits > 0)))
			s->number[root] = logsum_variable(m, log(fmax(mean, FLOW_LEAST)));
		if (k < blocks)
			u->blocks[f->first_block + k] = s->number[root];
		else
			u->ways[f->first_edge + k - blocks] = s->number[root];
	}
	return web < 0 ? web : 0;
}

static uint32_t *none_of(size_t count)
{
	uint32_t *list = malloc((count + 1) * sizeof(*list));

	if (list)
		memset(list, 0xff, (count + 1) * sizeof(*list));
	return list;
}

int flow_unknowns_init(struct flow_unknowns *u, const struct evidence *e)
{
	*u = (struct flow_unknowns){none_of(e->block_count), none_of(e->way_count),
				    none_of(e->function_count), none_of(e->block_count)};
	return u->blocks && u->ways && u->hubs && u->entries ? 0 : -ENOMEM;
}

void flow_unknowns_free(struct flow_unknowns *u)
{
	free(u->blocks);
	free(u->ways);
	free(u->hubs);
	free(u->entries);
}

int flow_unknowns_add(struct logsum *m, const struct evidence *e, double scale,
		      double counted_start, struct flow_unknowns *u)
{
	struct sets s = {0};
	int r = 0;

	for (size_t i = 0; i < e->function_count && !r; i++) {
		const struct evidence_function *f = &e->functions[i];

		r = sets_start(&s, f->function->block_count + f->function->edge_count);
		if (!r)
			r = join_classes(&s, f->function);
		if (r)
			break;
		join_only_ways(&s, f->function);
		if (evidence_is_scale(e, f)) {
			number_counted(&s, m, e, f, counted_start, u);
			continue;
		}
		sum_up(&s, e, f, scale);
		r = number(&s, m, e, i, u);
	}
	sets_free(&s);
	return r;
}
