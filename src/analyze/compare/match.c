/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

#define KEYS_MAX     (1u << 23)
#define KEY_MAX	     (1u << 20)
#define SIMILAR_MAX  1000 /* functions of a side that are looked for by code, most samples first */
#define SIMILAR_MIN  0.5  /* what is taken for the same function under another name */
#define NAMED_MIN    0.25 /* ... under a name that is the same but for what compilers append */
#define INSTRUCTIONS 8	  /* less code than that is like any other */
#define NONE	     UINT32_MAX

/* A function of one side. */
struct item {
	const struct rank_row *row;
	struct code_shape *shape;
	bool shaped;
	uint32_t partner; /* in the other side's list */
	uint32_t next;	  /* of the same key */
	enum match_how how;
	double similarity;
};

struct list {
	const struct match_side *side;
	struct item *items;
	size_t count;
	struct intern *builds; /* identities of its images */
	struct intern *names;  /* (image's stem, function) of all that its images have */
};

/* How images and functions are keyed, from the surest to the loosest. */
enum key_kind { KEY_BUILD, KEY_PATH, KEY_STEM, KEY_CLONE, KEY_KINDS };

const char *match_how_name(enum match_how how)
{
	static const char *const names[] = {"", "same", "name", "code", "place", "number"};

	return names[how];
}

/* "/lib/libz.so.1.3" and "/opt/libz.so.1.2.11": "libz"; "app-2" and "app-1.1": "app". */
static size_t stem_of(const char *path, const char **ret)
{
	const char *base = text_base_name(path), *so = strstr(base, ".so");
	size_t size = so && so > base ? (size_t)(so - base) : strlen(base);

	while (!so && size > 1 && strchr("0123456789.-_v", base[size - 1]))
		size--;
	*ret = base;
	return size;
}

/* What GCC and LLVM put behind the name of a function's clone. */
static size_t clone_stem(const char *name)
{
	const char *dot = strchr(name + (*name != 0), '.');

	return dot ? (size_t)(dot - name) : strlen(name);
}

static const char *path_of(const struct rank_row *row)
{
	bool known = row->image && row->image->id.kind != IMAGE_UNKNOWN;

	return known && row->image->path ? row->image->path : "";
}

static void append_function(struct buf *b, enum key_kind kind, const char *path, const char *name)
{
	const char *stem;
	size_t size = stem_of(path, &stem);

	if (kind == KEY_PATH)
		buf_append(b, path, strlen(path));
	else
		buf_append(b, stem, size);
	buf_append_u8(b, 0);
	buf_append(b, name, kind == KEY_CLONE ? clone_stem(name) : strlen(name));
}

/* A file and line, as the other side has them. */
static void append_line(struct buf *b, const struct match_side *side, const struct rank_row *row)
{
	struct match_line at = {row->file, row->line};

	if (side->lines)
		at = side->lines[row - side->rank->rows];
	/* What the other side does not have has a key that nothing there has. */
	buf_append_u8(b, !at.file);
	buf_append(b, at.file ? at.file : row->file, strlen(at.file ? at.file : row->file));
	buf_append(b, at.file ? &at.line : &row->line, sizeof(at.line));
}

static void make_key(struct buf *b, enum key_kind kind, const struct match_side *side,
		     const struct rank_row *row)
{
	/* A line is what it is, whatever is compiled into it. */
	const char *name = row->function && !row->file ? row->function : "";

	b->size = 0;
	if (row->file)
		append_line(b, side, row);
	if (kind != KEY_BUILD) {
		append_function(b, kind, path_of(row), name);
	} else {
		if (row->image && *path_of(row))
			buf_append(b, &row->image->id, sizeof(row->image->id));
		buf_append(b, &row->start, sizeof(row->start));
		if (!row->size)
			buf_append(b, name, strlen(name));
	}
}

