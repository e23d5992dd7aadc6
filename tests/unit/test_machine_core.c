/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "machine/core.h"

static void test_detection(void **state)
{
	static const struct {
		struct machine_cpu cpu;
		const char *core;
		enum machine_match match;
	} table[] = {
		{{"GenuineIntel", 6, 85, 7}, "skylake", MACHINE_MATCH_EXACT},
		{{"GenuineIntel", 6, 106, 6}, "icelake", MACHINE_MATCH_EXACT},
		{{"GenuineIntel", 6, 143, 8}, "sapphirerapids", MACHINE_MATCH_EXACT},
		{{"GenuineIntel", 6, 151, 2}, "alderlake-p", MACHINE_MATCH_EXACT},
		{{"GenuineIntel", 6, 174, 0}, "sapphirerapids", MACHINE_MATCH_NEAREST},
		{{"GenuineIntel", 6, 60, 0}, "skylake", MACHINE_MATCH_NEAREST}, /* Haswell */
		{{"GenuineIntel", 19, 1, 0}, "sapphirerapids", MACHINE_MATCH_NEAREST},
		{{"AuthenticAMD", 25, 33, 0}, "zen3", MACHINE_MATCH_EXACT},
		{{"AuthenticAMD", 25, 17, 1}, "zen4", MACHINE_MATCH_EXACT},
		{{"AuthenticAMD", 25, 97, 2}, "zen4", MACHINE_MATCH_EXACT},
		{{"AuthenticAMD", 26, 2, 1}, "zen5", MACHINE_MATCH_EXACT},
		{{"AuthenticAMD", 27, 0, 0}, "zen5", MACHINE_MATCH_NEAREST},
		{{"AuthenticAMD", 23, 1, 2}, "zen2", MACHINE_MATCH_NEAREST},
		{{"HygonGenuine", 24, 1, 1}, "zen2", MACHINE_MATCH_NEAREST},
		{{"CentaurHauls", 7, 1, 1}, "icelake", MACHINE_MATCH_NONE},
		{{"", 0, 0, 0}, "icelake", MACHINE_MATCH_NONE},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		enum machine_match match = 99;
		const struct machine_core *core = machine_core_find(&table[i].cpu, &match);
		assert_string_equal(core->name, table[i].core);
		assert_int_equal(match, table[i].match);
	}
}

/* What virtual machines showed, and what they may hide: leaf 7, the first caches. */
static void test_hidden(void **state)
{
	static const struct {
		const char *cpu, *core;
		enum machine_match match;
	} table[] = {
		/* Granite Rapids that calls itself Rocket Lake; Emerald Rapids without AMX. */
		{"GenuineIntel 6 167 1 f1bf07ab 1b405f5e afc14410 64 48", "sapphirerapids",
		 MACHINE_MATCH_FEATURES},
		{"GenuineIntel 6 207 2 f1bf07ab 1b415f46 a0c04010 32 48", "sapphirerapids",
		 MACHINE_MATCH_EXACT},
		{"GenuineIntel 6 85 7 d19ff7eb 1 1000000 32 48", "sapphirerapids",
		 MACHINE_MATCH_FEATURES},
		{"GenuineIntel 6 85 7 d19f47ab 0 0 32 32", "skylake", MACHINE_MATCH_EXACT},
		{"GenuineIntel 6 85 7 d19f47ab 40 0 32 48", "icelake", MACHINE_MATCH_FEATURES},
		{"GenuineIntel 6 85 7 239c27eb 0 4000 32 48", "alderlake-p",
		 MACHINE_MATCH_FEATURES},
		/* What is hidden proves nothing. */
		{"GenuineIntel 6 143 8 0 0 0 32 32", "sapphirerapids", MACHINE_MATCH_EXACT},
		{"AuthenticAMD 15 107 1 f1bf97a9 18405fce 0 32 48", "zen5", MACHINE_MATCH_FEATURES},
		{"AuthenticAMD 23 49 0 f1bf97a9 405fce 0 32 32", "zen4", MACHINE_MATCH_FEATURES},
		{"AuthenticAMD 23 49 0 219c97a9 40069c 0 32 32", "zen3", MACHINE_MATCH_FEATURES},
		{"AuthenticAMD 23 49 0 219c91a9 400004 0 32 32", "zen2", MACHINE_MATCH_EXACT},
		{"AuthenticAMD 26 2 1 f1bf97a9 8405fce 0 32 48", "zen5", MACHINE_MATCH_EXACT},
		{"CentaurHauls 7 1 1 ffffffff ffffffff ffffffff 64 48", "icelake",
		 MACHINE_MATCH_NONE},
	};
	char text[MACHINE_CPU_TEXT], described[160];
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		enum machine_match match = 99;
		struct machine_cpu cpu;
		assert_int_equal(machine_cpu_parse(table[i].cpu, &cpu), 0);
		const struct machine_core *core = machine_core_find(&cpu, &match);
		assert_string_equal(core->name, table[i].core);
		assert_int_equal(match, table[i].match);
		machine_cpu_format(&cpu, text);
		assert_string_equal(text, table[i].cpu);
		machine_core_describe(core, &cpu, match, described, sizeof(described));
		if (i == 0)
			assert_string_equal(described,
					    "Intel Sapphire Rapids or later (by its AVX512-FP16, "
					    "which family 6 model 167 lacks)");
	}
}

