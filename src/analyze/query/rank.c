/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/rank.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

#define MEMORY_MAX_BYTES ((size_t)1 << 30)
#define ROWS_MAX	 (1u << 22)

/* The key of a row: equal keys are one row. */
struct key {
	uint64_t start; /* of the function */
	uint64_t loop;	/* the pointer */
	uint32_t image, group, file, line;
};

/* What the rows of a part go through. */
struct pass {
	const struct query *query;
	const struct rank_options *options;
	const struct rank_source *source;
	struct rank *rank;
	regex_t function;
	bool has_function;
	struct looked_up *looked_up; /* for each image, so that each is asked for once */

	/* The part at hand. */
	const struct query_part *part;
	const struct query_image *image;
	bool selected;			     /* its rows are wanted */
	const struct image_symbols *symbols; /* NULL: none, or not needed */
	struct key last_key;		     /* of the row that find_row gave last */
	size_t last_row;
	bool has_last;
	struct image_lines *lines; /* of kept rows, by their number; NULL: not needed */
	struct cfg_image *graphs;  /* NULL: not needed, or there are none */
	struct loop_tally *loops;  /* as graphs */
};

struct looked_up {
	const struct image_symbols *symbols;
	bool done;
};

/* Rows that follow each other and are in one function. */
struct stretch {
	size_t begin, end;
	const struct image_function *function; /* NULL: none */
	bool idle, keep;
};

enum query_group rank_group(enum rank_by by)
{
	return by == RANK_PROCESS   ? QUERY_PROCESS
	       : by == RANK_THREAD  ? QUERY_THREAD
	       : by == RANK_SUBJECT ? QUERY_SUBJECT
				    : QUERY_WHOLE;
}

static bool needs_lines(const struct rank_options *options)
{
	return options->by == RANK_FILE || options->by == RANK_LINE;
}

static bool needs_graphs(const struct rank_options *options)
{
	return options->by == RANK_LOOP || options->loops;
}

static bool needs_symbols(const struct pass *s)
{
	return s->options->by == RANK_FUNCTION || s->options->by == RANK_LINE ||
	       s->options->by == RANK_LOOP || s->has_function || image_id_is_kernel(&s->image->id);
}

int rank_add_row(struct rank *k, const struct query *q, const struct rank_row *shown,
		 struct rank_row **ret)
{
	if (k->row_count == ROWS_MAX)
		return -ENOSPC;
	if (array_grow(&k->rows, k->row_count, &k->row_room, sizeof(*k->rows), 256))
		return -ENOMEM;
	*ret = &k->rows[k->row_count];
	**ret = *shown;
	(*ret)->counts = arena_alloc(k->memory, q->event_count * sizeof(uint64_t));
	if (!(*ret)->counts)
		return -ENOMEM;
	k->row_count++;
	return 0;
}

/* The row of a key, made if need be with what is shown of it. */
static int find_row(struct pass *s, const struct key *key, const struct rank_row *shown,
		    struct rank_row **ret)
{
	struct rank *k = s->rank;
	uint64_t index;
	uint32_t number;

	/* Neighbours mostly go to the same row. */
	if (s->has_last && !memcmp(key, &s->last_key, sizeof(*key))) {
		*ret = &k->rows[s->last_row];
		return 0;
	}
	int r = intern_add(k->keys, key, sizeof(*key), &number);
	if (!r && map64_get(k->keyed_rows, number, &index)) {
		index = k->row_count;
		r = map64_put(k->keyed_rows, number, index);
		if (!r)
			r = rank_add_row(k, s->query, shown, ret);
	}
	if (r)
		return r;
	s->has_last = true;
	s->last_key = *key;
	s->last_row = (size_t)index;
	*ret = &k->rows[index];
	return 0;
}

static int intern_name(struct rank *k, const char *name, const char **ret, uint32_t *ret_index)
{
	int r = intern_add(k->names, name, strlen(name), ret_index);

	if (!r)
		*ret = intern_get(k->names, *ret_index, NULL);
	return r;
}

/* The row for the rows of a stretch, as far as it is not by line. */
static int place_stretch(struct pass *s, const struct stretch *t, struct key *key,
			 struct rank_row *shown)
{
	bool unknown = s->image->id.kind == IMAGE_UNKNOWN;

	*key = (struct key){.image = UINT32_MAX, .group = s->part->group};
	*shown = (struct rank_row){.group = s->part->group};
	if (rank_group(s->options->by) != QUERY_WHOLE)
		return 0;
	shown->image = s->image;
	/* Addresses that nothing explains are one row, whatever process they are from. */
	key->image = unknown ? UINT32_MAX : s->part->image;
	if (s->options->by == RANK_FUNCTION || s->options->by == RANK_LINE) {
		key->start = t->function ? t->function->start : UINT64_MAX;
		shown->function = unknown	? RANK_UNKNOWN
				  : t->function ? t->function->demangled
						: RANK_NO_SYMBOL;
		shown->sampled = s->part->rows[t->begin].offset;
	}
	if ((s->options->by == RANK_FUNCTION || s->options->by == RANK_LINE) && t->function) {
		shown->start = t->function->start;
		shown->size = t->function->size;
	}
	return 0;
}

