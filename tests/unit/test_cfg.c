/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <link.h>
#include "cfg/open.h"
#include "image/worker/worker.h"
#include "cfg_check.h"
#include "cfg_file.h"
#include "workshop.h"

extern const uint8_t shapes_code[], shapes_code_end[], shapes_data[], shapes_data_end[];

/* name, blocks, edges of each kind that matters, complete, returns, tables. */
#define SHAPES(X)                                        \
	X(straight, 1, 0, 0, true, true, 0, 0)           \
	X(diamond, 4, 0, 0, true, true, 0, 0)            \
	X(self_loop, 1, 0, 0, true, false, 0, 0)         \
	X(overlap, 5, 0, 0, true, true, 0, 0)            \
	X(table_pic, 6, 3, 0, true, true, 1, 0)          \
	X(table_absolute, 6, 3, 0, true, true, 1, 0)     \
	X(table_o0_gcc, 6, 3, 0, true, true, 1, 0)       \
	X(table_o0_clang, 5, 2, 0, true, true, 1, 0)     \
	X(table_masked, 3, 2, 0, true, true, 1, 0)       \
	X(table_signed, 6, 2, 0, true, true, 1, 0)       \
	X(table_clamped, 3, 2, 0, true, true, 1, 0)      \
	X(table_hoisted, 7, 2, 0, true, true, 1, 0)      \
	X(table_two_ways, 9, 3, 0, true, true, 1, 0)     \
	X(table_one_way_open, 9, 3, 0, true, true, 0, 1) \
	X(table_short, 6, 3, 0, true, true, 0, 1)        \
	X(table_bytes, 6, 3, 0, true, true, 1, 0)        \
	X(table_missing, 3, 0, 0, false, true, 0, 0)     \
	X(unknown_jump, 1, 0, 0, false, true, 0, 0)      \
	X(tail_indirect, 1, 0, 1, true, true, 0, 0)      \
	X(tail_direct, 2, 0, 2, true, true, 0, 0)        \
	X(fatal, 1, 0, 0, true, false, 0, 0)             \
	X(calls_fatal, 3, 0, 0, true, true, 0, 0)        \
	X(only_fatal, 1, 0, 0, true, false, 0, 0)        \
	X(calls_only_fatal, 1, 0, 0, true, false, 0, 0)  \
	X(recursive, 3, 0, 0, true, true, 0, 0)          \
	X(falls, 1, 0, 1, true, true, 0, 0)              \
	X(fallen, 1, 0, 0, true, true, 0, 0)             \
	X(split, 3, 0, 0, true, true, 0, 0)              \
	X(lands, 3, 0, 0, true, true, 0, 0)              \
	X(bad, 2, 0, 0, false, true, 0, 0)               \
	X(far_away, 1, 0, 0, false, true, 0, 0)          \
	X(loops, 3, 0, 0, true, true, 0, 0)

#define DECLARE(name, ...) extern const uint8_t shape_##name[], shape_##name##_end[];
SHAPES(DECLARE)
DECLARE(split_cold)
extern const uint8_t shape_lands_pad[];

struct wanted {
	const char *name;
	const uint8_t *start, *end;
	uint32_t blocks, indirect, tails;
	bool complete, returns;
	uint32_t proven, inferred;
};

#define WANTED(name, ...) {#name, shape_##name, shape_##name##_end, __VA_ARGS__},
static const struct wanted wanted[] = {SHAPES(WANTED)};
#define WANTED_COUNT (sizeof(wanted) / sizeof(*wanted))

struct fixture {
	struct cfg_source source;
	struct cfg_bytes code, data;
	struct cfg_extent extents[WANTED_COUNT + 1];
	struct image_layout_landing landing;
	struct cfg_image *image;
};

