/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/stack_weigh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

/*
 * Stacks are weighed by post-stratification (Holt and Smith, JRSS A 1979): the strata are the
 * functions in which samples were taken, with options.by_group those of each group, whose sizes the
 * flat profile has exactly. Functions that no stack ends in are stack_weigh_rest.c's.
 */

#define CLASSES_MAX (1u << 24)

/* CPython's evaluator is exported by nearly every build that has frames of Python (PEP 523);
 * compilers split cold parts off it. Of other builds find_evaluator tells it. */
#define EVALUATOR "_PyEval_EvalFrameDefault"

enum { CLASS_FUNCTION, CLASS_NO_SYMBOL, CLASS_UNKNOWN, CLASS_EVALUATOR };

/* A function of an image, whatever group. */
struct function_key {
	uint64_t start;
	uint32_t image, kind;
};

static bool is_evaluator(const char *name)
{
	size_t size = strlen(EVALUATOR);

	return !strncmp(name, EVALUATOR, size) && (!name[size] || name[size] == '.');
}

/* function: known says whether it has a symbol. */
static int find_key(struct weigh *w, const struct query_image *image, bool known, uint64_t start,
		    const char *name, uint32_t *ret)
{
	struct function_key key = {.image = WEIGH_NONE, .kind = CLASS_UNKNOWN};
	int r = 0;

	if (image->id.kind != IMAGE_UNKNOWN) {
		r = intern_add(w->images, &image->id, sizeof(image->id), &key.image);
		key.kind = !known		? CLASS_NO_SYMBOL
			   : is_evaluator(name) ? CLASS_EVALUATOR
						: CLASS_FUNCTION;
		key.start = key.kind == CLASS_FUNCTION ? start : 0;
	}
	return r ? r : intern_add(w->keys, &key, sizeof(key), ret);
}

static int find_of_group(struct intern *t, uint32_t what, uint32_t group, uint32_t *ret)
{
	const struct weigh_pair pair = {what, group};

	return intern_add(t, &pair, sizeof(pair), ret);
}

static const struct weigh_pair *class_pair(const struct weigh *w, uint32_t class)
{
	return intern_get(w->pairs, class, NULL);
}

static int class_rows(struct weigh *w)
{
	uint32_t key;
	int r = 0;

	for (size_t i = 0; i < w->rank->row_count && !r; i++) {
		const struct rank_row *row = &w->rank->rows[i];

		r = find_key(w, row->image, row->size, row->start, row->function, &key);
		if (!r)
			r = find_of_group(w->pairs, key, w->by_group ? row->group : QUERY_NO_GROUP,
					  &w->row_class[i]);
	}
	return r;
}

/* What was inlined is never where a frame begins; notes are where no sample is taken. */
static int key_functions(struct weigh *w)
{
	const struct stack_set *s = w->set;
	int r = 0;

	for (size_t i = 0; i < w->functions && !r; i++) {
		const struct stack_function *f = &s->functions[i];

		w->function_key[i] = WEIGH_NONE;
		if (!f->inlined && f->kind != STACK_NOTE)
			r = find_key(w, &s->images[f->image], f->kind == STACK_CODE && !f->by_name,
				     f->start, f->name, &w->function_key[i]);
	}
	return r;
}

/* A parent comes before its children, which are of its group. */
static int class_nodes(struct weigh *w)
{
	const struct stack_set *s = w->set;
	int r = 0;

	for (uint32_t i = 0; i < w->nodes && !r; i++) {
		const struct stack_node *node = &s->nodes[i];
		uint32_t group = w->by_group ? node->group : QUERY_NO_GROUP, key = WEIGH_NONE;

		w->node_others[i] = w->node_others[node->parent];
		w->node_class[i] = WEIGH_NONE;
		if (!i || group != QUERY_NO_GROUP)
			r = find_of_group(w->pools, WEIGH_NONE, group, &w->node_others[i]);
		if (!r && node->frame != STACK_NO_FRAME)
			key = w->function_key[s->places[weigh_frame(w, i)->first_place].function];
		if (key != WEIGH_NONE)
			r = find_of_group(w->pairs, key, weigh_pool(w, w->node_others[i])->group,
					  &w->node_class[i]);
	}
	return r;
}

/* The image of the interpreter that runs a frame of Python: it called the first of them. */
static const struct query_image *find_interpreter(const struct weigh *w, uint32_t node)
{
	const struct stack_set *s = w->set;

	for (; s->nodes[node].frame != STACK_NO_FRAME; node = s->nodes[node].parent) {
		const struct query_image *image = &s->images[weigh_frame(w, node)->image];

		if (image->id.kind != IMAGE_SCRIPT && image->id.kind != IMAGE_NOTE)
			return image;
	}
	return NULL;
}

