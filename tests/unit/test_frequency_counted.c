/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analyze/frequency/frequency.h"
#include "walked_program.h"

/* Executions that were counted, as evidence. */

#define COUNTED_MAX (64 + CODE_MAX * 8)

/* What is counted of a run, and who says so. */
struct counting {
	struct evidence_edge edges[COUNTED_MAX];
	size_t count;
	uint32_t epochs; /* of the samples */
};

static uint64_t last_of(const struct cfg_function *f, uint32_t block)
{
	const struct cfg_block *b = &f->blocks[block];

	return f->instructions[b->first_instruction + b->instruction_count - 1].address;
}

/* How often a way was taken. */
static uint64_t times(const struct rows *r, const struct cfg_function *f, const struct cfg_edge *e)
{
	const uint64_t last = e->from == CFG_OUTSIDE ? 0 : last_of(f, e->from) - BASE;
	uint64_t other = 0;

	if (e->from == CFG_OUTSIDE) {
		for (uint32_t i = 0; i < f->edge_count; i++)
			if (&f->edges[i] != e && f->edges[i].to == e->to)
				other += times(r, f, &f->edges[i]);
		return r->truth[f->blocks[e->to].start - BASE] - other;
	}
	if (e->kind == CFG_TAKEN || e->kind == CFG_JUMP)
		return r->jumps[last][f->blocks[e->to].start - BASE];
	if (f->instructions[f->blocks[e->from].first_instruction +
			    f->blocks[e->from].instruction_count - 1]
		    .branch != ISA_BRANCH_CONDITIONAL)
		return r->truth[last];
	for (uint64_t to = 0; to < CODE_MAX; to++)
		other += r->jumps[last][to];
	return r->truth[last] - other;
}

static void count_function(struct counting *c, const struct rows *r, const struct cfg_function *f)
{
	for (uint32_t i = 0; i < f->edge_count; i++) {
		const struct cfg_edge *e = &f->edges[i];
		const uint64_t count = times(r, f, e);

		assert_true(c->count < COUNTED_MAX);
		if (count)
			c->edges[c->count++] = (struct evidence_edge){
				e->from == CFG_OUTSIDE ? EVIDENCE_START : last_of(f, e->from),
				e->to == CFG_OUTSIDE ? EVIDENCE_END : f->blocks[e->to].start, count,
				.evidence = DB_EVIDENCE_COUNTS, .epoch = 1};
	}
}

static struct frequency *count_up(const struct rows *r, const struct program *p,
				  const struct counting *c, enum frequency_method method,
				  struct evidence **ret_e, struct evidence_totals *ret_totals)
{
	const struct frequency_options options = {.method = method, .cycles_per_sample = 266};
	const struct evidence_image image = {.cfg = p->image,
					     .samples = r->samples,
					     .sample_count = r->sample_count,
					     .edges = c->edges,
					     .edge_count = c->count};
	struct frequency *f;

	assert_int_equal(evidence_new(ret_e, NULL), 0);
	assert_int_equal(evidence_add_image(*ret_e, &image, NULL), 0);
	evidence_set_counted(*ret_e, c->epochs);
	assert_int_equal(evidence_build(*ret_e, NULL), 0);
	evidence_totals(*ret_e, ret_totals);
	assert_int_equal(frequency_new(*ret_e, &options, &f, NULL), 0);
	return f;
}

static bool is_exact(const struct frequency_estimate *e, uint64_t truth)
{
	return e->value == (double)truth && e->low == e->value && e->high == e->value &&
	       e->confidence == FREQUENCY_COUNTED;
}

/* Every block and edge of a function that was counted is what was counted, by either method. */
static void check_exact(const struct rows *r, const struct frequency_function *f)
{
	assert_true(f->counted);
	for (uint32_t b = 0; b < f->function->block_count; b++)
		assert_true(is_exact(&f->block_count[b],
				     r->truth[f->function->blocks[b].start - BASE]));
	for (uint32_t i = 0; i < f->function->edge_count; i++)
		assert_true(
			is_exact(&f->edge_count[i], times(r, f->function, &f->function->edges[i])));
	assert_true(is_exact(&f->entries, (uint64_t)f->entries.value));
}

