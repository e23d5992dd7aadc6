/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "structure/structure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/open.h"
#include "structure/scopes.h"
#include "util/array.h"
#include "util/num.h"

#define FUNCTIONS_MAX	 (4u << 20)
#define MEMORY_MAX_BYTES ((size_t)512 << 20) /* of what is kept of graphs */
#define FILES_MAX	 (1u << 20)
#define GRAPHS_KEPT	 4096	    /* functions whose graphs are in memory at the same time */
#define BATCH_BYTES	 (2u << 20) /* of code whose lines are */

struct structure {
	struct image_finder *finder;
	struct image_id id;
	char *path;
	const struct image_symbols *symbols; /* the finder's; NULL: none are known */
	struct machine_function *functions;
	size_t count, room;
	struct arena *memory;
	struct intern *files;
	bool lines;	   /* there are any */
	bool lines_broken; /* reading them failed: it is not tried again */
	struct diag without_lines;
	struct structure_counts counts;
};

/* Functions that follow one another in the list. */
struct batch {
	struct machine_function *functions;
	size_t count;
};

struct visiting {
	int (*visit)(void *arg, const struct structure_function *f);
	void *arg;
	int stopped; /* by a visit */
};

static int read_function(struct structure *s, const struct cfg_function *f)
{
	struct machine_function *m;

	if (s->count == FUNCTIONS_MAX) {
		s->counts.refused++;
		return 0;
	}
	if (array_grow(&s->functions, s->count, &s->room, sizeof(*s->functions), 256))
		return -ENOMEM;
	m = &s->functions[s->count];
	int r = machine_function_read(f, s->memory, m);
	if (r)
		return r;
	s->count++;
	s->counts.incomplete += !m->complete;
	s->counts.loops_refused += m->loops_refused;
	return 0;
}

