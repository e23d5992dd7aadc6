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

const struct machine_core *machine_core_find(const struct machine_cpu *cpu,
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
	*ret = cpu;
	return true;
#else
	(void)ret;
	return false;
#endif
}

void machine_cpu_format(const struct machine_cpu *cpu, char out[MACHINE_CPU_TEXT])
{
	snprintf(out, MACHINE_CPU_TEXT, "%.15s %u %u %u", cpu->vendor, cpu->family, cpu->model,
		 cpu->stepping);
}

int machine_cpu_parse(const char *text, struct machine_cpu *ret)
{
	struct machine_cpu cpu = {0};
	if (sscanf(text, "%15s %9u %9u %9u", cpu.vendor, &cpu.family, &cpu.model, &cpu.stepping) !=
	    4)
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
		snprintf(out, room, "%s (for want of better: the processor is not known)",
			 core->title);
	else
		snprintf(out, room, "%s (%s; this processor, %s family %u model %u, is not known)",
			 core->title,
			 match == MACHINE_MATCH_NEAREST ? "the nearest" : "for want of better",
			 cpu->vendor, cpu->family, cpu->model);
	return out;
}