/* Where the samples of the stacks that end at a node were taken. */
static int class_stack(struct weigh *w, const struct stack_count *c, uint32_t *ret)
{
	const struct query_image *image = &w->set->images[weigh_frame(w, c->node)->image];
	uint32_t own = w->node_class[c->node], key;

	*ret = own;
	/* Some imports have samples in Python's own functions. */
	if (image->id.kind != IMAGE_SCRIPT || own == WEIGH_NONE ||
	    class_pair(w, own)->what < w->sampled)
		return 0;
	image = find_interpreter(w, c->node);
	if (!image)
		return 0;
	int r = find_key(w, image, true, 0, EVALUATOR, &key);
	return r ? r : find_of_group(w->pairs, key, class_pair(w, own)->group, ret);
}

static int class_stacks(struct weigh *w)
{
	int r = 0;

	for (size_t i = 0; i < w->stack_count && !r; i++)
		r = class_stack(w, &w->stacks[i], &w->stack_class[i]);
	return r;
}

/* Of all groups and events. */
struct key_sum {
	uint64_t samples, stacks;
};

static void sum_keys(const struct weigh *w, struct key_sum *sums)
{
	for (size_t i = 0; i < w->rank->row_count; i++)
		for (size_t e = 0; e < w->set->query->event_count; e++)
			sums[class_pair(w, w->row_class[i])->what].samples +=
				w->rank->rows[i].counts[e];
	for (size_t i = 0; i < w->stack_count; i++)
		if (w->stack_class[i] != WEIGH_NONE)
			sums[class_pair(w, w->stack_class[i])->what].stacks += w->stacks[i].count;
}

/* The stacks that end in Python functions of an interpreter whose evaluator has no known name: it
 * is the function of the image that has samples for which there are no stacks. */
static int find_evaluator(struct weigh *w, const struct key_sum *sums, uint32_t key)
{
	uint32_t count = intern_count(w->keys), best = key;
	const struct function_key *own = intern_get(w->keys, key, NULL), *k;
	double samples = 0, stacks = 0, most = 0;
	int r = 0;

	for (uint32_t i = 0; i < count; i++) {
		k = intern_get(w->keys, i, NULL);
		samples += k->image == own->image ? (double)sums[i].samples : 0;
		stacks += k->image == own->image ? (double)sums[i].stacks : 0;
	}
	for (uint32_t i = 0; i < w->sampled; i++) {
		double more = (double)sums[i].samples * stacks - (double)sums[i].stacks * samples;

		k = intern_get(w->keys, i, NULL);
		if (k->image == own->image && more > most) {
			most = more;
			best = i;
		}
	}
	for (size_t i = 0; i < w->stack_count && !r; i++) {
		const struct weigh_pair *class =
			w->stack_class[i] == WEIGH_NONE ? NULL : class_pair(w, w->stack_class[i]);

		if (class && class->what == key)
			r = find_of_group(w->pairs, best, class->group, &w->stack_class[i]);
	}
	return r;
}

static int find_evaluators(struct weigh *w)
{
	struct key_sum *sums = calloc(intern_count(w->keys) + 1u, sizeof(*sums));
	int r = sums ? 0 : -ENOMEM;

	if (sums)
		sum_keys(w, sums);
	for (uint32_t i = w->sampled; i < intern_count(w->keys) && !r; i++) {
		const struct function_key *key = intern_get(w->keys, i, NULL);

		if (key->kind == CLASS_EVALUATOR)
			r = find_evaluator(w, sums, i);
	}
	free(sums);
	return r;
}

static int fill_classes(struct weigh *w)
{
	uint32_t count = intern_count(w->pairs);
	int r = 0;

	w->classes = calloc(count + 1u, sizeof(*w->classes));
	w->key_function = calloc(intern_count(w->keys) + 1u, sizeof(*w->key_function));
	if (!w->classes || !w->key_function)
		return -ENOMEM;
	for (uint32_t i = 0; i < count && !r; i++) {
		const struct weigh_pair *pair = class_pair(w, i);
		const struct function_key *key = intern_get(w->keys, pair->what, NULL);
		struct weigh_class *c = &w->classes[i];

		*c = (struct weigh_class){.key = pair->what, .frame = WEIGH_NONE};
		r = find_of_group(w->pools, key->image, pair->group, &c->pool);
		if (!r)
			r = find_of_group(w->pools, WEIGH_NONE, pair->group, &c->others);
	}
	for (size_t i = w->rank->row_count; i-- > 0;)
		w->classes[w->row_class[i]].row = &w->rank->rows[i];
	memset(w->key_function, 0xff, intern_count(w->keys) * sizeof(*w->key_function));
	for (size_t i = w->functions; i-- > 0;)
		if (w->function_key[i] != WEIGH_NONE)
			w->key_function[w->function_key[i]] = (uint32_t)i;
	return r;
}

