/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/code_frames.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "unwind/code_sweep.h"
#include "unwind/code_switch.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/search.h"

#define STATES_MAX   (1u << 17)
#define SWITCHES_MAX 64
#define RECENT	     4	/* states at computed jumps, that code after them is tried with */
#define EFFORT	     16 /* steps that are followed for each that there is */
#define OFFERS	     8	/* in a row */
#define PIECE_MAX    (1u << 30)
#define ALIGNMENT    16
#define DWARF_RSP    7
#define AT_RETURN    (-8) /* the stack pointer's distance from the CFA */

/* A change of a join, so that it can be taken back. */
struct change {
	uint32_t join, before;
};

struct code_frames {
	struct isa_decoder *decoder;
	struct intern *states, *switches; /* rules by code_switch.h: numbers from 1 */
	struct code_sweep sweep;
	const struct code_piece *piece;
	uint32_t *waiting; /* joins whose state changed: a stack */
	struct change *changes;
	size_t wait_count, wait_room, change_count, change_room;
	uint32_t *offers; /* joins that come right after calls, which perhaps never return */
	size_t offer_count, offer_room;
	struct code_offer recent[RECENT]; /* by computed jumps: a ring */
	uint32_t recent_count;
	uint64_t effort;
	/* Of the trial that is made. */
	bool refuted, trusted, guessed;
	uint32_t proofs;
	uint32_t entry;		 /* state at a function's beginning */
	struct code_offer offer; /* with the state at its last computed jump */
	struct code_frames_counters counters;
};

static const struct code_state *get_state(const struct code_frames *c, uint32_t number)
{
	size_t size;

	return intern_get(c->states, number, &size);
}

static int push(uint32_t **list, size_t *count, size_t *room, uint32_t join)
{
	if (array_grow(list, *count, room, sizeof(**list), 64))
		return -ENOMEM;
	(*list)[(*count)++] = join;
	return 0;
}

/* Gives a join another state, and has its code followed with it. */
static int change(struct code_frames *c, uint32_t join, uint32_t state)
{
	if (array_grow(&c->changes, c->change_count, &c->change_room, sizeof(*c->changes), 64))
		return -ENOMEM;
	c->changes[c->change_count++] = (struct change){join, c->sweep.joins[join].state};
	c->sweep.joins[join].state = state;
	return push(&c->waiting, &c->wait_count, &c->wait_room, join);
}

static int intern_state(struct code_frames *c, const struct code_state *s, uint32_t *ret)
{
	int r = intern_add(c->states, s, sizeof(*s), ret);

	if (r == -ENOSPC)
		c->refuted = true;
	return r == -ENOSPC ? 0 : r;
}

/* Flow comes to a join with a state. */
static int arrive(struct code_frames *c, uint32_t join, const struct code_state *s)
{
	struct code_join *j = &c->sweep.joins[join];
	struct code_state merged = *s;
	uint32_t number = CODE_NO_STATE;

	/* A function begins as all do, whoever jumps to it or calls abort before it. */
	if (j->flags & CODE_START)
		return 0;
	if (j->state != CODE_NO_STATE) {
		const struct code_state *there = get_state(c, j->state);
		struct code_value is = s->reg[ISA_REG_STACK], was = there->reg[ISA_REG_STACK];

		if (j->proven && is.base && was.base) {
			if (is.base != was.base || is.offset != was.offset)
				c->refuted = true;
			else
				c->proofs++;
		}
		code_state_merge(&merged, there);
	}
	int r = intern_state(c, &merged, &number);
	return r || c->refuted || number == j->state ? r : change(c, join, number);
}

/* By address; join_count: there is none there. */
static uint32_t find_join(const struct code_sweep *s, uint32_t at)
{
	size_t low = SEARCH_FIRST(s->join_count, i, s->joins[i].at >= at);

	return (uint32_t)(low < s->join_count && s->joins[low].at == at ? low : s->join_count);
}

static bool is_at_return(const struct code_state *s)
{
	struct code_value sp = s->reg[ISA_REG_STACK];

	return sp.base == CODE_CFA && sp.offset == AT_RETURN;
}

static bool has_frame_pointer(const struct code_state *s)
{
	struct code_value fp = s->reg[ISA_REG_FRAME];

	return fp.base == CODE_FRAME && fp.offset == 0;
}