static uint64_t address(const uint8_t *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int compare_extents(const void *pa, const void *pb)
{
	const struct cfg_extent *a = pa, *b = pb;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->code = (struct cfg_bytes){address(shapes_code), shapes_code,
				     (size_t)(shapes_code_end - shapes_code)};
	f->data = (struct cfg_bytes){address(shapes_data), shapes_data,
				     (size_t)(shapes_data_end - shapes_data)};
	for (size_t i = 0; i < WANTED_COUNT; i++)
		f->extents[i] =
			(struct cfg_extent){.start = address(wanted[i].start),
					    .size = (uint64_t)(wanted[i].end - wanted[i].start),
					    .name = wanted[i].name};
	f->extents[WANTED_COUNT] =
		(struct cfg_extent){.start = address(shape_split_cold),
				    .size = (uint64_t)(shape_split_cold_end - shape_split_cold),
				    .frame = true,
				    .part = true};
	qsort(f->extents, WANTED_COUNT + 1, sizeof(*f->extents), compare_extents);
	f->landing = (struct image_layout_landing){address(shape_lands), address(shape_lands_pad)};
	f->source = (struct cfg_source){.machine = EM_X86_64,
					.bits = 64,
					.code = &f->code,
					.code_count = 1,
					.data = &f->data,
					.data_count = 1,
					.extents = f->extents,
					.extent_count = WANTED_COUNT + 1,
					.landings = &f->landing,
					.landing_count = 1};
	assert_int_equal(cfg_image_new(&f->source, &f->image, NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	cfg_image_free(f->image);
	free(f);
	return 0;
}

static uint32_t count_edges(const struct cfg_function *f, enum cfg_edge_kind kind)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < f->edge_count; i++)
		count += f->edges[i].kind == kind;
	return count;
}

static void test_shapes(void **state)
{
	struct fixture *fixture = *state;
	for (size_t i = 0; i < WANTED_COUNT; i++) {
		const struct wanted *w = &wanted[i];
		const struct cfg_function *f;
		assert_int_equal(cfg_image_function(fixture->image, address(w->start), &f), 0);
		cfg_check_function(f);
		if (f->block_count != w->blocks || count_edges(f, CFG_INDIRECT) != w->indirect ||
		    count_edges(f, CFG_TAIL) != w->tails || f->complete != w->complete ||
		    f->returns != w->returns || f->tables_proven != w->proven ||
		    f->tables_inferred != w->inferred)
			fail_msg("%s: %u blocks, %u indirect, %u tails, complete %d, returns %d, "
				 "%u proven, %u inferred",
				 w->name, f->block_count, count_edges(f, CFG_INDIRECT),
				 count_edges(f, CFG_TAIL), f->complete, f->returns,
				 f->tables_proven, f->tables_inferred);
	}
}

/* The same whatever was built before, and for any address of the function. */
static void test_order(void **state)
{
	struct fixture *fixture = *state;
	for (size_t i = WANTED_COUNT; i-- > 0;) {
		const struct wanted *w = &wanted[i];
		const struct cfg_function *f, *again;
		if (w->end - w->start < 2)
			continue;
		assert_int_equal(cfg_image_function(fixture->image, address(w->end) - 1, &f), 0);
		assert_int_equal(f->entry, address(w->start));
		assert_int_equal(f->block_count, w->blocks);
		assert_int_equal(cfg_image_function(fixture->image, f->entry, &again), 0);
		assert_ptr_equal(f, again);
	}
}

static void test_parts(void **state)
{
	struct fixture *fixture = *state;
	const struct cfg_function *f;
	/* The split-off part leads to its function. */
	assert_int_equal(cfg_image_function(fixture->image, address(shape_split_cold), &f), 0);
	assert_int_equal(f->entry, address(shape_split));
	assert_int_equal(f->range_count, 2);
	/* A landing pad is an entry. */
	assert_int_equal(cfg_image_function(fixture->image, address(shape_lands), &f), 0);
	assert_int_equal(count_edges(f, CFG_LANDING), 1);
	uint32_t pad = cfg_function_block_at(f, address(shape_lands_pad));
	assert_true(f->blocks[pad].flags & CFG_BLOCK_LANDING);
	assert_true(f->blocks[pad].flags & CFG_BLOCK_NO_RETURN);
	assert_false(f->calls[1].returns);
	assert_int_equal(f->calls[0].target, address(shape_straight));
	assert_true(f->calls[0].returns);
}

static void test_walk(void **state)
{
	struct fixture *fixture = *state;
	size_t own = 0;
	for (size_t i = 0; i < cfg_image_count(fixture->image); i++) {
		const struct cfg_function *f;
		uint64_t entry = cfg_image_entry(fixture->image, i);
		assert_int_equal(cfg_image_function(fixture->image, entry, &f), 0);
		own += f->entry == entry;
	}
	assert_int_equal(own, WANTED_COUNT);
	const struct cfg_function *f;
	assert_int_equal(cfg_image_function(fixture->image, address(shape_diamond), &f), 0);
	assert_int_equal(f->block_count, 4);
	assert_int_equal(cfg_image_function(fixture->image, 0x10, &f), -ENOENT);
}

static int find_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the program comes first */
}

