/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "isa/decode.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "isa/decode_table.h"

int isa_decoder_new(uint16_t elf_machine, unsigned bits, enum isa_syntax syntax,
		    struct isa_decoder **ret, struct diag *diag)
{
	struct isa_decoder *d = calloc(1, sizeof(*d));
	int r = -EOPNOTSUPP;

	if (!d)
		return diag_fail(diag, ENOMEM, "out of memory for a decoder");
	d->syntax = syntax;
	d->bits = bits;
	if (elf_machine == EM_X86_64 || elf_machine == EM_386)
		r = isa_x86_init(d);
	if (r < 0) {
		isa_decoder_free(d);
		return diag_fail(diag, -r,
				 "instructions of ELF machine %u (%u bits) cannot be decoded yet",
				 elf_machine, bits);
	}
	*ret = d;
	return 0;
}

void isa_decoder_free(struct isa_decoder *d)
{
	if (!d)
		return;
	if (d->writer.free)
		d->writer.free(d->writer.state);
	free(d->state);
	free(d);
}

void isa_decoder_set_writer(struct isa_decoder *d, const struct isa_writer *w)
{
	if (d->writer.free)
		d->writer.free(d->writer.state);
	d->writer = *w;
}

void isa_decode(const struct isa_decoder *d, const uint8_t *code, size_t size, uint64_t address,
		struct isa_instruction *ret)
{
	*ret = (struct isa_instruction){
		.address = address, .size = 1, .target = ISA_NO_ADDRESS, .data = ISA_NO_ADDRESS};
	ret->valid = d->table->decode(d, code, size, ret);
	if (!ret->valid)
		ret->size = d->table->unit < size ? d->table->unit : (uint8_t)size;
}

void isa_format(const struct isa_decoder *d, const uint8_t *code, const struct isa_instruction *in,
		char out[ISA_TEXT_MAX])
{
	const struct isa_writer *w = &d->writer;

	if (in->valid && d->syntax == ISA_SYNTAX_ATT && w->write &&
	    w->write(w->state, code, in->size, in->address, out))
		return;
	if (!in->valid || !d->table->format(d, code, in, out))
		strcpy(out, "(bad)");
}
