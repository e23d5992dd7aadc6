/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/functions.h"
#include "util/array.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch.h"

#define FUNCTIONS_MAX_BYTES (256u << 20)
#define NO_SYMBOL_BYTES	    256

/* How a name was matched; a better kind hides the worse. */
enum match { MATCH_NONE, MATCH_REGEX, MATCH_PART, MATCH_EXACT };

struct matcher {
	const char *text;
	regex_t regex;
	bool has_regex; /* false: text is none, so it can only be (a part of) a name */
	enum match best;
};

void functions_free(struct functions *f)
{
	if (!f)
		return;
	free(f->list);
	arena_free(f->memory);
	free(f);
}

static struct functions *functions_new(void)
{
	struct functions *f = calloc(1, sizeof(*f));

	if (f && !(f->memory = arena_new(FUNCTIONS_MAX_BYTES))) {
		free(f);
		return NULL;
	}
	return f;
}

static struct function_hit *add_hit(struct functions *f, const struct query *q,
				    const struct query_image *image)
{
	if (array_grow(&f->list, f->count, &f->room, sizeof(*f->list), 16))
		return NULL;
	uint64_t *counts = arena_alloc(f->memory, (q->event_count + 1) * sizeof(*counts));
	if (!counts)
		return NULL;
	struct function_hit *hit = &f->list[f->count++];
	*hit = (struct function_hit){.image = image, .counts = counts};
	return hit;
}

static enum match match_name(const struct matcher *m, const char *name)
{
	if (strcmp(name, m->text) == 0)
		return MATCH_EXACT;
	if (m->best < MATCH_EXACT && strstr(name, m->text))
		return MATCH_PART;
	if (m->best < MATCH_PART && m->has_regex && regexec(&m->regex, name, 0, NULL, 0) == 0)
		return MATCH_REGEX;
	return MATCH_NONE;
}

static enum match match_function(const struct matcher *m, const struct image_function *fn)
{
	enum match a = match_name(m, fn->demangled), b = match_name(m, fn->name);

	return a > b ? a : b;
}

/* The end of the rows of one function, which begin at row i. */
static size_t rows_end(const struct query_part *p, size_t i, const struct image_function *fn)
{
	while (i < p->row_count && p->rows[i].offset - fn->start < fn->size)
		i++;
	return i;
}

static void add_rows(struct function_hit *hit, const struct query_part *p, size_t i, size_t end)
{
	for (; i < end; i++)
		hit->counts[p->rows[i].event] += p->rows[i].count;
}

static int add_function(struct functions *f, const struct query *q, const struct query_part *p,
			size_t first, size_t end, const struct image_function *fn)
{
	struct function_hit *hit = add_hit(f, q, &q->images[p->image]);

	if (!hit)
		return -ENOMEM;
	hit->start = fn->start;
	hit->size = fn->size;
	hit->name = fn->name;
	hit->demangled = fn->demangled;
	add_rows(hit, p, first, end);
	return 0;
}

static int match_part(struct functions *f, const struct query *q, const struct query_part *p,
		      const struct image_symbols *symbols, struct matcher *m)
{
	int r = 0;

	for (size_t i = 0; i < p->row_count && !r;) {
		const struct image_function *fn = image_symbols_find(symbols, p->rows[i].offset);

		if (!fn) {
			i++;
			continue;
		}
		size_t end = rows_end(p, i, fn);
		enum match match = match_function(m, fn);
		if (match > m->best) {
			m->best = match;
			f->count = 0;
		}
		if (match != MATCH_NONE && match == m->best)
			r = add_function(f, q, p, i, end, fn);
		i = end;
	}
	return r;
}

static const struct image_symbols *part_symbols(struct functions *f, const struct query *q,
						const struct query_part *p,
						const struct rank_source *source)
{
	const struct query_image *image = &q->images[p->image];
	const struct image_symbols *symbols = NULL;
	struct diag diag = {""};

	if (source->symbols(source->arg, &image->id, image->path, &symbols, &diag) == 0)
		return symbols;
	if (f->images_without_symbols++ == 0)
		f->symbols_reason = diag;
	return NULL;
}

static int compare_hits(const void *pa, const void *pb)
{
	const struct function_hit *a = pa, *b = pb;

	if (a->counts[0] != b->counts[0])
		return a->counts[0] > b->counts[0] ? -1 : 1;
	int images = strcmp(a->image->path, b->image->path);
	return images ? images : a->start < b->start ? -1 : a->start > b->start;
}

