/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/frequency_spread.h"
#include "analyze/frequency_state.h"

/*
 * What calibration against exact counts found (doc/analysis.md): the deviations that the methods
 * give are too small by a factor, and nothing is known better than some percent. Where the core
 * waits for most of the time, as the crowding of samples shows, code that it does not wait for may
 * run far more often than its samples and visits say, and that is in every share of the whole.
 */
#define DEVIATION_FACTOR   1.3
#define DEVIATION_LEAST	   0.05
#define DEVIATION_CROWDING 0.3 /* for each unit of crowding past the one below */
#define DEVIATION_CROWDED  0.75
#define Z90		   1.645	/* 90% of a normal distribution */
#define HIGH_DEVIATION	   (0.15 / Z90) /* 90% within 15% */
#define MEDIUM_DEVIATION   0.25		/* 90% within 50%: up to 0.41 */
/*
 * The absolute scale without a counter is what programs usually cost over the best case. As a
 * logarithm: of 23 programs in three runs the median and the deviation between them; and what both
 * are when it is known how far samples crowd on few instructions.
 */
#define STALL_MEDIAN	     0.8
#define STALL_DEVIATION	     0.6
#define STALL_BASE	     (-0.53)
#define STALL_CROWDING	     1.37
#define STALL_CROWDED	     0.5 /* deviation */
#define STALL_CROWDING_LEAST 0.5 /* beyond these nothing was measured */
#define STALL_CROWDING_MOST  2.0
#define STALL_SAMPLES_LEAST  200

struct frequency {
	struct frequency_function *functions;
	size_t function_count;
	const struct evidence *evidence;
	struct frequency_estimate *block_relative, *block_count, *edge_relative, *edge_count;
	struct frequency_estimate instructions;
	bool classic;
};

static struct frequency_spread spread_of(double deviation)
{
	return (struct frequency_spread){Z90 * deviation, Z90 * deviation};
}

static struct frequency_estimate estimate(double value, struct frequency_spread s)
{
	const double deviation = fmax(s.below, s.above) / Z90;

	return (struct frequency_estimate){
		.value = value,
		.low = value * exp(-s.below),
		.high = value * exp(s.above),
		.confidence = deviation <= HIGH_DEVIATION     ? FREQUENCY_HIGH
			      : deviation <= MEDIUM_DEVIATION ? FREQUENCY_MEDIUM
							      : FREQUENCY_LOW,
	};
}

/* scale: what a unit of the guess is. Of what was not seen only a bound is known. */
static struct frequency_estimate estimate_guess(const struct frequency_guess *g, double scale,
						struct frequency_spread s)
{
	if (isfinite(g->log))
		return estimate(exp(g->log) * scale, s);
	return (struct frequency_estimate){
		.high = exp(g->most + s.above) * scale,
		.confidence = FREQUENCY_LOW,
	};
}

/* The scale of the guesses: the sum of frequency times instructions. */
static double total_instructions(const struct evidence *e, const struct frequency_guesses *g)
{
	double total = 0;

	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *f = &e->functions[i];

		for (uint32_t b = 0; b < f->function->block_count; b++)
			total += exp(g->blocks[f->first_block + b].log) *
				 f->function->blocks[b].instruction_count;
	}
	/* Nothing ran that is known: all values are 0. */
	return total > 0 ? total : 1;
}

/* How far all samples crowd on few instructions; ret_samples: of how many it is known. */
static double find_crowding(const struct evidence *e, double *ret_samples)
{
	double crowding = 0, samples = 0;

	for (size_t i = 0; i < e->function_count; i++) {
		crowding += e->functions[i].crowding;
		samples += e->functions[i].crowding_samples;
	}
	*ret_samples = samples;
	return samples > 0 ? crowding / samples : 0;
}

/* Cycles over those of the best case. */
static double stall_factor(const struct evidence *e, double *ret_deviation)
{
	double samples, crowding = find_crowding(e, &samples);

	*ret_deviation = STALL_DEVIATION;
	if (samples < STALL_SAMPLES_LEAST)
		return exp(STALL_MEDIAN);
	*ret_deviation = STALL_CROWDED;
	crowding = fmin(fmax(crowding, STALL_CROWDING_LEAST), STALL_CROWDING_MOST);
	return exp(STALL_BASE + STALL_CROWDING * crowding);
}