static int add_stretch(struct pass *s, const struct stretch *t)
{
	struct rank_row shown, *row;
	struct key key;
	int r = place_stretch(s, t, &key, &shown);

	/* A function of an image and group is met once: it needs no looking for. */
	if (!r && s->options->by == RANK_FUNCTION && t->function)
		r = rank_add_row(s->rank, s->query, &shown, &row);
	else if (!r)
		r = find_row(s, &key, &shown, &row);
	for (size_t i = t->begin; i < t->end && !r; i++) {
		const struct query_row *q = &s->part->rows[i];

		row->counts[q->event] = num_add_sat(row->counts[q->event], q->count);
	}
	return r;
}

static int intern_md5(struct rank *k, const uint8_t *md5, const uint8_t **ret)
{
	uint32_t index;
	int r = intern_add(k->names, md5, IMAGE_LINES_MD5_BYTES, &index);

	if (!r)
		*ret = intern_get(k->names, index, NULL);
	return r;
}

/* One address of a stretch by its line: where it was written, so the innermost of its frames. */
static int add_line(struct pass *s, const struct stretch *t, const struct image_frame *frame,
		    const struct query_row *q)
{
	struct rank_row shown, *row;
	const char *function;
	uint32_t index;
	struct key key;
	int r = place_stretch(s, t, &key, &shown);

	if (!r && frame && frame->file) {
		key.start = shown.start = shown.size = 0;
		key.line = shown.line = s->options->by == RANK_LINE ? frame->line : 0;
		r = intern_name(s->rank, frame->file, &shown.file, &index);
		key.file = index + 1;
		shown.built_ns = frame->built_ns;
		if (!r && frame->file_md5)
			r = intern_md5(s->rank, frame->file_md5, &shown.file_md5);
		if (!r && s->options->by == RANK_LINE && frame->function) {
			r = intern_name(s->rank, frame->function, &function, &index);
			shown.function = function;
		}
	}
	if (!r && s->loops)
		r = loop_tally_nest(s->loops, q->offset, s->rank->memory, &shown.loop);
	key.loop = (uint64_t)(uintptr_t)shown.loop;
	if (!r)
		r = find_row(s, &key, &shown, &row);
	if (!r)
		row->counts[q->event] = num_add_sat(row->counts[q->event], q->count);
	return r;
}

/* The next stretch after the row `begin`. Looks a function up once, not once a row. */
static struct stretch next_stretch(const struct pass *s, size_t begin)
{
	const struct query_row *rows = s->part->rows;
	struct stretch t = {.begin = begin, .end = s->part->row_count, .keep = true};

	if (s->symbols) {
		t.function = image_symbols_find(s->symbols, rows[begin].offset);
		t.end = begin + 1;
		/* Without a function, only the same address again. */
		while (t.end < s->part->row_count &&
		       (t.function ? rows[t.end].offset - t.function->start < t.function->size
				   : rows[t.end].offset == rows[begin].offset))
			t.end++;
	}
	t.idle = t.function && rank_is_idle(&s->image->id, t.function->name);
	if (s->has_function)
		t.keep = t.function && !regexec(&s->function, t.function->demangled, 0, NULL, 0);
	return t;
}

static void add_sums(const struct pass *s, const struct stretch *t, uint64_t *sums)
{
	for (size_t i = t->begin; i < t->end; i++) {
		const struct query_row *q = &s->part->rows[i];

		sums[q->event] = num_add_sat(sums[q->event], q->count);
	}
}

/* Whether the rows of the stretch are to be ranked. */
static bool is_kept(const struct pass *s, const struct stretch *t)
{
	return s->selected && t->keep && (s->options->idle || !t->idle);
}

/* The lines of addresses; it is no error when nothing is known of them. */
static int ask_lines(struct pass *s, const uint64_t *addresses, size_t count)
{
	struct diag detail = {""};
	int r = s->source->lines(s->source->arg, &s->image->id, s->image->path, addresses, count,
				 &s->lines, &detail);

	if (!r || r == -ENOMEM)
		return r;
	if (!s->rank->images_without_lines++)
		s->rank->lines_reason = detail;
	s->lines = NULL;
	return 0;
}

