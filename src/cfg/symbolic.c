/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/symbolic.h"

#include <string.h>
#include <Zydis/Mnemonic.h>

#define RANGE_DEPTH    16
#define BYTE_TABLE_MAX 4096

static struct value constant(uint64_t c)
{
	return (struct value){0, 0, c};
}

static bool same(struct value a, struct value b)
{
	return a.symbol == b.symbol && a.scale == b.scale && a.offset == b.offset;
}

static uint64_t low_bits(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
}

static uint64_t sign_extend(uint64_t v, unsigned bits)
{
	const uint64_t top = 1ULL << (bits - 1);
	return bits >= 64 ? v : ((v & low_bits(bits)) ^ top) - top;
}

void symbolic_start(struct symbolic *s, const struct cfg_image *image)
{
	s->image = image;
	s->regs_set = 0;
	s->flags_known = s->overflow = false;
	s->generation = s->stack_generation = 0;
	s->symbol_count = 1;
	s->cell_count = 0;
}

/* ---- symbols and their ranges ---- */

static struct value of_symbol(uint32_t symbol)
{
	return (struct value){symbol, 1, 0};
}

/* The symbol of an operation, made when it is new. shared: equal ones are one. */
static struct value make(struct symbolic *s, enum symbol_kind kind, struct value arg, uint64_t imm,
			 unsigned bytes, bool first)
{
	for (uint32_t i = 1; i < s->symbol_count && kind != SYMBOL_OPAQUE; i++) {
		const struct symbol *have = &s->symbols[i];
		if (have->kind == kind && have->imm == imm && have->bytes == bytes &&
		    same(have->arg, arg))
			return of_symbol(i);
	}
	if (s->symbol_count == SYMBOLIC_SYMBOLS_MAX) {
		s->overflow = true;
		return of_symbol(SYMBOLIC_SYMBOLS_MAX - 1);
	}
	s->symbols[s->symbol_count] = (struct symbol){
		.kind = (uint8_t)kind,
		.arg = arg,
		.imm = imm,
		.bytes = (uint8_t)bytes,
		.high = UINT64_MAX,
		.first = first || (arg.symbol && s->symbols[arg.symbol].first),
	};
	return of_symbol(s->symbol_count++);
}

static struct value opaque(struct symbolic *s, struct value from)
{
	return make(s, SYMBOL_OPAQUE, from, 0, 0, false);
}

static struct range range_of(const struct symbolic *s, struct value v, unsigned depth);

static struct range width(uint64_t high)
{
	return (struct range){0, high, STRENGTH_WIDTH};
}

/* A byte out of a constant table, by an index that is bounded: the largest that there is. */
static struct range range_of_table(const struct symbolic *s, const struct symbol *y, unsigned depth)
{
	struct range none = {0, low_bits(y->bytes * 8), STRENGTH_NONE};
	struct range i = range_of(s, y->arg, depth + 1), r = {UINT64_MAX, 0, i.strength};
	if (!i.strength || i.high - i.low >= BYTE_TABLE_MAX)
		return none;
	const uint64_t step = y->arg.scale ? y->arg.scale : 1;
	for (uint64_t at = i.low; at <= i.high; at += step) {
		uint64_t v = 0;
		const uint8_t *data = cfg_data_at(s->image, at, y->bytes);
		if (!data)
			return none;
		memcpy(&v, data, y->bytes);
		r.low = v < r.low ? v : r.low;
		r.high = v > r.high ? v : r.high;
	}
	return r;
}

/* What the operation itself says. */
static struct range range_by_kind(const struct symbolic *s, const struct symbol *y, unsigned depth)
{
	struct range r, all = {0, UINT64_MAX, STRENGTH_NONE};
	switch (y->kind) {
	case SYMBOL_LOAD:
		r = y->bytes < 4 ? range_of_table(s, y, depth) : all;
		if (r.strength)
			return r;
		return y->bytes < 4 ? width(low_bits(y->bytes * 8))
				    : (struct range){0, low_bits(y->bytes * 8), STRENGTH_NONE};
	case SYMBOL_TRUNCATE:
		r = range_of(s, y->arg, depth + 1);
		if (r.high <= low_bits((unsigned)y->imm))
			return r;
		return y->imm < 32 ? width(low_bits((unsigned)y->imm))
				   : (struct range){0, low_bits((unsigned)y->imm), STRENGTH_NONE};
	case SYMBOL_EXTEND:
		r = range_of(s, y->arg, depth + 1);
		return r.high <= low_bits((unsigned)y->imm - 1) ? r : all;
	case SYMBOL_AND:
		r = range_of(s, y->arg, depth + 1);
		return r.high <= y->imm ? (struct range){0, r.high, r.strength} : width(y->imm);
	case SYMBOL_SHIFT:
		r = range_of(s, y->arg, depth + 1);
		return (struct range){r.low >> y->imm, r.high >> y->imm, r.strength};
	default:
		return all;
	}
}

