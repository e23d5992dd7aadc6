/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/code_sweep.h"
#include "util/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"

#define ALIGNMENT 16 /* of functions */

bool code_sweep_is_goexit(const struct code_piece *p, size_t at)
{
	const uint8_t *b = p->bytes + at;

	return (p->address + at) % ALIGNMENT == 0 && p->size - at >= 7 && b[0] == 0x90 &&
	       b[1] == 0xe8 && b[6] == 0x90;
}

bool code_sweep_is_sigreturn(const struct code_piece *p, size_t at)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return p->size - at >= sizeof(code) && !memcmp(p->bytes + at, code, sizeof(code));
}

/* Where the sweep is. */
struct sweep {
	struct code_sweep *to;
	const struct isa_decoder *decoder;
	const struct code_piece *piece;
	size_t start;	/* number of the next of the piece's */
	uint8_t before; /* kind of the last instruction but padding */
	bool padded;	/* padding came after it */
};

static int add_step(struct code_sweep *s, const struct code_step *step)
{
	if (array_grow(&s->steps, s->step_count, &s->step_room, sizeof(*s->steps), 256))
		return -ENOMEM;
	s->steps[s->step_count++] = *step;
	return 0;
}

static int add_join(struct code_sweep *s, uint32_t at, uint8_t flags)
{
	if (array_grow(&s->joins, s->join_count, &s->join_room, sizeof(*s->joins), 256))
		return -ENOMEM;
	s->joins[s->join_count++] = (struct code_join){
		.at = at, .state = CODE_NO_STATE, .offer.state = CODE_NO_STATE, .flags = flags};
	return 0;
}

static bool ends_flow(uint8_t kind)
{
	return kind == ISA_FRAME_JUMP || kind == ISA_FRAME_RETURN || kind == ISA_FRAME_STOP ||
	       kind == ISA_FRAME_BAD;
}

static int32_t target_of(const struct code_piece *p, const struct isa_frame *f)
{
	uint64_t at = f->target - p->address;

	return f->target != ISA_NO_ADDRESS && at < p->size ? (int32_t)at : CODE_OUTSIDE;
}

/* A jump's, a branch's or a call's. */
static int add_target(struct sweep *w, struct code_step *step, const struct isa_frame *f)
{
	step->to = f->target == ISA_NO_ADDRESS ? CODE_COMPUTED : 0;
	step->value = target_of(w->piece, f);
	if (step->value == CODE_OUTSIDE ||
	    (f->kind == ISA_FRAME_CALL && (uint32_t)step->value == step->at + step->size))
		return 0;
	return add_join(w->to, (uint32_t)step->value, f->kind == ISA_FRAME_CALL ? CODE_START : 0);
}

/* What the instructions before say of the place of one. */
static int add_place(struct sweep *w, uint32_t at)
{
	bool aligned = (w->piece->address + at) % ALIGNMENT == 0;

	if (code_sweep_is_goexit(w->piece, at) || code_sweep_is_sigreturn(w->piece, at))
		return add_join(w->to, at, CODE_START);
	if (ends_flow(w->before))
		return add_join(w->to, at, CODE_RESUMED);
	if (w->before == ISA_FRAME_CALL && aligned)
		return add_join(w->to, at, CODE_MAYBE_CALL);
	return 0;
}

static int take(struct sweep *w, uint32_t at, const struct isa_frame *f)
{
	struct code_step step = {
		.at = at,
		.kind = f->kind,
		.size = f->size,
		.to = f->to,
		.from = f->from,
		.value = f->kind == ISA_FRAME_LOSE ? f->mask : f->value,
	};
	int r = 0;

	w->to->begins[at / 8] |= (uint8_t)(1u << at % 8);
	if (f->kind == ISA_FRAME_PADDING && !code_sweep_is_goexit(w->piece, at))
		return 0;
	r = add_place(w, at);
	w->before = f->kind;
	if (!r &&
	    (f->kind == ISA_FRAME_JUMP || f->kind == ISA_FRAME_BRANCH || f->kind == ISA_FRAME_CALL))
		r = add_target(w, &step, f);
	if (!r && f->kind != ISA_FRAME_NONE && f->kind != ISA_FRAME_PADDING)
		r = add_step(w->to, &step);
	return r;
}

/* How far an instruction may reach: to the next known start. */
static size_t room_at(struct sweep *w, size_t at)
{
	const struct code_piece *p = w->piece;

	while (w->start < p->start_count && p->starts[w->start] <= p->address + at)
		w->start++;
	return w->start < p->start_count && p->starts[w->start] - p->address < p->size
		       ? p->starts[w->start] - p->address - at
		       : p->size - at;
}

static int sweep_all(struct sweep *w, uint64_t max_instructions)
{
	const struct code_piece *p = w->piece;
	struct isa_frame f;
	size_t at;
	int r = 0;

	for (at = 0; at < p->size && !r && w->to->instructions < max_instructions; at += f.size) {
		isa_frame_decode(w->decoder, p->bytes + at, room_at(w, at), p->address + at, &f);
		r = take(w, (uint32_t)at, &f);
		w->to->instructions++;
	}
	w->to->end = at;
	return r;
}

/* Number of the first at or after an address. */
static size_t find_first(const uint64_t *list, size_t count, uint64_t address)
{
	return SEARCH_FIRST(count, i, list[i] >= address);
}

static int add_places(struct code_sweep *s, const struct code_piece *p, const uint64_t *list,
		      size_t count, uint8_t flags)
{
	int r = 0;

	for (size_t i = find_first(list, count, p->address);
	     i < count && list[i] - p->address < p->size && !r; i++)
		r = add_join(s, (uint32_t)(list[i] - p->address), flags);
	return r;
}

static int compare_joins(const void *pa, const void *pb)
{
	const struct code_join *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* In order, each once, and only where an instruction begins. */
static void order_joins(struct code_sweep *s)
{
	size_t count = 0, step = 0;

	array_sort(s->joins, s->join_count, sizeof(*s->joins), compare_joins);
	for (size_t i = 0; i < s->join_count; i++) {
		struct code_join join = s->joins[i];

		if (!(s->begins[join.at / 8] & 1u << join.at % 8))
			continue;
		if (count && s->joins[count - 1].at == join.at) {
			s->joins[count - 1].flags |= join.flags;
			continue;
		}
		while (step < s->step_count && s->steps[step].at < join.at)
			step++;
		join.first_step = (uint32_t)step;
		s->joins[count++] = join;
	}
	s->join_count = count;
}

int code_sweep_read(struct code_sweep *s, const struct isa_decoder *d,
		    const struct code_piece *piece, uint64_t max_instructions)
{
	struct sweep w = {.to = s, .decoder = d, .piece = piece, .before = ISA_FRAME_STOP};
	size_t begin_bytes = piece->size / 8 + 1;

	s->step_count = s->join_count = 0;
	if (array_reserve(&s->begins, begin_bytes, &s->begin_room, 1, 4096))
		return -ENOMEM;
	memset(s->begins, 0, begin_bytes);
	w.start = find_first(piece->starts, piece->start_count, piece->address);
	int r = add_places(s, piece, piece->starts, piece->start_count, CODE_START);
	if (!r)
		r = add_places(s, piece, piece->pointed, piece->pointed_count, CODE_RESUMED);
	if (!r)
		r = sweep_all(&w, max_instructions);
	if (!r)
		order_joins(s);
	return r;
}

void code_sweep_free(struct code_sweep *s)
{
	free(s->steps);
	free(s->joins);
	free(s->begins);
}
