/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/unwind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "image/unwind_wire.h"

void image_unwind_free(struct image_unwind *u)
{
	if (!u)
		return;
	free(u->rows);
	free(u->rules);
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

static void *take_list(struct cursor *c, uint64_t count, size_t each)
{
	const void *from;
	void *list;

	if (count > cursor_left(c) / each)
		return NULL;
	from = cursor_bytes(c, count * each);
	list = malloc(count * each + 1);
	if (list && count)
		memcpy(list, from, count * each);
	return list;
}

int image_unwind_load(const void *description, size_t size, struct image_unwind **ret)
{
	struct cursor c = cursor_over(description, size);
	struct unwind_wire head;
	struct image_unwind *u;
	const void *from = cursor_bytes(&c, sizeof(head));

	if (!from)
		return -EBADMSG;
	memcpy(&head, from, sizeof(head));
	if (head.row_count > cursor_left(&c) / sizeof(*u->rows) ||
	    head.rule_count > cursor_left(&c) / sizeof(*u->rules))
		return -EBADMSG;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	*u = (struct image_unwind){
		.base = head.base,
		.row_count = head.row_count,
		.rule_count = head.rule_count,
		.refused = head.refused,
		.overlaps = head.overlaps,
		.damaged = head.damaged,
		.derived = head.derived,
		.derived_bytes = head.derived_bytes,
		.skipped_bytes = head.skipped_bytes,
	};
	u->rules = take_list(&c, head.rule_count, sizeof(*u->rules));
	u->rows = take_list(&c, head.row_count, sizeof(*u->rows));
	if (!u->rules || !u->rows || !table_makes_sense(u)) {
		image_unwind_free(u);
		return -EBADMSG;
	}
	*ret = u;
	return 0;
}

int image_unwind_save(const struct image_unwind *u, struct buf *out)
{
	struct unwind_wire head = {
		.base = u->base,
		.rule_count = u->rule_count,
		.row_count = u->row_count,
		.refused = u->refused,
		.overlaps = u->overlaps,
		.damaged = u->damaged,
		.derived = u->derived,
		.derived_bytes = u->derived_bytes,
		.skipped_bytes = u->skipped_bytes,
	};

	buf_append(out, &head, sizeof(head));
	buf_append(out, u->rules, u->rule_count * sizeof(*u->rules));
	buf_append(out, u->rows, u->row_count * sizeof(*u->rows));
	return out->error;
}

const struct wire_unwind_rule *image_unwind_find(const struct image_unwind *u, uint64_t address)
{
	size_t low = 0, high = u->row_count;
	const struct wire_unwind_rule *rule;

	if (address < u->base || address - u->base < u->rows[0].offset)
		return NULL;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (u->rows[middle].offset <= address - u->base)
			low = middle;
		else
			high = middle;
	}
	rule = &u->rules[u->rows[low].rule];
	return rule->cfa == WIRE_CFA_NONE ? NULL : rule;
}
