/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Samples summed by loops: of a function with a loop in a loop, and of one that is a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include "analyze/query/loop_tally.h"
#include "isa/decode.h"

enum {
	NESTED = 0x1000, /* the function */
	OUTER = 0x1002,	 /* headers */
	INNER = 0x1004,
	INNER_END = 0x1008,
	OUTER_REST = 0x100a,
	BEHIND = 0x1010,
	SINGLE = 0x1020, /* a function and its only loop */
	NO_CODE = 0x5000,
};

static const uint8_t code[0x25] = {
	0x31,	       0xc0, /* xor %eax, %eax */
	0x31,	       0xc9, /* xor %ecx, %ecx */
	0xff,	       0xc1, /* inc %ecx */
	0x39,	       0xf9, /* cmp %edi, %ecx */
	0x75,	       0xfa, /* jne INNER */
	0xff,	       0xc0, /* inc %eax */
	0x39,	       0xf8, /* cmp %edi, %eax */
	0x75,	       0xf2, /* jne OUTER */
	0xc3,		     /* ret */
	[0x20] = 0xff, 0xcf, /* dec %edi */
	0x75,	       0xfc, /* jne SINGLE */
	0xc3,
};

struct fixture {
	struct cfg_bytes bytes;
	struct cfg_extent extents[2];
	struct cfg_source source;
	struct cfg_image *image;
	struct loop_tally *tally;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){
		.bytes = {NESTED, code, sizeof(code)},
		.extents = {{.start = NESTED, .size = 0x11, .name = "nested"},
			    {.start = SINGLE, .size = 5, .name = "single"}},
		.source = {.machine = EM_X86_64, .bits = 64, .code_count = 1, .extent_count = 2},
	};
	f.source.code = &f.bytes;
	f.source.extents = f.extents;
	*state = &f;
	return cfg_image_new(&f.source, &f.image, NULL) || loop_tally_new(f.image, 2, &f.tally);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	loop_tally_free(f->tally);
	cfg_image_free(f->image);
	loop_tally_free(NULL);
	return 0;
}

static void check(const struct loop_sum *s, uint64_t header, uint64_t parent, uint32_t depth,
		  const uint64_t own[2], const uint64_t total[2])
{
	assert_int_equal(s->header, header);
	assert_int_equal(s->parent, parent);
	assert_int_equal(s->depth, depth);
	assert_false(s->irreducible);
	for (int e = 0; e < 2; e++) {
		assert_int_equal(s->own[e], own[e]);
		assert_int_equal(s->total[e], total[e]);
	}
}

static void a_loop_has_what_is_inside_it(void **state)
{
	struct fixture *f = *state;
	const struct loop_sum *s;
	size_t count;

	assert_int_equal(loop_tally_add(f->tally, INNER, 0, 5), LOOP_INSIDE);
	assert_int_equal(loop_tally_add(f->tally, SINGLE, 1, UINT64_MAX), LOOP_INSIDE);
	assert_int_equal(loop_tally_add(f->tally, SINGLE + 2, 1, 3), LOOP_INSIDE);
	assert_int_equal(loop_tally_add(f->tally, INNER_END, 1, 2), LOOP_INSIDE);
	assert_int_equal(loop_tally_add(f->tally, OUTER_REST, 0, 3), LOOP_INSIDE);
	assert_int_equal(loop_tally_sums(f->tally, &s, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(s[0].function, NESTED);
	check(&s[0], OUTER, ISA_NO_ADDRESS, 1, (uint64_t[]){3, 0}, (uint64_t[]){8, 2});
	check(&s[1], INNER, OUTER, 2, (uint64_t[]){5, 2}, (uint64_t[]){5, 2});
	assert_int_equal(s[2].function, SINGLE);
	check(&s[2], SINGLE, ISA_NO_ADDRESS, 1, (uint64_t[]){0, UINT64_MAX},
	      (uint64_t[]){0, UINT64_MAX});
	assert_int_equal(loop_tally_incomplete(f->tally), 0);
}

/* Only loops with samples are told. */
static void what_is_in_no_loop_is_not_counted(void **state)
{
	struct fixture *f = *state;
	const struct loop_sum *s;
	size_t count;

	assert_int_equal(loop_tally_add(f->tally, NO_CODE, 0, 1), LOOP_NO_CODE);
	assert_int_equal(loop_tally_add(f->tally, NESTED, 0, 1), LOOP_OUTSIDE);
	assert_int_equal(loop_tally_add(f->tally, BEHIND, 0, 1), LOOP_OUTSIDE);
	/* In the middle of an instruction. */
	assert_int_equal(loop_tally_add(f->tally, INNER + 1, 0, 1), LOOP_NO_CODE);
	assert_int_equal(loop_tally_sums(f->tally, &s, &count), 0);
	assert_int_equal(count, 0);
}

static void nests_are_the_same_each_time(void **state)
{
	struct fixture *f = *state;
	struct arena *memory = arena_new(4096);
	const struct loop_nest *inner, *outer, *again;

	assert_non_null(memory);
	assert_int_equal(loop_tally_nest(f->tally, INNER_END, memory, &inner), 0);
	assert_non_null(inner);
	assert_int_equal(inner->header, INNER);
	assert_int_equal(inner->depth, 2);
	assert_int_equal(inner->parent->header, OUTER);
	assert_int_equal(inner->parent->depth, 1);
	assert_null(inner->parent->parent);
	assert_int_equal(loop_tally_nest(f->tally, OUTER_REST, memory, &outer), 0);
	assert_ptr_equal(outer, inner->parent);
	assert_int_equal(loop_tally_nest(f->tally, INNER, memory, &again), 0);
	assert_ptr_equal(again, inner);
	assert_int_equal(loop_tally_nest(f->tally, BEHIND, memory, &again), 0);
	assert_null(again);
	assert_int_equal(loop_tally_nest(f->tally, NO_CODE, memory, &again), 0);
	assert_null(again);
	arena_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_loop_has_what_is_inside_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_in_no_loop_is_not_counted, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nests_are_the_same_each_time, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
