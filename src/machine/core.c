/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include "machine/core.h"
#include "machine/core_table.h"

static const struct machine_core *const cores[] = {
	&machine_core_skylake,	      &machine_core_icelake, &machine_core_alderlake_p,
	&machine_core_sapphirerapids, &machine_core_zen2,    &machine_core_zen3,
	&machine_core_zen4,	      &machine_core_zen5,
};

/* Models of a family, first to last, and the core that they have. exact: that very core. */
struct known_cpu {
	const char *vendor;
	unsigned family, first, last;
	const struct machine_core *core;
	bool exact;
};

static const struct known_cpu known[] = {
	{"GenuineIntel", 6, 78, 78, &machine_core_skylake, true},    /* Skylake, mobile */
	{"GenuineIntel", 6, 94, 94, &machine_core_skylake, true},    /* Skylake */
	{"GenuineIntel", 6, 85, 85, &machine_core_skylake, true},    /* Skylake, Cascade Lake SP */
	{"GenuineIntel", 6, 142, 142, &machine_core_skylake, true},  /* Kaby Lake, mobile */
	{"GenuineIntel", 6, 158, 158, &machine_core_skylake, true},  /* Kaby, Coffee Lake */
	{"GenuineIntel", 6, 165, 166, &machine_core_skylake, true},  /* Comet Lake */
	{"GenuineIntel", 6, 102, 102, &machine_core_icelake, false}, /* Cannon Lake */
	{"GenuineIntel", 6, 106, 106, &machine_core_icelake, true},  /* Ice Lake SP */
	{"GenuineIntel", 6, 108, 108, &machine_core_icelake, true},  /* Ice Lake D */
	{"GenuineIntel", 6, 125, 126, &machine_core_icelake, true},  /* Ice Lake */
	{"GenuineIntel", 6, 140, 141, &machine_core_icelake, true},  /* Tiger Lake */
	{"GenuineIntel", 6, 167, 167, &machine_core_icelake, true},  /* Rocket Lake */
	{"GenuineIntel", 6, 143, 143, &machine_core_sapphirerapids, true},
	{"GenuineIntel", 6, 207, 207, &machine_core_sapphirerapids, true},  /* Emerald Rapids */
	{"GenuineIntel", 6, 173, 174, &machine_core_sapphirerapids, false}, /* Granite Rapids */
	{"GenuineIntel", 6, 151, 151, &machine_core_alderlake_p, true},
	{"GenuineIntel", 6, 154, 154, &machine_core_alderlake_p, true},
	{"GenuineIntel", 6, 183, 183, &machine_core_alderlake_p, true}, /* Raptor Lake */
	{"GenuineIntel", 6, 186, 186, &machine_core_alderlake_p, true},
	{"GenuineIntel", 6, 191, 191, &machine_core_alderlake_p, true},
	{"GenuineIntel", 6, 170, 172, &machine_core_alderlake_p, false}, /* Meteor Lake */
	{"AuthenticAMD", 23, 0, 47, &machine_core_zen2, false},		 /* Zen, Zen+ */
	{"AuthenticAMD", 23, 48, 255, &machine_core_zen2, true},
	{"AuthenticAMD", 25, 0, 15, &machine_core_zen3, true},
	{"AuthenticAMD", 25, 16, 31, &machine_core_zen4, true},
	{"AuthenticAMD", 25, 32, 95, &machine_core_zen3, true},
	{"AuthenticAMD", 25, 96, 175, &machine_core_zen4, true},
	{"AuthenticAMD", 26, 0, 79, &machine_core_zen5, true},
	{"AuthenticAMD", 26, 96, 127, &machine_core_zen5, true},
	{"HygonGenuine", 24, 0, 255, &machine_core_zen2, false},
};

#define COUNT_OF(a) (sizeof(a) / sizeof(*(a)))

