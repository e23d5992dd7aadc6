/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "micro/build.h"

/* The roles of the explicit operands in the operation. */
enum form {
	FORM_NONE,
	FORM_BINARY, /* first = first OP second */
	FORM_TEST,   /* first OP second, for the flags */
	FORM_UNARY,  /* first = OP first */
	FORM_FROM,   /* first = OP second */
	FORM_THREE,  /* first = second OP third */
	FORM_WIDE,   /* rdx:rax and the only one */
	FORM_DOUBLE, /* first = first and second, by third */
	FORM_IF,     /* first = second or first */
	FORM_SET,    /* first */
	FORM_CARRY,  /* none; to is the constant */
	FORM_EXTEND, /* rax from its half of 1 << constant bytes */
	FORM_DX,     /* rdx from rax, of 1 << constant bytes */
};

struct rule {
	uint8_t op, form, constant;
};

static const struct rule rules[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	[ZYDIS_MNEMONIC_MOV] = {MICRO_MOVE, FORM_FROM},
	[ZYDIS_MNEMONIC_MOVNTI] = {MICRO_MOVE, FORM_FROM},
	[ZYDIS_MNEMONIC_MOVZX] = {MICRO_MOVE, FORM_FROM},
	[ZYDIS_MNEMONIC_MOVSX] = {MICRO_MOVE_SIGNED, FORM_FROM},
	[ZYDIS_MNEMONIC_MOVSXD] = {MICRO_MOVE_SIGNED, FORM_FROM},
	[ZYDIS_MNEMONIC_LEA] = {MICRO_ADDRESS, FORM_FROM},
	[ZYDIS_MNEMONIC_ADD] = {MICRO_ADD, FORM_BINARY},
	[ZYDIS_MNEMONIC_ADC] = {MICRO_ADC, FORM_BINARY},
	[ZYDIS_MNEMONIC_SUB] = {MICRO_SUB, FORM_BINARY},
	[ZYDIS_MNEMONIC_SBB] = {MICRO_SBB, FORM_BINARY},
	[ZYDIS_MNEMONIC_CMP] = {MICRO_SUB, FORM_TEST},
	[ZYDIS_MNEMONIC_AND] = {MICRO_AND, FORM_BINARY},
	[ZYDIS_MNEMONIC_TEST] = {MICRO_AND, FORM_TEST},
	[ZYDIS_MNEMONIC_OR] = {MICRO_OR, FORM_BINARY},
	[ZYDIS_MNEMONIC_XOR] = {MICRO_XOR, FORM_BINARY},
	[ZYDIS_MNEMONIC_ANDN] = {MICRO_ANDN, FORM_THREE},
	[ZYDIS_MNEMONIC_INC] = {MICRO_INC, FORM_UNARY},
	[ZYDIS_MNEMONIC_DEC] = {MICRO_DEC, FORM_UNARY},
	[ZYDIS_MNEMONIC_NEG] = {MICRO_NEG, FORM_UNARY},
	[ZYDIS_MNEMONIC_NOT] = {MICRO_NOT, FORM_UNARY},
	[ZYDIS_MNEMONIC_SHL] = {MICRO_SHL, FORM_BINARY},
	[ZYDIS_MNEMONIC_SHR] = {MICRO_SHR, FORM_BINARY},
	[ZYDIS_MNEMONIC_SAR] = {MICRO_SAR, FORM_BINARY},
	[ZYDIS_MNEMONIC_ROL] = {MICRO_ROL, FORM_BINARY},
	[ZYDIS_MNEMONIC_ROR] = {MICRO_ROR, FORM_BINARY},
	[ZYDIS_MNEMONIC_SHLX] = {MICRO_SHLX, FORM_THREE},
	[ZYDIS_MNEMONIC_SHRX] = {MICRO_SHRX, FORM_THREE},
	[ZYDIS_MNEMONIC_SARX] = {MICRO_SARX, FORM_THREE},
	[ZYDIS_MNEMONIC_RORX] = {MICRO_RORX, FORM_THREE},
	[ZYDIS_MNEMONIC_SHLD] = {MICRO_SHLD, FORM_DOUBLE},
	[ZYDIS_MNEMONIC_SHRD] = {MICRO_SHRD, FORM_DOUBLE},
	[ZYDIS_MNEMONIC_MUL] = {MICRO_MULTIPLY_WIDE, FORM_WIDE},
	[ZYDIS_MNEMONIC_DIV] = {MICRO_DIVIDE, FORM_WIDE},
	[ZYDIS_MNEMONIC_IDIV] = {MICRO_DIVIDE_SIGNED, FORM_WIDE},
	[ZYDIS_MNEMONIC_BT] = {MICRO_BIT_TEST, FORM_TEST},
	[ZYDIS_MNEMONIC_BTS] = {MICRO_BIT_SET, FORM_BINARY},
	[ZYDIS_MNEMONIC_BTR] = {MICRO_BIT_RESET, FORM_BINARY},
	[ZYDIS_MNEMONIC_BTC] = {MICRO_BIT_FLIP, FORM_BINARY},
	[ZYDIS_MNEMONIC_BSF] = {MICRO_SCAN_FORWARD, FORM_FROM},
	[ZYDIS_MNEMONIC_BSR] = {MICRO_SCAN_REVERSE, FORM_FROM},
	[ZYDIS_MNEMONIC_TZCNT] = {MICRO_COUNT_TRAILING, FORM_FROM},
	[ZYDIS_MNEMONIC_LZCNT] = {MICRO_COUNT_LEADING, FORM_FROM},
	[ZYDIS_MNEMONIC_POPCNT] = {MICRO_COUNT_ONES, FORM_FROM},
	[ZYDIS_MNEMONIC_BLSR] = {MICRO_LOWEST_RESET, FORM_FROM},
	[ZYDIS_MNEMONIC_BLSI] = {MICRO_LOWEST_ISOLATE, FORM_FROM},
	[ZYDIS_MNEMONIC_BLSMSK] = {MICRO_LOWEST_MASK, FORM_FROM},
	[ZYDIS_MNEMONIC_BZHI] = {MICRO_ZERO_HIGH, FORM_THREE},
	[ZYDIS_MNEMONIC_BSWAP] = {MICRO_SWAP_BYTES, FORM_UNARY},
	[ZYDIS_MNEMONIC_MOVBE] = {MICRO_SWAP_BYTES, FORM_FROM},
	[ZYDIS_MNEMONIC_XCHG] = {MICRO_EXCHANGE, FORM_BINARY},
	[ZYDIS_MNEMONIC_XADD] = {MICRO_EXCHANGE_ADD, FORM_BINARY},
	[ZYDIS_MNEMONIC_CMPXCHG] = {MICRO_COMPARE_EXCHANGE, FORM_BINARY},
	[ZYDIS_MNEMONIC_CLC] = {MICRO_CARRY, FORM_CARRY, 0},
	[ZYDIS_MNEMONIC_STC] = {MICRO_CARRY, FORM_CARRY, 1},
	[ZYDIS_MNEMONIC_CMC] = {MICRO_CARRY, FORM_CARRY, 2},
	[ZYDIS_MNEMONIC_CBW] = {MICRO_MOVE_SIGNED, FORM_EXTEND, 0},
	[ZYDIS_MNEMONIC_CWDE] = {MICRO_MOVE_SIGNED, FORM_EXTEND, 1},
	[ZYDIS_MNEMONIC_CDQE] = {MICRO_MOVE_SIGNED, FORM_EXTEND, 2},
	[ZYDIS_MNEMONIC_CWD] = {MICRO_SIGN_TO_DX, FORM_DX, 1},
	[ZYDIS_MNEMONIC_CDQ] = {MICRO_SIGN_TO_DX, FORM_DX, 2},
	[ZYDIS_MNEMONIC_CQO] = {MICRO_SIGN_TO_DX, FORM_DX, 3},
};

