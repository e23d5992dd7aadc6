/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the instruction-level reports go by: the model of this core, and where samples land. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "collect/check.h"
#include "collect/skid.h"
#include "machine/core.h"
#include "machine/cost.h"

static void check_model(struct check_list *l)
{
	struct machine_cpu cpu = {0};
	enum machine_match match;
	struct machine_model *m;
	struct diag diag;
	char text[180];
	machine_cpu_here(&cpu);
	const struct machine_core *core = machine_core_find(&cpu, &match);
	machine_core_describe(core, &cpu, match, text, sizeof(text));
	check_add(l, "core_model", match == MACHINE_MATCH_EXACT ? CHECK_GOOD : CHECK_PARTIAL, "%s",
		  text);
	int r = machine_model_new(core, MACHINE_SOURCE_LLVM, &m, &diag);
	if (r == -EPERM) {
		check_add(l, "instruction_costs", CHECK_PARTIAL, "built-in tables: %s", diag.text);
		return;
	}
	if (r) {
		struct check *c = check_add(l, "instruction_costs", CHECK_PARTIAL,
					    "built-in tables, which know kinds of work only");
		check_mend(c, "sudo apt-get install libllvm19 (and culprit's module for it)");
		return;
	}
	check_add(l, "instruction_costs", CHECK_GOOD, "%s", machine_model_source(m));
	machine_model_free(m);
}

static void write_skid(struct check_list *l, const char *event, const struct machine_skid *s)
{
	struct check *c =
		check_add(l, "skid", CHECK_GOOD, "%s, shown one instruction late:", event);
	size_t n = strlen(c->value);
	for (unsigned i = 0; i <= MACHINE_SKID_BRANCH && n < sizeof(c->value); i++)
		if (s->samples[i])
			n += (size_t)snprintf(c->value + n, sizeof(c->value) - n, " %s %.0f%%",
					      machine_skid_case_name(i), 100 * s->shares[i][1]);
}

static void check_skid(struct check_list *l, bool measure)
{
	const char *why;
	struct skid_facts facts;
	struct machine_skid skid;
	struct diag diag;
	struct event e;
	if (event_default(&e, &why, &diag)) {
		check_add(l, "skid", CHECK_PARTIAL, "unknown: there is no event to measure it by");
		return;
	}
	int r = measure ? skid_measure(&e, &facts, &diag) : skid_recall(&e, &facts);
	if (r == 0 && machine_skid_parse(facts.skid, &skid) == 0)
		write_skid(l, e.name, &skid);
	else if (measure)
		check_add(l, "skid", CHECK_PARTIAL, "not measured: %.150s", diag.text);
	else
		check_add(l, "skid", CHECK_FACT,
			  "of %s not measured yet: the first record does, or doctor --measure",
			  e.name);
	event_free(&e);
}

void check_core(struct check_list *l, bool measure)
{
	l->group = "instructions";
	check_model(l);
	check_skid(l, measure);
}
