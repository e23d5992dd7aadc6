/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/frequency/frequency_flow.h"
#include "analyze/frequency/frequency_web.h"

/*
 * One flow over the whole program, as equations between the logarithms of frequencies (logsum.h).
 * What each rests on, and how far it is trusted, in units of log frequency; the values were found
 * against exact counts (doc/analysis.md).
 */
#define ROUNDS		    8
#define SUM_SIGMA	    0.01 /* what enters a block leaves it */
#define HOLE_SIGMA	    0.1	 /* the same where the graph misses edges */
#define RATIO_BIAS	    0.25 /* of a branch's ratio, beside the noise: windows start at slow code */
#define CALL_SIGMA	    0.3 /* a function is entered as often as it is called */
#define UNSEEN_SIGMA	    0.5 /* the same when no call was seen, only calls in the code */
#define REGION_SIGMA	    0.7 /* visits per execution: between functions, they go with the CPI */
#define PLACE_SIGMA	    0.7 /* and between places of one */
#define VISIT_NOISE	    3.0 /* variance of visits over visits: several come from one window */
#define TIME_SIGMA	    1.2 /* samples per execution over the best case, where no window passed */
#define CROWDING	    1.0	 /* cycles per instruction, over the crowding of samples */
#define CROWDING_SAMPLES    30	 /* that make it half known */
#define RECORDED_SIGMA	    0.03 /* of branch records of the hardware */
#define COUNTED_SIGMA	    0.01 /* of executions that were counted */
#define COUNTED_SCALE_SIGMA 0.3	 /* stalls of counted functions and of others, on average */

/* What ties functions: the more, the better the estimate and the larger the work. */
enum flow_ties { TIES_NONE, TIES_SEEN, TIES_ALL };

struct flow {
	const struct evidence *e;
	struct logsum *m;
	struct flow_unknowns u;
	struct logsum_term *terms; /* of one equation */
	size_t term_room;
	double scale;		     /* visits for a sample a cycle of cost */
	uint32_t recorded, executed; /* unknowns: their scales; UINT32_MAX: there are none */
	uint32_t counted;	     /* likewise, of counted functions */
	double counted_start;	     /* where the search for the last begins; NAN */
	double crowding;	     /* mean of the samples */
	double *sums;		     /* by unknown: visits, samples, ... of its blocks */
	enum flow_ties ties;
};

static struct logsum_term *terms_room(struct flow *w, size_t count)
{
	if (count > w->term_room) {
		free(w->terms);
		w->terms = malloc(count * sizeof(*w->terms));
		w->term_room = w->terms ? count : 0;
	}
	return w->terms;
}

/* Says that a block's frequency is the sum of so many ways; those without an unknown do not run. */
static void add_sum(struct flow *w, uint32_t block, struct logsum_term *t, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (flow_is_unknown(t[i].variable))
			t[kept++] = t[i];
	}
	if (kept && !(kept == 1 && t[0].variable == block))
		logsum_equation(w->m, block, t, kept, 0, SUM_SIGMA);
}

/* A block's frequency is the sum of the ways out of it; and of the ways into it. */
static int add_conservation(struct flow *w, size_t function)
{
	const struct evidence_function *f = &w->e->functions[function];
	const struct cfg_function *c = f->function;

	if (w->u.hubs[function] != FLOW_NONE) {
		if (!terms_room(w, c->block_count))
			return -ENOMEM;
		flow_web_equations(w->m, w->e, function, &w->u, SUM_SIGMA, w->terms);
	}
	for (uint32_t b = 0; b < c->block_count; b++) {
		const struct cfg_block *block = &c->blocks[b];
		const uint32_t own = w->u.blocks[f->first_block + b];
		const uint32_t most = block->succ_count > block->pred_count ? block->succ_count
									    : block->pred_count;
		struct logsum_term *t = terms_room(w, (size_t)most + 1);

		if (!t)
			return -ENOMEM;
		if (own == FLOW_NONE)
			continue;
		for (uint32_t i = 0; i < block->succ_count; i++)
			t[i] = (struct logsum_term){
				w->u.ways[f->first_edge + block->first_succ + i], 0};
		add_sum(w, own, t, block->succ_count);
		/* What enters a block where edges are missing comes with the calls and jumps. */
		if (!c->complete)
			continue;
		for (uint32_t i = 0; i < block->pred_count; i++)
			t[i] = (struct logsum_term){
				w->u.ways[f->first_edge + c->preds[block->first_pred + i]], 0};
		t[block->pred_count] = (struct logsum_term){w->u.entries[f->first_block + b], 0};
		add_sum(w, own, t, block->pred_count + 1);
	}
	return 0;
}

