/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Makes instructions ready: registers that tie them together, and the cost of their form. */
#include <stdlib.h>
#include <string.h>
#include "machine/model.h"
#include "util/array.h"

/*
 * A form is what costs depend on: the mnemonic, kinds and widths of operands, whether two registers
 * are the same; not which registers, nor the values of immediates and displacements, except those
 * that shorten the work (shifts by one, no displacement).
 */
struct form_key {
	uint16_t mnemonic, attributes, traits;
	uint8_t count, flags_read, same;
	struct {
		uint8_t kind, access, class, parts;
		uint16_t size_bits;
	} operands[ISA_OPERANDS_MAX];
};

static uint8_t register_class(unsigned reg)
{
	return reg < ISA_REG_PC	       ? 1
	       : reg < ISA_REG_VECTOR  ? (uint8_t)reg
	       : reg < ISA_REG_MASK    ? 2
	       : reg < ISA_REG_FLOAT   ? 3
	       : reg < ISA_REG_MMX     ? 4
	       : reg < ISA_REG_SEGMENT ? 5
				       : (uint8_t)reg;
}

static void key_operand(const struct isa_operand *o, struct form_key *k, unsigned i)
{
	k->operands[i].kind = o->kind;
	k->operands[i].access = o->access;
	k->operands[i].size_bits = o->size_bits;
	if (o->kind == ISA_OPERAND_REGISTER)
		k->operands[i].class = (uint8_t)(register_class(o->reg) | (o->first_bit ? 128 : 0));
	else if (o->kind == ISA_OPERAND_MEMORY)
		k->operands[i].parts =
			(uint8_t)((o->base == ISA_REG_NONE ? 0
				   : o->base == ISA_REG_PC ? 1
							   : 2) |
				  (o->index == ISA_REG_NONE ? 0
				   : o->scale > 1	    ? 8
							    : 4) |
				  (o->value ? 16 : 0) | (o->segment == ISA_REG_NONE ? 0 : 32));
	else
		k->operands[i].parts = o->value == 0 ? 0 : o->value == 1 ? 1 : 2;
}

static uint64_t hash_form(const struct machine_form *f)
{
	const struct isa_operands *o = f->operands;
	struct form_key k;

	memset(&k, 0, sizeof(k));
	k.mnemonic = o->mnemonic;
	k.attributes = o->attributes;
	k.traits = f->traits;
	k.count = o->count;
	k.flags_read = (uint8_t)(o->flags_read != 0);
	for (unsigned i = 0; i < o->count; i++)
		key_operand(&o->list[i], &k, i);
	for (unsigned i = 1; i < o->shown; i++)
		if (o->list[i].kind == ISA_OPERAND_REGISTER &&
		    o->list[i - 1].kind == ISA_OPERAND_REGISTER &&
		    o->list[i].reg == o->list[i - 1].reg)
			k.same |= (uint8_t)(1 << i);
	uint64_t h = hash_bytes(&k, sizeof(k));
	return h == UINT64_MAX ? 0 : h;
}

const struct isa_operand *machine_find_memory(const struct isa_operands *o)
{
	const struct isa_operand *addressed = NULL;

	for (unsigned i = 0; i < o->count; i++) {
		if (o->list[i].kind != ISA_OPERAND_MEMORY)
			continue;
		if (o->list[i].access)
			return &o->list[i];
		addressed = addressed ?: &o->list[i];
	}
	return addressed;
}

/* Whether an instruction divides or takes a root. */
static bool name_divides(const char *name)
{
	name += *name == 'v';
	return !strcmp(name, "div") || !strcmp(name, "idiv") || !strncmp(name, "divp", 4) ||
	       !strncmp(name, "divs", 4) || !strncmp(name, "sqrt", 4) ||
	       !strncmp(name, "fdiv", 4) || !strncmp(name, "fidiv", 5) || !strcmp(name, "fsqrt");
}