static int finish(struct functions *f, int r, struct functions **ret, struct diag *diag)
{
	if (r < 0) {
		functions_free(f);
		return diag_fail(diag, -r, "out of memory for functions");
	}
	array_sort(f->list, f->count, sizeof(*f->list), compare_hits);
	*ret = f;
	return 0;
}

int functions_by_name(const struct query *q, const struct rank_source *source, const char *text,
		      struct functions **ret, struct diag *diag)
{
	struct matcher m = {.text = text};
	struct functions *f = functions_new();
	int r = f ? 0 : -ENOMEM;

	m.has_regex = regcomp(&m.regex, text, REG_EXTENDED | REG_NOSUB) == 0;
	for (size_t i = 0; i < q->part_count && !r; i++) {
		const struct query_part *p = &q->parts[i];

		if (!p->selected)
			continue;
		const struct image_symbols *symbols = part_symbols(f, q, p, source);
		if (symbols)
			r = match_part(f, q, p, symbols, &m);
	}
	if (m.has_regex)
		regfree(&m.regex);
	return finish(f, r, ret, diag);
}

static int match_unsampled(struct functions *f, const struct query *q, const struct query_part *p,
			   const struct image_symbols *symbols, const char *name)
{
	int r = 0;

	for (size_t i = 0; i < image_symbols_count(symbols) && !r; i++) {
		const struct image_function *fn = image_symbols_at(symbols, i);

		if (!strcmp(fn->demangled, name) || !strcmp(fn->name, name))
			r = add_function(f, q, p, 0, 0, fn);
	}
	return r;
}

static bool want_none(void *arg, const struct db_profile *p)
{
	(void)arg;
	(void)p;
	return false;
}

static int see_counts(void *arg, const char *epoch, const char *name, const char *value)
{
	bool *counted = arg;

	(void)epoch;
	(void)value;
	*counted |= !strcmp(name, DB_COUNTS_FACT) || !strcmp(name, DB_PATHS_FACT);
	return 0;
}

/* Whether executions were counted, of what is selected. */
static bool has_counts(struct db_reader *reader)
{
	bool counted = false;
	struct db_visitor v = {.want = want_none, .fact = see_counts, .arg = &counted};

	return db_reader_query(reader, &v, NULL) == 0 && counted;
}

int functions_counted(const struct query *q, struct db_reader *reader,
		      const struct rank_source *source, const char *name, struct functions *f,
		      struct diag *diag)
{
	int r = 0;

	f->has_counts = has_counts(reader);
	if (!f->has_counts)
		return 0;
	f->images_without_symbols = 0;
	for (size_t i = 0; i < q->part_count && !r; i++) {
		const struct query_part *p = &q->parts[i];
		const struct image_symbols *symbols =
			p->selected ? part_symbols(f, q, p, source) : NULL;

		if (symbols)
			r = match_unsampled(f, q, p, symbols, name);
	}
	return r ? diag_fail(diag, -r, "out of memory for functions") : 0;
}

static int add_address(struct functions *f, const struct query *q, const struct query_part *p,
		       const struct image_symbols *symbols, uint64_t address, bool alone)
{
	const struct image_function *fn = symbols ? image_symbols_find(symbols, address) : NULL;
	struct image_function none = {address, NO_SYMBOL_BYTES, NULL, NULL, 0};
	size_t first = 0;

	if (!fn) {
		if (address > UINT64_MAX - NO_SYMBOL_BYTES)
			return 0;
		fn = &none;
	}
	while (first < p->row_count && p->rows[first].offset < fn->start)
		first++;
	size_t end = rows_end(p, first, fn);
	return first == end && (!alone || fn == &none) ? 0 : add_function(f, q, p, first, end, fn);
}

int functions_by_address(const struct query *q, const struct rank_source *source, uint64_t address,
			 struct functions **ret, struct diag *diag)
{
	struct functions *f = functions_new();
	size_t selected = 0;
	int r = f ? 0 : -ENOMEM;

	for (size_t i = 0; i < q->part_count; i++)
		selected += q->parts[i].selected;
	for (size_t i = 0; i < q->part_count && !r; i++) {
		const struct query_part *p = &q->parts[i];

		if (p->selected)
			r = add_address(f, q, p, part_symbols(f, q, p, source), address,
					selected == 1);
	}
	return finish(f, r, ret, diag);
}