/*
 * Whether the function's frame is gone, where it is to be. The caller's frame pointer is back, but
 * in helpers of assembly, whose state at their beginning is no guess.
 */
static void judge_return(struct code_frames *c, const struct code_state *s)
{
	if (is_at_return(s) && (!c->guessed || has_frame_pointer(s)))
		c->proofs++;
	else if (s->reg[ISA_REG_STACK].base != CODE_UNKNOWN &&
		 s->reg[ISA_REG_STACK].base != CODE_OTHER)
		c->refuted = true;
}

static int arrive_at(struct code_frames *c, int32_t at, const struct code_state *s)
{
	uint32_t join = at == CODE_OUTSIDE ? (uint32_t)c->sweep.join_count
					   : find_join(&c->sweep, (uint32_t)at);

	if (join == c->sweep.join_count)
		return 0;
	/* To another function one goes as one returns. */
	if (c->sweep.joins[join].flags & CODE_START)
		judge_return(c, s);
	return arrive(c, join, s);
}

/* A jump's end. */
static int follow_jump(struct code_frames *c, const struct code_step *step,
		       const struct code_state *s)
{
	if (step->value == CODE_OUTSIDE && is_at_return(s) && has_frame_pointer(s))
		c->proofs++;
	if (step->to == CODE_COMPUTED)
		return intern_state(c, s, &c->offer.state);
	return arrive_at(c, step->value, s);
}

/* Whether code behind a call drops what was pushed and goes elsewhere, and never returns. */
static bool never_returns(const struct code_sweep *w, size_t call)
{
	size_t i = call + 1;

	while (i < w->step_count && w->steps[i].kind == ISA_FRAME_POP)
		i++;
	return i < w->step_count &&
	       (w->steps[i].kind == ISA_FRAME_JUMP || w->steps[i].kind == ISA_FRAME_STOP);
}

/*
 * At a call through a pointer on another stack than the function's. It knows the way back, or there
 * is none: Go's mcall switches to the start of the scheduler's stack.
 */
static int notice_switch(struct code_frames *c, size_t call, struct code_state *s)
{
	const struct code_step *step = &c->sweep.steps[call];
	const size_t end = step->at + step->size;
	struct wire_unwind_rule rule;

	if (step->kind != ISA_FRAME_CALL || step->to != CODE_COMPUTED ||
	    s->reg[ISA_REG_STACK].base != CODE_OTHER)
		return 0;
	if (code_switch_read(c->decoder, c->piece->bytes + end, c->piece->size - end, &rule)) {
		uint32_t number = 0;
		int r = intern_add(c->switches, &rule, sizeof(rule), &number);

		s->switched = r ? 0 : number + 1;
		return r == -ENOSPC ? 0 : r;
	}
	if (never_returns(&c->sweep, call))
		s->outermost = true;
	return 0;
}

static void find_rule(const struct code_frames *c, const struct code_state *s,
		      struct wire_unwind_rule *ret)
{
	size_t size;

	if (s->switched)
		memcpy(ret, intern_get(c->switches, s->switched - 1, &size), sizeof(*ret));
	else
		code_state_rule(s, ret);
}

/* One step; *ret_on: flow goes on behind it. */
static int follow_step(struct code_frames *c, const struct code_step *step, struct code_state *s,
		       bool *ret_on)
{
	*ret_on = false;
	c->effort--;
	switch (step->kind) {
	case ISA_FRAME_RETURN:
		judge_return(c, s);
		return 0;
	case ISA_FRAME_STOP:
	case ISA_FRAME_BAD:
		return 0;
	case ISA_FRAME_JUMP:
		return follow_jump(c, step, s);
	case ISA_FRAME_BRANCH:
		*ret_on = true;
		return arrive_at(c, step->value, s);
	default:
		*ret_on = true;
		code_state_apply(s, step, step->at);
		return 0;
	}
}

/* What a call, if it returns, leads to. The first offer stands until another is believed. */
static int offer(struct code_frames *c, uint32_t join, const struct code_state *s)
{
	struct code_offer *o = &c->sweep.joins[join].offer;
	uint32_t state = CODE_NO_STATE;
	int r = intern_state(c, s, &state);

	if (!r && !c->refuted && (o->state == CODE_NO_STATE || c->trusted))
		*o = (struct code_offer){state, c->offer.by, c->offer.with};
	return r;
}

