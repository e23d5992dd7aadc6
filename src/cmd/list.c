/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/listing.h"
#include "cmd/list_file.h"
#include "cmd/insights.h"
#include "cmd/list_table.h"
#include "cmd/metrics.h"
#include "cmd/pick.h"
#include "cmd/cmd.h"
#include "util/text.h"

/* culprit list: one function's instructions and source lines with their samples. */

enum { LIST_INTEL = REPORT_OPTION_END, LIST_NO_CPI, LIST_FILE, LIST_MIN };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"asm", 'A', NULL, "instructions only"},
	{"source", 'S', NULL, "source lines only, each once"},
	{"file", LIST_FILE, "FILE", "a whole source file instead of a function"},
	{"min", LIST_MIN, "PERCENT",
	 "only rows with at least so much of the samples, and what stands near them"},
	{"intel", LIST_INTEL, NULL, "Intel's syntax instead of AT&T's"},
	{"no-cpi", LIST_NO_CPI, NULL, "samples only, without executions and CPI: quicker"},
	REPORT_METRIC_OPTION,
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_list_spec = {
	"list",
	"[FUNCTION|0xADDRESS]",
	"Shows one function: its instructions and source lines, with samples. FUNCTION is a name, "
	"a\n"
	"part of one, or a regular expression; an address is the image's own (see --image).\n"
	"Percentages are of the function's samples. With --file, a whole source file.",
	options,
	false,
};

struct list {
	struct report_options report;
	enum listing_form form;
	enum isa_syntax syntax;
	bool no_cpi;
	const char *file; /* NULL: a function */
	struct metrics metrics;
	struct pick pick;
	struct list_hot hot;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct list *l = arg;
	switch (value) {
	case 'A':
	case 'S':
		if (l->form != LISTING_BOTH)
			return diag_fail(diag, EINVAL, "one of --asm and --source, once");
		l->form = value == 'A' ? LISTING_ASSEMBLY : LISTING_BY_LINE;
		return 0;
	case REPORT_METRIC:
		return metrics_take(&l->metrics, text, diag);
	case LIST_FILE:
		l->file = text;
		return *text ? 0 : diag_fail(diag, EINVAL, "the file's name is empty");
	case LIST_MIN:
		return cmd_take_percent("min", text, &l->hot.min_percent, diag);
	case LIST_NO_CPI:
		l->no_cpi = true;
		return 0;
	case LIST_INTEL:
		l->syntax = ISA_SYNTAX_INTEL;
		return 0;
	}
	return report_take_option(&l->report, value, text, diag);
}

/* The samples of the function's range, as the listing wants them: by offset, all events at once. */
static int collect_samples(const struct query *q, const struct function_hit *hit,
			   struct listing_request *ret)
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
	ret->offsets = offsets;
	ret->counts = counts;
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
	report_header_note(h, "%s in %s (%s), 0x%llx to 0x%llx: %llu samples of %s",
			   hit->demangled ? hit->demangled : "no function is known there", path, id,
			   (unsigned long long)hit->start,
			   (unsigned long long)(hit->start + hit->size),
			   (unsigned long long)hit->counts[0],
			   q->event_count ? q->events[0].label : "nothing");
	for (size_t i = 0; (note = listing_note(listing, i)); i++)
		report_header_note(h, "%s", note);
}

static void describe_insight(const struct insight *i, bool edges, struct report_header *h)
{
	enum frequency_confidence least = FREQUENCY_HIGH, most = FREQUENCY_LOW;
	bool any = false;
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
			insights_confidence(least), least < most ? " to " : "",
			least < most ? insights_confidence(most) : "",
			edges ? ""
			      : "; no edges were recorded, which narrow these ranges: "
				"`culprit record --edges`");
}

