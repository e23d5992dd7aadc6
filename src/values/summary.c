/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "values/summary.h"

#include "util/num.h"

const char *value_kind_name(uint32_t kind)
{
	static const char *const names[VALUE_KINDS] = {
		[VALUE_LOADED] = "loaded",
		[VALUE_STORED] = "stored",
		[VALUE_OPERAND] = "operand",
		[VALUE_OPERAND_2] = "operand2",
		[VALUE_RESULT] = "result",
		[VALUE_ADDRESS] = "address",
		[VALUE_STRIDE] = "stride",
		[VALUE_RETURN] = "return",
		[VALUE_ARGUMENT_1] = "argument1",
		[VALUE_ARGUMENT_1 + 1] = "argument2",
		[VALUE_ARGUMENT_1 + 2] = "argument3",
		[VALUE_ARGUMENT_1 + 3] = "argument4",
		[VALUE_ARGUMENT_1 + 4] = "argument5",
		[VALUE_ARGUMENT_6] = "argument6",
	};

	return kind < VALUE_KINDS ? names[kind] : NULL;
}

void value_summary_init(struct value_summary *s, uint32_t room)
{
	*s = (struct value_summary){.aligned = 64};
	value_hotlist_init(&s->hot, room);
}

/* Strides are ordered with their sign, everything else without. */
static bool is_less(enum value_kind kind, uint64_t a, uint64_t b)
{
	return kind == VALUE_STRIDE ? (int64_t)a < (int64_t)b : a < b;
}

static void stretch(struct value_summary *s, enum value_kind kind, uint64_t low, uint64_t high)
{
	if (!s->hot.samples || is_less(kind, low, s->low))
		s->low = low;
	if (!s->hot.samples || is_less(kind, s->high, high))
		s->high = high;
}

void value_summary_add(struct value_summary *s, enum value_kind kind,
		       const struct value_sample *sample, bool with_content)
{
	const uint64_t v = sample->value;
	const int64_t n = value_signed(v, sample->width);
	const uint32_t zeros = v ? (uint32_t)__builtin_ctzll(v) : 64;

	s->samples = num_add_sat(s->samples, 1);
	s->zeros += v == 0;
	s->negatives += n < 0;
	s->again += sample->is_again;
	s->same += sample->is_again && sample->is_same;
	for (unsigned i = 0; i < VALUE_WIDTHS; i++) {
		const unsigned bits = 8u << i;
		const int64_t most = (int64_t)1 << (bits - 1);

		s->fits[i] += v >> bits == 0 || (n >= -most && n < most);
	}
	s->width = sample->width > s->width ? sample->width : s->width;
	s->aligned = zeros < s->aligned ? zeros : s->aligned;
	if (!with_content)
		return;
	stretch(s, kind, v, v);
	value_hotlist_add(&s->hot, v);
}

void value_summary_merge(struct value_summary *to, const struct value_summary *from,
			 enum value_kind kind)
{
	to->samples = num_add_sat(to->samples, from->samples);
	to->zeros = num_add_sat(to->zeros, from->zeros);
	to->negatives = num_add_sat(to->negatives, from->negatives);
	to->again = num_add_sat(to->again, from->again);
	to->same = num_add_sat(to->same, from->same);
	for (unsigned i = 0; i < VALUE_WIDTHS; i++)
		to->fits[i] = num_add_sat(to->fits[i], from->fits[i]);
	to->width = from->width > to->width ? from->width : to->width;
	to->aligned = from->aligned < to->aligned ? from->aligned : to->aligned;
	if (from->hot.samples)
		stretch(to, kind, from->low, from->high);
	value_hotlist_merge(&to->hot, &from->hot);
}