/* Entries that only calls tell of are found on the way. A part of a function has an entry too. */
static int read_functions(struct structure *s, struct cfg_image *image)
{
	const struct cfg_function *f;
	int r = 0;

	for (size_t i = 0; i < cfg_image_count(image) && !r; i++) {
		const uint64_t entry = cfg_image_entry(image, i);

		if (i % GRAPHS_KEPT == GRAPHS_KEPT - 1)
			cfg_image_forget_functions(image);
		r = cfg_image_function(image, entry, &f);
		if (!r && f->entry == entry && f->instruction_count)
			r = read_function(s, f);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int read_image(struct structure *s, struct diag *diag)
{
	struct cfg_image *image;
	int r = cfg_image_open(s->finder, &s->id, s->path, &image, diag);

	if (r)
		return r;
	image_finder_idle(s->finder);
	r = read_functions(s, image);
	cfg_image_free(image);
	if (r)
		return diag_fail(diag, ENOMEM, "out of memory for the functions of %s", s->path);
	if (image_find_symbols(s->finder, &s->id, s->path, &s->symbols, NULL))
		s->symbols = NULL;
	return 0;
}

/* The last of the frames of each entry is the function's own. */
static int take_files(struct structure *s, const struct image_lines *lines, size_t from,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct image_frame *frames;
		const size_t n = image_lines_frames(lines, i, &frames);
		struct machine_function *f = &s->functions[from + i];

		if (!n || !frames[n - 1].file)
			continue;
		f->first_line = frames[n - 1].start_line;
		if (intern_add(s->files, frames[n - 1].file, strlen(frames[n - 1].file), &f->file))
			return -ENOMEM;
	}
	return 0;
}

/* Which file each function is of. Without lines, none. */
static int find_files(struct structure *s, size_t from, size_t count)
{
	uint64_t *entries = reallocarray(NULL, count + 1, sizeof(*entries));
	struct image_lines *lines = NULL;
	int r;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		entries[i] = s->functions[from + i].entry;
	r = image_find_lines(s->finder, &s->id, s->path, entries, count, &lines, &s->without_lines);
	free(entries);
	if (r)
		return r == -ENOMEM ? r : 0;
	s->lines = true;
	r = take_files(s, lines, from, count);
	image_lines_free(lines);
	return r;
}

/* "" is the file of those of which none is known: number 0. */
static int find_all_files(struct structure *s)
{
	uint32_t none;
	int r = intern_add(s->files, "", 0, &none);

	for (size_t i = 0; i < s->count && !r; i += IMAGE_WORKER_ADDRESSES_MAX) {
		const size_t left = s->count - i;

		r = find_files(s, i,
			       left < IMAGE_WORKER_ADDRESSES_MAX ? left
								 : IMAGE_WORKER_ADDRESSES_MAX);
	}
	return r;
}

static const char *file_of(const struct structure *s, const struct machine_function *f)
{
	return f->file ? intern_get(s->files, f->file, NULL) : NULL;
}

static int compare_functions(const void *pa, const void *pb, void *arg)
{
	const struct machine_function *a = pa, *b = pb;
	int order = 0;

	if (a->file != b->file && a->file && b->file)
		order = strcmp(file_of(arg, a), file_of(arg, b));
	else if (a->file != b->file)
		order = NUM_ORDER(!a->file, !b->file);
	return order ?: NUM_ORDER(a->entry, b->entry);
}

int structure_new(struct image_finder *finder, const struct image_id *id, const char *path,
		  struct structure **ret, struct diag *diag)
{
	struct structure *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->finder = finder;
	s->id = *id;
	s->path = strdup(path);
	s->memory = arena_new(MEMORY_MAX_BYTES);
	s->files = intern_new(FILES_MAX);
	if (s->path && s->memory && s->files)
		r = read_image(s, diag);
	else
		diag_fail(diag, ENOMEM, "out of memory");
	if (!r && find_all_files(s))
		r = diag_fail(diag, ENOMEM, "out of memory for the files of functions");
	if (r) {
		structure_free(s);
		return r;
	}
	if (s->count)
		qsort_r(s->functions, s->count, sizeof(*s->functions), compare_functions, s);
	*ret = s;
	return 0;
}

void structure_free(struct structure *s)
{
	if (!s)
		return;
	free(s->functions);
	free(s->path);
	arena_free(s->memory);
	intern_free(s->files);
	free(s);
}

static void count_scopes(struct structure_counts *c, const struct scopes *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		c->functions += s->list[i].kind == STRUCTURE_FUNCTION;
		c->loops += s->list[i].kind == STRUCTURE_LOOP;
		c->irreducible += s->list[i].irreducible;
		c->inlined += s->list[i].kind == STRUCTURE_INLINED;
		c->statements += s->list[i].kind == STRUCTURE_STATEMENT;
	}
}

static struct structure_scope describe(const struct structure *s, const struct machine_function *f)
{
	const struct image_function *named =
		s->symbols ? image_symbols_find(s->symbols, f->entry) : NULL;
	struct structure_scope scope = {
		.file = file_of(s, f),
		.first_line = f->first_line,
		.last_line = f->first_line,
		.address = f->entry,
	};

	if (named && named->start == f->entry) {
		scope.name = named->demangled;
		scope.linkage = named->named ? named->name : NULL;
	}
	return scope;
}

/* The table's names of files are others than ours, which are compared by address. */
static void adopt_file(const struct source *source, struct structure_scope *function)
{
	for (uint32_t i = 0; function->file && i < source->position_count; i++)
		if (!strcmp(source->positions[i].file, function->file)) {
			function->file = source->positions[i].file;
			return;
		}
}

