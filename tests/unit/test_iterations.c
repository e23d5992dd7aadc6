/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analyze/frequency/frequency.h"
#include "analyze/frequency/iterations.h"
#include "cfg/function_graph.h"

#define BASE 0x1000

enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9, R10, R11, R12 };

/* ---- loops of machine code ---- */

struct code {
	struct cfg_bytes bytes;
	struct cfg_extent extents[2];
	struct cfg_source source;
	struct cfg_image *image;
};

/* Functions one after the other, the first of so many bytes; 0: there is one. */
static void make_code(struct code *c, const char *bytes, size_t size, size_t first)
{
	*c = (struct code){.bytes = {BASE, (const uint8_t *)bytes, size}};
	c->extents[0] = (struct cfg_extent){BASE, first ? first : size, "one", true, false};
	c->extents[1] = (struct cfg_extent){BASE + first, size - first, "two", true, false};
	c->source = (struct cfg_source){.machine = 62,
					.bits = 64,
					.code = &c->bytes,
					.code_count = 1,
					.extents = c->extents,
					.extent_count = first ? 2 : 1};
	assert_int_equal(cfg_image_new(&c->source, &c->image, NULL), 0);
}

/* Of the only leaf loop of the first function, or of its loop with that number. */
static bool find(const struct code *c, uint32_t loop, struct cfg_induction *ret)
{
	const struct cfg_function *f;
	struct cfg_equivalence *e;
	struct cfg_graph *g;
	struct cfg_loops *l;

	assert_int_equal(cfg_image_function(c->image, BASE, &f), 0);
	assert_int_equal(cfg_graph_of_function(f, &g), 0);
	assert_int_equal(cfg_loops_of_function(f, &l), 0);
	assert_int_equal(cfg_equivalence_of_function(f, g, &e), 0);
	assert_true(loop < l->loop_count);
	bool found = cfg_induction_find(f, l, e, loop, ret);
	cfg_equivalence_free(e);
	cfg_loops_free(l);
	cfg_graph_free(g);
	return found;
}

static bool find_in(const char *bytes, size_t size, uint32_t loop, struct cfg_induction *ret)
{
	struct code c;

	make_code(&c, bytes, size, 0);
	bool found = find(&c, loop, ret);
	cfg_image_free(c.image);
	return found;
}

#define FIND(bytes, loop, ret) find_in(bytes, sizeof(bytes) - 1, loop, ret)

#define LOOP                                                           \
	"\x48\x83\xc0\x08" /* add $8,%rax */                           \
	"\x48\x01\xd3"	   /* add %rdx,%rbx */                         \
	"\x48\x8d\x49\xfc" /* lea -4(%rcx),%rcx */                     \
	"\x0f\xaf\xf0"	   /* imul %eax,%esi */                        \
	"\x49\x01\xc2"	   /* add %rax,%r10: not the same each time */ \
	"\x49\xff\xc1"	   /* inc %r9, ... */                          \
	"\x49\xff\xc1"	   /* ... twice */                             \
	"\x85\xf6"	   /* test %esi,%esi */                        \
	"\x74\x03"	   /* je over ... */                           \
	"\x49\xff\xc0"	   /* ... inc %r8 */                           \
	"\x48\xff\xcf"	   /* dec %rdi */                              \
	"\x75\xdd"	   /* jne, to the start */                     \
	"\xc3"

