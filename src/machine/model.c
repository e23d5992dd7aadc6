/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A core with a source of costs: opening, names, and the memory of forms. prepare.c fills it. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "machine/model.h"

#define FORMS_MAX	65536
#define PREPARED_PLACES 4096

static int open_llvm(struct machine_model *m, struct diag *diag)
{
	char error[200];
	int r = llvm_module_load(&m->module, diag);

	if (r)
		return r;
	m->llvm = m->module->table->open(m->core->llvm_cpu, error, sizeof(error));
	if (!m->llvm) {
		m->module = NULL;
		return diag_fail(diag, ENOENT, "no instruction costs from LLVM: %s", error);
	}
	snprintf(m->source, sizeof(m->source), "LLVM %s (%s%s%s)", m->module->table->version,
		 m->core->llvm_cpu, m->core->llvm_older ? ", widened to " : "",
		 m->core->llvm_older ? m->core->name : "");
	return machine_llvm_learn(m, diag);
}

static void take_own_ports(struct machine_model *m)
{
	for (unsigned i = 0; i < MACHINE_CORE_PORTS_MAX && m->core->ports[i]; i++)
		m->port_of[i] = UINT64_C(1) << i;
}

static int open_source(struct machine_model *m, enum machine_source source, struct diag *diag)
{
	struct diag why = {.text = "they were asked for"};
	int r = -ENOENT;

	if (source != MACHINE_SOURCE_BUILTIN)
		r = open_llvm(m, source == MACHINE_SOURCE_LLVM ? diag : &why);
	if (r == 0 || source == MACHINE_SOURCE_LLVM || r == -ENOMEM)
		return r;
	snprintf(m->source, sizeof(m->source), "built-in tables (%.200s)", why.text);
	take_own_ports(m);
	return 0;
}

int machine_model_new(const struct machine_core *core, enum machine_source source,
		      struct machine_model **ret, struct diag *diag)
{
	struct machine_model *m = calloc(1, sizeof(*m));
	int r = -ENOMEM;

	if (!m)
		return diag_fail(diag, ENOMEM, "no memory for a machine model");
	m->core = m->base = core;
	m->forms = map64_new(FORMS_MAX);
	m->prepared = isa_memo_new(PREPARED_PLACES, sizeof(struct machine_instruction));
	/* The first is for forms that find no room: one slot and nothing else. */
	m->cost_room = 256;
	m->costs = calloc(m->cost_room, sizeof(*m->costs));
	if (m->forms && m->costs && m->prepared) {
		m->costs[m->cost_count++].slots = 1;
		r = isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &m->decoder, diag);
	}
	if (r == 0)
		r = open_source(m, source, diag);
	if (r) {
		machine_model_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

int machine_model_adopt(struct machine_model *m, const struct machine_core *core, struct diag *diag)
{
	struct isa_memo *prepared =
		isa_memo_new(PREPARED_PLACES, sizeof(struct machine_instruction));

	if (!prepared)
		return diag_fail(diag, ENOMEM, "no memory for a machine model");
	isa_memo_free(m->prepared);
	m->prepared = prepared;
	map64_clear(m->forms);
	m->cost_count = 1;
	m->own = *core;
	m->core = &m->own;
	memset(m->port_of, 0, sizeof(m->port_of));
	if (m->llvm)
		return machine_llvm_learn(m, diag);
	take_own_ports(m);
	return 0;
}

void machine_model_free(struct machine_model *m)
{
	if (!m)
		return;
	if (m->llvm)
		m->module->table->close(m->llvm);
	isa_decoder_free(m->decoder);
	map64_free(m->forms);
	isa_memo_free(m->prepared);
	free(m->costs);
	free(m);
}

const struct machine_core *machine_model_core(const struct machine_model *m)
{
	return m->core;
}

const char *machine_model_source(const struct machine_model *m)
{
	return m->source;
}

const struct machine_cost *machine_cost_of(const struct machine_model *m,
					   const struct machine_instruction *in)
{
	return &m->costs[in->cost];
}

void machine_read_counters(const struct machine_model *m, struct machine_counters *ret)
{
	*ret = m->counters;
	ret->forms = m->cost_count - 1;
}

uint64_t machine_translate_ports(const struct machine_model *m, uint32_t core_ports)
{
	uint64_t ports = 0;

	for (unsigned i = 0; i < MACHINE_CORE_PORTS_MAX; i++)
		if (core_ports >> i & 1)
			ports |= m->port_of[i];
	return ports;
}
