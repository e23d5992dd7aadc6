/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/unwind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "util/search.h"

void image_unwind_free(struct image_unwind *u)
{
	if (!u)
		return;
	free(u->memory);
	free(u);
}

static bool rule_makes_sense(const struct wire_unwind_rule *r)
{
	return r->cfa <= WIRE_CFA_THREAD && r->fp <= WIRE_LOCATION_REGISTER &&
	       r->ra <= WIRE_LOCATION_REGISTER && r->cfa_reg < WIRE_UNWIND_REGISTERS &&
	       r->fp_reg < WIRE_UNWIND_REGISTERS && r->ra_reg < WIRE_UNWIND_REGISTERS;
}

static bool table_makes_sense(const struct image_unwind *u)
{
	for (size_t i = 0; i < u->rule_count; i++)
		if (!rule_makes_sense(&u->rules[i]))
			return false;
	for (size_t i = 0; i < u->row_count; i++)
		if (u->rows[i].rule >= u->rule_count ||
		    (i && u->rows[i].offset <= u->rows[i - 1].offset))
			return false;
	return u->row_count > 0 && u->rules[u->rows[u->row_count - 1].rule].cfa == WIRE_CFA_NONE;
}

int image_unwind_take(void *memory, const void *description, size_t size, struct image_unwind **ret)
{
	struct cursor c = cursor_over(description, size);
	struct image_unwind *u = calloc(1, sizeof(*u));
	const void *head = cursor_bytes(&c, IMAGE_UNWIND_HEAD_BYTES);
	int r = u ? -EBADMSG : -ENOMEM;

	if (u && head)
		memcpy(u, head, IMAGE_UNWIND_HEAD_BYTES);
	if (u && head && u->rule_count <= cursor_left(&c) / sizeof(*u->rules)) {
		u->rules = (void *)cursor_bytes(&c, u->rule_count * sizeof(*u->rules));
		if (u->row_count <= cursor_left(&c) / sizeof(*u->rows))
			u->rows = (void *)cursor_bytes(&c, u->row_count * sizeof(*u->rows));
	}
	if (!u || !u->rows || !table_makes_sense(u)) {
		free(u);
		return r;
	}
	u->memory = memory;
	*ret = u;
	return 0;
}

int image_unwind_load(const void *description, size_t size, struct image_unwind **ret)
{
	void *copy = malloc(size + 1);
	int r = copy ? image_unwind_take(copy, memcpy(copy, description, size), size, ret)
		     : -ENOMEM;

	if (r)
		free(copy);
	return r;
}

int image_unwind_save(const struct image_unwind *u, struct buf *out)
{
	buf_append(out, u, IMAGE_UNWIND_HEAD_BYTES);
	buf_append(out, u->rules, u->rule_count * sizeof(*u->rules));
	buf_append(out, u->rows, u->row_count * sizeof(*u->rows));
	return out->error;
}

const struct wire_unwind_rule *image_unwind_find(const struct image_unwind *u, uint64_t address)
{
	size_t next = SEARCH_FIRST(u->row_count, i, u->rows[i].offset > address - u->base);
	const struct wire_unwind_rule *rule;

	if (address < u->base || !next)
		return NULL;
	rule = &u->rules[u->rows[next - 1].rule];
	return rule->cfa == WIRE_CFA_NONE ? NULL : rule;
}