static void test_registers(void **unused)
{
	struct cfg_induction in;

	(void)unused;
	assert_true(FIND(LOOP, 0, &in));
	assert_int_equal(in.count, 4);
	assert_int_equal(in.registers[AX].how, CFG_CHANGE_CONSTANT);
	assert_int_equal(in.registers[AX].step, 8);
	assert_int_equal(in.registers[BX].how, CFG_CHANGE_REGISTER);
	assert_int_equal(in.registers[BX].by, DX);
	assert_int_equal(in.registers[BX].step, 1);
	assert_int_equal(in.registers[CX].how, CFG_CHANGE_CONSTANT);
	assert_int_equal(in.registers[CX].step, -4);
	assert_int_equal(in.registers[DI].step, -1);
	assert_int_equal(in.registers[DX].how, CFG_CHANGE_NONE);
	assert_int_equal(in.registers[SP].how, CFG_CHANGE_NONE);
	assert_int_equal(in.registers[R12].how, CFG_CHANGE_NONE);
	assert_int_equal(in.registers[SI].how, CFG_CHANGE_ANY);
	assert_int_equal(in.registers[R8].how, CFG_CHANGE_ANY);
	assert_int_equal(in.registers[R9].how, CFG_CHANGE_ANY);
	assert_int_equal(in.registers[R10].how, CFG_CHANGE_ANY);
}

/* The test at the head: what follows runs as often as the way back. */
static void test_while(void **unused)
{
	struct cfg_induction in;

	(void)unused;
	/* cmp %rdx,%rax; jae out; add $4,%rax; lea (%rcx,%rdx,8),%rcx; jmp back; ret */
	assert_true(
		FIND("\x48\x39\xd0\x73\x0a\x48\x83\xc0\x04\x48\x8d\x0c\xd1\xeb\xf1\xc3", 0, &in));
	assert_int_equal(in.count, 2);
	assert_int_equal(in.registers[AX].step, 4);
	assert_int_equal(in.registers[CX].how, CFG_CHANGE_REGISTER);
	assert_int_equal(in.registers[CX].by, DX);
	assert_int_equal(in.registers[CX].step, 8);
}

static void test_no_leaf(void **unused)
{
	struct cfg_induction in;
	struct code c;

	(void)unused;
	/* call two; dec %rdi; jne back; ret; two: ret */
	make_code(&c, "\xe8\x06\x00\x00\x00\x48\xff\xcf\x75\xf6\xc3\xc3", 12, 11);
	assert_false(find(&c, 0, &in));
	cfg_image_free(c.image);
	/* push %rax; dec %rdi; jne back; ret */
	assert_false(FIND("\x50\x48\xff\xcf\x75\xfa\xc3", 0, &in));
	/* outer: inner: dec %rdi; jne inner; dec %rsi; jne outer; ret */
	assert_false(FIND("\x48\xff\xc0\x48\xff\xcf\x75\xfb\x48\xff\xce\x75\xf3\xc3", 0, &in));
	assert_true(FIND("\x48\xff\xc0\x48\xff\xcf\x75\xfb\x48\xff\xce\x75\xf3\xc3", 1, &in));
	/* imul %eax,%esi; jne back; ret: nothing counts. */
	assert_false(FIND("\x0f\xaf\xf0\x75\xfb\xc3", 0, &in));
}

/* ---- pairs ---- */

/* What registers were, before and after so many iterations of LOOP. */
struct moment {
	uint64_t before[DB_PAIR_REGISTERS], after[DB_PAIR_REGISTERS];
};

static struct moment go_round(int64_t n, uint64_t stride)
{
	struct moment m;

	for (unsigned i = 0; i < DB_PAIR_REGISTERS; i++)
		m.before[i] = m.after[i] = 0x7fff12345678 + i;
	m.before[DX] = m.after[DX] = stride;
	m.after[AX] += (uint64_t)(8 * n);
	m.after[BX] += (uint64_t)n * stride;
	m.after[CX] -= (uint64_t)(4 * n);
	m.after[DI] -= (uint64_t)n;
	m.after[SI] ^= 0x1234567812345678;
	return m;
}

/* Through the database's form and back. */
static uint64_t between(const struct moment *m)
{
	struct iterations_pair pair = {.count = 1};
	struct db_raw raw = {.offset = 0};
	int32_t changes[DB_PAIR_REGISTERS];
	struct cfg_induction in;

	assert_true(FIND(LOOP, 0, &in));
	for (unsigned i = 0; i < DB_PAIR_REGISTERS; i++)
		changes[i] = db_pair_change(m->before[i], m->after[i]);
	db_pair_put(&raw, changes);
	assert_true(db_raw_values(&raw.form) <= DB_RAW_VALUES_MAX);
	db_pair_get(&raw.form, raw.values, pair.changes);
	assert_memory_equal(changes, pair.changes, sizeof(changes));
	return iterations_between(&in, &pair);
}

