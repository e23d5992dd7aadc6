/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "values/extract.h"

#include "micro/wire_micro.h"

struct finding {
	const struct wire_value *v;
	struct value_found *to;
	unsigned count;
};

static bool is_known(const struct wire_value *v, unsigned part)
{
	return v->known >> part & 1;
}

static uint64_t masked(uint64_t value, unsigned width)
{
	return width < 3 ? value & ((UINT64_C(1) << (8u << width)) - 1) : value;
}

static void take(struct finding *f, enum value_kind kind, unsigned part, unsigned width)
{
	const struct wire_value *v = f->v;
	const unsigned next = part + WIRE_VALUE_PARTS;

	if (!is_known(v, part) || width > 3 || f->count == VALUES_FOUND_MAX)
		return;
	f->to[f->count++] = (struct value_found){
		kind,
		{.value = masked(v->value[part], width),
		 .width = (uint8_t)width,
		 .is_again = is_known(v, next),
		 .is_same = is_known(v, next) &&
			    masked(v->value[part], width) == masked(v->value[next], width)}};
}

static void take_address(struct finding *f)
{
	const struct wire_value *v = f->v;
	const unsigned next = WIRE_VALUE_ADDRESS + WIRE_VALUE_PARTS;

	take(f, VALUE_ADDRESS, WIRE_VALUE_ADDRESS, 3);
	if (is_known(v, WIRE_VALUE_ADDRESS) && is_known(v, next) && f->count < VALUES_FOUND_MAX)
		f->to[f->count++] = (struct value_found){
			VALUE_STRIDE,
			{.value = v->value[next] - v->value[WIRE_VALUE_ADDRESS], .width = 3}};
}

static bool is_register(const struct wire_value *v, unsigned field)
{
	return (v->registers >> (5 * field) & 31) != MICRO_NO_REGISTER;
}

static void take_arithmetic(struct finding *f)
{
	const struct wire_value *v = f->v;
	const unsigned width = v->widths & 15, source = v->widths >> 4;
	const bool is_move = v->op == MICRO_MOVE || v->op == MICRO_MOVE_SIGNED;

	if (v->mode & MICRO_A_MEMORY)
		take(f, VALUE_LOADED, WIRE_VALUE_A, width);
	else if (is_register(v, 1))
		take(f, VALUE_OPERAND, WIRE_VALUE_A, width);
	if (v->mode & MICRO_B_MEMORY)
		take(f, VALUE_LOADED, WIRE_VALUE_B, source);
	else if (!(v->mode & MICRO_B_IMM) && is_register(v, 2) && !is_move)
		take(f, VALUE_OPERAND_2, WIRE_VALUE_B, source);
	if (v->mode & MICRO_TO_MEMORY)
		take(f, VALUE_STORED, WIRE_VALUE_RESULT, width);
	else if (!(v->mode & MICRO_TO_NOWHERE) &&
		 !(v->op == MICRO_MOVE && v->mode & (MICRO_B_MEMORY | MICRO_B_IMM)))
		take(f, VALUE_RESULT, WIRE_VALUE_RESULT, width);
}

static void take_call(struct finding *f)
{
	for (unsigned i = 0; i < WIRE_VALUE_ARGUMENTS; i++)
		if (is_known(f->v, i))
			f->to[f->count++] = (struct value_found){
				VALUE_ARGUMENT_1 + i, {.value = f->v->value[i], .width = 3}};
}

unsigned values_extract(const struct wire_value *v, struct value_found ret[VALUES_FOUND_MAX])
{
	struct finding f = {v, ret, 0};

	if (v->form == WIRE_VALUE_OF_CALL) {
		take_call(&f);
		return f.count;
	}
	take_address(&f);
	if (v->op >= MICRO_VALUE_FIRST && v->op < MICRO_V_FIRST)
		take_arithmetic(&f);
	else if (v->op == MICRO_PUSH)
		take(&f, v->mode & MICRO_B_MEMORY ? VALUE_LOADED : VALUE_STORED, WIRE_VALUE_B, 3);
	else if (v->op == MICRO_POP)
		take(&f, VALUE_LOADED, WIRE_VALUE_RESULT, 3);
	else if (v->op == MICRO_RETURN)
		take(&f, VALUE_RETURN, WIRE_VALUE_RESULT, 3);
	return f.count;
}
