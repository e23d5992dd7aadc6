/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/open.h"
#include "report/export/export.h"

/* Counts of one image's blocks and edges, for optimisers. */

static uint64_t count_samples(const struct query_part *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		sum += p->rows[i].event ? 0 : p->rows[i].count;
	return sum;
}

static int choose_image(struct export_code_report *e, const struct query *q, struct diag *diag)
{
	uint64_t most = 0;

	for (size_t i = 0; i < q->part_count; i++) {
		const struct query_part *p = &q->parts[i];
		const struct query_image *image = &q->images[p->image];
		uint64_t samples = count_samples(p);

		if (!p->selected || image->id.kind != IMAGE_BUILD_ID)
			continue;
		if (samples > most) {
			most = samples;
			e->part = p;
			e->image = image;
		}
	}
	if (!e->part)
		return diag_fail(diag, ENOENT,
				 "no program or library in this selection has samples");
	return 0;
}

/* Of an event that does not tell time: where it happened is all that is known. */
static int count_roughly(struct export_code_report *e, struct image_finder *finder,
			 struct diag *diag)
{
	struct counted_sample *rows;
	size_t count = 0;
	int r = cfg_image_open(finder, &e->image->id, e->image->path, &e->graphs, diag);

	if (r)
		return r;
	rows = calloc(e->part->row_count + 1, sizeof(*rows));
	for (size_t i = 0; i < e->part->row_count && rows; i++) {
		const struct query_row *row = &e->part->rows[i];

		if (!row->event)
			rows[count++] = (struct counted_sample){row->offset, row->count};
	}
	r = rows ? counted_new_rough(e->graphs, rows, count, &e->counts) : -ENOMEM;
	free(rows);
	return r ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

static int count_image(struct export_code_report *e, struct image_finder *finder, struct diag *diag)
{
	const struct query_image *image = e->image;
	const struct frequency_function *list = NULL;
	size_t count = 0;
	int r = 0;

	if (e->estimates.all)
		list = insights_frequencies(e->estimates.all, image, &count);
	if (!list)
		r = count_roughly(e, finder, diag);
	else if (counted_new(list, count, &e->counts))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (r)
		return r;
	e->counts->image.path = image->path;
	image_find_symbols(finder, &image->id, image->path, &e->counts->image.symbols, NULL);
	return 0;
}

static int put_fdata(const struct export_code_report *e, struct buf *b, struct diag *diag)
{
	if (!e->counts->image.symbols)
		return diag_fail(diag, ENOENT, "%s has no symbols: use --bolt-preaggregated",
				 e->counts->image.path);
	bolt_write_fdata(&e->counts->image, b);
	return 0;
}

static int put_preaggregated(const struct export_code_report *e, struct buf *b, struct diag *diag)
{
	(void)diag;
	bolt_write_preaggregated(&e->counts->image, b);
	return 0;
}

static int put_autofdo(const struct export_code_report *e, struct buf *b, struct diag *diag)
{
	const struct query_image *image = e->image;
	struct image_lines *lines = NULL;
	uint64_t *addresses = NULL;
	struct diag why = {""};
	size_t count;
	int r = autofdo_addresses(&e->counts->image, &addresses, &count);

	if (r)
		return diag_fail(diag, ENOMEM, "out of memory");
	r = image_find_lines(e->estimates.session->finder, &image->id, image->path, addresses,
			     count, &lines, &why);
	if (r)
		diag_fail(diag, -r, "no lines of %s: %s", image->path, why.text);
	else
		b->error = autofdo_write(&e->counts->image, lines, b);
	if (!r && !b->error && !b->size)
		r = diag_fail(diag, ENOENT,
			      "no sampled function of %s has line numbers (compile with -g)",
			      image->path);
	image_lines_free(lines);
	free(addresses);
	return r;
}

static int put_block_counts(const struct export_code_report *e, struct buf *b, struct diag *diag)
{
	(void)diag;
	block_counts_write(&e->counts->image, b);
	return 0;
}

int export_code_write(const struct export_code_report *r, enum export_code form, struct buf *to,
		      struct diag *diag)
{
	static int (*const writers[EXPORT_CODES])(const struct export_code_report *, struct buf *,
						  struct diag *) = {
		[EXPORT_FDATA] = put_fdata,
		[EXPORT_PREAGGREGATED] = put_preaggregated,
		[EXPORT_AUTOFDO] = put_autofdo,
		[EXPORT_BLOCK_COUNTS] = put_block_counts,
	};

	return writers[form](r, to, diag);
}

int export_code_make(struct report_session *s, const struct estimates_options *o,
		     struct export_code_report *ret, struct diag *diag)
{
	*ret = (struct export_code_report){0};
	int r = estimates_read(&ret->estimates, s, o, diag);
	if (r && r != -ENODATA)
		return r;
	r = choose_image(ret, s->query, diag);
	if (!r)
		r = count_image(ret, s->finder, diag);
	if (r)
		return r;
	ret->samples = count_samples(ret->part);
	if (ret->estimates.all) {
		const struct insights_basis *b = insights_basis(ret->estimates.all);

		ret->edges = b->edges + b->records;
		ret->functions_counted = b->functions_counted;
	}
	return 0;
}

void export_code_free(struct export_code_report *r)
{
	counted_free(r->counts);
	cfg_image_free(r->graphs);
	estimates_free(&r->estimates);
}