static struct range range_of(const struct symbolic *s, struct value v, unsigned depth)
{
	struct range r = {v.offset, v.offset, STRENGTH_COMPARED}, all = {0, UINT64_MAX, 0};
	if (!v.symbol)
		return r;
	if (depth > RANGE_DEPTH)
		return all;
	const struct symbol *y = &s->symbols[v.symbol];
	r = range_by_kind(s, y, depth);
	if (y->compared && y->high <= r.high && y->high != UINT64_MAX)
		r.strength = STRENGTH_COMPARED;
	if (y->low > r.low)
		r.low = y->low;
	if (y->high < r.high)
		r.high = y->high;
	/* The multiplication and the addition must not wrap; a negative offset may be undone. */
	if (v.scale == 0 || (v.scale > 1 && r.high > UINT64_MAX / v.scale))
		return all;
	r.low *= v.scale;
	r.high *= v.scale;
	const uint64_t low = r.low + v.offset, high = r.high + v.offset;
	if (low > high || (v.offset >> 63 ? low > r.low : low < r.low))
		return all;
	return (struct range){low, high, r.strength};
}

struct range symbolic_range(const struct symbolic *s, struct value v)
{
	return range_of(s, v, 0);
}

/* ---- values ---- */

static struct value truncate(struct symbolic *s, struct value v, unsigned bits)
{
	if (bits >= 64)
		return v;
	if (!v.symbol)
		return constant(v.offset & low_bits(bits));
	if (symbolic_range(s, v).high <= low_bits(bits))
		return v;
	return make(s, SYMBOL_TRUNCATE, v, bits, 0, false);
}

static struct value extend(struct symbolic *s, struct value v, unsigned bits)
{
	if (bits >= 64)
		return v;
	if (!v.symbol)
		return constant(sign_extend(v.offset, bits));
	if (symbolic_range(s, v).high <= low_bits(bits - 1))
		return v;
	return make(s, SYMBOL_EXTEND, v, bits, 0, false);
}

static struct value add(struct symbolic *s, struct value a, struct value b)
{
	if (!a.symbol)
		return (struct value){b.symbol, b.scale, a.offset + b.offset};
	if (!b.symbol)
		return (struct value){a.symbol, a.scale, a.offset + b.offset};
	if (a.symbol == b.symbol && a.scale + b.scale)
		return (struct value){a.symbol, a.scale + b.scale, a.offset + b.offset};
	/* Two unknowns: the sum is one more, which a longer path may resolve. */
	return make(s, SYMBOL_OPAQUE, s->symbols[a.symbol].first ? a : b, 0, 0, false);
}

static struct value negate(struct symbolic *s, struct value v)
{
	return v.symbol ? opaque(s, v) : constant(-v.offset);
}

static struct value multiply(struct symbolic *s, struct value v, uint64_t factor)
{
	if (!v.symbol)
		return constant(v.offset * factor);
	const uint64_t scale = v.scale * factor;
	if (scale == 0)
		return opaque(s, v);
	return (struct value){v.symbol, scale, v.offset * factor};
}

static struct value first_value(struct symbolic *s, unsigned reg)
{
	uint64_t c;
	if (reg != ISA_REG_STACK && s->constant && s->constant(s->constant_arg, reg, &c))
		return constant(c);
	return make(s, SYMBOL_FIRST, constant(0), reg, 0, true);
}

static struct value get_register(struct symbolic *s, unsigned reg)
{
	if (reg >= 16)
		return make(s, SYMBOL_OPAQUE, constant(0), 0, 0, false);
	if (!(s->regs_set & (1u << reg))) {
		s->regs[reg] = first_value(s, reg);
		s->regs_set |= (uint16_t)(1u << reg);
	}
	return s->regs[reg];
}

