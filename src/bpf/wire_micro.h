/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_MICRO_H
#define CULPRIT_BPF_WIRE_MICRO_H

/*
 * The micro-operation: one instruction of x86-64 in a fixed form, made by isa/micro.c and executed
 * by interpret.h. It does not depend on where the code is mapped.
 *
 * Most have the form dst = a OP b. Each is a register; or a or b, and dst, are the memory operand
 * base + index << scale + disp; or b is the immediate.
 */
#include "wire.h"

enum wire_micro_op {
	MICRO_STOP, /* imm: enum wire_end */
	MICRO_NOP,
	MICRO_CLOBBER, /* see below */
	/* Transfers of control. Direct ones: imm from the next instruction. */
	MICRO_JUMP,
	MICRO_CALL,
	MICRO_BRANCH,	   /* a: condition, as in the opcode */
	MICRO_BRANCH_RCXZ, /* if rcx is zero, of width */
	MICRO_JUMP_TO,	   /* b */
	MICRO_CALL_TO,	   /* b */
	MICRO_RETURN,	   /* imm: bytes to drop besides the address */
	/* Values. */
	MICRO_MOVE, /* b of source width, extended by zeros */
	MICRO_MOVE_SIGNED,
	MICRO_ADDRESS, /* the memory operand's address */
	MICRO_ADD,
	MICRO_ADC,
	MICRO_SUB,
	MICRO_SBB,
	MICRO_AND,
	MICRO_OR,
	MICRO_XOR,
	MICRO_ANDN,
	MICRO_INC,
	MICRO_DEC,
	MICRO_NEG,
	MICRO_NOT,
	MICRO_SHL,
	MICRO_SHR,
	MICRO_SAR,
	MICRO_ROL,
	MICRO_ROR,
	MICRO_SHLX, /* these three: without flags */
	MICRO_SHRX,
	MICRO_SARX,
	MICRO_RORX,
	MICRO_SHLD, /* imm: the count; or by cl */
	MICRO_SHRD,
	MICRO_MULTIPLY,	     /* dst = a * b */
	MICRO_MULTIPLY_WIDE, /* rdx:rax = rax * b, of unsigned */
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
	MICRO_PUSH,
	MICRO_POP,
	MICRO_LEAVE,
	MICRO_CARRY, /* imm: 0 clear, 1 set, 2 complement */
	MICRO_FILL,  /* rep stos */
	MICRO_COPY,  /* rep movs */
	/* Vectors and masks. */
	MICRO_V_FIRST,
	MICRO_V_LOAD = MICRO_V_FIRST, /* dst = memory of width, the rest zero */
	MICRO_V_STORE,
	MICRO_V_MOVE,
	MICRO_V_FROM_GPR, /* movd, movq */
	MICRO_V_TO_GPR,
	MICRO_V_ZERO,
	MICRO_V_ONES,
	MICRO_V_AND,
	MICRO_V_ANDN,
	MICRO_V_OR,
	MICRO_V_XOR,
	MICRO_V_EQUAL, /* by elements of 1 << element bytes, as a vector */
	MICRO_V_GREATER,
	MICRO_V_MIN_UNSIGNED,
	MICRO_V_SUB_BYTES,
	MICRO_V_BROADCAST, /* element 0 of a vector, or memory */
	MICRO_V_BROADCAST_GPR,
	MICRO_V_MASK,		/* pmovmskb */
	MICRO_V_TEST,		/* ptest */
	MICRO_V_COMPARE,	/* to a mask; imm: predicate */
	MICRO_V_TEST_MASK,	/* vptestm; imm 1: vptestnm */
	MICRO_V_COMPARE_SCALAR, /* ucomis */
	MICRO_K_FROM,
	MICRO_K_TO,
	MICRO_K_OR_TEST,
	MICRO_K_BINARY,
	MICRO_OPS,
};

/* Modes. */
#define MICRO_A_MEMORY	 0x01
#define MICRO_B_MEMORY	 0x02
#define MICRO_B_IMM	 0x04
#define MICRO_TO_MEMORY	 0x08
#define MICRO_TO_NOWHERE 0x10 /* for its flags only */
#define MICRO_FS	 0x20 /* the memory operand is relative to the thread pointer */
#define MICRO_HIGH	 0x40 /* of registers MICRO_HIGH_BYTE and on */
#define MICRO_WIDE_IMM	 0x80 /* disp has the immediate's high half */

/* Registers 0-15 as x86 numbers them. */
#define MICRO_NO_REGISTER 16 /* always 0 */
#define MICRO_RIP	  17 /* the next instruction */
#define MICRO_HIGH_BYTE	  20 /* ah, ch, dh, bh */
#define MICRO_REGISTERS	  32

/* 16 bytes. Widths are powers of two: 0 a byte, 3 eight, up to 6. */
struct wire_micro {
	wire_u8 op;
	wire_u8 length; /* bits 0-3: bytes of the instruction; 4-6: vector mask register */
	wire_u8 widths; /* bits 0-3: width; 4-7: source width, or element of a vector */
	wire_u8 mode;
	/* Five bits each, from bit 0: dst, a, b, base, index; then two of scale. */
	wire_u32 registers;
	wire_u32 disp; /* sign-extended; the high half of a wide immediate */
	wire_u32 imm;  /* sign-extended */
};

#endif
