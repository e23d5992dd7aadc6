/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "micro/build.h"

enum form {
	FORM_NONE,
	FORM_MOVE,    /* between vectors and memory, whole */
	FORM_SCALAR,  /* of 1 << element bytes, between vectors, memory and general registers */
	FORM_BINARY,  /* the two last operands to the first, or the first with the second */
	FORM_TERNARY, /* and the table, an immediate */
	FORM_COMPARE, /* to a mask register; by an immediate */
	FORM_BROADCAST,
	FORM_PAIR, /* halves of the two last operands to the first; constant: which */
	FORM_TEST, /* the first with the second, to flags */
	FORM_MASK, /* of the second to a general register */
	FORM_UPPER,
	FORM_K_MOVE,
	FORM_K_TEST,
	FORM_K_BINARY, /* constant: enum micro_mask */
};

struct rule {
	uint8_t op, form, element, constant;
};

#define X(name)		ZYDIS_MNEMONIC_##name
#define BOTH(name, ...) [X(name)] = {__VA_ARGS__}, [X(V##name)] = {__VA_ARGS__}
#define LOGIC(op, integer, floating)                                                               \
	BOTH(integer, op, FORM_BINARY), BOTH(floating##PS, op, FORM_BINARY, 2),                    \
		BOTH(floating##PD, op, FORM_BINARY, 3), [X(V##integer##D)] = {op, FORM_BINARY, 2}, \
							[X(V##integer##Q)] = {op, FORM_BINARY, 3}
#define ELEMENTS(op, name)                                                    \
	BOTH(name##B, op, FORM_BINARY, 0), BOTH(name##W, op, FORM_BINARY, 1), \
		BOTH(name##D, op, FORM_BINARY, 2), BOTH(name##Q, op, FORM_BINARY, 3)
#define MASKED(op, form, name, constant)                                                \
	[X(name##B)] = {op, form, 0, constant}, [X(name##W)] = {op, form, 1, constant}, \
	[X(name##D)] = {op, form, 2, constant}, [X(name##Q)] = {op, form, 3, constant}

/* Halves of operands. */
enum { A0, A1, B0, B1 };

static const struct rule rules[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	BOTH(MOVDQA, MICRO_V_MOVE, FORM_MOVE),
	BOTH(MOVDQU, MICRO_V_MOVE, FORM_MOVE),
	BOTH(MOVAPS, MICRO_V_MOVE, FORM_MOVE, 2),
	BOTH(MOVUPS, MICRO_V_MOVE, FORM_MOVE, 2),
	BOTH(MOVAPD, MICRO_V_MOVE, FORM_MOVE, 3),
	BOTH(MOVUPD, MICRO_V_MOVE, FORM_MOVE, 3),
	BOTH(LDDQU, MICRO_V_MOVE, FORM_MOVE),
	BOTH(MOVNTDQ, MICRO_V_MOVE, FORM_MOVE),
	BOTH(MOVNTDQA, MICRO_V_MOVE, FORM_MOVE),
	BOTH(MOVNTPS, MICRO_V_MOVE, FORM_MOVE),
	BOTH(MOVNTPD, MICRO_V_MOVE, FORM_MOVE),
	[X(VMOVDQA32)] = {MICRO_V_MOVE, FORM_MOVE, 2},
	[X(VMOVDQA64)] = {MICRO_V_MOVE, FORM_MOVE, 3},
	[X(VMOVDQU8)] = {MICRO_V_MOVE, FORM_MOVE},
	[X(VMOVDQU16)] = {MICRO_V_MOVE, FORM_MOVE, 1},
	[X(VMOVDQU32)] = {MICRO_V_MOVE, FORM_MOVE, 2},
	[X(VMOVDQU64)] = {MICRO_V_MOVE, FORM_MOVE, 3},
	BOTH(MOVD, MICRO_V_MOVE, FORM_SCALAR, 2),
	BOTH(MOVQ, MICRO_V_MOVE, FORM_SCALAR, 3),
	BOTH(MOVSS, MICRO_V_MOVE, FORM_SCALAR, 2),
	BOTH(MOVSD, MICRO_V_MOVE, FORM_SCALAR, 3),
	LOGIC(MICRO_V_AND, PAND, AND),
	LOGIC(MICRO_V_ANDN, PANDN, ANDN),
	LOGIC(MICRO_V_OR, POR, OR),
	LOGIC(MICRO_V_XOR, PXOR, XOR),
	[X(VPTERNLOGD)] = {MICRO_V_TERNARY, FORM_TERNARY, 2},
	[X(VPTERNLOGQ)] = {MICRO_V_TERNARY, FORM_TERNARY, 3},
	ELEMENTS(MICRO_V_EQUAL, PCMPEQ),
	ELEMENTS(MICRO_V_GREATER, PCMPGT),
	ELEMENTS(MICRO_V_SUB, PSUB),
	BOTH(PMINUB, MICRO_V_MIN, FORM_BINARY, 0),
	BOTH(PMINUW, MICRO_V_MIN, FORM_BINARY, 1),
	BOTH(PMINUD, MICRO_V_MIN, FORM_BINARY, 2),
	MASKED(MICRO_V_COMPARE, FORM_COMPARE, VPCMP, MICRO_SIGNED),
	MASKED(MICRO_V_COMPARE, FORM_COMPARE, VPCMPU, 0),
	MASKED(MICRO_V_TEST_MASK, FORM_BINARY, VPTESTM, 0),
	MASKED(MICRO_V_TEST_MASK, FORM_BINARY, VPTESTNM, 1),
	MASKED(MICRO_V_BROADCAST, FORM_BROADCAST, VPBROADCAST, 0),
	BOTH(PUNPCKLQDQ, MICRO_V_PAIR, FORM_PAIR, 4, A0 | B0 << 2),
	BOTH(PUNPCKHQDQ, MICRO_V_PAIR, FORM_PAIR, 4, A1 | B1 << 2),
	BOTH(UNPCKLPD, MICRO_V_PAIR, FORM_PAIR, 4, A0 | B0 << 2),
	BOTH(UNPCKHPD, MICRO_V_PAIR, FORM_PAIR, 4, A1 | B1 << 2),
	BOTH(MOVLHPS, MICRO_V_PAIR, FORM_PAIR, 4, A0 | B0 << 2),
	BOTH(MOVHLPS, MICRO_V_PAIR, FORM_PAIR, 4, B1 | A1 << 2),
	BOTH(MOVHPS, MICRO_V_PAIR, FORM_PAIR, 3, A0 | B0 << 2),
	BOTH(MOVHPD, MICRO_V_PAIR, FORM_PAIR, 3, A0 | B0 << 2),
	BOTH(MOVLPS, MICRO_V_PAIR, FORM_PAIR, 3, B0 | A1 << 2),
	BOTH(MOVLPD, MICRO_V_PAIR, FORM_PAIR, 3, B0 | A1 << 2),
	BOTH(PMOVMSKB, MICRO_V_MASK, FORM_MASK),
	BOTH(PTEST, MICRO_V_TEST, FORM_TEST, 4),
	BOTH(UCOMISS, MICRO_V_COMPARE_SCALAR, FORM_TEST, 2),
	BOTH(UCOMISD, MICRO_V_COMPARE_SCALAR, FORM_TEST, 3),
	BOTH(COMISS, MICRO_V_COMPARE_SCALAR, FORM_TEST, 2),
	BOTH(COMISD, MICRO_V_COMPARE_SCALAR, FORM_TEST, 3),
	[X(VZEROUPPER)] = {MICRO_V_ZERO_UPPER, FORM_UPPER},
	MASKED(MICRO_K_BINARY, FORM_K_MOVE, KMOV, MICRO_K_MOVE),
	MASKED(MICRO_K_OR_TEST, FORM_K_TEST, KORTEST, 0),
	MASKED(MICRO_K_BINARY, FORM_K_BINARY, KAND, MICRO_K_AND),
	MASKED(MICRO_K_BINARY, FORM_K_BINARY, KOR, MICRO_K_OR),
	MASKED(MICRO_K_BINARY, FORM_K_BINARY, KXOR, MICRO_K_XOR),
	MASKED(MICRO_K_BINARY, FORM_K_BINARY, KANDN, MICRO_K_ANDN),
	MASKED(MICRO_K_BINARY, FORM_K_BINARY, KXNOR, MICRO_K_XNOR),
	MASKED(MICRO_K_BINARY, FORM_K_BINARY, KNOT, MICRO_K_NOT),
	[X(KUNPCKBW)] = {MICRO_K_BINARY, FORM_K_BINARY, 1, MICRO_K_UNPACK},
	[X(KUNPCKWD)] = {MICRO_K_BINARY, FORM_K_BINARY, 2, MICRO_K_UNPACK},
	[X(KUNPCKDQ)] = {MICRO_K_BINARY, FORM_K_BINARY, 3, MICRO_K_UNPACK},
};

static bool is_memory(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static int vector_of(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? micro_vector(o->reg.value) : -1;
}

static int gpr_of(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? micro_gpr(o->reg.value) : -1;
}

static int mask_of(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? micro_mask(o->reg.value) : -1;
}

/* False also for a number that is none. */
static bool set_number(struct micro_build *m, enum micro_field field, int number)
{
	if (number < 0)
		return false;
	micro_set(m, field, (unsigned)number);
	return true;
}

/* The operand b: a vector, or memory. */
static bool set_b(struct micro_build *m, const ZydisDecodedOperand *o)
{
	if (!is_memory(o))
		return set_number(m, MICRO_B, vector_of(o));
	m->micro.mode |= MICRO_B_MEMORY;
	return micro_set_memory(m, o);
}

/* first = second, or the first in memory = second. */
static bool set_move(struct micro_build *m, unsigned width, unsigned element)
{
	micro_set_widths(m, width, element);
	if (!is_memory(m->operand[0]))
		return set_number(m, MICRO_DST, vector_of(m->operand[0])) &&
		       set_b(m, m->operand[1]);
	m->micro.op = MICRO_V_STORE;
	m->micro.mode |= MICRO_TO_MEMORY;
	return micro_set_memory(m, m->operand[0]) &&
	       set_number(m, MICRO_B, vector_of(m->operand[1]));
}

static bool set_scalar(struct micro_build *m, unsigned width)
{
	const ZydisDecodedOperand *to = m->operand[0], *from = m->operand[1];
	bool merges = m->z.mnemonic != ZYDIS_MNEMONIC_MOVQ && m->z.mnemonic != ZYDIS_MNEMONIC_VMOVQ;

	if (m->count != 2)
		return false;
	if (gpr_of(from) >= 0) {
		m->micro.op = MICRO_V_FROM_GPR;
		micro_set_widths(m, micro_log_width(from->size), 0);
		return set_number(m, MICRO_DST, vector_of(to)) &&
		       set_number(m, MICRO_B, gpr_of(from));
	}
	if (gpr_of(to) >= 0) {
		m->micro.op = MICRO_V_TO_GPR;
		micro_set_widths(m, micro_log_width(to->size), 0);
		m->micro.mode = 0;
		return set_number(m, MICRO_DST, gpr_of(to)) &&
		       set_number(m, MICRO_B, vector_of(from));
	}
	if (merges && !is_memory(to) && !is_memory(from)) {
		m->micro.op = MICRO_V_PAIR;
		m->micro.imm = B0 | A1 << 2;
		micro_set_widths(m, 4, 4);
		return width == 3 && set_number(m, MICRO_DST, vector_of(to)) &&
		       set_number(m, MICRO_A, vector_of(to)) &&
		       set_number(m, MICRO_B, vector_of(from));
	}
	return set_move(m,
			is_memory(from) || is_memory(to)
				? micro_log_width(is_memory(to) ? to->size : from->size)
				: width,
			0);
}

/* Of 16 bytes, without a mask; one operand may be eight bytes of memory. */
static bool set_pair(struct micro_build *m, struct rule rule, unsigned width)
{
	unsigned first = m->count - 2;

	micro_set_widths(m, 4, rule.element);
	if (is_memory(m->operand[0])) {
		bool low = m->z.mnemonic == ZYDIS_MNEMONIC_MOVLPS ||
			   m->z.mnemonic == ZYDIS_MNEMONIC_VMOVLPS ||
			   m->z.mnemonic == ZYDIS_MNEMONIC_MOVLPD ||
			   m->z.mnemonic == ZYDIS_MNEMONIC_VMOVLPD;

		return low && set_move(m, 3, 0);
	}
	return width == 4 && (m->count == 2 || m->count == 3) &&
	       set_number(m, MICRO_DST, vector_of(m->operand[0])) &&
	       set_number(m, MICRO_A, vector_of(m->operand[first])) &&
	       set_b(m, m->operand[first + 1]);
}

/* Of registers with themselves, where that has one result whatever they have. */
static bool set_constant(struct micro_build *m)
{
	bool zeros = m->micro.op == MICRO_V_XOR || m->micro.op == MICRO_V_SUB ||
		     m->micro.op == MICRO_V_ANDN || m->micro.op == MICRO_V_GREATER;

	if (!zeros && m->micro.op != MICRO_V_EQUAL)
		return false;
	m->micro.op = MICRO_V_TERNARY;
	m->micro.imm = zeros ? 0 : 0xff;
	return true;
}

static bool set_binary(struct micro_build *m, struct rule rule, unsigned width)
{
	unsigned first = m->count - 2;
	const ZydisDecodedOperand *a = m->operand[first], *b = m->operand[first + 1];

	micro_set_widths(m, width, rule.element);
	if (m->count == 3 && mask_of(m->operand[0]) >= 0) {
		if (rule.op == MICRO_V_EQUAL || rule.op == MICRO_V_GREATER) {
			m->micro.op = MICRO_V_COMPARE;
			m->micro.imm = rule.op == MICRO_V_EQUAL ? 0 : 6 | MICRO_SIGNED;
		} else if (rule.op != MICRO_V_TEST_MASK) {
			return false;
		}
		m->micro.mode = 0;
		micro_set(m, MICRO_DST, (unsigned)mask_of(m->operand[0]));
	} else if (!set_number(m, MICRO_DST, vector_of(m->operand[0]))) {
		return false;
	}
	if (!set_number(m, MICRO_A, vector_of(a)) || !set_b(m, b))
		return false;
	if (vector_of(a) == vector_of(b) && m->micro.op != MICRO_V_COMPARE)
		set_constant(m);
	return true;
}

static bool set_immediate(struct micro_build *m, struct rule rule, unsigned width)
{
	const ZydisDecodedOperand *last = m->operand[m->count - 1];

	if (m->count != 4 || last->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return false;
	micro_set_widths(m, width, rule.element);
	m->micro.imm = (uint32_t)(last->imm.value.u & 0xff);
	if (rule.form == FORM_TERNARY)
		return set_number(m, MICRO_DST, vector_of(m->operand[0])) &&
		       set_number(m, MICRO_A, vector_of(m->operand[1])) && set_b(m, m->operand[2]);
	m->micro.imm = (m->micro.imm & 7) | rule.constant;
	return set_number(m, MICRO_DST, mask_of(m->operand[0])) &&
	       set_number(m, MICRO_A, vector_of(m->operand[1])) && set_b(m, m->operand[2]);
}

static bool set_broadcast(struct micro_build *m, struct rule rule, unsigned width)
{
	micro_set_widths(m, width, rule.element);
	if (m->count != 2 || !set_number(m, MICRO_DST, vector_of(m->operand[0])))
		return false;
	if (gpr_of(m->operand[1]) < 0)
		return set_b(m, m->operand[1]);
	m->micro.op = MICRO_V_BROADCAST_GPR;
	return set_number(m, MICRO_B, gpr_of(m->operand[1]));
}

static bool set_mask(struct micro_build *m, struct rule rule)
{
	unsigned width = rule.element;
	const ZydisDecodedOperand *to = m->operand[0], *from = m->operand[1];

	m->micro.imm = rule.constant;
	micro_set_widths(m, width, 0);
	switch (rule.form) {
	case FORM_K_TEST:
		return set_number(m, MICRO_A, mask_of(to)) && set_number(m, MICRO_B, mask_of(from));
	case FORM_K_BINARY:
		from = m->operand[m->count - 1];
		return set_number(m, MICRO_DST, mask_of(to)) &&
		       set_number(m, MICRO_A, mask_of(m->operand[1])) &&
		       set_number(m, MICRO_B, mask_of(from));
	default:
		break;
	}
	if (gpr_of(from) >= 0) {
		m->micro.op = MICRO_K_FROM_GPR;
		return set_number(m, MICRO_DST, mask_of(to)) &&
		       set_number(m, MICRO_B, gpr_of(from));
	}
	if (gpr_of(to) >= 0) {
		m->micro.op = MICRO_K_TO_GPR;
		return set_number(m, MICRO_DST, gpr_of(to)) &&
		       set_number(m, MICRO_B, mask_of(from));
	}
	micro_set(m, MICRO_A, 0);
	return set_number(m, MICRO_DST, mask_of(to)) && set_number(m, MICRO_B, mask_of(from));
}

/* Flags or a general register from vectors; their upper halves do not matter. */
static bool set_reduction(struct micro_build *m, struct rule rule, unsigned width)
{
	m->micro.mode = 0;
	if (rule.form == FORM_MASK) {
		micro_set_widths(m, micro_log_width(m->operand[1]->size), 0);
		return set_number(m, MICRO_DST, gpr_of(m->operand[0])) && set_b(m, m->operand[1]);
	}
	micro_set_widths(m, rule.element < 4 ? rule.element : width, 0);
	return set_number(m, MICRO_A, vector_of(m->operand[0])) && set_b(m, m->operand[1]);
}

/* The mask of an EVEX instruction, where its operation honours one. */
static bool set_own_mask(struct micro_build *m)
{
	const ZydisDecodedInstruction *z = &m->z;
	int own = micro_mask(z->avx.mask.reg), op = m->micro.op;
	bool compares = op == MICRO_V_COMPARE || op == MICRO_V_TEST_MASK;

	if (z->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID && !z->avx.broadcast.is_static)
		return false;
	if (own <= 0)
		return true;
	if (!compares && op != MICRO_V_MOVE && (op < MICRO_V_AND || op > MICRO_V_SUB))
		return false;
	m->micro.length |= (uint8_t)(own << 4);
	if (!compares && (z->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING ||
			  z->avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING))
		m->micro.length |= MICRO_ZEROING;
	return compares || z->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING ||
	       z->avx.mask.mode == ZYDIS_MASK_MODE_MERGING;
}

static bool set_operands(struct micro_build *m, struct rule rule, unsigned width)
{
	switch (rule.form) {
	case FORM_MOVE:
		return m->count == 2 && set_move(m, width, rule.element);
	case FORM_SCALAR:
		return set_scalar(m, rule.element);
	case FORM_BINARY:
		return (m->count == 2 || m->count == 3) && set_binary(m, rule, width);
	case FORM_TERNARY:
	case FORM_COMPARE:
		return set_immediate(m, rule, width);
	case FORM_BROADCAST:
		return set_broadcast(m, rule, width);
	case FORM_PAIR:
		return m->count >= 2 && set_pair(m, rule, width);
	case FORM_TEST:
	case FORM_MASK:
		return m->count == 2 && set_reduction(m, rule, width);
	case FORM_UPPER:
		return true;
	default:
		return m->count >= 2 && set_mask(m, rule);
	}
}

bool micro_build_vector(struct micro_build *m)
{
	struct rule rule = rules[m->z.mnemonic];
	unsigned width = 0;

	if (rule.form == FORM_NONE || m->z.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return false;
	m->micro.op = rule.op;
	m->micro.imm = rule.constant;
	if (m->z.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		m->micro.mode = MICRO_KEEP_UPPER;
	/* All vectors have one width, but for masks, numbers and broadcasts. */
	for (unsigned i = 0; i < m->count && width == 0; i++)
		if (vector_of(m->operand[i]) >= 0)
			width = micro_log_width(m->operand[i]->size);
	return width <= 6 && set_operands(m, rule, width) && set_own_mask(m);
}
