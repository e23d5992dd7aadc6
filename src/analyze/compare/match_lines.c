/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/match_lines.h"
#include "util/array.h"
#include "util/num.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/search.h"

#define KEYS_MAX (1u << 23)
#define NONE	 UINT32_MAX

/* An instruction of an aligned function whose line is asked for. */
struct spot {
	const struct query_image *image;
	uint64_t address;
	size_t unit;
};

/* A line of the first side, and the one of the second that so many instructions take it for. */
struct link {
	uint32_t a, b, votes;
};

/* Of a line that is linked. */
struct anchor {
	const char *file, *to_file;
	uint32_t line, to_line;
};

struct work {
	const struct diff_side *sides;
	const struct diff_code *code;
	struct match_lines *out;
	struct intern *lines; /* a file, a zero byte, a number; of both sides */
	uint32_t *unit_line[2];
	struct link *links;
	size_t link_count;
	uint32_t *to, *from; /* of each line, in the other side; NONE: no link */
	struct anchor *anchors;
	size_t anchor_count;
	struct intern *texts;  /* a file, a zero byte, its MD5; of the second side */
	struct intern *builds; /* identities of the second side's images */
};

/* The number of a file with what tells its line or text. find: 0 or -ENOENT. */
static int number_of(struct intern *t, const char *file, const void *tail, size_t size,
		     uint32_t *ret, bool find)
{
	size_t length = strlen(file) + 1;
	char *key = malloc(length + size);

	if (!key)
		return -ENOMEM;
	memcpy(key, file, length);
	memcpy(key + length, tail, size);
	int r = find ? intern_find(t, key, length + size, ret)
		     : intern_add(t, key, length + size, ret);
	free(key);
	return r;
}

static struct anchor line_of(const struct work *w, uint32_t a, uint32_t b)
{
	struct anchor at = {0};
	size_t size;

	at.file = intern_get(w->lines, a, &size);
	memcpy(&at.line, at.file + size - sizeof(at.line), sizeof(at.line));
	at.to_file = intern_get(w->lines, b, &size);
	memcpy(&at.to_line, at.to_file + size - sizeof(at.to_line), sizeof(at.to_line));
	return at;
}

static int compare_spots(const void *x, const void *y)
{
	const struct spot *a = x, *b = y;

	if (a->image != b->image)
		return NUM_ORDER(a->image, b->image);
	return NUM_ORDER(a->address, b->address);
}

/* The lines of spots that are all of one image. */
static int ask_lines(struct work *w, int s, const struct spot *spots, size_t count)
{
	const struct rank_source *source = &w->sides[s].graphs;
	uint64_t *addresses = reallocarray(NULL, count + 1, sizeof(*addresses));
	const struct image_frame *frame;
	struct image_lines *lines = NULL;
	int r = addresses ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++)
		addresses[i] = spots[i].address;
	if (!r)
		r = source->lines(source->arg, &spots[0].image->id, spots[0].image->path, addresses,
				  count, &lines, NULL);
	for (size_t i = 0; i < count && !r; i++)
		if (image_lines_frames(lines, i, &frame) && frame->file && frame->line)
			r = number_of(w->lines, frame->file, &frame->line, sizeof(frame->line),
				      &w->unit_line[s][spots[i].unit], false);
	image_lines_free(lines);
	free(addresses);
	/* Without lines there is nothing to compare, which the ranking has told. */
	return r == -ENOMEM || r == -ENOSPC ? r : 0;
}

static bool is_aligned(const struct diff_unit *u)
{
	return u->address[0] != ISA_NO_ADDRESS && u->address[1] != ISA_NO_ADDRESS &&
	       u->pair->how != MATCH_SAME && u->pair->row[0]->image && u->pair->row[1]->image;
}

static int find_lines(struct work *w, int s)
{
	struct spot *spots = reallocarray(NULL, w->code->count + 1, sizeof(*spots));
	size_t count = 0;
	int r = 0;

	w->unit_line[s] = reallocarray(NULL, w->code->count + 1, sizeof(**w->unit_line));
	if (!spots || !w->unit_line[s])
		r = -ENOMEM;
	for (size_t i = 0; i < w->code->count && !r; i++) {
		const struct diff_unit *u = &w->code->units[i];

		w->unit_line[s][i] = NONE;
		if (is_aligned(u))
			spots[count++] = (struct spot){u->pair->row[s]->image, u->address[s], i};
	}
	if (!r && count)
		array_sort(spots, count, sizeof(*spots), compare_spots);
	for (size_t i = 0, n; i < count && !r; i += n) {
		for (n = 1; i + n < count && spots[i + n].image == spots[i].image;)
			n++;
		r = ask_lines(w, s, spots + i, n);
	}
	free(spots);
	return r;
}

