/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The modelled core's parts, and traces made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "instsample/pair.h"
#include "sim/sim.h"

#define ROUNDS	  2000
#define BLOCK_AT  64 /* in the code, after a mapping's record */
#define CODE_USED 128
#define ADDRESS	  0x401000

/* dec %rdi; jnz: a loop of two instructions. */
static const uint8_t loop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb};

struct made {
	struct wire_head head;
	uint8_t code[CODE_USED];
	uint64_t words[ROUNDS];
};

static struct made *make_trace(void)
{
	struct made *m = calloc(1, sizeof(*m));
	struct wire_mapping *map = (void *)m->code;
	struct wire_block *block = (void *)(m->code + BLOCK_AT);
	uint8_t *sizes = (uint8_t *)(block + 1);

	assert_non_null(m);
	m->head.magic = WIRE_MAGIC;
	m->head.code_used = CODE_USED;
	m->head.lanes[0].state = WIRE_ENDED;
	m->head.lanes[0].written = ROUNDS;
	map->head = (struct wire_record_head){WIRE_RECORD_MAPPING, BLOCK_AT};
	map->path_bytes = 4;
	memcpy(map + 1, "/one", 4);
	block->head = (struct wire_record_head){WIRE_RECORD_BLOCK, CODE_USED - BLOCK_AT};
	block->address = ADDRESS;
	block->offset = 0x1000;
	block->count = 2;
	block->bytes = sizeof(loop);
	sizes[0] = 3;
	sizes[1] = 2;
	memcpy(sizes + 2, loop, sizeof(loop));
	for (size_t i = 0; i < ROUNDS; i++)
		m->words[i] = (uint64_t)WIRE_BLOCK << WIRE_KIND_SHIFT | BLOCK_AT / 8;
	return m;
}

static struct sim_options options_of(unsigned every)
{
	struct sim_options o = {.schedule = {every, 200, 50}, .period = 100, .seed = 1};

	sim_config_init(&o.config, machine_core_by_name("zen3"));
	return o;
}

static void run(const void *data, size_t size, int expected, struct sim_result *result)
{
	const struct sim_options o = options_of(1);
	struct diag diag = {""};
	struct sim *s;

	assert_int_equal(sim_new(&o, &s, &diag), 0);
	assert_int_equal(sim_run_trace(s, data, size, result, &diag), expected);
	if (!expected && result->total.observed) {
		const struct sim_truth *t = sim_read_truth(s);

		assert_int_equal(sim_code_site(sim_read_code(s), 0)->address, ADDRESS);
		assert_int_equal(t->rows[0].events[INST_RETIRED], ROUNDS);
		assert_int_equal(t->rows[1].events[INST_TAKEN], ROUNDS - 1);
		/* What was fetched retired, or was thrown away. */
		assert_int_equal(t->rows[0].fetched, ROUNDS + t->rows[0].events[INST_ABORTED]);
	}
	sim_free(s);
}

static void test_a_trace(void **state)
{
	struct made *m = make_trace();
	struct sim_result result;

	(void)state;
	run(m, sizeof(*m), 0, &result);
	assert_int_equal(result.total.instructions, 2 * ROUNDS);
	assert_int_equal(result.threads, 1);
	/* A chain of one cycle a round, after code that no cache has. */
	assert_in_range(result.total.cycles, ROUNDS, 2 * ROUNDS);
	free(m);
}

static void test_traces_that_lie(void **state)
{
	struct made *m = make_trace();
	struct wire_block *block = (void *)(m->code + BLOCK_AT);
	struct sim_result result;

	(void)state;
	run(m, 10, -EBADMSG, &result);
	m->head.code_used = UINT64_MAX;
	run(m, sizeof(*m), -EBADMSG, &result);
	m->head.code_used = CODE_USED;
	block->bytes = 1000; /* more than the record has */
	run(m, sizeof(*m), 0, &result);
	assert_int_equal(result.total.blocks_unknown, ROUNDS);
	block->bytes = sizeof(loop);
	m->words[0] = UINT64_MAX; /* no word */
	m->words[1] = (uint64_t)WIRE_BLOCK << WIRE_KIND_SHIFT | 12345678;
	m->head.lanes[0].written = UINT64_MAX;
	const struct sim_options o = options_of(1);
	struct diag diag = {""};
	struct sim *s;
	assert_int_equal(sim_new(&o, &s, &diag), 0);
	assert_int_equal(sim_run_trace(s, m, sizeof(*m), &result, &diag), 0);
	assert_int_equal(result.total.instructions, 2 * (ROUNDS - 2));
	assert_int_equal(result.trace.damaged, 1);
	assert_int_equal(result.total.blocks_unknown, 1);
	sim_free(s);
	free(m);
}

/* Between windows only the caches and the predictor go on, and nothing is observed. */
static void test_windows(void **state)
{
	const struct sim_options o = options_of(4);
	struct made *m = make_trace();
	struct sim_result result;
	struct diag diag = {""};
	struct sim *s;

	(void)state;
	assert_int_equal(sim_new(&o, &s, &diag), 0);
	assert_int_equal(sim_run_trace(s, m, sizeof(*m), &result, &diag), 0);
	assert_int_equal(result.total.instructions, 2 * ROUNDS);
	assert_int_equal(result.total.warmed + result.total.unobserved + result.total.observed,
			 2 * ROUNDS);
	assert_in_range(result.total.observed, 2 * ROUNDS / 8, 2 * ROUNDS / 2);
	sim_free(s);
	free(m);
}