/* The same functions out of this program's file: its code, its relocated tables, its symbols. */
static void test_file(void **state)
{
	(void)state;
	struct cfg_image *image;
	struct diag diag = {""};
	uint64_t base = 0;
	dl_iterate_phdr(find_base, &base);
	if (cfg_image_open_file("/proc/self/exe", &image, &diag) < 0)
		fail_msg("%s", diag.text);
	for (size_t i = 0; i < WANTED_COUNT; i++) {
		const struct wanted *w = &wanted[i];
		const struct cfg_function *f;
		if (!w->proven)
			continue;
		assert_int_equal(cfg_image_function(image, address(w->start) - base, &f), 0);
		cfg_check_function(f);
		if (f->block_count != w->blocks || count_edges(f, CFG_INDIRECT) != w->indirect ||
		    !f->complete || f->tables_proven != w->proven)
			fail_msg("%s: %u blocks, %u indirect, %u proven", w->name, f->block_count,
				 count_edges(f, CFG_INDIRECT), f->tables_proven);
	}
	cfg_image_free(image);
	assert_true(cfg_image_open_file("/dev/null", &image, &diag) < 0);
}

/* Functions that neither symbols nor frames tell of: the one that is only jumped to is one, too. */
static void test_bare(void **state)
{
	struct cfg_image *image;
	const struct cfg_function *f;
	char path[128];
	uint64_t second;

	(void)state;
	assert_int_equal(workshop_write("bare.s", ".globl _start\n"
						  "_start: xor %edi, %edi; jmp second\n"
						  " .p2align 4, 0xcc\n"
						  "second: inc %edi; jnz second; ret\n"
						  " .p2align 4, 0xcc\n"),
			 0);
	assert_int_equal(workshop_run("gcc -nostdlib -static -s bare.s -o bare"), 0);
	snprintf(path, sizeof(path), "%s/bare", workshop_dir);
	assert_int_equal(cfg_image_open_file(path, &image, NULL), 0);
	assert_int_equal(cfg_image_count(image), 2);
	second = cfg_image_entry(image, 1);
	assert_int_equal(second, cfg_image_entry(image, 0) + 16);
	assert_int_equal(cfg_image_function(image, second + 2, &f), 0);
	assert_int_equal(f->entry, second);
	assert_int_equal(f->block_count, 2);
	assert_int_equal(cfg_image_function(image, second - 16, &f), 0);
	assert_int_equal(f->block_count, 1);
	cfg_image_free(image);
}

static int image_of(struct cfg_source *s, struct cfg_bytes *code, struct cfg_image **ret)
{
	*s = (struct cfg_source){.machine = EM_X86_64, .bits = 64, .code = code, .code_count = 1};
	return cfg_image_new(s, ret, NULL);
}

