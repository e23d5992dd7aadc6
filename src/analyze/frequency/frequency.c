/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/frequency/frequency_spread.h"
#include "analyze/frequency/frequency_state.h"

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
/* Of all counts of bursts together: what counting itself takes of their time is known so well. */
#define DEVIATION_BURSTS 0.15
#define Z90		 1.645	      /* 90% of a normal distribution */
#define HIGH_DEVIATION	 (0.15 / Z90) /* 90% within 15% */
#define MEDIUM_DEVIATION 0.25	      /* 90% within 50%: up to 0.41 */
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

static enum frequency_confidence confidence_of(double deviation)
{
	return deviation <= HIGH_DEVIATION     ? FREQUENCY_HIGH
	       : deviation <= MEDIUM_DEVIATION ? FREQUENCY_MEDIUM
					       : FREQUENCY_LOW;
}

static struct frequency_estimate exactly(double value)
{
	return (struct frequency_estimate){value, value, value, FREQUENCY_COUNTED};
}

static struct frequency_estimate estimate(double value, struct frequency_spread s)
{
	return (struct frequency_estimate){
		.value = value,
		.low = value * exp(-s.below),
		.high = value * exp(s.above),
		.confidence = confidence_of(fmax(s.below, s.above) / Z90),
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

/* Frequencies times instructions. */
struct totals {
	double guessed; /* in the unit of the guesses, of functions that were not counted */
	double counted; /* executions of those that were */
	double alike;	/* ... and what the guesses are of these */
	double looped;	/* executions of loops whose iterations are known */
	double off;	/* ... and how far that may be off */
};

/* unit: of the guesses, 0 while it is not known: then loops count as all else does. */
static struct totals total_instructions(const struct evidence *e, const struct frequency_guesses *g,
					double unit)
{
	struct totals t = {0, 0, 0, 0, 0};

	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *f = &e->functions[i];
		const bool counted = f->counted == EVIDENCE_COUNTED_WHOLE;

		for (uint32_t b = 0; b < f->function->block_count; b++) {
			const double n = f->function->blocks[b].instruction_count;
			const double guess = n * exp(g->blocks[f->first_block + b].log);
			const double count = n * e->blocks[f->first_block + b].counted;

			const uint32_t loop = unit > 0 ? e->blocks[f->first_block + b].loop : 0;

			t.guessed += counted || loop ? 0 : guess;
			t.looped += loop ? unit * guess : 0;
			t.off += loop ? unit * guess * Z90 * e->loops[loop - 1].sigma : 0;
			t.counted += counted ? count : 0;
			t.alike += counted && (count > 0 || !e->counts_scale) ? guess : 0;
		}
	}
	return t;
}

/*
 * Gives blocks of loops whose iterations are known, and the ways out of them, their frequencies. It
 * is no scale of anything else: how much a loop waits says nothing of other code.
 */
static void apply_loops(const struct evidence *e, const struct frequency_guesses *g, double unit)
{
	for (size_t i = 0; i < e->loop_count && unit > 0; i++) {
		const struct evidence_loop *loop = &e->loops[i];
		const struct evidence_function *f = &e->functions[loop->function];
		const double shift = log(loop->iterations / unit) - g->blocks[loop->header].log;

		for (uint32_t b = 0; b < f->function->block_count && isfinite(shift); b++) {
			const struct cfg_block *block = &f->function->blocks[b];
			const uint32_t first = f->first_edge + block->first_succ;

			if (e->blocks[f->first_block + b].loop != i + 1)
				continue;
			g->blocks[f->first_block + b].log += shift;
			for (uint32_t k = first; k < first + block->succ_count; k++)
				g->ways[k].log += shift;
		}
	}
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
	double unit, share;	      /* of the guesses: executions, and of all instructions */
	double instructions, guessed; /* executed, and of these not counted */
	double looped, off;	      /* ... known from iterations, and how far that may be off */
	double cycles_per_sample, samples, uncounted, least;
	double counted_deviation;	/* of what was counted; 0: exact */
	struct frequency_spread spread; /* of guessed, but for the slowness of functions */
	bool recorded, executed;	/* branches, instructions: by hardware */
};

/* The hardware has counted or recorded executions: then waiting does not bias the evidence. */
static void find_recorded(const struct evidence *e, const struct frequency_options *o,
			  struct scale *s)
{
	for (size_t i = 0; i < e->block_count; i++)
		s->executed |= e->blocks[i].executed > 0;
	s->recorded = s->executed;
	s->executed &= o->instructions_per_sample > 0;
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
	best *= s->unit;
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
	const double looped = s->instructions > 0 ? s->looped / s->instructions : 0;
	/* What is known of loops is known of no other code: its share depends on the scale. */
	const struct frequency_spread relative = frequency_spread_join(
		(struct frequency_spread){slowness.below * others, slowness.above * others},
		(struct frequency_spread){s->spread.below * looped, s->spread.above * looped});
	const struct frequency_spread count = frequency_spread_join(s->spread, slowness);