static bool is_vector(const struct isa_operand *o)
{
	return o->kind == ISA_OPERAND_REGISTER && o->reg >= ISA_REG_VECTOR && o->reg < ISA_REG_MASK;
}

/* Mnemonics whose names mean something here, as bits. */
enum {
	WORD_KNOWN = 1 << 0,
	WORD_DIVIDES = 1 << 1,
	WORD_LFENCE = 1 << 2,
	WORD_PUSH = 1 << 3,
	WORD_POP = 1 << 4,
	WORD_ADD = 1 << 5,
	WORD_SUB = 1 << 6,
	WORD_INC = 1 << 7,
	WORD_DEC = 1 << 8,
	WORD_LEA = 1 << 9,
	WORD_EXTEND = 1 << 10,
	WORD_COMPARE = 1 << 11,
	WORD_SFENCE = 1 << 12, /* stores are in order anyway */
};

static unsigned word_of_name(const char *name)
{
	static const struct {
		const char *name;
		unsigned word;
	} words[] = {
		{"lfence", WORD_LFENCE}, {"push", WORD_PUSH},	  {"pop", WORD_POP},
		{"add", WORD_ADD},	 {"sub", WORD_SUB},	  {"inc", WORD_INC},
		{"dec", WORD_DEC},	 {"lea", WORD_LEA},	  {"movzx", WORD_EXTEND},
		{"cmp", WORD_COMPARE},	 {"sfence", WORD_SFENCE},
	};
	unsigned word = name_divides(name) ? WORD_DIVIDES : 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(name, words[i].name))
			word |= words[i].word;
	return word;
}

static unsigned word_of(struct machine_model *m, unsigned mnemonic)
{
	if (mnemonic >= MACHINE_MNEMONICS_MAX)
		return word_of_name(isa_mnemonic_name(m->decoder, mnemonic));
	if (!m->words[mnemonic])
		m->words[mnemonic] =
			(uint16_t)(WORD_KNOWN |
				   word_of_name(isa_mnemonic_name(m->decoder, mnemonic)));
	return m->words[mnemonic];
}

/* What an instruction does to memory. */
static unsigned memory_traits(const struct isa_operands *o)
{
	unsigned traits = 0;
	bool vector = false;

	for (unsigned i = 0; i < o->count; i++) {
		const struct isa_operand *op = &o->list[i];

		vector |= i < o->shown && is_vector(op);
		if (op->kind != ISA_OPERAND_MEMORY)
			continue;
		if (op->access & ISA_ACCESS_READS)
			traits |= MACHINE_LOADS;
		if (op->access & ISA_ACCESS_WRITES)
			traits |= MACHINE_STORES;
	}
	if (o->attributes & ISA_PREFETCH)
		traits |= MACHINE_PREFETCH | MACHINE_LOADS;
	if (vector && (traits & MACHINE_LOADS))
		traits |= MACHINE_VECTOR_LOAD;
	return traits;
}

/* push, pop, call, ret: memory at the stack pointer that the text does not show. */
static bool moves_stack(const struct isa_instruction *in, unsigned word)
{
	return in->branch == ISA_BRANCH_CALL || in->branch == ISA_BRANCH_RETURN ||
	       (word & (WORD_PUSH | WORD_POP));
}

static bool eliminates(const struct machine_core *core, const struct isa_operands *o, unsigned word)
{
	const struct isa_operand *from = &o->list[1];

	if (core->eliminates_extensions && (word & WORD_EXTEND))
		return from->kind == ISA_OPERAND_REGISTER && from->size_bits == 8 &&
		       !from->first_bit && from->reg != o->list[0].reg;
	if (!(o->attributes & ISA_MOVE) || o->count < 2 ||
	    (from->reg == o->list[0].reg && !core->eliminates_own_moves))
		return false;
	return is_vector(&o->list[0]) ? core->eliminates_vector_moves : core->eliminates_moves;
}