/* 10^5 blocks in one function, of 200,000 instructions and more. */
static void test_large(void **state)
{
	(void)state;
	enum { BLOCKS = 100000 };
	const size_t size = BLOCKS * 4 + 1;
	uint8_t *code = malloc(size);
	struct cfg_image *image;
	struct cfg_source s;
	const struct cfg_function *f;
	assert_non_null(code);
	for (size_t i = 0; i < BLOCKS; i++) /* nop; nop; jne to the next but one */
		memcpy(code + i * 4, i + 2 < BLOCKS ? "\x90\x90\x75\x04" : "\x90\x90\x75\x00", 4);
	code[size - 1] = 0xc3;
	struct cfg_bytes bytes = {0x1000, code, size};
	struct cfg_extent extent = {.start = 0x1000, .size = UINT64_MAX / 2};
	assert_int_equal(image_of(&s, &bytes, &image), 0);
	cfg_image_free(image);
	s.extents = &extent;
	s.extent_count = 1;
	assert_int_equal(cfg_image_new(&s, &image, NULL), 0);
	assert_int_equal(cfg_image_function(image, 0x1000, &f), 0);
	assert_int_equal(f->block_count, BLOCKS + 1);
	assert_int_equal(f->instruction_count, 3 * BLOCKS + 1);
	assert_true(f->complete);
	cfg_check_function(f);
	cfg_image_free(image);
	free(code);
}

/* Many functions that all go on in the same long code: what they share is bounded. */
static void test_shared(void **state)
{
	(void)state;
	enum { FUNCTIONS = 20000, SHARED = 100000 };
	const size_t size = FUNCTIONS * 5 + SHARED + 1;
	uint8_t *code = malloc(size);
	struct cfg_extent *extents = calloc(FUNCTIONS + 1, sizeof(*extents));
	struct cfg_image *image;
	struct cfg_source s;
	uint64_t total = 0;
	assert_true(code && extents);
	memset(code, 0x90, size);
	code[size - 1] = 0xc3;
	for (size_t i = 0; i < FUNCTIONS; i++) {
		int32_t to = (int32_t)(FUNCTIONS * 5 + 1 - (i + 1) * 5);
		code[i * 5] = 0xe9;
		memcpy(code + i * 5 + 1, &to, 4);
		extents[i] = (struct cfg_extent){.start = 0x1000 + i * 5, .size = 5};
	}
	extents[FUNCTIONS] = (struct cfg_extent){.start = 0x1000 + FUNCTIONS * 5, .size = SHARED};
	struct cfg_bytes bytes = {0x1000, code, size};
	assert_int_equal(image_of(&s, &bytes, &image), 0);
	cfg_image_free(image);
	s.extents = extents;
	s.extent_count = FUNCTIONS + 1;
	assert_int_equal(cfg_image_new(&s, &image, NULL), 0);
	for (size_t i = 0; i <= FUNCTIONS; i++) {
		const struct cfg_function *f;
		assert_int_equal(cfg_image_function(image, 0x1000 + i * 5, &f), 0);
		total += f->instruction_count;
	}
	assert_in_range(total, FUNCTIONS, 4 * size);
	cfg_image_free(image);
	free(extents);
	free(code);
}

/* sti; hlt; cli; ud2; ret: a program stops at the hlt; a kernel goes on when it is interrupted, and
 * after a WARN. */
static void test_stops(void **state)
{
	static const uint8_t code[] = {0xfb, 0xf4, 0xfa, 0x0f, 0x0b, 0xc3};
	const struct cfg_bytes bytes = {0x1000, code, sizeof(code)};
	const struct cfg_extent extent = {.start = 0x1000, .size = sizeof(code), .name = "wait"};
	(void)state;
	for (int kernel = 0; kernel < 2; kernel++) {
		const struct cfg_source source = {.machine = EM_X86_64,
						  .bits = 64,
						  .kernel = kernel,
						  .code = &bytes,
						  .code_count = 1,
						  .extents = &extent,
						  .extent_count = 1};
		struct cfg_image *image;
		const struct cfg_function *f;
		assert_int_equal(cfg_image_new(&source, &image, NULL), 0);
		assert_int_equal(cfg_image_function(image, 0x1000, &f), 0);
		assert_true(f->complete);
		assert_int_equal(f->instruction_count, kernel ? 5 : 2);
		cfg_image_free(image);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shapes, setup, teardown),
		cmocka_unit_test(test_stops),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_walk, setup, teardown),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_shared),
	};
	image_worker_dispatch(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
