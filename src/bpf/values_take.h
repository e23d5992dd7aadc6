/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_VALUES_TAKE_H
#define CULPRIT_BPF_VALUES_TAKE_H

/* Takes the values of a window; to be included after micro/interpret.h, by a host whose struct
 * interpret has a struct value_record values. */
#include "values.h"

#ifdef INTERPRET_FUNCTION
#include "micro/interpret_capture.h"

static inline void values_before(struct interpret *s)
{
	s->values.pc = s->pc;
	s->values.at = interpret_place(s);
}

/* Room for one more; NULL: there is none. */
static inline struct wire_value *values_next(struct value_record *r)
{
	wire_u32 n = r->out.count;

	if (n >= WIRE_WINDOW_VALUES)
		return 0;
	r->out.count = n + 1;
	return &r->out.value[n & (WIRE_WINDOW_VALUES - 1)];
}

static inline void values_follow_call(struct interpret *s)
{
	struct value_record *r = &s->values;

	if (s->micro.op == MICRO_NOP)
		return;
	if (s->micro.op == MICRO_JUMP || s->micro.op == MICRO_JUMP_TO)
		r->out.value[(r->call - 1) & (WIRE_WINDOW_VALUES - 1)].at = interpret_place(s);
	else
		r->call = 0;
}

/* After an instruction that was interpreted whole. */
INTERPRET_FUNCTION int values_after(struct interpret *s)
{
	if (!s)
		return 0;

	struct value_record *r = &s->values;
	wire_u32 n = (s->instructions - 1) & (WIRE_WINDOW_INSTRUCTIONS - 1);
	wire_u32 w = (r->pc ^ r->pc >> 4) & (VALUE_WATCHES - 1);
	struct wire_value *v;

	if (r->call)
		values_follow_call(s);
	if (r->watch[w].pc == r->pc) {
		interpret_capture_next(s,
				       &r->out.value[r->watch[w].index & (WIRE_WINDOW_VALUES - 1)]);
		r->watch[w].pc = 0;
	}
	if ((r->positions >> (n / WIRE_VALUE_STRATA * 4) & 15) != n % WIRE_VALUE_STRATA)
		return 0;
	r->watch[w].index = r->out.count;
	v = values_next(r);
	if (!v)
		return 0;
	r->watch[w].pc = r->pc;
	interpret_capture(s, r->at, v);
	if (s->micro.op != MICRO_CALL && s->micro.op != MICRO_CALL_TO)
		return 0;
	v = values_next(r);
	if (!v)
		return 0;
	interpret_capture_call(s, r->at, v);
	r->call = r->out.count;
	return 0;
}
#endif

#endif
