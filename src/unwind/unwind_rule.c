/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/unwind_rule.h"

#include <string.h>
#include "util/buf.h"

/* DWARF operations (DWARF 5, 7.7.1). */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_CONSTANT = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LITERAL_0 = 0x30,
	OP_REGISTER_0 = 0x70, /* its value + a signed operand */
	OP_REGISTER_RETURN = 0x80,
};

#define DWARF_RSP 7

/* reg + offset, and what is done with the sum. */
struct shape {
	uint8_t reg;
	int64_t offset, add;
	bool deref;
};

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

/* reg + offset [deref [plus add]], as an address in memory or a value. */
static bool read_shape(const struct cfi_rule *rule, struct shape *ret)
{
	struct cursor c = cursor_over(rule->expr, rule->expr_size);
	uint8_t op = cursor_u8(&c);

	*ret = (struct shape){.reg = (uint8_t)(op - OP_REGISTER_0)};
	if (op < OP_REGISTER_0 || op >= OP_REGISTER_0 + WIRE_UNWIND_REGISTERS)
		return false;
	ret->offset = cursor_signed(&c);
	if (cursor_left(&c)) {
		ret->deref = true;
		if (cursor_u8(&c) != OP_DEREF)
			return false;
	}
	if (cursor_left(&c)) {
		if (cursor_u8(&c) != OP_PLUS_CONSTANT)
			return false;
		ret->add = (int64_t)cursor_varint(&c);
	}
	return !c.error && !cursor_left(&c) && fits(ret->offset) && fits(ret->add);
}

/*
 * What linkers write for the procedure linkage table, whose stubs push an argument half way:
 * rsp + 8 + ((rip & 15) >= n) * 8.
 */
static bool read_plt(const struct cfi_rule *rule, struct wire_unwind_rule *ret)
{
	const uint8_t *e = rule->expr;
	static const uint8_t begin[] = {OP_REGISTER_0 + DWARF_RSP, 8,	  OP_REGISTER_RETURN, 0,
					OP_LITERAL_0 + 15,	   OP_AND};
	static const uint8_t end[] = {OP_GE, OP_LITERAL_0 + 3, OP_SHL, OP_PLUS};
	const size_t at = sizeof(begin);

	if (rule->expr_size != sizeof(begin) + 1 + sizeof(end) || memcmp(e, begin, sizeof(begin)) ||
	    memcmp(e + at + 1, end, sizeof(end)) || e[at] < OP_LITERAL_0 ||
	    e[at] > OP_LITERAL_0 + 15)
		return false;
	ret->cfa = WIRE_CFA_PLT;
	ret->cfa_reg = DWARF_RSP;
	ret->cfa_offset = 8;
	ret->cfa_add = e[at] - OP_LITERAL_0;
	return true;
}

static bool read_cfa(const struct cfi_rule *rule, struct wire_unwind_rule *ret)
{
	struct shape shape;

	if (rule->kind == CFI_REGISTER) {
		if (rule->reg >= WIRE_UNWIND_REGISTERS || !fits(rule->offset))
			return false;
		ret->cfa = WIRE_CFA_REGISTER;
		ret->cfa_reg = (uint8_t)rule->reg;
		ret->cfa_offset = (int32_t)rule->offset;
		return true;
	}
	if (rule->kind != CFI_IS_EXPR)
		return false;
	if (read_plt(rule, ret))
		return true;
	if (!read_shape(rule, &shape))
		return false;
	ret->cfa = shape.deref ? WIRE_CFA_DEREF : WIRE_CFA_REGISTER;
	ret->cfa_reg = shape.reg;
	ret->cfa_offset = (int32_t)shape.offset;
	ret->cfa_add = (int32_t)shape.add;
	return true;
}

static bool read_place(const struct cfi_rule *rule, wire_u8 *place, wire_u8 *reg, wire_i32 *offset)
{
	static const wire_u8 places[] = {
		[CFI_UNDEFINED] = WIRE_LOCATION_UNDEFINED,
		[CFI_SAME] = WIRE_LOCATION_SAME,
		[CFI_AT_CFA] = WIRE_LOCATION_AT_CFA,
		[CFI_IS_CFA] = WIRE_LOCATION_IS_CFA,
		[CFI_REGISTER] = WIRE_LOCATION_REGISTER,
		[CFI_AT_EXPR] = WIRE_LOCATION_AT_REGISTER,
	};
	struct shape shape;

	*place = WIRE_LOCATION_UNDEFINED;
	if (rule->kind == CFI_IS_EXPR || !fits(rule->offset))
		return false;
	if (rule->kind == CFI_AT_EXPR) {
		if (!read_shape(rule, &shape) || shape.deref)
			return false;
		*reg = shape.reg;
		*offset = (int32_t)shape.offset;
	} else {
		if (rule->kind == CFI_REGISTER && rule->reg >= WIRE_UNWIND_REGISTERS)
			return false;
		*reg = rule->kind == CFI_REGISTER ? (uint8_t)rule->reg : 0;
		*offset = (int32_t)rule->offset;
	}
	*place = places[rule->kind];
	return true;
}

static wire_u8 place_rbx(const struct cfi_rule *rule, bool signal)
{
	struct shape shape;
	int64_t bytes = 0;

	if (rule->kind == CFI_SAME)
		return 0;
	if (rule->kind == CFI_AT_CFA && !signal && fits(rule->offset))
		bytes = -rule->offset;
	else if (rule->kind == CFI_AT_EXPR && signal && read_shape(rule, &shape) && !shape.deref &&
		 shape.reg == DWARF_RSP)
		bytes = shape.offset;
	return bytes > 0 && bytes % 8 == 0 && bytes / 8 < WIRE_UNWIND_RBX_LOST
		       ? (wire_u8)(bytes / 8)
		       : WIRE_UNWIND_RBX_LOST;
}

bool unwind_rule_from_row(const struct cfi_row *row, bool signal, struct wire_unwind_rule *ret)
{
	struct wire_unwind_rule r = {.flags = signal ? WIRE_UNWIND_SIGNAL : 0};

	if (!read_cfa(&row->cfa, &r) || !read_place(&row->ra, &r.ra, &r.ra_reg, &r.ra_offset))
		return false;
	/* Without the frame pointer the stack is still followed through code that needs none. */
	read_place(&row->fp, &r.fp, &r.fp_reg, &r.fp_offset);
	r.rbx = place_rbx(&row->base, signal);
	*ret = r;
	return true;
}
