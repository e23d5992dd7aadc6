/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/disassemble.h"

#include <stdio.h>
#include <string.h>

static const char *with_target(struct arena *memory, const struct image_symbols *symbols,
			       const char *text, uint64_t address)
{
	const struct image_function *f = NULL;
	if (symbols && address != ISA_NO_ADDRESS)
		f = image_symbols_find(symbols, address);
	if (!f)
		return arena_strndup(memory, text, strlen(text));
	if (address == f->start)
		return arena_printf(memory, "%s <%s>", text, f->demangled);
	return arena_printf(memory, "%s <%s+0x%llx>", text, f->demangled,
			    (unsigned long long)(address - f->start));
}

const char *disassemble(struct arena *memory, const struct isa_decoder *d,
			const struct image_symbols *symbols, const uint8_t *code,
			const struct isa_instruction *in)
{
	char text[ISA_TEXT_MAX], noted[ISA_TEXT_MAX + 32];
	isa_format(d, code, in, text);
	if (in->target != ISA_NO_ADDRESS)
		return with_target(memory, symbols, text, in->target);
	if (in->data == ISA_NO_ADDRESS)
		return arena_strndup(memory, text, strlen(text));
	snprintf(noted, sizeof(noted), "%s # 0x%llx", text, (unsigned long long)in->data);
	return with_target(memory, symbols, noted, in->data);
}
