/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/quote.h"
#include "view/view_state.h"

/*
 * The instructions of the functions that matter: text, executions, cycles, culprits, blocks and
 * edges. Each instruction is a frame, so that it has its line and loop as those with samples do.
 */

struct view_code {
	struct view_set *set;
	struct insight **list;
	size_t count, room, instructions;
};

void view_code_free(struct view_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		insight_free(c->list[i]);
	free(c->list);
	free(c);
}

static int add_frames(struct view *v, const struct insight *one)
{
	uint32_t image, frame;
	int r = view_add_image(v, one->image, &image);

	for (size_t i = 0; i < one->instruction_count && !r; i++)
		r = view_add_frame(v, image, one->instructions[i].address, &frame);
	return r;
}

static int choose_one(struct view *v, struct view_code *c, const struct insights_function *f)
{
	struct insight *one;
	struct diag why;
	int r = insight_new(c->set->insights, f->image, f->start, &one, &why);

	if (r)
		return r == -ENOMEM ? r : 0;
	if (c->instructions + one->instruction_count > VIEW_CODE_MAX) {
		v->counts.functions_refused++;
		insight_free(one);
		return 0;
	}
	for (size_t b = 0; b < one->block_count && !r; b++)
		r = insight_disassemble(c->set->insights, one, b, ISA_SYNTAX_ATT);
	if (!r)
		r = array_grow(&c->list, c->count, &c->room, sizeof(struct insight *), 64);
	if (r) {
		insight_free(one);
		return r;
	}
	c->list[c->count++] = one;
	c->instructions += one->instruction_count;
	v->counts.functions++;
	return add_frames(v, one);
}

/* The set's estimates, made when they are first asked for. -ENODATA: no event tells time. */
static int begin(struct view_set *set, struct view_code **ret)
{
	const struct insights_request wanted = {
		.query = set->session->query,
		.reader = set->session->reader,
		.finder = set->session->finder,
		.progress = set->session->progress,
	};
	struct diag why;
	int r = set->insights ? 0 : insights_new(&wanted, &set->insights, &why);

	if (r)
		return r;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->set = set;
	return 0;
}

int view_code_choose(struct view *v, struct view_set *set, struct view_code **ret)
{
	const struct insights_function *list;
	double total, seen = 0;
	size_t count;
	int r = begin(set, ret);

	if (r)
		return r == -ENOMEM ? r : 0; /* there is nothing to say */
	list = insights_functions(set->insights, &count);
	total = (double)insights_samples(set->insights);
	for (size_t i = 0; i < count && seen < v->options.code_percent / 100 * total && !r; i++) {
		seen += (double)list[i].samples;
		if (!rank_is_idle(&list[i].image->id, list[i].name))
			r = choose_one(v, *ret, &list[i]);
	}
	return r;
}

int view_code_choose_one(struct view *v, struct view_set *set, uint32_t function,
			 struct view_code **ret)
{
	const struct insights_function *list;
	size_t count, size;
	const struct view_function *f = intern_get(v->function_keys, function, &size);
	int r = begin(set, ret);

	if (r)
		return r;
	list = insights_functions(set->insights, &count);
	for (size_t i = 0; i < count && !r; i++)
		if (list[i].start == f->start &&
		    !memcmp(&list[i].image->id, &v->images[f->image].id, sizeof(struct image_id)))
			r = choose_one(v, *ret, &list[i]);
	return r ? r : (*ret)->count ? 0 : -ENOENT;
}

/* Null: JSON knows no infinity. */
static void put_number(struct buf *b, double value)
{
	if (isfinite(value))
		buf_printf(b, "%.4g", value);
	else
		buf_printf(b, "null");
}

static void put_three(struct buf *b, double first, double second, double third)
{
	put_number(b, first);
	buf_append_u8(b, ',');
	put_number(b, second);
	buf_append_u8(b, ',');
	put_number(b, third);
}

static void put_estimate(struct buf *b, const struct frequency_estimate *e)
{
	put_three(b, e->value, e->low, e->high);
}

static void put_address(struct buf *b, uint64_t address, uint64_t start)
{
	if (address == ISA_NO_ADDRESS)
		buf_printf(b, "null");
	else
		buf_printf(b, "%" PRId64, (int64_t)(address - start));
}