static void test_counted_whole(void **unused)
{
	struct rows *r = malloc(sizeof(*r));
	const struct frequency_function *list;
	struct evidence_totals totals;
	uint64_t at[BRANCHES];
	struct program p;
	size_t count;

	(void)unused;
	make_program(&p, at);
	state = 11;
	run(r, &p, at, 2000);
	for (int method = 0; method < 2; method++) {
		struct counting c = {.epochs = 1};
		struct frequency_estimate all, cpi;
		const struct cfg_function *f;
		struct frequency *q;
		struct evidence *e;

		for (int i = 0; i < 2; i++) {
			assert_int_equal(cfg_image_function(p.image, p.extents[i].start, &f), 0);
			count_function(&c, r, f);
		}
		q = count_up(r, &p, &c, method ? FREQUENCY_CLASSIC : FREQUENCY_FLOW, &e, &totals);
		list = frequency_functions(q, &count);
		assert_int_equal(count, 2);
		check_exact(r, &list[0]);
		check_exact(r, &list[1]);
		assert_int_equal(totals.functions_counted, 2);
		assert_int_equal(totals.samples_counted, totals.samples);
		all = frequency_instructions(q);
		assert_true(is_exact(&all, r->total));
		/* Cycles are as well known as the samples are many. */
		cpi = cpi_estimate(10000, (struct sample_cycles){266, 0}, &list[0].block_count[0]);
		assert_true(cpi.value == 10000 * 266 / list[0].block_count[0].value);
		assert_true(cpi.low > 0.98 * cpi.value && cpi.high < 1.02 * cpi.value);
		frequency_free(q);
		evidence_free(e);
	}
	cfg_image_free(p.image);
	free(r);
}

/* One function counted: it is exact, and where it has most of the samples the other gets its scale
 * from it; else from what programs usually cost. Their cycles an instruction are alike here. */
static void test_counted_scale(void **unused)
{
	struct rows *r = malloc(sizeof(*r));
	struct counting *c = malloc(sizeof(*c));
	const struct cfg_function *f;
	struct evidence_totals totals;
	uint64_t at[BRANCHES];
	struct program p;
	int most = 0;

	(void)unused;
	make_program(&p, at);
	state = 12;
	run(r, &p, at, 5000);
	for (int which = 0; which < 2; which++) {
		const struct frequency_function *other;
		struct frequency_estimate all;
		struct frequency *q;
		struct evidence *e;
		double ratio;

		memcpy(c->edges, r->edges, r->edge_count * sizeof(*r->edges));
		c->count = r->edge_count;
		c->epochs = 1;
		assert_int_equal(cfg_image_function(p.image, p.extents[which].start, &f), 0);
		count_function(c, r, f);
		q = count_up(r, &p, c, FREQUENCY_FLOW, &e, &totals);
		check_exact(r, frequency_find(q, 0, p.extents[which].start));
		other = frequency_find(q, 0, p.extents[!which].start);
		assert_false(other->counted);
		assert_true(other->block_count[0].confidence < FREQUENCY_COUNTED);
		ratio = other->block_count[0].value /
			(double)r->truth[other->function->blocks[0].start - BASE];
		if (2 * totals.samples_counted >= totals.samples) {
			assert_true(ratio > 0.8 && ratio < 1.25);
			most++;
		} else {
			assert_true(ratio < 0.8 || ratio > 1.25);
		}
		all = frequency_instructions(q);
		assert_true(all.low < (double)r->total && all.high > (double)r->total);
		frequency_free(q);
		evidence_free(e);
	}
	assert_int_equal(most, 1);
	cfg_image_free(p.image);
	free(c);
	free(r);
}

/* Counts of other runs than the samples tell the ratios of branches, and no scale. */
static void test_counted_part(void **unused)
{
	struct rows *r = malloc(sizeof(*r));
	struct counting c = {.epochs = 2}, none = {.epochs = 0};
	const struct frequency_function *part, *alone;
	const struct cfg_function *f;
	struct evidence_totals totals;
	struct frequency *q, *without;
	struct evidence *e, *empty;
	uint64_t at[BRANCHES];
	struct program p;

	(void)unused;
	make_program(&p, at);
	state = 13;
	run(r, &p, at, 2000);
	assert_int_equal(cfg_image_function(p.image, BASE, &f), 0);
	count_function(&c, r, f);
	without = count_up(r, &p, &none, FREQUENCY_FLOW, &empty, &totals);
	alone = frequency_find(without, 0, BASE);
	for (c.epochs = 2;; c.epochs = 0) {
		q = count_up(r, &p, &c, FREQUENCY_FLOW, &e, &totals);
		part = frequency_find(q, 0, BASE);
		assert_false(part->counted);
		assert_int_equal(totals.functions_part, 1);
		assert_int_equal(totals.functions_counted, 0);
		assert_true(part->block_count[1].confidence < FREQUENCY_COUNTED);
		/* The loop goes around four times. */
		assert_true(fabs(part->block_count[1].value / part->block_count[0].value - 4) <
			    0.4);
		assert_true(fabs(log(frequency_instructions(q).value /
				     frequency_instructions(without).value)) < 0.5);
		frequency_free(q);
		evidence_free(e);
		if (!c.epochs)
			break;
	}
	assert_false(alone->counted);
	frequency_free(without);
	evidence_free(empty);
	cfg_image_free(p.image);
	free(r);
}

