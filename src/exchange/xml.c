/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/xml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "util/array.h"
#include "util/num.h"
#include "util/quote.h"

#define NO_FILE "<unknown>"

static const char *image_of(const struct rank_row *r)
{
	return r->image ? r->image->path : RANK_UNKNOWN;
}

static const char *file_of(const struct rank_row *r)
{
	return r->file ? r->file : NO_FILE;
}

static const char *function_of(const struct rank_row *r)
{
	return r->function ? r->function : RANK_NO_SYMBOL;
}

/* Two builds of one path are two load modules. */
static int compare_images(const struct rank_row *x, const struct rank_row *y)
{
	int d = strcmp(image_of(x), image_of(y));

	if (d || !x->image || !y->image)
		return d;
	return memcmp(&x->image->id, &y->image->id, sizeof(x->image->id));
}

/* Outer before inner, those of one loop together, and before all what is in none. */
static int compare_loops(const struct loop_nest *x, const struct loop_nest *y)
{
	const struct loop_nest *a = x, *b = y;

	if (!x || !y)
		return (x != NULL) - (y != NULL);
	while (a->depth > b->depth)
		a = a->parent;
	while (b->depth > a->depth)
		b = b->parent;
	if (a == b)
		return NUM_ORDER(x->depth, y->depth);
	while (a->parent != b->parent) {
		a = a->parent;
		b = b->parent;
	}
	return NUM_ORDER(a->header, b->header);
}

static int compare_rows(const void *a, const void *b)
{
	const struct rank_row *x = *(const struct rank_row *const *)a;
	const struct rank_row *y = *(const struct rank_row *const *)b;
	int d = compare_images(x, y);

	d = d ? d : strcmp(file_of(x), file_of(y));
	d = d ? d : strcmp(function_of(x), function_of(y));
	d = d ? d : compare_loops(x->loop, y->loop);
	return d ? d : NUM_ORDER(x->line, y->line);
}

/* The outermost level that a row starts: 3 load module, 2 file, 1 procedure, 0 none. */
static int levels_new(const struct rank_row *last, const struct rank_row *r)
{
	if (!last || compare_images(last, r) != 0)
		return 3;
	if (strcmp(file_of(last), file_of(r)) != 0)
		return 2;
	return strcmp(function_of(last), function_of(r)) != 0;
}

static void close_levels(struct buf *b, int levels)
{
	static const char *const ends[] = {"</P>\n", "</F>\n", "</LM>\n"};

	for (int i = 0; i < levels; i++)
		buf_printf(b, "%s", ends[i]);
}

static void put_module(struct buf *b, const struct xml_modules *modules,
		       const struct query_image *image)
{
	char id[IMAGE_ID_TEXT_MAX];
	uint64_t start, length;

	if (!image || image->id.kind == IMAGE_UNKNOWN)
		return;
	image_id_format(&image->id, id);
	quote_xml(b, "build_id", id);
	if (modules && modules->extent(modules->arg, image, &start, &length))
		buf_printf(b, " start=\"0x%" PRIx64 "\" length=\"%" PRIu64 "\"", start, length);
}

static void open_levels(struct buf *b, const struct xml_modules *modules, int levels,
			const struct rank_row *r)
{
	static const char *const begins[] = {"<P", "<F", "<LM"};
	const char *const names[] = {function_of(r), file_of(r), image_of(r)};

	while (levels-- > 0) {
		buf_printf(b, "%s", begins[levels]);
		quote_xml(b, "n", names[levels]);
		if (levels == 2)
			put_module(b, modules, r->image);
		buf_printf(b, ">\n");
	}
}

static bool is_in(const struct loop_nest *inner, const struct loop_nest *loop)
{
	while (inner && inner->depth > loop->depth)
		inner = inner->parent;
	return inner == loop;
}

