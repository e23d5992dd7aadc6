/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Unwind rules from code: of functions that are known, of damaged ones, and of files with tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "unwind/code_frames.h"
#include "unwind/unwind.h"
#include "unwind/unwind_code.h"
#include "util/sanitized.h"

#define RAX  0
#define RBP  6
#define RSP  7
#define ROWS 4096

struct rows {
	struct {
		uint64_t start, end;
		struct wire_unwind_rule rule;
	} row[ROWS];
	size_t count;
	uint64_t begin, end;
};

static int take(void *arg, uint64_t start, uint64_t end, const struct wire_unwind_rule *rule)
{
	struct rows *r = arg;

	assert_true(start < end && start >= r->begin && end <= r->end);
	assert_true(!r->count || start >= r->row[r->count - 1].end);
	assert_true(rule->cfa != WIRE_CFA_NONE && rule->cfa != WIRE_CFA_PLT);
	assert_true(rule->flags == WIRE_UNWIND_DERIVED || rule->flags == WIRE_UNWIND_SIGNAL);
	assert_true(r->count < ROWS);
	r->row[r->count].start = start;
	r->row[r->count].end = end;
	r->row[r->count++].rule = *rule;
	return 0;
}

static struct rows *derive(const struct code_piece *piece, struct code_frames_counters *ret)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	struct code_frames *c = NULL;

	assert_non_null(rows);
	rows->begin = piece->address;
	rows->end = piece->address + piece->size;
	assert_int_equal(code_frames_new(&c, NULL), 0);
	assert_int_equal(code_frames_each(c, piece, take, rows), 0);
	code_frames_count(c, ret);
	code_frames_free(c);
	return rows;
}

/* Of code_frames_shapes.S. */
extern const uint8_t shape_aligned[], shape_aligned_pushed[], shape_aligned_register[],
	shape_aligned_word[], shape_aligned_loop[], shape_aligned_back[], shape_aligned_end[],
	shape_table[], shape_table_first[], shape_table_second[], shape_table_end[],
	shape_dynamic[], shape_dynamic_inside[], shape_dynamic_end[], shape_framed_back[],
	shape_framed_end[], shape_calls[], shape_calls_back[], shape_calls_last[], shape_called[],
	shape_called_inside[], shape_loop[], shape_loop_inside[], shape_forever[],
	shape_forever_inside[], shape_unbalanced[], shape_unbalanced_inside[], shape_overwritten[],
	shape_overwritten_inside[], shape_switch[], shape_switch_over[], shape_switch_call[],
	shape_switch_back[], shape_away[], shape_away_call[], shape_goexit[], shape_sigreturn[],
	shape_sigreturn_call[], shape_end[];

/* Of the shapes, with those starts known. */
static struct rows *shapes(const uint64_t *starts, size_t count)
{
	struct code_frames_counters counters;
	struct code_piece piece = {
		.bytes = shape_aligned,
		.size = (size_t)(shape_end - shape_aligned),
		.address = 0x1000,
		.starts = starts,
		.start_count = count,
		.entry = 1,
	};
	struct rows *rows = derive(&piece, &counters);

	assert_int_equal(counters.skipped, 0);
	return rows;
}

static uint64_t at(const uint8_t *place)
{
	return 0x1000 + (uint64_t)(place - shape_aligned);
}

static struct wire_unwind_rule rule_at(const struct rows *rows, const uint8_t *place)
{
	for (size_t i = 0; i < rows->count; i++)
		if (at(place) >= rows->row[i].start && at(place) < rows->row[i].end)
			return rows->row[i].rule;
	return (struct wire_unwind_rule){0};
}

/* CFA = reg + offset; the frame pointer at the CFA + fp_offset, 0: where it was. */
static void check(const struct rows *rows, const uint8_t *place, uint8_t reg, int32_t offset,
		  int32_t fp_offset)
{
	struct wire_unwind_rule r = rule_at(rows, place);

	assert_int_equal(r.cfa, WIRE_CFA_REGISTER);
	assert_int_equal(r.cfa_reg, reg);
	assert_int_equal(r.cfa_offset, offset);
	assert_int_equal(r.fp, fp_offset ? WIRE_LOCATION_AT_CFA : WIRE_LOCATION_SAME);
	assert_int_equal(r.fp_offset, fp_offset);
	assert_int_equal(r.ra, WIRE_LOCATION_AT_CFA);
	assert_int_equal(r.ra_offset, -8);
}