/* The ratios of the ways out of a block that ends in a branch. */
static void add_ratios(struct flow *w, const struct evidence_function *f)
{
	const struct cfg_function *c = f->function;

	for (uint32_t b = 0; b < c->block_count; b++) {
		const struct cfg_block *block = &c->blocks[b];
		const uint32_t first = f->first_edge + block->first_succ;
		double all = 0;

		for (uint32_t i = 0; i < block->succ_count; i++)
			all += w->e->ways[first + i].passes;
		if (all <= 0 || block->succ_count < 2 ||
		    w->u.blocks[f->first_block + b] == FLOW_NONE)
			continue;
		for (uint32_t i = 0; i < block->succ_count; i++) {
			const double p = (w->e->ways[first + i].passes + 0.5) /
					 (all + 0.5 * block->succ_count);
			const double bias = RATIO_BIAS * (1 - p);
			const struct logsum_term t = {w->u.blocks[f->first_block + b], log(p)};

			if (flow_is_unknown(w->u.ways[first + i]))
				logsum_equation(w->m, w->u.ways[first + i], &t, 1, 0,
						sqrt((1 - p) / (p * (all + 1)) + bias * bias));
		}
	}
}

/* The term of one call: its caller's frequency times the share of it that goes this way. */
static bool call_term(const struct flow *w, const struct evidence_call *c, struct logsum_term *ret,
		      double *ret_share)
{
	const struct evidence_function *f = &w->e->functions[c->caller];
	double all = w->e->blocks[f->first_block + c->block].outcomes;

	ret->variable = w->u.blocks[f->first_block + c->block];
	if (c->edge != EVIDENCE_NO_EDGE) {
		ret->variable = w->u.ways[f->first_edge + c->edge];
		all = w->e->ways[f->first_edge + c->edge].passes;
	}
	*ret_share = c->direct ? 1 : all > 0 ? fmin(c->passes / all, 1) : 0;
	ret->offset = *ret_share > 0 ? log(*ret_share) : 0;
	return *ret_share > 0 && flow_is_unknown(ret->variable);
}

/* The unknown that calls and jumps to a block feed; and those of its known ways in, as terms. */
static uint32_t call_target(const struct flow *w, const struct evidence_function *f, uint32_t block,
			    struct logsum_term *t, size_t *ret_count)
{
	const struct cfg_function *c = f->function;
	const struct cfg_block *to = &c->blocks[block];

	*ret_count = 0;
	for (uint32_t i = 0; i < to->pred_count; i++) {
		const uint32_t edge = c->preds[to->first_pred + i];

		/* In a complete graph the edge from outside is itself an unknown of a sum. */
		if (c->edges[edge].kind == CFG_ENTER && c->complete)
			return w->u.ways[f->first_edge + edge];
	}
	for (uint32_t i = 0; i < to->pred_count; i++) {
		const uint32_t edge = c->preds[to->first_pred + i];

		if (c->edges[edge].from != CFG_OUTSIDE &&
		    flow_is_unknown(w->u.ways[f->first_edge + edge]))
			t[(*ret_count)++] =
				(struct logsum_term){w->u.ways[f->first_edge + edge], 0};
	}
	return w->u.blocks[f->first_block + block];
}

/* One entry, or other target of calls and jumps: calls [from, to) of the evidence. */
static int add_target(struct flow *w, size_t from, size_t to)
{
	const struct evidence_call *calls = w->e->calls;
	const struct evidence_function *f = &w->e->functions[calls[from].callee];
	const uint32_t block = calls[from].target;
	const bool entry = block == f->function->entry_block;
	struct logsum_term *t =
		terms_room(w, to - from + f->function->blocks[block].pred_count + 1);
	double seen = 0, noise = 0, share, hidden, variance;
	size_t count;
	uint32_t left;

	if (!t)
		return -ENOMEM;
	/* A jump that a complete graph does not have is a mistake of somebody. */
	if (!entry && f->function->complete)
		return 0;
	left = call_target(w, f, block, t, &count);
	for (size_t i = from; i < to; i++) {
		if ((w->ties == TIES_SEEN && calls[i].passes <= 0) ||
		    !call_term(w, &calls[i], &t[count], &share))
			continue;
		count++;
		seen += calls[i].passes;
		noise += calls[i].direct ? 0 : calls[i].passes * (1 - share);
	}
	hidden = entry ? f->unexplained / fmax(f->unexplained + seen, 1) : 0;
	if (!count || hidden > 0.5 || left == FLOW_NONE)
		return 0;
	variance = seen > 0 ? noise / (seen * seen) + CALL_SIGMA * CALL_SIGMA
			    : UNSEEN_SIGMA * UNSEEN_SIGMA;
	variance += hidden * hidden;
	if (!f->function->complete && !entry)
		variance += HOLE_SIGMA * HOLE_SIGMA;
	logsum_equation(w->m, left, t, count, -log(1 - hidden), sqrt(variance));
	return 0;
}