/* Counts that do not fit the code are left out; who shares targets is told apart by their shares.
 */
static void test_counted_strange(void **unused)
{
	struct rows *r = malloc(sizeof(*r));
	const struct frequency_function *list;
	struct counting c = {.epochs = 1};
	const struct cfg_function *f;
	struct evidence_totals totals;
	uint64_t at[BRANCHES], gone = 0;
	struct frequency *q;
	struct evidence *e;
	struct program p;

	(void)unused;
	make_program(&p, at);
	state = 14;
	run(r, &p, at, 2000);
	assert_int_equal(cfg_image_function(p.image, p.extents[1].start, &f), 0);
	count_function(&c, r, f);
	for (size_t i = 0; i < c.count; i++)
		if (c.edges[i].from == at[MAIN_SKIP]) {
			c.edges[i].from = EVIDENCE_START;
			gone += c.edges[i].count;
		}
	c.edges[c.count++] = (struct evidence_edge){at[MAIN_SKIP], EVIDENCE_END, gone,
						    .evidence = DB_EVIDENCE_COUNTS, .epoch = 1};
	/* A call that did not return does not make the way behind it less known. */
	for (uint32_t i = 0; i < f->edge_count; i++)
		if (f->edges[i].kind == CFG_AFTER_CALL)
			c.edges[c.count++] = (struct evidence_edge){
				last_of(f, f->edges[i].from), EVIDENCE_END, 3,
				.evidence = DB_EVIDENCE_COUNTS, .epoch = 1};
	q = count_up(r, &p, &c, FREQUENCY_FLOW, &e, &totals);
	list = frequency_find(q, 0, p.extents[1].start);
	assert_true(list->counted);
	for (uint32_t b = 0; b < f->block_count; b++)
		assert_true(is_exact(&list->block_count[b], r->truth[f->blocks[b].start - BASE]));
	for (uint32_t i = 0; i < f->edge_count; i++) {
		const double truth = (double)times(r, f, &f->edges[i]);

		assert_true(fabs(list->edge_count[i].value - truth) < 1);
		assert_true(list->edge_count[i].low <= truth && list->edge_count[i].high >= truth);
		assert_int_equal(list->edge_count[i].confidence,
				 f->edges[i].from != CFG_OUTSIDE &&
						 last_of(f, f->edges[i].from) == at[MAIN_SKIP]
					 ? FREQUENCY_LOW
					 : FREQUENCY_COUNTED);
	}
	frequency_free(q);
	evidence_free(e);
	c.edges[c.count - 1] = (struct evidence_edge){at[MAIN_SKIP] - 1, f->blocks[0].start, 5,
						      .evidence = DB_EVIDENCE_COUNTS, .epoch = 1};
	q = count_up(r, &p, &c, FREQUENCY_FLOW, &e, &totals);
	assert_false(frequency_find(q, 0, p.extents[1].start)->counted);
	assert_int_equal(totals.functions_misfit, 1);
	frequency_free(q);
	evidence_free(e);
	/* It was left and never entered: nothing ran, and shares of nothing are not known. */
	c.edges[0] = (struct evidence_edge){at[MAIN_SKIP], EVIDENCE_END, 5,
					    .evidence = DB_EVIDENCE_COUNTS, .epoch = 1};
	c.count = 1;
	r->sample_count = 0;
	q = count_up(r, &p, &c, FREQUENCY_FLOW, &e, &totals);
	list = frequency_find(q, 0, p.extents[1].start);
	assert_true(list->counted && is_exact(&list->block_count[0], 0));
	assert_true(list->block_relative[0].value == 0 && list->block_relative[0].low == 0);
	frequency_free(q);
	evidence_free(e);
	cfg_image_free(p.image);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counted_whole),
		cmocka_unit_test(test_counted_scale),
		cmocka_unit_test(test_counted_part),
		cmocka_unit_test(test_counted_strange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
