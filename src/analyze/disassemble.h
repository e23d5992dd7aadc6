/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_DISASSEMBLE_H
#define CULPRIT_ANALYZE_DISASSEMBLE_H

#include "image/symbols.h"
#include "isa/decode.h"
#include "util/arena.h"

/*
 * The text of an instruction as disassemblers have it: with the function that a branch goes to or
 * that has the data, " <name+0x10>". symbols may be NULL. Of the arena; NULL when that is full.
 */
const char *disassemble(struct arena *memory, const struct isa_decoder *d,
			const struct image_symbols *symbols, const uint8_t *code,
			const struct isa_instruction *in);

#endif