/* From a join to the next, or to the end of flow. */
static int follow(struct code_frames *c, uint32_t join)
{
	struct code_sweep *w = &c->sweep;
	struct code_state s = *get_state(c, w->joins[join].state);
	uint32_t next = join + 1;
	bool on = true, after_call = false;
	int r = 0;

	for (size_t i = w->joins[join].first_step; i < w->step_count && on && !r; i++) {
		if (next < w->join_count && w->steps[i].at >= w->joins[next].at)
			break;
		if (!c->effort || c->refuted)
			return 0;
		r = notice_switch(c, i, &s);
		if (!r)
			r = follow_step(c, &w->steps[i], &s, &on);
		after_call = w->steps[i].kind == ISA_FRAME_CALL && next < w->join_count &&
			     w->steps[i].at + w->steps[i].size == w->joins[next].at;
	}
	if (r || !on || next == w->join_count)
		return r;
	if (!after_call && !(w->joins[next].flags & CODE_MAYBE_CALL))
		return arrive(c, next, &s);
	r = offer(c, next, &s);
	/* With padding between it may be another function: it is tried by itself. */
	return r || (w->joins[next].flags & CODE_MAYBE_CALL)
		       ? r
		       : push(&c->offers, &c->offer_count, &c->offer_room, next);
}

static bool has_same_stack(const struct code_state *a, const struct code_state *b)
{
	struct code_value x = a->reg[ISA_REG_STACK], y = b->reg[ISA_REG_STACK];

	return x.base == y.base && x.offset == y.offset;
}

/* The last call's, once all else was followed: it returns, if what flows here otherwise agrees. */
static int take_offer(struct code_frames *c)
{
	const struct code_join *j = &c->sweep.joins[c->offers[--c->offer_count]];
	const struct code_state *s = get_state(c, j->offer.state);

	if (j->state != CODE_NO_STATE && !has_same_stack(s, get_state(c, j->state)))
		return 0;
	return arrive(c, (uint32_t)(j - c->sweep.joins), s);
}

static void take_back(struct code_frames *c)
{
	while (c->change_count > 0) {
		struct change *last = &c->changes[--c->change_count];

		c->sweep.joins[last->join].state = last->before;
	}
}

static bool is_believed(const struct code_frames *c, uint32_t join)
{
	return c->sweep.joins[join].state != CODE_NO_STATE;
}

/* Keeps the state at the last computed jump, believed or not. */
static void add_recent(struct code_frames *c)
{
	bool known = c->offer.state == CODE_NO_STATE;

	for (uint32_t i = 0; i < RECENT && i < c->recent_count; i++)
		known |= c->recent[i].state == c->offer.state &&
			 (c->recent[i].by == c->offer.by || is_believed(c, c->recent[i].by));
	if (!known)
		c->recent[c->recent_count++ % RECENT] = c->offer;
}

static void believe(struct code_frames *c)
{
	for (size_t i = 0; i < c->change_count; i++)
		c->sweep.joins[c->changes[i].join].proven = true;
	c->change_count = 0;
}

/* What becomes of the code if it begins so. trusted: it need not be proven. */
static int try(struct code_frames *c, uint32_t join, uint32_t state, bool trusted)
{
	c->refuted = false;
	c->trusted = trusted;
	c->guessed = state != c->entry;
	c->proofs = 0;
	c->offer = (struct code_offer){CODE_NO_STATE, join, state};
	c->wait_count = c->offer_count = 0;
	int r = change(c, join, state);
	while (!r && c->wait_count + c->offer_count > 0 && !c->refuted && c->effort)
		r = c->wait_count ? follow(c, c->waiting[--c->wait_count]) : take_offer(c);
	if (!r && !c->refuted && c->effort && (c->proofs || trusted)) {
		believe(c);
		add_recent(c);
	} else {
		take_back(c);
	}
	return r;
}

