/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/calc_form.h"

#include <errno.h>
#include <string.h>
#include "render/json.h"

static int begin(struct calc_form *c)
{
	if (!c->json) /* what goes with CSV goes beside it */
		return report_header_print(c->header, c->csv ? c->beside : c->out,
					   c->csv ? 0 : c->width);
	int r = report_json_print(report_json_header("calc", c->header), 1, c->out);
	if (!r)
		fputs(",\n\"functions\":[", c->out);
	return r;
}

int calc_form_function(struct calc_form *c, const struct insight *i)
{
	int r = c->functions == 0 ? begin(c) : 0;

	if (r)
		return r;
	if (c->json)
		fputs(c->functions ? ",\n" : "\n", c->out);
	c->functions++;
	c->part = query_find_part(c->query, i->image);
	if (!c->csv)
		return c->json ? calc_json_function(c, i) : calc_text_function(c, i);
	calc_csv_function(c, i);
	return 0;
}

bool calc_form_wants(double block_percent, const struct insight *i, const struct insight_block *b)
{
	return block_percent <= 0 || i->samples == 0 ||
	       (b->charged > 0 && 100 * b->charged >= block_percent * (double)i->samples);
}

bool calc_form_count(const struct calc_form *c, const struct insight *i, uint64_t start,
		     uint64_t end, uint64_t *counts)
{
	if (!c->metrics->metrics || !c->metrics->metrics->count)
		return false;
	memset(counts, 0, QUERY_EVENTS_MAX * sizeof(*counts));
	if (end)
		query_part_count(c->part, start, end, counts);
	else
		metrics_count_function(c->part, i->function, counts);
	return true;
}

int calc_form_end(struct calc_form *c)
{
	int r = c->functions == 0 ? begin(c) : 0;

	if (!r && c->json)
		fputs("\n]}\n", c->out);
	if (!r && c->csv)
		r = calc_csv_print(c->csv, c->header, c->out);
	return r == -EIO ? 0 : r; /* whoever flushes the output tells */
}
