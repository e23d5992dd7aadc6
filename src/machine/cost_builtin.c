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

struct rule {
	const char *prefix; /* of the name, after a leading v */
	uint8_t work;	    /* enum machine_work */
};

/* The first that fits is taken. Names of general instructions end with a full stop: no longer name
 * fits them. */
static const struct rule rules[] = {
	{"div.", MACHINE_WORK_DIV},
	{"idiv.", MACHINE_WORK_DIV},
	{"mul.", MACHINE_WORK_MUL},
	{"imul.", MACHINE_WORK_MUL},
	{"mulx.", MACHINE_WORK_MUL},
	{"shl.", MACHINE_WORK_SHIFT},
	{"shr.", MACHINE_WORK_SHIFT},
	{"sar.", MACHINE_WORK_SHIFT},
	{"rol.", MACHINE_WORK_SHIFT},
	{"ror.", MACHINE_WORK_SHIFT},
	{"shlx.", MACHINE_WORK_SHIFT},
	{"shrx.", MACHINE_WORK_SHIFT},
	{"sarx.", MACHINE_WORK_SHIFT},
	{"rorx.", MACHINE_WORK_SHIFT},
	{"shld.", MACHINE_WORK_MUL},
	{"shrd.", MACHINE_WORK_MUL},
	{"popcnt.", MACHINE_WORK_BITS},
	{"lzcnt.", MACHINE_WORK_BITS},
	{"tzcnt.", MACHINE_WORK_BITS},
	{"bsf.", MACHINE_WORK_BITS},
	{"bsr.", MACHINE_WORK_BITS},
	{"pdep.", MACHINE_WORK_BITS},
	{"pext.", MACHINE_WORK_BITS},
	{"crc32.", MACHINE_WORK_BITS},
	{"divp", MACHINE_WORK_FP_DIV},
	{"divs", MACHINE_WORK_FP_DIV},
	{"sqrt", MACHINE_WORK_FP_DIV},
	{"fdiv", MACHINE_WORK_FP_DIV},
	{"fsqrt", MACHINE_WORK_FP_DIV},
	{"fmul", MACHINE_WORK_FP_MUL},
	{"mulp", MACHINE_WORK_FP_MUL},
	{"muls", MACHINE_WORK_FP_MUL},
	{"fmadd", MACHINE_WORK_FP_MUL},
	{"fmsub", MACHINE_WORK_FP_MUL},
	{"fnmadd", MACHINE_WORK_FP_MUL},
	{"fnmsub", MACHINE_WORK_FP_MUL},
	{"addp", MACHINE_WORK_FP_ADD},
	{"adds", MACHINE_WORK_FP_ADD},
	{"subp", MACHINE_WORK_FP_ADD},
	{"subs", MACHINE_WORK_FP_ADD},
	{"maxp", MACHINE_WORK_FP_ADD},
	{"maxs", MACHINE_WORK_FP_ADD},
	{"minp", MACHINE_WORK_FP_ADD},
	{"mins", MACHINE_WORK_FP_ADD},
	{"cmpp", MACHINE_WORK_FP_ADD},
	{"comis", MACHINE_WORK_FP_ADD},
	{"ucomis", MACHINE_WORK_FP_ADD},
	{"hadd", MACHINE_WORK_FP_ADD},
	{"round", MACHINE_WORK_FP_ADD},
	{"cvt", MACHINE_WORK_CONVERT},
	{"pmul", MACHINE_WORK_VECTOR_MUL},
	{"pmadd", MACHINE_WORK_VECTOR_MUL},
	{"aes", MACHINE_WORK_VECTOR_MUL},
	{"pclmul", MACHINE_WORK_VECTOR_MUL},
	{"psll", MACHINE_WORK_VECTOR_SHIFT},
	{"psrl", MACHINE_WORK_VECTOR_SHIFT},
	{"psra", MACHINE_WORK_VECTOR_SHIFT},
	{"pshuf", MACHINE_WORK_SHUFFLE},
	{"shuf", MACHINE_WORK_SHUFFLE},
	{"unpck", MACHINE_WORK_SHUFFLE},
	{"punpck", MACHINE_WORK_SHUFFLE},
	{"pack", MACHINE_WORK_SHUFFLE},
	{"perm", MACHINE_WORK_SHUFFLE},
	{"broadcast", MACHINE_WORK_SHUFFLE},
	{"pbroadcast", MACHINE_WORK_SHUFFLE},
	{"insert", MACHINE_WORK_SHUFFLE},
	{"extract", MACHINE_WORK_SHUFFLE},
	{"pinsr", MACHINE_WORK_SHUFFLE},
	{"pextr", MACHINE_WORK_SHUFFLE},
	{"palignr", MACHINE_WORK_SHUFFLE},
	{"pmovmskb", MACHINE_WORK_FROM_VECTOR},
	{"movmsk", MACHINE_WORK_FROM_VECTOR},
};

static bool rule_fits(const char *prefix, const char *name)
{
	size_t n = strlen(prefix);
	if (prefix[n - 1] == '.')
		return strlen(name) == n - 1 && !memcmp(prefix, name, n - 1);
	return !strncmp(prefix, name, n);
}

static bool touches_vectors(const struct isa_operands *o)
{
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER && o->list[i].reg >= ISA_REG_VECTOR &&
		    o->list[i].reg < ISA_REG_SEGMENT)
			return true;
	return false;
}

static bool is_general(const struct isa_operand *o)
{
	return o->kind == ISA_OPERAND_REGISTER && o->reg < ISA_REG_PC;
}

static enum machine_work find_lea(const struct isa_operands *o)
{
	const struct isa_operand *mem = machine_find_memory(o);
	bool slow = mem && mem->base != ISA_REG_NONE && mem->index != ISA_REG_NONE && mem->value;
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
		return find_lea(o);
	bool vectors = touches_vectors(o);
	const char *plain = name + (vectors && *name == 'v');
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rule_fits(rules[i].prefix, plain))
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
	if (work == MACHINE_WORK_DIV)
		c->latency = f->operands->list[0].size_bits > 32 ? m->core->division64_cycles
								 : m->core->division32_cycles;
	if (f->traits & MACHINE_LOCKED)
		c->latency = m->core->locked_cycles;
	add_work(m, c, work, &c->work_uses);
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
