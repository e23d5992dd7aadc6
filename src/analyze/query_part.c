/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query.h"
#include "util/num.h"
#include "util/search.h"

/* Samples by where they were taken. */

const struct query_part *query_find_part(const struct query *q, const struct query_image *image)
{
	for (size_t i = 0; i < q->part_count; i++)
		if (q->parts[i].selected && &q->images[q->parts[i].image] == image)
			return &q->parts[i];
	return NULL;
}

size_t query_part_seek(const struct query_part *p, uint64_t offset)
{
	return SEARCH_FIRST(p ? p->row_count : 0, i, p->rows[i].offset >= offset);
}

void query_part_count(const struct query_part *p, uint64_t start, uint64_t end, uint64_t *counts)
{
	for (size_t i = query_part_seek(p, start); p && i < p->row_count && p->rows[i].offset < end;
	     i++)
		counts[p->rows[i].event] = num_add_sat(counts[p->rows[i].event], p->rows[i].count);
}
