/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_WIRE_MICRO_H
#define CULPRIT_MICRO_WIRE_MICRO_H

/*
 * The micro-operation: an x86-64 instruction in a fixed form, made by translate.c and executed by
 * interpret.h. It does not depend on the address at which the code is mapped.
 *
 * Most have the form dst = a OP b, with registers as operands; instead, a or b, and dst, may be the
 * memory operand base + (index << scale) + disp, and b may be the immediate.
 */
#include "util/wire_int.h"

enum wire_micro_op {
	MICRO_STOP, /* imm: enum wire_end */
	MICRO_NOP,
	MICRO_CLOBBER, /* not modelled: what it writes is unknown. MICRO_CLOBBER_... in imm; disp:
			  of vectors, unless it writes memory */
	/* Transfers of control. Direct ones go to imm, relative to the next instruction. */
	MICRO_JUMP,
	MICRO_CALL,
	MICRO_BRANCH,	   /* to imm; a: condition, as in the opcode */
	MICRO_BRANCH_RCXZ, /* to imm, if rcx of the width is 0 */
	MICRO_RETURN,	   /* imm: bytes to pop beside the address */
	MICRO_JUMP_TO,	   /* b */
	MICRO_CALL_TO,	   /* b */
	/* Stack and string operations. */
	MICRO_PUSH, /* b */
	MICRO_POP,  /* dst */
	MICRO_LEAVE,
	MICRO_FILL, /* rep stos */
	MICRO_COPY, /* rep movs */
	/* Integers: dst = a OP b; those of one operand: dst = OP b. */
	MICRO_MOVE,
	MICRO_VALUE_FIRST = MICRO_MOVE,
	MICRO_MOVE_SIGNED, /* from the source's width */
	MICRO_ADDRESS,	   /* the memory operand's address */
	MICRO_ADD,
	MICRO_ADC,
	MICRO_SUB,
	MICRO_SBB,
	MICRO_AND,
	MICRO_OR,
	MICRO_XOR,
	MICRO_ANDN, /* ~a & b */
	MICRO_INC,
	MICRO_DEC,
	MICRO_NEG,
	MICRO_NOT,
	MICRO_SHL,
	MICRO_SHR,
	MICRO_SAR,
	MICRO_ROL,
	MICRO_ROR,
	MICRO_SHLX, /* these four leave flags unchanged */
	MICRO_SHRX,
	MICRO_SARX,
	MICRO_RORX,
	MICRO_SHLD, /* imm: the count, or MICRO_BY_CL */
	MICRO_SHRD,
	MICRO_MULTIPLY,
	MICRO_MULTIPLY_WIDE, /* rdx:rax = rax * b */
	MICRO_MULTIPLY_WIDE_SIGNED,
	MICRO_DIVIDE, /* rdx:rax by b */
	MICRO_DIVIDE_SIGNED,
	MICRO_BIT_TEST, /* bit b of a */
	MICRO_BIT_SET,
	MICRO_BIT_RESET,
	MICRO_BIT_FLIP,
	MICRO_SCAN_FORWARD, /* bsf */
	MICRO_SCAN_REVERSE, /* bsr */
	MICRO_COUNT_TRAILING,
	MICRO_COUNT_LEADING,
	MICRO_COUNT_ONES,
	MICRO_LOWEST_RESET,   /* blsr */
	MICRO_LOWEST_ISOLATE, /* blsi */
	MICRO_LOWEST_MASK,    /* blsmsk */
	MICRO_ZERO_HIGH,      /* bzhi */
	MICRO_SWAP_BYTES,
	MICRO_SIGN_TO_DX, /* cwd, cdq, cqo */
	MICRO_SET,	  /* imm: condition */
	MICRO_MOVE_IF,	  /* imm: condition */
	MICRO_EXCHANGE,
	MICRO_EXCHANGE_ADD,
	MICRO_COMPARE_EXCHANGE,
	MICRO_CARRY, /* b: 0 clear, 1 set, 2 complement */
	/* Vectors and masks. The source width is that of an element. */
	MICRO_V_FIRST,
	MICRO_V_MOVE = MICRO_V_FIRST, /* b; upper bytes become zero */
	MICRO_V_STORE,		      /* b to memory */
	MICRO_V_FROM_GPR,
	MICRO_V_TO_GPR, /* b */
	MICRO_V_ZERO_UPPER,
	MICRO_V_AND,
	MICRO_V_ANDN,
	MICRO_V_OR,
	MICRO_V_XOR,
	MICRO_V_TERNARY, /* of dst, a and b; imm: the truth table */
	MICRO_V_EQUAL,
	MICRO_V_GREATER, /* signed */
	MICRO_V_MIN,	 /* unsigned */
	MICRO_V_SUB,
	MICRO_V_BROADCAST,
	MICRO_V_BROADCAST_GPR,
	MICRO_V_PAIR,	   /* dst's two words; imm: two bits each: 0 and 1 of a, 2 and 3 of b */
	MICRO_V_MASK,	   /* pmovmskb */
	MICRO_V_TEST,	   /* ptest */
	MICRO_V_COMPARE,   /* into a mask; imm: predicate, perhaps | MICRO_SIGNED */
	MICRO_V_TEST_MASK, /* into a mask; imm 1: vptestnm */
	MICRO_V_COMPARE_SCALAR, /* ucomis */
	MICRO_K_FROM_GPR,
	MICRO_K_TO_GPR,
	MICRO_K_OR_TEST,
	MICRO_K_BINARY, /* imm: enum micro_mask */
	MICRO_OPS,
};