static int print_listing(struct list *l, const struct query *q, const struct function_hit *hit,
			 const struct listing *listing, const struct insights *all,
			 const struct insight *insight, struct diag *diag)
{
	struct list_table made = {q, hit, listing, insight, l->report.format, {0}, &l->hot};
	struct report_header h = {0};
	struct table *t = NULL;
	int err = metrics_bind(&l->metrics, q, hit->counts, &made.metrics, diag);
	if (err)
		return err;
	err = pick_describe(&l->pick, &h);
	if (!err) {
		describe_function(q, hit, listing, &h);
		describe_insight(insight, all && insights_basis(all)->edges, &h);
		err = list_table_make(&made, &t);
	}
	if (!err)
		list_hot_describe(&l->hot, &h);
	if (!err)
		err = metrics_describe(&made.metrics, "the function", &h);
	if (err < 0)
		diag_fail(diag, -err, "out of memory");
	else
		err = report_print(t, &h, l->report.format);
	table_free(t);
	report_header_free(&h);
	return err;
}

/* Executions and cycles. A listing stands without them: no time was sampled, no code is at hand. */
static int find_insight(const struct list *l, struct insights **ret_all, struct insight **ret)
{
	struct insights_request request = {.query = l->pick.query,
					   .reader = l->pick.reader,
					   .finder = l->pick.finder,
					   .method = FREQUENCY_FLOW};
	if (l->no_cpi || l->form == LISTING_BY_LINE)
		return 0;
	int err = insights_new(&request, ret_all, NULL);
	if (!err)
		err = insight_new(*ret_all, l->pick.hit->image, l->pick.hit->start, ret, NULL);
	return err == -ENOMEM ? err : 0;
}

static int show_function(struct list *l, const struct query *q, const struct function_hit *hit,
			 struct diag *diag)
{
	struct listing_request request = {
		.finder = l->pick.finder,
		.image = &hit->image->id,
		.image_path = hit->image->path,
		.start = hit->start,
		.size = hit->size,
		.event_count = q->event_count,
		.form = l->form,
		.syntax = l->syntax,
		.sampled_ns = report_sampled_ns(l->pick.reader),
	};
	struct listing *listing = NULL;
	struct insights *all = NULL;
	struct insight *insight = NULL;
	int err = collect_samples(q, hit, &request);
	if (!err)
		err = find_insight(l, &all, &insight);
	if (err < 0)
		diag_fail(diag, -err, "out of memory");
	else
		err = listing_new(&request, &listing, diag);
	if (!err)
		err = print_listing(l, q, hit, listing, all, insight, diag);
	insight_free(insight);
	insights_free(all);
	listing_free(listing);
	free((void *)request.offsets);
	free((void *)request.counts);
	return err;
}

static int show_file(struct list *l, int operands, struct diag *diag)
{
	if (operands || l->form == LISTING_ASSEMBLY)
		return diag_fail(diag, EINVAL,
				 "--file is of source lines: without FUNCTION and --asm");
	return list_file_show(&l->report, &l->metrics, &l->hot, l->file, diag);
}

int cmd_list(int argc, char **argv)
{
	struct list l = {.form = LISTING_BOTH};
	struct diag diag = {""};
	const char *what;
	int operand, err = cmd_parse(&cmd_list_spec, argc, argv, take_option, &l, &operand);
	if (err >= 0) {
		metrics_free(&l.metrics);
		return err;
	}
	/* What perf's list is for. */
	if (!l.file && operand == argc && !l.report.function)
		err = diag_fail(&diag, EINVAL,
				"which function? culprit prof ranks them (and events are listed by "
				"culprit doctor --events)");
	else if (l.file)
		err = show_file(&l, argc - operand, &diag);
	else
		err = pick_operand(&l.report, argc, argv, operand, &what, &diag);
	if (!err && !l.file)
		err = pick_function(&l.report, what, &l.pick, &diag);
	if (!err && !l.file)
		err = show_function(&l, l.pick.query, l.pick.hit, &diag);
	pick_free(&l.pick);
	metrics_free(&l.metrics);
	list_hot_free(&l.hot);
	if (err == -EINVAL)
		return cmd_fail_usage("list", &diag);
	return err < 0 ? cmd_fail(&diag) : err;
}