/* The lines that rows[0], rows[1], ... have of a loop, up to the end of the procedure. */
static void open_loop(struct buf *b, const struct loop_nest *loop, const struct rank_row **rows,
		      size_t count)
{
	uint32_t first = 0, last = 0;

	for (size_t i = 0; i < count && !levels_new(rows[0], rows[i]); i++) {
		if (!is_in(rows[i]->loop, loop))
			break;
		if (rows[i]->line && (!first || rows[i]->line < first))
			first = rows[i]->line;
		last = rows[i]->line > last ? rows[i]->line : last;
	}
	buf_printf(b, "<L b=\"%u\" e=\"%u\" header=\"0x%" PRIx64 "\">\n", first, last,
		   loop->header);
}

/* Closes the loops of the last row that rows[0] is not in, and opens those that it is. */
static void change_loops(struct buf *b, const struct loop_nest *open, const struct rank_row **rows,
			 size_t count)
{
	const struct loop_nest *now = count ? rows[0]->loop : NULL, *next;

	for (; open && !is_in(now, open); open = open->parent)
		buf_printf(b, "</L>\n");
	while (now != open) {
		for (next = now; next->parent != open;)
			next = next->parent;
		open_loop(b, next, rows, count);
		open = next;
	}
}

static void put_row(struct buf *b, const struct query *q, const struct rank_row *r)
{
	buf_printf(b, "<S b=\"%u\" e=\"%u\">", r->line, r->line);
	for (size_t i = 0; i < q->event_count; i++) {
		const struct query_event *e = &q->events[i];
		double value = (double)r->counts[i] * (double)e->period * query_event_scale(e);

		if (r->counts[i])
			buf_printf(b, "<M n=\"%zu\" v=\"%.17g\"/>", i, value);
	}
	buf_printf(b, "</S>\n");
}

static void put_metrics(struct buf *b, const struct query *q)
{
	buf_printf(b, "<METRICS>\n");
	for (size_t i = 0; i < q->event_count; i++) {
		const struct query_event *e = &q->events[i];

		buf_printf(b, "<METRIC shortName=\"%zu\"", i);
		quote_xml(b, "nativeName", e->name);
		quote_xml(b, "displayName", e->label);
		buf_printf(b,
			   " period=\"%" PRIu64 "\" samples=\"%" PRIu64
			   "\" display=\"true\" percent=\"true\"/>\n",
			   e->period, e->samples);
	}
	buf_printf(b, "</METRICS>\n");
}

int xml_write_profile(const struct query *q, const struct rank *k,
		      const struct xml_modules *modules, const char *target, struct buf *out)
{
	const struct rank_row **rows = calloc(k->row_count + 1, sizeof(*rows)), *last = NULL;

	if (!rows) {
		out->error = -ENOMEM;
		return -ENOMEM;
	}
	for (size_t i = 0; i < k->row_count; i++)
		rows[i] = &k->rows[i];
	array_sort(rows, k->row_count, sizeof(*rows), compare_rows);
	buf_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PROFILE version=\"3.0\">\n"
			"<PROFILEHDR>culprit " CULPRIT_VERSION "</PROFILEHDR>\n<PROFILEPARAMS>\n"
			"<TARGET");
	quote_xml(out, "name", target);
	buf_printf(out, "/>\n");
	put_metrics(out, q);
	buf_printf(out, "</PROFILEPARAMS>\n<PROFILESCOPETREE>\n<PGM");
	quote_xml(out, "n", target);
	buf_printf(out, ">\n");
	for (size_t i = 0; i < k->row_count; i++) {
		int levels = levels_new(last, rows[i]);
		const struct loop_nest *open = last ? last->loop : NULL;

		if (last && levels) {
			change_loops(out, open, NULL, 0);
			close_levels(out, levels);
			open = NULL;
		}
		open_levels(out, modules, levels, rows[i]);
		change_loops(out, open, rows + i, k->row_count - i);
		put_row(out, q, rows[i]);
		last = rows[i];
	}
	change_loops(out, last ? last->loop : NULL, NULL, 0);
	close_levels(out, last ? 3 : 0);
	buf_printf(out, "</PGM>\n</PROFILESCOPETREE>\n</PROFILE>\n");
	free(rows);
	return out->error;
}