static void put_culprits(struct buf *b, const struct culprit_list *l, uint64_t start)
{
	buf_append_u8(b, '[');
	for (uint32_t i = 0; i < l->count; i++) {
		const struct culprit *c = &l->list[i];

		buf_printf(b, "%s[%u,", i ? "," : "", c->cause);
		put_three(b, c->low, c->high, c->likely);
		buf_append_u8(b, ',');
		put_address(b, c->blame, start);
		buf_printf(b, ",%u]", c->level);
	}
	buf_append_u8(b, ']');
}

/* [address, block, samples, charged, fused, best, cpi, low, high, culprits, frame, text] */
static int put_instructions(struct view *v, const struct insight *one)
{
	struct buf *b = &v->code;
	uint32_t image, frame;
	int r = view_add_image(v, one->image, &image);

	buf_printf(b, ",\"code\":[");
	for (size_t i = 0; i < one->instruction_count && !r; i++) {
		const struct insight_instruction *in = &one->instructions[i];

		r = view_add_frame(v, image, in->address, &frame);
		buf_printf(b, "%s[%" PRId64 ",%u,%" PRIu64 ",%.4g,%d,%.3g,", i ? ",\n" : "",
			   (int64_t)(in->address - one->start), in->block, in->samples, in->charged,
			   in->fused, in->best_cycles);
		put_estimate(b, &in->cpi);
		buf_append_u8(b, ',');
		put_culprits(b, &in->culprits, one->start);
		buf_printf(b, ",%u,", frame);
		quote_json(b, in->text ? in->text : "");
		buf_append_u8(b, ']');
	}
	buf_append_u8(b, ']');
	return r;
}

/* Blocks: [start, end, samples, executions, low, high, confidence]; edges: [from, to, kind,
 * executions]. */
static void put_graph(struct buf *b, const struct insight *one)
{
	buf_printf(b, ",\"blocks\":[");
	for (size_t i = 0; i < one->block_count; i++) {
		const struct insight_block *k = &one->blocks[i];

		buf_printf(b, "%s[%" PRId64 ",%" PRId64 ",%.4g,", i ? "," : "",
			   (int64_t)(k->start - one->start), (int64_t)(k->end - one->start),
			   k->charged);
		put_estimate(b, &k->count);
		buf_printf(b, ",%d]", k->count.confidence);
	}
	buf_printf(b, "],\"edges\":[");
	for (size_t i = 0; i < one->edge_count; i++) {
		const struct insight_edge *e = &one->edges[i];

		buf_printf(b, "%s[", i ? "," : "");
		put_address(b, e->from, one->start);
		buf_append_u8(b, ',');
		put_address(b, e->to, one->start);
		buf_printf(b, ",%u,%.4g]", e->kind, e->count.value);
	}
	buf_append_u8(b, ']');
}

static int write_one(struct view *v, const struct view_set *set, const struct insight *one)
{
	struct buf *b = &v->code;
	uint32_t image, frame = 0;
	int r = view_add_image(v, one->image, &image);

	if (!r && one->instruction_count)
		r = view_add_frame(v, image, one->instructions[0].address, &frame);
	if (r || !one->instruction_count)
		return r;
	buf_printf(b,
		   "%s\n{\"f\":%u,\"set\":%zu,\"start\":\"0x%" PRIx64 "\",\"size\":%" PRIu64
		   ",\"samples\":%" PRIu64 ",\"best\":%.4g,\"cpi\":[",
		   b->size ? "," : "", v->places[v->frames[frame].first_place].function,
		   (size_t)(set - v->sets), one->start, one->size, one->samples, one->best_cpi);
	put_estimate(b, &one->cpi);
	buf_printf(b, "],\"calls\":[");
	put_estimate(b, &one->entries);
	buf_printf(b, "],\"counted\":%s,\"why\":", one->counted ? "true" : "false");
	if (one->why)
		quote_json(b, one->why);
	else
		buf_printf(b, "null");
	r = put_instructions(v, one);
	put_graph(b, one);
	buf_append_u8(b, '}');
	return r ? r : b->error;
}

int view_code_write(struct view *v, struct view_code *c)
{
	int r = 0;

	for (size_t i = 0; i < c->count && !r; i++)
		r = write_one(v, c->set, c->list[i]);
	return r;
}
