/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ISA_DECODE_H
#define CULPRIT_ISA_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/*
 * Machine instructions of any architecture behind one interface: how long, where control goes, and
 * the text. x86-64 and x86-32 by Zydis. Nothing here is particular to x86: an architecture is one
 * file with a table of two functions (decode_table.h).
 */
struct isa_decoder;

enum isa_syntax { ISA_SYNTAX_ATT, ISA_SYNTAX_INTEL }; /* ignored where there is but one */

enum isa_branch {
	ISA_BRANCH_NONE,
	ISA_BRANCH_JUMP,	/* never goes on to the next instruction */
	ISA_BRANCH_CONDITIONAL, /* jumps or goes on */
	ISA_BRANCH_CALL,
	ISA_BRANCH_RETURN,
	ISA_BRANCH_SYSTEM, /* into the kernel and back: syscall, int, hypercalls */
	ISA_BRANCH_STOP,   /* goes nowhere, and in programs never on: ud2, hlt */
};

#define ISA_NO_ADDRESS UINT64_MAX

struct isa_instruction {
	uint64_t address;
	uint8_t size;
	bool valid;	  /* false: these bytes are not an instruction; size is what to pass over */
	uint8_t unmasks;  /* an interrupt that had to wait is taken so many instructions later: 1
			     after popf, 2 after sti; 0: it lets none in */
	uint8_t relative; /* where in it the 32 bits are that are an operand's address relative to
			     the next instruction; 0: none. Of branches, target tells */
	enum isa_branch branch;
	uint64_t target; /* of a direct jump or call; else ISA_NO_ADDRESS */
	uint64_t data;	 /* a memory operand's address that the code fixes, else the same */
};

/* bits: 32 or 64. -EOPNOTSUPP, with the machine's number (ELF's EM_...) in diag. */
int isa_decoder_new(uint16_t elf_machine, unsigned bits, enum isa_syntax syntax,
		    struct isa_decoder **ret, struct diag *diag);
void isa_decoder_free(struct isa_decoder *d);

/* The longest text, with its terminator. */
#define ISA_TEXT_MAX 256

/*
 * Another writer of AT&T's syntax than the decoder's own. write: the text of the instruction that
 * is all of code, false where it does not know it and the decoder's own stands. free: of state,
 * called with the decoder's end.
 */
struct isa_writer {
	bool (*write)(void *state, const uint8_t *code, size_t size, uint64_t address,
		      char out[ISA_TEXT_MAX]);
	void (*free)(void *state);
	void *state;
};

/* Takes w's state over. One decoder is then one thread's. */
void isa_decoder_set_writer(struct isa_decoder *d, const struct isa_writer *w);

/*
 * Decodes the instruction at the start of code, which runs at address. Always makes progress:
 * bytes that are not an instruction, or the start of one that ends past size, give valid == false
 * and a size of at least 1 and at most size. size must not be 0.
 */
void isa_decode(const struct isa_decoder *d, const uint8_t *code, size_t size, uint64_t address,
		struct isa_instruction *ret);

/*
 * The text of an instruction that isa_decode gave for this code; "(bad)" for an invalid one. Branch
 * targets are absolute.
 */
void isa_format(const struct isa_decoder *d, const uint8_t *code, const struct isa_instruction *in,
		char out[ISA_TEXT_MAX]);

#endif
