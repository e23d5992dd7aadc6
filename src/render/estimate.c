/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX    9
#define BOUND_DIGITS  2
#define PLAIN_MAX     1e6 /* larger ones have an exponent */
#define PLAIN_MIN     1e-4
#define EXACT_DIGITS  15
#define ESTIMATE_KEYS 3
static const char *const suffixes[ESTIMATE_KEYS] = {"", "_low", "_high"};

/* The digits that a value has down to the place of what it is uncertain by, at least so many. */
static int digits_of(double value, double uncertain, int least)
{
	int digits;

	if (!(uncertain > 0))
		return DIGITS_MAX;
	digits = (int)floor(log10(value)) - (int)floor(log10(uncertain)) + 1;
	return digits < least ? least : digits > DIGITS_MAX ? DIGITS_MAX : digits;
}

static double uncertain_by(double value, double low, double high)
{
	return fmin(value - low, high - value);
}

static void format_digits(double value, int digits, char *out, size_t room)
{
	char rounded[64];
	double size;
	int places;

	if (digits == DIGITS_MAX) {
		snprintf(out, room, "%.*g", DIGITS_MAX, value);
		return;
	}
	snprintf(rounded, sizeof(rounded), "%.*e", digits - 1, value);
	size = strtod(rounded, NULL);
	if (size != 0 && (size >= PLAIN_MAX || size < PLAIN_MIN)) {
		snprintf(out, room, "%s", rounded);
		return;
	}
	places = size > 0 ? digits - 1 - (int)floor(log10(size) + 1e-12) : 0;
	snprintf(out, room, "%.*f", places > 0 ? places : 0, size);
}

static bool is_exact(double value, double low, double high)
{
	return low == value && high == value;
}

void estimate_format_value(double value, double low, double high, char out[ESTIMATE_TEXT_MAX])
{
	if (value > 0 && is_exact(value, low, high))
		snprintf(out, ESTIMATE_TEXT_MAX, "%.*g", EXACT_DIGITS, value);
	else if (!(value > 0) || !isfinite(value))
		snprintf(out, ESTIMATE_TEXT_MAX, "%s", high > 0 ? "" : "0");
	else
		format_digits(value, digits_of(value, uncertain_by(value, low, high), 1), out,
			      ESTIMATE_TEXT_MAX);
}

static void format_bound(double bound, double value, double low, double high, char out[64])
{
	int digits = BOUND_DIGITS;

	if (bound > value / 2 && bound < 2 * value)
		digits = digits_of(bound, uncertain_by(value, low, high), BOUND_DIGITS);
	if (bound > 0)
		format_digits(bound, digits, out, 64);
	else
		strcpy(out, "0");
}

/* "0.41 to 25"; "above 3", and nothing where nothing is known. */
static void format_range(double value, double low, double high, char out[ESTIMATE_TEXT_MAX])
{
	char from[64], to[64] = "";

	*out = 0;
	format_bound(low, value, low, high, from);
	if (isfinite(high)) {
		format_bound(high, value, low, high, to);
		snprintf(out, ESTIMATE_TEXT_MAX, "%s to %s", from, to);
	} else if (low > 0) {
		snprintf(out, ESTIMATE_TEXT_MAX, "above %s", from);
	}
}

void estimate_format(double value, double low, double high, const char *trust,
		     char out[ESTIMATE_TEXT_MAX])
{
	char text[ESTIMATE_TEXT_MAX], range[ESTIMATE_TEXT_MAX];

	estimate_format_value(value, low, high, text);
	format_range(value, low, high, range);
	if (value > 0 && is_exact(value, low, high))
		snprintf(out, ESTIMATE_TEXT_MAX, "%.40s (%.8s)", text, trust);
	else if (value > 0)
		snprintf(out, ESTIMATE_TEXT_MAX, "%.40s (%.40s, %.8s)", text, range, trust);
	else if (!isfinite(high))
		snprintf(out, ESTIMATE_TEXT_MAX, "%.60s", low > 0 ? range : "not known");
	else if (high > 0)
		snprintf(out, ESTIMATE_TEXT_MAX, "at most %.40s (%.8s)", strstr(range, " to ") + 4,
			 trust);
	else
		snprintf(out, ESTIMATE_TEXT_MAX, "0");
}

int table_add_estimate(struct table *t, const char *key, const char *heading,
		       const char *range_heading, int spare)
{
	const int first = table_add_column(t, TABLE_FIGURE, NULL, heading);
	const int range = table_add_column(t, TABLE_FIGURE, NULL, range_heading);

	table_set_spare(t, first, spare + 1);
	table_set_spare(t, range, spare);
	for (int i = 0; i < ESTIMATE_KEYS; i++)
		table_add_joined_column(t, TABLE_REAL, key, suffixes[i]);
	return first;
}

void table_set_estimate(struct table *t, int column, double value, double low, double high)
{
	const double numbers[ESTIMATE_KEYS] = {value, low, high};
	char text[ESTIMATE_TEXT_MAX];

	if (column < 0)
		return;
	for (int i = 0; i < ESTIMATE_KEYS; i++)
		table_set_real(t, column + 2 + i, numbers[i]);
	/* What was not seen, but may have been, is left empty. */
	if (!(value > 0) && !is_exact(value, low, high))
		return;
	estimate_format_value(value, low, high, text);
	table_set_text(t, column, text);
	if (is_exact(value, low, high))
		return;
	format_range(value, low, high, text);
	table_set_text(t, column + 1, text);
}
