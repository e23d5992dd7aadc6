/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/describe.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

#define SHOWN	     4 /* values in text */
#define CELL_MAX     16384
#define RANK_LEAST   16	 /* samples from which on a share says anything */
#define STRIDE_SHARE 0.5 /* from which on a place has a stride */
#define SMALL	     1000000

/* What of each row is printed. */
struct columns {
	struct table *t;
	int address, code, function, image, build_id, kind, site, samples, top, values, invariant,
		error, stride, width, zero, negative, same, low, high, aligned;
};

static bool is_argument(enum value_kind kind)
{
	return kind >= VALUE_ARGUMENT_1 && kind <= VALUE_ARGUMENT_6;
}

/* The bytes that all of the values fit in; 0: nobody knows. */
static unsigned bytes_used(const struct value_summary *s)
{
	for (unsigned i = 0; i < VALUE_WIDTHS; i++)
		if (s->fits[i] == s->samples)
			return 1u << i;
	return 8;
}

static double top_share(const struct value_summary *s)
{
	uint8_t rank[VALUES_MANY];

	if (!s->hot.used)
		return 0;
	value_hotlist_rank(&s->hot, rank);
	return value_hotlist_share(&s->hot, rank[0]);
}

static bool is_wanted(const struct values_report_options *o, const struct value_row *row)
{
	const struct value_summary *s = row->of;

	if (o->arguments && !is_argument(row->kind))
		return false;
	if (o->strides && row->kind != VALUE_STRIDE)
		return false;
	if (o->widths && (row->kind == VALUE_STRIDE || row->kind == VALUE_ADDRESS ||
			  bytes_used(s) >= 1u << s->width))
		return false;
	if (o->invariant_percent > 0 && ((row->kind == VALUE_STRIDE && !o->strides) ||
					 100 * top_share(s) < o->invariant_percent))
		return false;
	return true;
}

/* Small numbers as such, with their sign; a byte also as a character; what may be an address or a
 * pattern in hexadecimal. */
static void put_value(struct buf *b, const struct value_row *row, uint64_t value)
{
	const int64_t n = value_signed(value, row->of->width);

	if (row->kind == VALUE_ADDRESS || n <= -SMALL || n >= SMALL)
		buf_printf(b, "0x%" PRIx64, value);
	else
		buf_printf(b, "%" PRId64, n);
	if (row->of->width == 0 && value > ' ' && value < 0x7f)
		buf_printf(b, " '%c'", (int)value);
}

static void set_text(const struct columns *c, const struct value_row *row)
{
	const struct value_hotlist *h = &row->of->hot;
	uint8_t rank[VALUES_MANY];
	struct buf b;

	buf_init(&b, CELL_MAX);
	value_hotlist_rank(h, rank);
	for (uint32_t i = 0; i < h->used && i < SHOWN; i++) {
		buf_printf(&b, "%s", i ? ", " : "");
		put_value(&b, row, h->list[rank[i]].value);
		buf_printf(&b, " %.0f%%", 100 * value_hotlist_share(h, rank[i]));
	}
	if (h->used)
		table_set_buf(c->t, c->top, &b);
	buf_free(&b);
}

/* The list in JSON; values are text, since numbers of 64 bits are none there. */
static void set_values(const struct columns *c, const struct value_row *row)
{
	const struct value_hotlist *h = &row->of->hot;
	uint8_t rank[VALUES_MANY];
	struct buf b;

	buf_init(&b, CELL_MAX);
	value_hotlist_rank(h, rank);
	buf_printf(&b, "[");
	for (uint32_t i = 0; i < h->used; i++)
		buf_printf(&b, "%s{\"value\":\"0x%" PRIx64 "\",\"share\":%.6f,\"error\":%.6f}",
			   i ? "," : "", h->list[rank[i]].value,
			   100 * value_hotlist_share(h, rank[i]),
			   100 * value_hotlist_error(h, rank[i]));
	buf_printf(&b, "]");
	table_set_buf(c->t, c->values, &b);
	buf_free(&b);
}

static void set_invariant(const struct columns *c, const struct value_row *row)
{
	const struct value_hotlist *h = &row->of->hot;
	uint8_t rank[VALUES_MANY];
	char text[32];

	if (!h->used)
		return;
	value_hotlist_rank(h, rank);
	table_set_real(c->t, c->invariant, 100 * value_hotlist_share(h, rank[0]));
	table_set_real(c->t, c->error, 100 * value_hotlist_error(h, rank[0]));
	if (row->kind != VALUE_STRIDE || value_hotlist_share(h, rank[0]) < STRIDE_SHARE)
		return;
	snprintf(text, sizeof(text), "%" PRId64, (int64_t)h->list[rank[0]].value);
	table_set_text(c->t, c->stride, text);
}

