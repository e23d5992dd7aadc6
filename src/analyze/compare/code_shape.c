/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/code_shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

#define GRAM	    3
#define CELLS_MAX   ((size_t)1 << 24) /* of the table for alignment, 2 bytes each */
#define SMALL_VALUE 4 /* digits of an immediate that is taken as it is: no address */

void code_shape_free(struct code_shape *s)
{
	if (!s)
		return;
	free(s->tokens);
	free(s->addresses);
	free(s->sketch);
	free(s);
}

/* The end of an operand: the next comma outside of parentheses. */
static const char *operand_end(const char *p)
{
	int depth = 0;

	for (; *p && (*p != ',' || depth > 0); p++)
		depth += (*p == '(') - (*p == ')');
	return p;
}

/* One letter for what an operand is; a small immediate as it is. Returns what was written. */
static size_t shape_operand(const char *p, const char *end, char *out)
{
	size_t size = (size_t)(end - p);

	if (memchr(p, '(', size)) {
		*out = 'm';
	} else if (*p == '$' && size <= SMALL_VALUE + 3) {
		memcpy(out, p, size);
		return size;
	} else if (*p == '$') {
		*out = 'i';
	} else if (*p == '%') {
		*out = size > 3 && p[2] == 'm' && p[3] == 'm' ? 'v' : 'r';
	} else {
		*out = 't';
	}
	return 1;
}

/* The text of an instruction in AT&T's syntax to its token. */
static uint32_t token_of(const char *text)
{
	char shape[2 * ISA_TEXT_MAX];
	size_t words = strcspn(text, "%$*(-0123456789<"), size;
	const char *p = text, *end;

	/* Digits belong to the mnemonic (cvtsi2sd) until the first space. */
	if (words < strcspn(text, " "))
		words = strcspn(text, " ");
	memcpy(shape, text, words);
	size = words;
	for (p += words; *p; p = *end ? end + 1 : end) {
		p += strspn(p, " *");
		end = operand_end(p);
		if (end > p)
			size += shape_operand(p, end, shape + size);
	}
	return (uint32_t)hash_bytes(shape, size);
}

static int decode(struct code_shape *s, const struct isa_decoder *decoder, const uint8_t *code,
		  size_t size, uint64_t address)
{
	struct isa_instruction in;
	char text[ISA_TEXT_MAX];
	size_t room = 0, address_room = 0;

	for (size_t at = 0; at < size; at += in.size) {
		if (array_grow(&s->tokens, s->count, &room, sizeof(*s->tokens), 64) ||
		    array_grow(&s->addresses, s->count, &address_room, sizeof(*s->addresses), 64))
			return -ENOMEM;
		isa_decode(decoder, code + at, size - at, address + at, &in);
		isa_format(decoder, code + at, &in, text);
		s->tokens[s->count] = in.valid ? token_of(text) : 0;
		s->addresses[s->count++] = address + at;
	}
	return 0;
}

/* The second of equal sequences is another thing than the first, and so on. */
static int make_sketch(struct code_shape *s)
{
	size_t grams = s->count >= GRAM ? s->count - GRAM + 1 : s->count > 0;
	size_t length = s->count < GRAM ? s->count : GRAM, repeated = 0;
	uint64_t *all = reallocarray(NULL, grams + 1, sizeof(*all)), last = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < grams; i++)
		all[i] = hash_bytes(s->tokens + i, length * sizeof(*s->tokens));
	array_sort(all, grams, sizeof(*all), num_compare_u64);
	for (size_t i = 0; i < grams; i++) {
		repeated = i && all[i] == last ? repeated + 1 : 0;
		last = all[i];
		all[i] = hash_u64(last + repeated * 0x9e3779b97f4a7c15ULL);
	}
	array_sort(all, grams, sizeof(*all), num_compare_u64);
	s->sketch = all;
	s->sketch_count = grams < CODE_SHAPE_SKETCH ? grams : CODE_SHAPE_SKETCH;
	return 0;
}

int code_shape_new(const struct isa_decoder *decoder, const uint8_t *code, size_t size,
		   uint64_t address, struct code_shape **ret)
{
	struct code_shape *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (!r)
		r = decode(s, decoder, code,
			   size < CODE_SHAPE_CODE_MAX ? size : CODE_SHAPE_CODE_MAX, address);
	if (!r)
		r = make_sketch(s);
	if (r) {
		code_shape_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

double code_shape_similarity(const struct code_shape *a, const struct code_shape *b)
{
	size_t i = 0, j = 0, seen = 0, common = 0;

	/* The smallest hashes of both together are a fair sample of both together. */
	while (seen < CODE_SHAPE_SKETCH && (i < a->sketch_count || j < b->sketch_count)) {
		bool first = j == b->sketch_count ||
			     (i < a->sketch_count && a->sketch[i] <= b->sketch[j]);
		bool second = i == a->sketch_count ||
			      (j < b->sketch_count && b->sketch[j] <= a->sketch[i]);

		common += first && second;
		i += first;
		j += second;
		seen++;
	}
	return seen ? (double)common / (double)seen : 0;
}

/* lengths[i][j]: of the longest common subsequence of a from i and b from j. */
static void fill_lengths(const uint32_t *a, size_t n, const uint32_t *b, size_t m,
			 uint16_t *lengths)
{
	size_t width = m + 1;

	memset(lengths + n * width, 0, width * sizeof(*lengths));
	for (size_t i = n; i-- > 0;) {
		uint16_t *row = lengths + i * width, *below = row + width;

		row[m] = 0;
		for (size_t j = m; j-- > 0;)
			row[j] = a[i] == b[j]		 ? (uint16_t)(below[j + 1] + 1)
				 : below[j] > row[j + 1] ? below[j]
							 : row[j + 1];
	}
}

int code_shape_align(const struct code_shape *a, const struct code_shape *b, uint32_t *ret)
{
	size_t begin = 0, end = 0, n, m, width, i = 0, j = 0;
	uint16_t *lengths;

	while (begin < a->count && begin < b->count && a->tokens[begin] == b->tokens[begin])
		begin++;
	while (end < a->count - begin && end < b->count - begin &&
	       a->tokens[a->count - 1 - end] == b->tokens[b->count - 1 - end])
		end++;
	for (size_t k = 0; k < a->count; k++)
		ret[k] = k < begin	       ? (uint32_t)k
			 : k >= a->count - end ? (uint32_t)(k + b->count - a->count)
					       : CODE_SHAPE_NONE;
	n = a->count - begin - end;
	m = b->count - begin - end;
	width = m + 1;
	if (!n || !m)
		return 0;
	if (n >= UINT16_MAX || m >= UINT16_MAX || (n + 1) > CELLS_MAX / width)
		return 1;
	lengths = reallocarray(NULL, (n + 1) * width, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	fill_lengths(a->tokens + begin, n, b->tokens + begin, m, lengths);
	while (i < n && j < m) {
		if (a->tokens[begin + i] == b->tokens[begin + j])
			ret[begin + i++] = (uint32_t)(begin + j++);
		else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])
			i++;
		else
			j++;
	}
	free(lengths);
	return 0;
}
