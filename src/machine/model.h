/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_MODEL_H
#define CULPRIT_MACHINE_MODEL_H

#include "machine/cost.h"
#include "isa/memo.h"
#include "machine/llvm_load.h"
#include "util/hash.h"

#define MACHINE_MNEMONICS_MAX 8192

/* Inside a model; for the files of this folder. */
struct machine_model {
	const struct machine_core *core;
	const struct machine_core *base; /* what core is, or was made from by measurements */
	struct machine_core own;	 /* what core points to if measurements made it */
	struct isa_decoder *decoder;
	struct llvm_module *module; /* NULL: built-in costs */
	struct llvm_costs *llvm;
	char source[256];

	/* The model's ports for each port of the core's own table. */
	uint64_t port_of[MACHINE_CORE_PORTS_MAX];

	/* Of LLVM's model: units of a plain load and a plain store; units that say twice what
	 * others say; cycles that a load of a general and of a vector register takes there. */
	uint64_t load_units, store_units, idle_units;
	uint16_t load_cycles, vector_load_cycles;

	uint16_t
		words[MACHINE_MNEMONICS_MAX]; /* what prepare.c knows of mnemonics by their names */

	struct isa_memo *prepared; /* struct machine_instruction, by their bytes */
	struct map64 *forms;	   /* hash of a form -> number of its cost */
	struct machine_cost *costs;
	uint32_t cost_count;
	size_t cost_room;
	struct machine_counters counters;
};

/* What a form's cost follows from. */
struct machine_form {
	const uint8_t *code;
	size_t size;
	const struct isa_instruction *instruction;
	const struct isa_operands *operands;
	uint16_t traits; /* of machine_instruction, fusion aside */
};

/* The costs of the tables of the core: always succeeds. cost_builtin.c */
void machine_cost_builtin(const struct machine_model *m, const struct machine_form *f,
			  struct machine_cost *ret);
/* Those of LLVM, corrected; false when it has none. cost_llvm.c */
bool machine_cost_llvm(struct machine_model *m, const struct machine_form *f,
		       struct machine_cost *ret);
/* Corrects what a core's exceptions name. exceptions.c */
void machine_cost_correct(const struct machine_model *m, const struct machine_form *f,
			  struct machine_cost *c);
/* Whether a name begins with one of a list separated by spaces; one followed by a full stop has to
 * be all of it. cost_builtin.c */
bool machine_name_fits(const char *names, const char *name);
/* Learns the units of LLVM's model. cost_llvm.c */
int machine_llvm_learn(struct machine_model *m, struct diag *diag);

/* Uses another core from now on, one made from the model's own (a copy is kept); what was prepared
 * before is void. model.c */
int machine_model_adopt(struct machine_model *m, const struct machine_core *core,
			struct diag *diag);

/* The model's ports for a mask of the core's. model.c */
uint64_t machine_translate_ports(const struct machine_model *m, uint32_t core_ports);
/* The kind of an instruction's work; whether it has none beside loads and stores. cost_builtin.c */
enum machine_work machine_find_work(const struct machine_model *m, const struct machine_form *f);
bool machine_only_moves(const struct machine_model *m, const struct machine_form *f);
/* How often a vector operation that wide goes through a port: 1 or 2. */
uint16_t machine_vector_turns(const struct machine_core *core, unsigned bits);
/* Whether one of the first count operands is a vector, mask, x87 or MMX register. */
bool machine_has_vector(const struct isa_operands *o, unsigned count);

/* The memory operand that is accessed (or, when none is, addressed), or NULL. prepare.c */
const struct isa_operand *machine_find_memory(const struct isa_operands *o);

#endif