/* add and sub of a small immediate and the like, which renaming does on some cores. */
static bool adds_small(const struct machine_core *core, const struct isa_operands *o, unsigned word)
{
	const struct isa_operand *a = &o->list[0], *b = &o->list[1];

	if (!core->eliminates_add_immediate || !o->shown || a->kind != ISA_OPERAND_REGISTER ||
	    a->size_bits < 64)
		return false;
	if (word & (WORD_INC | WORD_DEC))
		return true;
	bool plain_lea = (word & WORD_LEA) && b->kind == ISA_OPERAND_MEMORY &&
			 b->base < ISA_REG_PC && b->index == ISA_REG_NONE;
	return o->shown == 2 &&
	       (plain_lea ||
		((word & (WORD_ADD | WORD_SUB)) && b->kind == ISA_OPERAND_IMMEDIATE)) &&
	       b->value >= -1024 && b->value <= 1023;
}

/* What depends on nothing, although it names a register. */
static bool is_idiom(const struct machine_core *core, const struct isa_operands *o, unsigned word)
{
	const struct isa_operand *a = &o->list[0], *b = &o->list[1];

	return ((o->attributes & ISA_ZERO_IDIOM) && core->zero_idioms) ||
	       ((word & WORD_COMPARE) && core->compares_are_idioms && o->shown == 2 &&
		a->kind == ISA_OPERAND_REGISTER && b->kind == ISA_OPERAND_REGISTER &&
		a->reg == b->reg && a->first_bit == b->first_bit);
}

static uint16_t find_traits(const struct machine_model *m, const struct isa_instruction *in,
			    const struct isa_operands *o, unsigned word)
{
	unsigned traits = memory_traits(o);

	if (is_idiom(m->core, o, word))
		traits |= MACHINE_ZERO;
	if (eliminates(m->core, o, word) || adds_small(m->core, o, word))
		traits |= MACHINE_ELIMINATED;
	if (in->branch != ISA_BRANCH_NONE && in->branch != ISA_BRANCH_SYSTEM)
		traits |= MACHINE_BRANCH;
	if (in->branch == ISA_BRANCH_CONDITIONAL)
		traits |= MACHINE_CONDITIONAL;
	if (o->attributes & ISA_LOCKED)
		traits |= MACHINE_LOCKED;
	if (o->attributes & ISA_FENCE && !(word & WORD_SFENCE))
		traits |= MACHINE_FENCE | (m->core->fences_serialise ? MACHINE_SERIAL : 0u);
	if ((o->attributes & ISA_SERIALISING) || in->branch == ISA_BRANCH_SYSTEM ||
	    in->branch == ISA_BRANCH_STOP || (word & WORD_LFENCE))
		traits |= MACHINE_SERIAL;
	if (word & WORD_DIVIDES)
		traits |= MACHINE_DIVIDES;
	if (moves_stack(in, word))
		traits |= MACHINE_STACK;
	return (uint16_t)traits;
}

/* The cost of a form: remembered, or asked for. */
static uint32_t find_cost(struct machine_model *m, const struct machine_form *f)
{
	uint64_t key = hash_form(f), number;

	if (map64_get(m->forms, key, &number) == 0)
		return (uint32_t)number;
	if (array_grow(&m->costs, m->cost_count, &m->cost_room, sizeof(*m->costs), 256) ||
	    map64_put(m->forms, key, m->cost_count)) {
		m->counters.forms_refused++;
		return 0;
	}
	struct machine_cost *c = &m->costs[m->cost_count];
	if (!m->llvm || !machine_cost_llvm(m, f, c)) {
		machine_cost_builtin(m, f, c);
		c->known = !m->llvm && f->instruction->valid;
		m->counters.forms_unknown += m->llvm != NULL;
	}
	machine_cost_correct(m, f, c);
	return m->cost_count++;
}

struct links {
	struct machine_model *model;
	struct machine_instruction *in;
};