static void count_pair(void *arg, const struct sim_pair *pair)
{
	uint64_t *counts = arg;

	assert_in_range(pair->distance, 1, 16);
	assert_int_equal(pair->other.site, (pair->first.site + pair->distance) % 7);
	counts[pair->first.site]++;
}

/* A loop of seven: each is chosen as often as the others, and the other half follows. */
static void test_the_sampler(void **state)
{
	uint64_t counts[7] = {0}, sum = 0;
	struct sim_sampler s = {.take = count_pair, .arg = counts};
	struct sim_half half = {.site = 0};

	(void)state;
	sim_sampler_init(&s, 70, 16, 1);
	for (unsigned i = 0; i < 700000; i++) {
		half.site = i % 7;
		half.fetch = i;
		if (sim_sampler_chooses(&s))
			sim_sampler_take(&s, &half);
	}
	for (unsigned i = 0; i < 7; i++) {
		assert_in_range(counts[i], 1429 - 150, 1429 + 150);
		sum += counts[i];
	}
	assert_in_range(sum, 10000 - 300, 10000 + 300);
	assert_int_equal(s.refused, 0);
}

static void test_the_predictor(void **state)
{
	struct predictor p;
	unsigned wrong = 0;

	(void)state;
	assert_int_equal(predictor_init(&p, 16), 0);
	/* Every seventh time: no table without history can tell. */
	for (unsigned i = 0; i < 20000; i++) {
		bool taken = i % 7 == 0;

		wrong += predictor_learn(&p, 0x1234, taken) != taken && i >= 10000;
		predictor_push_direction(&p, taken);
	}
	assert_in_range(wrong, 0, 100);
	predictor_push_call(&p, 0x77);
	predictor_push_call(&p, 0x88);
	assert_int_equal(predictor_return(&p), 0x88);
	assert_int_equal(predictor_return(&p), 0x77);
	predictor_learn_target(&p, 0x99, 0x1000);
	assert_int_equal(predictor_target(&p, 0x99), 0x1000);
	predictor_free(&p);
}

static void test_the_caches(void **state)
{
	struct sim_options o = options_of(1);
	struct memory_shared shared;
	struct memory_access a;
	struct memory m;

	(void)state;
	o.config.prefetch_lines = o.config.stride_ahead = 0;
	assert_int_equal(memory_shared_init(&shared, &o.config), 0);
	assert_int_equal(memory_init(&m, &o.config, &shared), 0);
	m.timed = true;
	memory_data(&m, 0x10000, 1, 1000, &a);
	assert_true(a.met & MEMORY_L1_MISS && a.met & MEMORY_L3_MISS && a.met & MEMORY_TLB_WALK);
	assert_in_range(a.ready, 1000 + o.config.core.memory_cycles, 3000);
	memory_data(&m, 0x10008, 1, 1500, &a); /* on its way, or there */
	memory_data(&m, 0x10010, 1, 5000, &a);
	assert_int_equal(a.met, 0);
	assert_int_equal(a.ready, 5000);
	/* More than the first cache holds, and less than the second. */
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 2048; i++)
			memory_data(&m, 0x100000 + i * 64, 1, 100000 + (round * 2048 + i) * 1000,
				    &a);
	memory_data(&m, 0x100000, 1, 9000000, &a);
	assert_int_equal(a.met & (MEMORY_L1_MISS | MEMORY_L2_MISS), MEMORY_L1_MISS);
	memory_free(&m);
	memory_shared_free(&shared);
}

static void test_overlap(void **state)
{
	struct inst_record a, b;

	(void)state;
	inst_begin(&a, INST_MODEL);
	inst_begin(&b, INST_MODEL);
	inst_set(&a, INST_CYCLES_FETCH_DISPATCH, 10);
	inst_set(&a, INST_CYCLES_DISPATCH_READY, 5);
	inst_set(&a, INST_CYCLES_READY_ISSUE, 1);
	inst_set(&a, INST_CYCLES_ISSUE_DONE, 4);
	inst_set(&b, INST_CYCLES_FETCH_DISPATCH, 12);
	assert_int_equal(inst_progress(&a), 20);
	assert_false(inst_overlaps(&a, &b, 7)); /* it did not retire */
	inst_set_event(&b, INST_RETIRED, true);
	assert_true(inst_overlaps(&a, &b, 7));
	assert_false(inst_overlaps(&a, &b, 8));
	assert_true(inst_overlaps(&a, &b, -12));
	assert_false(inst_overlaps(&a, &b, -13));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_trace),	      cmocka_unit_test(test_traces_that_lie),
		cmocka_unit_test(test_windows),	      cmocka_unit_test(test_the_sampler),
		cmocka_unit_test(test_the_predictor), cmocka_unit_test(test_the_caches),
		cmocka_unit_test(test_overlap),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