enum micro_mask {
	MICRO_K_AND,
	MICRO_K_OR,
	MICRO_K_XOR,
	MICRO_K_ANDN,
	MICRO_K_XNOR,
	MICRO_K_NOT,
	MICRO_K_MOVE,
	MICRO_K_UNPACK
};

#define MICRO_BY_CL  0x80 /* instead of a count */
#define MICRO_SIGNED 8	  /* beside a predicate */

/* Elements that the mask does not select become zero; without this they stay. */
#define MICRO_ZEROING 0x80

#define MICRO_CLOBBER_REGISTERS 0xffff
#define MICRO_CLOBBER_FLAGS	0x10000
#define MICRO_CLOBBER_MASKS	24 /* the first of eight bits */

/* Flags that say what the operands are. */
#define MICRO_A_MEMORY	 0x01
#define MICRO_B_MEMORY	 0x02
#define MICRO_B_IMM	 0x04
#define MICRO_TO_MEMORY	 0x08
#define MICRO_TO_NOWHERE 0x10	    /* no destination: only sets flags */
#define MICRO_FS	 0x20	    /* the memory operand is relative to the thread pointer */
#define MICRO_HIGH	 0x40	    /* registers MICRO_HIGH_BYTE and on are used */
#define MICRO_WIDE_IMM	 0x80	    /* disp has the immediate's high half */
#define MICRO_KEEP_UPPER MICRO_HIGH /* of a vector operation: only the low 16 bytes are written */

/* Registers 0-15 are the general registers in x86's order. */
#define MICRO_NO_REGISTER 16 /* always 0 */
#define MICRO_RIP	  17 /* the next instruction */
#define MICRO_HIGH_BYTE	  20 /* ah, ch, dh, bh */
#define MICRO_REGISTERS	  32

/* Takes 16 bytes. Widths are log2 of bytes: 0 is 1 byte, 3 is 8 bytes, at most 6. */
struct wire_micro {
	wire_u8 op;
	wire_u8 length; /* bits 0-3: bytes of the instruction; 4-6: its mask register; 7:
			   MICRO_ZEROING */
	wire_u8 widths; /* bits 0-3: width; 4-7: source width, or element of a vector */
	wire_u8 mode;
	/* From bit 0: dst, a, b, base and index, 5 bits each; then scale, 2 bits. */
	wire_u32 registers;
	wire_u32 disp; /* sign-extended; or the high half of a wide immediate */
	wire_u32 imm;  /* sign-extended */
};

#endif