static void set_facts(const struct columns *c, const struct value_row *row)
{
	const struct value_summary *s = row->of;
	char text[32];

	table_set_text(c->t, c->kind, value_kind_name(row->kind));
	table_set_count(c->t, c->samples, s->samples);
	if (row->site_image != DB_VALUE_NO_SITE)
		table_set_address(c->t, c->site, row->site);
	set_text(c, row);
	set_values(c, row);
	set_invariant(c, row);
	table_set_real(c->t, c->zero, table_percent(s->zeros, s->samples));
	table_set_real(c->t, c->negative, table_percent(s->negatives, s->samples));
	if (s->again)
		table_set_real(c->t, c->same, table_percent(s->same, s->again));
	if (row->kind != VALUE_STRIDE && row->kind != VALUE_ADDRESS)
		table_set_count(c->t, c->width, bytes_used(s));
	table_set_count(c->t, c->aligned, s->aligned);
	if (!s->hot.samples)
		return;
	snprintf(text, sizeof(text), "0x%" PRIx64, s->low);
	table_set_text(c->t, c->low, text);
	snprintf(text, sizeof(text), "0x%" PRIx64, s->high);
	table_set_text(c->t, c->high, text);
}

static struct columns add_columns(struct table *t, bool is_function)
{
	struct columns c = {.t = t, .code = -1, .function = -1, .image = -1, .build_id = -1};

	c.samples = table_add_column(t, TABLE_COUNT, "samples", "samples");
	c.address = table_add_column(t, TABLE_ADDRESS, "address", "address");
	if (is_function)
		c.code = table_add_text_column(t, "code", "code");
	c.kind = table_add_column(t, TABLE_NAME, "kind", "kind");
	c.site = table_add_column(t, TABLE_ADDRESS, "call", NULL);
	c.top = table_add_text_column(t, "top", "values");
	c.values = table_add_column(t, TABLE_RAW, "values", NULL);
	c.invariant = table_add_column(t, TABLE_PERCENT, "invariant", NULL);
	c.error = table_add_column(t, TABLE_PERCENT, "invariant_error", NULL);
	c.zero = table_add_column(t, TABLE_PERCENT, "zero", "zero%");
	c.negative = table_add_column(t, TABLE_PERCENT, "negative", NULL);
	c.same = table_add_column(t, TABLE_PERCENT, "same", "same%");
	c.width = table_add_column(t, TABLE_COUNT, "width", "bytes");
	c.stride = table_add_column(t, TABLE_FIGURE, "stride", NULL);
	c.aligned = table_add_column(t, TABLE_COUNT, "aligned_bits", NULL);
	c.low = table_add_column(t, TABLE_FIGURE, "low", NULL);
	c.high = table_add_column(t, TABLE_FIGURE, "high", NULL);
	if (!is_function) {
		c.function = table_add_column(t, TABLE_NAME, "function", "function");
		c.image = table_add_column(t, TABLE_NAME, "image", "image");
		c.build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
		table_set_spare(t, c.image, 1);
	}
	table_set_spare(t, c.zero, 2);
	table_set_spare(t, c.same, 3);
	return c;
}

static int read_tally(struct report_session *s, struct query *q, struct value_tally *t,
		      struct diag *diag)
{
	int r = value_tally_init(t);

	q->value = value_tally_add;
	q->value_arg = t;
	if (!r)
		r = query_read(q, s->reader, diag);
	if (r == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory");
	if (r)
		return r;
	value_tally_sort(t);
	return t->row_count ? 0
			    : diag_fail(diag, ENODATA, "%s no values; record --values keeps them",
					t->image ? "the function has" : "the selection has");
}

static void describe(const struct value_tally *t, struct report_header *h)
{
	uint64_t samples = 0, without = 0;

	for (size_t i = 0; i < t->row_count; i++) {
		samples += t->rows[i].of->samples;
		without += t->rows[i].of->samples - t->rows[i].of->hot.samples;
	}
	report_header_note(h, "%llu %s at %zu places and kinds",
			   TEXT_COUNT(samples, "value", "values"), t->row_count);
	if (without)
		report_header_note(h, "of %llu the content was not kept (record --contents)",
				   (unsigned long long)without);
	if (t->refused)
		report_header_note(h, "%llu %s past the %uth place left out",
				   TEXT_COUNT(t->refused, "value is", "values are"),
				   VALUE_TALLY_ROWS_MAX);
	report_header_note(h, "zero%%: of the values; same%%: equal to the next one of the same "
			      "instruction; bytes: that all fit in");
}

static int list_code(struct report_session *s, const struct values_report_options *o,
		     struct values_report *r, struct diag *diag)
{
	const struct function_hit *hit = r->pick.hit;
	const struct listing_request request = {.finder = s->finder,
						.image = &hit->image->id,
						.image_path = hit->image->path,
						.start = hit->start,
						.size = hit->size,
						.event_count = 1,
						.form = LISTING_ASSEMBLY,
						.syntax = o->syntax};