static void test_between(void **unused)
{
	struct moment m = go_round(12345, 24);

	(void)unused;
	assert_int_equal(between(&m), 12345);
	m = go_round(1, 24);
	assert_int_equal(between(&m), 1);
	/* A stride that is not told: the others tell. */
	m = go_round(1000, 1ull << 40);
	assert_int_equal(between(&m), 1000);
	/* One has been added to, the next not yet. */
	m = go_round(1000, 24);
	m.after[AX] += 8;
	assert_int_equal(between(&m), 1001);
	m.after[AX] += 8;
	assert_int_equal(between(&m), 0);
}

/* Another activation at the same stack pointer. */
static void test_rejected(void **unused)
{
	struct iterations_pair missed = {.missed = true};
	struct cfg_induction in;
	struct moment m = go_round(-5, 24);

	(void)unused;
	assert_int_equal(between(&m), 0);
	m = go_round(0, 24);
	assert_int_equal(between(&m), 0);
	m = go_round(1000, 24);
	m.after[R12] += 64;
	assert_int_equal(between(&m), 0);
	m = go_round(1000, 24);
	m.after[SP] -= 16;
	assert_int_equal(between(&m), 0);
	m = go_round(1000, 24);
	m.after[AX] += 4;
	assert_int_equal(between(&m), 0);
	m = go_round(1000, 24);
	m.after[DX] = 48;
	assert_int_equal(between(&m), 0);
	/* More than there is room for: nobody can tell. */
	m = go_round(1ll << 40, 24);
	assert_int_equal(between(&m), 0);
	assert_true(FIND(LOOP, 0, &in));
	assert_int_equal(iterations_between(&in, &missed), 0);
}

/* No address and no large number is kept, but differences. */
static void test_told(void **unused)
{
	(void)unused;
	assert_int_equal(db_pair_change(0x7fff12345678, 0x7fff12345678), 0);
	assert_int_equal(db_pair_value(db_pair_change(24, 24)), 24);
	assert_int_equal(db_pair_value(db_pair_change((uint64_t)-24, (uint64_t)-24)), -24);
	assert_true(db_pair_stayed(db_pair_change(0, 0)));
	assert_int_equal(db_pair_by(db_pair_change(100, 99)), -1);
	assert_int_equal(db_pair_by(db_pair_change(0, (1 << 30) - 1)), (1 << 30) - 1);
	assert_int_equal(db_pair_change(0, 1 << 30), DB_PAIR_UNTOLD);
	assert_false(db_pair_stayed(DB_PAIR_UNTOLD));
	assert_int_equal(db_pair_change(DB_PAIR_STAYING, DB_PAIR_STAYING), 0);
}

/* ---- from pairs to a loop's iterations ---- */

static double of(uint64_t valid, uint64_t all, uint64_t each, double *sigma)
{
	struct iterations t = {0};

	for (uint64_t i = 0; i < all; i++)
		iterations_add(&t, 1, i >= valid ? 0 : each + i % 2 * 2 * each);
	return iterations_of_sample(&t, sigma);
}

static void test_of_sample(void **unused)
{
	double sigma;

	(void)unused;
	assert_true(fabs(of(20, 20, 1000, &sigma) - 2000) < 1e-6);
	/* A deviation of half the mean, of 20 pairs. */
	assert_true(fabs(sigma - sqrt(0.05 * 0.05 + 0.25 / 20)) < 1e-6);
	assert_true(fabs(of(70, 100, 1000, &sigma) - 2000) < 1e-6);
	assert_true(of(19, 19, 1000, &sigma) == 0);
	assert_true(of(69, 100, 1000, &sigma) == 0);
	assert_true(of(40, 40, 1, &sigma) == 0);
	assert_true(of(40, 40, 2, &sigma) == 4);
}

