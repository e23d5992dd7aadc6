/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Costs without LLVM: an instruction's kind of work, found by its name, on the ports that the core
 * gives to that kind. Coarse, but never far from the truth for the instructions that most code is
 * made of.
 */
#include <string.h>
#include "machine/model.h"

/* What a serialising instruction takes at least; a system call's true cost is the kernel's code. */
#define SERIAL_CYCLES 30

/* Names as machine_name_fits takes them, after a leading v. The first that fits is taken. Names of
 * general instructions end with a full stop: no longer name fits them. */
static const struct rule {
	enum machine_work work;
	const char *names;
} rules[] = {
	{MACHINE_WORK_DIV, "div. idiv."},
	{MACHINE_WORK_MUL, "mul. imul. mulx. shld. shrd."},
	{MACHINE_WORK_SHIFT, "shl. shr. sar. rol. ror. shlx. shrx. sarx. rorx."},
	{MACHINE_WORK_BITS, "popcnt. lzcnt. tzcnt. bsf. bsr. pdep. pext. crc32."},
	{MACHINE_WORK_FP_DIV, "divp divs sqrt fdiv fsqrt"},
	{MACHINE_WORK_FP_MUL, "fmul mulp muls fmadd fmsub fnmadd fnmsub"},
	{MACHINE_WORK_FP_ADD,
	 "addp adds subp subs maxp maxs minp mins cmpp comis ucomis hadd round"},
	{MACHINE_WORK_CONVERT, "cvt"},
	{MACHINE_WORK_VECTOR_MUL, "pmul pmadd aes pclmul"},
	{MACHINE_WORK_VECTOR_SHIFT, "psll psrl psra"},
	{MACHINE_WORK_SHUFFLE, "pshuf shuf unpck punpck pack perm broadcast pbroadcast insert "
			       "extract pinsr pextr palignr"},
	{MACHINE_WORK_FROM_VECTOR, "pmovmskb movmsk"},
};

bool machine_name_fits(const char *names, const char *name)
{
	size_t n;

	for (const char *s = names; *s; s += n + strspn(s + n, " ")) {
		n = strcspn(s, " ");
		bool whole = s[n - 1] == '.';
		if (!strncmp(s, name, n - whole) && (!whole || !name[n - 1]))
			return true;
	}
	return false;
}

uint16_t machine_vector_turns(const struct machine_core *core, unsigned bits)
{
	return core->vector_bits && bits > core->vector_bits ? 2 : 1;
}

bool machine_has_vector(const struct isa_operands *o, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER && o->list[i].reg >= ISA_REG_VECTOR &&
		    o->list[i].reg < ISA_REG_SEGMENT)
			return true;
	return false;
}

static bool is_general(const struct isa_operand *o)
{
	return o->kind == ISA_OPERAND_REGISTER && o->reg < ISA_REG_PC;
}

static enum machine_work find_lea(const struct machine_core *core, const struct isa_operands *o)
{
	const struct isa_operand *mem = machine_find_memory(o);
	bool slow = mem && mem->index != ISA_REG_NONE &&
		    (core->scaled_lea_is_slow ? mem->scale > 1
					      : mem->base != ISA_REG_NONE && mem->value);

	return slow ? MACHINE_WORK_LEA_SLOW : MACHINE_WORK_ALU;
}

enum machine_work machine_find_work(const struct machine_model *m, const struct machine_form *f)
{
	const struct isa_operands *o = f->operands;
	const char *name = isa_mnemonic_name(m->decoder, o->mnemonic);

	if (f->traits & MACHINE_BRANCH)
		return f->traits & MACHINE_CONDITIONAL ? MACHINE_WORK_BRANCH
						       : MACHINE_WORK_BRANCH_TAKEN;
	if (!strcmp(name, "lea"))
		return find_lea(m->core, o);
	bool vectors = machine_has_vector(o, o->count);
	const char *plain = name + (vectors && *name == 'v');
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (machine_name_fits(rules[i].names, plain))
			return rules[i].work;
	if (!vectors)
		return MACHINE_WORK_ALU;
	if (*plain == 'm' && o->shown == 2 && is_general(&o->list[1]))
		return MACHINE_WORK_TO_VECTOR;
	if (*plain == 'm' && o->shown == 2 && is_general(&o->list[0]))
		return MACHINE_WORK_FROM_VECTOR;
	return MACHINE_WORK_VECTOR_ALU;
}

bool machine_only_moves(const struct machine_model *m, const struct machine_form *f)
{
	const char *name = isa_mnemonic_name(m->decoder, f->operands->mnemonic);
	bool load = f->traits & MACHINE_LOADS, store = f->traits & MACHINE_STORES;

	name += *name == 'v';
	return ((load || store) && !strncmp(name, "mov", 3)) || !strcmp(name, "push") ||
	       !strcmp(name, "pop") || (f->traits & MACHINE_PREFETCH);
}

static void add_work(const struct machine_model *m, struct machine_cost *c, enum machine_work work,
		     uint8_t *count)
{
	const struct machine_work_cost *w = &m->core->work[work];
	uint16_t busy = w->busy_cycles ? w->busy_cycles : 1;

	c->uses[c->load_uses + c->work_uses + c->store_uses] =
		(struct machine_use){machine_translate_ports(m, w->ports), 1, busy};
	++*count;
}

static void set_work(const struct machine_model *m, const struct machine_form *f,
		     struct machine_cost *c)
{
	enum machine_work work = machine_find_work(m, f);

	c->latency = m->core->work[work].latency_cycles;
	if (work == MACHINE_WORK_LEA_SLOW)
		c->second_late = m->core->lea_index_early;
	if (work == MACHINE_WORK_DIV)
		c->latency = f->operands->list[0].size_bits > 32 ? m->core->division64_cycles
								 : m->core->division32_cycles;
	if (f->traits & MACHINE_LOCKED)
		c->latency = m->core->locked_cycles;
	add_work(m, c, work, &c->work_uses);
	c->uses[c->load_uses].cycles *=
		machine_vector_turns(m->core, f->operands->list[0].size_bits);
	if (f->traits & MACHINE_DIVIDES)
		c->divider = c->uses[c->load_uses].ports;
}

void machine_cost_builtin(const struct machine_model *m, const struct machine_form *f,
			  struct machine_cost *ret)
{
	struct machine_cost c = {.slots = 1, .known = true};

	if (f->instruction->valid && !(f->operands->attributes & ISA_NOP) &&
	    !(f->traits & (MACHINE_ZERO | MACHINE_ELIMINATED))) {
		c.loads = (f->traits & MACHINE_LOADS) != 0;
		c.stores = (f->traits & MACHINE_STORES) != 0;
		if (c.loads)
			add_work(m, &c, MACHINE_WORK_LOAD, &c.load_uses);
		if (!machine_only_moves(m, f))
			set_work(m, f, &c);
		if (c.stores) {
			add_work(m, &c, MACHINE_WORK_STORE_ADDRESS, &c.store_uses);
			add_work(m, &c, MACHINE_WORK_STORE_DATA, &c.store_uses);
		}
		if (c.stores && (c.loads || (f->traits & MACHINE_BRANCH)))
			c.slots = 2;
		if (f->traits & MACHINE_SERIAL)
			c.latency = SERIAL_CYCLES;
	}
	*ret = c;
}