int match_shape(const struct match_side *side, const struct rank_row *row, struct code_shape **ret)
{
	const struct query_image *image = row->image;
	struct isa_decoder *decoder;
	uint16_t machine;
	unsigned bits;
	uint8_t *code;
	size_t size;

	*ret = NULL;
	if (!row->size || !image || image->id.kind == IMAGE_UNKNOWN || !side->code)
		return 0;
	int r = side->code(side->arg, &image->id, image->path, row->start,
			   row->size < CODE_SHAPE_CODE_MAX ? row->size : CODE_SHAPE_CODE_MAX, &code,
			   &size, NULL);
	if (r)
		return r == -ENOMEM ? r : 0;
	side->machine(side->arg, &image->id, image->path, &machine, &bits);
	r = isa_decoder_new(machine, bits, ISA_SYNTAX_ATT, &decoder, NULL);
	if (!r) {
		r = code_shape_new(decoder, code, size, row->start, ret);
		isa_decoder_free(decoder);
	}
	free(code);
	return r == -ENOMEM ? r : 0;
}

static int shape_item(const struct list *l, struct item *item)
{
	if (item->shaped)
		return 0;
	item->shaped = true;
	return match_shape(l->side, item->row, &item->shape);
}

/* 0 to 1, -1 when a side's code is not known, or -ENOMEM in *ret_error. */
static double compare(struct list *lists, struct item *a, struct item *b, int *ret_error)
{
	*ret_error = shape_item(&lists[0], a);
	if (!*ret_error)
		*ret_error = shape_item(&lists[1], b);
	if (*ret_error || !a->shape || !b->shape)
		return -1;
	return code_shape_similarity(a->shape, b->shape);
}

static void pair(struct list *lists, uint32_t i, uint32_t j, enum match_how how, double similarity)
{
	struct item *a = &lists[0].items[i], *b = &lists[1].items[j];

	a->partner = j;
	b->partner = i;
	a->how = b->how = how;
	a->similarity = b->similarity = similarity;
}

/* The best of those of b's that have the key of a's item i. */
static int pair_best(struct list *lists, enum key_kind kind, uint32_t i, uint32_t first)
{
	struct item *a = &lists[0].items[i];
	double best = -2, similarity;
	uint32_t found = NONE;
	int r = 0;

	for (uint32_t j = first; j != NONE; j = lists[1].items[j].next) {
		struct item *b = &lists[1].items[j];

		if (b->partner != NONE)
			continue;
		similarity = kind == KEY_BUILD ? 1 : compare(lists, a, b, &r);
		if (r)
			return r;
		if (similarity > best) {
			best = similarity;
			found = j;
		}
	}
	if (found == NONE || (kind == KEY_CLONE && best < NAMED_MIN))
		return 0;
	pair(lists, i, found, kind == KEY_BUILD ? MATCH_SAME : MATCH_NAME, best);
	return 0;
}

/* The items of b without a partner, in chains by key: heads by the number of the key. */
static int chain_items(struct list *b, enum key_kind kind, struct buf *key, struct intern *keys,
		       uint32_t *heads)
{
	uint32_t number, known;
	int r = 0;

	/* From the last, so that the first comes first in its chain. */
	for (size_t j = b->count; j-- > 0 && !r;) {
		struct item *item = &b->items[j];

		if (item->partner != NONE)
			continue;
		make_key(key, kind, b->side, item->row);
		known = intern_count(keys);
		r = key->error ? key->error : intern_add(keys, key->data, key->size, &number);
		if (r)
			break;
		item->next = number == known ? NONE : heads[number];
		heads[number] = (uint32_t)j;
	}
	return r;
}

/* Pairs what has equal keys and no partner yet. */
static int pair_by_key(struct list *lists, enum key_kind kind)
{
	struct intern *keys = intern_new(KEYS_MAX);
	uint32_t *heads = reallocarray(NULL, lists[1].count + 1, sizeof(*heads)), number;
	struct buf key;
	int r = keys && heads ? 0 : -ENOMEM;

	buf_init(&key, KEY_MAX);
	if (!r)
		r = chain_items(&lists[1], kind, &key, keys, heads);
	for (uint32_t i = 0; i < lists[0].count && !r; i++) {
		if (lists[0].items[i].partner != NONE)
			continue;
		make_key(&key, kind, lists[0].side, lists[0].items[i].row);
		r = key.error;
		if (!r && !intern_find(keys, key.data, key.size, &number))
			r = pair_best(lists, kind, i, heads[number]);
	}
	intern_free(keys);
	free(heads);
	buf_free(&key);
	return r;
}