static void check_none(const struct rows *rows, const uint8_t *place)
{
	assert_int_equal(rule_at(rows, place).cfa, WIRE_CFA_NONE);
}

static void follows_a_rounded_stack(void **state)
{
	struct rows *rows = shapes(NULL, 0);
	struct wire_unwind_rule r;

	(void)state;
	check(rows, shape_aligned, RSP, 8, 0);
	check(rows, shape_aligned_pushed, RSP, 16, 0);
	check(rows, shape_aligned_register, RAX, 24, -24);
	for (const uint8_t *p = shape_aligned_word; p < shape_aligned_back; p++) {
		r = rule_at(rows, p);
		assert_int_equal(r.cfa, WIRE_CFA_DEREF);
		assert_int_equal(r.cfa_reg, RSP);
		assert_int_equal(r.cfa_offset, 0x58);
		assert_int_equal(r.cfa_add, 24);
		assert_int_equal(r.fp_offset, -24);
	}
	check(rows, shape_aligned_back, RSP, 24, -24);
	check(rows, shape_aligned_end, RSP, 8, 0);
	free(rows);
}

static void finds_what_jump_tables_lead_to(void **state)
{
	struct rows *rows = shapes(NULL, 0);

	(void)state;
	check(rows, shape_table, RSP, 8, 0);
	check(rows, shape_table_first, RSP, 48, -24);
	check(rows, shape_table_second, RSP, 48, -24);
	check(rows, shape_table_end, RSP, 16, 0);
	free(rows);
}

static void follows_a_frame_pointer(void **state)
{
	struct rows *rows = shapes(NULL, 0);

	(void)state;
	check(rows, shape_dynamic, RSP, 8, 0);
	check(rows, shape_dynamic_inside, RBP, 16, -16);
	check(rows, shape_dynamic_end, RSP, 8, 0);
	check(rows, shape_framed_back, RBP, 16, -16);
	check(rows, shape_framed_end, RSP, 8, 0);
	free(rows);
}

static void calls_may_not_return(void **state)
{
	struct rows *rows = shapes(NULL, 0);

	(void)state;
	check(rows, shape_calls_back, RSP, 32, 0);
	check(rows, shape_calls_last, RSP, 32, 0);
	check(rows, shape_called, RSP, 8, 0);
	check(rows, shape_called_inside, RSP, 16, -16);
	free(rows);
}

/* Whether something says that functions begin there or not. */
static void says_nothing_rather_than_what_is_wrong(void **state)
{
	const uint64_t starts[] = {at(shape_loop), at(shape_forever), at(shape_unbalanced),
				   at(shape_overwritten)};

	(void)state;
	for (size_t count = 0; count <= 4; count += 4) {
		struct rows *rows = shapes(starts, count);

		check_none(rows, shape_loop_inside);
		check_none(rows, shape_forever_inside);
		check_none(rows, shape_unbalanced);
		check_none(rows, shape_unbalanced_inside);
		check_none(rows, shape_overwritten_inside);
		free(rows);
	}
}

static void a_program_begins_without_a_caller(void **state)
{
	const uint64_t start = at(shape_calls);
	struct code_frames_counters counters;
	struct code_piece piece = {
		shape_aligned, (size_t)(shape_end - shape_aligned), 0x1000, &start, 1, NULL, 0,
		start};
	struct rows *rows = derive(&piece, &counters);

	(void)state;
	assert_int_equal(rule_at(rows, shape_calls_back).ra, WIRE_LOCATION_UNDEFINED);
	assert_int_equal(rule_at(rows, shape_calls_back).cfa, WIRE_CFA_REGISTER);
	check(rows, shape_called_inside, RSP, 16, -16);
	free(rows);
}

