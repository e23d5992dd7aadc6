/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/functions.h"
#include "analyze/listing.h"
#include "cmd/list_table.h"
#include "cmd/report.h"
#include "util/num.h"
#include "util/text.h"

/* culprit list: one function's instructions and source lines with their samples. */

enum { LIST_INTEL = REPORT_OPTION_END };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"asm", 'A', NULL, "instructions only"},
	{"source", 'S', NULL, "source lines only, each once"},
	{"intel", LIST_INTEL, NULL, "Intel's syntax instead of AT&T's"},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

static const struct cmd_spec spec = {
	"list",
	"FUNCTION|0xADDRESS",
	"Shows one function: its instructions and source lines, with samples. FUNCTION is a name, "
	"a\n"
	"part of one, or a regular expression; an address is the image's own (see --image).\n"
	"Percentages are of the function's samples.",
	options,
	false,
};

struct list {
	struct report_options report;
	enum listing_form form;
	enum isa_syntax syntax;
	const char *what;
	struct image_finder *finder;
	struct db_reader *reader;
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
	case LIST_INTEL:
		l->syntax = ISA_SYNTAX_INTEL;
		return 0;
	}
	return report_take_option(&l->report, value, text, diag);
}

static int find_functions(const struct list *l, const struct query *q, struct functions **ret,
			  struct diag *diag)
{
	struct rank_source source = report_source(l->finder);
	uint64_t address;
	if (strncmp(l->what, "0x", 2) == 0 && num_parse_u64(l->what, &address) == 0)
		return functions_by_address(q, &source, address, ret, diag);
	return functions_by_name(q, &source, l->what, ret, diag);
}

static int fail_none(const struct list *l, const struct functions *f, struct diag *diag)
{
	if (f->images_without_symbols)
		return diag_fail(diag, ENOENT,
				 "no samples in '%s'; %zu images have no symbols, one because: %s",
				 l->what, f->images_without_symbols, f->symbols_reason.text);
	return diag_fail(
		diag, ENOENT,
		"no samples in '%s' in these epochs and this selection (see: culprit prof)",
		l->what);
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

static int describe(const struct list *l, const struct query *q, struct report_header *h)
{
	const struct db_epoch *const *epochs;
	size_t count;
	epochs = db_reader_selected(l->reader, &count);
	int err = report_describe_epochs(h, epochs, count);
	return err ? err : report_describe_query(h, q);
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

static int print_listing(const struct list *l, const struct query *q,
			 const struct function_hit *hit, const struct listing *listing,
			 struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int err = describe(l, q, &h);
	if (!err) {
		describe_function(q, hit, listing, &h);
		err = list_table_make(q, hit, listing, l->report.format, &t);
	}
	if (err < 0)
		diag_fail(diag, -err, "out of memory");
	else
		err = report_print(t, &h, l->report.format);
	table_free(t);
	report_header_free(&h);
	return err;
}

static int show_function(const struct list *l, const struct query *q,
			 const struct function_hit *hit, struct diag *diag)
{
	struct listing_request request = {
		.finder = l->finder,
		.image = &hit->image->id,
		.image_path = hit->image->path,
		.start = hit->start,
		.size = hit->size,
		.event_count = q->event_count,
		.form = l->form,
		.syntax = l->syntax,
	};
	struct listing *listing = NULL;
	int err = collect_samples(q, hit, &request);
	if (err < 0)
		diag_fail(diag, -err, "out of memory");
	else
		err = listing_new(&request, &listing, diag);
	if (!err)
		err = print_listing(l, q, hit, listing, diag);
	listing_free(listing);
	free((void *)request.offsets);
	free((void *)request.counts);
	return err;
}

/* Several functions are meant: shows them, so that the user can say which. */
static int show_choices(const struct list *l, const struct query *q, const struct functions *f,
			struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int err = describe(l, q, &h);
	if (!err)
		err = list_table_choices(q, f, &t);
	if (err < 0)
		diag_fail(diag, -err, "out of memory");
	else
		err = report_print(t, &h, l->report.format);
	table_free(t);
	report_header_free(&h);
	if (err)
		return err;
	return diag_fail(
		diag, EEXIST,
		"'%s' may be any of %zu functions: say which by its whole name, --image, or "
		"its address and --image",
		l->what, f->count);
}

static int run(struct list *l, struct diag *diag)
{
	const struct db_epoch *const *epochs;
	struct functions *f = NULL;
	struct query *q = NULL;
	const char *path;
	size_t count;
	int err = query_new(&l->report.selection, QUERY_WHOLE, &q, diag);
	if (!err)
		err = report_open(&l->report, &path, &l->reader, diag);
	if (!err)
		err = query_read(q, l->reader, diag);
	if (!err) {
		epochs = db_reader_selected(l->reader, &count);
		err = image_finder_new(path, count ? epochs[0]->machine : NULL, &l->finder);
		if (err < 0)
			diag_fail(diag, -err, "cannot look for symbols: %s", strerror(-err));
	}
	if (!err)
		err = find_functions(l, q, &f, diag);
	if (!err && f->count == 0)
		err = fail_none(l, f, diag);
	else if (!err && f->count > 1)
		err = show_choices(l, q, f, diag);
	else if (!err)
		err = show_function(l, q, &f->list[0], diag);
	functions_free(f);
	query_free(q);
	return err;
}

int cmd_list(int argc, char **argv)
{
	struct list l = {.form = LISTING_BOTH};
	struct diag diag = {""};
	int operand, err = cmd_parse(&spec, argc, argv, take_option, &l, &operand);
	if (err >= 0)
		return err;
	if (operand < argc)
		l.what = argv[operand++];
	else
		l.what = l.report.function;
	if (!l.what || !*l.what || operand < argc) {
		diag_fail(&diag, EINVAL,
			  l.what && *l.what ? "one function at a time"
					    : "which function? (see: culprit prof)");
		return cmd_fail_usage("list", &diag);
	}
	err = run(&l, &diag);
	image_finder_free(l.finder);
	db_reader_free(l.reader);
	if (err == -EINVAL)
		return cmd_fail_usage("list", &diag);
	return err < 0 ? cmd_fail(&diag) : err;
}