static int load_lines(struct pass *s)
{
	uint64_t *addresses = reallocarray(NULL, s->part->row_count + 1, sizeof(*addresses));
	size_t count = 0;

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < s->part->row_count;) {
		struct stretch t = next_stretch(s, i);

		for (i = t.begin; i < t.end; i++) {
			uint64_t offset = s->part->rows[i].offset;

			if (is_kept(s, &t) && (!count || addresses[count - 1] != offset))
				addresses[count++] = offset;
		}
	}
	int r = count ? ask_lines(s, addresses, count) : 0;
	free(addresses);
	return r;
}

static int add_lines(struct pass *s, const struct stretch *t, size_t *address)
{
	const struct query_row *rows = s->part->rows;
	const struct image_frame *frames = NULL;
	int r = 0;

	for (size_t i = t->begin; i < t->end && !r; i++) {
		size_t count = 0;

		if (i > t->begin && rows[i].offset != rows[i - 1].offset)
			++*address;
		if (s->lines)
			count = image_lines_frames(s->lines, *address, &frames);
		r = add_line(s, t, count ? frames : NULL, &rows[i]);
	}
	++*address;
	return r;
}

/* The row of what is in no loop of the image. */
static int find_other(struct pass *s, enum loop_place place, struct rank_row **ret)
{
	bool unknown = s->image->id.kind == IMAGE_UNKNOWN;
	struct key key = {.start = place, .image = s->part->image, .group = QUERY_NO_GROUP};
	struct rank_row shown = {.image = s->image, .group = QUERY_NO_GROUP};

	shown.function = unknown		 ? RANK_UNKNOWN
			 : place == LOOP_OUTSIDE ? RANK_NO_LOOP
						 : RANK_NO_CODE;
	if (unknown)
		key.image = UINT32_MAX;
	return find_row(s, &key, &shown, ret);
}

static int add_to_loops(struct pass *s, const struct stretch *t)
{
	struct rank_row *row;
	int r = 0;

	for (size_t i = t->begin; i < t->end && !r; i++) {
		const struct query_row *q = &s->part->rows[i];
		int place = LOOP_NO_CODE;

		if (s->loops)
			place = loop_tally_add(s->loops, q->offset, q->event, q->count);
		if (place < 0)
			return place;
		if (place == LOOP_INSIDE)
			continue;
		r = find_other(s, place, &row);
		if (!r)
			row->counts[q->event] = num_add_sat(row->counts[q->event], q->count);
	}
	return r;
}

static int add_loop(struct pass *s, const struct loop_sum *sum, const struct image_frame *frame)
{
	size_t bytes = s->query->event_count * sizeof(uint64_t);
	const struct image_function *f =
		s->symbols ? image_symbols_find(s->symbols, sum->header) : NULL;
	struct rank_row shown = {
		.image = s->image,
		.function = f ? f->demangled : RANK_NO_SYMBOL,
		.group = QUERY_NO_GROUP,
		.depth = sum->depth,
		.irreducible = sum->irreducible,
		.header = sum->header,
		.parent = sum->parent,
	};
	struct rank_row *row;
	uint32_t index;
	int r = 0;

	if (frame && frame->file) {
		r = intern_name(s->rank, frame->file, &shown.file, &index);
		shown.line = frame->line;
	}
	shown.own = arena_alloc(s->rank->memory, bytes);
	if (!r)
		r = shown.own ? rank_add_row(s->rank, s->query, &shown, &row) : -ENOMEM;
	if (!r) {
		memcpy(row->own, sum->own, bytes);
		memcpy(row->counts, sum->total, bytes);
	}
	return r;
}

