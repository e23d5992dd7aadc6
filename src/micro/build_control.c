/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "micro/build.h"

static bool stop(struct micro_build *m, enum wire_end reason)
{
	m->micro.op = MICRO_STOP;
	m->micro.imm = reason;
	return true;
}

static bool near_branch(const struct micro_build *m)
{
	return m->z.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR;
}

/* A direct branch, or one to the address in operand b. */
static bool set_target(struct micro_build *m, uint8_t direct, uint8_t indirect)
{
	const ZydisDecodedOperand *o = m->operand[0];

	if (m->count < 1 || !near_branch(m))
		return false;
	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		m->micro.op = direct;
		m->micro.imm = (uint32_t)o->imm.value.s;
		return o->imm.is_relative;
	}
	m->micro.op = indirect;
	micro_set_widths(m, 3, 3);
	return o->size == 64 && micro_set_operand(m, MICRO_B, o);
}

static bool set_branch(struct micro_build *m)
{
	const ZydisDecodedInstruction *z = &m->z;
	bool wide = z->opcode_map == ZYDIS_OPCODE_MAP_0F && z->opcode >= 0x80 && z->opcode <= 0x8f;
	bool narrow =
		z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && z->opcode >= 0x70 && z->opcode <= 0x7f;

	if (m->count < 1 || m->operand[0]->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return false;
	m->micro.imm = (uint32_t)m->operand[0]->imm.value.s;
	if (z->mnemonic == ZYDIS_MNEMONIC_JRCXZ || z->mnemonic == ZYDIS_MNEMONIC_JECXZ) {
		m->micro.op = MICRO_BRANCH_RCXZ;
		micro_set_widths(m, z->mnemonic == ZYDIS_MNEMONIC_JRCXZ ? 3 : 2, 0);
		return true;
	}
	m->micro.op = MICRO_BRANCH;
	micro_set(m, MICRO_A, z->opcode & 15);
	return wide || narrow;
}

static bool set_return(struct micro_build *m)
{
	m->micro.op = MICRO_RETURN;
	if (m->z.mnemonic != ZYDIS_MNEMONIC_RET || !near_branch(m))
		return false;
	if (m->count > 0 && m->operand[0]->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		m->micro.imm = (uint32_t)m->operand[0]->imm.value.u;
	return true;
}

static bool set_push(struct micro_build *m)
{
	const ZydisDecodedOperand *o = m->operand[0];

	m->micro.op = MICRO_PUSH;
	micro_set_widths(m, 3, 3);
	return m->z.mnemonic == ZYDIS_MNEMONIC_PUSH && m->count == 1 && m->z.operand_width == 64 &&
	       micro_set_operand(m, MICRO_B, o);
}

static bool set_pop(struct micro_build *m)
{
	m->micro.op = MICRO_POP;
	micro_set_widths(m, 3, 3);
	return m->z.mnemonic == ZYDIS_MNEMONIC_POP && m->count == 1 && m->operand[0]->size == 64 &&
	       m->operand[0]->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       micro_set_operand(m, MICRO_DST, m->operand[0]);
}

/* rep movs and rep stos; without segments. */
static bool set_string(struct micro_build *m, uint8_t op, unsigned width)
{
	m->micro.op = op;
	micro_set_widths(m, width, width);
	return m->z.attributes & ZYDIS_ATTRIB_HAS_REP && m->z.address_width == 64 &&
	       !(m->z.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS));
}

static bool by_mnemonic(struct micro_build *m)
{
	switch (m->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB:
		return set_string(m, MICRO_COPY, 0);
	case ZYDIS_MNEMONIC_MOVSW:
		return set_string(m, MICRO_COPY, 1);
	case ZYDIS_MNEMONIC_MOVSQ:
		return set_string(m, MICRO_COPY, 3);
	case ZYDIS_MNEMONIC_STOSB:
		return set_string(m, MICRO_FILL, 0);
	case ZYDIS_MNEMONIC_STOSW:
		return set_string(m, MICRO_FILL, 1);
	case ZYDIS_MNEMONIC_STOSD:
		return set_string(m, MICRO_FILL, 2);
	case ZYDIS_MNEMONIC_STOSQ:
		return set_string(m, MICRO_FILL, 3);
	case ZYDIS_MNEMONIC_MOVSD: /* also the name of a vector instruction */
		return m->z.meta.category == ZYDIS_CATEGORY_STRINGOP &&
		       set_string(m, MICRO_COPY, 2);
	case ZYDIS_MNEMONIC_LEAVE:
		m->micro.op = MICRO_LEAVE;
		return m->z.operand_width == 64;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
		return stop(m, WIRE_END_FAULT);
	case ZYDIS_MNEMONIC_CLD:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_ENDBR32:
		m->micro.op = MICRO_NOP;
		return true;
	default:
		return false;
	}
}

bool micro_build_control(struct micro_build *m)
{
	if (by_mnemonic(m))
		return true;
	switch (m->z.meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
		m->micro = (struct wire_micro){.op = MICRO_NOP};
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return set_target(m, MICRO_JUMP, MICRO_JUMP_TO);
	case ZYDIS_CATEGORY_CALL:
		return set_target(m, MICRO_CALL, MICRO_CALL_TO);
	case ZYDIS_CATEGORY_COND_BR:
		return set_branch(m);
	case ZYDIS_CATEGORY_RET:
		return set_return(m);
	case ZYDIS_CATEGORY_PUSH:
		return set_push(m);
	case ZYDIS_CATEGORY_POP:
		return set_pop(m);
	default:
		return false;
	}
}

/* Whose effects its operands do not tell, or tell too much of. */
static enum wire_end beyond(const struct micro_build *m)
{
	switch (m->z.mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_XGETBV:
		return WIRE_END_FULL;
	case ZYDIS_MNEMONIC_STD:
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
		return WIRE_END_INSTRUCTION;
	default:
		break;
	}
	switch (m->z.meta.category) {
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_VTX:
		return WIRE_END_SYSTEM;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_KEYLOCKER:
	case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_CLZERO:
	case ZYDIS_CATEGORY_SEGOP:
		return WIRE_END_INSTRUCTION;
	default:
		return WIRE_END_FULL;
	}
}

/* Adds what a write to the operand makes unknown. */
static bool clobber(struct micro_build *m, const ZydisDecodedOperand *o, uint32_t *vectors)
{
	unsigned width = 0;
	int number;

	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		while (width < 6 && (8u << width) < o->size)
			width++;
		if ((8u << width) < o->size || m->micro.mode & MICRO_TO_MEMORY)
			return false;
		micro_set_widths(m, width, 0);
		m->micro.mode |= MICRO_TO_MEMORY;
		return micro_set_memory(m, o);
	}
	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return true;
	number = micro_gpr(o->reg.value);
	if (number >= MICRO_HIGH_BYTE)
		number -= MICRO_HIGH_BYTE;
	if (number >= 0) {
		m->micro.imm |= 1u << number;
	} else if ((number = micro_vector(o->reg.value)) >= 0) {
		*vectors |= 1u << number;
	} else if ((number = micro_mask(o->reg.value)) >= 0) {
		m->micro.imm |= 1u << (number + MICRO_CLOBBER_MASKS);
	} else if (ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_FLAGS) {
		m->micro.imm |= MICRO_CLOBBER_FLAGS;
	}
	return o->reg.value != ZYDIS_REGISTER_RIP;
}

void micro_build_clobber(struct micro_build *m)
{
	enum wire_end end = beyond(m);
	uint32_t vectors = 0;
	bool expressible = true;

	m->micro.op = MICRO_CLOBBER;
	if (m->z.mnemonic == ZYDIS_MNEMONIC_VZEROALL)
		vectors = 0xffff;
	for (unsigned i = 0; i < m->z.operand_count && expressible; i++)
		if (m->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			expressible = clobber(m, &m->operands[i], &vectors);
	/* The field has the displacement, or the vectors. */
	if (m->micro.mode & MICRO_TO_MEMORY && vectors != 0)
		expressible = false;
	if (end == WIRE_END_FULL && expressible) {
		if (vectors != 0)
			m->micro.disp = vectors;
		return;
	}
	m->micro = (struct wire_micro){0};
	stop(m, end == WIRE_END_FULL ? WIRE_END_INSTRUCTION : end);
}