static void follows_switches_of_stacks(void **state)
{
	struct rows *rows = shapes(NULL, 0);
	struct wire_unwind_rule r = rule_at(rows, shape_switch_call);

	(void)state;
	check(rows, shape_switch, RSP, 8, 0);
	check_none(rows, shape_switch_over);
	assert_int_equal(r.cfa, WIRE_CFA_THREAD);
	assert_int_equal(r.cfa_offset, -8);
	assert_int_equal(r.cfa_add, 0x30 | 0xc0 << 16);
	assert_int_equal(r.fp_offset, 0x38);
	assert_int_equal(r.fp, WIRE_LOCATION_SAME);
	check(rows, shape_switch_back, RSP, 8, 0);
	check(rows, shape_away, RSP, 8, 0);
	assert_int_equal(rule_at(rows, shape_away_call).ra, WIRE_LOCATION_UNDEFINED);
	assert_int_equal(rule_at(rows, shape_goexit).ra, WIRE_LOCATION_UNDEFINED);
	assert_int_equal(rule_at(rows, shape_goexit).cfa, WIRE_CFA_REGISTER);
	free(rows);
}

static void signals_come_from_anywhere(void **state)
{
	struct rows *rows = shapes(NULL, 0);

	(void)state;
	for (const uint8_t *p = shape_sigreturn - 1; p <= shape_sigreturn_call; p++) {
		struct wire_unwind_rule r = rule_at(rows, p);

		assert_int_equal(r.flags, WIRE_UNWIND_SIGNAL);
		assert_int_equal(r.cfa, WIRE_CFA_DEREF);
		assert_int_equal(r.cfa_offset, 40 + 15 * 8);
		assert_int_equal(r.fp_offset, 40 + 10 * 8);
		assert_int_equal(r.ra, WIRE_LOCATION_AT_REGISTER);
		assert_int_equal(r.ra_offset, 40 + 16 * 8);
	}
	free(rows);
}

/* Each byte of the shapes in turn is another, and starts are where none are. */
static void damage_does_no_harm(void **state)
{
	const size_t size = (size_t)(shape_end - shape_aligned);
	uint8_t *bytes = malloc(size);
	uint64_t starts[64];
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < size * 8; i++) {
		struct code_frames_counters counters;
		struct code_piece piece = {bytes, size, 0x1000, starts, 64, starts, 64, 1};

		memcpy(bytes, shape_aligned, size);
		random = random * 6364136223846793005u + 1442695040888963407u;
		bytes[i % size] = (uint8_t)(random >> 56);
		for (size_t k = 0; k < 64; k++)
			starts[k] = 0xff0 + k * (1 + (random >> 60));
		free(derive(&piece, &counters));
	}
	free(bytes);
}

static int count_rows(void *arg, uint64_t start, uint64_t end, const struct wire_unwind_rule *rule)
{
	(void)start, (void)end, (void)rule;
	++*(size_t *)arg;
	return 0;
}

/* Code that would take for ever if all of its ways were followed, or fill the memory. */
static void large_code_has_limits(void **state)
{
	enum { SIZE = 24 << 20 };
	/* push rax; jmp +0; jz +0; nop; push; a return of another depth every so often. */
	static const uint8_t hard[] = {0x50, 0x74, 0x02, 0xeb, 0x02, 0x58, 0xc3, 0x48,
				       0x83, 0xe4, 0xf0, 0xff, 0xe0, 0x75, 0xf1, 0xc3};
	uint8_t *bytes = malloc(SIZE);
	uint64_t random = 1;

	(void)state;
	assert_non_null(bytes);
	for (unsigned kind = 0; kind < 4; kind++) {
		struct code_frames_counters counters;
		struct code_piece piece = {
			.bytes = bytes, .size = SIZE, .address = 0x1000, .entry = 1};
		struct code_frames *c = NULL;
		size_t rows = 0;

		for (size_t i = 0; i < SIZE; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = kind == 0   ? 0x50
				   : kind == 1 ? (uint8_t)(random >> 56)
				   : kind == 2 ? hard[i % sizeof(hard)]
					       : (i % 2 ? (uint8_t)(random >> 57) : 0x74);
		}
		assert_int_equal(code_frames_new(&c, NULL), 0);
		assert_int_equal(code_frames_each(c, &piece, count_rows, &rows), 0);
		code_frames_count(c, &counters);
		assert_true(counters.instructions <= CODE_FRAMES_MAX);
		assert_true(counters.skipped > 0);
		/* The limit is that of all pieces. */
		assert_int_equal(code_frames_each(c, &piece, count_rows, &rows), 0);
		code_frames_count(c, &counters);
		assert_true(counters.instructions <= CODE_FRAMES_MAX);
		code_frames_free(c);
	}
	free(bytes);
}