static int make_classes(struct weigh *w)
{
	int r = class_rows(w);

	w->sampled = intern_count(w->keys);
	if (!r)
		r = key_functions(w);
	if (!r)
		r = class_nodes(w);
	if (!r)
		r = class_stacks(w);
	if (!r)
		r = find_evaluators(w);
	return r ? r : fill_classes(w);
}

/* A function of the flat profile that is on no stack. */
static int add_function(struct weigh *w, struct weigh_class *c, uint32_t image)
{
	const struct stack_function f = {
		.image = image,
		.kind = c->pool == c->others ? STACK_UNKNOWN
			: c->row->size	     ? STACK_CODE
					     : STACK_NO_SYMBOL,
		.start = c->row->start,
		.name = c->row->function,
	};

	w->key_function[c->key] = (uint32_t)w->set->function_count;
	return stack_set_add_function(w->set, &f);
}

int weigh_place_frame(struct weigh *w, uint32_t frame, uint32_t function)
{
	struct stack_frame *f = &w->set->frames[frame];

	f->first_place = (uint32_t)w->set->place_count;
	f->place_count = 1;
	return stack_set_add_place(w->set, &(struct stack_place){.function = function});
}

int weigh_class_frame(struct weigh *w, struct weigh_class *c, uint32_t *ret)
{
	struct db_frame_item item = {
		.image = &c->row->image->id,
		.path = {c->row->image->path, c->row->image->path_size},
		.offset = c->row->size ? c->row->start : c->row->sampled,
	};
	const struct stack_frame *f;
	int r = 0;

	*ret = c->frame;
	if (c->frame == WEIGH_NONE)
		r = stack_set_frame(w->set, &item, ret);
	if (r || c->frame != WEIGH_NONE)
		return r;
	c->frame = *ret;
	f = &w->set->frames[*ret];
	if (f->place_count) /* a stack has it too */
		return 0;
	if (w->key_function[c->key] == WEIGH_NONE)
		r = add_function(w, c, f->image);
	return r ? r : weigh_place_frame(w, *ret, w->key_function[c->key]);
}

int weigh_put(struct weigh *w, uint32_t node, uint32_t taken, uint64_t samples)
{
	struct stack_set *s = w->set;

	if (!samples)
		return 0;
	if (array_grow(&s->counts, s->count_count, &w->count_room, sizeof(*s->counts), 64))
		return -ENOMEM;
	s->counts[s->count_count++] =
		(struct stack_count){node, (uint32_t)w->event, taken, samples};
	return 0;
}

/* The stacks of one event that has samples: as much of each function as was sampled in it. */
static int weigh_stacks(struct weigh *w)
{
	int r = 0;

	for (size_t i = 0; i < w->stack_count && !r; i++) {
		const struct stack_count *stack = &w->stacks[i];
		uint32_t taken = stack->taken;
		struct weigh_class *c;
		uint64_t before;

		if (stack->event != w->event || w->stack_class[i] == WEIGH_NONE)
			continue;
		c = &w->classes[w->stack_class[i]];
		if (!c->samples)
			continue;
		before = weigh_share(c->seen, c->samples, c->stacks);
		c->seen += stack->count;
		if (w->stack_class[i] != w->node_class[stack->node])
			r = weigh_class_frame(w, c, &taken);
		if (!r)
			r = weigh_put(w, stack->node, taken,
				      weigh_share(c->seen, c->samples, c->stacks) - before);
	}
	return r;
}

/* An event without samples keeps its stacks. */
static int keep_stacks(struct weigh *w)
{
	int r = 0;

	for (size_t i = 0; i < w->stack_count && !r; i++)
		if (w->stacks[i].event == w->event)
			r = weigh_put(w, w->stacks[i].node, w->stacks[i].taken, w->stacks[i].count);
	return r;
}

static void count_event(struct weigh *w)
{
	uint32_t classes = intern_count(w->pairs);

	for (uint32_t i = 0; i < classes; i++) {
		struct weigh_class *c = &w->classes[i];

		c->samples = c->stacks = c->within = c->seen = 0;
	}
	memset(w->through, 0, w->nodes * sizeof(*w->through));
	for (size_t i = 0; i < w->rank->row_count; i++) {
		struct weigh_class *c = &w->classes[w->row_class[i]];

		c->samples = num_add_sat(c->samples, w->rank->rows[i].counts[w->event]);
	}
	for (size_t i = 0; i < w->stack_count; i++) {
		const struct stack_count *stack = &w->stacks[i];

		if (stack->event != w->event)
			continue;
		w->through[stack->node] = num_add_sat(w->through[stack->node], stack->count);
		if (w->stack_class[i] != WEIGH_NONE) {
			struct weigh_class *c = &w->classes[w->stack_class[i]];

			c->stacks = num_add_sat(c->stacks, stack->count);
		}
	}
	for (size_t i = w->nodes; i-- > 1;) {
		uint64_t *parent = &w->through[w->set->nodes[i].parent];

		*parent = num_add_sat(*parent, w->through[i]);
	}
}