/* What no core before this one has; the newest first. Maker's manuals. */
static const struct evidence {
	const struct machine_core *core;
	uint32_t features[3];
	unsigned data_kbytes;
	const char *what;
} evidence[] = {
	{&machine_core_sapphirerapids, {0, 0, 1u << 23}, 0, "AVX512-FP16"},
	{&machine_core_sapphirerapids, {0, 0, 1u << 24}, 0, "AMX"},
	{&machine_core_alderlake_p, {0, 0, 1u << 14}, 0, "SERIALIZE"},
	{&machine_core_icelake, {0, 1u << 6, 0}, 0, "AVX512-VBMI2"},
	{&machine_core_icelake, {0, 0, 0}, 48, "48 KB of data in its first cache"},
	{&machine_core_zen5, {0, 1u << 27, 0}, 0, "MOVDIRI"},
	{&machine_core_zen5, {0, 0, 0}, 48, "48 KB of data in its first cache"},
	{&machine_core_zen4, {1u << 16, 0, 0}, 0, "AVX-512"},
	{&machine_core_zen3, {0, 1u << 9, 0}, 0, "VAES"},
};

static bool has(const struct machine_cpu *cpu, const struct evidence *e)
{
	for (size_t i = 0; i < COUNT_OF(e->features); i++)
		if (e->features[i] & ~cpu->features[i])
			return false;
	return cpu->data_kbytes >= e->data_kbytes && !strcmp(cpu->vendor, e->core->vendor);
}

static const struct evidence *find_evidence(const struct machine_cpu *cpu)
{
	for (size_t i = 0; i < COUNT_OF(evidence); i++)
		if (has(cpu, &evidence[i]))
			return &evidence[i];
	return NULL;
}

/* By its place in the table, where a maker's stand by age. */
static bool is_newer(const struct machine_core *a, const struct machine_core *b)
{
	size_t i = 0;

	while (cores[i] != a && cores[i] != b)
		i++;
	return a != b && cores[i] == b;
}

/* For a processor of no row above: the newest that its maker's numbering points to. Families of AMD
 * count up; Intel numbers models about in time, small cores among them. */
static const struct machine_core *find_nearest(const struct machine_cpu *cpu,
					       enum machine_match *ret_match)
{
	*ret_match = MACHINE_MATCH_NEAREST;
	if (!strcmp(cpu->vendor, "AuthenticAMD") || !strcmp(cpu->vendor, "HygonGenuine"))
		return cpu->family >= 26   ? &machine_core_zen5
		       : cpu->family == 25 ? &machine_core_zen4
					   : &machine_core_zen2;
	if (!strcmp(cpu->vendor, "GenuineIntel"))
		return cpu->family > 6 || cpu->model >= 143 ? &machine_core_sapphirerapids
		       : cpu->model >= 102		    ? &machine_core_icelake
							    : &machine_core_skylake;
	*ret_match = MACHINE_MATCH_NONE;
	return &machine_core_icelake;
}

static const struct machine_core *find_by_number(const struct machine_cpu *cpu,
						 enum machine_match *ret_match)
{
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		const struct known_cpu *k = &known[i];

		if (strcmp(k->vendor, cpu->vendor) != 0 || k->family != cpu->family ||
		    cpu->model < k->first || cpu->model > k->last)
			continue;
		*ret_match = k->exact ? MACHINE_MATCH_EXACT : MACHINE_MATCH_NEAREST;
		return k->core;
	}
	return find_nearest(cpu, ret_match);
}

const struct machine_core *machine_core_find(const struct machine_cpu *cpu,
					     enum machine_match *ret_match)
{
	const struct machine_core *core = find_by_number(cpu, ret_match);
	const struct evidence *e = find_evidence(cpu);

	if (!e || !is_newer(e->core, core))
		return core;
	*ret_match = MACHINE_MATCH_FEATURES;
	return e->core;
}

bool machine_core_may_be(const struct machine_cpu *cpu, const struct machine_core *core)
{
	enum machine_match match;
	const struct machine_core *found = machine_core_find(cpu, &match);
	const struct evidence *e = find_evidence(cpu);

	if (match == MACHINE_MATCH_NONE)
		return true;
	return !strcmp(core->vendor, found->vendor) && !(e && is_newer(e->core, core));
}

