/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Python's frames: versions, texts, tables of lines, codes and the scripts that have them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/stacks/python.h"
#include "collect/stacks/python_codes.h"
#include "find/find.h"
#include "image/script.h"
#include "image/worker/worker.h"
#include "workshop.h"

/* What CPython 3.11.2 compiles a function of 15 lines to, and what its co_lines() says (where it
 * says that there is no line, the one before). */
static const uint8_t table[] = {
	0x80, 0x00, 0xe0, 0x08, 0x09, 0x88, 0x41, 0x89, 0x05, 0x80, 0x41, 0xdd, 0x0d, 0x12, 0x90,
	0x32, 0x89, 0x59, 0x8c, 0x59, 0xf0, 0x00, 0x02, 0x05, 0x11, 0xf0, 0x00, 0x00, 0x52, 0x05,
	0x11, 0x88, 0x01, 0xd8, 0x08, 0x09, 0x88, 0x61, 0xd8, 0x0e, 0x0f, 0xf1, 0x03, 0x01, 0x0f,
	0x10, 0xf1, 0x00, 0x01, 0x09, 0x11, 0x88, 0x01, 0x88, 0x01, 0xf0, 0x06, 0x00, 0x08, 0x09,
	0xf0, 0x00, 0x01, 0x05, 0x21, 0xf0, 0x00, 0x01, 0x12, 0x21, 0xf0, 0x00, 0x01, 0x12, 0x21,
	0xd8, 0x1c, 0x1d, 0x98, 0x34, 0xf0, 0x03, 0x01, 0x12, 0x21, 0xf1, 0x00, 0x01, 0x12, 0x21,
	0xf4, 0x00, 0x01, 0x12, 0x21, 0xf0, 0x00, 0x01, 0x0b, 0x21, 0xf0, 0x04, 0x05, 0x05, 0x0d,
	0xdd, 0x08, 0x09, 0x88, 0x21, 0xe0, 0x0a, 0x0b, 0xf1, 0x05, 0x02, 0x09, 0x0d, 0xf4, 0x00,
	0x02, 0x09, 0x0d, 0xf0, 0x00, 0x02, 0x09, 0x0d, 0xf0, 0x00, 0x02, 0x09, 0x0d, 0xf0, 0x00,
	0x02, 0x09, 0x0d, 0xf8, 0xf5, 0x06, 0x00, 0x0c, 0x0d, 0xf0, 0x00, 0x01, 0x05, 0x0d, 0xf0,
	0x00, 0x01, 0x05, 0x0d, 0xf0, 0x00, 0x01, 0x05, 0x0d, 0xd8, 0x08, 0x0c, 0x88, 0x04, 0x88,
	0x04, 0x88, 0x04, 0x88, 0x04, 0x88, 0x04, 0xf8, 0xf8, 0xf8, 0xf8, 0xf0, 0x03, 0x01, 0x05,
	0x0d, 0xf8, 0xf8, 0xf8,
};
static const uint8_t lines[] = {
	13, 15, 15, 15, 15, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	17, 17, 18, 17, 17, 17, 17, 17, 17, 20, 20, 20, 20, 21, 21, 20, 20, 20, 20, 20, 20, 20, 20,
	20, 22, 23, 23, 23, 23, 23, 23, 23, 25, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 26, 26,
	26, 26, 26, 26, 26, 26, 26, 27, 27, 27, 27, 27, 27, 27, 27, 27, 27, 26, 26, 26, 26,
};