	for (uint32_t i = one->first_block; i < one->first_block + one->function->block_count;
	     i++) {
		const struct frequency_spread own =
			spread_of(hypot(DEVIATION_FACTOR * g->blocks[i].deviation, s->least));

		f->block_relative[i] = estimate_guess(&g->blocks[i], s->share,
						      frequency_spread_join(own, relative));
		f->block_count[i] =
			estimate_guess(&g->blocks[i], s->unit, frequency_spread_join(own, count));
	}
	for (uint32_t i = one->first_edge; i < one->first_edge + one->function->edge_count; i++) {
		const struct frequency_spread own =
			spread_of(hypot(DEVIATION_FACTOR * g->ways[i].deviation, s->least));

		f->edge_relative[i] =
			estimate_guess(&g->ways[i], s->share, frequency_spread_join(own, relative));
		f->edge_count[i] =
			estimate_guess(&g->ways[i], s->unit, frequency_spread_join(own, count));
	}
}

/* All instructions: what was counted or is known of loops, and what is guessed of the rest. */
static struct frequency_estimate sum_instructions(const struct scale *s)
{
	const double known = s->instructions - s->guessed;
	const struct frequency_estimate counted =
		estimate(known - s->looped, spread_of(s->counted_deviation));
	struct frequency_estimate sum = estimate(s->guessed, s->spread);

	if (known <= 0)
		return sum;
	if (s->guessed <= 0 && s->looped <= 0 && s->counted_deviation <= 0)
		return exactly(known);
	sum.value += known;
	sum.low += s->looped + counted.low - s->off;
	sum.high += s->looped + counted.high + s->off;
	sum.confidence =
		confidence_of(fmax(log(sum.value / sum.low), log(sum.high / sum.value)) / Z90);
	return sum;
}

/* What was counted: exactly, or in bursts, with a deviation. What they did not see ran less often
 * than the least of the function that they saw. */
static struct frequency_estimate estimate_counted(const struct evidence_function *one,
						  double counted, double error)
{
	if (!(one->counted_least > 0))
		return exactly(counted);
	if (counted > 0)
		return estimate(counted, spread_of(hypot(error / counted, DEVIATION_BURSTS)));
	return (struct frequency_estimate){.high = one->counted_least, .confidence = FREQUENCY_LOW};
}

/* A count, and which share of all instructions it is: as well known as these, and as itself. */
static void fill_count(const struct frequency *f, const struct frequency_estimate *counted,
		       struct frequency_estimate *count, struct frequency_estimate *relative)
{
	const struct frequency_estimate *all = &f->instructions;
	const double value = counted->value;

	*count = *counted;
	*relative = (struct frequency_estimate){.high = INFINITY};
	if (!(all->low > 0))
		return;
	*relative = (struct frequency_estimate){value / all->value, counted->low / all->high,
						counted->high / all->low, all->confidence};
}

/* Who came to where a way leads by ways that were not told apart. The one behind a call is none of
 * these: a call that did not return was left for the outside. */
static double strewn_at(const struct frequency *f, const struct evidence_function *one,
			const struct cfg_edge *e)
{
	return e->to == CFG_OUTSIDE || e->kind == CFG_AFTER_CALL
		       ? 0
		       : f->evidence->blocks[one->first_block + e->to].strewn;
}

/* Ways out of jumps that share their targets: each has its part of who came to its target. */
static void fill_scattered(struct frequency *f, const struct evidence_function *one,
			   const struct cfg_block *block, const struct evidence_block *from)
{
	const struct cfg_edge *edges = one->function->edges;
	const uint32_t end = block->first_succ + block->succ_count;
	double strewn = 0;

	for (uint32_t i = block->first_succ; i < end; i++)
		strewn += strewn_at(f, one, &edges[i]);
	for (uint32_t i = block->first_succ; i < end; i++) {
		struct frequency_estimate *count = &f->edge_count[one->first_edge + i];
		struct frequency_estimate *relative = &f->edge_relative[one->first_edge + i];
		const double there = strewn_at(f, one, &edges[i]);
		const double share = there > 0 ? from->scattered * there / strewn : 0;

		if (!(share > 0))
			continue;
		fill_count(f,
			   &(struct frequency_estimate){count->value + share, count->low + share,
							count->high + share, count->confidence},
			   count, relative);
		count->low -= share;
		count->high += fmin(from->scattered, there) - share;
		relative->low *= count->low / count->value;
		relative->high = count->high / f->instructions.low;
		count->confidence = relative->confidence = FREQUENCY_LOW;
	}
}

/* What is in all of bursts' counts is not in their shares. */
static void fill_one(const struct frequency *f, const struct evidence_function *one, double counted,
		     double error, struct frequency_estimate *count,
		     struct frequency_estimate *relative)
{
	const struct frequency_estimate c = estimate_counted(one, counted, error);