/* Instructions executed, absolute; ret_deviation of its logarithm. */
static double absolute_instructions(const struct evidence *e, const struct frequency_options *o,
				    const struct frequency_guesses *g, double total,
				    double *ret_deviation)
{
	double executed = 0, samples = 0, best = 0, stall;

	for (size_t i = 0; i < e->block_count; i++) {
		executed += e->blocks[i].executed;
		samples += (double)e->blocks[i].samples;
		best += exp(g->blocks[i].log) * e->blocks[i].cost;
	}
	if (executed > 0 && o->instructions_per_sample > 0) {
		*ret_deviation = 1 / sqrt(executed);
		return executed * o->instructions_per_sample;
	}
	samples *= o->cycles_per_sample > 0 ? o->cycles_per_sample : 1;
	stall = stall_factor(e, ret_deviation);
	if (!(o->cycles_per_sample > 0))
		*ret_deviation = FREQUENCY_UNKNOWN;
	return best > 0 ? samples / stall / (best / total) : 0;
}

/* What all estimates of a selection share. */
struct scale {
	double total;	     /* of the guesses: instructions */
	double instructions; /* executed */
	double cycles_per_sample, samples, least;
	struct frequency_spread spread; /* of instructions, but for the slowness of functions */
	bool recorded, counted;		/* branches, instructions: by hardware */
};

/* The hardware has counted or recorded executions: then waiting does not bias the evidence. */
static void find_recorded(const struct evidence *e, const struct frequency_options *o,
			  struct scale *s)
{
	for (size_t i = 0; i < e->block_count; i++)
		s->counted |= e->blocks[i].executed > 0;
	s->recorded = s->counted;
	s->counted &= o->instructions_per_sample > 0;
	for (size_t i = 0; i < e->way_count; i++)
		s->recorded |= e->ways[i].recorded > 0;
}

/* The deviation that no share of the whole is known better than. */
static double least_deviation(const struct evidence *e, bool recorded)
{
	double samples, crowding = find_crowding(e, &samples) - DEVIATION_CROWDED;

	if (crowding <= 0 || recorded)
		return DEVIATION_LEAST;
	return hypot(DEVIATION_LEAST, DEVIATION_CROWDING * crowding);
}

static struct frequency_spread slowness_of(const struct evidence *e,
					   const struct evidence_function *f,
					   const struct frequency_guesses *g, const struct scale *s)
{
	const double cycles = s->cycles_per_sample * ((double)f->samples + FREQUENCY_NONE_SEEN);
	double best = 0;

	for (uint32_t b = f->first_block; b < f->first_block + f->function->block_count; b++)
		best += exp(g->blocks[b].log) * e->blocks[b].cost;
	best *= s->instructions / s->total;
	return frequency_slowness(frequency_causes(e, f),
				  cycles > 0 && best > 0 ? cycles / best : INFINITY);
}

/*
 * Its count is as well known as its cycles an instruction. So is its share of the whole, as far as
 * others have the time: by itself it is all, however slow.
 */
static void fill_function(struct frequency *f, const struct evidence_function *one,
			  const struct frequency_guesses *g, const struct scale *s,
			  struct frequency_spread slowness)
{
	const double others = s->samples > 0 ? 1 - (double)one->samples / s->samples : 1;
	const struct frequency_spread relative = {slowness.below * others, slowness.above * others};
	const struct frequency_spread count = frequency_spread_join(s->spread, slowness);

	for (uint32_t i = one->first_block; i < one->first_block + one->function->block_count;
	     i++) {
		const struct frequency_spread own =
			spread_of(hypot(DEVIATION_FACTOR * g->blocks[i].deviation, s->least));

		f->block_relative[i] = estimate_guess(&g->blocks[i], 1 / s->total,
						      frequency_spread_join(own, relative));
		f->block_count[i] = estimate_guess(&g->blocks[i], s->instructions / s->total,
						   frequency_spread_join(own, count));
	}
	for (uint32_t i = one->first_edge; i < one->first_edge + one->function->edge_count; i++) {
		const struct frequency_spread own =
			spread_of(hypot(DEVIATION_FACTOR * g->ways[i].deviation, s->least));

		f->edge_relative[i] = estimate_guess(&g->ways[i], 1 / s->total,
						     frequency_spread_join(own, relative));
		f->edge_count[i] = estimate_guess(&g->ways[i], s->instructions / s->total,
						  frequency_spread_join(own, count));
	}
}