/* There the stack pointer is at a ucontext, whose registers were those of the interrupted code. */
static int enter_sigreturn(struct code_frames *c, struct code_state *s)
{
	static const struct wire_unwind_rule rule = {
		.cfa = WIRE_CFA_DEREF,
		.cfa_reg = DWARF_RSP,
		.cfa_offset = 160,
		.fp = WIRE_LOCATION_AT_REGISTER,
		.fp_reg = DWARF_RSP,
		.fp_offset = 120,
		.ra = WIRE_LOCATION_AT_REGISTER,
		.ra_reg = DWARF_RSP,
		.ra_offset = 168,
		.flags = WIRE_UNWIND_SIGNAL,
		.rbx = 128 / 8,
	};
	uint32_t number = 0;
	int r = intern_add(c->switches, &rule, sizeof(rule), &number);

	memset(s, 0, sizeof(*s));
	s->switched = r ? 0 : number + 1;
	return r == -ENOSPC ? 0 : r;
}

static int try_entry(struct code_frames *c, uint32_t join, bool trusted)
{
	uint64_t address = c->piece->address + c->sweep.joins[join].at;
	struct code_state s;
	uint32_t number = 0;

	code_state_enter(&s, address == c->piece->entry ||
				     code_sweep_is_goexit(c->piece, c->sweep.joins[join].at));
	c->refuted = false;
	int r = code_sweep_is_sigreturn(c->piece, c->sweep.joins[join].at) ? enter_sigreturn(c, &s)
									   : 0;
	if (!r)
		r = intern_state(c, &s, &number);
	if (r || c->refuted)
		return r;
	c->entry = number;
	r = try(c, join, number, trusted);
	/* What its jumps lead to may yet prove it. */
	if (!r && !c->refuted && c->effort)
		add_recent(c);
	return r;
}

/* If it is believed, so is the code that made it, and what was offered to that. */
static int try_offer(struct code_frames *c, uint32_t join, struct code_offer o)
{
	int r = try(c, join, o.state, false);

	for (unsigned i = 0; i < OFFERS && !r && is_believed(c, join); i++) {
		if (is_believed(c, o.by))
			break;
		r = try(c, o.by, o.with, true);
		join = o.by;
		if (c->sweep.joins[join].offer.state != o.with)
			break;
		o = c->sweep.joins[join].offer;
	}
	return r;
}

/* With the states that computed jumps had lately. */
static int try_recent(struct code_frames *c, uint32_t join)
{
	uint32_t count = c->recent_count < RECENT ? c->recent_count : RECENT;
	struct code_offer recent[RECENT];
	int r = 0;

	for (uint32_t i = 0; i < count; i++)
		recent[i] = c->recent[(c->recent_count - 1 - i) % RECENT];
	for (uint32_t i = 0; i < count && !r && !is_believed(c, join); i++)
		r = try_offer(c, join, recent[i]);
	return r;
}

/* Code that nothing flows into: it is a function's, or part of one before. */
static int try_all(struct code_frames *c, uint32_t join)
{
	struct code_join *j = &c->sweep.joins[join];
	bool aligned = (c->piece->address + j->at) % ALIGNMENT == 0;
	int r = 0;

	if (j->offer.state != CODE_NO_STATE)
		r = try_offer(c, join, j->offer);
	for (int turn = 0; turn < 2 && !r && j->state == CODE_NO_STATE; turn++)
		r = (turn == 0) == aligned ? try_entry(c, join, false) : try_recent(c, join);
	return r;
}

static int find_states(struct code_frames *c)
{
	int r = 0;

	for (uint32_t i = 0; i < c->sweep.join_count && !r; i++)
		if (c->sweep.joins[i].flags & CODE_START)
			r = try_entry(c, i, true);
	for (uint32_t i = 0; i < c->sweep.join_count && !r; i++)
		if (c->sweep.joins[i].state == CODE_NO_STATE &&
		    (c->sweep.joins[i].flags & (CODE_RESUMED | CODE_MAYBE_CALL)))
			r = try_all(c, i);
	return r;
}

/* The row that is being made. */
struct row {
	struct code_frames *c;
	code_frames_taker *f;
	void *arg;
	uint64_t start, end; /* where it begins, and where the last one ended */
	struct wire_unwind_rule rule;
};

