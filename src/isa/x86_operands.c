/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "isa/x86.h"

static uint8_t segment_number(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_FS	? ISA_REG_FS
	       : r == ZYDIS_REGISTER_GS ? ISA_REG_GS
					: ISA_REG_NONE;
}

static uint8_t other_number(ZydisRegister r)
{
	switch (r) {
	case ZYDIS_REGISTER_MXCSR:
		return ISA_REG_VECTOR_STATE;
	case ZYDIS_REGISTER_X87CONTROL:
	case ZYDIS_REGISTER_X87STATUS:
	case ZYDIS_REGISTER_X87TAG:
		return ISA_REG_FLOAT_STATE;
	default:
		return ISA_REG_SYSTEM;
	}
}

static uint8_t register_number(ZydisRegister r)
{
	if (r == ZYDIS_REGISTER_NONE)
		return ISA_REG_NONE;
	uint8_t id = (uint8_t)ZydisRegisterGetId(r);
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_GPR8:
		/* al cl dl bl ah ch dh bh spl bpl sil dil r8b ... */
		r -= ZYDIS_REGISTER_AL;
		return (uint8_t)(ISA_REG_GENERAL + (r < 4 ? r : r - 4));
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return ISA_REG_GENERAL + (id & 15);
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return ISA_REG_VECTOR + (id & 31);
	case ZYDIS_REGCLASS_MASK:
		return ISA_REG_MASK + (id & 7);
	case ZYDIS_REGCLASS_X87:
		return ISA_REG_FLOAT + (id & 7);
	case ZYDIS_REGCLASS_MMX:
		return ISA_REG_MMX + (id & 7);
	case ZYDIS_REGCLASS_SEGMENT:
		return (uint8_t)(ISA_REG_SEGMENT + (r - ZYDIS_REGISTER_ES));
	case ZYDIS_REGCLASS_FLAGS:
		return ISA_REG_FLAGS;
	case ZYDIS_REGCLASS_IP:
		return ISA_REG_PC;
	default:
		return other_number(r);
	}
}

static bool is_high_byte(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH;
}

static uint8_t access_of(const ZydisDecodedOperand *o)
{
	static const struct {
		ZydisOperandAction action;
		uint8_t access;
	} map[] = {
		{ZYDIS_OPERAND_ACTION_READ, ISA_ACCESS_READ},
		{ZYDIS_OPERAND_ACTION_WRITE, ISA_ACCESS_WRITE},
		{ZYDIS_OPERAND_ACTION_CONDREAD, ISA_ACCESS_MAYBE_READ},
		{ZYDIS_OPERAND_ACTION_CONDWRITE, ISA_ACCESS_MAYBE_WRITE},
	};
	uint8_t access = 0;

	for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++)
		if (o->actions & map[i].action)
			access |= map[i].access;
	return access;
}

/* Zydis gives the stack's memory operand as (%rsp), before or after the instruction's effect. */
static int64_t stack_adjustment(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	if (o->mem.base != ZYDIS_REGISTER_RSP && o->mem.base != ZYDIS_REGISTER_ESP &&
	    o->mem.base != ZYDIS_REGISTER_SP)
		return 0;
	const bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	if (hidden && (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return -(int64_t)(o->size / 8);
	if (!hidden && z->mnemonic == ZYDIS_MNEMONIC_POP)
		return o->size / 8;
	return 0;
}

static void read_memory(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
			uint64_t address, struct isa_operand *ret)
{
	ZyanU64 absolute;

	ret->kind = ISA_OPERAND_MEMORY;
	ret->base = register_number(o->mem.base);
	ret->index = register_number(o->mem.index);
	ret->scale = o->mem.index == ZYDIS_REGISTER_NONE ? 0 : o->mem.scale;
	ret->segment = segment_number(o->mem.segment);
	ret->value =
		(o->mem.disp.has_displacement ? o->mem.disp.value : 0) + stack_adjustment(z, o);
	if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || o->mem.type == ZYDIS_MEMOP_TYPE_MIB ||
	    z->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    z->meta.category == ZYDIS_CATEGORY_PREFETCHWT1 ||
	    z->meta.category == ZYDIS_CATEGORY_NOP || z->meta.category == ZYDIS_CATEGORY_WIDENOP)
		ret->access = 0;
	if (ret->base == ISA_REG_PC &&
	    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, o, address, &absolute)))
		ret->value = (int64_t)absolute;
}