static int weigh_event(struct weigh *w)
{
	struct stack_set *s = w->set;

	if (!s->query->events[w->event].samples)
		return keep_stacks(w);
	s->totals[w->event] = w->rank->totals[w->event];
	s->idle[w->event] = w->rank->idle[w->event];
	count_event(w);
	int r = weigh_stacks(w);
	return r ? r : weigh_rest(w);
}

/* The nodes as a walk through the tree meets them. */
static int order_nodes(struct weigh *w)
{
	const struct stack_node *nodes = w->set->nodes;
	uint32_t *first = calloc(w->nodes, sizeof(*first)), *next = calloc(w->nodes, sizeof(*next));
	uint32_t at = 0, count = 0;

	if (first && next) {
		for (size_t i = w->nodes; i-- > 1;) {
			next[i] = first[nodes[i].parent];
			first[nodes[i].parent] = (uint32_t)i;
		}
		do {
			w->position[at] = count;
			w->order[count++] = at;
			if (first[at]) {
				at = first[at];
				continue;
			}
			while (at && !next[at])
				at = nodes[at].parent;
			at = next[at];
		} while (at);
	}
	free(first);
	free(next);
	return count ? 0 : -ENOMEM;
}

static int compare_stacks(const void *a, const void *b, void *arg)
{
	const struct stack_count *x = a, *y = b;
	const struct weigh *w = arg;

	return NUM_ORDER(w->position[x->node], w->position[y->node]);
}

static int weigh_all(struct weigh *w)
{
	struct stack_set *s = w->set;

	w->nodes = s->node_count;
	w->functions = s->function_count;
	w->stack_count = s->count_count;
	w->images = intern_new(CLASSES_MAX);
	w->keys = intern_new(CLASSES_MAX);
	w->pairs = intern_new(CLASSES_MAX);
	w->pools = intern_new(CLASSES_MAX);
	w->row_class = calloc(w->rank->row_count + 1, sizeof(*w->row_class));
	w->function_key = calloc(w->functions + 1, sizeof(*w->function_key));
	w->node_class = calloc(w->nodes, sizeof(*w->node_class));
	w->node_others = calloc(w->nodes, sizeof(*w->node_others));
	w->order = calloc(w->nodes, sizeof(*w->order));
	w->position = calloc(w->nodes, sizeof(*w->position));
	w->through = calloc(w->nodes, sizeof(*w->through));
	w->stack_class = calloc(w->stack_count + 1, sizeof(*w->stack_class));
	if (!w->images || !w->keys || !w->pairs || !w->pools || !w->row_class || !w->function_key ||
	    !w->node_class || !w->node_others || !w->order || !w->position || !w->through ||
	    !w->stack_class)
		return -ENOMEM;
	int r = order_nodes(w);
	if (r)
		return r;
	w->stacks = s->counts;
	s->counts = NULL;
	s->count_count = 0;
	if (w->stack_count)
		qsort_r(w->stacks, w->stack_count, sizeof(*w->stacks), compare_stacks, w);
	r = make_classes(w);
	for (w->event = 0; w->event < s->query->event_count && !r; w->event++)
		r = weigh_event(w);
	return r;
}

int stack_set_weigh(struct stack_set *s, const struct stack_options *options,
		    const struct rank_source *source, struct diag *diag)
{
	struct rank_options by = {.by = RANK_FUNCTION, .idle = options->idle};
	struct weigh w = {.set = s, .by_group = options->by_group};
	struct rank *rank;

	if (!s->count_count) /* nothing to weigh: whoever wants stacks says that there are none */
		return 0;
	int r = rank_new(s->query, &by, source, &rank, diag);
	if (r)
		return r;
	w.rank = rank;
	r = weigh_all(&w);
	rank_free(rank);
	intern_free(w.images);
	intern_free(w.keys);
	intern_free(w.pairs);
	intern_free(w.pools);
	free(w.classes);
	free(w.row_class);
	free(w.function_key);
	free(w.key_function);
	free(w.node_class);
	free(w.node_others);
	free(w.order);
	free(w.position);
	free(w.stacks);
	free(w.stack_class);
	free(w.through);
	if (r)
		return diag_fail(diag, -r, "%s",
				 r == -ENOMEM
					 ? "out of memory"
					 : "the stacks are too many for one report; select less");
	return 0;
}
