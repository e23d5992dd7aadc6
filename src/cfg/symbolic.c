/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/symbolic.h"

#include <Zydis/Mnemonic.h>

/* ---- instructions ---- */

static void set_operand(struct symbolic *s, const struct isa_operand *o, struct value v)
{
	if (o->kind == ISA_OPERAND_REGISTER)
		state_set_register(s, o, v);
	else if (o->kind == ISA_OPERAND_MEMORY)
		state_store(s, state_address(s, o), o->size_bits / 8, v);
}

static void set_flags(struct symbolic *s, struct value left, struct value right, unsigned bits,
		      bool zero_only)
{
	s->flags_known = true;
	s->flags_zero_only = zero_only;
	s->flags_left = left;
	s->flags_right = right;
	s->flags_bits = bits;
}

/* A store of who knows what, perhaps of who knows how much. */
static void step_store(struct symbolic *s, const struct isa_operands *o,
		       const struct isa_operand *p)
{
	struct value address = state_address(s, p);

	if (p->size_bits && !(o->attributes & ISA_REPEATED)) {
		state_store(s, address, p->size_bits / 8, value_opaque(s, address));
		return;
	}
	s->cell_count = 0;
	s->generation++;
	s->stack_generation++;
}

/* Everything that it writes is unknown from now on. */
static void step_unknown(struct symbolic *s, const struct isa_operands *o)
{
	for (unsigned i = 0; i < o->count; i++) {
		const struct isa_operand *p = &o->list[i];

		if (!(p->access & ISA_ACCESS_WRITES))
			continue;
		if (p->kind == ISA_OPERAND_REGISTER && p->reg < 16) {
			s->regs[p->reg] = value_opaque(s, value_constant(0));
			s->regs_set |= (uint16_t)(1u << p->reg);
		} else if (p->kind == ISA_OPERAND_MEMORY) {
			step_store(s, o, p);
		}
	}
	if (o->flags_written)
		s->flags_known = false;
}

/* add, sub, and, or of the forms op dest, source. False: not understood. */
static bool step_arithmetic(struct symbolic *s, const struct isa_operands *o)
{
	const struct isa_operand *to = &o->list[0];
	const unsigned bits = to->size_bits;
	struct value a, b, r;

	if (o->shown != 2 || to->kind == ISA_OPERAND_IMMEDIATE)
		return false;
	a = symbolic_operand(s, to);
	b = symbolic_operand(s, &o->list[1]);
	b = b.symbol ? b : value_constant(b.offset & value_low_bits(bits));
	switch (o->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		r = value_add(s, a,
			      b.symbol ? b : value_constant(value_sign_extend(b.offset, bits)));
		break;
	case ZYDIS_MNEMONIC_SUB:
		r = b.symbol ? value_add(s, a, value_negate(s, b))
			     : value_add(s, a, value_constant(-value_sign_extend(b.offset, bits)));
		break;
	case ZYDIS_MNEMONIC_AND:
		if (b.symbol)
			return false;
		/* Masks with the sign bit say nothing of the size. */
		r = b.offset >> (bits - 1) ? value_opaque(s, a)
					   : symbol_make(s, SYMBOL_AND, a, b.offset, 0, false);
		break;
	default:
		return false;
	}
	set_operand(s, to, r);
	if (o->mnemonic == ZYDIS_MNEMONIC_SUB)
		set_flags(s, a, b, bits, false);
	else
		set_flags(s, value_truncate(s, r, bits), value_constant(0), bits, true);
	return true;
}

static bool step_shift(struct symbolic *s, const struct isa_operands *o)
{
	const struct isa_operand *to = &o->list[0], *by = &o->list[1];

	if (o->shown != 2 || to->kind != ISA_OPERAND_REGISTER ||
	    by->kind != ISA_OPERAND_IMMEDIATE || to->size_bits < 32 || by->value <= 0 ||
	    by->value >= to->size_bits)
		return false;
	struct value v = symbolic_operand(s, to);
	if (o->mnemonic == ZYDIS_MNEMONIC_SHR)
		v = symbol_make(s, SYMBOL_SHIFT, v, (uint64_t)by->value, 0, false);
	else
		v = value_multiply(s, v, 1ULL << by->value);
	state_set_register(s, to, v);
	s->flags_known = false;
	return true;
}

