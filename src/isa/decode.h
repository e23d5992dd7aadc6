/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_DECODE_H
#define CULPRIT_ISA_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/*
 * Machine instructions of any architecture behind one interface: their length, where control goes
 * after them, and their text. Supported are x86-64 and x86-32, by Zydis. Nothing here is particular
 * to x86: an architecture is one file with a table of functions (decode_table.h).
 */
struct isa_decoder;

enum isa_syntax { ISA_SYNTAX_ATT, ISA_SYNTAX_INTEL }; /* ignored where there is only one */

enum isa_branch {
	ISA_BRANCH_NONE,
	ISA_BRANCH_JUMP,	/* never continues at the next instruction */
	ISA_BRANCH_CONDITIONAL, /* jumps, or continues at the next instruction */
	ISA_BRANCH_CALL,
	ISA_BRANCH_RETURN,
	ISA_BRANCH_SYSTEM, /* into the kernel and back: syscall, int, hypercalls */
	ISA_BRANCH_STOP,   /* no successor in user programs: ud2, hlt */
};

#define ISA_NO_ADDRESS UINT64_MAX

struct isa_instruction {
	uint64_t address;
	uint8_t size;
	bool valid;	  /* false: not an instruction; size is the number of bytes to skip */
	uint8_t unmasks;  /* 0, or the instruction enables interrupts, and a pending one is taken
			     that many instructions later: 1 after popf, 2 after sti */
	uint8_t relative; /* offset in it of the 32 bits that give a memory operand's address
			     relative to the next instruction; 0: none. For branches see target */
	enum isa_branch branch;
	uint64_t target; /* of a direct jump or call; else ISA_NO_ADDRESS */
	uint64_t data;	 /* a memory operand's address, if fixed; else ISA_NO_ADDRESS */
};

/* elf_machine is ELF's EM_... number; bits is 32 or 64. -EOPNOTSUPP for others, which diag names;
 * -ENOMEM. */
int isa_decoder_new(uint16_t elf_machine, unsigned bits, enum isa_syntax syntax,
		    struct isa_decoder **ret, struct diag *diag);
void isa_decoder_free(struct isa_decoder *d);

/* Size of the longest text, including the terminator. */
#define ISA_TEXT_MAX 256

/*
 * Replaces the decoder's own writer of AT&T syntax. write makes the text of the one instruction in
 * code; if it returns false, it does not know the instruction and the decoder's own text is used.
 * free is called with state when the decoder is freed.
 */
struct isa_writer {
	bool (*write)(void *state, const uint8_t *code, size_t size, uint64_t address,
		      char out[ISA_TEXT_MAX]);
	void (*free)(void *state);
	void *state;
};

/* Takes over w's state. From then on the decoder may be used by one thread only. */
void isa_decoder_set_writer(struct isa_decoder *d, const struct isa_writer *w);

/*
 * Decodes the instruction at the start of code, which is executed at address. Always makes
 * progress: bytes that are not an instruction, or the start of one that ends beyond size, give
 * valid == false and a size from 1 to size. size must not be 0.
 */
void isa_decode(const struct isa_decoder *d, const uint8_t *code, size_t size, uint64_t address,
		struct isa_instruction *ret);

/*
 * Writes the text of an instruction that isa_decode gave for this code; "(bad)" for an invalid one.
 * Branch targets are absolute addresses.
 */
void isa_format(const struct isa_decoder *d, const uint8_t *code, const struct isa_instruction *in,
		char out[ISA_TEXT_MAX]);

#endif
