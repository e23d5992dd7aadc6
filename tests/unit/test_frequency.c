/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analyze/frequency/frequency.h"
#include "analyze/frequency/frequency_spread.h"
#include "analyze/frequency/logsum.h"
#include "analyze/frequency/sparse.h"
#include "cfg/cfg.h"
#include "walked_program.h"

/* ---- sparse.h against elimination in full ---- */

#define SIZE 40

static void invert(double a[SIZE][SIZE], double out[SIZE][SIZE])
{
	memset(out, 0, sizeof(double[SIZE][SIZE]));
	for (int i = 0; i < SIZE; i++)
		out[i][i] = 1;
	for (int k = 0; k < SIZE; k++) {
		const double pivot = a[k][k];

		for (int j = 0; j < SIZE; j++) {
			a[k][j] /= pivot;
			out[k][j] /= pivot;
		}
		for (int i = 0; i < SIZE; i++) {
			const double factor = a[i][k];

			for (int j = 0; j < SIZE && i != k; j++) {
				a[i][j] -= factor * a[k][j];
				out[i][j] -= factor * out[k][j];
			}
		}
	}
}

static void test_sparse(void **unused)
{
	struct sparse_pair pairs[SIZE * 5];
	uint32_t places[SIZE * 5];
	double full[SIZE][SIZE] = {{0}}, inverse[SIZE][SIZE], x[SIZE], b[SIZE], diagonal[SIZE];
	struct sparse *s;
	size_t count = 0, values;

	(void)unused;
	state = 1;
	for (uint32_t i = 0; i < SIZE; i++)
		pairs[count++] = (struct sparse_pair){i, i};
	while (count < SIZE * 4)
		pairs[count++] = (struct sparse_pair){(uint32_t)(uniform() * SIZE),
						      (uint32_t)(uniform() * SIZE)};
	assert_int_equal(sparse_new(SIZE, pairs, count, places, &s), 0);
	for (size_t i = 0; i < count; i++) {
		const double v = i < SIZE ? 8 : uniform() - 0.5;

		sparse_values(s, &values)[places[i]] += v;
		full[pairs[i].row][pairs[i].column] += v;
		if (pairs[i].row != pairs[i].column)
			full[pairs[i].column][pairs[i].row] += v;
	}
	assert_int_equal(sparse_factor(s), 0);
	invert(full, inverse);
	assert_int_equal(sparse_inverse_diagonal(s, diagonal), 0);
	for (int i = 0; i < SIZE; i++)
		x[i] = b[i] = uniform();
	sparse_solve(s, x);
	for (int i = 0; i < SIZE; i++) {
		double sum = 0;

		for (int j = 0; j < SIZE; j++)
			sum += inverse[i][j] * b[j];
		assert_true(fabs(sum - x[i]) < 1e-9);
		assert_true(fabs(inverse[i][i] - diagonal[i]) < 1e-9);
	}
	sparse_values(s, &values)[places[0]] = -100;
	assert_int_equal(sparse_factor(s), -EDOM);
	sparse_free(s);
	assert_int_equal(sparse_new(0, pairs, count, places, &s), -EINVAL);
}

/* What would take too long is refused before it is begun: all beside all, 3e9 multiplications. */
static void test_refusal(void **unused)
{
	enum { BESIDE = 2000 };
	const size_t count = (size_t)BESIDE * (BESIDE + 1) / 2;
	struct sparse_pair *pairs = calloc(count, sizeof(*pairs));
	uint32_t *places = calloc(count, sizeof(*places));
	struct sparse *s = NULL;
	size_t n = 0;

	(void)unused;
	for (uint32_t i = 0; i < BESIDE; i++)
		for (uint32_t j = 0; j <= i; j++)
			pairs[n++] = (struct sparse_pair){i, j};
	assert_int_equal(sparse_new(BESIDE, pairs, count, places, &s), -E2BIG);
	assert_null(s);
	free(pairs);
	free(places);
}

/* ---- logsum.h: a sum of thirty unknowns, each measured once ---- */