static bool step_compare(struct symbolic *s, const struct isa_operands *o)
{
	const unsigned bits = o->list[0].size_bits;

	if (o->shown != 2)
		return false;
	struct value a = symbolic_operand(s, &o->list[0]), b = symbolic_operand(s, &o->list[1]);
	if (!b.symbol)
		b.offset &= value_low_bits(bits);
	if (o->mnemonic == ZYDIS_MNEMONIC_CMP)
		set_flags(s, a, b, bits, false);
	else if (value_same(a, b)) /* test r,r */
		set_flags(s, a, value_constant(0), bits, false);
	else
		s->flags_known = false;
	return true;
}

static bool step_move(struct symbolic *s, const struct isa_operands *o)
{
	const struct isa_operand *to = &o->list[0], *from = &o->list[1];

	if (o->shown != 2 || (from->kind == ISA_OPERAND_REGISTER && from->reg >= 16) ||
	    (to->kind == ISA_OPERAND_REGISTER && to->reg >= 16))
		return false;
	struct value v;
	switch (o->mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		v = state_address(s, from);
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		v = value_extend(s, symbolic_operand(s, from), from->size_bits);
		break;
	default:
		v = symbolic_operand(s, from);
		break;
	}
	set_operand(s, to, v);
	return true;
}

/* The smaller of two: clamps an index. */
static bool step_conditional_move(struct symbolic *s, const struct isa_operands *o)
{
	const struct isa_operand *to = &o->list[0];

	if (o->shown != 2 || !s->flags_known || to->kind != ISA_OPERAND_REGISTER ||
	    !s->flags_left.symbol)
		return false;
	struct value stay = symbolic_operand(s, to), move = symbolic_operand(s, &o->list[1]);
	struct symbol *const y = &s->symbols[s->flags_left.symbol], before = *y;
	symbolic_branch(s, o->condition, false);
	struct range a = symbolic_range(s, stay);
	*y = before;
	symbolic_branch(s, o->condition, true);
	struct range b = symbolic_range(s, move);
	*y = before;
	struct value v = value_opaque(s, stay);
	struct symbol *result = &s->symbols[v.symbol];
	result->compared = a.strength == STRENGTH_COMPARED && b.strength == STRENGTH_COMPARED;
	result->low = a.low < b.low ? a.low : b.low;
	result->high = a.high > b.high ? a.high : b.high;
	state_set_register(s, to, v);
	return true;
}

static void step_push(struct symbolic *s, const struct isa_operands *o)
{
	struct value v = o->shown ? symbolic_operand(s, &o->list[0]) : value_constant(0);
	struct value top =
		value_add(s, state_get_register(s, ISA_REG_STACK), value_constant((uint64_t)-8));

	state_store(s, top, 8, o->shown ? v : value_opaque(s, v));
	s->regs[ISA_REG_STACK] = top;
}

static void step_pop(struct symbolic *s, const struct isa_operands *o)
{
	struct value top = state_get_register(s, ISA_REG_STACK);
	struct value v = state_load(s, top, 8);

	s->regs[ISA_REG_STACK] = value_add(s, top, value_constant(8));
	if (o->shown)
		set_operand(s, &o->list[0], v);
}

/* What the calling convention lets a callee change. */
static void step_call(struct symbolic *s)
{
	static const uint8_t changed[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};

	for (size_t i = 0; i < sizeof(changed); i++) {
		s->regs[changed[i]] = value_opaque(s, value_constant(0));
		s->regs_set |= (uint16_t)(1u << changed[i]);
	}
	state_forget_cells(s, value_constant(0), 0, true);
	s->flags_known = false;
}

