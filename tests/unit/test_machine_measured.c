/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The measurements here are made up: what a model says of another core, changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/cost/core_measure.h"
#include "machine/measured.h"

static const struct machine_cpu skylake_cpu = {"GenuineIntel", 6, 85, 7};
static const struct machine_cpu golden_cpu = {"GenuineIntel", 6, 143, 8};
/* Its features exclude older cores. */
static const struct machine_cpu zen4_cpu = {
	"AuthenticAMD", 25, 17, 1, {0xf1bf07ab, 0x405fc6, 0x10}, 32, 32};
static struct diag diag;

static struct machine_model *open_model(const char *core)
{
	struct machine_model *m = NULL;
	assert_int_equal(
		machine_model_new(machine_core_by_name(core), MACHINE_SOURCE_BUILTIN, &m, &diag),
		0);
	return m;
}

static size_t loop_number(const char *name)
{
	const struct machine_loop *l;
	for (size_t i = 0; (l = machine_loop_at(i)); i++)
		if (!strcmp(l->name, name))
			return i;
	fail_msg("no loop is called %s", name);
	return 0;
}

/* As a perfect machine with this core would measure. */
static struct machine_measured loops_of(const char *core)
{
	struct machine_model *m = open_model(core);
	struct machine_measured x = {0};
	const struct machine_loop *l;
	for (size_t i = 0; (l = machine_loop_at(i)); i++)
		x.cycles[i] = machine_fit_simulate(m, l);
	machine_model_free(m);
	return x;
}

static unsigned correction(const struct machine_belief *b, const char *name)
{
	for (unsigned i = 0; i < b->count; i++)
		if (!strcmp(b->corrections[i].name, name))
			return b->corrections[i].value;
	return UINT32_MAX;
}

static struct machine_model *believe(const struct machine_cpu *cpu,
				     const struct machine_measured *x, struct machine_belief *b)
{
	struct machine_model *m = NULL;
	assert_int_equal(machine_model_believe(cpu, x, MACHINE_SOURCE_BUILTIN, &m, b, &diag), 0);
	return m;
}