	fill_count(f, &c, count, relative);
	if (one->counted_least > 0 && counted > 0 && f->instructions.value > 0)
		*relative = estimate(counted / f->instructions.value,
				     spread_of(hypot(error / counted, DEVIATION_LEAST)));
}

static void fill_counted(struct frequency *f, const struct evidence_function *one)
{
	const struct evidence_block *blocks = f->evidence->blocks + one->first_block;
	const struct evidence_way *ways = f->evidence->ways + one->first_edge;

	for (uint32_t i = 0; i < one->function->block_count; i++) {
		fill_one(f, one, blocks[i].counted, blocks[i].counted_error,
			 &f->block_count[one->first_block + i],
			 &f->block_relative[one->first_block + i]);
	}
	for (uint32_t i = 0; i < one->function->edge_count; i++) {
		fill_one(f, one, ways[i].counted, ways[i].counted_error,
			 &f->edge_count[one->first_edge + i],
			 &f->edge_relative[one->first_edge + i]);
	}
	for (uint32_t i = 0; i < one->function->block_count; i++)
		if (blocks[i].scattered > 0)
			fill_scattered(f, one, &one->function->blocks[i], &blocks[i]);
}

/* Whose time it is: all functions', and of these that of those without counts. */
static void sum_samples(const struct evidence *e, struct scale *s)
{
	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *f = &e->functions[i];

		s->samples += (double)f->samples;
		if (f->counted != EVIDENCE_COUNTED_WHOLE)
			s->uncounted += (double)f->samples;
	}
}

/* What a unit of the guesses stands for: by what the flow found for functions that were counted, or
 * by what programs usually cost. */
static void find_unit(const struct evidence *e, const struct frequency_guesses *g,
		      const struct frequency_options *o, struct scale *s)
{
	struct totals t = total_instructions(e, g, 0);
	/* Nothing ran that is known: all are 0. */
	const double total = t.guessed + t.alike > 0 ? t.guessed + t.alike : 1;
	double deviation = 0;

	/* The solver's deviations are from the scale that counts give. */
	if (e->counts_scale && !g->classic && t.alike > 0)
		s->unit = t.counted / t.alike;
	else
		s->unit = absolute_instructions(e, o, g, total, &deviation) / total;
	apply_loops(e, g, s->unit);
	t = total_instructions(e, g, s->unit);
	s->guessed = s->unit * t.guessed;
	s->looped = t.looped;
	s->off = t.off;
	s->spread = spread_of(deviation);
	s->instructions = t.counted + t.looped + s->guessed;
	s->share = t.counted + t.looped > 0 ? s->unit / s->instructions : 1 / total;
}

/* What is known of a loop's block or way, better than by the function's other code. */
static void fill_looped(const struct frequency *f, const struct frequency_guess *g,
			const struct evidence_loop *loop, double header,
			struct frequency_estimate *count, struct frequency_estimate *relative)
{
	const struct frequency_estimate *all = &f->instructions;
	const struct frequency_spread of_all = {log(all->high / all->value),
						log(all->value / all->low)};
	/* What runs as often as the header has its number. */
	const struct frequency_spread own = spread_of(
		hypot(loop->sigma, g->log < header ? DEVIATION_FACTOR * g->deviation : 0));

	if (!isfinite(g->log) || !isfinite(header))
		return;
	*count = estimate(count->value, own);
	*relative = estimate(relative->value, frequency_spread_join(own, of_all));
}

/* When the instructions are known. */
static void fill_loops(struct frequency *f, const struct frequency_guesses *g)
{
	const struct evidence *e = f->evidence;

	for (size_t i = 0; i < e->loop_count; i++) {
		const struct evidence_loop *loop = &e->loops[i];
		const struct evidence_function *one = &e->functions[loop->function];
		const double header = g->blocks[loop->header].log;

		for (uint32_t b = 0; b < one->function->block_count; b++) {
			const struct cfg_block *block = &one->function->blocks[b];
			const uint32_t at = one->first_block + b;
			const uint32_t first = one->first_edge + block->first_succ;

			if (e->blocks[at].loop != i + 1)
				continue;
			fill_looped(f, &g->blocks[at], loop, header, &f->block_count[at],
				    &f->block_relative[at]);
			for (uint32_t k = first; k < first + block->succ_count; k++)
				fill_looped(f, &g->ways[k], loop, header, &f->edge_count[k],
					    &f->edge_relative[k]);
		}
	}
}