static int add_calls(struct flow *w)
{
	const struct evidence *e = w->e;
	int r = 0;

	for (size_t i = 0, next; i < e->call_count && !r; i = next) {
		for (next = i + 1; next < e->call_count &&
				   e->calls[next].callee == e->calls[i].callee &&
				   e->calls[next].target == e->calls[i].target;)
			next++;
		r = add_target(w, i, next);
	}
	return r;
}

/* What the crowding of a function's samples says of its cycles per instruction, as a logarithm. */
static double slowness(const struct flow *w, const struct evidence_function *f)
{
	const double n = f->crowding_samples;

	return n > 0 ? CROWDING * (f->crowding / n - w->crowding) * n / (n + CROWDING_SAMPLES) : 0;
}

/*
 * How often the windows visit a place, over how often it runs, is the time spent shortly before it:
 * not known, but alike within a function. Where none passed, the same of samples.
 */
static void add_visits(struct flow *w, const struct evidence_function *f, bool *taken)
{
	const struct cfg_function *c = f->function;
	const struct evidence_block *blocks = w->e->blocks + f->first_block;
	const uint32_t *unknown = w->u.blocks + f->first_block;
	double visits = 0;
	uint32_t region;

	for (uint32_t b = 0; b < c->block_count; b++) {
		double *sum;

		if (unknown[b] == FLOW_NONE)
			continue;
		sum = w->sums + (size_t)unknown[b] * 4;
		sum[0] += blocks[b].visits;
		sum[1]++;
		sum[2] += (double)blocks[b].samples;
		sum[3] += blocks[b].cost;
		visits += blocks[b].visits;
	}
	region = logsum_variable(w->m, 0);
	logsum_equation(w->m, region, NULL, 0, -slowness(w, f), REGION_SIGMA);
	for (uint32_t b = 0; b < c->block_count; b++) {
		const double *sum;
		struct logsum_term t = {region, 0};
		double sigma;

		if (unknown[b] == FLOW_NONE || taken[unknown[b]])
			continue;
		sum = w->sums + (size_t)unknown[b] * 4;
		taken[unknown[b]] = true;
		if (visits >= FLOW_SEEN_LEAST) {
			t.offset = log(fmax(sum[0], FLOW_LEAST) / sum[1]);
			sigma = sqrt(PLACE_SIGMA * PLACE_SIGMA +
				     VISIT_NOISE / fmax(sum[0], FLOW_LEAST));
		} else {
			t.offset = log(w->scale * fmax(sum[2], 0.5) / sum[3]);
			sigma = sqrt(TIME_SIGMA * TIME_SIGMA + 1 / (sum[2] + 0.2));
		}
		logsum_equation(w->m, unknown[b], &t, 1, 0, sigma);
	}
}

/* Counts of the hardware, known but for their scale. */
static void add_hardware(struct flow *w, const struct evidence_function *f)
{
	const struct cfg_function *c = f->function;

	for (uint32_t i = 0; i < c->edge_count; i++) {
		const double n = w->e->ways[f->first_edge + i].recorded;
		const struct logsum_term t = {w->recorded, log(fmax(n, 1))};

		if (n > 0 && flow_is_unknown(w->u.ways[f->first_edge + i]))
			logsum_equation(w->m, w->u.ways[f->first_edge + i], &t, 1, 0,
					sqrt(RECORDED_SIGMA * RECORDED_SIGMA + 1 / n));
	}
	for (uint32_t b = 0; b < c->block_count; b++) {
		const double n = w->e->blocks[f->first_block + b].executed;
		const struct logsum_term t = {w->executed,
					      log(fmax(n, 1) / c->blocks[b].instruction_count)};

		if (n > 0 && w->u.blocks[f->first_block + b] != FLOW_NONE)
			logsum_equation(w->m, w->u.blocks[f->first_block + b], &t, 1, 0,
					sqrt(RECORDED_SIGMA * RECORDED_SIGMA + 1 / n));
	}
}