static void add_read(struct links *l, unsigned reg)
{
	struct machine_instruction *in = l->in;

	if (reg == ISA_REG_NONE || reg == ISA_REG_PC ||
	    (reg == ISA_REG_STACK && (in->traits & MACHINE_STACK)))
		return;
	for (unsigned i = 0; i < in->read_count; i++)
		if (in->reads[i] == reg &&
		    (i >= in->address_count) == (in->read_count > in->address_count))
			return;
	if (in->read_count == MACHINE_READS_MAX) {
		l->model->counters.registers_left_out++;
		return;
	}
	in->reads[in->read_count++] = (uint8_t)reg;
}

static void add_write(struct links *l, unsigned reg)
{
	struct machine_instruction *in = l->in;

	if (reg == ISA_REG_PC || reg == ISA_REG_VECTOR_STATE ||
	    (reg == ISA_REG_STACK && (in->traits & MACHINE_STACK)))
		return;
	if (in->write_count == MACHINE_WRITES_MAX) {
		l->model->counters.registers_left_out++;
		return;
	}
	in->writes[in->write_count++] = (uint8_t)reg;
}

static void link_addresses(struct links *l, const struct isa_operands *o)
{
	bool accesses = l->in->traits & (MACHINE_LOADS | MACHINE_STORES);

	for (unsigned i = 0; accesses && i < o->count; i++) {
		const struct isa_operand *op = &o->list[i];

		if (op->kind != ISA_OPERAND_MEMORY)
			continue;
		add_read(l, op->base);
		add_read(l, op->index);
	}
	l->in->address_count = l->in->read_count;
}

static void link_operands(struct links *l, const struct isa_operands *o)
{
	bool accesses = l->in->traits & (MACHINE_LOADS | MACHINE_STORES);

	for (unsigned i = 0; i < o->count; i++) {
		const struct isa_operand *op = &o->list[i];

		if (op->kind == ISA_OPERAND_MEMORY && !accesses) { /* lea */
			add_read(l, op->base);
			add_read(l, op->index);
		}
		if (op->kind != ISA_OPERAND_REGISTER || op->reg == ISA_REG_FLAGS)
			continue;
		bool writes = op->access & ISA_ACCESS_WRITES;
		bool reads =
			(op->access & ISA_ACCESS_READS) || (writes && !isa_operand_replaces(o, op));
		if (reads && !(l->in->traits & MACHINE_ZERO) && op->reg != ISA_REG_VECTOR_STATE)
			add_read(l, op->reg);
		if (writes)
			add_write(l, op->reg);
	}
}

static void link_flags(struct links *l, const struct isa_operands *o)
{
	const unsigned status = ISA_FLAG_PARITY | ISA_FLAG_ADJUST | ISA_FLAG_ZERO | ISA_FLAG_SIGN |
				ISA_FLAG_OVERFLOW;

	if (o->flags_read & ISA_FLAG_CARRY)
		add_read(l, ISA_REG_FLAGS);
	if (o->flags_read & status)
		add_read(l, MACHINE_REG_STATUS);
	if (o->flags_written & ISA_FLAG_CARRY)
		add_write(l, ISA_REG_FLAGS);
	if (o->flags_written & status)
		add_write(l, MACHINE_REG_STATUS);
}

static void take_memory(struct machine_instruction *in, const struct isa_operands *o)
{
	const struct isa_operand *mem = machine_find_memory(o);

	in->base = in->index = in->segment = ISA_REG_NONE;
	if (!mem || !(in->traits & (MACHINE_LOADS | MACHINE_STORES)))
		return;
	in->base = mem->base;
	in->index = mem->index;
	in->scale = mem->scale;
	in->segment = mem->segment;
	in->memory_value = mem->value;
	in->memory_bytes = (uint8_t)(mem->size_bits / 8 > 255 ? 255 : mem->size_bits / 8);
}

