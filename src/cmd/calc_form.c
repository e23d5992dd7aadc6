/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/calc_form.h"

#include <errno.h>
#include "report/json.h"

static int begin(struct calc_form *c)
{
	if (!c->json) /* what goes with CSV goes beside it */
		return report_header_print(c->header, c->csv ? stderr : c->out);
	int err = report_json_print(report_json_header("calc", c->header), 1, c->out);
	if (!err)
		fputs(",\n\"functions\":[", c->out);
	return err;
}

int calc_form_function(struct calc_form *c, const struct insight *i)
{
	int err = c->functions == 0 ? begin(c) : 0;
	if (err)
		return err;
	if (c->json)
		fputs(c->functions ? ",\n" : "\n", c->out);
	c->functions++;
	if (c->csv)
		return calc_csv_function(c, i);
	return c->json ? calc_json_function(c, i) : calc_text_function(c, i);
}

bool calc_form_wants(const struct calc_form *c, const struct insight *i,
		     const struct insight_block *b)
{
	return c->block_percent <= 0 ||
	       (b->charged > 0 && 100 * b->charged >= c->block_percent * (double)i->samples);
}

int calc_form_end(struct calc_form *c)
{
	int err = c->functions == 0 ? begin(c) : 0;
	if (!err && c->json)
		fputs("\n]}\n", c->out);
	if (!err && c->csv)
		err = calc_csv_print(c->csv, c->header, c->out);
	return err == -EIO ? 0 : err; /* whoever flushes the output tells */
}
