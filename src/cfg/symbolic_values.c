/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/symbolic_values.h"

#include <string.h>

#define RANGE_DEPTH    16
#define BYTE_TABLE_MAX 4096

struct value value_constant(uint64_t c)
{
	return (struct value){0, 0, c};
}

bool value_same(struct value a, struct value b)
{
	return a.symbol == b.symbol && a.scale == b.scale && a.offset == b.offset;
}

uint64_t value_low_bits(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
}

uint64_t value_sign_extend(uint64_t v, unsigned bits)
{
	if (bits >= 64)
		return v;
	const uint64_t top = 1ULL << (bits - 1);
	return ((v & value_low_bits(bits)) ^ top) - top;
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

struct value symbol_make(struct symbolic *s, enum symbol_kind kind, struct value arg, uint64_t imm,
			 unsigned bytes, bool first)
{
	for (uint32_t i = 1; i < s->symbol_count && kind != SYMBOL_OPAQUE; i++) {
		const struct symbol *have = &s->symbols[i];

		if (have->kind == kind && have->imm == imm && have->bytes == bytes &&
		    value_same(have->arg, arg))
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

struct value value_opaque(struct symbolic *s, struct value from)
{
	return symbol_make(s, SYMBOL_OPAQUE, from, 0, 0, false);
}

static struct range range_of(const struct symbolic *s, struct value v, unsigned depth);

static struct range width(uint64_t high)
{
	return (struct range){0, high, STRENGTH_WIDTH};
}

/* A byte out of a constant table, by an index that is bounded: the largest that there is. */
static struct range range_of_table(const struct symbolic *s, const struct symbol *y, unsigned depth)
{
	struct range none = {0, value_low_bits(y->bytes * 8), STRENGTH_NONE};
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
		return y->bytes < 4
			       ? width(value_low_bits(y->bytes * 8))
			       : (struct range){0, value_low_bits(y->bytes * 8), STRENGTH_NONE};
	case SYMBOL_TRUNCATE:
		r = range_of(s, y->arg, depth + 1);
		if (r.high <= value_low_bits((unsigned)y->imm))
			return r;
		return y->imm < 32
			       ? width(value_low_bits((unsigned)y->imm))
			       : (struct range){0, value_low_bits((unsigned)y->imm), STRENGTH_NONE};
	case SYMBOL_EXTEND:
		r = range_of(s, y->arg, depth + 1);
		return r.high <= value_low_bits((unsigned)y->imm - 1) ? r : all;
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

struct value value_truncate(struct symbolic *s, struct value v, unsigned bits)
{
	if (bits >= 64)
		return v;
	if (!v.symbol)
		return value_constant(v.offset & value_low_bits(bits));
	if (symbolic_range(s, v).high <= value_low_bits(bits))
		return v;
	return symbol_make(s, SYMBOL_TRUNCATE, v, bits, 0, false);
}

struct value value_extend(struct symbolic *s, struct value v, unsigned bits)
{
	if (bits >= 64)
		return v;
	if (!v.symbol)
		return value_constant(value_sign_extend(v.offset, bits));
	if (symbolic_range(s, v).high <= value_low_bits(bits - 1))
		return v;
	return symbol_make(s, SYMBOL_EXTEND, v, bits, 0, false);
}

struct value value_add(struct symbolic *s, struct value a, struct value b)
{
	if (!a.symbol)
		return (struct value){b.symbol, b.scale, a.offset + b.offset};
	if (!b.symbol)
		return (struct value){a.symbol, a.scale, a.offset + b.offset};
	if (a.symbol == b.symbol && a.scale + b.scale)
		return (struct value){a.symbol, a.scale + b.scale, a.offset + b.offset};
	/* Two unknowns: the sum is one more, which a longer path may resolve. */
	return symbol_make(s, SYMBOL_OPAQUE, s->symbols[a.symbol].first ? a : b, 0, 0, false);
}

struct value value_negate(struct symbolic *s, struct value v)
{
	return v.symbol ? value_opaque(s, v) : value_constant(-v.offset);
}

struct value value_multiply(struct symbolic *s, struct value v, uint64_t factor)
{
	if (!v.symbol)
		return value_constant(v.offset * factor);
	const uint64_t scale = v.scale * factor;
	if (scale == 0)
		return value_opaque(s, v);
	return (struct value){v.symbol, scale, v.offset * factor};
}

static struct value first_value(struct symbolic *s, unsigned reg)
{
	uint64_t c;

	if (reg != ISA_REG_STACK && s->constant && s->constant(s->constant_arg, reg, &c))
		return value_constant(c);
	return symbol_make(s, SYMBOL_FIRST, value_constant(0), reg, 0, true);
}

struct value state_get_register(struct symbolic *s, unsigned reg)
{
	if (reg >= 16)
		return value_opaque(s, value_constant(0));
	if (!(s->regs_set & (1u << reg))) {
		s->regs[reg] = first_value(s, reg);
		s->regs_set |= (uint16_t)(1u << reg);
	}
	return s->regs[reg];
}

/* A part of a register is written: of less than 32 bits the rest stays, which is not followed. */
void state_set_register(struct symbolic *s, const struct isa_operand *o, struct value v)
{
	if (o->reg >= 16)
		return;
	if (o->size_bits < 32)
		v = value_opaque(s, v);
	s->regs[o->reg] = value_truncate(s, v, o->size_bits);
	s->regs_set |= (uint16_t)(1u << o->reg);
}

struct value state_address(struct symbolic *s, const struct isa_operand *o)
{
	struct value v = value_constant((uint64_t)o->value);

	if (o->segment != ISA_REG_NONE)
		return value_opaque(s, value_constant(0));
	if (o->base == ISA_REG_PC)
		return v;
	if (o->base != ISA_REG_NONE)
		v = value_add(s, v, state_get_register(s, o->base));
	if (o->index != ISA_REG_NONE)
		v = value_add(s, v, value_multiply(s, state_get_register(s, o->index), o->scale));
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
	*ret = value_constant(v);
	return true;
}

static bool overlaps(const struct cell *c, struct value address, unsigned bytes)
{
	return c->address.offset - address.offset < bytes ||
	       address.offset - c->address.offset < c->bytes;
}

struct value state_load(struct symbolic *s, struct value address, unsigned bytes)
{
	struct value v;

	for (uint32_t i = s->cell_count; i-- > 0;)
		if (s->cells[i].bytes == bytes && value_same(s->cells[i].address, address))
			return s->cells[i].value;
	if (load_constant(s, address, bytes, &v))
		return v;
	const bool stack = is_stack(s, address);
	for (uint32_t i = 0; i < s->cell_count; i++)
		if (s->cells[i].address.symbol == address.symbol &&
		    overlaps(&s->cells[i], address, bytes))
			return value_opaque(s, address);
	return symbol_make(s, SYMBOL_LOAD, address,
			   stack ? (1ULL << 32) + s->stack_generation : s->generation, bytes,
			   true /* what wrote it may be before the path */);
}

void state_forget_cells(struct symbolic *s, struct value address, unsigned bytes, bool all)
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

void state_store(struct symbolic *s, struct value address, unsigned bytes, struct value v)
{
	state_forget_cells(s, address, bytes, false);
	if (s->cell_count < SYMBOLIC_CELLS_MAX)
		s->cells[s->cell_count++] =
			(struct cell){address, value_truncate(s, v, bytes * 8), bytes};
	else
		s->stack_generation++;
}

struct value symbolic_operand(struct symbolic *s, const struct isa_operand *o)
{
	switch (o->kind) {
	case ISA_OPERAND_IMMEDIATE:
		return value_constant((uint64_t)o->value);
	case ISA_OPERAND_MEMORY:
		return state_load(s, state_address(s, o), o->size_bits / 8);
	default:
		if (o->first_bit)
			return value_opaque(s, value_constant(0));
		return value_truncate(s, state_get_register(s, o->reg), o->size_bits);
	}
}
