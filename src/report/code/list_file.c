/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/code/list_table.h"
#include "report/describe.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

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

	return NUM_ORDER(x->line, y->line);
}

/* Several files are meant: names some of them. */
static int fail_several(const struct list_file_report *f, const char *name, struct diag *diag)
{
	struct buf b;

	buf_init(&b, 600);
	for (size_t i = 0, shown = 0; i < f->row_count && shown < 4; i++) {
		size_t k = 0;

		while (k < i && strcmp(f->rows[k]->file, f->rows[i]->file) != 0)
			k++;
		if (k == i)
			buf_printf(&b, "%s%s", shown++ ? ", " : "", f->rows[i]->file);
	}
	int r = diag_fail(diag, EEXIST, "'%s' matches several files, such as %.*s", name,
			  (int)b.size, b.data ? (char *)b.data : "");
	buf_free(&b);
	return r;
}

/* The rows of the file; a name that is a whole path means that one alone. */
static int find_rows(struct list_file_report *f, const char *name, struct diag *diag)
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
		return diag_fail(
			diag, ENOENT, "no samples in '%s'; %llu %s no lines%s: %s", name,
			TEXT_COUNT(f->rank->images_without_lines, "image has", "images have"),
			text_plural(f->rank->images_without_lines, "", ", one because"),
			f->rank->lines_reason.text);
	if (!f->row_count)
		return diag_fail(diag, ENOENT,
				 "no samples in '%s' in these epochs and this selection (see: "
				 "culprit prof --by file)",
				 name);
	for (size_t i = 1; i < f->row_count; i++)
		if (strcmp(f->rows[i]->file, f->rows[0]->file) != 0)
			return fail_several(f, name, diag);
	array_sort(f->rows, f->row_count, sizeof(*f->rows), compare_lines);
	return 0;
}

static int read_samples(struct report_session *s, struct list_file_report *f, struct diag *diag)
{
	struct rank_options by = {.by = RANK_LINE, .function = s->options->function};
	struct rank_source source = report_session_source(s);
	int r = report_session_read(s, NULL, QUERY_WHOLE, diag);

	return r ? r : rank_new(s->query, &by, &source, &f->rank, diag);
}

static void describe(const struct report_session *s, const struct list_file_report *f,
		     struct report_header *h)
{
	uint64_t samples = 0;
	const char *problem;

	report_describe(h, s);
	report_describe_rank(h, s->query, f->rank, false);
	for (size_t i = 0; i < f->row_count; i++)
		samples += f->rows[i]->counts[0];
	report_header_note(h, "%s: %llu %s of %s, %.2f%% of all", f->rows[0]->file,
			   TEXT_COUNT(samples, "sample", "samples"), s->query->events[0].label,
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
}

/* Of all programs that it is in: one that was made from another text is enough. */
static enum source_age find_age(const struct list_file_report *f, uint64_t sampled_ns)
{
	enum source_age most = SOURCE_AS_BUILT;

	for (size_t i = 0; i < f->row_count; i++) {
		const struct rank_row *row = f->rows[i];
		enum source_age age = sources_age(f->sources, row->file, row->file_md5,
						  row->built_ns ? row->built_ns : sampled_ns);

		most = age > most ? age : most;
	}
	return most;
}

static int tabulate(const struct report_session *s, const struct list_options *o,
		    struct list_file_report *f, struct report_header *h, struct diag *diag)
{
	struct list_lines lines = {
		.query = s->query,
		.totals = f->rank->totals,
		.sources = f->sources,
		.rows = f->rows,
		.row_count = f->row_count,
		.age = f->age,
		.format = s->options->format,
		.hot = &f->hot,
	};
	int r = metrics_bind(&o->metrics, s->query, f->rank->totals, &lines.metrics, diag);

	if (r)
		return r;
	r = list_table_lines(&lines, &f->table);
	describe(s, f, h);
	list_hot_describe(&f->hot, h);
	metrics_describe(&lines.metrics, NULL, h);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

int list_file_make(struct report_session *s, const struct list_options *o,
		   struct list_file_report *ret, struct report_header *h, struct diag *diag)
{
	*ret = (struct list_file_report){.sources = sources_new(),
					 .hot.min_percent = o->min_percent};
	int r = ret->sources ? read_samples(s, ret, diag)
			     : diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = find_rows(ret, o->what, diag);
	if (r)
		return r;
	ret->age = find_age(ret, report_sampled_ns(s->reader));
	return tabulate(s, o, ret, h, diag);
}

void list_file_free(struct list_file_report *r)
{
	table_free(r->table);
	list_hot_free(&r->hot);
	free(r->rows);
	sources_free(r->sources);
	rank_free(r->rank);
}