static void test_logsum(void **unused)
{
	struct logsum *m = logsum_new();
	struct logsum_term terms[30];
	double variance[64], expected = 0;
	uint32_t total;

	(void)unused;
	for (uint32_t i = 0; i < 30; i++) {
		terms[i] = (struct logsum_term){logsum_variable(m, 0), 0};
		logsum_equation(m, terms[i].variable, NULL, 0, log(i + 1.0), 0.1);
		expected += i + 1.0;
	}
	total = logsum_variable(m, 0);
	logsum_equation(m, total, terms, 30, 0, 0);
	assert_int_equal(logsum_solve(m, 20), 0);
	assert_true(fabs(exp(logsum_value(m, total)) / expected - 1) < 0.001);
	assert_true(logsum_count(m) < 64);
	assert_int_equal(logsum_variances(m, NULL, variance), 0);
	assert_true(fabs(sqrt(variance[terms[3].variable]) - 0.1) < 0.002);
	/* Of the sum: sqrt(sum of (i * 0.1)^2) / sum of i. */
	assert_true(fabs(sqrt(variance[total]) - 0.1 * sqrt(9455) / 465) < 0.001);
	logsum_free(m);

	m = logsum_new();
	assert_int_equal(logsum_solve(m, 1), -EINVAL);
	logsum_free(m);
}

/* ---- whole programs ---- */

struct score {
	double worst;	    /* relative error of a block */
	unsigned held, all; /* blocks whose interval held the truth */
	unsigned high, high_right;
};

static void judge(const struct rows *r, const struct frequency *f, struct score *s)
{
	size_t count;
	const struct frequency_function *list = frequency_functions(f, &count);

	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		for (uint32_t b = 0; b < list[i].function->block_count; b++) {
			const uint64_t at = list[i].function->blocks[b].start - BASE;
			const struct frequency_estimate *e = &list[i].block_relative[b];
			const double truth = (double)r->truth[at] / (double)r->total;
			const double error = fabs(e->value / truth - 1);

			s->worst = fmax(s->worst, error);
			s->all++;
			s->held += e->low <= truth && truth <= e->high;
			s->high += e->confidence == FREQUENCY_HIGH;
			s->high_right += e->confidence == FREQUENCY_HIGH && error <= 0.15;
		}
	}
}

/* Twice as often: all counts with it, bounds of what is likely too, and no share of the whole. */
static void check_rescale(struct frequency *f, double factor)
{
	const struct frequency_function *one = frequency_find(f, 0, BASE + 1);
	const struct frequency_estimate all = frequency_instructions(f);
	const struct frequency_estimate count = one->block_count[0], share = one->block_relative[0];
	const struct frequency_estimate edge = one->edge_count[0];

	frequency_rescale(f, factor);
	assert_true(fabs(frequency_instructions(f).value / all.value / factor - 1) < 1e-9);
	assert_true(fabs(one->block_count[0].value - factor * count.value) <= 1e-9 * count.value);
	assert_true(fabs(one->block_count[0].low - factor * count.low) <= 1e-9 * count.low);
	assert_true(one->block_count[0].high <= fmax(count.high, one->block_count[0].value));
	assert_true(fabs(one->edge_count[0].value - factor * edge.value) <= 1e-9 * edge.value);
	assert_true(one->block_relative[0].value == share.value);
}

static void estimate(const struct rows *r, const struct program *p, bool edges,
		     enum frequency_method method, struct score *s)
{
	const struct evidence_image image = {.cfg = p->image,
					     .samples = r->samples,
					     .sample_count = r->sample_count,
					     .edges = r->edges,
					     .edge_count = edges ? r->edge_count : 0};
	const struct frequency_options options = {.method = method, .cycles_per_sample = 1e6};
	struct evidence_totals totals;
	struct evidence *e;
	struct frequency *f;