/* What adds a constant to a register, so that addresses can be followed: sub $8,%rsp, push, lea. */
static void take_sum(struct machine_instruction *in, const struct isa_operands *o, unsigned word)
{
	const struct isa_operand *a = &o->list[0], *b = &o->list[1];

	in->adds_to = in->adds_from = ISA_REG_NONE;
	if (in->traits & MACHINE_STACK) {
		bool down = in->traits & MACHINE_BRANCH ? (in->traits & MACHINE_STORES) != 0
							: (word & WORD_PUSH) != 0;

		in->adds_to = in->adds_from = ISA_REG_STACK;
		in->adds = down ? -8 : 8;
		return;
	}
	if (!o->shown || a->kind != ISA_OPERAND_REGISTER || a->reg >= ISA_REG_PC ||
	    a->size_bits < 64)
		return;
	if (o->shown == 2 && b->kind == ISA_OPERAND_IMMEDIATE && (word & (WORD_ADD | WORD_SUB)))
		in->adds = word & WORD_ADD ? b->value : -b->value;
	else if (word & (WORD_INC | WORD_DEC))
		in->adds = word & WORD_INC ? 1 : -1;
	else if ((word & WORD_LEA) && b->index == ISA_REG_NONE && b->base < ISA_REG_PC)
		in->adds = b->value;
	else if (!(o->attributes & ISA_MOVE) || b->kind != ISA_OPERAND_REGISTER)
		return;
	in->adds_to = a->reg;
	in->adds_from = b->kind == ISA_OPERAND_REGISTER && o->shown == 2 ? b->reg
			: word & WORD_LEA				 ? b->base
									 : a->reg;
}

/* By their values: who writes code takes the short form where there is one. */
static uint8_t count_constants(const struct isa_instruction *in, const struct isa_operands *o)
{
	unsigned count = in->branch != ISA_BRANCH_NONE && in->size > 4;

	for (unsigned i = 0; i < o->shown; i++) {
		const struct isa_operand *op = &o->list[i];
		bool is_byte = op->value >= INT8_MIN && op->value <= INT8_MAX;

		if (op->kind == ISA_OPERAND_MEMORY)
			count += !is_byte || op->base == ISA_REG_NONE || op->base == ISA_REG_PC;
		else if (op->kind == ISA_OPERAND_IMMEDIATE && in->branch == ISA_BRANCH_NONE)
			count += in->size > 8 ? 2 : 1;
	}
	return (uint8_t)count;
}

static bool prepare(struct machine_model *m, const uint8_t *code, size_t size, uint64_t address,
		    struct machine_instruction *ret)
{
	struct isa_instruction in;
	struct isa_operands o;
	bool valid = isa_decode_operands(m->decoder, code, size, address, &in, &o);
	unsigned word = word_of(m, o.mnemonic);
	struct machine_instruction out = {.address = address, .size = in.size};

	out.mnemonic = o.mnemonic;
	out.condition = o.condition;
	out.constants = valid ? count_constants(&in, &o) : 0;
	out.traits = valid ? find_traits(m, &in, &o, word) : (uint16_t)MACHINE_INVALID;
	struct machine_form form = {code, size, &in, &o, out.traits};
	struct links links = {m, &out};
	out.cost = find_cost(m, &form);
	take_memory(&out, &o);
	take_sum(&out, &o, word);
	link_addresses(&links, &o);
	link_operands(&links, &o);
	link_flags(&links, &o);
	*ret = out;
	return valid;
}

bool machine_prepare(struct machine_model *m, const uint8_t *code, size_t size, uint64_t address,
		     struct machine_instruction *ret)
{
	const struct machine_counters before = m->counters;
	bool known;
	struct machine_instruction *kept = isa_memo_find(m->prepared, code, size, address, &known);

	if (known) {
		*ret = *kept;
		ret->address = address;
		return true;
	}
	bool valid = prepare(m, code, size, address, ret);
	/* What counts as left out is to be counted each time. */
	if (kept && valid && ret->size == size && !memcmp(&before, &m->counters, sizeof(before))) {
		*kept = *ret;
		isa_memo_keep(kept, ret->base == ISA_REG_PC ? address : ISA_NO_ADDRESS);
	}
	return valid;
}
