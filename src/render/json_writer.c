/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/json_writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64

void json_writer_init(struct json_writer *w, size_t max_bytes)
{
	buf_init(&w->buf, max_bytes);
	w->more = false;
}

/* What stands before a value. */
static void begin(struct json_writer *w, const char *key)
{
	if (w->more)
		buf_append_u8(&w->buf, ',');
	w->more = true;
	if (!key)
		return;
	buf_append_u8(&w->buf, '"');
	buf_append(&w->buf, key, strlen(key));
	buf_append(&w->buf, "\":", 2);
}

static void put(struct json_writer *w, const char *key, const char *text, size_t size)
{
	begin(w, key);
	buf_append(&w->buf, text, size);
}

static void put_quoted(struct json_writer *w, const char *key, const char *text, size_t size)
{
	put(w, key, "\"", 1);
	buf_append(&w->buf, text, size);
	buf_append_u8(&w->buf, '"');
}

void json_writer_open(struct json_writer *w, const char *key, char bracket)
{
	put(w, key, &bracket, 1);
	w->more = false;
}

void json_writer_close(struct json_writer *w, char bracket)
{
	buf_append_u8(&w->buf, (uint8_t)bracket);
	w->more = true;
}

/* Digits backwards from the end of text; where they begin. */
static char *write_digits(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

/*
 * What %.9g writes, where no exponent is needed: 9 digits as a whole number, by way of a product
 * whose error is far below what rounding looks at. NULL: not of this range, or too near to the
 * middle between two such numbers to be sure of it. Ends at end.
 */
static char *write_fixed(char *end, double value)
{
	static const long double powers[] = {1e0L, 1e1L, 1e2L, 1e3L,  1e4L,  1e5L, 1e6L,
					     1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L};
	const double size = fabs(value);
	unsigned places = 8;

	if (!(size >= 1e-4 && size < 1e8))
		return NULL;
	for (double limit = 10; size >= limit; limit *= 10)
		places--;
	for (double limit = 1; size < limit; limit /= 10)
		places++;
	const long double scaled = size * powers[places];
	uint64_t digits = (uint64_t)scaled;
	const long double rest = scaled - (long double)digits;
	if (fabsl(rest - 0.5L) < 1e-6L || digits < 100000000 || digits >= 999999999)
		return NULL;
	digits += rest > 0.5L;
	for (; places > 1 && digits % 10 == 0; places--)
		digits /= 10;
	for (; places > 0; places--, digits /= 10)
		*--end = (char)('0' + digits % 10);
	*--end = '.';
	end = write_digits(end, digits);
	if (signbit(value))
		*--end = '-';
	return end;
}

/* Nine digits count, as in report_json_print; the exponent has no plus sign nor zeros before it. */
void json_writer_number(struct json_writer *w, const char *key, double value)
{
	char text[NUMBER_MAX], *end = text + sizeof(text), *from;

	if (!isfinite(value)) {
		put(w, key, "null", 4);
		return;
	}
	if (value >= 0 && value < 1e9 && value == (double)(uint32_t)value && !signbit(value)) {
		memcpy(end - 2, ".0", 2);
		from = write_digits(end - 2, (uint32_t)value);
		put(w, key, from, (size_t)(end - from));
		return;
	}
	from = write_fixed(end, value);
	if (from) {
		put(w, key, from, (size_t)(end - from));
		return;
	}
	size_t size = (size_t)snprintf(text, sizeof(text), "%.9g", value);
	char *exponent = memchr(text, 'e', size);
	if (!exponent && !memchr(text, '.', size)) {
		memcpy(text + size, ".0", 2);
		size += 2;
	} else if (exponent) {
		char *digits = exponent + 2, *to = exponent + 1 + (exponent[1] == '-');

		while (*digits == '0')
			digits++;
		size -= (size_t)(digits - to);
		memmove(to, digits, size - (size_t)(to - text));
	}
	put(w, key, text, size);
}

void json_writer_count(struct json_writer *w, const char *key, uint64_t value)
{
	char text[NUMBER_MAX], *end = text + sizeof(text), *from = write_digits(end, value);

	if (value > INT64_MAX) /* which others read as no integer */
		json_writer_number(w, key, (double)value);
	else
		put(w, key, from, (size_t)(end - from));
}

void json_writer_bool(struct json_writer *w, const char *key, bool value)
{
	put(w, key, value ? "true" : "false", value ? 4 : 5);
}

void json_writer_value(struct json_writer *w, const char *key, json_t *value)
{
	char *text = value ? json_dumps(value, REPORT_JSON_FLAGS | JSON_ENCODE_ANY) : NULL;

	if (text)
		put(w, key, text, strlen(text));
	else
		w->buf.error = -ENOMEM;
	free(text);
	json_decref(value);
}

void json_writer_text(struct json_writer *w, const char *key, const char *text)
{
	size_t plain = 0;

	while (text && text[plain] >= ' ' && text[plain] < 0x7f && text[plain] != '"' &&
	       text[plain] != '\\')
		plain++;
	if (text && !text[plain]) {
		put_quoted(w, key, text, plain);
		return;
	}
	json_writer_value(w, key, report_json_text(text));
}

void json_writer_address(struct json_writer *w, const char *key, uint64_t address)
{
	char text[NUMBER_MAX], *end = text + sizeof(text), *from = end;

	do {
		*--from = "0123456789abcdef"[address & 15];
		address >>= 4;
	} while (address);
	*--from = 'x';
	*--from = '0';
	put_quoted(w, key, from, (size_t)(end - from));
}

int json_writer_end(struct json_writer *w, FILE *out)
{
	int r = w->buf.error;

	if (!r)
		fwrite(w->buf.data, 1, w->buf.size, out);
	buf_free(&w->buf);
	return r;
}