	assert_int_equal(evidence_new(&e, NULL), 0);
	assert_int_equal(evidence_add_image(e, &image, NULL), 0);
	assert_int_equal(evidence_build(e, NULL), 0);
	evidence_totals(e, &totals);
	assert_int_equal(totals.samples, totals.samples_placed);
	assert_int_equal(totals.edges, totals.edges_placed);
	assert_int_equal(frequency_new(e, &options, &f, NULL), 0);
	assert_non_null(frequency_find(f, 0, BASE + 1));
	assert_null(frequency_find(f, 1, BASE + 1));
	assert_true(frequency_instructions(f).value > 0);
	judge(r, f, s);
	check_rescale(f, 2);
	check_rescale(f, 0.1);
	frequency_free(f);
	evidence_free(e);
}

static void test_windows(void **unused)
{
	uint64_t at[BRANCHES];
	struct program p;
	struct rows *r = malloc(sizeof(*r));
	struct score many = {0}, classic = {0}, score = {0};

	(void)unused;
	make_program(&p, at);
	state = 7;
	run(r, &p, at, 20000);
	estimate(r, &p, true, FREQUENCY_FLOW, &many);
	assert_true(many.worst < 0.08);
	estimate(r, &p, false, FREQUENCY_CLASSIC, &classic);
	assert_true(classic.worst > many.worst);
	/*
	 * 100 programs of few windows. Intervals are to hold in 90% of cases; blocks of a program
	 * are not independent, so 100 draws count: fewer than 80 has a chance of 0.1%. The same for
	 * high confidence.
	 */
	for (int i = 0; i < 100; i++) {
		run(r, &p, at, 200);
		estimate(r, &p, true, FREQUENCY_FLOW, &score);
	}
	assert_true(score.held >= 0.8 * score.all);
	assert_true(score.high_right >= 0.8 * score.high);
	cfg_image_free(p.image);
	free(r);
}

/* Branch records have taken branches only, and `instructions` samples tell the absolute scale. */
static void test_hardware(void **unused)
{
	static struct evidence_edge edges[CODE_MAX];
	static struct evidence_sample executed[CODE_MAX];
	const struct frequency_options options = {.cycles_per_sample = 1e6,
						  .instructions_per_sample = 50};
	struct evidence_image image = {.edges = edges, .executed = executed};
	struct rows *r = malloc(sizeof(*r));
	struct score records = {0}, both = {0};
	uint64_t at[BRANCHES];
	struct frequency *f;
	struct program p;

	(void)unused;
	make_program(&p, at);
	state = 9;
	run(r, &p, at, 5000);
	image.cfg = p.image;
	for (uint64_t i = 0; i < CODE_MAX; i++) {
		for (uint64_t j = 0; j < CODE_MAX; j++) {
			if (r->jumps[i][j])
				edges[image.edge_count++] = (struct evidence_edge){
					BASE + i, BASE + j, r->jumps[i][j] / 20,
					.evidence = DB_EVIDENCE_RECORDS};
		}
	}
	for (int pass = 0; pass < 2; pass++) {
		struct evidence *e;

		for (uint64_t i = 0; pass && i < CODE_MAX; i++) {
			if (r->truth[i])
				executed[image.executed_count++] =
					(struct evidence_sample){BASE + i, r->truth[i] / 50};
		}
		assert_int_equal(evidence_new(&e, NULL), 0);
		assert_int_equal(evidence_add_image(e, &image, NULL), 0);
		assert_int_equal(evidence_build(e, NULL), 0);
		assert_int_equal(frequency_new(e, &options, &f, NULL), 0);
		judge(r, f, pass ? &both : &records);
		if (pass) {
			const struct frequency_estimate all = frequency_instructions(f);

			assert_true(fabs(all.value / (double)r->total - 1) < 0.02);
			assert_int_equal(all.confidence, FREQUENCY_HIGH);
		}
		frequency_free(f);
		evidence_free(e);
	}
	assert_true(records.worst < 0.06);
	assert_true(both.worst < 0.06);
	assert_true(both.high > both.all / 2 && both.high_right == both.high);
	cfg_image_free(p.image);
	free(r);
}