/* A row for each loop, once all samples of the image are counted. */
static int add_loops(struct pass *s)
{
	const struct image_frame *frames = NULL;
	const struct loop_sum *sums;
	uint64_t *headers;
	size_t count;
	int r = loop_tally_sums(s->loops, &sums, &count);

	if (r)
		return r;
	headers = reallocarray(NULL, count + 1, sizeof(*headers));
	if (!headers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		headers[i] = sums[i].header;
	r = count ? ask_lines(s, headers, count) : 0;
	free(headers);
	for (size_t i = 0; i < count && !r; i++) {
		size_t known = s->lines ? image_lines_frames(s->lines, i, &frames) : 0;

		r = add_loop(s, &sums[i], known ? frames : NULL);
	}
	s->rank->functions_incomplete += loop_tally_incomplete(s->loops);
	return r;
}

static int load_graphs(struct pass *s)
{
	struct diag detail = {""};
	int r = s->source->graphs(s->source->arg, &s->image->id, s->image->path, &s->graphs,
				  &detail);

	if (!r)
		return loop_tally_new(s->graphs, s->query->event_count, &s->loops);
	if (r == -ENOMEM)
		return r;
	s->graphs = NULL;
	if (!s->rank->images_without_graphs++)
		s->rank->graphs_reason = detail;
	return 0;
}

static int add_kept(struct pass *s, const struct stretch *t, size_t *address)
{
	if (needs_lines(s->options))
		return add_lines(s, t, address);
	return s->options->by == RANK_LOOP ? add_to_loops(s, t) : add_stretch(s, t);
}

static int rank_rows(struct pass *s)
{
	size_t address = 0; /* index of the lines that were asked for */
	int r = 0;

	for (size_t i = 0; i < s->part->row_count && !r;) {
		struct stretch t = next_stretch(s, i);

		if (t.idle)
			add_sums(s, &t, s->rank->idle);
		if (is_kept(s, &t)) {
			add_sums(s, &t, s->rank->ranked);
			r = add_kept(s, &t, &address);
		}
		i = t.end;
	}
	return r;
}

/* The symbols of the image at hand; NULL when there are none. */
static int load_symbols(struct pass *s)
{
	struct looked_up *known = &s->looked_up[s->part->image];
	struct diag detail = {""};
	int r;

	if (!known->done) {
		r = s->source->symbols(s->source->arg, &s->image->id, s->image->path,
				       &known->symbols, &detail);
		if (r == -ENOMEM)
			return r;
		if (r) {
			known->symbols = NULL;
			if (!s->rank->images_without_symbols++)
				s->rank->symbols_reason = detail;
		}
		known->done = true;
	}
	s->symbols = known->symbols;
	return 0;
}

static int rank_part(struct pass *s, const struct query_part *part)
{
	bool known;
	int r = 0;

	s->part = part;
	s->image = &s->query->images[part->image];
	s->selected = part->selected &&
		      query_match_image(s->options->image, &s->image->id, s->image->path);
	s->symbols = NULL;
	s->lines = NULL;
	s->graphs = NULL;
	s->loops = NULL;
	if (!part->row_count)
		return 0;
	known = s->image->id.kind != IMAGE_UNKNOWN;
	if (known && needs_symbols(s))
		r = load_symbols(s);
	if (!r && known && needs_lines(s->options) && s->selected)
		r = load_lines(s);
	if (!r && known && needs_graphs(s->options) && s->selected)
		r = load_graphs(s);
	if (!r)
		r = rank_rows(s);
	if (!r && s->loops && s->options->by == RANK_LOOP)
		r = add_loops(s);
	loop_tally_free(s->loops);
	cfg_image_free(s->graphs);
	image_lines_free(s->lines);
	return r;
}

static int rank_start(struct pass *s, struct diag *diag)
{
	size_t events = s->query->event_count + 1;
	struct rank *k = s->rank;

	s->looked_up = calloc(intern_count(s->query->image_keys) + 1, sizeof(*s->looked_up));
	k->memory = arena_new(MEMORY_MAX_BYTES);
	k->keys = intern_new(ROWS_MAX);
	k->keyed_rows = map64_new(ROWS_MAX);
	k->names = intern_new(ROWS_MAX);
	if (!s->looked_up || !k->memory || !k->keys || !k->keyed_rows || !k->names)
		return diag_fail(diag, ENOMEM, "out of memory");
	k->totals = arena_alloc(k->memory, events * sizeof(uint64_t));
	k->idle = arena_alloc(k->memory, events * sizeof(uint64_t));
	k->ranked = arena_alloc(k->memory, events * sizeof(uint64_t));
	if (!k->totals || !k->idle || !k->ranked)
		return diag_fail(diag, ENOMEM, "out of memory");
	if (!s->options->function)
		return 0;
	int r = pattern_compile(s->options->function, &s->function, diag);
	s->has_function = !r;
	return r;
}

int rank_new(const struct query *q, const struct rank_options *options,
	     const struct rank_source *source, struct rank **ret, struct diag *diag)
{
	struct pass s = {.query = q, .options = options, .source = source};

	s.rank = calloc(1, sizeof(*s.rank));
	if (!s.rank)
		return diag_fail(diag, ENOMEM, "out of memory");
	int r = rank_start(&s, diag);
	for (size_t i = 0; i < q->part_count && !r; i++) {
		r = rank_part(&s, &q->parts[i]);
		if (r)
			diag_fail(diag, -r, "%s",
				  r == -ENOSPC ? "the report has too many rows; select less"
					       : "out of memory");
	}
	free(s.looked_up);
	if (s.has_function)
		regfree(&s.function);
	if (r) {
		rank_free(s.rank);
		return r;
	}
	for (size_t i = 0; i < q->event_count; i++) {
		uint64_t idle = options->idle ? 0 : s.rank->idle[i];

		s.rank->totals[i] = q->events[i].samples - idle;
	}
	*ret = s.rank;
	return 0;
}

void rank_free(struct rank *k)
{
	if (!k)
		return;
	arena_free(k->memory);
	intern_free(k->keys);
	map64_free(k->keyed_rows);
	intern_free(k->names);
	free(k->rows);
	free(k);
}