static bool step_known(struct symbolic *s, const struct isa_operands *o)
{
	switch (o->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_LEA:
		return step_move(s, o);
	case ZYDIS_MNEMONIC_XOR:
		if (!(o->attributes & ISA_ZERO_IDIOM) || o->list[0].reg >= 16)
			return false;
		state_set_register(s, &o->list[0], value_constant(0));
		s->flags_known = false;
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
		return step_arithmetic(s, o);
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
		return step_shift(s, o);
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
		return step_compare(s, o);
	case ZYDIS_MNEMONIC_CDQE:
		s->regs[0] = value_extend(s, value_truncate(s, state_get_register(s, 0), 32), 32);
		return true;
	case ZYDIS_MNEMONIC_PUSH:
		step_push(s, o);
		return true;
	case ZYDIS_MNEMONIC_POP:
		step_pop(s, o);
		return true;
	default:
		return o->condition != ISA_NO_CONDITION && o->list[0].size_bits >= 32 &&
		       step_conditional_move(s, o);
	}
}

void symbolic_step(struct symbolic *s, const struct isa_instruction *in,
		   const struct isa_operands *o)
{
	if (in->branch == ISA_BRANCH_CALL)
		step_call(s);
	else if (o->attributes & ISA_NOP)
		return;
	else if (in->branch != ISA_BRANCH_NONE || !step_known(s, o))
		step_unknown(s, o);
}

/* ---- branches ---- */

static void limit_low(struct symbol *y, uint64_t low)
{
	if (low > y->low)
		y->low = low;
}

static void limit_high(struct symbol *y, uint64_t high)
{
	if (high < y->high)
		y->high = high;
}

/* x86's conditions; the odd ones are the even ones negated. */
enum { BELOW = 2, EQUAL = 4, BELOW_EQUAL = 6, SIGN = 8, LESS = 12, LESS_EQUAL = 14 };

static void limit_unsigned(struct symbol *y, unsigned condition, uint64_t c)
{
	switch (condition) {
	case BELOW:
		if (c)
			limit_high(y, c - 1);
		break;
	case BELOW + 1:
		limit_low(y, c);
		break;
	case BELOW_EQUAL:
		limit_high(y, c);
		break;
	case BELOW_EQUAL + 1:
		if (c != UINT64_MAX)
			limit_low(y, c + 1);
		break;
	case EQUAL:
		limit_low(y, c);
		limit_high(y, c);
		break;
	case EQUAL + 1:
		if (c == y->low && c != UINT64_MAX)
			y->low++;
		else if (c == y->high)
			y->high--;
		break;
	default:
		break;
	}
}

/* symbol + offset <= right is -offset <= symbol <= right - offset, unless that wraps. */
static void limit_sum(struct symbol *y, uint64_t offset, unsigned condition, uint64_t right,
		      unsigned bits)
{
	if ((condition != BELOW && condition != BELOW_EQUAL) || bits < 64)
		return;
	if (condition == BELOW && right-- == 0)
		return;
	const uint64_t low = -offset, high = right - offset;
	if (low > high)
		return;
	limit_low(y, low);
	limit_high(y, high);
	y->compared = true;
}

void symbolic_branch(struct symbolic *s, unsigned condition, bool taken)
{
	const struct value v = s->flags_left;

	if (!s->flags_known || condition > 15 || s->flags_right.symbol || !v.symbol || v.scale != 1)
		return;
	unsigned c = taken ? condition : condition ^ 1;
	uint64_t right = s->flags_right.offset;
	struct symbol *y = &s->symbols[v.symbol];
	const uint64_t half = value_low_bits(s->flags_bits - 1);
	const bool small = symbolic_range(s, v).high <= half;
	if (s->flags_zero_only && (c & ~1u) != EQUAL && (c & ~1u) != SIGN)
		return;
	if (v.offset) {
		limit_sum(y, v.offset, c, right, s->flags_bits);
		return;
	}
	if (c == SIGN + 1 || (c == LESS + 1 && right == 0)) { /* not negative */
		limit_high(y, half);
	} else if (c >= LESS) {
		if (!small || right > half) /* signed and unsigned differ */
			return;
		c = c == LESS	      ? BELOW
		    : c == LESS + 1   ? BELOW + 1
		    : c == LESS_EQUAL ? BELOW_EQUAL
				      : BELOW_EQUAL + 1;
		limit_unsigned(y, c, right);
	} else {
		limit_unsigned(y, c, right);
	}
	y->compared = true;
}