/*
 * An interpreter: so many operations, each of which ends in the same jump through a table. As many
 * ways as their square are too much for the flow, but for one web of them (frequency_web.h).
 */
#define OPERATIONS 250
#define OPERATION  10 /* bytes */
#define TABLE	   0x9000

static struct cfg_image *make_interpreter(void)
{
	static uint8_t code[OPERATIONS * OPERATION];
	static uint64_t table[256];
	static struct cfg_bytes bytes, data;
	static struct cfg_extent extent;
	static struct cfg_source source;
	struct cfg_image *image;

	for (size_t i = 0; i < OPERATIONS; i++)
		memcpy(code + i * OPERATION, "\x0f\xb6\x07\xff\x24\xc5\x00\x90\x00\x00", OPERATION);
	for (size_t i = 0; i < 256; i++)
		table[i] = BASE + i % OPERATIONS * OPERATION;
	bytes = (struct cfg_bytes){BASE, code, sizeof(code)};
	data = (struct cfg_bytes){TABLE, (const uint8_t *)table, sizeof(table)};
	extent = (struct cfg_extent){BASE, sizeof(code), "run", true, false};
	source = (struct cfg_source){.machine = 62,
				     .bits = 64,
				     .code = &bytes,
				     .code_count = 1,
				     .data = &data,
				     .data_count = 1,
				     .extents = &extent,
				     .extent_count = 1};
	assert_int_equal(cfg_image_new(&source, &image, NULL), 0);
	return image;
}

/* What leaves a block and what enters it, over what it executes. */
static void check_flow(const struct frequency_function *f)
{
	const struct cfg_function *c = f->function;

	for (uint32_t b = 0; b < c->block_count; b++) {
		const struct cfg_block *block = &c->blocks[b];
		const double own = f->block_relative[b].value;
		double out = 0, in = 0;

		for (uint32_t i = 0; i < block->succ_count; i++)
			out += f->edge_relative[block->first_succ + i].value;
		for (uint32_t i = 0; i < block->pred_count; i++)
			in += f->edge_relative[c->preds[block->first_pred + i]].value;
		assert_true(fabs(out / own - 1) < 0.05);
		assert_true(fabs(in / own - 1) < 0.05);
	}
}

static void test_web(void **unused)
{
	const struct frequency_options options = {.cycles_per_sample = 1e6};
	struct evidence_sample samples[OPERATIONS];
	struct evidence_image image = {
		.cfg = make_interpreter(), .samples = samples, .sample_count = OPERATIONS};
	const struct frequency_function *f;
	struct frequency *all;
	struct evidence *e;

	(void)unused;
	for (size_t i = 0; i < OPERATIONS; i++)
		samples[i] = (struct evidence_sample){BASE + i * OPERATION, i % 2 ? 20 : 2000};
	assert_int_equal(evidence_new(&e, NULL), 0);
	assert_int_equal(evidence_add_image(e, &image, NULL), 0);
	assert_int_equal(evidence_build(e, NULL), 0);
	assert_int_equal(frequency_new(e, &options, &all, NULL), 0);
	assert_false(frequency_is_classic(all));
	f = frequency_find(all, 0, BASE);
	assert_non_null(f);
	assert_int_equal(f->function->block_count, OPERATIONS);
	assert_int_equal(f->function->blocks[1].succ_count, OPERATIONS);
	assert_true(f->block_relative[2].value > 5 * f->block_relative[3].value);
	check_flow(f);
	frequency_free(all);
	evidence_free(e);
	cfg_image_free(image.cfg);
}

/* ---- nothing, and cpi.h ---- */

