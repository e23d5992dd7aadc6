/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_DISASSEMBLE_H
#define CULPRIT_ANALYZE_DISASSEMBLE_H

#include "find/find.h"
#include "isa/decode.h"
#include "util/arena.h"

/* Which image, and what is needed to disassemble it. */
struct disassembly {
	struct arena *memory;
	const struct isa_decoder *decoder;
	struct image_finder *finder;
	const struct image_id *image;
	const char *path;
};

/*
 * The text of an instruction as disassemblers have it: with the name of what a branch goes to or of
 * the data, " <name+0x10>". In the arena; NULL when that is full.
 */
const char *disassemble(const struct disassembly *d, const uint8_t *code,
			const struct isa_instruction *in);

#endif