/* False: nothing that is listed. */
static bool read_operand(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
			 uint64_t address, struct isa_operand *ret)
{
	*ret = (struct isa_operand){
		.access = access_of(o),
		.hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN,
		.reg = ISA_REG_NONE,
		.base = ISA_REG_NONE,
		.index = ISA_REG_NONE,
		.segment = ISA_REG_NONE,
		.size_bits = o->size,
	};
	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		if (o->encoding == ZYDIS_OPERAND_ENCODING_MASK &&
		    z->avx.mask.mode == ZYDIS_MASK_MODE_DISABLED)
			return false;
		ret->kind = ISA_OPERAND_REGISTER;
		ret->reg = register_number(o->reg.value);
		ret->first_bit = is_high_byte(o->reg.value) ? 8 : 0;
		if (z->meta.category == ZYDIS_CATEGORY_NOP ||
		    z->meta.category == ZYDIS_CATEGORY_WIDENOP)
			ret->access = 0;
		return ret->reg != ISA_REG_NONE;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		read_memory(z, o, address, ret);
		return true;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		ret->kind = ISA_OPERAND_IMMEDIATE;
		ret->access = ISA_ACCESS_READ;
		ret->value = o->imm.is_signed ? o->imm.value.s : (int64_t)o->imm.value.u;
		return !o->imm.is_relative;
	default:
		return false;
	}
}

/* The condition is the low half of the opcode, in the three groups that have one. */
static uint8_t condition_of(const ZydisDecodedInstruction *z)
{
	const uint8_t group = z->opcode & 0xf0;

	if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return ISA_NO_CONDITION;
	if (z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT ? group == 0x70
	    : z->opcode_map == ZYDIS_OPCODE_MAP_0F ? group == 0x40 || group == 0x80 || group == 0x90
						   : false)
		return z->opcode & 0x0f;
	return ISA_NO_CONDITION;
}

static bool same_register(const ZydisDecodedOperand *a, const ZydisDecodedOperand *b)
{
	return a->type == ZYDIS_OPERAND_TYPE_REGISTER && b->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       a->reg.value == b->reg.value;
}

/* Intel's optimization manual 3.5.1.7, and the same of AMD's. */
static bool is_zero_idiom(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		return same_register(&o[0], &o[1]) && o[0].size >= 32;
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_PSUBB:
	case ZYDIS_MNEMONIC_PSUBW:
	case ZYDIS_MNEMONIC_PSUBD:
	case ZYDIS_MNEMONIC_PSUBQ:
	case ZYDIS_MNEMONIC_PCMPGTB:
	case ZYDIS_MNEMONIC_PCMPGTW:
	case ZYDIS_MNEMONIC_PCMPGTD:
	case ZYDIS_MNEMONIC_PCMPGTQ:
		return same_register(&o[0], &o[1]);
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPSUBB:
	case ZYDIS_MNEMONIC_VPSUBW:
	case ZYDIS_MNEMONIC_VPSUBD:
	case ZYDIS_MNEMONIC_VPSUBQ:
	case ZYDIS_MNEMONIC_VPCMPGTB:
	case ZYDIS_MNEMONIC_VPCMPGTW:
	case ZYDIS_MNEMONIC_VPCMPGTD:
	case ZYDIS_MNEMONIC_VPCMPGTQ:
		return z->operand_count_visible == 3 && same_register(&o[1], &o[2]);
	case ZYDIS_MNEMONIC_VPXORD:
	case ZYDIS_MNEMONIC_VPXORQ:
		return z->avx.mask.mode == ZYDIS_MASK_MODE_DISABLED &&
		       z->operand_count_visible == 4 && same_register(&o[2], &o[3]);
	default:
		return false;
	}
}

