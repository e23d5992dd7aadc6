/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/inst.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/listing.h"
#include "render/estimate.h"
#include "report/code/inst_table.h"
#include "report/describe.h"
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

#define NO_SAMPLES                                                                                 \
	"culprit import keeps those of AMD's IBS, Intel's PEBS and Arm's SPE in perf.data "        \
	"(perf record -e ibs_op//, perf mem record, perf record -e arm_spe//); culprit sim takes " \
	"them of a modelled core"

static enum inst_by kind_of(unsigned by)
{
	return by >= INST_BY_LATENCY ? INST_BY_LATENCY
	       : by >= INST_BY_EVENT ? INST_BY_EVENT
				     : (enum inst_by)by;
}

static const char *name_of(unsigned by)
{
	static const char *const sums[] = {"samples", "aborts", "latency"};

	return by >= INST_BY_LATENCY ? inst_latency_name(by - INST_BY_LATENCY + INST_LATENCY_FIRST)
	       : by >= INST_BY_EVENT ? inst_event_name(by - INST_BY_EVENT)
				     : sums[by];
}

static int fail_empty(const struct inst_tally *t, struct diag *diag)
{
	if (t->image)
		return diag_fail(
			diag, ENODATA,
			"the function has no instruction samples in this selection: " NO_SAMPLES);
	return diag_fail(diag, ENODATA, "the selection has no instruction samples: " NO_SAMPLES);
}

/* Reads the instruction samples of the session's selection. */
static int read_tally(struct report_session *s, struct query *q, struct inst_tally *t,
		      struct diag *diag)
{
	int r = inst_tally_init(t);

	q->inst = inst_tally_add;
	q->inst_arg = t;
	if (!r)
		r = query_read(q, s->reader, diag);
	if (r == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory");
	if (r)
		return r;
	inst_tally_sort(t);
	return t->samples ? 0 : fail_empty(t, diag);
}

static void describe(const struct inst_tally *t, struct report_header *h)
{
	for (size_t i = 0; i < t->event_count; i++)
		report_header_note(h, "%llu instruction %s of %s",
				   TEXT_COUNT(t->events[i].samples, "sample", "samples"),
				   t->events[i].name);
	if (t->refused)
		report_header_note(h, "%llu %s of instructions past the %uth left out",
				   TEXT_COUNT(t->refused, "sample is", "samples are"),
				   INST_TALLY_ROWS_MAX);
}

/* The listing wants to know where samples are: an address that is in no instruction stands for
 * itself. */
static int list_code(struct report_session *s, const struct inst_options *o, struct inst_report *r,
		     struct diag *diag)
{
	const struct function_hit *hit = r->pick.hit;
	const struct inst_tally *t = &r->tally;
	uint64_t *offsets = calloc(t->row_count + 1, sizeof(*offsets)),
		 *counts = calloc(t->row_count + 1, sizeof(*counts));
	struct listing_request request = {.finder = s->finder,
					  .image = &hit->image->id,
					  .image_path = hit->image->path,
					  .start = hit->start,
					  .size = hit->size,
					  .offsets = offsets,
					  .counts = counts,
					  .event_count = 1,
					  .form = LISTING_ASSEMBLY,
					  .syntax = o->syntax};
	int err = offsets && counts ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	for (size_t i = 0; i < t->row_count && !err; i++)
		if (!request.offset_count || offsets[request.offset_count - 1] != t->rows[i].offset)
			offsets[request.offset_count++] = t->rows[i].offset;
	if (!err)
		err = listing_new(&request, &r->listing, diag);
	free(offsets);
	free(counts);
	return err;
}

/* An instruction has a row for each event that it was sampled by, or one without samples. */
static void fill_function(struct inst_report *r)
{
	struct inst_columns c = {0};
	const struct inst_tally *tally = &r->tally;
	size_t count, next = 0;
	const struct listing_row *rows = listing_rows(r->listing, &count);
	struct table *t = r->table;

	inst_columns_add(&c, t, tally);
	int address = table_add_column(t, TABLE_ADDRESS, "address", "address");
	int code = table_add_text_column(t, "code", "code");
	table_set_share(t, code, 30);
	for (size_t i = 0; i < count; i++) {
		uint64_t end = i + 1 < count ? rows[i + 1].address : UINT64_MAX;
		size_t first = next;

		if (rows[i].kind != LISTING_INSTRUCTION)
			continue;
		do {
			table_add_row(t);
			table_set_address(t, address, rows[i].address);
			table_set_text(t, code, rows[i].text);
			if (next < tally->row_count && tally->rows[next].offset < end)
				inst_columns_set(&c, t, &tally->rows[next++]);
		} while (next > first && next < tally->row_count && tally->rows[next].offset < end);
	}
}

static void describe_function(const struct inst_report *r, struct report_header *h)
{
	const struct function_hit *hit = r->pick.hit;
	char path[512];
	const char *note;

	text_escape(path, sizeof(path), hit->image->path, hit->image->path_size);
	report_header_note(h, "%s in %s, 0x%llx to 0x%llx",
			   hit->demangled ? hit->demangled : "no function is known there", path,
			   (unsigned long long)hit->start,
			   (unsigned long long)(hit->start + hit->size));
	for (size_t i = 0; (note = listing_note(r->listing, i)); i++)
		report_header_note(h, "%s", note);
	report_header_note(h, "count: in the event's units; (68%%): where two of three true values "
			      "are, 1/sqrt(samples) to either side; shares likewise");
}

int inst_function_make(struct report_session *s, const struct inst_options *o, const char *what,
		       struct inst_report *ret, struct report_header *h, struct diag *diag)
{
	struct query *q = NULL;
	int r = pick_function(s, what, &ret->pick, diag);

