/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Macro-fusion: an instruction that writes flags and the conditional jump right after it become one
 * operation. Rules: Intel's optimization manual (section 3.4.2.2), AMD's guides for families 17h to
 * 1Ah; doc/machine.md.
 */
#include <string.h>
#include "machine/model.h"

/* Conditions as x86 numbers them. */
enum {
	COND_O,
	COND_NO,
	COND_B,
	COND_AE,
	COND_E,
	COND_NE,
	COND_BE,
	COND_A,
	COND_S,
	COND_NS,
	COND_P,
	COND_NP,
	COND_L,
	COND_GE,
	COND_LE,
	COND_G
};

enum family {
	FAMILY_NONE,
	FAMILY_TEST,
	FAMILY_COMPARE,
	FAMILY_LOGIC,
	FAMILY_SUM,
	FAMILY_STEP,
	FAMILY_AMD
};

static enum family family_of(const char *name)
{
	static const struct {
		const char *name;
		enum family family;
	} families[] = {
		{"test", FAMILY_TEST}, {"cmp", FAMILY_COMPARE}, {"and", FAMILY_LOGIC},
		{"add", FAMILY_SUM},   {"sub", FAMILY_SUM},	{"inc", FAMILY_STEP},
		{"dec", FAMILY_STEP},  {"or", FAMILY_AMD},	{"xor", FAMILY_AMD},
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (!strcmp(name, families[i].name))
			return families[i].family;
	return FAMILY_NONE;
}

/* Which conditions an instruction's flags fuse with on Intel. */
static bool intel_condition(enum family family, unsigned condition)
{
	bool carry = condition >= COND_B && condition <= COND_A && condition != COND_E &&
		     condition != COND_NE;
	bool sign = condition == COND_S || condition == COND_NS || condition == COND_P ||
		    condition == COND_NP || condition == COND_O || condition == COND_NO;

	switch (family) {
	case FAMILY_TEST:
	case FAMILY_LOGIC:
		return true;
	case FAMILY_COMPARE:
	case FAMILY_SUM:
		return !sign;
	case FAMILY_STEP:
		return !sign && !carry;
	default:
		return false;
	}
}

static bool fuses(const struct machine_model *m, const struct machine_instruction *a,
		  const struct machine_instruction *b)
{
	enum family family = family_of(isa_mnemonic_name(m->decoder, a->mnemonic));
	bool amd = !strcmp(m->core->vendor, "AuthenticAMD");
	bool compares = family == FAMILY_TEST || family == FAMILY_COMPARE;

	if (!(b->traits & MACHINE_CONDITIONAL) || a->address + a->size != b->address ||
	    b->condition == ISA_NO_CONDITION || (a->traits & (MACHINE_STORES | MACHINE_LOCKED)))
		return false;
	if (family == FAMILY_NONE || (family == FAMILY_AMD && !amd))
		return false;
	if (compares ? !m->core->fuses_compare : !m->core->fuses_arithmetic)
		return false;
	if ((a->traits & MACHINE_LOADS) && !compares)
		return false;
	/* Memory with an immediate: a read of registers says that there is none. */
	if ((a->traits & MACHINE_LOADS) && a->read_count == a->address_count &&
	    !(m->core->fuses_memory_immediate && a->memory_value == 0))
		return false;
	return amd || intel_condition(family, b->condition);
}

static bool is_nop(const struct machine_model *m, const struct machine_instruction *in)
{
	return !strcmp(isa_mnemonic_name(m->decoder, in->mnemonic), "nop");
}

void machine_fuse(const struct machine_model *m, struct machine_instruction *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (m->core->fuses_nops && !(list[i - 1].traits & MACHINE_FUSED) &&
		    is_nop(m, &list[i])) {
			list[i].traits |= MACHINE_FUSED;
			continue;
		}
		if ((list[i - 1].traits & MACHINE_FUSED) || !fuses(m, &list[i - 1], &list[i]))
			continue;
		list[i - 1].traits |= MACHINE_FUSES;
		list[i].traits |= MACHINE_FUSED;
	}
}