static int compare_links(const void *x, const void *y)
{
	const struct link *a = x, *b = y;

	return a->a != b->a ? NUM_ORDER(a->a, b->a) : NUM_ORDER(a->b, b->b);
}

static int compare_votes(const void *x, const void *y)
{
	const struct link *a = x, *b = y;

	if (a->votes != b->votes)
		return NUM_ORDER(b->votes, a->votes);
	if ((a->a == a->b) != (b->a == b->b)) /* what did not move, first */
		return a->a == a->b ? -1 : 1;
	return compare_links(x, y);
}

/* Each line to one at most, those that most instructions tell first. */
static int elect(struct work *w)
{
	size_t lines = intern_count(w->lines), n = 0;

	w->links = reallocarray(NULL, w->code->count + 1, sizeof(*w->links));
	w->to = reallocarray(NULL, lines + 1, sizeof(*w->to));
	w->from = reallocarray(NULL, lines + 1, sizeof(*w->from));
	if (!w->links || !w->to || !w->from)
		return -ENOMEM;
	memset(w->to, 0xff, (lines + 1) * sizeof(*w->to));
	memset(w->from, 0xff, (lines + 1) * sizeof(*w->from));
	for (size_t i = 0; i < w->code->count; i++) {
		struct link link = {w->unit_line[0][i], w->unit_line[1][i], 1};

		if (link.a != NONE && link.b != NONE)
			w->links[w->link_count++] = link;
	}
	array_sort(w->links, w->link_count, sizeof(*w->links), compare_links);
	for (size_t i = 0; i < w->link_count; i++) {
		if (n && !compare_links(&w->links[n - 1], &w->links[i]))
			w->links[n - 1].votes++;
		else
			w->links[n++] = w->links[i];
	}
	array_sort(w->links, n, sizeof(*w->links), compare_votes);
	w->link_count = n;
	for (size_t i = 0; i < n; i++) {
		const struct link *l = &w->links[i];

		if (w->to[l->a] != NONE || w->from[l->b] != NONE)
			continue;
		w->to[l->a] = l->b;
		w->from[l->b] = l->a;
	}
	return 0;
}

static int compare_anchors(const void *x, const void *y)
{
	const struct anchor *a = x, *b = y;
	int d = strcmp(a->file, b->file);

	return d ? d : NUM_ORDER(a->line, b->line);
}

static int set_anchors(struct work *w)
{
	uint32_t lines = intern_count(w->lines);

	w->anchors = reallocarray(NULL, lines + 1u, sizeof(*w->anchors));
	if (!w->anchors)
		return -ENOMEM;
	for (uint32_t a = 0; a < lines; a++)
		if (w->to[a] != NONE)
			w->anchors[w->anchor_count++] = line_of(w, a, w->to[a]);
	array_sort(w->anchors, w->anchor_count, sizeof(*w->anchors), compare_anchors);
	return 0;
}

/* What the second side has: builds, and texts of files. */
static int collect_texts(struct work *w, const struct rank *k)
{
	uint32_t number;
	int r = 0;

	for (size_t i = 0; i < k->row_count && !r; i++) {
		const struct rank_row *row = &k->rows[i];

		if (row->image)
			r = intern_add(w->builds, &row->image->id, sizeof(row->image->id), &number);
		if (!r && row->file && row->file_md5)
			r = number_of(w->texts, row->file, row->file_md5, IMAGE_LINES_MD5_BYTES,
				      &number, false);
	}
	return r;
}

/* The linked line that is nearest above, else below, in its file; NULL: the file has none. */
static const struct anchor *find_anchor(const struct work *w, const struct rank_row *row)
{
	const struct anchor key = {.file = row->file, .line = row->line};
	size_t next = SEARCH_FIRST(w->anchor_count, i, compare_anchors(&w->anchors[i], &key) > 0);

	if (next && !strcmp(w->anchors[next - 1].file, row->file))
		return &w->anchors[next - 1];
	return next < w->anchor_count && !strcmp(w->anchors[next].file, row->file)
		       ? &w->anchors[next]
		       : NULL;
}