/* The same of other code by CPython 3.8 (co_lnotab) and 3.10 (where a range has no line). */
static const uint8_t lnotab[] = {
	0x00, 0x01, 0x04, 0x01, 0x10, 0x01, 0x08, 0x01, 0x02, 0x01, 0x02, 0x01, 0x02,
	0xfe, 0x06, 0x05, 0x04, 0x01, 0x0c, 0x01, 0x02, 0x01, 0x02, 0x01, 0x02, 0xfe,
	0x0a, 0x03, 0x04, 0x01, 0x02, 0xff, 0x0c, 0x02, 0x0a, 0x01, 0x28, 0x02,
};
static const uint8_t lnotab_lines[] = {
	14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 16, 16, 16, 16, 17, 18, 19, 17, 17, 17,
	22, 22, 23, 23, 23, 23, 23, 23, 24, 25, 26, 24, 24, 24, 24, 24, 27, 27, 28, 27,
	27, 27, 27, 27, 27, 29, 29, 29, 29, 29, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
	30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 32, 32, 32, 32, 32, 32, 32,
};
static const uint8_t ranges[] = {
	0x04, 0x01, 0x10, 0x01, 0x08, 0x01, 0x02, 0x01, 0x02, 0x01, 0x02, 0x01, 0x06, 0xfe,
	0x04, 0x05, 0x08, 0x01, 0x04, 0xff, 0x02, 0x80, 0x02, 0x02, 0x02, 0x01, 0x02, 0x01,
	0x06, 0xfe, 0x0a, 0x08, 0x04, 0xfb, 0x02, 0x01, 0x0a, 0xff, 0x0a, 0x02, 0x02, 0x01,
	0x14, 0xff, 0x0a, 0x03, 0x14, 0xfd, 0x02, 0xfe, 0x02, 0x02, 0x16, 0x03,
};
static const uint8_t ranges_lines[] = {
	14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 16, 16, 16, 16, 17, 18, 19, 17, 17, 17, 22, 22, 23,
	23, 23, 23, 22, 22, 22, 24, 25, 26, 24, 24, 24, 32, 32, 32, 32, 32, 27, 27, 28, 27, 27, 27,
	27, 27, 29, 29, 29, 29, 29, 30, 29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 32, 32, 32, 32, 32,
	29, 29, 29, 29, 29, 29, 29, 29, 29, 29, 27, 29, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32,
};

static void test_lines(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(lines); i++)
		assert_int_equal(
			python_decode_line(WIRE_PYTHON_LOCATIONS, table, sizeof(table), 13, i),
			lines[i]);
	/* Past what is known, and of a table that was cut. */
	assert_int_equal(python_decode_line(WIRE_PYTHON_LOCATIONS, table, sizeof(table), 13, 1000),
			 26);
	assert_int_equal(python_decode_line(WIRE_PYTHON_LOCATIONS, table, 20, 13, 80), 16);
	assert_int_equal(python_decode_line(WIRE_PYTHON_LOCATIONS, NULL, 0, 13, 80), 13);
}

static void test_older_lines(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < sizeof(lnotab_lines); i++)
		assert_int_equal(
			python_decode_line(WIRE_PYTHON_LNOTAB, lnotab, sizeof(lnotab), 13, i),
			lnotab_lines[i]);
	for (uint32_t i = 0; i < sizeof(ranges_lines); i++)
		assert_int_equal(
			python_decode_line(WIRE_PYTHON_RANGES, ranges, sizeof(ranges), 13, i),
			ranges_lines[i]);
	/* Past the end, cut in a pair, and none. */
	for (uint32_t form = WIRE_PYTHON_LNOTAB; form <= WIRE_PYTHON_RANGES; form++) {
		assert_int_equal(python_decode_line(form, lnotab, sizeof(lnotab), 13, UINT32_MAX),
				 32);
		assert_int_equal(python_decode_line(form, lnotab, 5, 13, UINT32_MAX), 15);
		assert_int_equal(python_decode_line(form, NULL, 0, 13, 7), 13);
	}
}

static void test_hostile_lines(void **state)
{
	(void)state;
	/* The lowest and the highest numbers, numbers without an end, lines below 1. */
	static const uint8_t low[] = {0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
				      0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xe8, 0x7f, 0xe8, 0x03};
	/* Down past line 1. */
	static const uint8_t down[] = {0, 0x81, 0, 0x81, 0, 0x81};
	uint8_t noise[512];
	uint32_t seed = 1;

	assert_int_equal(python_decode_line(WIRE_PYTHON_LNOTAB, down, sizeof(down), 7, 100), 7);
	assert_int_equal(python_decode_line(WIRE_PYTHON_RANGES, down, sizeof(down), 7, 100), 7);
	assert_int_equal(python_decode_line(WIRE_PYTHON_LOCATIONS, low, sizeof(low), 7, 100), 7);
	for (unsigned round = 0; round < 1000; round++) {
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		for (uint32_t at = 0; at < 2048; at += 97)
			for (uint32_t form = 0; form <= WIRE_PYTHON_LOCATIONS; form++)
				assert_true(python_decode_line(form, noise, sizeof(noise), 1, at) >=
					    1);
	}
}