static void test_text(void **state)
{
	static const char *const bad[] = {
		"",
		"imul_chain",
		"imul_chain=",
		"imul_chain=12",
		"=12",
		"imul_chain=nan",
		"imul_chain=-3;load_chain=40",
		"imul_chain=0x10;load_chain=40",
		"imul_chain=12.00load_chain=40",
	};
	struct machine_measured x = loops_of("zen4"), back = {{7}}, old = back;
	char text[MACHINE_MEASURED_TEXT], broken[MACHINE_MEASURED_TEXT + 40];
	(void)state;
	machine_measured_format(&x, text);
	assert_true(strlen(text) < MACHINE_MEASURED_TEXT - 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(machine_measured_parse(bad[i], &back), -EINVAL);
	/* Times that no core takes, among good ones. */
	snprintf(broken, sizeof(broken), "%s;new=1e9", text);
	assert_int_equal(machine_measured_parse(broken, &back), -EINVAL);
	snprintf(broken, sizeof(broken), "%s;new=0.01", text);
	assert_int_equal(machine_measured_parse(broken, &back), -EINVAL);
	assert_memory_equal(&old, &back, sizeof(back));
	/* A loop of a later version. */
	snprintf(broken, sizeof(broken), "new=5;%s", text);
	assert_int_equal(machine_measured_parse(broken, &back), 0);
	for (size_t i = 0; machine_loop_at(i); i++)
		assert_true(fabs(back.cycles[i] - x.cycles[i]) < 0.006);
}

/* A hidden model is found by its loops; what features exclude, and another maker's, is not. */
static void test_choice(void **state)
{
	struct machine_measured golden = loops_of("sapphirerapids"), zen = loops_of("zen4");
	struct machine_cpu amx = golden_cpu;
	struct machine_belief b;
	char text[320];
	(void)state;
	struct machine_model *m = believe(&skylake_cpu, &golden, &b);
	assert_int_equal(b.match, MACHINE_MATCH_MEASURED);
	assert_int_equal(machine_model_core(m)->reorder_buffer, 512);
	assert_int_equal(b.count, 0);
	assert_true(b.after.high < 0.01);
	machine_belief_describe(m, &skylake_cpu, &b, text, sizeof(text));
	assert_non_null(strstr(text, "(by measured loops; family 6 model 85 is Intel Skylake); "));
	assert_non_null(strstr(text, "measured loops off by 0% (median) and 0% (90th percentile)"));
	machine_model_free(m);
	m = believe(&golden_cpu, &golden, &b);
	assert_int_equal(b.match, MACHINE_MATCH_EXACT);
	assert_int_equal(b.count, 0);
	assert_true(b.measured);
	machine_model_free(m);
	amx.features[2] = 1u << 24;
	struct machine_measured old = loops_of("skylake");
	m = believe(&amx, &old, &b);
	assert_int_equal(b.match, MACHINE_MATCH_EXACT);
	machine_model_free(m);
	m = believe(&skylake_cpu, &zen, &b);
	assert_string_equal(machine_model_core(m)->vendor, "GenuineIntel");
	machine_model_free(m);
	m = believe(&skylake_cpu, NULL, &b);
	assert_int_equal(b.match, MACHINE_MATCH_EXACT);
	assert_false(b.measured);
	machine_model_free(m);
}

/* A Zen 3 as it was measured: it is found, and needs no correction, also behind an older model's
 * number; a model made to believe that older core is brought nearer. */
static void test_measured_zen3(void **state)
{
	static const char text[] =
		"imul_chain=11.98;imul_independent=5.99;div32_chain=10.98;"
		"div64_chain=10.98;div32_independent=11.98;load_chain=31.92;"
		"load_indexed_chain=40.67;load_ports=3.99;store_lines=7.98;"
		"split_loads=5.32;split_stores=7.98;forward_chain=4.00;"
		"forward_add_chain=4.01;forward_indexed=4.00;forward_vector=35.93;"
		"add_ports=7.24;shift_ports=9.98;lea_scaled_chain=7.99;"
		"lea_parts_chain=15.97;sum_chain=7.98;sum_shift_chain=7.98;"
		"extend_chain=15.97;move_chain=3.00;width=8.98;popcnt_chain=3.99;"
		"to_vector_chain=23.97;fp_add_chain=11.98;fp_mul_chain=11.98;"
		"fp_add_mul_chain=23.95;fp_div_chain=26.99;vector_sum_chain=7.98;"
		"shuffle_ports=7.99;lock_add=25.20";
	static const struct machine_cpu cpu = {
		"AuthenticAMD", 25, 1, 1, {0x219c07ab, 0x40069c, 0x88000010}, 32, 32};
	static const struct machine_cpu hidden = {"AuthenticAMD", 23, 49, 0};
	struct machine_measured x;
	struct machine_belief b = {0};
	(void)state;
	assert_int_equal(machine_measured_parse(text, &x), 0);
	struct machine_model *m = believe(&cpu, &x, &b);
	assert_int_equal(b.match, MACHINE_MATCH_EXACT);
	assert_string_equal(machine_model_core(m)->name, "zen3");
	assert_true(b.measured && b.count == 0);
	assert_true(b.after.median < 0.02 && b.after.high < 0.15);
	machine_model_free(m);
	m = believe(&hidden, &x, &b);
	assert_int_equal(b.match, MACHINE_MATCH_MEASURED);
	assert_string_equal(machine_model_core(m)->name, "zen3");
	machine_model_free(m);
	m = open_model("zen2");
	memset(&b, 0, sizeof(b));
	assert_int_equal(machine_model_tune(m, &x, &b, &diag), 0);
	assert_true(b.count > 0 && b.after.distance < b.before.distance / 2);
	machine_model_free(m);
}

/* Golden Cove's loops put right the tables of a core before it. */
static void test_tune(void **state)
{
	struct machine_measured golden = loops_of("sapphirerapids");
	struct machine_model *m = open_model("skylake");
	struct machine_belief b = {0};
	(void)state;
	assert_int_equal(machine_model_tune(m, &golden, &b, &diag), 0);
	const struct machine_core *core = machine_model_core(m);
	assert_int_equal(correction(&b, "width"), 6);
	assert_int_equal(core->issue_width, 6);
	assert_int_equal(correction(&b, "integer ports"), 5);
	assert_int_equal(__builtin_popcount(core->work[MACHINE_WORK_ALU].ports), 5);
	assert_int_equal(correction(&b, "load ports"), 3);
	assert_int_equal(correction(&b, "memory renamed"), 1);
	assert_int_equal(correction(&b, "latency of divisions"), 15);
	assert_int_equal(correction(&b, "latency of floating-point sums"), 3);
	assert_int_equal(correction(&b, "first cache's latency"), UINT32_MAX); /* the same */
	assert_true(b.before.high > 0.5);
	assert_true(b.after.median < 0.01);
	assert_true(b.after.high < 0.05);
	/* The table itself is as it was. */
	assert_int_equal(machine_core_by_name("skylake")->issue_width, 4);
	machine_model_free(m);
}

/* One thing differs: one correction. What no figure explains corrects nothing. */
static void test_one(void **state)
{
	struct machine_measured x = loops_of("zen4");
	struct machine_model *m = open_model("zen4");
	size_t imul = loop_number("imul_chain");
	struct machine_belief b = {0};
	(void)state;
	x.cycles[imul] *= 4.0 / 3;
	assert_int_equal(machine_model_tune(m, &x, &b, &diag), 0);
	assert_int_equal(b.count, 1);
	assert_int_equal(correction(&b, "latency of multiplications"), 4);
	assert_true(machine_fit_simulate(m, machine_loop_at(imul)) == 16);
	machine_model_free(m);
	m = open_model("zen4");
	b = (struct machine_belief){0};
	x.cycles[imul] = 13.6;
	assert_int_equal(machine_model_tune(m, &x, &b, &diag), 0);
	assert_int_equal(b.count, 0);
	assert_int_equal(machine_model_core(m)->issue_width, 6);
	machine_model_free(m);
}

/* There is no room for more ports on a core that has sixteen. */
static void test_ports(void **state)
{
	struct machine_measured x = loops_of("zen5");
	struct machine_model *m = open_model("zen5");
	struct machine_belief b = {0};
	(void)state;
	x.cycles[loop_number("shift_ports")] /= 2;
	assert_int_equal(machine_model_tune(m, &x, &b, &diag), 0);
	assert_int_equal(b.count, 0);
	machine_model_free(m);
}

/* Times of no core at all. */
static void test_nonsense(void **state)
{
	struct machine_measured x = {0};
	struct machine_belief b;
	(void)state;
	for (size_t i = 0; machine_loop_at(i); i++)
		x.cycles[i] = i % 2 ? 3 : 170;
	struct machine_model *m = believe(&golden_cpu, &x, &b);
	assert_true(b.refused);
	assert_false(b.measured);
	assert_int_equal(b.count, 0);
	assert_int_equal(b.match, MACHINE_MATCH_EXACT);
	assert_int_equal(machine_model_core(m)->issue_width, 6);
	machine_model_free(m);
	x = loops_of("sapphirerapids");
	assert_true(machine_fit_is_alone(&golden_cpu, &x));
	assert_true(machine_fit_is_alone(&skylake_cpu, &x));
	x.cycles[loop_number("width")] *= 2;
	assert_false(machine_fit_is_alone(&golden_cpu, &x));
	/* Half of a width that renames two idle operations as one. */
	x = loops_of("zen4");
	assert_true(machine_fit_is_alone(&zen4_cpu, &x));
	x.cycles[loop_number("width")] *= 2;
	assert_false(machine_fit_is_alone(&zen4_cpu, &x));
}

/* A meter that knows what each loop takes, and is asked three times. */
static struct {
	struct machine_measured truth;
	unsigned calls;
	double slow[3]; /* a round's times are so many times the truth */
	bool dead;
} fake;

static double fake_meter(struct core_meter *m, machine_loop_run *run, void *buffer,
			 double patience_ns)
{
	const struct machine_loop *l;
	size_t count = 0, at = 0;
	(void)m;
	assert_ptr_equal(*(void **)buffer, buffer);
	assert_true(patience_ns > 0);
	for (; (l = machine_loop_at(count)); count++)
		at = l->run == run ? count : at;
	return fake.dead ? 0 : fake.truth.cycles[at] * fake.slow[fake.calls++ / count % 3];
}

static int measure(double first, double second, double third, struct machine_measured *x)
{
	fake.calls = 0;
	fake.slow[0] = first;
	fake.slow[1] = second;
	fake.slow[2] = third;
	return core_measure_loops(&golden_cpu, fake_meter, x, &diag);
}

static void test_measuring(void **state)
{
	struct machine_measured x, old = {{7}};
	(void)state;
	fake.truth = loops_of("sapphirerapids");
	if (!machine_loop_at(0))
		skip();
	/* One round beside a neighbour. */
	assert_int_equal(measure(1.9, 1, 1.01, &x), 0);
	for (size_t i = 0; machine_loop_at(i); i++)
		assert_true(fabs(x.cycles[i] - fake.truth.cycles[i]) < 0.006);
	x = old;
	assert_int_equal(measure(1, 1.2, 1.5, &x), -ENODATA);
	assert_non_null(strstr(diag.text, "another time each time"));
	/* Two rounds beside a neighbour are not taken for the truth; a loop may have two times. */
	assert_int_equal(measure(1, 1.15, 1.15, &x), -ENODATA);
	assert_non_null(strstr(diag.text, "another time each time"));
	assert_int_equal(measure(1, 1.06, 1.06, &old), 0);
	assert_true(fabs(old.cycles[0] / fake.truth.cycles[0] - 1.06) < 0.001);
	old = x;
	assert_int_equal(measure(1e-3, 1e-3, 1e-3, &x), -ENODATA);
	assert_int_equal(measure(1e4, 1e4, 1e4, &x), -ENODATA);
	assert_int_equal(measure(NAN, NAN, NAN, &x), -ENODATA);
	fake.dead = true;
	assert_int_equal(measure(1, 1, 1, &x), -ENODATA);
	assert_memory_equal(&x, &old, sizeof(x));
}

/* The loops return, and can be told. */
static void test_loops(void **state)
{
	_Alignas(64) static uint64_t buffer[512];
	struct machine_model *m = open_model("zen3");
	const struct machine_loop *l;
	(void)state;
	buffer[0] = (uint64_t)(uintptr_t)buffer;
	for (size_t i = 0; (l = machine_loop_at(i)); i++) {
		assert_int_equal(loop_number(l->name), i);
		l->run(100, buffer);
		assert_true(machine_fit_simulate(m, l) >= 1);
	}
	machine_model_free(m);
}

static void test_cache(void **state)
{
	char top[] = "/tmp/culprit-core.XXXXXX", command[128];
	struct machine_measured x = loops_of("zen2"), back;
	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(core_measure_cache_read(top, &back), -ENOENT);
	assert_int_equal(core_measure_cache_write(top, &x), 0);
	assert_int_equal(core_measure_cache_read(top, &back), 0);
	assert_true(fabs(back.cycles[0] - x.cycles[0]) < 0.006);
	snprintf(command, sizeof(command), "for f in %s/*; do echo imul_chain=1 >>$f; done", top);
	assert_int_equal(system(command), 0);
	assert_int_equal(core_measure_cache_read(top, &back), -ENOENT);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
}

static unsigned rounds_tried;

static double contradict_itself(struct core_meter *m, machine_loop_run *run, void *buffer,
				double patience_ns)
{
	(void)m, (void)run, (void)buffer, (void)patience_ns;
	return 1 + rounds_tried++;
}

/* Half a second once, not with each recording: neither what was measured, nor that it was refused,
 * nor the words that say it. */
static void test_learning(void **state)
{
	char top[] = "/tmp/culprit-core.XXXXXX", command[128];
	struct machine_measured x = loops_of("zen2");
	struct core_facts first, second;
	(void)state;
	assert_non_null(mkdtemp(top));
	core_measure_learn(top, contradict_itself, &first);
	assert_string_equal(first.loops, "");
	assert_true(rounds_tried > 0);
	rounds_tried = 0;
	core_measure_learn(top, contradict_itself, &second);
	assert_int_equal(rounds_tried, 0);
	assert_string_equal(second.core, first.core);

	assert_int_equal(core_measure_cache_write(top, &x), 0);
	core_measure_learn(top, contradict_itself, &first);
	assert_true(first.loops[0] && strcmp(first.core, second.core) != 0);
	snprintf(command, sizeof(command), "sed -i 's/loops off/loops remembered off/' %s/*", top);
	assert_int_equal(system(command), 0);
	core_measure_learn(top, contradict_itself, &second);
	assert_int_equal(rounds_tried, 0);
	assert_non_null(strstr(second.core, "loops remembered off"));
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	      cmocka_unit_test(test_choice),
		cmocka_unit_test(test_measured_zen3), cmocka_unit_test(test_tune),
		cmocka_unit_test(test_one),	      cmocka_unit_test(test_ports),
		cmocka_unit_test(test_nonsense),      cmocka_unit_test(test_measuring),
		cmocka_unit_test(test_loops),	      cmocka_unit_test(test_cache),
		cmocka_unit_test(test_learning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