/* Whether code tells that a line of the second side is another one of the first. */
static int is_taken(const struct work *w, const char *file, uint32_t line, bool *ret)
{
	uint32_t number;
	int r = number_of(w->lines, file, &line, sizeof(line), &number, true);

	*ret = !r && w->from[number] != NONE;
	return r == -ENOENT ? 0 : r;
}

static int place_row(struct work *w, const struct rank_row *row, struct match_line *ret)
{
	const struct anchor *at;
	uint32_t number;
	bool taken;
	int r;

	if (row->file_md5) {
		r = number_of(w->texts, row->file, row->file_md5, IMAGE_LINES_MD5_BYTES, &number,
			      true);
		if (r != -ENOENT) /* the same text */
			return r;
	}
	at = find_anchor(w, row);
	ret->how = MATCH_NUMBER;
	if (at && row->line + at->to_line <= at->line) { /* above the first line */
		*ret = (struct match_line){0};
		return 0;
	}
	if (at) {
		ret->file = at->to_file;
		ret->line = row->line + at->to_line - at->line;
		ret->how = at->line == row->line ? MATCH_CODE : MATCH_PLACE;
	}
	r = ret->how == MATCH_CODE ? 0 : is_taken(w, ret->file, ret->line, &taken);
	if (!r && ret->how != MATCH_CODE && taken)
		*ret = (struct match_line){0};
	return r;
}

/* Lines of a build that the second side has too are where they were. */
static bool has_build(const struct work *w, const struct rank_row *row)
{
	uint32_t number;

	return row->image &&
	       !intern_find(w->builds, &row->image->id, sizeof(row->image->id), &number);
}

/* The names of what is given out, which outlive this. */
static int keep_name(struct match_lines *m, struct match_line *line)
{
	uint32_t number;
	int r = line->file ? intern_add(m->names, line->file, strlen(line->file), &number) : 0;

	if (!r && line->file)
		line->file = intern_get(m->names, number, NULL);
	return r;
}

static int place_rows(struct work *w, const struct rank *const lines[2])
{
	struct match_lines *m = w->out;
	int r = 0;

	m->names = intern_new(KEYS_MAX);
	m->of = calloc(lines[0]->row_count + 1, sizeof(*m->of));
	if (!m->names || !m->of)
		return -ENOMEM;
	for (size_t i = 0; i < lines[0]->row_count && !r; i++) {
		const struct rank_row *row = &lines[0]->rows[i];

		m->of[i] = (struct match_line){row->file, row->line, MATCH_SAME};
		if (row->file && row->line && !has_build(w, row))
			r = place_row(w, row, &m->of[i]);
		if (!r)
			r = keep_name(m, &m->of[i]);
	}
	return r;
}

static int work_through(struct work *w, const struct rank *const lines[2])
{
	int r = 0;

	w->lines = intern_new(KEYS_MAX);
	w->texts = intern_new(KEYS_MAX);
	w->builds = intern_new(KEYS_MAX);
	if (!w->lines || !w->texts || !w->builds)
		return -ENOMEM;
	for (int s = 0; s < 2 && !r; s++)
		r = find_lines(w, s);
	if (!r)
		r = elect(w);
	if (!r)
		r = set_anchors(w);
	if (!r)
		r = collect_texts(w, lines[1]);
	return r ? r : place_rows(w, lines);
}

int match_lines_new(const struct diff_side functions[2], const struct rank *const lines[2],
		    struct match_lines **ret)
{
	const struct match_side sides[2] = {functions[0].match, functions[1].match};
	struct work w = {.sides = functions, .out = calloc(1, sizeof(*w.out))};
	struct diff_code *code = NULL;
	struct match *match = NULL;
	int r = w.out ? match_new(sides, &match) : -ENOMEM;

	if (!r)
		r = diff_code_new(functions, match, false, &code);
	w.code = code;
	if (!r)
		r = work_through(&w, lines);
	diff_code_free(code);
	match_free(match);
	intern_free(w.lines);
	intern_free(w.texts);
	intern_free(w.builds);
	free(w.unit_line[0]);
	free(w.unit_line[1]);
	free(w.links);
	free(w.to);
	free(w.from);
	free(w.anchors);
	if (r)
		match_lines_free(w.out);
	else
		*ret = w.out;
	return r;
}

void match_lines_free(struct match_lines *m)
{
	if (!m)
		return;
	intern_free(m->names);
	free(m->of);
	free(m);
}
