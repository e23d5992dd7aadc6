/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the instruction-level reports go by: the model of this core, and where samples land. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "collect/check/check.h"
#include "collect/cost/core_measure.h"
#include "collect/cost/skid.h"

/* What was measured, and what was put right by it. */
static void write_loops(struct check_list *l, const struct machine_belief *b)
{
	struct check *c = check_add(l, "core_loops", CHECK_GOOD,
				    "%u loops measured, off by %.0f%% (median) and %.0f%% (90th "
				    "percentile)",
				    b->after.loops, 100 * b->after.median, 100 * b->after.high);
	size_t n = strlen(c->value);

	if (!b->count)
		return;
	n += (size_t)snprintf(c->value + n, sizeof(c->value) - n,
			      "; by %.0f%% and %.0f%% before it was corrected:",
			      100 * b->before.median, 100 * b->before.high);
	for (unsigned i = 0; i < b->count && n < sizeof(c->value); i++)
		n += (size_t)snprintf(c->value + n, sizeof(c->value) - n, "%s %s %u", i ? "," : "",
				      b->corrections[i].name, b->corrections[i].value);
}

/* True when the core's loops are known; a row says why not. */
static bool find_loops(struct check_list *l, bool measure, struct machine_measured *x)
{
	struct diag diag;
	int r = measure ? core_measure(x, &diag) : core_measure_recall(x);

	if (r && measure)
		check_add(l, "core_loops", CHECK_PARTIAL, "not used: %.150s", diag.text);
	else if (r)
		check_add(l, "core_loops", CHECK_FACT,
			  "not measured yet: the first record measures them, or doctor --measure");
	return r == 0;
}

static void check_costs(struct check_list *l, int r, const struct machine_model *m,
			const struct diag *diag)
{
	if (!r) {
		check_add(l, "instruction_costs", CHECK_GOOD, "%s", machine_model_source(m));
		return;
	}
	if (r == -EPERM) {
		check_add(l, "instruction_costs", CHECK_PARTIAL, "built-in tables: %s", diag->text);
		return;
	}
	struct check *c = check_add(l, "instruction_costs", CHECK_PARTIAL,
				    "built-in tables, which know only kinds of instructions");
	check_mend(c, "sudo apt-get install libllvm19 (and culprit's module for it)");
}

static void check_model(struct check_list *l, bool measure)
{
	struct machine_cpu cpu = {0};
	struct machine_measured x;
	struct machine_belief b;
	struct machine_model *m;
	struct diag diag = {.text = ""}, unused;
	char text[200];

	machine_cpu_here(&cpu);
	bool measured = find_loops(l, measure, &x);
	const struct machine_measured *loops = measured ? &x : NULL;
	int r = machine_model_believe(&cpu, loops, MACHINE_SOURCE_LLVM, &m, &b, &diag);
	if (r && machine_model_believe(&cpu, loops, MACHINE_SOURCE_BUILTIN, &m, &b, &unused))
		return;
	machine_core_describe(machine_model_core(m), &cpu, b.match, text, sizeof(text));
	check_add(l, "core_model", b.match <= MACHINE_MATCH_MEASURED ? CHECK_GOOD : CHECK_PARTIAL,
		  "%s", text);
	if (b.refused)
		check_add(l, "core_loops", CHECK_PARTIAL,
			  "measured, but not used: no core can have these times");
	else if (measured)
		write_loops(l, &b);
	check_costs(l, r, m, &diag);
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
		check_add(l, "skid", CHECK_PARTIAL,
			  "unknown: there is no event to measure it with");
		return;
	}
	int r = measure ? skid_measure(&e, &facts, &diag) : skid_recall(&e, &facts);
	if (r == 0 && machine_skid_parse(facts.skid, &skid) == 0)
		write_skid(l, e.name, &skid);
	else if (measure)
		check_add(l, "skid", CHECK_PARTIAL, "not measured: %.150s", diag.text);
	else
		check_add(l, "skid", CHECK_FACT,
			  "not measured yet for %s: the first record measures it, or doctor "
			  "--measure",
			  e.name);
	event_free(&e);
}

void check_core(struct check_list *l, bool measure)
{
	l->group = "instructions";
	check_model(l, measure);
	check_skid(l, measure);
}
