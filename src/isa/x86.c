/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "isa/x86.h"

static enum isa_branch branch_kind(const ZydisDecodedInstruction *z)
{
	/* Branches to Zydis; where they go from within a transaction, xbegin has said. */
	if (z->mnemonic == ZYDIS_MNEMONIC_XEND || z->mnemonic == ZYDIS_MNEMONIC_XABORT)
		return ISA_BRANCH_NONE;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_UNCOND_BR:
		return ISA_BRANCH_JUMP;
	case ZYDIS_CATEGORY_COND_BR:
		return ISA_BRANCH_CONDITIONAL;
	case ZYDIS_CATEGORY_CALL:
		return ISA_BRANCH_CALL;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
		return ISA_BRANCH_RETURN;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_INTERRUPT:
		return ISA_BRANCH_SYSTEM;
	default:
		break;
	}
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_VMCALL:
	case ZYDIS_MNEMONIC_VMMCALL:
		return ISA_BRANCH_SYSTEM;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return ISA_BRANCH_STOP;
	default:
		return ISA_BRANCH_NONE;
	}
}

/* sti keeps interrupts off until the next instruction is done (Intel SDM, volume 2, STI). */
static uint8_t unmasks(const ZydisDecodedInstruction *z)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_STI:
		return 2;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
		return 1;
	default:
		return 0;
	}
}

/* True when the index of the SIB byte is r12 (or a vector register), not "none". */
static bool has_extended_index(const ZydisDecodedInstruction *z)
{
	switch (z->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
	case ZYDIS_INSTRUCTION_ENCODING_3DNOW:
		return (z->attributes & ZYDIS_ATTRIB_HAS_REX) && z->raw.rex.X;
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		return z->raw.vex.X == 0 && z->raw.vex.size == 3;
	default:
		return true; /* rare: no address is told */
	}
}

/*
 * Addresses that the instruction itself fixes: where it branches to, what it reads or writes.
 * Taken from its raw parts: decoding the operands would cost as much again as all the rest.
 */
static void find_addresses(const ZydisDecodedInstruction *z, struct isa_instruction *ret)
{
	const bool wide = z->machine_mode == ZYDIS_MACHINE_MODE_LONG_64;
	const uint64_t next = ret->address + z->length;
	const uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
	const uint64_t displacement = (uint64_t)z->raw.disp.value;

	if (z->raw.imm[0].is_relative)
		ret->target = (next + (uint64_t)z->raw.imm[0].value.s) & mask;
	if (wide && (z->attributes & ZYDIS_ATTRIB_HAS_MODRM) && z->raw.modrm.mod == 0 &&
	    z->raw.modrm.rm == 5 && z->raw.disp.size == 32)
		ret->relative = z->raw.disp.offset;
	if (z->attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS) ||
	    z->raw.disp.size < 32)
		return;
	if (!(z->attributes & ZYDIS_ATTRIB_HAS_MODRM)) /* mov between accumulator and memory */
		ret->data = displacement & mask;
	else if (z->raw.modrm.mod != 0)
		return;
	else if (z->raw.modrm.rm == 5)
		ret->data = (displacement + (wide ? next : 0)) & mask;
	else if (z->raw.modrm.rm == 4 && z->raw.sib.base == 5 && z->raw.sib.index == 4 &&
		 !has_extended_index(z))
		ret->data = displacement & mask;
	if (z->address_width == 32 && ret->data != ISA_NO_ADDRESS)
		ret->data &= UINT32_MAX;
}

void isa_x86_describe(const ZydisDecodedInstruction *z, struct isa_instruction *ret)
{
	ret->size = z->length;
	ret->branch = branch_kind(z);
	ret->unmasks = unmasks(z);
	find_addresses(z, ret);
}

static bool x86_decode(const struct isa_decoder *d, const uint8_t *code, size_t size,
		       struct isa_instruction *ret)
{
	const struct x86 *x = d->state;
	ZydisDecodedInstruction z;
	ZydisDecoderContext context;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&x->decoder, &context, code, size, &z)))
		return false;
	isa_x86_describe(&z, ret);
	return true;
}

/* True when only a suffix can tell how much of memory an instruction works on. */
static bool needs_suffix(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *operands)
{
	return z->operand_count_visible == 1 && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       (z->meta.category == ZYDIS_CATEGORY_BINARY ||
		z->meta.category == ZYDIS_CATEGORY_LOGICAL);
}

/* Zydis gives a suffix when there are two operands, but not when memory is the only one. */
static void add_suffix(char out[ISA_TEXT_MAX], unsigned bits)
{
	char *operand = strpbrk(out, "%(-0");
	const char suffix = bits == 8 ? 'b' : bits == 16 ? 'w' : bits == 32 ? 'l' : 'q';

	if (!operand || operand == out || operand[-1] != ' ' || strlen(out) + 1 >= ISA_TEXT_MAX)
		return;
	memmove(operand, operand - 1, strlen(operand - 1) + 1);
	operand[-1] = suffix;
}

/* AT&T syntax marks the operand of an indirect branch by a star, which Zydis leaves out. */
static void add_star(char out[ISA_TEXT_MAX])
{
	char *operand = strpbrk(out, "%(-0");
	size_t size = strlen(out);

	if (!operand || size + 1 >= ISA_TEXT_MAX)
		return;
	memmove(operand + 1, operand, strlen(operand) + 1);
	*operand = '*';
}

static bool x86_format(const struct isa_decoder *d, const uint8_t *code,
		       const struct isa_instruction *in, char out[ISA_TEXT_MAX])
{
	const struct x86 *x = d->state;
	ZydisDecodedInstruction z;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&x->decoder, code, in->size, &z, operands)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&x->formatter, &z, operands,
							  z.operand_count_visible, out,
							  ISA_TEXT_MAX, in->address, NULL)))
		return false;
	if (d->syntax == ISA_SYNTAX_ATT && in->target == ISA_NO_ADDRESS &&
	    (in->branch == ISA_BRANCH_JUMP || in->branch == ISA_BRANCH_CALL))
		add_star(out);
	else if (d->syntax == ISA_SYNTAX_ATT && needs_suffix(&z, operands))
		add_suffix(out, operands[0].size);
	return true;
}

static const struct isa_table x86_table = {x86_decode, x86_format, isa_x86_operands,
					   isa_x86_mnemonic, 1};

/* As objdump writes it: lower case hex without padding, rip-relative operands as they are. */
static void set_style(ZydisFormatter *f)
{
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} style[] = {
		{ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE},
		{ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE},
		{ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED},
	};

	for (size_t i = 0; i < sizeof(style) / sizeof(*style); i++)
		ZydisFormatterSetProperty(f, style[i].property, style[i].value);
}

int isa_x86_init(struct isa_decoder *d)
{
	struct x86 *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	d->state = x;
	d->table = &x86_table;
	bool wide = d->bits == 64;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(
		    &x->decoder, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
		    wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32)) ||
	    !ZYAN_SUCCESS(ZydisFormatterInit(&x->formatter, d->syntax == ISA_SYNTAX_INTEL
								    ? ZYDIS_FORMATTER_STYLE_INTEL
								    : ZYDIS_FORMATTER_STYLE_ATT)))
		return -EOPNOTSUPP;
	set_style(&x->formatter);
	if (d->syntax == ISA_SYNTAX_INTEL)
		ZydisFormatterSetProperty(&x->formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE,
					  ZYAN_TRUE);
	return 0;
}
