/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/frequency/frequency_state.h"
#include "cfg/function_graph.h"
#include "util/array.h"

/*
 * The rule of Anderson et al., Continuous Profiling: Where Have All the Cycles Gone? (SOSP 1997),
 * sections 6.1.3 to 6.1.5: within a frequency equivalence class each block's samples over its cost
 * tell a frequency; some of them do not stall, so the truth is near the lowest. Ratios that are
 * alike form a cluster; the lowest cluster that has enough of the class's cost gives the
 * frequency, as its samples over its cost. Classes without samples follow from what flows into and
 * out of their neighbours.
 */
#define CLUSTER_SPREAD	   1.5 /* highest ratio of a cluster over its lowest */
#define CLUSTER_LEAST	   0.1 /* of the class's cost */
#define PROPAGATION_ROUNDS 10

struct issue_point {
	double ratio, samples, cost;
};

struct classic {
	struct cfg_graph *graph;
	struct cfg_equivalence *q;
	double *frequency, *deviation; /* of the classes; frequency < 0: not known yet */
	uint32_t *last, *previous;     /* block of a class, and of the same class before a block */
	struct issue_point *points;
};

static int ratio_compare(const void *a, const void *b)
{
	const struct issue_point *p = a, *q = b;

	return p->ratio < q->ratio ? -1 : p->ratio > q->ratio;
}

static void lowest_cluster(struct issue_point *p, size_t count, double *ret_frequency,
			   double *ret_deviation)
{
	double cost = 0;

	array_sort(p, count, sizeof(*p), ratio_compare);
	for (size_t i = 0; i < count; i++)
		cost += p[i].cost;
	for (size_t low = 0; low < count; low++) {
		double samples = 0, own = 0;
		size_t end = low;

		for (; end < count && (p[end].ratio <= p[low].ratio * CLUSTER_SPREAD); end++) {
			samples += p[end].samples;
			own += p[end].cost;
		}
		if (samples <= 0 || (own < CLUSTER_LEAST * cost && end < count))
			continue;
		*ret_frequency = samples / own;
		*ret_deviation = sqrt(1 / samples + 0.1 * cost / own);
		return;
	}
	*ret_frequency = 0;
	*ret_deviation = FREQUENCY_UNKNOWN;
}

/* Classes whose blocks have samples. */
static void estimate_classes(struct classic *w, const struct evidence *e,
			     const struct evidence_function *f)
{
	for (uint32_t class = 0; class < w->q->class_count; class ++) {
		w->frequency[class] = -1;
		w->deviation[class] = FREQUENCY_UNKNOWN;
		w->last[class] = CFG_OUTSIDE;
	}
	for (uint32_t b = 0; b < f->function->block_count; b++) {
		w->previous[b] = w->last[w->q->node_class[b]];
		w->last[w->q->node_class[b]] = b;
	}
	for (uint32_t class = 0; class < w->q->class_count; class ++) {
		size_t count = 0;
		double samples = 0;

		for (uint32_t k = w->last[class]; k != CFG_OUTSIDE; k = w->previous[k]) {
			const struct evidence_block *block = &e->blocks[f->first_block + k];

			w->points[count++] =
				(struct issue_point){(double)block->samples / block->cost,
						     (double)block->samples, block->cost};
			samples += (double)block->samples;
		}
		if (samples > 0)
			lowest_cluster(w->points, count, &w->frequency[class],
				       &w->deviation[class]);
	}
}

/* One side of a node: its edges' sum is its frequency, so one unknown among them follows. */
static bool propagate_side(struct classic *w, uint32_t node, const uint32_t *edges, size_t count)
{
	const uint32_t own = w->q->node_class[node];
	double known = 0;
	size_t unknown = 0;
	uint32_t last = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t class = w->q->edge_class[edges[i]];

		if (w->frequency[class] >= 0) {
			known += w->frequency[class];
		} else {
			unknown++;
			last = class;
		}
	}
	if (count && !unknown && w->frequency[own] < 0) {
		w->frequency[own] = known;
		return true;
	}
	if (unknown == 1 && w->frequency[own] >= 0) {
		w->frequency[last] = fmax(w->frequency[own] - known, 0);
		return true;
	}
	return false;
}

static void propagate(struct classic *w)
{
	const struct cfg_graph *g = w->graph;
	bool again = true;

	for (int round = 0; round < PROPAGATION_ROUNDS && again; round++) {
		again = false;
		for (uint32_t n = 0; n < g->node_count; n++) {
			if (n == g->entry || n == g->exit)
				continue;
			again |= propagate_side(w, n, g->out + g->first_out[n],
						g->first_out[n + 1] - g->first_out[n]);
			again |= propagate_side(w, n, g->in + g->first_in[n],
						g->first_in[n + 1] - g->first_in[n]);
		}
	}
}

static struct frequency_guess guess(const struct classic *w, uint32_t class)
{
	const double frequency = w->frequency[class];

	if (frequency > 0)
		return (struct frequency_guess){log(frequency), w->deviation[class], 0};
	/* Its samples would be as many as its executions have cycles; at least one each. */
	return (struct frequency_guess){
		-INFINITY, 0, log(FREQUENCY_NONE_SEEN) + FREQUENCY_Z80 * FREQUENCY_UNKNOWN};
}

static int classic_function(const struct evidence *e, const struct evidence_function *f,
			    struct frequency_guesses *g)
{
	struct classic w = {0};
	int r = cfg_graph_of_function(f->function, &w.graph);

	if (!r)
		r = cfg_equivalence_of_function(f->function, w.graph, &w.q);
	if (r)
		goto out;
	w.frequency = calloc(w.q->class_count + 1, sizeof(*w.frequency));
	w.deviation = calloc(w.q->class_count + 1, sizeof(*w.deviation));
	w.points = calloc((size_t)f->function->block_count + 1, sizeof(*w.points));
	w.last = calloc(w.q->class_count + 1, sizeof(*w.last));
	w.previous = calloc((size_t)f->function->block_count + 1, sizeof(*w.previous));
	if (!w.frequency || !w.deviation || !w.points || !w.last || !w.previous) {
		r = -ENOMEM;
		goto out;
	}
	estimate_classes(&w, e, f);
	propagate(&w);
	for (uint32_t b = 0; b < f->function->block_count; b++)
		g->blocks[f->first_block + b] = guess(&w, w.q->node_class[b]);
	for (uint32_t i = 0; i < f->function->edge_count; i++)
		g->ways[f->first_edge + i] = guess(&w, w.q->edge_class[i]);
out:
	free(w.frequency);
	free(w.deviation);
	free(w.points);
	free(w.last);
	free(w.previous);
	cfg_equivalence_free(w.q);
	cfg_graph_free(w.graph);
	return r;
}

int frequency_classic(const struct evidence *e, struct frequency_guesses *g)
{
	g->classic = true;
	int r = 0;

	for (size_t i = 0; i < e->function_count && !r; i++)
		r = classic_function(e, &e->functions[i], g);
	return r;
}
