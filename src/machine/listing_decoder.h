/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_LISTING_DECODER_H
#define CULPRIT_MACHINE_LISTING_DECODER_H

#include "isa/decode.h"

/*
 * As isa_decoder_new, for text that people read: AT&T's syntax is written by LLVM, as its objdump
 * has it. Without LLVM's module, and for instructions that LLVM does not know, by Zydis, whose
 * names of instructions in that syntax differ from those of assemblers (jnle for jg).
 */
int machine_listing_decoder_new(uint16_t elf_machine, unsigned bits, enum isa_syntax syntax,
				struct isa_decoder **ret, struct diag *diag);

#endif
