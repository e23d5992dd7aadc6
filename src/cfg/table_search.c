/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/table_search.h"

#include <errno.h>
#include <stdlib.h>

/* How many instructions all searches in a function may examine: per instruction of it, and at
 * least. */
#define BUDGET_FACTOR 64
#define BUDGET_LEAST  200000
#define MEMO_PLACES   1024

bool table_decode(const struct table_search *t, uint32_t index, struct isa_instruction *ret,
		  struct isa_operands *ret_operands)
{
	const struct isa_instruction *in = &t->f->instructions[index];
	struct cfg_image *image = t->b->image;
	size_t size;
	const uint8_t *code = cfg_code_at(image, in->address, &size);

	return code && in->size <= size &&
	       isa_memo_operands(image->memo, image->decoder, code, in->size, in->address, ret,
				 ret_operands);
}

int table_search_start(struct table_search *t)
{
	const struct cfg_function *f = t->f;

	t->budget = BUDGET_LEAST + (size_t)f->instruction_count * BUDGET_FACTOR;
	t->writes = calloc(f->instruction_count + 1, sizeof(*t->writes));
	t->visited = calloc(f->block_count + 1, sizeof(*t->visited));
	t->work = calloc(f->block_count + 1, sizeof(*t->work));
	t->symbolic = malloc(sizeof(*t->symbolic));
	t->constant = calloc(f->block_count + 1, 16);
	t->constants = map64_new(SIZE_MAX);
	if (!t->b->image->memo) /* without memory for it: each is decoded again */
		t->b->image->memo = isa_memo_operands_new(MEMO_PLACES);
	if (!t->writes || !t->visited || !t->work || !t->symbolic || !t->constant || !t->constants)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->instruction_count; i++) {
		struct isa_instruction in;
		struct isa_operands o;

		if (!table_decode(t, i, &in, &o))
			continue;
		for (unsigned k = 0; k < o.count; k++)
			if (o.list[k].kind == ISA_OPERAND_REGISTER && o.list[k].reg < 16 &&
			    (o.list[k].access & ISA_ACCESS_WRITES))
				t->writes[i] |= (uint16_t)(1u << o.list[k].reg);
	}
	return 0;
}

void table_search_end(struct table_search *t)
{
	free(t->writes);
	free(t->entry_height);
	free(t->starts);
	free(t->constant);
	map64_free(t->constants);
	free(t->visited);
	free(t->work);
	free(t->symbolic);
}
