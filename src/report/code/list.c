/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/list.h"

#include <errno.h>
#include <stdlib.h>
#include "report/code/list_table.h"
#include "report/describe.h"
#include "report/estimates.h"
#include "util/text.h"

/* The samples of the function's range, as the listing wants them: by offset, all events at once. */
static int collect_samples(const struct query *q, const struct function_hit *hit,
			   struct list_report *l, struct listing_request *ret)
{
	const struct query_part *part = NULL;
	uint64_t *offsets = NULL, *counts = NULL;
	size_t rows = 0, first = 0, n = 0;

	for (size_t i = 0; i < q->part_count; i++)
		if (q->parts[i].selected && &q->images[q->parts[i].image] == hit->image)
			part = &q->parts[i];
	if (!part)
		return 0;
	while (first < part->row_count && part->rows[first].offset < hit->start)
		first++;
	while (first + rows < part->row_count &&
	       part->rows[first + rows].offset - hit->start < hit->size)
		rows++;
	offsets = calloc(rows + 1, sizeof(*offsets));
	counts = calloc((rows + 1) * (q->event_count + 1), sizeof(*counts));
	if (!offsets || !counts) {
		free(offsets);
		free(counts);
		return -ENOMEM;
	}
	for (size_t i = first; i < first + rows; i++) {
		const struct query_row *row = &part->rows[i];

		if (n == 0 || offsets[n - 1] != row->offset)
			offsets[n++] = row->offset;
		counts[(n - 1) * q->event_count + row->event] += row->count;
	}
	ret->offsets = l->offsets = offsets;
	ret->counts = l->counts = counts;
	ret->offset_count = n;
	return 0;
}

static void describe_function(const struct query *q, const struct function_hit *hit,
			      const struct listing *listing, struct report_header *h)
{
	char id[IMAGE_ID_TEXT_MAX], path[512];
	const char *note;

	image_id_format(&hit->image->id, id);
	text_escape(path, sizeof(path), hit->image->path, hit->image->path_size);
	report_header_note(h, "%s in %s (%s), 0x%llx to 0x%llx: %llu %s of %s",
			   hit->demangled ? hit->demangled : "no function is known there", path, id,
			   (unsigned long long)hit->start,
			   (unsigned long long)(hit->start + hit->size),
			   TEXT_COUNT(hit->counts[0], "sample", "samples"),
			   q->event_count ? q->events[0].label : "nothing");
	for (size_t i = 0; (note = listing_note(listing, i)); i++)
		report_header_note(h, "%s", note);
}

static void describe_insight(const struct insight *i, bool edges, struct report_header *h)
{
	enum frequency_confidence least = FREQUENCY_HIGH, most = FREQUENCY_LOW;
	bool any = false;

	if (i && i->counted) {
		report_header_note(h, "executions are counted; CPI: (90%%), where nine of ten true "
				      "values are, by the noise of the samples");
		return;
	}
	for (size_t b = 0; i && b < i->block_count; b++) {
		const struct frequency_estimate *count = &i->blocks[b].count;

		if (count->value <= 0)
			continue;
		any = true;
		least = count->confidence < least ? count->confidence : least;
		most = count->confidence > most ? count->confidence : most;
	}
	if (any)
		report_header_note(
			h,
			"executions and CPI are estimates, their confidence %s%s%s; (90%%): "
			"where nine of ten true values are%s",
			estimates_confidence(least), least < most ? " to " : "",
			least < most ? estimates_confidence(most) : "",
			edges ? ""
			      : "; no edges were recorded, which narrow these ranges: "
				"`culprit record --edges`");
}

static int tabulate(const struct report_session *s, const struct list_options *o,
		    struct list_report *l, struct report_header *h, struct diag *diag)
{
	const struct function_hit *hit = l->pick.hit;
	struct list_table made = {s->query,	      hit, l->listing, l->insight,
				  s->options->format, {0}, &l->hot};
	int r = metrics_bind(&o->metrics, s->query, hit->counts, &made.metrics, diag);

	if (r)
		return r;
	report_describe(h, s);
	describe_function(s->query, hit, l->listing, h);
	describe_insight(l->insight, l->all && insights_have_edges(l->all), h);
	r = list_table_make(&made, &l->table);
	list_hot_describe(&l->hot, h);
	metrics_describe(&made.metrics, "the function", h);
	return r ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

/* Executions and cycles. A listing stands without them: no time was sampled, no code is at hand. */
static int find_insight(const struct report_session *s, const struct list_options *o,
			struct list_report *l)
{
	struct insights_request request = {.query = s->query,
					   .reader = s->reader,
					   .finder = s->finder,
					   .method = FREQUENCY_FLOW};

	if (o->no_cpi || o->form == LISTING_BY_LINE)
		return 0;
	int r = insights_new(&request, &l->all, NULL);
	if (!r)
		r = insight_new(l->all, l->pick.hit->image, l->pick.hit->start, &l->insight, NULL);
	return r == -ENOMEM ? r : 0;
}

static int list_function(const struct report_session *s, const struct list_options *o,
			 struct list_report *l, struct diag *diag)
{
	const struct function_hit *hit = l->pick.hit;
	struct listing_request request = {
		.finder = s->finder,
		.image = &hit->image->id,
		.image_path = hit->image->path,
		.start = hit->start,
		.size = hit->size,
		.event_count = s->query->event_count,
		.form = o->form,
		.syntax = o->syntax,
		.sampled_ns = report_sampled_ns(s->reader),
	};
	int r = collect_samples(s->query, hit, l, &request);

	if (!r)
		r = find_insight(s, o, l);
	if (r)
		return diag_fail(diag, ENOMEM, "out of memory");
	return listing_new(&request, &l->listing, diag);
}

int list_make(struct report_session *s, const struct list_options *o, struct list_report *ret,
	      struct report_header *h, struct diag *diag)
{
	*ret = (struct list_report){.hot.min_percent = o->min_percent};
	int r = pick_function(s, o->what, &ret->pick, diag);
	if (!r)
		r = list_function(s, o, ret, diag);
	return r ? r : tabulate(s, o, ret, h, diag);
}

void list_free(struct list_report *r)
{
	table_free(r->table);
	insight_free(r->insight);
	insights_free(r->all);
	listing_free(r->listing);
	list_hot_free(&r->hot);
	free(r->offsets);
	free(r->counts);
	pick_free(&r->pick);
}