/* What was counted, known but for its scale, which is that of all counted functions. */
static void add_count(struct flow *w, uint32_t unknown, double counted)
{
	const struct logsum_term t = {w->counted, log(counted)};

	if (counted > 0 && flow_is_unknown(unknown))
		logsum_equation(w->m, unknown, &t, 1, 0, COUNTED_SIGMA);
}

static void add_counts(struct flow *w, const struct evidence_function *f)
{
	const uint32_t ways = f->first_edge + f->function->edge_count;
	const uint32_t blocks = f->first_block + f->function->block_count;

	for (uint32_t i = f->first_edge; i < ways; i++)
		add_count(w, w->u.ways[i], w->e->ways[i].counted);
	for (uint32_t i = f->first_block; i < blocks; i++)
		add_count(w, w->u.blocks[i], w->e->blocks[i].counted);
}

/*
 * What an execution that was counted is in the unit of the flow, as a logarithm: by the samples of
 * all counted functions, which so have as many stalls on average as others. NAN: none was counted.
 */
static double counted_scale(const struct flow *w)
{
	double samples = 0, cycles = 0, slow = 0;

	for (size_t i = 0; i < w->e->function_count; i++) {
		const struct evidence_function *f = &w->e->functions[i];

		if (!evidence_is_scale(w->e, f))
			continue;
		samples += (double)f->samples;
		slow += (double)f->samples * slowness(w, f);
		for (uint32_t b = 0; b < f->function->block_count; b++)
			cycles += w->e->blocks[f->first_block + b].counted *
				  w->e->blocks[f->first_block + b].cost;
	}
	return cycles > 0 ? log(w->scale * fmax(samples, 0.5) / cycles) - slow / fmax(samples, 1)
			  : NAN;
}

/* Visits for a sample a cycle: so that both tell the same frequency, by and large. */
static void find_scales(struct flow *w)
{
	double visits = 0, time = 0, recorded = 0, executed = 0, crowded = 0, start;

	for (size_t i = 0; i < w->e->function_count; i++) {
		const struct evidence_function *f = &w->e->functions[i];

		w->crowding += f->crowding;
		crowded += f->crowding_samples;
		for (uint32_t b = 0; b < f->function->block_count; b++) {
			const struct evidence_block *block = &w->e->blocks[f->first_block + b];

			executed += block->executed;
			if (block->visits <= 0)
				continue;
			visits += block->visits * block->cost;
			time += (double)block->samples;
		}
	}
	for (size_t i = 0; i < w->e->way_count; i++)
		recorded += w->e->ways[i].recorded;
	w->crowding /= fmax(crowded, 1);
	w->scale = visits > 0 && time > 0 ? visits / time : 1;
	w->recorded = recorded > 0 ? logsum_variable(w->m, 0) : UINT32_MAX;
	w->executed = executed > 0 ? logsum_variable(w->m, 0) : UINT32_MAX;
	start = counted_scale(w);
	w->counted = isfinite(start) ? logsum_variable(w->m, start) : UINT32_MAX;
	if (isfinite(start))
		logsum_equation(w->m, w->counted, NULL, 0, start, COUNTED_SCALE_SIGMA);
	w->counted_start = start;
}

static int add_everything(struct flow *w)
{
	const struct evidence *e = w->e;
	bool *taken = NULL;

	find_scales(w);
	int r = flow_unknowns_add(w->m, e, w->scale, w->counted_start, &w->u);
	if (r)
		return r;
	taken = calloc(logsum_count(w->m) + 1, sizeof(*taken));
	w->sums = calloc(logsum_count(w->m) + 1, 4 * sizeof(*w->sums));
	if (!taken || !w->sums)
		r = -ENOMEM;
	for (size_t i = 0; i < e->function_count && !r; i++) {
		if (evidence_is_scale(e, &e->functions[i])) {
			add_counts(w, &e->functions[i]);
			continue;
		}
		r = add_conservation(w, i);
		if (r)
			break;
		add_ratios(w, &e->functions[i]);
		add_visits(w, &e->functions[i], taken);
		add_hardware(w, &e->functions[i]);
	}
	if (!r && w->ties != TIES_NONE)
		r = add_calls(w);
	free(taken);
	free(w->sums);
	return r;
}

/*
 * How often code of a function may have run, as a logarithm, though nothing was seen of it: where
 * windows passed, as often as it would have been visited, by the function's visits an execution;
 * else by its time.
 */
