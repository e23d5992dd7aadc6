/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/list_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/source.h"
#include "cmd/list_table.h"
#include "util/buf.h"

struct listing_of_file {
	struct query *query;
	struct db_reader *reader;
	struct image_finder *finder;
	struct rank *rank;
	struct sources *sources;
	const struct rank_row **rows; /* of the file, by line */
	size_t row_count;
	enum source_age age;
};

/* The path itself, or the end of it from a slash on. */
static bool is_meant(const char *path, const char *name)
{
	size_t path_size = strlen(path), size = strlen(name);
	const char *end = path + path_size - size;

	if (size > path_size || strcmp(end, name) != 0)
		return false;
	return end == path || *name == '/' || end[-1] == '/';
}

static int compare_lines(const void *a, const void *b)
{
	const struct rank_row *x = *(const struct rank_row *const *)a;
	const struct rank_row *y = *(const struct rank_row *const *)b;

	return (x->line > y->line) - (x->line < y->line);
}

/* Several files are meant: names some of them. */
static int fail_several(const struct listing_of_file *f, const char *name, struct diag *diag)
{
	struct buf b;
	int r;

	buf_init(&b, 600);
	for (size_t i = 0, shown = 0; i < f->row_count && shown < 4; i++) {
		size_t k = 0;

		while (k < i && strcmp(f->rows[k]->file, f->rows[i]->file) != 0)
			k++;
		if (k == i)
			buf_printf(&b, "%s%s", shown++ ? ", " : "", f->rows[i]->file);
	}
	r = diag_fail(diag, EEXIST, "'%s' may be any of several files, such as %.*s", name,
		      (int)b.size, b.data ? (char *)b.data : "");
	buf_free(&b);
	return r;
}

/* The rows of the file; a name that is a whole path means that one alone. */
static int find_rows(struct listing_of_file *f, const char *name, struct diag *diag)
{
	bool whole = false;

	f->rows = calloc(f->rank->row_count + 1, sizeof(*f->rows));
	if (!f->rows)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < f->rank->row_count; i++)
		whole |= f->rank->rows[i].file && !strcmp(f->rank->rows[i].file, name);
	for (size_t i = 0; i < f->rank->row_count; i++) {
		const struct rank_row *row = &f->rank->rows[i];

		if (row->file && (whole ? !strcmp(row->file, name) : is_meant(row->file, name)))
			f->rows[f->row_count++] = row;
	}
	if (!f->row_count && f->rank->images_without_lines)
		return diag_fail(diag, ENOENT,
				 "no samples in '%s'; %zu images have no lines, one because: %s",
				 name, f->rank->images_without_lines, f->rank->lines_reason.text);
	if (!f->row_count)
		return diag_fail(diag, ENOENT,
				 "no samples in '%s' in these epochs and this selection (see: "
				 "culprit prof --by file)",
				 name);
	for (size_t i = 1; i < f->row_count; i++)
		if (strcmp(f->rows[i]->file, f->rows[0]->file) != 0)
			return fail_several(f, name, diag);
	qsort(f->rows, f->row_count, sizeof(*f->rows), compare_lines);
	return 0;
}

static int read_samples(struct report_options *o, struct listing_of_file *f, struct diag *diag)
{
	struct rank_options by = {.by = RANK_LINE, .function = o->function};
	const struct db_epoch *const *epochs;
	struct rank_source source;
	const char *path;
	size_t count;
	int r = query_new(&o->selection, QUERY_WHOLE, &f->query, diag);

	if (!r)
		r = report_open(o, &path, &f->reader, diag);
	if (!r)
		r = query_read(f->query, f->reader, diag);
	if (r)
		return r;
	epochs = db_reader_selected(f->reader, &count);
	r = image_finder_new(path, count ? epochs[0]->machine : NULL, &f->finder);
	if (r)
		return diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r));
	source = report_source(f->finder);
	return rank_new(f->query, &by, &source, &f->rank, diag);
}

static int describe(const struct listing_of_file *f, struct report_header *h)
{
	uint64_t samples = 0;
	const char *problem;
	int r = report_describe(h, f->reader, f->query, f->finder);

	if (r)
		return r;
	report_describe_rank(h, f->query, f->rank, false);
	for (size_t i = 0; i < f->row_count; i++)
		samples += f->rows[i]->counts[0];
	report_header_note(h, "%s: %llu samples of %s, %.2f%% of all", f->rows[0]->file,
			   (unsigned long long)samples, f->query->events[0].label,
			   f->rank->totals[0] ? 100 * (double)samples / (double)f->rank->totals[0]
					      : 0);
	if (f->age != SOURCE_AS_BUILT) {
		struct diag text;

		source_age_describe(f->age, f->rows[0]->file, text.text, sizeof(text.text));
		report_header_note(h, "%s", text.text);
	}
	problem = sources_problem(f->sources, f->rows[0]->file);
	if (*problem)
		report_header_note(h, "no text: %s", problem);
	return 0;
}

/* Of all programs that it is in: one that was made from another text is enough. */
static enum source_age find_age(struct listing_of_file *f)
{
	uint64_t sampled_ns = report_sampled_ns(f->reader);
	enum source_age most = SOURCE_AS_BUILT;

	for (size_t i = 0; i < f->row_count; i++) {
		const struct rank_row *row = f->rows[i];
		enum source_age age = sources_age(f->sources, row->file, row->file_md5,
						  row->built_ns ? row->built_ns : sampled_ns);

		most = age > most ? age : most;
	}
	return most;
}

static int show(const struct report_options *o, const struct metrics *metrics, struct list_hot *hot,
		struct listing_of_file *f, struct diag *diag)
{
	struct list_lines lines = {
		.query = f->query,
		.totals = f->rank->totals,
		.sources = f->sources,
		.rows = f->rows,
		.row_count = f->row_count,
		.age = f->age = find_age(f),
		.format = o->format,
		.hot = hot,
	};
	struct report_header h = {0};
	struct table *t = NULL;
	int r = metrics_bind(metrics, f->query, f->rank->totals, &lines.metrics, diag);

	if (r)
		return r;
	r = list_table_lines(&lines, &t);
	if (!r)
		r = describe(f, &h);
	if (!r)
		list_hot_describe(hot, &h);
	if (!r)
		r = metrics_describe(&lines.metrics, NULL, &h);
	if (r)
		diag_fail(diag, -r, "out of memory");
	else
		r = report_print(t, &h, o->format);
	table_free(t);
	report_header_free(&h);
	return r;
}

int list_file_show(struct report_options *o, const struct metrics *metrics, struct list_hot *hot,
		   const char *name, struct diag *diag)
{
	struct listing_of_file f = {.sources = sources_new()};
	int r = f.sources ? read_samples(o, &f, diag) : diag_fail(diag, ENOMEM, "out of memory");

	if (!r)
		r = find_rows(&f, name, diag);
	if (!r)
		r = show(o, metrics, hot, &f, diag);
	free(f.rows);
	sources_free(f.sources);
	rank_free(f.rank);
	query_free(f.query);
	image_finder_free(f.finder);
	report_close(f.reader);
	return r;
}
