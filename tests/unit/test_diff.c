/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/compare/match.h"

static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) % below;
}

/* The reference: the length of a longest common subsequence, by the textbook's recursion. */
static size_t reference(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
	size_t lengths[64][64] = {{0}};

	for (size_t i = n; i-- > 0;)
		for (size_t j = m; j-- > 0;)
			lengths[i][j] = a[i] == b[j] ? lengths[i + 1][j + 1] + 1
					: lengths[i + 1][j] > lengths[i][j + 1] ? lengths[i + 1][j]
										: lengths[i][j + 1];
	return lengths[0][0];
}

static void test_alignment(void **unused)
{
	uint32_t seed = 7;

	(void)unused;
	for (int round = 0; round < 3000; round++) {
		uint32_t a[50], b[50], to[50], kinds = 2 + draw(&seed, 6);
		struct code_shape x = {.tokens = a, .count = draw(&seed, 50)};
		struct code_shape y = {.tokens = b, .count = draw(&seed, 50)};
		size_t aligned = 0;
		int64_t last = -1;

		for (size_t i = 0; i < x.count; i++)
			a[i] = draw(&seed, kinds);
		for (size_t j = 0; j < y.count; j++)
			b[j] = draw(&seed, kinds);
		assert_int_equal(code_shape_align(&x, &y, to), 0);
		for (size_t i = 0; i < x.count; i++) {
			if (to[i] == CODE_SHAPE_NONE)
				continue;
			assert_true(to[i] < y.count && to[i] > last && a[i] == b[to[i]]);
			last = to[i];
			aligned++;
		}
		assert_int_equal(aligned, reference(a, x.count, b, y.count));
	}
}

/* Too long for a table: what is alike at both ends is aligned, and it is said. */
static void test_long_alignment(void **unused)
{
	size_t n = 6000;
	uint32_t *a = calloc(n, sizeof(*a)), *b = calloc(n, sizeof(*b)),
		 *to = calloc(n, sizeof(*to));
	struct code_shape x = {.tokens = a, .count = n}, y = {.tokens = b, .count = n};

	(void)unused;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(to);
	for (size_t i = 0; i < n; i++) {
		a[i] = 1;
		b[i] = i < 5 || i >= n - 7 ? 1 : 2;
	}
	assert_int_equal(code_shape_align(&x, &y, to), 1);
	assert_int_equal(to[4], 4);
	assert_int_equal(to[5], CODE_SHAPE_NONE);
	assert_int_equal(to[n - 7], n - 7);
	free(a);
	free(b);
	free(to);
}

static struct code_shape *shape(const char *code, size_t size, uint64_t address)
{
	struct isa_decoder *d;
	struct code_shape *s;

	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, NULL), 0);
	assert_int_equal(code_shape_new(d, (const uint8_t *)code, size, address, &s), 0);
	isa_decoder_free(d);
	return s;
}

#define SHAPE(code, address) shape(code, sizeof(code) - 1, address)

/* Registers, displacements, targets and large values may differ; mnemonics and small values not. */
static void test_tokens(void **unused)
{
	/* mov %rax,8(%rdi); add $4,%rcx; mov $0x401000,%esi; jmp +0; xor %edx,%edx; (bad) */
	struct code_shape *a = SHAPE(
		"\x48\x89\x47\x08\x48\x83\xc1\x04\xbe\x00\x10\x40\x00\xeb\x00\x31\xd2\x06", 0x1000);
	/* mov %rbx,24(%rsi); add $4,%rdx; mov $0x602000,%edi; jmp +5; xor %ebx,%ebx; (bad) */
	struct code_shape *b =
		SHAPE("\x48\x89\x5e\x18\x48\x83\xc2\x04\xbf\x00\x20\x60\x00\xeb\x05\x31\xdb\x06",
		      0x77000);
	/* The second with $5, the last as sub. */
	struct code_shape *c = SHAPE(
		"\x48\x89\x47\x08\x48\x83\xc1\x05\xbe\x00\x10\x40\x00\xeb\x00\x29\xd2\x06", 0x1000);

	(void)unused;
	assert_int_equal(a->count, 6);
	assert_int_equal(b->count, 6);
	assert_memory_equal(a->tokens, b->tokens, 6 * sizeof(*a->tokens));
	assert_int_equal(a->addresses[1], 0x1004);
	assert_true(code_shape_similarity(a, b) == 1);
	assert_true(a->tokens[0] == c->tokens[0] && a->tokens[1] != c->tokens[1]);
	assert_true(a->tokens[4] != c->tokens[4]);
	assert_true(code_shape_similarity(a, c) < 0.5);
	code_shape_free(a);
	code_shape_free(b);
	code_shape_free(c);
	a = SHAPE("", 0);
	assert_true(a->count == 0 && code_shape_similarity(a, a) == 0);
	code_shape_free(a);
}