/* Every function that the image of a row has, sampled or not. */
static int add_names(struct list *l, const struct rank_row *row, struct buf *key)
{
	const struct image_symbols *symbols;
	uint32_t number;

	int r = l->side->symbols(l->side->arg, &row->image->id, row->image->path, &symbols, NULL);
	if (r)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < image_symbols_count(symbols) && !r; i++) {
		key->size = 0;
		append_function(key, KEY_STEM, row->image->path,
				image_symbols_at(symbols, i)->demangled);
		r = key->error ? key->error : intern_add(l->names, key->data, key->size, &number);
	}
	return r;
}

static bool has_build(const struct list *l, const struct rank_row *row)
{
	uint32_t number;

	return !intern_find(l->builds, &row->image->id, sizeof(row->image->id), &number);
}

/* The names of the images that still have functions without a partner, of builds that the other
 * side does not have. */
static int collect_names(struct list *l, const struct list *other)
{
	struct intern *done = intern_new(KEYS_MAX);
	struct buf key;
	uint32_t number, known;
	int r = 0;

	l->names = intern_new(KEYS_MAX);
	if (!l->names || !done)
		r = -ENOMEM;
	buf_init(&key, KEY_MAX);
	for (size_t i = 0; i < l->count && !r; i++) {
		const struct rank_row *row = l->items[i].row;

		if (!*path_of(row) || has_build(other, row))
			continue;
		known = intern_count(done);
		r = intern_add(done, &row->image->id, sizeof(row->image->id), &number);
		if (!r && number == known)
			r = add_names(l, row, &key);
	}
	intern_free(done);
	buf_free(&key);
	return r;
}

static int compare_samples(const void *x, const void *y, void *arg)
{
	const struct item *items = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	uint64_t a = items[i].row->counts[0], b = items[j].row->counts[0];

	return a != b ? NUM_ORDER(b, a) : NUM_ORDER(i, j);
}

/*
 * The functions to look for by code: of builds that the other side does not have, without a
 * partner, of a name that the other build has not (one that it has, sampled or not, was not
 * renamed). ret has room for all.
 */
static int choose_lost(struct list *l, const struct list *other, uint32_t *ret, size_t *ret_count)
{
	uint32_t number;
	struct buf key;
	size_t n = 0;
	int r = 0;

	buf_init(&key, KEY_MAX);
	for (uint32_t i = 0; i < l->count && !r; i++) {
		struct item *item = &l->items[i];

		if (item->partner != NONE || !item->row->size || !*path_of(item->row) ||
		    has_build(other, item->row))
			continue;
		make_key(&key, KEY_STEM, l->side, item->row);
		r = key.error;
		if (!r && intern_find(other->names, key.data, key.size, &number))
			ret[n++] = i;
	}
	buf_free(&key);
	qsort_r(ret, n, sizeof(*ret), compare_samples, l->items);
	*ret_count = n;
	return r;
}

struct candidate {
	uint32_t i, j;
	double similarity;
};

static int compare_candidates(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->similarity != b->similarity)
		return NUM_ORDER(b->similarity, a->similarity);
	return a->i != b->i ? NUM_ORDER(a->i, b->i) : NUM_ORDER(a->j, b->j);
}

static bool is_long_enough(const struct item *item)
{
	return item->shape && item->shape->count >= INSTRUCTIONS;
}

/* Of an image of another name a function is only taken when it has the same name. */
static bool may_be_same(const struct rank_row *a, const struct rank_row *b)
{
	const char *a_stem, *b_stem;
	size_t a_size = stem_of(path_of(a), &a_stem), b_size = stem_of(path_of(b), &b_stem);

	return (a_size == b_size && !memcmp(a_stem, b_stem, a_size)) ||
	       !strcmp(a->function, b->function);
}

static int list_candidates(struct list *lists, const uint32_t *a, size_t a_count, const uint32_t *b,
			   size_t b_count, struct candidate **ret, size_t *ret_count)
{
	struct candidate *list = NULL;
	size_t n = 0, room = 0;
	int r = 0;

	for (size_t i = 0; i < a_count && !r; i++) {
		struct item *x = &lists[0].items[a[i]];

		for (size_t j = 0; j < b_count && !r; j++) {
			struct item *y = &lists[1].items[b[j]];
			double similarity;

			if (!may_be_same(x->row, y->row))
				continue;
			similarity = compare(lists, x, y, &r);
			if (r || similarity < SIMILAR_MIN || !is_long_enough(x) ||
			    !is_long_enough(y))
				continue;
			r = array_grow(&list, n, &room, sizeof(*list), 64);
			if (!r)
				list[n++] = (struct candidate){a[i], b[j], similarity};
		}
	}
	*ret = list;
	*ret_count = n;
	return r;
}