	if (!r)
		r = query_new(&s->options->selection, QUERY_WHOLE, &q, diag);
	if (!r) {
		ret->tally.image = &ret->pick.hit->image->id;
		ret->tally.start = ret->pick.hit->start;
		ret->tally.size = ret->pick.hit->size;
		ret->tally.has_buckets = true;
		r = read_tally(s, q, &ret->tally, diag);
	}
	query_free(q);
	if (!r)
		r = list_code(s, o, ret, diag);
	if (r)
		return r;
	report_describe(h, s);
	describe(&ret->tally, h);
	describe_function(ret, h);
	ret->table = table_new("inst");
	fill_function(ret);
	return 0;
}

void inst_free(struct inst_report *r)
{
	table_free(r->table);
	listing_free(r->listing);
	inst_tally_free(&r->tally);
	pick_free(&r->pick);
}

/* The longest stage that is told of an instruction. */
static const struct inst_latency *longest(const struct inst_row *row)
{
	static const enum inst_field stages[] = {INST_CYCLES_DISPATCH_DONE, INST_CYCLES_ISSUE_DONE,
						 INST_CYCLES_LOAD_DATA, INST_CYCLES_FETCH};

	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
		const struct inst_latency *l = row->latencies[stages[i] - INST_LATENCY_FIRST];

		if (l && l->sum)
			return l;
	}
	return NULL;
}

struct ranked {
	const struct inst_row *row;
	const struct inst_latency *latency; /* NULL: it is ranked by counts */
	uint64_t k, n;			    /* samples of it, of those that tell */
	struct inst_share total;
	const char *function; /* NULL: none is known */
};

static void rank_row(const struct inst_options *o, struct ranked *r)
{
	const struct inst_row *row = r->row;
	double units = row->units;

	r->k = r->n = row->samples;
	switch (kind_of(o->by)) {
	case INST_BY_ABORTS:
		r->k = row->happened[INST_ABORTED] + row->happened[INST_FETCH_ABORTED];
		r->n = row->known[INST_ABORTED] + row->known[INST_FETCH_ABORTED];
		units = row->happened_units[INST_ABORTED] + row->happened_units[INST_FETCH_ABORTED];
		break;
	case INST_BY_EVENT:
		r->k = row->happened[o->by - INST_BY_EVENT];
		r->n = row->known[o->by - INST_BY_EVENT];
		units = row->happened_units[o->by - INST_BY_EVENT];
		break;
	case INST_BY_LATENCY:
		r->latency = row->latencies[o->by - INST_BY_LATENCY];
		r->k = r->latency ? r->latency->sum : 0;
		break;
	case INST_BY_CYCLES:
		r->latency = longest(row);
		r->k = r->latency ? r->latency->sum : 0;
		break;
	default:
		break;
	}
	if (r->k)
		r->total = r->latency ? inst_latency_total(r->latency) : inst_count_of(r->k, units);
}

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return NUM_ORDER(b->total.value, a->total.value) ?: NUM_ORDER(a->row, b->row);
}

/* Rows come by image. */
static const char *find_function(struct report_session *s, const struct inst_tally *t,
				 const struct inst_row *row, const struct image_symbols **symbols,
				 uint32_t *image)
{
	const struct image_function *f;

	if (*image != row->image) {
		*image = row->image;
		if (image_find_symbols(s->finder, &t->images[row->image].id,
				       t->images[row->image].path, symbols, NULL))
			*symbols = NULL;
	}
	f = *symbols ? image_symbols_find(*symbols, row->offset) : NULL;
	return f ? f->demangled : NULL;
}

/* The rows that have what is asked for, the first first. ret_all: the sum of all by event. */
static size_t rank_all(struct report_session *s, const struct inst_options *o,
		       const struct inst_tally *t, const regex_t *regex, struct ranked *list,
		       double *ret_all)
{
	const struct image_symbols *symbols = NULL;
	uint32_t image = UINT32_MAX;
	size_t count = 0;

	for (size_t i = 0; i < t->row_count; i++) {
		struct ranked r = {.row = &t->rows[i]};

		rank_row(o, &r);
		if (!r.k)
			continue;
		ret_all[r.row->event] += r.total.value;
		r.function = find_function(s, t, r.row, &symbols, &image);
		if (!regex || (r.function && !regexec(regex, r.function, 0, NULL, 0)))
			list[count++] = r;
	}
	array_sort(list, count, sizeof(*list), compare_ranked);
	return count;
}