static void check_text(unsigned unit, const void *data, size_t bytes, bool is_cut, const char *same)
{
	struct wire_python_text text = {(uint16_t)bytes, (uint8_t)unit, is_cut};
	struct buf out;

	buf_init(&out, 1000);
	assert_int_equal(python_decode_text(&text, data, &out), 0);
	assert_int_equal(out.size, strlen(same));
	assert_memory_equal(out.data, same, out.size);
	buf_free(&out);
}

static void test_texts(void **state)
{
	(void)state;
	static const uint16_t two[] = {0x65e5, 0xd800, 'a', 0};
	static const uint32_t four[] = {0x1f600, 0x110000, 0x7ff};

	check_text(1, "plain", 5, false, "plain");
	check_text(1, "gr\xf6\xdf", 4, true, "gr\xc3\xb6\xc3\x9f...");
	/* Half of a pair, a zero byte, and half of a character at the end. */
	check_text(2, two, 8, false, "\xe6\x97\xa5\xef\xbf\xbd\x61\xef\xbf\xbd");
	check_text(2, two, 3, false, "\xe6\x97\xa5");
	check_text(4, four, 12, false, "\xf0\x9f\x98\x80\xef\xbf\xbd\xdf\xbf");
	check_text(0, "a", 1, false, "\xef\xbf\xbd");
	check_text(3, "abc", 3, false, "\xef\xbf\xbd");
}

/* What is known of an interpreter of that version, built as usual. */
static struct image_python python_of(uint32_t version)
{
	struct image_python p = {.runtime = 0xa5b740, .version = version};

	p.evaluator[0].begin = 0x420000;
	p.evaluator[0].end = 0x428000;
	p.offsets = (struct image_python_offsets){
		.thread_frame = 72, .frame_owner = 70, .text_ascii = 40, .are_there = 1};
	return p;
}

static const struct image_segment code_segment = {.address = 0x41f000, .file_offset = 0x1f000};

static void test_versions(void **state)
{
	(void)state;
	static const uint8_t by[] = {WIRE_PYTHON_BY_CODE,   WIRE_PYTHON_BY_CODE,
				     WIRE_PYTHON_BY_CODE,   WIRE_PYTHON_BY_CFRAME,
				     WIRE_PYTHON_BY_CFRAME, WIRE_PYTHON_BY_ENTRY};
	struct image_python python;
	struct wire_python wire;

	for (uint32_t minor = 8; minor <= 13; minor++) {
		python = python_of(0x030002f0 | minor << 16);
		assert_int_equal(python_describe(&python, &code_segment, 1, &wire), 0);
		assert_int_equal(wire.runtime, 0xa5b740 - 0x400000);
		assert_int_equal(wire.evaluator[0].begin, 0x20000);
		assert_int_equal(wire.evaluator[0].end, 0x28000);
		assert_int_equal(wire.evaluator[1].end, 0);
		assert_int_equal(wire.by, by[minor - 8]);
		assert_int_equal(python_describe(&python, &code_segment, 0, &wire), -ENOENT);
		python.version ^= 0x30; /* a candidate */
		assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
		python = python_of(0x030002f0 | minor << 16);
		python.is_odd = 1;
		assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
	}
	python = python_of(0x030700f0);
	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
	python = python_of(0x030e00f0);
	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
}

/* What a version cannot do without. */
static void test_lacking(void **state)
{
	(void)state;
	struct image_python python = python_of(0x030d01f0);
	struct wire_python wire;

	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), 0);
	assert_int_equal(wire.thread_frame, 72);
	assert_int_equal(wire.text_compact, 56);
	python.offsets.are_there = 0;
	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
	python = python_of(0x030900f0);
	python.evaluator[0].end = UINT64_MAX; /* not in a file as large as files are */
	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
	python.evaluator[0].end = python.evaluator[0].begin;
	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), -ENOENT);
	python.version = 0x030a00f0; /* has another way */
	assert_int_equal(python_describe(&python, &code_segment, 1, &wire), 0);
}

/* 0 or the error, with what a library of that source says. */
static int read_library(struct image_worker *w, const char *source, struct image_python *ret)
{
	int fd, r;

	assert_int_equal(workshop_write("p.c", source), 0);
	assert_int_equal(workshop_run("gcc -shared -fPIC -s -o p.so p.c"), 0);
	fd = workshop_open("p.so");
	r = image_worker_python(w, fd, ret, NULL);
	close(fd);
	return r;
}

