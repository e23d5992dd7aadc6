/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Costs from LLVM's scheduling model, corrected. What nearly all code is made of (moves, simple
 * arithmetic, addresses, jumps, calls, divisions, locked operations, fences) comes from the core's
 * own tables, because LLVM's models are wrong there in ways that matter: doc/machine.md has the
 * list. Everything else is LLVM's word, freed of what it counts twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "machine/model.h"

static const uint8_t plain_load[] = {0x48, 0x8b, 0x07};	       /* mov (%rdi),%rax */
static const uint8_t plain_store[] = {0x48, 0x89, 0x07};       /* mov %rax,(%rdi) */
static const uint8_t plain_vector_load[] = {0x0f, 0x28, 0x07}; /* movaps (%rdi),%xmm0 */

static bool is_amd(const struct machine_core *core)
{
	return !strcmp(core->vendor, "AuthenticAMD");
}

/* LLVM's name of a port of ours. */
static bool names_match(const struct machine_core *core, const char *port, const char *unit)
{
	static const char *const amd[][2] = {
		{"alu0", "ALU0"},    {"alu1", "ALU1"}, {"alu2", "ALU2"}, {"alu3", "ALU3"},
		{"branch", "BRU1"},  {"agu0", "AGU0"}, {"agu1", "AGU1"}, {"agu2", "AGU2"},
		{"fp0", "FP0"},	     {"fp1", "FP1"},   {"fp2", "FP2"},	 {"fp3", "FP3"},
		{"fpstore", "FPSt"},
	};

	if (!is_amd(core)) { /* SKXPort1, SPRPort01, SPRPort11 */
		const char *digits = strstr(unit, "Port");
		char *end;

		return digits && strtoul(digits + 4, &end, 10) == strtoul(port + 1, NULL, 10) &&
		       end != digits + 4 && !*end;
	}
	for (size_t i = 0; i < sizeof(amd) / sizeof(*amd); i++)
		if (!strcmp(port, amd[i][0]))
			return strlen(unit) > 3 && !strcmp(unit + 3, amd[i][1]);
	return false;
}

/* Takes LLVM's units as ports, and adds the ports that LLVM's model of an older core lacks. */
static void take_units(struct machine_model *m)
{
	const struct llvm_costs_table *t = m->module->table;
	unsigned count = 0;
	const char *unit;

	for (; count < MACHINE_PORTS_MAX && (unit = t->unit(m->llvm, count)); count++) {
		for (unsigned i = 0; i < MACHINE_CORE_PORTS_MAX && m->core->ports[i]; i++)
			if (names_match(m->core, m->core->ports[i], unit))
				m->port_of[i] = UINT64_C(1) << count;
		if (strstr(unit, "LSU") || strstr(unit, "ZnLoad") || strstr(unit, "Load"))
			m->idle_units |= UINT64_C(1) << count;
	}
	for (unsigned i = 0; i < MACHINE_CORE_PORTS_MAX && m->core->ports[i]; i++)
		if (!m->port_of[i] && count < MACHINE_PORTS_MAX)
			m->port_of[i] = UINT64_C(1) << count++;
}

static uint64_t units_of(const struct llvm_costs_form *form)
{
	uint64_t units = 0;

	for (unsigned i = 0; i < form->use_count; i++)
		units |= form->uses[i].units;
	return units;
}

int machine_llvm_learn(struct machine_model *m, struct diag *diag)
{
	const struct llvm_costs_table *t = m->module->table;
	struct llvm_costs_form load, store, vector;

	take_units(m);
	if (!t->form(m->llvm, plain_load, sizeof(plain_load), &load) ||
	    !t->form(m->llvm, plain_store, sizeof(plain_store), &store) ||
	    !t->form(m->llvm, plain_vector_load, sizeof(plain_vector_load), &vector))
		return diag_fail(diag, EPROTO, "LLVM's model %s lacks plain loads and stores",
				 m->core->llvm_cpu);
	m->load_units = units_of(&load) | units_of(&vector);
	m->store_units = units_of(&store);
	m->load_cycles = load.latency;
	m->vector_load_cycles = vector.latency;
	return 0;
}

/* Names of simple arithmetic whose cost the core's table knows. */
static bool is_simple(const char *name)
{
	static const char *const simple[] = {"add",   "sub",   "and",	 "or",	"xor",	"cmp",
					     "test",  "inc",   "dec",	 "neg", "not",	"mov",
					     "movzx", "movsx", "movsxd", "lea", "push", "pop",
					     "cdqe",  "cqo",   "cdq",	 "cwde"};

	for (size_t i = 0; i < sizeof(simple) / sizeof(*simple); i++)
		if (!strcmp(name, simple[i]))
			return true;
	return false;
}

static bool is_vector_form(const struct machine_form *f)
{
	return machine_has_vector(f->operands, f->operands->shown);
}