/* ---- what frequencies are made of them ---- */

#define PAIRS	100
#define SAMPLES 5000

static struct frequency_estimate estimate(const struct code *c, uint64_t executed, size_t pairs,
					  uint64_t function, struct evidence_totals *totals,
					  struct frequency_estimate *ret_instructions)
{
	const struct frequency_options options = {.cycles_per_sample = 1e6,
						  .instructions_per_sample = executed ? 1e6 : 0};
	const struct evidence_sample samples[] = {{BASE, SAMPLES}, {BASE + 6, 1000}};
	const struct evidence_sample instructions = {BASE, executed};
	struct iterations_pair list[PAIRS];
	struct evidence_image image = {.cfg = c->image,
				       .samples = samples,
				       .sample_count = 2,
				       .executed = &instructions,
				       .executed_count = executed > 0,
				       .pairs = list,
				       .pair_count = pairs};
	struct evidence *e;
	struct frequency *f;

	for (unsigned i = 0; i < PAIRS; i++) {
		list[i] = (struct iterations_pair){
			.from = BASE, .to = i % 4 ? BASE : BASE + 3, .count = 1};
		list[i].changes[DI] = db_pair_change(1 << 20, (1 << 20) - 30000);
	}
	assert_int_equal(evidence_new(&e, NULL), 0);
	assert_int_equal(evidence_add_image(e, &image, NULL), 0);
	assert_int_equal(evidence_build(e, NULL), 0);
	evidence_totals(e, totals);
	assert_int_equal(frequency_new(e, &options, &f, NULL), 0);
	const struct frequency_function *found = frequency_find(f, 0, function);
	struct frequency_estimate count = found->block_count[0];
	*ret_instructions = frequency_instructions(f);
	frequency_free(f);
	evidence_free(e);
	return count;
}

static void test_loop_counts(void **unused)
{
	const double truth = 30000.0 * SAMPLES;
	struct frequency_estimate count, other, all;
	struct evidence_totals totals;
	struct code c;

	(void)unused;
	/* one: dec %rdi; jne one; ret. two: dec %rsi; jne two; ret */
	make_code(&c, "\x48\xff\xcf\x75\xfb\xc3\x48\xff\xce\x75\xfb\xc3", 12, 6);
	other = estimate(&c, 0, 0, BASE + 6, &totals, &all);
	assert_int_equal(totals.loops, 0);
	count = estimate(&c, 0, 0, BASE, &totals, &all);
	assert_int_equal(count.confidence, FREQUENCY_LOW);

	count = estimate(&c, 0, PAIRS, BASE, &totals, &all);
	assert_int_equal(totals.loops, 1);
	assert_int_equal(totals.samples_looped, SAMPLES);
	assert_true(fabs(count.value / truth - 1) < 1e-6);
	assert_int_equal(count.confidence, FREQUENCY_HIGH);
	assert_true(fabs(log(count.high / count.value) - 1.645 * 0.05) < 0.001);
	assert_true(all.value > 2 * truth && all.low > 1.8 * truth);

	/* It is no scale of other code. */
	count = estimate(&c, 0, PAIRS, BASE + 6, &totals, &all);
	assert_true(fabs(count.value / other.value - 1) < 1e-6);
	assert_true(fabs(count.high / other.high - 1) < 1e-6);

	count = estimate(&c, 0, 19, BASE, &totals, &all);
	assert_int_equal(totals.loops, 0);
	/* Nor is it asked where the hardware has counted. */
	count = estimate(&c, 9, PAIRS, BASE, &totals, &all);
	assert_int_equal(totals.loops, 0);
	cfg_image_free(c.image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers), cmocka_unit_test(test_while),
		cmocka_unit_test(test_no_leaf),	  cmocka_unit_test(test_between),
		cmocka_unit_test(test_rejected),  cmocka_unit_test(test_told),
		cmocka_unit_test(test_of_sample), cmocka_unit_test(test_loop_counts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
