/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_MEASURED_H
#define CULPRIT_MACHINE_MEASURED_H

#include <stddef.h>
#include "machine/cost.h"
#include "machine/loops.h"

/*
 * The measured times of a processor for the loops of loops.h, and a model made to agree with them.
 * A virtual machine may hide which processor it has, and tables of a core may be wrong or of its
 * predecessor; loops do not lie. The measurement travels with a profile as the fact "core-loops";
 * conclusions are drawn where the profile is read, so later versions can make more of it.
 */
struct machine_measured {
	double cycles[MACHINE_LOOPS_MAX]; /* a round, in the order of machine_loop_at; 0: unknown */
};

#define MACHINE_MEASURED_TEXT 1000
/* The text of the fact: "imul_chain=12.00;...". */
void machine_measured_format(const struct machine_measured *x, char out[MACHINE_MEASURED_TEXT]);
/* Reads it. -EINVAL, and ret untouched, when it is not one or is nonsense: no core is that fast or
 * that slow, or too few loops have a time. Loops of other versions are skipped. */
int machine_measured_parse(const char *text, struct machine_measured *ret);

/* How far the model is from the measured loops. */
struct machine_fit {
	unsigned loops;
	double median, high; /* errors, shares of the measured cycles; high: the 90th percentile */
	double distance;     /* mean of the logarithms, each of at most a factor of two */
};

/* -ENOMEM. Without loops that can be compared all is 0. */
int machine_fit_measure(struct machine_model *m, const struct machine_measured *x,
			struct machine_fit *ret);
/* False when a neighbour on the core took part of its width all the time: the processor would be
 * narrower than any it can be. */
bool machine_fit_is_alone(const struct machine_cpu *cpu, const struct machine_measured *x);
struct machine_instruction;

#define MACHINE_LOOP_INSTRUCTIONS 256 /* the most per round that are looked at */
/* A loop's instructions as the simulator takes them. Returns how many. */
size_t machine_fit_prepare(struct machine_model *m, const struct machine_loop *l,
			   struct machine_instruction list[MACHINE_LOOP_INSTRUCTIONS]);
/* Simulated cycles of a round of a loop; 0: they cannot be told. */
double machine_fit_simulate(struct machine_model *m, const struct machine_loop *l);

#define MACHINE_KNOBS_MAX 40

/* Which core a machine has and what was corrected in its model. */
struct machine_belief {
	enum machine_match match;
	bool measured;			  /* and used */
	bool refused;			  /* measured, but it fits no core, corrected or not */
	struct machine_fit before, after; /* corrections */
	unsigned count;			  /* of them */
	struct {
		const char *name; /* "latency of multiplications"; static */
		unsigned value;
	} corrections[MACHINE_KNOBS_MAX];
};

/*
 * The model of a processor's core: the one that its number and features name, or another that these
 * allow if the measured loops fit it clearly better; with corrections where loops differ from the
 * model and a change of one figure brings them clearly nearer. x NULL: nothing was measured. Fails
 * as machine_model_new does.
 */
int machine_model_believe(const struct machine_cpu *cpu, const struct machine_measured *x,
			  enum machine_source source, struct machine_model **ret,
			  struct machine_belief *ret_belief, struct diag *diag);
/* The corrections alone, of a model of whatever core. 0 or -ENOMEM. tune.c */
int machine_model_tune(struct machine_model *m, const struct machine_measured *x,
		       struct machine_belief *b, struct diag *diag);
/* "Intel Sapphire Rapids; 30 measured loops off by 0% (median) and 5% (90th percentile), before 2
 * corrections by 1% and 9%". Returns out. */
const char *machine_belief_describe(const struct machine_model *m, const struct machine_cpu *cpu,
				    const struct machine_belief *b, char *out, size_t room);

#endif