static void test_description(void **state)
{
	struct machine_cpu cpu = {"AuthenticAMD", 27, 1, 0}, none = {"", 0, 0, 0};
	enum machine_match match;
	char text[200], small[10];
	const struct machine_core *core = machine_core_find(&cpu, &match);
	(void)state;
	assert_string_equal(
		machine_core_describe(core, &cpu, match, text, sizeof(text)),
		"AMD Zen 5 (the nearest; this processor, AuthenticAMD family 27 model 1, is not "
		"known)");
	core = machine_core_by_name("skylake");
	assert_string_equal(
		machine_core_describe(core, NULL, MACHINE_MATCH_EXACT, text, sizeof(text)),
		"Intel Skylake");
	machine_core_describe(core, NULL, MACHINE_MATCH_NONE, text, sizeof(text));
	assert_non_null(strstr(text, "a default"));
	machine_core_describe(core, &none, MACHINE_MATCH_NONE, text, sizeof(text));
	assert_non_null(strstr(text, "a default"));
	assert_string_equal(
		machine_core_describe(core, NULL, MACHINE_MATCH_EXACT, small, sizeof(small)),
		"Intel Sky");
	assert_null(machine_core_by_name("pentium"));
}

static void test_text(void **state)
{
	struct machine_cpu cpu = {"AuthenticAMD", 25, 97, 2}, back = {"x", 1, 2, 3};
	char text[MACHINE_CPU_TEXT];
	(void)state;
	machine_cpu_format(&cpu, text);
	assert_string_equal(text, "AuthenticAMD 25 97 2");
	assert_int_equal(machine_cpu_parse(text, &back), 0);
	assert_memory_equal(&cpu, &back, sizeof(cpu));
	back.family = 7;
	assert_int_equal(machine_cpu_parse("", &back), -EINVAL);
	assert_int_equal(machine_cpu_parse("GenuineIntel 6", &back), -EINVAL);
	assert_int_equal(machine_cpu_parse("GenuineIntel six 1 2", &back), -EINVAL);
	assert_int_equal(machine_cpu_parse("GenuineIntel 6 1 2 ff ff", &back), -EINVAL);
	assert_int_equal(back.family, 7);
	/* Longer than any vendor: the rest is no number. */
	assert_int_equal(machine_cpu_parse("GenuineIntelGenuineIntel 6 1 2", &back), -EINVAL);
}

/* What any core must have for the simulator to make sense. */
static void test_tables(void **state)
{
	const struct machine_core *c;
	size_t count = 0;
	(void)state;
	for (; (c = machine_core_at(count)); count++) {
		unsigned ports = 0;
		while (ports < MACHINE_CORE_PORTS_MAX && c->ports[ports])
			ports++;
		assert_ptr_equal(machine_core_by_name(c->name), c);
		assert_true(c->issue_width >= 4 && c->issue_width <= 8);
		assert_true(c->retire_width >= 4 && c->uop_cache_width >= 4 && c->decode_width);
		assert_true(c->fetch_bytes >= 16 && c->uop_cache_size && c->taken_cycles);
		assert_true(c->reorder_buffer >= 200 && c->reorder_buffer < 1024);
		assert_true(c->scheduler && c->scheduler <= c->reorder_buffer);
		assert_true(c->load_buffer && c->store_buffer && c->store_commit_width);
		assert_true(c->load_buffer < 256 && c->store_buffer < 256);
		assert_true(c->l1_cycles < c->l2_cycles && c->l2_cycles < c->l3_cycles);
		assert_true(c->l3_cycles < c->memory_cycles);
		assert_true(c->mispredict_cycles > c->front_end_stages);
		assert_true(c->division32_cycles && c->division64_cycles);
		assert_true(c->locked_cycles || c->locks_overlap);
		assert_true(!c->llvm_older || machine_core_by_name(c->llvm_older));
		for (unsigned w = 0; w < MACHINE_WORKS; w++) {
			/* Zen's stored data needs no port of its own. */
			assert_true(c->work[w].ports || w == MACHINE_WORK_STORE_DATA);
			assert_int_equal(c->work[w].ports >> ports, 0);
			assert_true(c->work[w].latency_cycles);
		}
	}
	assert_true(count >= 8);
}

static void test_here(void **state)
{
	struct machine_cpu cpu = {.vendor = "?"};
	enum machine_match match;
	(void)state;
	if (!machine_cpu_here(&cpu))
		skip();
	assert_true(strlen(cpu.vendor) >= 1 && strlen(cpu.vendor) <= 12);
	assert_ptr_equal(machine_core_detect(&match), machine_core_find(&cpu, &match));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detection),   cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_description), cmocka_unit_test(test_text),
		cmocka_unit_test(test_tables),	    cmocka_unit_test(test_here),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