static void fill(struct frequency *f, const struct frequency_guesses *g,
		 const struct frequency_options *o)
{
	const struct evidence *e = f->evidence;
	struct scale s = {.total = total_instructions(e, g),
			  .cycles_per_sample = o->cycles_per_sample};
	struct frequency_spread all = {0, 0}, slowness;
	double deviation;

	find_recorded(e, o, &s);
	s.least = least_deviation(e, s.recorded);
	s.instructions = absolute_instructions(e, o, g, s.total, &deviation);
	s.spread = spread_of(deviation);
	for (size_t i = 0; i < e->function_count; i++)
		s.samples += (double)e->functions[i].samples;
	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *one = &e->functions[i];
		const double share = s.samples > 0 ? (double)one->samples / s.samples : 0;

		slowness = slowness_of(e, one, g, &s);
		all = frequency_spread_join(all, (struct frequency_spread){share * slowness.below,
									   share * slowness.above});
		if (!s.recorded)
			fill_function(f, one, g, &s, slowness);
	}
	if (!s.counted)
		s.spread = frequency_spread_join(s.spread, all);
	for (size_t i = 0; s.recorded && i < e->function_count; i++)
		fill_function(f, &e->functions[i], g, &s, (struct frequency_spread){0, 0});
	f->classic = g->classic;
	f->instructions = estimate(s.instructions, s.spread);
}

static void name_functions(struct frequency *f)
{
	for (size_t i = 0; i < f->function_count; i++) {
		const struct evidence_function *from = &f->evidence->functions[i];
		const struct cfg_function *c = from->function;
		struct frequency_function *to = &f->functions[i];

		*to = (struct frequency_function){
			.function = c,
			.image = from->image,
			.samples = from->samples,
			.block_relative = f->block_relative + from->first_block,
			.block_count = f->block_count + from->first_block,
			.edge_relative = f->edge_relative + from->first_edge,
			.edge_count = f->edge_count + from->first_edge,
		};
		/* Where nothing is known of the way in. */
		to->entries = (struct frequency_estimate){.high = INFINITY};
		for (uint32_t k = c->edge_count; k-- > 0;) {
			if (c->edges[k].kind == CFG_ENTER)
				to->entries = to->edge_count[k];
		}
	}
}

int frequency_new(const struct evidence *e, const struct frequency_options *o,
		  struct frequency **ret, struct diag *diag)
{
	const size_t blocks = e->block_count + 1, ways = e->way_count + 1;
	struct frequency_guesses g = {calloc(blocks, sizeof(*g.blocks)),
				      calloc(ways, sizeof(*g.ways))};
	struct frequency *f = calloc(1, sizeof(*f));
	int error = -ENOMEM;

	if (!f || !g.blocks || !g.ways)
		goto out;
	f->evidence = e;
	f->function_count = e->function_count;
	f->functions = calloc(e->function_count + 1, sizeof(*f->functions));
	f->block_relative = calloc(blocks, sizeof(*f->block_relative));
	f->block_count = calloc(blocks, sizeof(*f->block_count));
	f->edge_relative = calloc(ways, sizeof(*f->edge_relative));
	f->edge_count = calloc(ways, sizeof(*f->edge_count));
	if (!f->functions || !f->block_relative || !f->block_count || !f->edge_relative ||
	    !f->edge_count)
		goto out;
	error = 0;
	if (e->block_count)
		error = o->method == FREQUENCY_CLASSIC ? frequency_classic(e, &g)
						       : frequency_flow(e, &g);
	if (error)
		goto out;
	fill(f, &g, o);
	name_functions(f);
	*ret = f;
	f = NULL;
out:
	free(g.blocks);
	free(g.ways);
	frequency_free(f);
	return error ? diag_fail(diag, -error, "cannot estimate frequencies of %zu basic blocks",
				 e->block_count)
		     : 0;
}

void frequency_free(struct frequency *f)
{
	if (!f)
		return;
	free(f->functions);
	free(f->block_relative);
	free(f->block_count);
	free(f->edge_relative);
	free(f->edge_count);
	free(f);
}

const struct frequency_function *frequency_find(const struct frequency *f, uint32_t image,
						uint64_t address)
{
	const struct evidence_function *found = evidence_find(f->evidence, image, address);

	return found ? &f->functions[found - f->evidence->functions] : NULL;
}

const struct frequency_function *frequency_functions(const struct frequency *f, size_t *ret_count)
{
	*ret_count = f->function_count;
	return f->functions;
}

bool frequency_is_classic(const struct frequency *f)
{
	return f->classic;
}

struct frequency_estimate frequency_instructions(const struct frequency *f)
{
	return f->instructions;
}