/* lines: NULL: none. */
static int visit_function(struct structure *s, const struct machine_function *f,
			  const struct image_line_table *lines, struct visiting *v)
{
	struct structure_scope function = describe(s, f);
	struct source source;
	struct nest nest = {0};
	struct moves moves = {0};
	struct scopes scopes = {0};
	int r = source_new(f, lines, &source);

	if (!r)
		r = nest_new(&source, &nest);
	if (!r)
		r = moves_new(&nest, &moves);
	if (!r) {
		adopt_file(&source, &function);
		r = scopes_new(&moves, &function, &scopes);
	}
	if (!r) {
		const struct structure_function visited = {
			.complete = f->complete,
			.lines_refused = s->lines && !lines,
			.scopes = scopes.list,
			.scope_count = scopes.count,
		};

		count_scopes(&s->counts, &scopes);
		s->counts.lines_refused += visited.lines_refused;
		r = v->stopped = v->visit(v->arg, &visited);
	}
	scopes_free(&scopes);
	moves_free(&moves);
	nest_free(&nest);
	source_free(&source);
	return r;
}

static int compare_range(const void *pa, const void *pb)
{
	const struct image_range *a = pa, *b = pb;

	return NUM_ORDER(a->start, b->start) ?: NUM_ORDER(a->end, b->end);
}

/* All code of the batch: functions may share some, and lie between one another. */
static int list_code(const struct batch *b, struct image_range **ret, size_t *ret_count)
{
	struct image_range *list;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < b->count; i++)
		count += b->functions[i].piece_count;
	list = reallocarray(NULL, count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < b->count; i++)
		for (uint32_t k = 0; k < b->functions[i].piece_count; k++)
			list[count++] = (struct image_range){b->functions[i].pieces[k].start,
							     b->functions[i].pieces[k].end};
	array_sort(list, count, sizeof(*list), compare_range);
	for (size_t i = 0; i < count; i++) {
		if (kept && list[i].start <= list[kept - 1].end) {
			if (list[i].end > list[kept - 1].end)
				list[kept - 1].end = list[i].end;
		} else {
			list[kept++] = list[i];
		}
	}
	*ret = list;
	*ret_count = kept;
	return 0;
}

static int read_lines(struct structure *s, const struct batch *b, struct image_line_table *ret)
{
	struct image_range *code;
	size_t count;
	int r = list_code(b, &code, &count);

	if (r)
		return r;
	r = image_find_line_table(s->finder, &s->id, s->path, code, count, ret, NULL);
	free(code);
	return r;
}

/* A batch whose lines are too many is read in halves. */
static int visit_batch(struct structure *s, const struct batch *b, struct visiting *v)
{
	struct image_line_table lines = {0};
	int r = s->lines && !s->lines_broken ? read_lines(s, b, &lines) : -ENOENT, err = 0;

	if (r == -ENOMEM)
		return r;
	if (r == -EFBIG && b->count > 1) {
		const struct batch first = {b->functions, b->count / 2};
		const struct batch second = {b->functions + first.count, b->count - first.count};

		err = visit_batch(s, &first, v);
		return err ? err : visit_batch(s, &second, v);
	}
	s->lines_broken |= r && r != -EFBIG;
	for (size_t i = 0; i < b->count && !err; i++)
		err = visit_function(s, &b->functions[i], r ? NULL : &lines, v);
	image_line_table_free(&lines);
	return err;
}

static uint64_t code_bytes(const struct machine_function *f)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < f->piece_count; i++)
		bytes += f->pieces[i].end - f->pieces[i].start;
	return bytes;
}

int structure_each(struct structure *s, int (*visit)(void *arg, const struct structure_function *f),
		   void *arg, struct diag *diag)
{
	struct visiting v = {visit, arg, 0};
	int r = 0;

	for (size_t i = 0; i < s->count && !r;) {
		struct batch b = {&s->functions[i], 0};

		for (uint64_t bytes = 0; i < s->count && bytes < BATCH_BYTES; b.count++)
			bytes += code_bytes(&s->functions[i++]);
		r = visit_batch(s, &b, &v);
	}
	if (r && !v.stopped)
		return diag_fail(diag, ENOMEM, "out of memory for the scopes of %s", s->path);
	return r;
}

struct structure_counts structure_counts(const struct structure *s)
{
	return s->counts;
}

const char *structure_without_lines(const struct structure *s)
{
	return s->lines ? "" : s->without_lines.text;
}