/* A part of a register is written: of less than 32 bits the rest stays, which is not followed. */
static void set_register(struct symbolic *s, const struct isa_operand *o, struct value v)
{
	if (o->reg >= 16)
		return;
	if (o->size_bits < 32)
		v = opaque(s, v);
	s->regs[o->reg] = truncate(s, v, o->size_bits);
	s->regs_set |= (uint16_t)(1u << o->reg);
}

static struct value address_of(struct symbolic *s, const struct isa_operand *o)
{
	struct value v = constant((uint64_t)o->value);
	if (o->segment != ISA_REG_NONE)
		return make(s, SYMBOL_OPAQUE, constant(0), 0, 0, false);
	if (o->base == ISA_REG_PC)
		return v;
	if (o->base != ISA_REG_NONE)
		v = add(s, v, get_register(s, o->base));
	if (o->index != ISA_REG_NONE)
		v = add(s, v, multiply(s, get_register(s, o->index), o->scale));
	return v;
}

/* ---- memory ---- */

static bool is_stack(const struct symbolic *s, struct value address)
{
	const struct symbol *y = &s->symbols[address.symbol];
	return address.symbol && y->kind == SYMBOL_FIRST &&
	       (y->imm == ISA_REG_STACK || y->imm == ISA_REG_FRAME);
}

static bool load_constant(const struct symbolic *s, struct value address, unsigned bytes,
			  struct value *ret)
{
	uint64_t v = 0;
	if (address.symbol || bytes > 8 || cfg_external_word(s->image, address.offset))
		return false;
	const uint8_t *data = cfg_data_at(s->image, address.offset, bytes);
	if (!data)
		return false;
	memcpy(&v, data, bytes);
	*ret = constant(v);
	return true;
}

static bool overlaps(const struct cell *c, struct value address, unsigned bytes)
{
	return c->address.offset - address.offset < bytes ||
	       address.offset - c->address.offset < c->bytes;
}

static struct value load(struct symbolic *s, struct value address, unsigned bytes)
{
	struct value v;
	for (uint32_t i = s->cell_count; i-- > 0;)
		if (s->cells[i].bytes == bytes && same(s->cells[i].address, address))
			return s->cells[i].value;
	if (load_constant(s, address, bytes, &v))
		return v;
	const bool stack = is_stack(s, address);
	for (uint32_t i = 0; i < s->cell_count; i++)
		if (s->cells[i].address.symbol == address.symbol &&
		    overlaps(&s->cells[i], address, bytes))
			return opaque(s, address);
	return make(s, SYMBOL_LOAD, address,
		    stack ? (1ULL << 32) + s->stack_generation : s->generation, bytes,
		    true /* what wrote it may be before the path */);
}

/* Forgets cells that a store may have changed. */
static void forget_cells(struct symbolic *s, struct value address, unsigned bytes, bool all)
{
	const bool stack = !all && is_stack(s, address);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < s->cell_count; i++) {
		const struct cell *c = &s->cells[i];
		bool keep;
		if (all || !stack) /* compilers do not spill through pointers */
			keep = is_stack(s, c->address);
		else if (!is_stack(s, c->address))
			keep = true;
		else
			keep = c->address.symbol == address.symbol && !overlaps(c, address, bytes);
		if (keep)
			s->cells[kept++] = *c;
	}
	s->cell_count = kept;
	if (!stack)
		s->generation++;
}

static void store(struct symbolic *s, struct value address, unsigned bytes, struct value v)
{
	forget_cells(s, address, bytes, false);
	if (s->cell_count < SYMBOLIC_CELLS_MAX)
		s->cells[s->cell_count++] =
			(struct cell){address, truncate(s, v, bytes * 8), bytes};
	else
		s->stack_generation++;
}

struct value symbolic_operand(struct symbolic *s, const struct isa_operand *o)
{
	switch (o->kind) {
	case ISA_OPERAND_IMMEDIATE:
		return constant((uint64_t)o->value);
	case ISA_OPERAND_MEMORY:
		return load(s, address_of(s, o), o->size_bits / 8);
	default:
		if (o->first_bit)
			return make(s, SYMBOL_OPAQUE, constant(0), 0, 0, false);
		return truncate(s, get_register(s, o->reg), o->size_bits);
	}
}

/* ---- instructions ---- */