/* The forms that are costed by the core's own tables. */
static bool prefers_builtin(const struct machine_model *m, const struct machine_form *f)
{
	const char *name = isa_mnemonic_name(m->decoder, f->operands->mnemonic);
	const unsigned own = MACHINE_ZERO | MACHINE_ELIMINATED | MACHINE_BRANCH | MACHINE_LOCKED |
			     MACHINE_FENCE | MACHINE_SERIAL | MACHINE_PREFETCH;

	if ((f->traits & own) || (f->operands->attributes & (ISA_NOP | ISA_REPEATED)))
		return true;
	return is_simple(name) || !strcmp(name, "div") || !strcmp(name, "idiv");
}

/* A newer core than LLVM's model, or one that was measured to have more or fewer ports: the same
 * kinds of work have others. */
static uint64_t replace_ports(const struct machine_model *m, const struct machine_core *old,
			      const struct machine_core *core, uint64_t units)
{
	static const uint8_t kinds[] = {MACHINE_WORK_ALU, MACHINE_WORK_SHIFT, MACHINE_WORK_MUL,
					MACHINE_WORK_LOAD, MACHINE_WORK_STORE_DATA};

	for (size_t i = 0; i < sizeof(kinds); i++)
		if (units && units == machine_translate_ports(m, old->work[kinds[i]].ports))
			return machine_translate_ports(m, core->work[kinds[i]].ports);
	return units;
}

static uint64_t widen(const struct machine_model *m, uint64_t units)
{
	const struct machine_core *old =
		m->base->llvm_older ? machine_core_by_name(m->base->llvm_older) : NULL;

	if (old)
		units = replace_ports(m, old, m->base, units);
	return m->core == m->base ? units : replace_ports(m, m->base, m->core, units);
}

enum phase { PHASE_LOAD, PHASE_WORK, PHASE_STORE };

static enum phase phase_of(const struct machine_model *m, const struct machine_form *f,
			   const struct machine_cost *c, uint64_t units)
{
	if ((f->traits & MACHINE_LOADS) && !(units & ~m->load_units)) {
		bool again = false;

		for (unsigned i = 0; i < c->load_uses; i++)
			again |= c->uses[i].ports == widen(m, units);
		if (!again || !(f->traits & MACHINE_STORES))
			return PHASE_LOAD;
	}
	if ((f->traits & MACHINE_STORES) && !(units & ~m->store_units))
		return PHASE_STORE;
	return PHASE_WORK;
}

static void add_phase(struct machine_model *m, const struct machine_form *f,
		      const struct llvm_costs_form *form, enum phase phase, struct machine_cost *c,
		      uint8_t *count)
{
	const struct machine_core *core = m->core;
	uint64_t alus = machine_translate_ports(m, core->work[MACHINE_WORK_ALU].ports);

	for (unsigned i = 0; i < form->use_count; i++) {
		uint64_t units = form->uses[i].units;
		unsigned at = c->load_uses + c->work_uses + c->store_uses;
		struct machine_use u = {widen(m, units), 1, form->uses[i].cycles};

		if (!(units & ~m->idle_units) || phase_of(m, f, c, units) != phase)
			continue;
		if (at == MACHINE_USES_MAX) {
			m->counters.uses_left_out++;
			continue;
		}
		/* Several operations on one group are one entry of so many cycles; Zen's models
		 * keep stores and carries for more than the one cycle that they take. */
		if (is_amd(core) &&
		    (phase == PHASE_STORE || (!(u.ports & ~alus) && form->latency <= 1)))
			u.cycles = 1;
		else if (__builtin_popcountll(u.ports) > 1 && form->operations > form->use_count)
			u = (struct machine_use){u.ports, u.cycles, 1};
		c->uses[at] = u;
		++*count;
	}
}

#define STORE_WORK_MAX 3

/* The latency of the work alone: LLVM's has the load in it, and on some models the store. */
static uint16_t work_latency(const struct machine_model *m, const struct machine_form *f,
			     const struct llvm_costs_form *form, const struct machine_cost *c)
{
	bool stores = f->traits & MACHINE_STORES;

	if (!(f->traits & MACHINE_LOADS))
		return stores && !c->work_uses			  ? 0
		       : stores && form->latency > STORE_WORK_MAX ? STORE_WORK_MAX
								  : form->latency;
	unsigned load = form->input_advance		  ? form->input_advance
			: f->traits & MACHINE_VECTOR_LOAD ? m->vector_load_cycles
							  : m->load_cycles;
	if (machine_only_moves(m, f) || !c->work_uses)
		return form->latency > load + 1 ? (uint16_t)(form->latency - load) : 0;
	return form->latency > load + 1 ? (uint16_t)(form->latency - load) : 1;
}

