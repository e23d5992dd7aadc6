/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/culprits/culprits_kinds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MNEMONICS_MAX 8192

struct culprit_kinds {
	const struct isa_decoder *decoder;
	uint8_t known[MNEMONICS_MAX]; /* 0: not asked for yet, else 1 + enum culprit_kind */
};

struct culprit_kinds *culprit_kinds_new(const struct isa_decoder *decoder)
{
	struct culprit_kinds *k = calloc(1, sizeof(*k));

	if (k)
		k->decoder = decoder;
	return k;
}

void culprit_kinds_free(struct culprit_kinds *k)
{
	free(k);
}

static bool ends_in(const char *name, const char *end)
{
	size_t a = strlen(name), b = strlen(end);

	return a >= b && strcmp(name + a - b, end) == 0;
}

static bool starts_with_one_of(const char *name, const char *const *starts)
{
	for (size_t i = 0; starts[i]; i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* SSE and AVX by operation and type (addsd, vfmadd231ps), x87 by operation. */
static bool is_float(const char *name)
{
	static const char *const operations[] = {"add",	   "sub",    "mul",   "div",
						 "sqrt",   "cvt",    "fmadd", "fmsub",
						 "fnmadd", "fnmsub", NULL};
	static const char *const x87[] = {"fadd", "fiadd", "fsub",  "fisub", "fmul", "fimul",
					  "fdiv", "fidiv", "fsqrt", "fld",   "fst",  NULL};
	const char *rest = *name == 'v' ? name + 1 : name;
	bool typed = ends_in(name, "ss") || ends_in(name, "sd") || ends_in(name, "ps") ||
		     ends_in(name, "pd");

	if (typed && starts_with_one_of(rest, operations))
		return true;
	return starts_with_one_of(name, x87) && !ends_in(name, "cw") && !ends_in(name, "sw") &&
	       !ends_in(name, "env");
}

static enum culprit_kind kind_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum culprit_kind kind;
	} integer[] = {
		{"add", CULPRIT_KIND_ADD},	 {"sub", CULPRIT_KIND_SUBTRACT},
		{"inc", CULPRIT_KIND_INCREMENT}, {"dec", CULPRIT_KIND_DECREMENT},
		{"lea", CULPRIT_KIND_ADDRESS},
	};

	for (size_t i = 0; i < sizeof(integer) / sizeof(integer[0]); i++)
		if (strcmp(name, integer[i].name) == 0)
			return integer[i].kind;
	if (strncmp(name, "vmaskmov", 8) == 0 || strncmp(name, "vpmaskmov", 9) == 0)
		return CULPRIT_KIND_MASKED;
	return is_float(name) ? CULPRIT_KIND_FLOAT : CULPRIT_KIND_OTHER;
}

enum culprit_kind culprit_kind_of(struct culprit_kinds *k, const struct isa_operands *o)
{
	uint8_t *known;

	if (!k || o->mnemonic >= MNEMONICS_MAX)
		return CULPRIT_KIND_OTHER;
	known = &k->known[o->mnemonic];
	if (*known == 0)
		*known = (uint8_t)(1 + kind_of_name(isa_mnemonic_name(k->decoder, o->mnemonic)));
	return (enum culprit_kind)(*known - 1);
}
