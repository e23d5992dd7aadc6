/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/source.h"
#include "util/array.h"
#include "util/num.h"
#include "util/quote.h"
#include "view/view_state.h"

/* The source text of the lines that a page shows: files with the most samples first, whole or, of
 * large ones, what is around the lines that are named. */

struct file_line {
	uint32_t file, line; /* number in files */
};

struct texts {
	struct view *v;
	struct sources *sources;
	struct file_line *lines; /* by file and line, of all places */
	size_t line_count;
};

static int compare_lines(const void *a, const void *b)
{
	const struct file_line *x = a, *y = b;

	return NUM_ORDER(x->file, y->file) ?: NUM_ORDER(x->line, y->line);
}

static int list_lines(struct texts *t)
{
	struct view *v = t->v;
	uint32_t file;

	t->lines = reallocarray(NULL, v->place_count + 1, sizeof(*t->lines));
	if (!t->lines)
		return -ENOMEM;
	for (size_t i = 0; i < v->place_count; i++) {
		if (!v->places[i].line ||
		    intern_find(v->file_keys, &v->places[i].file, sizeof(uint32_t), &file))
			continue;
		t->lines[t->line_count++] = (struct file_line){file, v->places[i].line};
	}
	array_sort(t->lines, t->line_count, sizeof(*t->lines), compare_lines);
	return 0;
}

/* Samples of each file: the sum over all levels of each address, so that callers count too. */
static void count_samples(struct view *v)
{
	uint32_t file;

	for (size_t i = 0; i < v->flat_count; i++) {
		const struct view_frame *f = &v->frames[v->flat[i].at];

		for (uint32_t k = 0; k < f->place_count; k++)
			if (!intern_find(v->file_keys, &v->places[f->first_place + k].file,
					 sizeof(uint32_t), &file))
				v->files[file].samples += v->flat[i].count;
	}
}

static int compare_files(const void *a, const void *b, void *arg)
{
	const struct view_file *files = arg;
	const struct view_file *x = &files[*(const uint32_t *)a], *y = &files[*(const uint32_t *)b];

	return NUM_ORDER(y->samples, x->samples) ?: NUM_ORDER(x->name, y->name);
}

/* [first, ["line", ...]], up to the last or the file's end. */
static void put_lines(struct texts *t, const char *path, uint32_t first, uint32_t last,
		      struct buf *to)
{
	buf_printf(to, "[%u,[", first);
	for (uint32_t line = first; line <= last; line++) {
		struct diag why;
		const char *one = sources_line(t->sources, path, line, &why);

		if (!one)
			break;
		if (line > first)
			buf_append_u8(to, ',');
		quote_json(to, one);
	}
	buf_printf(to, "]]");
}

/* Of a large file: what is around the lines, in pieces. */
static void put_pieces(struct texts *t, const char *path, const struct file_line *lines,
		       size_t count, struct buf *to)
{
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		const uint32_t first =
			lines[i].line > VIEW_AROUND ? lines[i].line - VIEW_AROUND : 1;

		for (end = i + 1;
		     end < count && lines[end].line - lines[end - 1].line <= 2 * VIEW_AROUND;)
			end++;
		if (i)
			buf_append_u8(to, ',');
		put_lines(t, path, first, lines[end - 1].line + VIEW_AROUND, to);
	}
}

static void find_lines(const struct texts *t, uint32_t file, const struct file_line **ret,
		       size_t *ret_count)
{
	size_t low = 0, high = t->line_count, end;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (t->lines[middle].file < file)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < t->line_count && t->lines[end].file == file;)
		end++;
	*ret = t->lines + low;
	*ret_count = end - low;
}

/* {"file": string, "age": text or null, "text": [[first line, [line, ...]], ...]} */
static int put_file(struct texts *t, uint32_t number)
{
	struct view *v = t->v;
	struct view_file *file = &v->files[number];
	const struct view_set *set = &v->sets[0];
	const struct file_line *lines;
	enum source_age age;
	size_t count, size;
	const char *path = intern_get(v->strings, file->name, &size), *name;
	struct diag why;

	if (file->read)
		return 0;
	file->read = true;
	find_lines(t, number, &lines, &count);
	if (!count || !sources_line(t->sources, path, 1, &why))
		return 0;
	if (v->sources.size > VIEW_SOURCE_MAX) {
		v->counts.sources_refused++;
		return 0;
	}
	age = sources_age(t->sources, path, file->has_md5 ? file->md5 : NULL,
			  file->built_ns ? file->built_ns
					 : report_sampled_ns(set->session->reader));
	name = source_age_name(age);
	buf_printf(&v->sources, "%s\n{\"file\":%u,\"age\":", v->sources.size ? "," : "",
		   file->name);
	if (name)
		quote_json(&v->sources, name);
	else
		buf_printf(&v->sources, "null");
	buf_printf(&v->sources, ",\"text\":[");
	if (sources_line(t->sources, path, VIEW_WHOLE_LINES, &why))
		put_pieces(t, path, lines, count, &v->sources);
	else
		put_lines(t, path, 1, VIEW_WHOLE_LINES, &v->sources);
	buf_printf(&v->sources, "]}");
	v->counts.sources++;
	return v->sources.error;
}

static int put_all(struct texts *t)
{
	struct view *v = t->v;
	uint32_t *order = reallocarray(NULL, v->file_count + 1, sizeof(*order));
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < v->file_count && !r; i++)
		order[i] = (uint32_t)i;
	if (!r && v->file_count)
		qsort_r(order, v->file_count, sizeof(*order), compare_files, v->files);
	for (size_t i = 0; i < v->file_count && !r; i++)
		r = put_file(t, order[i]);
	free(order);
	return r;
}

int view_read_sources(struct view *v)
{
	struct texts t = {.v = v, .sources = sources_new()};
	int r = t.sources ? list_lines(&t) : -ENOMEM;

	if (!r) {
		count_samples(v);
		r = put_all(&t);
	}
	free(t.lines);
	sources_free(t.sources);
	return r;
}
