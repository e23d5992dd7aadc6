/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "micro/build.h"

unsigned micro_log_width(unsigned bits)
{
	unsigned width = 0;

	while (width < 7 && (8u << width) < bits)
		width++;
	return (8u << width) == bits ? width : 7;
}

void micro_set_widths(struct micro_build *m, unsigned width, unsigned source_width)
{
	m->micro.widths = (uint8_t)(width | source_width << 4);
}

int micro_gpr(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_GPR64:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR16:
		return ZydisRegisterGetId(r);
	case ZYDIS_REGCLASS_GPR8:
		if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
			return MICRO_HIGH_BYTE + (r - ZYDIS_REGISTER_AH);
		/* Zydis counts the four high bytes in between. */
		return r <= ZYDIS_REGISTER_BL ? r - ZYDIS_REGISTER_AL : r - ZYDIS_REGISTER_SPL + 4;
	default:
		return -1;
	}
}

int micro_vector(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return ZydisRegisterGetId(r);
	default:
		return -1;
	}
}

int micro_mask(ZydisRegister r)
{
	return ZydisRegisterGetClass(r) == ZYDIS_REGCLASS_MASK ? ZydisRegisterGetId(r) : -1;
}

/* Base or index: none, rip, or eight bytes. */
static bool set_part(struct micro_build *m, enum micro_field field, ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_NONE)
		return true;
	if (r == ZYDIS_REGISTER_RIP) {
		micro_set(m, field, MICRO_RIP);
		return true;
	}
	if (ZydisRegisterGetClass(r) != ZYDIS_REGCLASS_GPR64)
		return false;
	micro_set(m, field, ZydisRegisterGetId(r));
	return true;
}

bool micro_set_memory(struct micro_build *m, const ZydisDecodedOperand *o)
{
	int64_t disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
	unsigned scale = o->mem.scale == 8 ? 3 : o->mem.scale == 4 ? 2 : o->mem.scale == 2;

	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    (o->mem.type != ZYDIS_MEMOP_TYPE_MEM && o->mem.type != ZYDIS_MEMOP_TYPE_AGEN) ||
	    o->mem.segment == ZYDIS_REGISTER_GS || m->z.address_width != 64 ||
	    disp != (int32_t)disp || !set_part(m, MICRO_BASE, o->mem.base) ||
	    !set_part(m, MICRO_INDEX, o->mem.index))
		return false;
	if (o->mem.segment == ZYDIS_REGISTER_FS && o->mem.type == ZYDIS_MEMOP_TYPE_MEM)
		m->micro.mode |= MICRO_FS;
	m->micro.registers |= scale << 25;
	m->micro.disp = (uint32_t)disp;
	return true;
}

/* Sign-extended from four bytes, unless only all eight will do, which no operand in memory has. */
static bool set_immediate(struct micro_build *m, const ZydisDecodedOperand *o)
{
	uint64_t value = o->imm.value.u;

	m->micro.mode |= MICRO_B_IMM;
	m->micro.imm = (uint32_t)value;
	if ((int64_t)value == (int32_t)value || m->operand[0]->size <= 32)
		return true;
	m->micro.mode |= MICRO_WIDE_IMM;
	m->micro.disp = (uint32_t)(value >> 32);
	return m->operand[0]->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

bool micro_set_operand(struct micro_build *m, enum micro_field field, const ZydisDecodedOperand *o)
{
	static const uint8_t memory_mode[] = {[MICRO_DST] = MICRO_TO_MEMORY,
					      [MICRO_A] = MICRO_A_MEMORY,
					      [MICRO_B] = MICRO_B_MEMORY};
	int number;

	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		return field == MICRO_B && set_immediate(m, o);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		m->micro.mode |= memory_mode[field];
		return micro_set_memory(m, o);
	case ZYDIS_OPERAND_TYPE_REGISTER:
		number = micro_gpr(o->reg.value);
		if (number < 0)
			return false;
		if (number >= MICRO_HIGH_BYTE)
			m->micro.mode |= MICRO_HIGH;
		micro_set(m, field, (unsigned)number);
		return true;
	default:
		return false;
	}
}