static int end_row(struct row *row, uint64_t at, const struct wire_unwind_rule *next)
{
	int r = 0;

	if (next && !memcmp(next, &row->rule, sizeof(*next)))
		return 0;
	if (row->rule.cfa != WIRE_CFA_NONE && at > row->start) {
		row->c->counters.bytes += at - row->start;
		row->end = at;
		r = row->f(row->arg, row->start, at, &row->rule);
	}
	/* What begins early does not take from the row before. */
	row->start = at > row->end ? at : row->end;
	row->rule = next ? *next : (struct wire_unwind_rule){0};
	return r;
}

/* The rows from a join to the next, or to the end of flow. */
static int show_join(struct row *row, uint32_t join)
{
	const struct code_sweep *w = &row->c->sweep;
	const uint64_t base = row->c->piece->address;
	struct code_state s = *get_state(row->c, w->joins[join].state);
	/* Handlers return to what no call is before. */
	uint32_t early =
		w->joins[join].at > 0 && code_sweep_is_sigreturn(row->c->piece, w->joins[join].at);
	uint64_t limit = join + 1 < w->join_count ? w->joins[join + 1].at : row->c->sweep.end;
	struct wire_unwind_rule rule;

	find_rule(row->c, &s, &rule);
	int r = end_row(row, base + w->joins[join].at - early, &rule);
	for (size_t i = w->joins[join].first_step; i < w->step_count && !r; i++) {
		const struct code_step *step = &w->steps[i];

		if (step->at >= limit)
			break;
		if (step->kind == ISA_FRAME_BRANCH)
			continue;
		if (step->kind >= ISA_FRAME_JUMP || step->kind == ISA_FRAME_BAD)
			return end_row(row, base + step->at + step->size, NULL);
		r = notice_switch(row->c, i, &s);
		find_rule(row->c, &s, &rule);
		if (!r)
			r = end_row(row, base + step->at, &rule);
		code_state_apply(&s, step, step->at);
		find_rule(row->c, &s, &rule);
		if (!r)
			r = end_row(row, base + step->at + step->size, &rule);
	}
	return r;
}

static int show_rows(struct code_frames *c, code_frames_taker *f, void *arg)
{
	struct row row = {.c = c, .f = f, .arg = arg, .start = c->piece->address};
	const struct code_sweep *w = &c->sweep;
	int r = 0;

	for (uint32_t i = 0; i < w->join_count && !r; i++)
		r = w->joins[i].state == CODE_NO_STATE
			    ? end_row(&row, c->piece->address + w->joins[i].at, NULL)
			    : show_join(&row, i);
	return r ? r : end_row(&row, c->piece->address + c->piece->size, NULL);
}

int code_frames_new(struct code_frames **ret, struct diag *diag)
{
	struct code_frames *c = calloc(1, sizeof(*c));

	if (!c)
		return diag_fail(diag, ENOMEM, "out of memory");
	c->states = intern_new(STATES_MAX);
	c->switches = intern_new(SWITCHES_MAX);
	int r = c->states && c->switches
			? isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &c->decoder, diag)
			: diag_fail(diag, ENOMEM, "out of memory");
	if (r) {
		code_frames_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void code_frames_free(struct code_frames *c)
{
	if (!c)
		return;
	isa_decoder_free(c->decoder);
	intern_free(c->states);
	intern_free(c->switches);
	code_sweep_free(&c->sweep);
	free(c->waiting);
	free(c->offers);
	free(c->changes);
	free(c);
}

int code_frames_each(struct code_frames *c, const struct code_piece *piece, code_frames_taker *f,
		     void *arg)
{
	struct code_piece part = *piece;

	if (part.size > PIECE_MAX)
		part.size = PIECE_MAX;
	c->piece = &part;
	c->recent_count = 0;
	int r = code_sweep_read(&c->sweep, c->decoder, &part, CODE_FRAMES_MAX);
	part.size = c->sweep.end;
	c->counters.skipped += piece->size - part.size;
	c->effort = EFFORT * (uint64_t)c->sweep.step_count;
	if (!r)
		r = find_states(c);
	return r ? r : show_rows(c, f, arg);
}

void code_frames_count(const struct code_frames *c, struct code_frames_counters *ret)
{
	*ret = c->counters;
	ret->instructions = c->sweep.instructions;
}
