/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Images of scripts: what their offsets say, and what is kept of their functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include "image/script.h"

static struct image_symbol function(uint32_t line, const char *name)
{
	return (struct image_symbol){image_script_function(line, name, strlen(name)),
				     IMAGE_SCRIPT_LINES, name};
}

static struct image_symbols *build(struct image_symbol *list, size_t count)
{
	struct image_symbols *symbols;

	assert_int_equal(image_symbols_build(list, count, "script", &symbols), 0);
	return symbols;
}

static void offsets_say_their_lines(void **state)
{
	uint64_t f = image_script_function(10, "f", 1), last;

	(void)state;
	/* In databases: these may never change. */
	assert_int_equal(f >> 40, 10);
	assert_int_equal(f & (IMAGE_SCRIPT_LINES - 1), 0);
	assert_int_equal(image_script_line(f), 10);
	assert_int_equal(image_script_line(image_script_offset(f, 17)), 17);
	/* Before it, and past its last line. */
	assert_int_equal(image_script_offset(f, 9), f);
	assert_int_equal(image_script_offset(f, 0), f);
	assert_int_equal(image_script_line(image_script_offset(f, UINT32_MAX)),
			 10 + IMAGE_SCRIPT_LINES - 1);
	last = image_script_function(UINT32_MAX, "f", 1);
	assert_int_equal(image_script_line(last), IMAGE_SCRIPT_FIRST_LINE);
	assert_true(last < (uint64_t)1 << 63);
	/* Others of one line are others, and functions stand in the order of the file. */
	assert_int_not_equal(f, image_script_function(10, "g", 1));
	assert_true(image_script_function(10, "zzz", 3) < image_script_function(11, "a", 1));
}

static void functions_of_several_runs_are_merged(void **state)
{
	struct image_symbol one[] = {function(10, "f"), function(20, "g")};
	struct image_symbol two[] = {function(20, "g"), function(15, "h"), function(10, "other")};
	struct image_symbols *a = build(one, 2), *b = build(two, 3), *all;
	static const struct {
		uint32_t line;
		const char *name;
	} wanted[] = {{10, "f"}, {10, "other"}, {15, "h"}, {20, "g"}};

	(void)state;
	assert_int_equal(image_script_merge(a, b, &all), 0);
	assert_int_equal(image_symbols_count(all), 4);
	for (size_t i = 0; i < 4; i++) {
		uint64_t start = function(wanted[i].line, wanted[i].name).start;
		const struct image_function *f =
			image_symbols_find(all, image_script_offset(start, wanted[i].line + 3));

		assert_non_null(f);
		assert_int_equal(f->start, start);
		assert_string_equal(f->name, wanted[i].name);
	}
	image_symbols_free(a);
	image_symbols_free(b);
	image_symbols_free(all);
}

static void lines_need_no_file(void **state)
{
	struct image_symbol one[] = {function(10, "f")};
	struct image_symbols *symbols = build(one, 1);
	uint64_t f = one[0].start, unknown = image_script_function(30, "unknown", 7);
	uint64_t offsets[] = {image_script_offset(unknown, 31), f, image_script_offset(f, 12)};
	const struct image_frame *frames;
	struct image_lines *lines;

	(void)state;
	assert_int_equal(image_script_lines("/a.py", symbols, offsets, 3, &lines), 0);
	assert_int_equal(image_lines_frames(lines, 0, &frames), 1);
	assert_string_equal(frames->file, "/a.py");
	assert_int_equal(frames->line, 31);
	assert_int_equal(frames->start_line, 30);
	assert_int_equal(image_lines_frames(lines, 1, &frames), 1);
	assert_string_equal(frames->function, "f");
	assert_int_equal(frames->line, 10);
	assert_int_equal(image_lines_frames(lines, 2, &frames), 1);
	assert_int_equal(frames->line, 12);
	assert_int_equal(frames->start_line, 10);
	image_lines_free(lines);
	image_symbols_free(symbols);
	/* Nor any function. */
	assert_int_equal(image_script_lines("/a.py", NULL, offsets, 3, &lines), 0);
	assert_int_equal(image_lines_frames(lines, 2, &frames), 1);
	assert_int_equal(frames->line, 12);
	image_lines_free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_say_their_lines),
		cmocka_unit_test(functions_of_several_runs_are_merged),
		cmocka_unit_test(lines_need_no_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