static void fill(struct frequency *f, const struct frequency_guesses *g,
		 const struct frequency_options *o)
{
	const struct evidence *e = f->evidence;
	struct frequency_spread all = {0, 0}, slowness;
	struct scale s = {.cycles_per_sample = o->cycles_per_sample,
			  .counted_deviation = e->totals.functions_bursts ? DEVIATION_BURSTS : 0};

	find_recorded(e, o, &s);
	s.least = least_deviation(e, s.recorded);
	sum_samples(e, &s);
	find_unit(e, g, o, &s);
	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *one = &e->functions[i];
		const double share = s.uncounted > 0 ? (double)one->samples / s.uncounted : 0;

		if (one->counted == EVIDENCE_COUNTED_WHOLE)
			continue;
		slowness = slowness_of(e, one, g, &s);
		all = frequency_spread_join(all, (struct frequency_spread){share * slowness.below,
									   share * slowness.above});
		if (!s.recorded)
			fill_function(f, one, g, &s, slowness);
	}
	if (!s.executed)
		s.spread = frequency_spread_join(s.spread, all);
	f->instructions = sum_instructions(&s);
	for (size_t i = 0; i < e->function_count; i++) {
		const struct evidence_function *one = &e->functions[i];

		if (one->counted == EVIDENCE_COUNTED_WHOLE)
			fill_counted(f, one);
		else if (s.recorded)
			fill_function(f, one, g, &s, (struct frequency_spread){0, 0});
	}
	fill_loops(f, g);
	f->classic = g->classic;
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
			.counted = from->counted == EVIDENCE_COUNTED_WHOLE &&
				   !(from->counted_least > 0),
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
	int r = -ENOMEM;

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
	r = 0;
	if (e->block_count)
		r = o->method == FREQUENCY_CLASSIC ? frequency_classic(e, &g)
						   : frequency_flow(e, &g);
	if (r)
		goto out;
	fill(f, &g, o);
	name_functions(f);
	*ret = f;
	f = NULL;
out:
	free(g.blocks);
	free(g.ways);
	frequency_free(f);
	return r ? diag_fail(diag, -r, "cannot estimate frequencies") : 0;
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

double frequency_outcomes(const struct frequency *f, const struct frequency_function *one,
			  uint32_t block)
{
	const struct evidence_function *e = &f->evidence->functions[one - f->functions];
	const struct cfg_block *from = &one->function->blocks[block];
	double seen = 0;

	for (uint32_t i = from->first_succ; i < from->first_succ + from->succ_count; i++)
		seen += f->evidence->ways[e->first_edge + i].passes +
			f->evidence->ways[e->first_edge + i].recorded;
	return seen;
}

/* The high bound is what the best case allows, mostly: it goes up no further than the value. */
static void rescale(struct frequency_estimate *e, double factor)
{
	e->value *= factor;
	e->low *= factor;
	e->high = fmin(e->high * factor, fmax(e->high, e->value));
}

void frequency_rescale(struct frequency *f, double factor)
{
	for (size_t i = 0; i < f->evidence->block_count; i++)
		rescale(&f->block_count[i], factor);
	for (size_t i = 0; i < f->evidence->way_count; i++)
		rescale(&f->edge_count[i], factor);
	for (size_t i = 0; i < f->function_count; i++)
		rescale(&f->functions[i].entries, factor);
	rescale(&f->instructions, factor);
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

struct frequency_estimate cpi_estimate(double samples, struct sample_cycles each,
				       const struct frequency_estimate *count)
{
	struct frequency_estimate cpi = {.confidence = FREQUENCY_LOW};
	double below, above, noise;

	if (!(each.mean > 0)) {
		cpi.high = INFINITY;
		return cpi;
	}
	if (!(count->value > 0)) {
		/* It may not have run at all. */
		cpi.low = count->high > 0 ? samples * each.mean / count->high : 0;
		cpi.high = INFINITY;
		return cpi;
	}
	/* Half a sample more: none at all still leaves room for some. */
	noise = Z90 * hypot(1 / sqrt(samples + 0.5), each.deviation);
	below = hypot(log(count->high / count->value), noise);
	above = count->low > 0 ? hypot(log(count->value / count->low), noise) : INFINITY;
	cpi.value = samples * each.mean / count->value;
	cpi.low = cpi.value * exp(-below);
	cpi.high = (samples > 0 ? cpi.value : 0.5 * each.mean / count->value) * exp(above);
	if (fmax(below, above) <= 0.15)
		cpi.confidence = FREQUENCY_HIGH;
	else if (fmax(below, above) <= 0.405)
		cpi.confidence = FREQUENCY_MEDIUM;
	return cpi;
}