static double most_unseen(const struct flow *w, const struct evidence_function *f)
{
	double visits = 0, executions = 0;

	for (uint32_t b = 0; b < f->function->block_count; b++) {
		const uint32_t unknown = w->u.blocks[f->first_block + b];

		visits += w->e->blocks[f->first_block + b].visits;
		if (unknown != FLOW_NONE)
			executions += exp(logsum_value(w->m, unknown));
	}
	if (visits < FLOW_SEEN_LEAST || executions <= 0)
		return log(w->scale * FREQUENCY_NONE_SEEN) + FREQUENCY_Z80 * TIME_SIGMA;
	return log(FREQUENCY_NONE_SEEN * VISIT_NOISE * executions / visits) +
	       FREQUENCY_Z80 * PLACE_SIGMA;
}

static struct frequency_guess take_result(const struct flow *w, uint32_t unknown, double most,
					  const double *variances)
{
	if (!flow_is_unknown(unknown))
		return (struct frequency_guess){-INFINITY, 0, most};
	return (struct frequency_guess){logsum_value(w->m, unknown), sqrt(variances[unknown]), 0};
}

static void take_function(const struct flow *w, size_t i, const double *variances,
			  struct frequency_guesses *g)
{
	const struct evidence *e = w->e;
	const struct evidence_function *f = &e->functions[i];
	const double most = most_unseen(w, f);

	for (uint32_t b = f->first_block; b < f->first_block + f->function->block_count; b++) {
		g->blocks[b] = take_result(w, w->u.blocks[b], most, variances);
		if (w->u.blocks[b] == FLOW_NONE && e->blocks[b].samples)
			g->blocks[b] = (struct frequency_guess){
				log(w->scale * (double)e->blocks[b].samples / e->blocks[b].cost),
				FREQUENCY_UNKNOWN, 0};
	}
	for (uint32_t k = f->first_edge; k < f->first_edge + f->function->edge_count; k++)
		g->ways[k] = take_result(w, w->u.ways[k], most, variances);
	if (w->u.hubs[i] != FLOW_NONE)
		flow_web_results(w->m, e, i, &w->u, variances, g->ways);
}

static int take_results(const struct flow *w, struct frequency_guesses *g)
{
	const struct evidence *e = w->e;
	const size_t count = logsum_count(w->m);
	double *weights = calloc(count, sizeof(*weights)),
	       *variances = calloc(count, sizeof(double));
	double total = 0;
	int r = -ENOMEM;

	if (!weights || !variances)
		goto out;
	/* What was counted is the scale of all; else all instructions are. */
	if (w->counted != UINT32_MAX)
		weights[w->counted] = 1;
	for (int pass = 0; pass < 2 && w->counted == UINT32_MAX; pass++) {
		for (size_t i = 0; i < e->function_count; i++) {
			const struct evidence_function *f = &e->functions[i];

			for (uint32_t b = 0; b < f->function->block_count; b++) {
				const uint32_t unknown = w->u.blocks[f->first_block + b];
				double part;

				if (unknown == FLOW_NONE)
					continue;
				part = exp(logsum_value(w->m, unknown)) *
				       f->function->blocks[b].instruction_count;
				if (!pass)
					total += part;
				else
					weights[unknown] += part / total;
			}
		}
	}
	r = logsum_variances(w->m, weights, variances);
	for (size_t i = 0; i < e->function_count && !r; i++)
		take_function(w, i, variances, g);
out:
	free(weights);
	free(variances);
	return r;
}

static int flow_try(const struct evidence *e, struct frequency_guesses *g, enum flow_ties ties)
{
	struct flow w = {.e = e, .m = logsum_new(), .ties = ties};
	int r = flow_unknowns_init(&w.u, e);

	if (!w.m)
		r = -ENOMEM;
	if (!r)
		r = add_everything(&w);
	if (!r)
		r = logsum_solve(w.m, ROUNDS);
	if (!r)
		r = take_results(&w, g);
	logsum_free(w.m);
	free(w.terms);
	flow_unknowns_free(&w.u);
	return r;
}

int frequency_flow(const struct evidence *e, struct frequency_guesses *g)
{
	int r = -E2BIG;

	for (int ties = TIES_ALL; ties >= TIES_NONE && r == -E2BIG; ties--)
		r = flow_try(e, g, (enum flow_ties)ties);
	/* One function alone may be too much: then the rule that needs no elimination. */
	return r == -E2BIG ? frequency_classic(e, g) : r;
}