/* True when Intel's renaming takes a load and its operation apart again: with an index, unless the
 * destination is a source too and the encoding an old one. */
static bool is_unlaminated(const struct machine_core *core, const struct machine_form *f)
{
	const struct isa_operand *mem = machine_find_memory(f->operands);

	return !core->keeps_indexed_fused && mem && mem->index != ISA_REG_NONE &&
	       ((f->operands->attributes & ISA_VECTOR_ENCODED) || f->operands->shown > 2 ||
		!(f->operands->list[0].access & ISA_ACCESS_READS));
}

static uint8_t count_slots(const struct machine_core *core, const struct machine_form *f,
			   const struct llvm_costs_form *form, const struct machine_cost *c)
{
	unsigned slots = form->operations;

	if (!is_amd(core)) {
		bool apart = is_unlaminated(core, f);

		if (c->stores && c->store_uses > 1 && slots > 1)
			slots--;
		if (c->loads && c->work_uses && slots > 1 && !apart)
			slots--;
	}
	return (uint8_t)(slots < 1 ? 1 : slots > 100 ? 100 : slots);
}

static uint64_t find_divider(const struct machine_cost *c)
{
	uint64_t port = 0;
	uint16_t longest = 1;

	for (unsigned i = 0; i < c->work_uses; i++)
		if (c->uses[c->load_uses + i].cycles > longest) {
			longest = c->uses[c->load_uses + i].cycles;
			port = c->uses[c->load_uses + i].ports;
		}
	return port;
}

/* Zen's models cost gathers like one load; each element is one, with about five operations. */
static void correct_gather(const struct machine_model *m, const struct machine_form *f,
			   struct machine_cost *c)
{
	const char *name = isa_mnemonic_name(m->decoder, f->operands->mnemonic);

	if (!strstr(name, "gather") || !is_amd(m->core) || !c->load_uses)
		return;
	unsigned element_bits = name[strlen(name) - 1] == 'd' && !strstr(name, "pd") ? 32 : 64;
	if (strstr(name, "ps"))
		element_bits = 32;
	unsigned elements = f->operands->list[0].size_bits / element_bits;
	c->loads = (uint8_t)(elements ?: 1);
	c->slots = (uint8_t)(5 * c->loads);
	for (unsigned i = 0; i < c->load_uses; i++)
		c->uses[i].count = c->loads;
	c->latency = 8;
	c->microcoded = true;
}

/* What a newer core than LLVM's model does in other times; and on Zen the way between general and
 * vector registers, which LLVM takes for a move like any. */
static void correct_latency(const struct machine_model *m, const struct machine_form *f,
			    struct machine_cost *c)
{
	if (!is_vector_form(f))
		return;
	enum machine_work kind = machine_find_work(m, f);
	if (is_amd(m->core) && !(f->traits & (MACHINE_LOADS | MACHINE_STORES)) &&
	    (kind == MACHINE_WORK_TO_VECTOR || kind == MACHINE_WORK_FROM_VECTOR)) {
		c->latency = m->core->work[kind].latency_cycles;
		return;
	}
	if (!c->work_uses)
		return;
	if (m->core->vector_integer_cycles && c->latency == 1)
		c->latency = m->core->vector_integer_cycles;
	if (m->core->vector_add_cycles && c->latency && kind == MACHINE_WORK_FP_ADD)
		c->latency = m->core->vector_add_cycles;
}

bool machine_cost_llvm(struct machine_model *m, const struct machine_form *f,
		       struct machine_cost *ret)
{
	struct llvm_costs_form form;
	struct machine_cost c = {.known = true};

	if (!f->instruction->valid || !m->module->table->form(m->llvm, f->code, f->size, &form) ||
	    form.size != f->instruction->size)
		return false;
	if (prefers_builtin(m, f) && !is_vector_form(f)) {
		machine_cost_builtin(m, f, ret);
		return true;
	}
	if ((f->traits & (MACHINE_ZERO | MACHINE_ELIMINATED))) {
		machine_cost_builtin(m, f, ret);
		return true;
	}
	m->counters.uses_left_out += form.uses_left_out;
	c.loads = (f->traits & MACHINE_LOADS) != 0;
	c.stores = (f->traits & MACHINE_STORES) != 0;
	add_phase(m, f, &form, PHASE_LOAD, &c, &c.load_uses);
	add_phase(m, f, &form, PHASE_WORK, &c, &c.work_uses);
	add_phase(m, f, &form, PHASE_STORE, &c, &c.store_uses);
	c.latency = work_latency(m, f, &form, &c);
	c.slots = count_slots(m->core, f, &form, &c);
	c.microcoded = form.operations > 4;
	if (f->traits & MACHINE_DIVIDES)
		c.divider = find_divider(&c);
	correct_gather(m, f, &c);
	correct_latency(m, f, &c);
	*ret = c;
	return true;
}