/* The rules of a file's table against those of its code. */
struct agreement {
	const struct image_unwind *table;
	size_t row; /* of the table, where the last comparison was */
	uint64_t equal, register_differs, cfa_differs, fp_differs;
};

/* Tables go on naming the word in which it was saved when it is back in its register. */
static bool says_the_same_of_fp(const struct wire_unwind_rule *table,
				const struct wire_unwind_rule *code)
{
	return table->fp == code->fp
		       ? table->fp_offset == code->fp_offset
		       : table->fp != WIRE_LOCATION_UNDEFINED && code->fp == WIRE_LOCATION_SAME;
}

static void compare(struct agreement *a, const struct wire_unwind_rule *table,
		    const struct wire_unwind_rule *code)
{
	if (table->cfa == WIRE_CFA_NONE || (table->flags & WIRE_UNWIND_DERIVED))
		return;
	/* Both may be right. */
	if (table->cfa != code->cfa || table->cfa_reg != code->cfa_reg ||
	    (table->fp == code->fp && table->fp_reg != code->fp_reg))
		a->register_differs++;
	else if (table->cfa_offset != code->cfa_offset || table->cfa_add != code->cfa_add)
		a->cfa_differs++;
	else if (!says_the_same_of_fp(table, code))
		a->fp_differs++;
	else
		a->equal++;
}

static int compare_row(void *arg, uint64_t start, uint64_t end, const struct wire_unwind_rule *rule)
{
	struct agreement *a = arg;
	const struct image_unwind *u = a->table;

	for (; a->row + 1 < u->row_count; a->row++) {
		if (u->base + u->rows[a->row].offset >= end)
			break;
		if (u->base + u->rows[a->row + 1].offset <= start)
			continue;
		compare(a, &u->rules[u->rows[a->row].rule], rule);
		if (u->base + u->rows[a->row + 1].offset >= end)
			break;
	}
	return 0;
}

static void compare_file(const char *path)
{
	struct code_frames_counters counters = {0};
	struct image_unwind *u = NULL;
	struct agreement a = {0};
	struct elf_code code;
	struct buf out;
	uint64_t all;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	if (fd < 0) {
		print_message("there is no %s\n", path);
		return;
	}
	buf_init(&out, 64 << 20);
	assert_int_equal(image_unwind_describe(fd, &out, NULL), 0);
	assert_int_equal(image_unwind_load(out.data, out.size, &u), 0);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_int_equal(elf_code_init(&code, elf), 0);
	a.table = u;
	assert_int_equal(unwind_code_each(&code, NULL, 0, compare_row, &a, &counters), 0);
	all = a.equal + a.cfa_differs + a.fp_differs;
	print_message("%s: of %llu rows of table and code %llu are equal, %llu differ in the CFA, "
		      "%llu in "
		      "the frame pointer; another %llu are by different registers\n",
		      path, (unsigned long long)all, (unsigned long long)a.equal,
		      (unsigned long long)a.cfa_differs, (unsigned long long)a.fp_differs,
		      (unsigned long long)a.register_differs);
	assert_true(all > 1000);
	assert_true(a.cfa_differs * 100 <= all);
	assert_true(a.fp_differs * 100 <= all);
#if !SANITIZED /* for which compilers keep a frame pointer, that tables prefer */
	assert_true(a.register_differs < all);
#endif
	elf_code_free(&code);
	elf_end(elf);
	image_unwind_free(u);
	buf_free(&out);
	close(fd);
}

static void agrees_with_tables(void **state)
{
	(void)state;
	elf_version(EV_CURRENT);
	compare_file("/proc/self/exe");
	compare_file("/lib/x86_64-linux-gnu/libc.so.6");
	compare_file("/usr/bin/git");
	compare_file("/usr/lib/x86_64-linux-gnu/libx264.so.164");
	compare_file("/usr/lib/x86_64-linux-gnu/libx265.so.199");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_a_rounded_stack),
		cmocka_unit_test(finds_what_jump_tables_lead_to),
		cmocka_unit_test(follows_a_frame_pointer),
		cmocka_unit_test(calls_may_not_return),
		cmocka_unit_test(says_nothing_rather_than_what_is_wrong),
		cmocka_unit_test(a_program_begins_without_a_caller),
		cmocka_unit_test(follows_switches_of_stacks),
		cmocka_unit_test(signals_come_from_anywhere),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(large_code_has_limits),
		cmocka_unit_test(agrees_with_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