static void test_file(void **state)
{
	(void)state;
	static const struct {
		const char *source;
		uint32_t version;
	} files[] = {
		{"const unsigned long Py_Version = 0x030b04f0; char _PyRuntime[100];", 0x030b04f0},
		{"char _PyRuntime[100];", 0x030700f0},
		{"char _PyRuntime[100]; void PyCode_NewWithPosOnlyArgs(void) {}", 0x030800f0},
		{"char _PyRuntime[100]; void PyCode_NewWithPosOnlyArgs(void) {}"
		 "void PyFrame_GetBack(void) {}",
		 0x030900f0},
		{"char _PyRuntime[100]; void PyCode_NewWithPosOnlyArgs(void) {}"
		 "void PyFrame_GetBack(void) {} void PyIter_Send(void) {}",
		 0x030a00f0},
	};
	struct image_worker *w = image_worker_new(NULL);
	struct image_python python;
	int fd;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(read_library(w, files[i].source, &python), 0);
		assert_int_equal(python.version, files[i].version);
		assert_true(python.runtime != 0);
		assert_false(python.is_odd || python.offsets.are_there);
		assert_int_equal(python.evaluator[0].begin, 0);
	}
	assert_int_equal(read_library(w, "char some[100];", &python), -ENOENT);
	assert_int_equal(read_library(w,
				      "char _PyRuntime[9]; void _Py_AddToAllObjects(void) {}"
				      "void _PyEval_EvalFrameDefault(void) {}",
				      &python),
			 0);
	assert_true(python.is_odd);
	assert_true(python.evaluator[0].begin < python.evaluator[0].end);
	fd = workshop_open("p.c");
	assert_int_equal(image_worker_python(w, fd, &python, NULL), -EBADMSG);
	close(fd);
	image_worker_free(w);
}

/* What a library reads as that says of itself as 3.13 does, with another value for a word. */
static int read_offsets(struct image_worker *w, const char *cookie, unsigned words, unsigned number,
			uint64_t value, struct image_python *ret)
{
	char source[512];

	snprintf(source, sizeof(source),
		 "const unsigned long Py_Version = 0x030d01f0; struct { char cookie[8]; unsigned "
		 "long words[%u]; } _PyRuntime = {\"%s\", {0x030d01f0, 0, [2 ... 69] = 24, "
		 "[%u] = %lu}};",
		 words, cookie, number, value);
	return read_library(w, source, ret);
}

static void test_own_offsets(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct image_python python;

	assert_int_equal(read_offsets(w, "xdebugpy", 100, 22, 72, &python), 0);
	assert_true(python.offsets.are_there && !python.is_odd);
	assert_int_equal(python.offsets.thread_frame, 72);
	assert_int_equal(python.offsets.text_ascii, 24);
	assert_int_equal(read_offsets(w, "xdebugpx", 100, 22, 72, &python), 0);
	assert_false(python.offsets.are_there);
	/* Of another version, without a lock, too large, at the file's end. */
	assert_int_equal(read_offsets(w, "xdebugpy", 100, 0, 0x030d02f0, &python), 0);
	assert_false(python.offsets.are_there);
	assert_int_equal(read_offsets(w, "xdebugpy", 100, 1, 1, &python), 0);
	assert_true(python.is_odd);
	assert_int_equal(read_offsets(w, "xdebugpy", 100, 69, UINT64_MAX, &python), 0);
	assert_false(python.offsets.are_there);
	image_worker_free(w);
}

static struct wire_python_code code(uint32_t number, const char *file, const char *name)
{
	struct wire_python_code c = {.number = number, .first_line = 13};

	c.file = (struct wire_python_text){(uint16_t)strlen(file), 1, 0};
	c.name = (struct wire_python_text){(uint16_t)strlen(name), 1, 0};
	memcpy(c.file_text, file, strlen(file));
	memcpy(c.name_text, name, strlen(name));
	c.lines_bytes = sizeof(table);
	c.lines_form = WIRE_PYTHON_LOCATIONS;
	memcpy(c.lines, table, sizeof(table));
	return c;
}