static bool is_move(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	if (z->operand_count_visible != 2 || o[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    o[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return register_number(o[0].reg.value) < 16 &&
		       register_number(o[1].reg.value) < 16 && o[0].size >= 32;
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVDQU:
		return true;
	default:
		return false;
	}
}

static unsigned mnemonic_attributes(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_MFENCE:
		return ISA_FENCE;
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_RSM:
	case ZYDIS_MNEMONIC_SERIALIZE:
	case ZYDIS_MNEMONIC_INVD:
	case ZYDIS_MNEMONIC_WBINVD:
	case ZYDIS_MNEMONIC_INVLPG:
	case ZYDIS_MNEMONIC_WRMSR:
	case ZYDIS_MNEMONIC_LGDT:
	case ZYDIS_MNEMONIC_LIDT:
	case ZYDIS_MNEMONIC_LLDT:
	case ZYDIS_MNEMONIC_LTR:
		return ISA_SERIALISING;
	case ZYDIS_MNEMONIC_MOVNTI:
	case ZYDIS_MNEMONIC_MOVNTQ:
	case ZYDIS_MNEMONIC_MOVNTDQ:
	case ZYDIS_MNEMONIC_MOVNTDQA:
	case ZYDIS_MNEMONIC_MOVNTPS:
	case ZYDIS_MNEMONIC_MOVNTPD:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMOVNTDQ:
	case ZYDIS_MNEMONIC_VMOVNTDQA:
	case ZYDIS_MNEMONIC_VMOVNTPS:
	case ZYDIS_MNEMONIC_VMOVNTPD:
		return ISA_NON_TEMPORAL;
	case ZYDIS_MNEMONIC_ENDBR32:
	case ZYDIS_MNEMONIC_ENDBR64:
		return ISA_NOP;
	default:
		return 0;
	}
}

/* Legacy instructions that write a part of a vector register and leave the rest as it was. */
static bool keeps_upper(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	const bool from_memory =
		z->operand_count_visible > 1 && o[1].type == ZYDIS_OPERAND_TYPE_MEMORY;

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
		return !from_memory;
	case ZYDIS_MNEMONIC_MOVLPS:
	case ZYDIS_MNEMONIC_MOVLPD:
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_MOVHLPS:
	case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_ROUNDSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
		return true;
	default:
		return false;
	}
}

static unsigned attributes_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	const uint64_t repeat =
		ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
	const bool branch = z->meta.category == ZYDIS_CATEGORY_CALL ||
			    z->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
	const bool first_memory =
		z->operand_count_visible &&
		(o[0].type == ZYDIS_OPERAND_TYPE_MEMORY || o[1].type == ZYDIS_OPERAND_TYPE_MEMORY);
	unsigned a = mnemonic_attributes(z);

	if ((z->attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
	    (z->mnemonic == ZYDIS_MNEMONIC_XCHG && first_memory))
		a |= ISA_LOCKED;
	if (z->attributes & repeat)
		a |= ISA_REPEATED;
	if (is_zero_idiom(z, o))
		a |= ISA_ZERO_IDIOM;
	if (is_move(z, o))
		a |= ISA_MOVE;
	if (z->meta.category == ZYDIS_CATEGORY_NOP || z->meta.category == ZYDIS_CATEGORY_WIDENOP)
		a |= ISA_NOP;
	if (z->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    z->meta.category == ZYDIS_CATEGORY_PREFETCHWT1)
		a |= ISA_PREFETCH;
	if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	    z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		a |= ISA_VECTOR_ENCODED;
	else if (keeps_upper(z, o))
		a |= ISA_KEEPS_UPPER;
	if (z->avx.mask.mode == ZYDIS_MASK_MODE_MERGING)
		a |= ISA_MERGE_MASKED;
	if (branch && z->operand_count_visible &&
	    (o[0].type == ZYDIS_OPERAND_TYPE_REGISTER || o[0].type == ZYDIS_OPERAND_TYPE_MEMORY))
		a |= ISA_INDIRECT;
	return a;
}

bool isa_x86_operands(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      struct isa_instruction *ret, struct isa_operands *ret_operands)
{
	const struct x86 *x = d->state;
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct isa_operands *const r = ret_operands;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&x->decoder, code, size, &z, operands)))
		return false;
	isa_x86_describe(&z, ret);
	for (unsigned i = 0; i < z.operand_count && r->count < ISA_OPERANDS_MAX; i++) {
		if (!read_operand(&z, &operands[i], ret->address, &r->list[r->count]))
			continue;
		r->count++;
		if (i < z.operand_count_visible)
			r->shown++;
	}
	r->mnemonic = (uint16_t)z.mnemonic;
	r->condition = condition_of(&z);
	r->attributes = (uint16_t)attributes_of(&z, operands);
	if (z.cpu_flags) {
		const ZydisAccessedFlags *f = z.cpu_flags;

		r->flags_read = (uint16_t)f->tested;
		r->flags_written = (uint16_t)(f->modified | f->set_0 | f->set_1 | f->undefined);
	}
	return true;
}

const char *isa_x86_mnemonic(unsigned mnemonic)
{
	return mnemonic <= ZYDIS_MNEMONIC_MAX_VALUE ? ZydisMnemonicGetString(mnemonic) : NULL;
}