#if defined(__x86_64__) || defined(__i386__)
/* Leaf 4 of Intel and 8000001DH of AMD say it in the same form. */
static void read_caches(struct machine_cpu *cpu)
{
	unsigned leaf = !strcmp(cpu->vendor, "GenuineIntel") ? 4 : 0x8000001d, a, b, c, d;

	for (unsigned i = 0; i < 8 && __get_cpuid_count(leaf, i, &a, &b, &c, &d) && a & 31; i++) {
		unsigned kind = a & 31, level = a >> 5 & 7;
		unsigned bytes =
			((b >> 22) + 1) * ((b >> 12 & 1023) + 1) * ((b & 4095) + 1) * (c + 1);

		if (level == 1)
			*(kind == 2 ? &cpu->code_kbytes : &cpu->data_kbytes) = bytes / 1024;
	}
}
#endif

bool machine_cpu_here(struct machine_cpu *ret)
{
#if defined(__x86_64__) || defined(__i386__)
	struct machine_cpu cpu = {0};
	unsigned a, b, c, d;

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return false;
	memcpy(cpu.vendor, &b, 4);
	memcpy(cpu.vendor + 4, &d, 4);
	memcpy(cpu.vendor + 8, &c, 4);
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return false;
	cpu.family = a >> 8 & 15;
	cpu.model = a >> 4 & 15;
	cpu.stepping = a & 15;
	if (cpu.family == 6 || cpu.family == 15)
		cpu.model += (a >> 16 & 15) << 4;
	if (cpu.family == 15)
		cpu.family += a >> 20 & 255;
	__get_cpuid_count(7, 0, &a, &cpu.features[0], &cpu.features[1], &cpu.features[2]);
	read_caches(&cpu);
	*ret = cpu;
	return true;
#else
	(void)ret;
	return false;
#endif
}

void machine_cpu_format(const struct machine_cpu *cpu, char out[MACHINE_CPU_TEXT])
{
	int n = snprintf(out, MACHINE_CPU_TEXT, "%.15s %u %u %u", cpu->vendor, cpu->family,
			 cpu->model, cpu->stepping);

	if (cpu->features[0] || cpu->data_kbytes)
		snprintf(out + n, (size_t)(MACHINE_CPU_TEXT - n), " %x %x %x %u %u",
			 cpu->features[0], cpu->features[1], cpu->features[2], cpu->code_kbytes,
			 cpu->data_kbytes);
}

int machine_cpu_parse(const char *text, struct machine_cpu *ret)
{
	struct machine_cpu cpu = {0};

	int n = sscanf(text, "%15s %9u %9u %9u %8x %8x %8x %9u %9u", cpu.vendor, &cpu.family,
		       &cpu.model, &cpu.stepping, &cpu.features[0], &cpu.features[1],
		       &cpu.features[2], &cpu.code_kbytes, &cpu.data_kbytes);

	if (n != 4 && n != 9)
		return -EINVAL;
	*ret = cpu;
	return 0;
}

const struct machine_core *machine_core_detect(enum machine_match *ret_match)
{
	struct machine_cpu cpu = {0};

	machine_cpu_here(&cpu);
	return machine_core_find(&cpu, ret_match);
}

const struct machine_core *machine_core_by_name(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(cores); i++)
		if (!strcmp(cores[i]->name, name))
			return cores[i];
	return NULL;
}

const struct machine_core *machine_core_at(size_t index)
{
	return index < COUNT_OF(cores) ? cores[index] : NULL;
}

const char *machine_core_describe(const struct machine_core *core, const struct machine_cpu *cpu,
				  enum machine_match match, char *out, size_t room)
{
	if (match == MACHINE_MATCH_EXACT)
		snprintf(out, room, "%s", core->title);
	else if (!cpu || !cpu->vendor[0])
		snprintf(out, room, "%s (a default: the processor is not known)", core->title);
	else if (match == MACHINE_MATCH_MEASURED)
		snprintf(out, room, "%s (by measured loops; family %u model %u is %s)", core->title,
			 cpu->family, cpu->model, machine_core_find(cpu, &match)->title);
	else if (match == MACHINE_MATCH_FEATURES)
		snprintf(out, room, "%s or later (by its %s, which family %u model %u lacks)",
			 core->title, find_evidence(cpu)->what, cpu->family, cpu->model);
	else
		snprintf(out, room, "%s (%s; this processor, %s family %u model %u, is not known)",
			 core->title, match == MACHINE_MATCH_NEAREST ? "the nearest" : "a default",
			 cpu->vendor, cpu->family, cpu->model);
	return out;
}