static void test_empty(void **unused)
{
	const struct frequency_options options = {0};
	const struct evidence_sample sample = {5, 7};
	const struct evidence_image image = {.samples = &sample, .sample_count = 1};
	struct evidence_totals totals;
	struct evidence *e;
	struct frequency *f;
	size_t count;

	(void)unused;
	assert_int_equal(evidence_new(&e, NULL), 0);
	assert_int_equal(evidence_add_image(e, &image, NULL), 0);
	assert_int_equal(evidence_build(e, NULL), 0);
	evidence_totals(e, &totals);
	assert_int_equal(totals.samples, 7);
	assert_int_equal(totals.samples_placed, 0);
	assert_int_equal(frequency_new(e, &options, &f, NULL), 0);
	frequency_functions(f, &count);
	assert_int_equal(count, 0);
	assert_null(frequency_find(f, 0, 5));
	frequency_free(f);
	evidence_free(e);
}

/* ---- what nobody saw run ---- */

/* The loop of the leaf alone was seen, as often as it goes on: who knows how often it was entered.
 */
static void check_unseen(enum frequency_method method, size_t edge_count)
{
	const struct frequency_options options = {.method = method, .cycles_per_sample = 1e6};
	struct evidence_sample sample = {BASE + 2, 100};
	struct evidence_edge edges[3];
	struct evidence_image image = {.samples = &sample, .sample_count = 1, .edges = edges};
	const struct frequency_function *list;
	uint64_t at[BRANCHES];
	struct frequency *f;
	struct evidence *e;
	struct program p;
	size_t count;

	make_program(&p, at);
	edges[0] = (struct evidence_edge){EVIDENCE_START, BASE + 2, 100, .windows = 100};
	edges[1] = (struct evidence_edge){at[LEAF_LOOP], BASE + 2, 10000};
	edges[2] = (struct evidence_edge){BASE + 2, EVIDENCE_END, 100, .windows = 100};
	for (size_t i = 0; i < 3; i++)
		edges[i].evidence = DB_EVIDENCE_WINDOWS;
	image.cfg = p.image;
	image.edge_count = edge_count;
	assert_int_equal(evidence_new(&e, NULL), 0);
	assert_int_equal(evidence_add_image(e, &image, NULL), 0);
	assert_int_equal(evidence_build(e, NULL), 0);
	assert_int_equal(frequency_new(e, &options, &f, NULL), 0);
	list = frequency_functions(f, &count);
	assert_true(count >= 1);
	for (uint32_t b = 0; b < list[0].function->block_count; b++) {
		assert_true(list[0].block_count[b].high > list[0].block_count[b].low);
		assert_true(list[0].block_relative[b].high > list[0].block_relative[b].low);
	}
	for (uint32_t i = 0; i < list[0].function->edge_count; i++)
		assert_true(list[0].edge_count[i].high > list[0].edge_count[i].low);
	assert_true(list[0].entries.high > list[0].entries.low);
	if (edge_count) {
		/* The first block and the way in were not visited, the loop 10,000 times. */
		assert_true(list[0].entries.value == 0 && list[0].entries.low == 0);
		assert_true(list[0].entries.confidence == FREQUENCY_LOW);
		assert_true(list[0].block_relative[0].value == 0);
		assert_true(list[0].block_relative[0].high <
			    0.01 * list[0].block_relative[1].value);
		assert_true(list[0].block_relative[0].high >
			    1e-4 * list[0].block_relative[1].value);
	}
	frequency_free(f);
	evidence_free(e);
	cfg_image_free(p.image);
}

static void test_unseen(void **unused)
{
	(void)unused;
	check_unseen(FREQUENCY_FLOW, 3);
	check_unseen(FREQUENCY_FLOW, 0);
	check_unseen(FREQUENCY_CLASSIC, 0);
}

/* ---- frequency_spread.h ---- */

/*
 * One cause may be off by much, in the direction in which it was seen to be; several less; and
 * nothing runs so often that it would be faster than a third of the best case.
 */