/* Columns of a share of the samples that tell of it, with its range; of a latency, of its mean. */
struct rate_columns {
	int share, low, high, mean;
};

static struct rate_columns add_rate(struct table *t, unsigned by)
{
	struct rate_columns c = {-1, -1, -1, -1};

	if (kind_of(by) == INST_BY_LATENCY || by == INST_BY_CYCLES) {
		c.mean = table_add_estimate(t, "mean", "mean", "(68%)", 4);
	} else if (by != INST_BY_SAMPLES) {
		c.share = table_add_column(t, TABLE_PERCENT, "share_percent", "share%");
		c.low = table_add_column(t, TABLE_PERCENT, "share_percent_low", NULL);
		c.high = table_add_column(t, TABLE_PERCENT, "share_percent_high", NULL);
	}
	return c;
}

static void set_rate(struct table *t, const struct rate_columns *c, const struct ranked *r)
{
	struct inst_share s =
		r->latency ? inst_latency_mean(r->latency) : inst_share_of(r->k, r->n);

	if (r->latency)
		table_set_estimate(t, c->mean, s.value, s.low, s.high);
	table_set_real(t, c->share, 100 * s.value);
	table_set_real(t, c->low, 100 * s.low);
	table_set_real(t, c->high, 100 * s.high);
}

static void fill_ranking(const struct inst_options *o, struct inst_report *made,
			 const struct ranked *list, size_t count, const double *all)
{
	const struct inst_tally *tally = &made->tally;
	struct table *t = made->table;
	struct inst_columns c = {.tally = tally, .count = -1};

	int percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	int total = table_add_estimate(t, "total", name_of(o->by), "(68%)", 3);
	struct rate_columns rate = add_rate(t, o->by);
	c.samples = table_add_column(t, TABLE_COUNT, "samples", "samples");
	c.retired = table_add_column(t, TABLE_PERCENT, "retired_percent", "retired");
	c.event = table_add_column(t, TABLE_NAME, "event",
				   tally->event_count > 1 ? "sampled by" : NULL);
	int address = table_add_column(t, TABLE_ADDRESS, "address", "address");
	int function = table_add_column(t, TABLE_NAME, "function", "function");
	int image = table_add_column(t, TABLE_NAME, "image", "image");
	int build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	table_set_spare(t, image, 1);
	table_set_spare(t, c.retired, 2);
	for (size_t i = 0; i < count && i < o->limit; i++) {
		const struct inst_row *row = list[i].row;
		const struct inst_image *at = &tally->images[row->image];
		const struct query_image shown = {at->id, at->path, strlen(at->path)};

		table_add_row(t);
		table_set_real(t, percent, 100 * list[i].total.value / all[row->event]);
		table_set_estimate(t, total, list[i].total.value, list[i].total.low,
				   list[i].total.high);
		set_rate(t, &rate, &list[i]);
		inst_columns_set_base(&c, t, row);
		table_set_address(t, address, row->offset);
		table_set_text(t, function, list[i].function ? list[i].function : RANK_NO_SYMBOL);
		report_set_image(t, image, build_id, &shown);
	}
}

static int make_ranking(struct report_session *s, const struct inst_options *o,
			struct inst_report *ret, const regex_t *regex, struct report_header *h,
			struct diag *diag)
{
	struct ranked *list = calloc(ret->tally.row_count + 1, sizeof(*list));
	double *all = calloc(ret->tally.event_count + 1, sizeof(*all));
	size_t count;

	if (list && all) {
		count = rank_all(s, o, &ret->tally, regex, list, all);
		report_describe(h, s);
		describe(&ret->tally, h);
		if (o->by == INST_BY_CYCLES || kind_of(o->by) == INST_BY_LATENCY)
			report_header_note(h,
					   "cycles of instructions that are under way at the same "
					   "time add up to more than the time");
		if (!count)
			report_nothing_matches(h);
		ret->table = table_new("inst");
		fill_ranking(o, ret, list, count, all);
	}
	int r = list && all ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	free(list);
	free(all);
	return r;
}

int inst_ranking_make(struct report_session *s, const struct inst_options *o,
		      struct inst_report *ret, struct report_header *h, struct diag *diag)
{
	const char *function = s->options->function;
	regex_t regex;
	int r = report_session_open(s, NULL, QUERY_WHOLE, diag);

	if (!r)
		r = read_tally(s, s->query, &ret->tally, diag);
	if (!r && function)
		r = pattern_compile(function, &regex, diag);
	if (r)
		return r;
	r = make_ranking(s, o, ret, function ? &regex : NULL, h, diag);
	if (function)
		regfree(&regex);
	return r;
}