static bool same_register(const ZydisDecodedOperand *x, const ZydisDecodedOperand *y)
{
	return x->type == ZYDIS_OPERAND_TYPE_REGISTER && y->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       x->reg.value == y->reg.value;
}

/* a and b, and dst unless it is for the flags. */
static bool set_binary(struct micro_build *m, bool test)
{
	const ZydisDecodedOperand *first = m->operand[0], *second = m->operand[1];
	uint8_t op = m->micro.op;

	if (op == MICRO_EXCHANGE && second->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		first = m->operand[1];
		second = m->operand[0];
	}
	/* Processors differ in what becomes of a register's upper half. */
	if (op == MICRO_COMPARE_EXCHANGE && first->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	/* The bit's number in a register reaches beyond the operand in memory. */
	if (op >= MICRO_BIT_TEST && op <= MICRO_BIT_FLIP &&
	    first->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    second->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return false;
	if (test)
		m->micro.mode |= MICRO_TO_NOWHERE;
	else if (!micro_set_operand(m, MICRO_DST, first))
		return false;
	/* The result is known although the register may not be: a and b stay the zero register. */
	if ((op == MICRO_XOR || op == MICRO_SUB || op == MICRO_SBB) && same_register(first, second))
		return true;
	/* Set apart, because dst and a in memory are the same operand. */
	if (first->type == ZYDIS_OPERAND_TYPE_MEMORY && !test)
		m->micro.mode |= MICRO_A_MEMORY;
	else if (!micro_set_operand(m, MICRO_A, first))
		return false;
	return micro_set_operand(m, MICRO_B, second);
}

static bool set_double(struct micro_build *m)
{
	const ZydisDecodedOperand *count = m->operand[2];

	if (micro_log_width(m->operand[0]->size) < 2 || !set_binary(m, false))
		return false;
	m->micro.imm = count->type == ZYDIS_OPERAND_TYPE_IMMEDIATE
			       ? (uint32_t)count->imm.value.u & 63
			       : MICRO_BY_CL;
	return true;
}

static bool set_wide(struct micro_build *m, unsigned width)
{
	m->micro.mode |= MICRO_TO_NOWHERE;
	if (width < 2 && (width == 1 || m->micro.op >= MICRO_DIVIDE))
		return false;
	return micro_set_operand(m, MICRO_B, m->operand[0]);
}

/* Instructions without explicit operands. */
static bool set_fixed(struct micro_build *m, struct rule rule)
{
	switch (rule.form) {
	case FORM_CARRY:
		m->micro.mode = MICRO_B_IMM | MICRO_TO_NOWHERE;
		m->micro.imm = rule.constant;
		return true;
	case FORM_EXTEND:
		micro_set_widths(m, rule.constant + 1u, rule.constant);
		micro_set(m, MICRO_DST, 0);
		micro_set(m, MICRO_B, 0);
		return true;
	default:
		micro_set_widths(m, rule.constant, rule.constant);
		micro_set(m, MICRO_DST, 2);
		micro_set(m, MICRO_A, 0);
		return true;
	}
}

static bool set_operands(struct micro_build *m, struct rule rule, unsigned width)
{
	const ZydisDecodedOperand **o = m->operand;

	switch (rule.form) {
	case FORM_BINARY:
		return set_binary(m, false);
	case FORM_TEST:
		return set_binary(m, true);
	case FORM_UNARY:
		if (rule.op == MICRO_SWAP_BYTES) /* of two bytes it is undefined */
			return width >= 2 && micro_set_operand(m, MICRO_DST, o[0]) &&
			       micro_set_operand(m, MICRO_B, o[0]);
		if (!micro_set_operand(m, MICRO_DST, o[0]))
			return false;
		if (o[0]->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			m->micro.mode |= MICRO_A_MEMORY;
			return true;
		}
		return micro_set_operand(m, MICRO_A, o[0]);
	case FORM_FROM:
		if (rule.op == MICRO_ADDRESS)
			return micro_set_operand(m, MICRO_DST, o[0]) && micro_set_memory(m, o[1]);
		return micro_set_operand(m, MICRO_DST, o[0]) && micro_set_operand(m, MICRO_B, o[1]);
	case FORM_THREE:
		return micro_set_operand(m, MICRO_DST, o[0]) &&
		       micro_set_operand(m, MICRO_A, o[1]) && micro_set_operand(m, MICRO_B, o[2]);
	case FORM_DOUBLE:
		return set_double(m);
	case FORM_IF:
		if (!set_binary(m, false))
			return false;
		m->micro.imm = rule.constant;
		return true;
	case FORM_SET:
		m->micro.imm = rule.constant;
		return micro_set_operand(m, MICRO_DST, o[0]);
	default:
		return set_wide(m, width);
	}
}

static struct rule find_rule(const struct micro_build *m)
{
	const ZydisDecodedInstruction *z = &m->z;

	if (z->mnemonic == ZYDIS_MNEMONIC_IMUL)
		return m->count == 2   ? (struct rule){MICRO_MULTIPLY, FORM_BINARY}
		       : m->count == 3 ? (struct rule){MICRO_MULTIPLY, FORM_THREE}
				       : (struct rule){MICRO_MULTIPLY_WIDE_SIGNED, FORM_WIDE};
	if (z->meta.category == ZYDIS_CATEGORY_CMOV)
		return (struct rule){MICRO_MOVE_IF, FORM_IF, z->opcode & 15};
	if (z->meta.category == ZYDIS_CATEGORY_SETCC)
		return (struct rule){MICRO_SET, FORM_SET, z->opcode & 15};
	return rules[z->mnemonic];
}

bool micro_build_value(struct micro_build *m)
{
	static const unsigned operands[] = {
		[FORM_BINARY] = 2, [FORM_TEST] = 2,  [FORM_UNARY] = 1,
		[FORM_FROM] = 2,   [FORM_THREE] = 3, [FORM_WIDE] = 1,
		[FORM_DOUBLE] = 3, [FORM_IF] = 2,    [FORM_SET] = 1,
	};
	struct rule rule = find_rule(m);

	if (rule.form == FORM_NONE)
		return false;
	m->micro.op = rule.op;
	if (rule.form >= FORM_CARRY)
		return set_fixed(m, rule);
	if (m->count < operands[rule.form])
		return false;

	unsigned width = micro_log_width(m->operand[0]->size), source = width;
	const ZydisDecodedOperand *last = m->operand[operands[rule.form] - 1];
	if (rule.form == FORM_DOUBLE)
		last = m->operand[1];
	if (last->type != ZYDIS_OPERAND_TYPE_IMMEDIATE && rule.op != MICRO_ADDRESS)
		source = micro_log_width(last->size);
	if (width > 3 || source > 3)
		return false;
	micro_set_widths(m, width, source);
	return set_operands(m, rule, width);
}