static void set_operand(struct symbolic *s, const struct isa_operand *o, struct value v)
{
	if (o->kind == ISA_OPERAND_REGISTER)
		set_register(s, o, v);
	else if (o->kind == ISA_OPERAND_MEMORY)
		store(s, address_of(s, o), o->size_bits / 8, v);
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
	struct value address = address_of(s, p);
	if (p->size_bits && !(o->attributes & ISA_REPEATED)) {
		store(s, address, p->size_bits / 8, opaque(s, address));
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
			s->regs[p->reg] = make(s, SYMBOL_OPAQUE, constant(0), 0, 0, false);
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
	b = b.symbol ? b : constant(b.offset & low_bits(bits));
	switch (o->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		r = add(s, a, b.symbol ? b : constant(sign_extend(b.offset, bits)));
		break;
	case ZYDIS_MNEMONIC_SUB:
		r = b.symbol ? add(s, a, negate(s, b))
			     : add(s, a, constant(-sign_extend(b.offset, bits)));
		break;
	case ZYDIS_MNEMONIC_AND:
		if (b.symbol)
			return false;
		/* Masks with the sign bit say nothing of the size. */
		r = b.offset >> (bits - 1) ? opaque(s, a)
					   : make(s, SYMBOL_AND, a, b.offset, 0, false);
		break;
	default:
		return false;
	}
	set_operand(s, to, r);
	if (o->mnemonic == ZYDIS_MNEMONIC_SUB)
		set_flags(s, a, b, bits, false);
	else
		set_flags(s, truncate(s, r, bits), constant(0), bits, true);
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
		v = make(s, SYMBOL_SHIFT, v, (uint64_t)by->value, 0, false);
	else
		v = multiply(s, v, 1ULL << by->value);
	set_register(s, to, v);
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
		b.offset &= low_bits(bits);
	if (o->mnemonic == ZYDIS_MNEMONIC_CMP)
		set_flags(s, a, b, bits, false);
	else if (same(a, b)) /* test r,r */
		set_flags(s, a, constant(0), bits, false);
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
		v = address_of(s, from);
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		v = extend(s, symbolic_operand(s, from), from->size_bits);
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
	struct symbolic *const t = s;
	if (o->shown != 2 || !s->flags_known || to->kind != ISA_OPERAND_REGISTER ||
	    !s->flags_left.symbol)
		return false;
	struct value stay = symbolic_operand(s, to), move = symbolic_operand(s, &o->list[1]);
	struct symbol *const y = &t->symbols[s->flags_left.symbol], before = *y;
	symbolic_branch(s, o->condition, false);
	struct range a = symbolic_range(s, stay);
	*y = before;
	symbolic_branch(s, o->condition, true);
	struct range b = symbolic_range(s, move);
	*y = before;
	struct value v = make(s, SYMBOL_OPAQUE, stay, 0, 0, false);
	struct symbol *result = &s->symbols[v.symbol];
	result->compared = a.strength == STRENGTH_COMPARED && b.strength == STRENGTH_COMPARED;
	result->low = a.low < b.low ? a.low : b.low;
	result->high = a.high > b.high ? a.high : b.high;
	set_register(s, to, v);
	return true;
}

static void step_push(struct symbolic *s, const struct isa_operands *o)
{
	struct value v = o->shown ? symbolic_operand(s, &o->list[0]) : constant(0);
	struct value top = add(s, get_register(s, ISA_REG_STACK), constant((uint64_t)-8));
	store(s, top, 8, o->shown ? v : opaque(s, v));
	s->regs[ISA_REG_STACK] = top;
}

static void step_pop(struct symbolic *s, const struct isa_operands *o)
{
	struct value top = get_register(s, ISA_REG_STACK);
	struct value v = load(s, top, 8);
	s->regs[ISA_REG_STACK] = add(s, top, constant(8));
	if (o->shown)
		set_operand(s, &o->list[0], v);
}

/* What the calling convention lets a callee change. */
static void step_call(struct symbolic *s)
{
	static const uint8_t changed[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
	for (size_t i = 0; i < sizeof(changed); i++) {
		s->regs[changed[i]] = make(s, SYMBOL_OPAQUE, constant(0), 0, 0, false);
		s->regs_set |= (uint16_t)(1u << changed[i]);
	}
	forget_cells(s, constant(0), 0, true);
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
		set_register(s, &o->list[0], constant(0));
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
		s->regs[0] = extend(s, truncate(s, get_register(s, 0), 32), 32);
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
	const uint64_t half = low_bits(s->flags_bits - 1);
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