static void test_slowness(void **unused)
{
	const struct frequency_spread one = frequency_slowness(1, INFINITY);
	const struct frequency_spread many = frequency_slowness(16, INFINITY);
	const struct frequency_spread best = frequency_slowness(1, 1);
	const struct frequency_spread impossible = frequency_slowness(1, 0.1);
	const struct frequency_spread joined = frequency_spread_join(
		(struct frequency_spread){3, 0}, (struct frequency_spread){4, 1});

	(void)unused;
	assert_true(one.below > log(28) && one.below < log(32));
	assert_true(one.above > log(17) && one.above < log(19));
	assert_true(fabs(many.below - one.below / 4) < 1e-9);
	assert_true(fabs(many.above - one.above / 4) < 1e-9);
	assert_true(best.below == one.below && best.above < log(3.5) && best.above > log(3));
	assert_true(impossible.above == 0);
	assert_true(joined.below == 5 && joined.above == 1);
	/* Nothing and less than one cause are one. */
	assert_true(frequency_slowness(0, INFINITY).below == one.below);
}

/* Blocks of the same form are one cause. */
static void test_causes(void **unused)
{
	struct cfg_block blocks[4] = {{0}};
	struct cfg_function function = {.blocks = blocks, .block_count = 4};
	struct evidence_block seen[4] = {{0}};
	struct evidence e = {.blocks = seen, .block_count = 4};
	const struct evidence_function f = {.function = &function};

	(void)unused;
	assert_true(frequency_causes(&e, &f) == 1);
	for (int i = 0; i < 4; i++) {
		blocks[i].instruction_count = 3;
		seen[i].cost = 2;
		seen[i].samples = 10;
	}
	assert_true(frequency_causes(&e, &f) == 1);
	seen[0].cost = 1;
	assert_true(fabs(frequency_causes(&e, &f) - 1600.0 / 1000) < 1e-9);
	blocks[1].instruction_count = 4;
	seen[3].samples = 0;
	assert_true(fabs(frequency_causes(&e, &f) - 3) < 1e-9);
}

static void test_cpi(void **unused)
{
	const struct frequency_estimate count = {1000, 900, 1111, FREQUENCY_HIGH};
	const struct sample_cycles each = {0.2, 0};
	struct frequency_estimate c = cpi_estimate(10000, each, &count);

	(void)unused;
	assert_true(fabs(c.value - 2) < 1e-9);
	assert_true(c.low < 1.8 + 0.01 && c.low > 1.7 && c.high > 2.2 && c.high < 2.3);
	assert_int_equal(c.confidence, FREQUENCY_HIGH);
	c = cpi_estimate(2, each, &count);
	assert_int_equal(c.confidence, FREQUENCY_LOW);
	c = cpi_estimate(0, each, &count);
	assert_true(c.value == 0 && c.high > 0);
	/* The CPI is low where the count is high. */
	c = cpi_estimate(10000, each,
			 &(struct frequency_estimate){1000, 500, 10000, FREQUENCY_LOW});
	assert_true(fabs(c.low - 0.2) < 0.01 && fabs(c.high - 4) < 0.01);
	/* Where it is not known whether it ran, the CPI has no end. */
	c = cpi_estimate(5, each, &(struct frequency_estimate){0, 0, 100, FREQUENCY_LOW});
	assert_true(c.value == 0 && fabs(c.low - 0.01) < 1e-9 && isinf(c.high));
	c = cpi_estimate(5, each, &(struct frequency_estimate){0});
	assert_true(c.value == 0 && isinf(c.high) && c.confidence == FREQUENCY_LOW);
	/* However many samples: no better than the clock is known. */
	c = cpi_estimate(1e9, (struct sample_cycles){0.2, 0.05},
			 &(struct frequency_estimate){1000, 1000, 1000, FREQUENCY_COUNTED});
	assert_true(fabs(log(c.high / c.value) - 1.645 * 0.05) < 1e-3);
	assert_true(fabs(log(c.value / c.low) - 1.645 * 0.05) < 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sparse),	 cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_logsum),	 cmocka_unit_test(test_windows),
		cmocka_unit_test(test_hardware), cmocka_unit_test(test_web),
		cmocka_unit_test(test_empty),	 cmocka_unit_test(test_cpi),
		cmocka_unit_test(test_slowness), cmocka_unit_test(test_causes),
		cmocka_unit_test(test_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
