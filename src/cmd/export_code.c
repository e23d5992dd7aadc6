/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/open.h"
#include "cmd/export.h"
#include "exchange/counted.h"
#include "util/text.h"

/* culprit export: counts of one image's blocks and edges, for optimisers. */

struct export
{
	struct insights_session *session;
	const char *const *files;
	const struct query_part *part; /* of the image */
	struct cfg_image *graphs;      /* when nothing tells time */
	struct counted_set *counts;
};

static uint64_t count_samples(const struct query_part *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->row_count; i++)
		sum += p->rows[i].event ? 0 : p->rows[i].count;
	return sum;
}

static int choose_image(struct export *e, struct diag *diag)
{
	uint64_t most = 0;

	for (size_t i = 0; i < e->session->query->part_count; i++) {
		const struct query_part *p = &e->session->query->parts[i];
		const struct query_image *image = &e->session->query->images[p->image];
		uint64_t samples = count_samples(p);

		if (!p->selected || image->id.kind != IMAGE_BUILD_ID)
			continue;
		if (samples > most) {
			most = samples;
			e->part = p;
		}
	}
	if (!e->part)
		return diag_fail(diag, ENOENT,
				 "no program or library in this selection has samples");
	return 0;
}

/* Of an event that does not tell time: where it happened is all that is known. */
static int count_roughly(struct export *e, const struct query_image *image, struct diag *diag)
{
	struct counted_sample *rows;
	size_t count = 0;
	int r = cfg_image_open(e->session->finder, &image->id, image->path, &e->graphs, diag);

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

static int count_image(struct export *e, struct diag *diag)
{
	const struct query_image *image = &e->session->query->images[e->part->image];
	const struct frequency_function *list = NULL;
	size_t count = 0;
	int r = 0;

	if (e->session->all)
		list = insights_frequencies(e->session->all, image, &count);
	if (!list)
		r = count_roughly(e, image, diag);
	else if (counted_new(list, count, &e->counts))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (r)
		return r;
	e->counts->image.path = image->path;
	image_find_symbols(e->session->finder, &image->id, image->path, &e->counts->image.symbols,
			   NULL);
	return 0;
}

static int put_fdata(const struct export *e, struct buf *b, struct diag *diag)
{
	if (!e->counts->image.symbols)
		return diag_fail(diag, ENOENT, "%s has no symbols: use --bolt-preaggregated",
				 e->counts->image.path);
	bolt_write_fdata(&e->counts->image, b);
	return 0;
}

static int put_preaggregated(const struct export *e, struct buf *b, struct diag *diag)
{
	(void)diag;
	bolt_write_preaggregated(&e->counts->image, b);
	return 0;
}

static int put_autofdo(const struct export *e, struct buf *b, struct diag *diag)
{
	const struct query_image *image = &e->session->query->images[e->part->image];
	struct image_lines *lines = NULL;
	uint64_t *addresses = NULL;
	struct diag why = {""};
	size_t count;
	int r = autofdo_addresses(&e->counts->image, &addresses, &count);

	if (r)
		return diag_fail(diag, ENOMEM, "out of memory");
	r = image_find_lines(e->session->finder, &image->id, image->path, addresses, count, &lines,
			     &why);
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

static int put_counts(const struct export *e, struct buf *b, struct diag *diag)
{
	(void)diag;
	counts_write(&e->counts->image, b);
	return 0;
}

static int write_all(const struct export *e, struct diag *diag)
{
	static int (*const writers[EXPORT_CODES])(const struct export *, struct buf *,
						  struct diag *) = {
		[EXPORT_FDATA] = put_fdata,
		[EXPORT_PREAGGREGATED] = put_preaggregated,
		[EXPORT_AUTOFDO] = put_autofdo,
		[EXPORT_COUNTS] = put_counts,
	};
	int r = 0;

	for (size_t i = 0; i < EXPORT_CODES && !r; i++) {
		struct buf b;

		if (!e->files[i])
			continue;
		buf_init(&b, EXPORT_MAX_BYTES);
		r = writers[i](e, &b, diag);
		if (!r)
			r = export_save(&b, e->files[i], diag);
		buf_free(&b);
	}
	return r;
}

static void describe(const struct export *e)
{
	const struct query_image *image = &e->session->query->images[e->part->image];
	uint64_t edges = e->session->all ? insights_basis(e->session->all)->edges : 0;
	char path[512];

	text_escape(path, sizeof(path), image->path, image->path_size);
	fprintf(stderr,
		"culprit: %s: %zu functions; counts from %llu samples and %llu branch outcomes of "
		"the "
		"selection\n",
		path, e->counts->image.function_count, (unsigned long long)count_samples(e->part),
		(unsigned long long)edges);
}

int export_code(struct insights_session *session, const char *const files[EXPORT_CODES],
		struct diag *diag)
{
	struct export e = {.session = session, .files = files};
	int r = insights_open(session, diag);

	if (r && r != -ENODATA)
		return r;
	r = choose_image(&e, diag);
	if (!r)
		r = count_image(&e, diag);
	if (!r)
		r = write_all(&e, diag);
	if (!r)
		describe(&e);
	report_tell_finder(session->finder);
	counted_free(e.counts);
	cfg_image_free(e.graphs);
	return r;
}