/* The likest first; each function once. */
static int pair_by_code(struct list *lists, size_t *ret_not_compared)
{
	uint32_t *lost[2] = {NULL, NULL};
	size_t counts[2] = {0, 0}, n = 0;
	struct candidate *list = NULL;
	int r = 0;

	for (int s = 0; s < 2 && !r; s++)
		r = collect_names(&lists[s], &lists[!s]);
	for (int s = 0; s < 2 && !r; s++) {
		lost[s] = reallocarray(NULL, lists[s].count + 1, sizeof(*lost[s]));
		r = lost[s] ? choose_lost(&lists[s], &lists[!s], lost[s], &counts[s]) : -ENOMEM;
		if (counts[s] > SIMILAR_MAX) {
			*ret_not_compared += counts[s] - SIMILAR_MAX;
			counts[s] = SIMILAR_MAX;
		}
	}
	if (!r)
		r = list_candidates(lists, lost[0], counts[0], lost[1], counts[1], &list, &n);
	if (!r && n)
		array_sort(list, n, sizeof(*list), compare_candidates);
	for (size_t i = 0; i < n && !r; i++)
		if (lists[0].items[list[i].i].partner == NONE &&
		    lists[1].items[list[i].j].partner == NONE)
			pair(lists, list[i].i, list[i].j, MATCH_CODE, list[i].similarity);
	free(list);
	free(lost[0]);
	free(lost[1]);
	return r;
}

static int list_start(struct list *l, const struct match_side *side)
{
	const struct rank *k = side->rank;
	uint32_t number;
	int r = 0;

	l->side = side;
	l->count = k->row_count;
	l->items = calloc(k->row_count + 1, sizeof(*l->items));
	l->builds = intern_new(KEYS_MAX);
	if (!l->items || !l->builds)
		return -ENOMEM;
	for (size_t i = 0; i < l->count && !r; i++) {
		const struct rank_row *row = &k->rows[i];

		l->items[i] = (struct item){.row = row, .partner = NONE, .next = NONE};
		if (row->image)
			r = intern_add(l->builds, &row->image->id, sizeof(row->image->id), &number);
	}
	return r;
}

static void list_free(struct list *l)
{
	for (size_t i = 0; l->items && i < l->count; i++)
		code_shape_free(l->items[i].shape);
	free(l->items);
	intern_free(l->builds);
	intern_free(l->names);
}

static int make_pairs(struct match *m, const struct list *lists)
{
	m->pairs = calloc(lists[0].count + lists[1].count + 1, sizeof(*m->pairs));
	if (!m->pairs)
		return -ENOMEM;
	for (size_t i = 0; i < lists[0].count; i++) {
		const struct item *a = &lists[0].items[i];
		const struct rank_row *b =
			a->partner == NONE ? NULL : lists[1].items[a->partner].row;

		m->pairs[m->count] =
			(struct match_pair){{a->row, b}, a->how, b ? a->similarity : -1};
		if (b && a->row->file && lists[0].side->lines) {
			m->pairs[m->count].how = lists[0].side->lines[i].how;
			m->pairs[m->count].similarity = -1;
		}
		m->count++;
	}
	for (size_t j = 0; j < lists[1].count; j++)
		if (lists[1].items[j].partner == NONE)
			m->pairs[m->count++] =
				(struct match_pair){{NULL, lists[1].items[j].row}, MATCH_NONE, -1};
	return 0;
}

int match_new(const struct match_side sides[2], struct match **ret)
{
	struct list lists[2] = {{0}};
	struct match *m = calloc(1, sizeof(*m));
	int r = m ? 0 : -ENOMEM;

	for (int s = 0; s < 2 && !r; s++)
		r = list_start(&lists[s], &sides[s]);
	for (int kind = 0; kind < KEY_KINDS && !r; kind++)
		r = pair_by_key(lists, (enum key_kind)kind);
	if (!r)
		r = pair_by_code(lists, &m->not_compared);
	if (!r)
		r = make_pairs(m, lists);
	list_free(&lists[0]);
	list_free(&lists[1]);
	if (r) {
		match_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	free(m->pairs);
	free(m);
}
