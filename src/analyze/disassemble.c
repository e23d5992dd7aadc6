/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/disassemble.h"

#include <stdio.h>
#include <string.h>

static const char *with_name(const struct disassembly *d, const char *text, uint64_t address)
{
	const struct image_function *f = image_find_name(d->finder, d->image, d->path, address);

	if (!f)
		return arena_strndup(d->memory, text, strlen(text));
	if (address == f->start)
		return arena_printf(d->memory, "%s <%s>", text, f->demangled);
	return arena_printf(d->memory, "%s <%s+0x%llx>", text, f->demangled,
			    (unsigned long long)(address - f->start));
}

const char *disassemble(const struct disassembly *d, const uint8_t *code,
			const struct isa_instruction *in)
{
	char text[ISA_TEXT_MAX], noted[ISA_TEXT_MAX + 32];

	isa_format(d->decoder, code, in, text);
	if (in->target != ISA_NO_ADDRESS)
		return with_name(d, text, in->target);
	if (in->data == ISA_NO_ADDRESS)
		return arena_strndup(d->memory, text, strlen(text));
	snprintf(noted, sizeof(noted), "%s # 0x%llx", text, (unsigned long long)in->data);
	return with_name(d, noted, in->data);
}
