/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "machine/listing_decoder.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include "machine/llvm_load.h"

struct llvm_writer {
	const struct llvm_text_table *table;
	struct llvm_text *text;
};

static bool write_text(void *state, const uint8_t *code, size_t size, uint64_t address,
		       char out[ISA_TEXT_MAX])
{
	struct llvm_writer *w = state;

	return w->table->write(w->text, code, size, address, out, ISA_TEXT_MAX);
}

static void free_writer(void *state)
{
	struct llvm_writer *w = state;

	w->table->close(w->text);
	free(w);
}

/* Where LLVM cannot be had, the decoder's own text stands. */
static int add_llvm(struct isa_decoder *d, unsigned bits)
{
	struct llvm_module *module;

	if (llvm_module_load(&module, NULL))
		return 0;
	struct llvm_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->table = module->text;
	w->text = w->table->open(bits);
	if (w->text)
		isa_decoder_set_writer(d, &(struct isa_writer){write_text, free_writer, w});
	else
		free(w);
	return 0;
}

int machine_listing_decoder_new(uint16_t elf_machine, unsigned bits, enum isa_syntax syntax,
				struct isa_decoder **ret, struct diag *diag)
{
	struct isa_decoder *d;
	int r = isa_decoder_new(elf_machine, bits, syntax, &d, diag);

	if (r)
		return r;
	if (syntax == ISA_SYNTAX_ATT && (elf_machine == EM_X86_64 || elf_machine == EM_386))
		r = add_llvm(d, bits);
	if (r) {
		isa_decoder_free(d);
		return diag_fail(diag, -r, "out of memory for a decoder");
	}
	*ret = d;
	return 0;
}