static uint64_t frame(uint32_t number, uint32_t instruction)
{
	return WIRE_FRAME_PYTHON | (uint64_t)number << 32 | instruction;
}

static void test_codes(void **state)
{
	(void)state;
	struct scripts *s = scripts_new();
	struct python_codes *c = python_codes_new(s);
	struct wire_python_code one = code(1, "/a.py", "f"), two = code(2, "/a.py", "A.g"),
				other = code(3, "/b.py", "f"),
				later = code(2 + PYTHON_CODES_MAX, "/a.py", "f");
	struct python_codes_counters counters;
	uint32_t a, b;
	uint64_t f, g, h;

	python_codes_take(c, &one, sizeof(one));
	python_codes_take(c, &two, sizeof(two));
	python_codes_take(c, &other, sizeof(other));
	assert_int_equal(python_codes_find(c, frame(1, 47), &a, &f), 0);
	assert_int_equal(image_script_line(f), 22);
	assert_int_equal(python_codes_find(c, frame(2, 0), &b, &g), 0);
	assert_int_equal(image_script_line(g), 13);
	assert_int_equal(a, b);
	assert_true((f ^ g) >= IMAGE_SCRIPT_LINES);
	assert_int_equal(python_codes_find(c, frame(3, 47), &b, &h), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(f, h);
	/* It has the place of 2. The same function in another process is the same. */
	python_codes_take(c, &later, sizeof(later));
	assert_int_equal(python_codes_find(c, frame(2 + PYTHON_CODES_MAX, 47), &b, &h), 0);
	assert_int_equal(a, b);
	assert_int_equal(f, h);
	assert_int_equal(python_codes_find(c, frame(2, 0), &b, &g), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(python_codes_find(c, frame(0, 0), &a, &f), 0);
	assert_int_equal(a, b);
	python_codes_count(c, &counters);
	assert_int_equal(counters.codes, 4);
	assert_int_equal(counters.unknown, 2);
	assert_int_equal(counters.refused, 0);
	/* All are unknown once they were forgotten, and known when they come again. */
	for (int round = 0; round < 2; round++) {
		python_codes_clear(c);
		assert_int_equal(python_codes_find(c, frame(1, 47), &a, &f), 0);
		assert_int_not_equal(image_script_line(f), 22);
		python_codes_take(c, &one, sizeof(one));
		assert_int_equal(python_codes_find(c, frame(1, 47), &a, &f), 0);
		assert_int_equal(image_script_line(f), 22);
	}
	python_codes_free(c);
	scripts_free(s);
}

static void test_hostile_codes(void **state)
{
	(void)state;
	struct scripts *s = scripts_new();
	struct python_codes *c = python_codes_new(s);
	struct wire_python_code good = code(1, "/a.py", "f"), bad;
	struct python_codes_counters counters;
	uint32_t script, line = 0;
	uint64_t offset;

	bad = good, bad.number = 0;
	python_codes_take(c, &bad, sizeof(bad));
	bad = good, bad.number = UINT32_MAX;
	python_codes_take(c, &bad, sizeof(bad));
	bad = good, bad.lines_form = WIRE_PYTHON_LOCATIONS + 1;
	python_codes_take(c, &bad, sizeof(bad));
	bad = good, bad.name.bytes = 0;
	python_codes_take(c, &bad, sizeof(bad));
	bad = good, bad.name.bytes = UINT16_MAX;
	python_codes_take(c, &bad, sizeof(bad));
	bad = good, bad.file.bytes = UINT16_MAX;
	python_codes_take(c, &bad, sizeof(bad));
	bad = good, bad.lines_bytes = UINT32_MAX;
	python_codes_take(c, &bad, sizeof(bad));
	python_codes_take(c, &good, offsetof(struct wire_python_code, lines) + 10);
	python_codes_take(c, &good, 3);
	python_codes_count(c, &counters);
	assert_int_equal(counters.refused, 9);
	/* The most that fits: names of the largest, then more lines than there is memory for. */
	for (uint32_t i = 1; i <= PYTHON_CODES_MAX_BYTES / WIRE_PYTHON_LINES_ROOM + 5; i++) {
		bad = code(i, "", "f");
		bad.lines_bytes = sizeof(bad.lines);
		memset(bad.name_text, 0xff, sizeof(bad.name_text));
		bad.name.bytes = sizeof(bad.name_text);
		python_codes_take(c, &bad, sizeof(bad));
		line = i;
	}
	python_codes_count(c, &counters);
	assert_int_equal(counters.refused, 9);
	assert_int_equal(counters.without_lines, 5);
	assert_int_equal(python_codes_find(c, frame(line, 47), &script, &offset), 0);
	assert_int_equal(image_script_line(offset), 13);
	python_codes_free(c);
	scripts_free(s);
}

static void test_offsets(void **state)
{
	(void)state;
	uint64_t f = image_script_function(100, "f", 1),
		 far = image_script_function(UINT32_MAX, "f", 1);

	assert_int_equal(image_script_offset(f, 100), f);
	assert_int_equal(image_script_offset(f, 99), f);
	assert_int_equal(image_script_line(image_script_offset(f, 12345)), 12345);
	assert_int_equal(image_script_offset(f, UINT32_MAX), f + IMAGE_SCRIPT_LINES - 1);
	assert_true(f < image_script_function(101, "e", 1));
	assert_true(image_script_offset(far, UINT32_MAX) < 1ull << 63);
	assert_int_not_equal(f, image_script_function(100, "g", 1));
}

static void add(struct scripts *s, const char *path, uint32_t line, const char *name)
{
	uint32_t script;
	uint64_t function;

	assert_int_equal(scripts_function(s, path, strlen(path), line, name, strlen(name), &script,
					  &function),
			 0);
}

static void check_function(struct image_finder *f, const char *path, uint32_t first_line,
			   const char *name, uint32_t line)
{
	uint64_t offset =
		image_script_offset(image_script_function(first_line, name, strlen(name)), line);
	const struct image_symbols *symbols;
	const struct image_frame *known;
	struct image_lines *found;
	struct image_id id;

	image_script_id(path, strlen(path), &id);
	assert_int_equal(image_find_symbols(f, &id, path, &symbols, NULL), 0);
	assert_string_equal(image_symbols_find(symbols, offset)->name, name);
	assert_int_equal(image_find_lines(f, &id, path, &offset, 1, &found, NULL), 0);
	assert_int_equal(image_lines_frames(found, 0, &known), 1);
	assert_string_equal(known->function, name);
	assert_string_equal(known->file, path);
	assert_int_equal(known->line, line);
	assert_int_equal(known->start_line, first_line);
	image_lines_free(found);
}

/* The names are in the database, those of later recordings beside those of earlier ones. */
static void test_kept(void **state)
{
	(void)state;
	struct scripts *s = scripts_new();
	struct image_finder *f;
	struct keeper *k;
	char db[256];

	snprintf(db, sizeof(db), "%s/db", workshop_dir);
	assert_int_equal(workshop_run("mkdir -p db/m"), 0);
	k = keeper_new(db, "m");
	add(s, "/a.py", 1, "<module>");
	add(s, "/a.py", 10, "f.<locals>.<lambda>");
	add(s, "/b.py", 10, "g");
	scripts_keep(s, k);
	add(s, "/a.py", 10, "f");
	add(s, "/a.py", 10, "f");
	scripts_keep(s, k);
	keeper_finish(k);
	keeper_free(k);
	assert_int_equal(scripts_clear(s), 0);
	k = keeper_new(db, "m");
	add(s, "/a.py", 5, "h");
	scripts_keep(s, k);
	scripts_keep(s, k);
	keeper_finish(k);
	keeper_free(k);
	scripts_free(s);
	assert_int_equal(image_finder_new(db, "m", &f), 0);
	check_function(f, "/a.py", 1, "<module>", 1);
	check_function(f, "/a.py", 10, "f.<locals>.<lambda>", 10);
	check_function(f, "/a.py", 10, "f", 5000);
	check_function(f, "/a.py", 5, "h", 7);
	check_function(f, "/b.py", 10, "g", 12);
	image_finder_free(f);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_older_lines),   cmocka_unit_test(test_lacking),
		cmocka_unit_test(test_own_offsets),   cmocka_unit_test(test_lines),
		cmocka_unit_test(test_hostile_lines), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_versions),      cmocka_unit_test(test_file),
		cmocka_unit_test(test_codes),	      cmocka_unit_test(test_hostile_codes),
		cmocka_unit_test(test_offsets),	      cmocka_unit_test(test_kept),
	};

	image_worker_dispatch(argc, argv);
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
