/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What single instructions cost on a core, where it is known better than by a rule. */
#include <string.h>
#include "machine/model.h"

static bool fits(const struct machine_model *m, const struct machine_exception *e,
		 const struct machine_form *f)
{
	const struct isa_operands *o = f->operands;
	const char *name = isa_mnemonic_name(m->decoder, o->mnemonic);

	name += *name == 'v' && machine_has_vector(o, o->count);
	return machine_name_fits(e->names, name) && (!e->bits || o->list[0].size_bits == e->bits) &&
	       (!e->by_register || (o->shown > 1 && o->list[1].kind == ISA_OPERAND_REGISTER));
}

/* All of the work is done by these ports. */
static void set_ports(const struct machine_model *m, const struct machine_exception *e,
		      const struct machine_form *f, struct machine_cost *c)
{
	uint16_t turns = machine_vector_turns(m->core, f->operands->list[0].size_bits);
	struct machine_use *work = &c->uses[c->load_uses];
	uint8_t count = e->more_ports ? 2 : 1;

	if (c->load_uses + count + c->store_uses > MACHINE_USES_MAX)
		return;
	memmove(work + count, work + c->work_uses, c->store_uses * sizeof(*work));
	work[0] = (struct machine_use){machine_translate_ports(m, e->ports), 1, turns};
	if (e->more_ports)
		work[1] = (struct machine_use){machine_translate_ports(m, e->more_ports), 1, turns};
	c->work_uses = count;
}

/* Takes the first of a list that fits. */
static void take_exception(const struct machine_model *m, const struct machine_exception *e,
			   const struct machine_form *f, struct machine_cost *c)
{
	while (e->names && !fits(m, e, f))
		e++;
	if (!e->names)
		return;
	if (e->latency_cycles)
		c->latency = e->latency_cycles;
	if (e->ports)
		set_ports(m, e, f, c);
	if (e->slots)
		c->slots = (uint8_t)(e->slots + c->stores);
	if (e->chained_cycles)
		c->chained = e->chained_cycles;
	if (e->sum_cycles)
		c->sum_wait = e->sum_cycles;
}

/* Two uses take the place of count at an index. */
static void set_pair(struct machine_cost *c, unsigned at, uint8_t *count, uint64_t first,
		     uint64_t second, uint16_t turns)
{
	unsigned all = c->load_uses + c->work_uses + c->store_uses;

	if (all + 2 - *count > MACHINE_USES_MAX)
		return;
	memmove(&c->uses[at + 2], &c->uses[at + *count], (all - at - *count) * sizeof(*c->uses));
	c->uses[at] = (struct machine_use){first, 1, 1};
	c->uses[at + 1] = (struct machine_use){second, 1, turns};
	*count = 2;
}

/* A vector goes by an address unit and a pipe of vectors; what is only stored needs no work. */
static void set_vector_memory(const struct machine_model *m, const struct machine_form *f,
			      struct machine_cost *c)
{
	const struct machine_core *core = m->core;
	const struct isa_operand *mem = machine_find_memory(f->operands);
	uint16_t turns = machine_vector_turns(core, mem ? mem->size_bits : 0);

	if (!mem || !core->vector_load_ports ||
	    !machine_has_vector(f->operands, f->operands->shown))
		return;
	if (c->loads == 1)
		set_pair(c, 0, &c->load_uses,
			 machine_translate_ports(m, core->work[MACHINE_WORK_LOAD].ports),
			 machine_translate_ports(m, core->vector_load_ports), turns);
	if (c->stores && machine_only_moves(m, f)) {
		memmove(&c->uses[c->load_uses], &c->uses[c->load_uses + c->work_uses],
			c->store_uses * sizeof(*c->uses));
		c->work_uses = 0;
		c->latency = 0;
	}
	if (c->stores)
		set_pair(c, c->load_uses + c->work_uses, &c->store_uses,
			 machine_translate_ports(m, core->work[MACHINE_WORK_STORE_ADDRESS].ports),
			 machine_translate_ports(m, core->vector_store_ports), turns);
}

/* Measured on Zen 3: shuffles and blends are integer work whatever they move, horizontal sums
 * either.
 */
static uint8_t find_domain(const struct machine_model *m, const struct machine_form *f)
{
	const struct isa_operands *o = f->operands;
	const char *name = isa_mnemonic_name(m->decoder, o->mnemonic);

	if (!machine_has_vector(o, o->shown) || machine_only_moves(m, f))
		return MACHINE_DOMAIN_NONE;
	name += *name == 'v';
	if (machine_name_fits("p mpsadbw aes sha shufp unpck blendps. blendpd. movhlps. movlhps. "
			      "insertps. movshdup. movsldup. movddup. broadcast",
			      name))
		return MACHINE_DOMAIN_INTEGER;
	if (machine_name_fits("hadd hsub", name))
		return MACHINE_DOMAIN_NONE;
	const char *end = name + strlen(name) - 2;
	bool is_float = end >= name && (!strcmp(end, "ps") || !strcmp(end, "pd") ||
					!strcmp(end, "ss") || !strcmp(end, "sd"));
	return is_float || machine_name_fits("cvt", name) ? MACHINE_DOMAIN_FLOAT
							  : MACHINE_DOMAIN_NONE;
}

void machine_cost_correct(const struct machine_model *m, const struct machine_form *f,
			  struct machine_cost *c)
{
	if (!f->instruction->valid || (f->traits & (MACHINE_ZERO | MACHINE_ELIMINATED)))
		return;
	set_vector_memory(m, f, c);
	if (m->core->exceptions)
		take_exception(m, m->core->exceptions, f, c);
	take_exception(m, m->core->overrides, f, c);
	if (m->core->vector_domain_cycles)
		c->domain = find_domain(m, f);
}