/* Two sides with functions but without code: what names can tell. */
static const struct query_image images[] = {
	{{IMAGE_BUILD_ID, 1, {1}}, "/bin/app", 8},	    /* in both */
	{{IMAGE_BUILD_ID, 1, {2}}, "/lib/libz.so.1.2", 16}, /* the first's */
	{{IMAGE_BUILD_ID, 1, {3}}, "/opt/libz.so.1.3", 16}, /* the second's */
	{{IMAGE_BUILD_ID, 1, {4}}, "/bin/other", 10},	    /* the second's */
};

static uint64_t one = 1;

static struct rank_row row(size_t image, const char *function, uint64_t start, uint64_t size)
{
	return (struct rank_row){.image = &images[image],
				 .function = function,
				 .start = start,
				 .size = size,
				 .counts = &one};
}

static int no_symbols(void *arg, const struct image_id *id, const char *path,
		      const struct image_symbols **ret, struct diag *diag)
{
	(void)arg, (void)id, (void)path, (void)ret;
	return diag_fail(diag, ENOENT, "none");
}

static void test_names(void **unused)
{
	struct rank_row a[] = {
		row(0, "main", 0x100, 16),    row(0, "twin", 0x200, 16),
		row(0, "twin", 0x300, 16),    row(1, "inflate", 0x400, 16),
		row(1, "deflate", 0x500, 16), row(0, RANK_NO_SYMBOL, 0, 0),
	};
	struct rank_row b[] = {
		row(0, "twin", 0x300, 16),    row(0, "main", 0x100, 16),
		row(2, "inflate", 0x900, 16), row(3, "deflate", 0x500, 16),
		row(0, RANK_NO_SYMBOL, 0, 0), row(3, "main", 0x100, 16),
	};
	struct rank ranks[2] = {{.rows = a, .row_count = 6}, {.rows = b, .row_count = 6}};
	struct match_side sides[2] = {{.rank = &ranks[0], .symbols = no_symbols},
				      {.rank = &ranks[1], .symbols = no_symbols}};
	struct match *m;

	(void)unused;
	assert_int_equal(match_new(sides, &m), 0);
	/* Each row of both once: 4 pairs, 2 that only the first has, 2 that only the second. */
	assert_int_equal(m->count, 8);
	assert_true(m->pairs[0].row[1] == &b[1] && m->pairs[0].how == MATCH_SAME);
	assert_true(m->pairs[1].row[1] == NULL && m->pairs[1].how == MATCH_NONE);
	assert_true(m->pairs[2].row[1] == &b[0] && m->pairs[2].how == MATCH_SAME);
	assert_true(m->pairs[3].row[1] == &b[2] && m->pairs[3].how == MATCH_NAME);
	assert_true(m->pairs[3].similarity < 0);
	assert_null(m->pairs[4].row[1]);
	assert_true(m->pairs[5].row[1] == &b[4] && m->pairs[5].how == MATCH_SAME);
	assert_true(m->pairs[6].row[0] == NULL && m->pairs[6].row[1] == &b[3]);
	assert_true(m->pairs[7].row[0] == NULL && m->pairs[7].row[1] == &b[5]);
	match_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_long_alignment),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