	return listing_new(&request, &r->listing, diag);
}

/* Both ascend. */
static void fill_function(struct values_report *r, const struct values_report_options *o)
{
	struct columns c = add_columns(r->table, true);
	size_t count, at = 0;
	const struct listing_row *code = listing_rows(r->listing, &count);

	for (size_t i = 0; i < r->tally.row_count; i++) {
		const struct value_row *row = &r->tally.rows[i];

		if (!is_wanted(o, row))
			continue;
		while (at < count &&
		       (code[at].kind != LISTING_INSTRUCTION || code[at].address < row->offset))
			at++;
		table_add_row(c.t);
		table_set_address(c.t, c.address, row->offset);
		if (at < count && code[at].address == row->offset)
			table_set_text(c.t, c.code, code[at].text);
		set_facts(&c, row);
	}
}

static int make_function(struct report_session *s, const struct values_report_options *o,
			 const char *what, struct values_report *ret, struct report_header *h,
			 struct diag *diag)
{
	const struct function_hit *hit;
	struct query *q = NULL;
	char path[512];
	int r = pick_function(s, what, &ret->pick, diag);

	if (!r)
		r = query_new(&s->options->selection, QUERY_WHOLE, &q, diag);
	if (!r) {
		hit = ret->pick.hit;
		ret->tally.image = &hit->image->id;
		ret->tally.start = hit->start;
		ret->tally.size = hit->size;
		r = read_tally(s, q, &ret->tally, diag);
	}
	query_free(q);
	if (!r)
		r = list_code(s, o, ret, diag);
	if (r)
		return r;
	report_describe(h, s);
	text_escape(path, sizeof(path), hit->image->path, hit->image->path_size);
	report_header_note(h, "%s in %s, 0x%llx to 0x%llx",
			   hit->demangled ? hit->demangled : "no function is known there", path,
			   (unsigned long long)hit->start,
			   (unsigned long long)(hit->start + hit->size));
	describe(&ret->tally, h);
	ret->table = table_new("values");
	fill_function(ret, o);
	return 0;
}

struct ranked {
	const struct value_row *row;
	const char *function; /* NULL: none is known */
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return NUM_ORDER(b->row->of->samples, a->row->of->samples) ?: NUM_ORDER(a->row, b->row);
}

/* Rows come by image. */
static const char *find_function(struct report_session *s, const struct value_tally *t,
				 const struct value_row *row, const struct image_symbols **symbols,
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

static size_t rank_rows(struct report_session *s, const struct values_report_options *o,
			const struct value_tally *t, const regex_t *regex, struct ranked *list)
{
	const struct image_symbols *symbols = NULL;
	uint32_t image = UINT32_MAX;
	size_t count = 0;

	for (size_t i = 0; i < t->row_count; i++) {
		struct ranked r = {.row = &t->rows[i]};

		if (r.row->of->samples < RANK_LEAST || !is_wanted(o, r.row))
			continue;
		r.function = find_function(s, t, r.row, &symbols, &image);
		if (!regex || (r.function && !regexec(regex, r.function, 0, NULL, 0)))
			list[count++] = r;
	}
	array_sort(list, count, sizeof(*list), compare_ranked);
	return count;
}

static void fill_ranking(struct values_report *r, const struct values_report_options *o,
			 const struct ranked *list, size_t count)
{
	struct columns c = add_columns(r->table, false);

	for (size_t i = 0; i < count && i < o->limit; i++) {
		const struct value_image *at = &r->tally.images[list[i].row->image];
		const struct query_image shown = {at->id, at->path, strlen(at->path)};

		table_add_row(c.t);
		table_set_address(c.t, c.address, list[i].row->offset);
		table_set_text(c.t, c.function,
			       list[i].function ? list[i].function : RANK_NO_SYMBOL);
		report_set_image(c.t, c.image, c.build_id, &shown);
		set_facts(&c, list[i].row);
	}
}

static int make_ranking(struct report_session *s, const struct values_report_options *o,
			struct values_report *ret, struct report_header *h, struct diag *diag)
{
	const char *function = s->options->function;
	struct ranked *list;
	regex_t regex;
	size_t count;
	int r = report_session_open(s, NULL, QUERY_WHOLE, diag);

	if (!r)
		r = read_tally(s, s->query, &ret->tally, diag);
	if (!r && function)
		r = pattern_compile(function, &regex, diag);
	if (r)
		return r;
	list = calloc(ret->tally.row_count + 1, sizeof(*list));
	if (list) {
		count = rank_rows(s, o, &ret->tally, function ? &regex : NULL, list);
		report_describe(h, s);
		describe(&ret->tally, h);
		report_header_note(h,
				   "places with %d values or more, by their number: windows "
				   "begin where time is spent",
				   RANK_LEAST);
		if (!count)
			report_nothing_matches(h);
		ret->table = table_new("values");
		fill_ranking(ret, o, list, count);
	}
	if (function)
		regfree(&regex);
	r = list ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	free(list);
	return r;
}

int values_report_make(struct report_session *s, const struct values_report_options *o,
		       const char *what, struct values_report *ret, struct report_header *h,
		       struct diag *diag)
{
	return what ? make_function(s, o, what, ret, h, diag) : make_ranking(s, o, ret, h, diag);
}

void values_report_free(struct values_report *r)
{
	table_free(r->table);
	listing_free(r->listing);
	value_tally_free(&r->tally);
	pick_free(&r->pick);
}
