/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/num.h"
#include "array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRACTION_DIGITS_MAX 9

/* The number before a unit: digits, and perhaps a point and more digits. */
struct decimal {
	uint64_t whole, fraction, denominator; /* whole + fraction / denominator */
	const char *rest;
};

struct unit {
	const char *name;
	uint64_t factor;
};

uint64_t num_add_sat(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

int num_compare_u32(const void *a, const void *b)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return NUM_ORDER(x, y);
}

int num_compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return NUM_ORDER(x, y);
}

int num_compare_double(const void *a, const void *b)
{
	double x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return NUM_ORDER(x, y);
}

size_t num_sort_unique(uint64_t *list, size_t count)
{
	size_t kept = 0;

	array_sort(list, count, sizeof(*list), num_compare_u64);
	for (size_t i = 0; i < count; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

uint64_t num_mul_sat(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Not strtoull(3), which accepts blanks, signs and octal numbers: here these are mistakes. */
static int parse_digits(const char **text, unsigned base, uint64_t *ret)
{
	const char *p = *text;
	uint64_t v = 0;
	int overflow = 0;

	if (digit_value(*p) >= (int)base)
		return -EINVAL;
	for (; digit_value(*p) < (int)base; p++) {
		overflow |= __builtin_mul_overflow(v, base, &v);
		overflow |= __builtin_add_overflow(v, (unsigned)digit_value(*p), &v);
	}
	*text = p;
	*ret = v;
	return overflow ? -ERANGE : 0;
}

int num_parse_u64(const char *text, uint64_t *ret)
{
	int hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint64_t v;

	text += hex ? 2 : 0;
	int r = parse_digits(&text, hex ? 16 : 10, &v);
	if (r == -EINVAL || *text)
		return -EINVAL;
	if (!r)
		*ret = v;
	return r;
}

static int parse_decimal(const char *text, struct decimal *ret)
{
	struct decimal d = {.denominator = 1};
	int r, digits = 0;

	/* -ERANGE is kept for the end, so that what is no number at all says so. */
	r = parse_digits(&text, 10, &d.whole);
	if (r == -EINVAL)
		return r;
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9'; text++) {
			if (++digits > FRACTION_DIGITS_MAX)
				return -EINVAL;
			d.fraction = 10 * d.fraction + (uint64_t)(*text - '0');
			d.denominator *= 10;
		}
		if (!digits)
			return -EINVAL;
	}
	d.rest = text;
	*ret = d;
	return r;
}

/* A decimal with one of the units; the product must be a whole number. */
static int parse_with_unit(const char *text, const struct unit *units, uint64_t *ret)
{
	const struct unit *u = units;
	uint64_t value, part;
	struct decimal d;
	int r = parse_decimal(text, &d);

	if (r == -EINVAL)
		return r;
	while (u->name && strcmp(u->name, d.rest))
		u++;
	if (!u->name)
		return -EINVAL;
	if (r)
		return r;
	if (__builtin_mul_overflow(d.whole, u->factor, &value) ||
	    __builtin_mul_overflow(d.fraction, u->factor, &part))
		return -ERANGE;
	if (part % d.denominator)
		return -EINVAL;
	if (__builtin_add_overflow(value, part / d.denominator, &value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int num_parse_count(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {NULL, 0},
	};

	return parse_with_unit(text, units, ret);
}

int num_parse_bytes(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", 1},	   {"B", 1},	       {"k", 1ULL << 10},
		{"K", 1ULL << 10}, {"KB", 1ULL << 10}, {"KiB", 1ULL << 10},
		{"M", 1ULL << 20}, {"MB", 1ULL << 20}, {"MiB", 1ULL << 20},
		{"G", 1ULL << 30}, {"GB", 1ULL << 30}, {"GiB", 1ULL << 30},
		{"T", 1ULL << 40}, {"TB", 1ULL << 40}, {"TiB", 1ULL << 40},
		{NULL, 0},
	};

	return parse_with_unit(text, units, ret);
}

int num_parse_duration_ns(const char *text, uint64_t *ret)
{
	static const uint64_t second = 1000000000;
	static const struct unit units[] = {
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", second},
		{"m", 60 * second},
		{"h", 3600 * second},
		{"d", 86400 * second},
		{"w", 7 * 86400 * second},
		{NULL, 0},
	};

	/* Nothing is nothing in any unit; other numbers without one are ambiguous. */
	if (!strcmp(text, "0")) {
		*ret = 0;
		return 0;
	}
	return parse_with_unit(text, units, ret);
}

int num_parse_percent(const char *text, double *ret)
{
	struct decimal d;
	double v;
	int r = parse_decimal(text, &d);

	if (r)
		return r;
	if (strcmp(d.rest, "") && strcmp(d.rest, "%"))
		return -EINVAL;
	v = (double)d.whole + (double)d.fraction / (double)d.denominator;
	if (v <= 0 || v > 100)
		return -ERANGE;
	*ret = v;
	return 0;
}
