/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/code.h"
#include "image/line_table.h"
#include "image/lines_new.h"
#include "image/symbols.h"
#include "workshop.h"

/* The division is written in deep() and inlined twice over into outer(). */
static const char program[] = "int sink;\n"
			      "static inline __attribute__((always_inline)) int deep(int x)\n"
			      "{\n"
			      "	return sink / x;\n" /* line 4 */
			      "}\n"
			      "static inline __attribute__((always_inline)) int middle(int x)\n"
			      "{\n"
			      "	return deep(x + 3) ^ 5;\n" /* line 8 */
			      "}\n"
			      "__attribute__((noinline)) int outer(int x)\n"
			      "{\n"
			      "	return middle(x) + 1;\n" /* line 12 */
			      "}\n"
			      "int main(int argc, char **argv)\n"
			      "{\n"
			      "	(void)argv;\n"
			      "	return outer(argc);\n" /* line 17 */
			      "}\n";

static uint64_t function_at(const char *image, const char *name, uint64_t *ret_size)
{
	struct image_symbols *s;
	uint64_t start = 0;
	int fd = workshop_open(image);
	assert_int_equal(image_symbols_read(fd, -1, 1 << 20, &s, NULL), 0);
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		if (strcmp(f->demangled, name) == 0) {
			start = f->start;
			*ret_size = f->size;
		}
	}
	image_symbols_free(s);
	close(fd);
	assert_int_not_equal(start, 0);
	return start;
}

/* The address of the idiv in outer(): f7 and a modrm of /7. */
static uint64_t division_at(const char *image, const char *name)
{
	uint64_t size = 0, start = function_at(image, name, &size);
	uint8_t *code;
	size_t got;
	int fd = workshop_open(image);
	assert_int_equal(image_code_read(fd, start, size, &code, &got, NULL), 0);
	assert_int_equal(got, size);
	for (size_t i = 0; i + 1 < size; i++) {
		if (code[i] == 0xf7 && (code[i + 1] & 0x38) == 0x38) {
			free(code);
			close(fd);
			return start + i;
		}
	}
	fail_msg("no division in %s", name);
	return 0;
}

static struct image_lines *read_lines(const char *image, const char *debug,
				      const uint64_t *addresses, size_t count)
{
	struct image_lines *l = NULL;
	struct diag diag = {""};
	int fd = workshop_open(image), debug_fd = debug ? workshop_open(debug) : -1;
	int err = image_lines_read(fd, debug_fd, addresses, count, &l, &diag);
	if (err)
		print_message("%s\n", diag.text);
	assert_int_equal(err, 0);
	close(fd);
	if (debug_fd >= 0)
		close(debug_fd);
	return l;
}

static void check_frame(const struct image_frame *f, const char *function, uint32_t line)
{
	assert_non_null(f->function);
	assert_string_equal(f->function, function);
	assert_int_equal(f->line, line);
	assert_non_null(f->file);
	assert_non_null(strstr(f->file, "/p.c"));
	assert_int_equal(f->file[0], '/');
}

static void check_chain(const char *image, const char *debug)
{
	uint64_t size, at = division_at(image, "outer"),
		       main_at = function_at(image, "main", &size);
	uint64_t addresses[] = {main_at, at, 1, at, UINT64_MAX};
	const struct image_frame *f;
	struct image_lines *l = read_lines(image, debug, addresses, 5);
	for (size_t i = 1; i <= 3; i += 2) {
		assert_int_equal(image_lines_frames(l, i, &f), 3);
		check_frame(&f[0], "deep", 4);
		check_frame(&f[1], "middle", 8);
		check_frame(&f[2], "outer", 12);
	}
	assert_int_equal(image_lines_frames(l, 0, &f), 1);
	check_frame(&f[0], "main", 17); /* the last of its three lines at that address */
	assert_int_equal(image_lines_frames(l, 2, &f), 0);
	assert_int_equal(image_lines_frames(l, 4, &f), 0);
	assert_int_equal(image_lines_frames(l, 5, &f), 0);
	image_lines_free(l);
}

static void test_inlines(void **state)
{
	(void)state;
	assert_int_equal(workshop_write("p.c", program), 0);
	assert_int_equal(workshop_run("gcc -O2 -g p.c -o p5; gcc -O2 -g -gdwarf-4 p.c -o p4"), 0);
	check_chain("p5", NULL);
	check_chain("p4", NULL);
}

/* Without .debug_aranges, as Clang leaves it. */
static void test_no_aranges(void **state)
{
	(void)state;
	assert_int_equal(workshop_run("objcopy -R .debug_aranges p5 bare"), 0);
	check_chain("bare", NULL);
}

static void test_separate(void **state)
{
	(void)state;
	assert_int_equal(workshop_run("objcopy --only-keep-debug p5 p5.debug;"
				      "objcopy --strip-debug p5 thin"),
			 0);
	check_chain("thin", "p5.debug");
	struct image_lines *l = NULL;
	struct diag diag;
	uint64_t at = division_at("thin", "outer");
	int fd = workshop_open("thin");
	assert_int_equal(image_lines_read(fd, -1, &at, 1, &l, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "no debug information"));
	close(fd);
}

static int probe(const char *name, const char *debug)
{
	struct image_line_table none;
	int fd = workshop_open(name), debug_fd = debug ? workshop_open(debug) : -1;
	int r = image_line_table_read(fd, debug_fd, NULL, 0, &none, NULL);
	if (!r) {
		assert_int_equal(none.range_count, 0);
		image_line_table_free(&none);
	}
	close(fd);
	if (debug_fd >= 0)
		close(debug_fd);
	return r;
}

/* Whether there are any is known of no addresses; what was left of a section by its name is none.
 */
static void test_probe(void **state)
{
	(void)state;
	assert_int_equal(workshop_run("gcc -O2 -g -gz=zlib p.c -o packed;"
				      "objcopy -R .debug_info p5 headless;"
				      "objcopy --only-keep-debug thin hollow"),
			 0);
	assert_int_equal(probe("p5", NULL), 0);
	assert_int_equal(probe("packed", NULL), 0);
	assert_int_equal(probe("thin", "p5.debug"), 0);
	assert_int_equal(probe("p5", "hollow"), 0);
	assert_int_equal(probe("thin", NULL), -ENOENT);
	assert_int_equal(probe("headless", NULL), -ENOENT);
	assert_int_equal(probe("p.c", NULL), -ENOENT);
	/* The bytes of DWARF are not there, only its section. */
	assert_int_equal(
		workshop_run("objcopy --set-section-flags .debug_info=alloc p5 as-code 2>err &&"
			     "objcopy --only-keep-debug as-code empty 2>err"),
		0);
	assert_int_equal(probe("empty", NULL), -ENOENT);
}

/* Lines, but no inlined functions: they are in a .dwo file, which is not looked for. */
static void test_split(void **state)
{
	(void)state;
	assert_int_equal(workshop_run("gcc -O2 -g -gsplit-dwarf p.c -o split"), 0);
	uint64_t at = division_at("split", "outer");
	const struct image_frame *f;
	struct image_lines *l = read_lines("split", NULL, &at, 1);
	assert_int_equal(image_lines_frames(l, 0, &f), 1);
	assert_int_equal(f[0].line, 4);
	image_lines_free(l);
}

static void test_cplusplus(void **state)
{
	(void)state;
	assert_int_equal(workshop_write("q.cc",
					"namespace room {\n"
					"template <class T> struct box {\n"
					"	T v;\n"
					"	T __attribute__((always_inline)) get(T x)\n"
					"	{ return v / x; }\n" /* line 5 */
					"};\n"
					"__attribute__((noinline)) int use(int x)\n"
					"{ box<int> b{100}; return b.get(x); }\n"
					"}\n"
					"int main(int c, char **) { return room::use(c); }\n"),
			 0);
	assert_int_equal(workshop_run("g++ -O2 -g q.cc -o q"), 0);
	uint64_t at = division_at("q", "room::use");
	const struct image_frame *f;
	struct image_lines *l = read_lines("q", NULL, &at, 1);
	assert_int_equal(image_lines_frames(l, 0, &f), 2);
	/* Never compiled by itself, get() has no linkage name: its own name must do. */
	assert_non_null(strstr(f[0].function, "get"));
	assert_int_equal(f[0].line, 5);
	assert_string_equal(f[1].function, "room::use");
	assert_int_equal(f[1].line, 8);
	image_lines_free(l);
}

static void test_save_load(void **state)
{
	(void)state;
	uint64_t at[] = {division_at("p5", "outer"), 1, division_at("p5", "outer") - 1};
	struct image_lines *l = read_lines("p5", NULL, at, 3), *m = NULL;
	const struct image_frame *f;
	struct buf b;
	buf_init(&b, 1 << 20);
	assert_int_equal(image_lines_save(l, &b), 0);
	image_lines_free(l);
	assert_int_equal(image_lines_load(b.data, b.size, &m, NULL), 0);
	assert_int_equal(image_lines_frames(m, 0, &f), 3);
	check_frame(&f[0], "deep", 4);
	check_frame(&f[2], "outer", 12);
	assert_int_equal(image_lines_frames(m, 1, &f), 0);
	image_lines_free(m);
	for (size_t cut = 0; cut < b.size; cut++)
		assert_int_equal(image_lines_load(b.data, cut, &m, NULL), -EBADMSG);
	for (size_t i = 0; i < b.size * 8; i++) {
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		if (image_lines_load(b.data, b.size, &m, NULL) == 0) {
			for (size_t k = 0; k < 3; k++)
				for (size_t n = image_lines_frames(m, k, &f); n; n--)
					assert_true(f[n - 1].file != (char *)1);
			image_lines_free(m);
		}
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_same(const struct image_lines *a, size_t i, const struct image_lines *b, size_t k)
{
	const struct image_frame *x, *y;
	size_t n = image_lines_frames(a, i, &x);
	assert_int_equal(image_lines_frames(b, k, &y), n);
	for (; n; n--) {
		assert_true(same_text(x[n - 1].function, y[n - 1].function));
		assert_true(same_text(x[n - 1].linkage, y[n - 1].linkage));
		assert_true(same_text(x[n - 1].file, y[n - 1].file));
		assert_int_equal(x[n - 1].line, y[n - 1].line);
		assert_int_equal(x[n - 1].start_line, y[n - 1].start_line);
		assert_int_equal(x[n - 1].discriminator, y[n - 1].discriminator);
	}
}

/* All functions but every third, and the ranges of these. */
static size_t some_functions(const char *image, struct image_range **ret)
{
	struct image_symbols *s;
	size_t n = 0;
	int fd = workshop_open(image);
	assert_int_equal(image_symbols_read(fd, -1, 1 << 20, &s, NULL), 0);
	*ret = calloc(image_symbols_count(s) + 1, sizeof(**ret));
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		if (i % 3 != 2)
			(*ret)[n++] = (struct image_range){f->start, f->start + f->size};
	}
	image_symbols_free(s);
	close(fd);
	return n;
}

/* Of each address the table says what the file says; it says nothing of others. */
static void check_table(const char *image)
{
	struct image_line_table t, half[2], both;
	struct image_range *ranges;
	struct buf b;
	size_t count = some_functions(image, &ranges), known = 0;
	int fd = workshop_open(image);
	assert_int_equal(image_line_table_read(fd, -1, ranges, count / 2, &half[0], NULL), 0);
	assert_int_equal(image_line_table_read(fd, -1, ranges + count / 2, count - count / 2,
					       &half[1], NULL),
			 0);
	close(fd);
	assert_int_equal(image_line_table_merge(&half[1], &half[0], &both), 0);
	buf_init(&b, 1 << 20);
	assert_int_equal(image_line_table_save(&both, &b), 0);
	assert_int_equal(image_line_table_load(b.data, b.size, &t), 0);
	assert_int_equal(image_lines_finish(t.lines), 0);
	for (size_t i = 0; i < count; i++)
		for (uint64_t at = ranges[i].start; at <= ranges[i].end; at++) {
			struct image_lines *l = read_lines(image, NULL, &at, 1);
			const struct image_frame *f;
			size_t run = image_line_table_find(&t, at);
			bool inside = at < ranges[i].end;
			if (run != SIZE_MAX)
				check_same(t.lines, run, l, 0);
			else if (inside)
				assert_int_equal(image_lines_frames(l, 0, &f), 0);
			known += run != SIZE_MAX;
			image_lines_free(l);
		}
	assert_true(known > 4);
	for (size_t i = 0; i < b.size; i++) {
		struct image_line_table broken;
		assert_int_equal(image_line_table_load(b.data, i, &broken), -EBADMSG);
		b.data[i] ^= 0x91;
		if (image_line_table_load(b.data, b.size, &broken) == 0)
			image_line_table_free(&broken);
		b.data[i] ^= 0x91;
	}
	buf_free(&b);
	image_line_table_free(&t);
	image_line_table_free(&both);
	image_line_table_free(&half[0]);
	image_line_table_free(&half[1]);
	free(ranges);
}

static void test_table(void **state)
{
	(void)state;
	check_table("p5");
	check_table("p4");
	assert_int_equal(workshop_run("gcc -O2 -g -ffunction-sections p.c -o ps"), 0);
	check_table("ps");
	/* Calls that are inlined, all on one line: only their own ranges tell where each begins. */
	assert_int_equal(
		workshop_write("one.c",
			       "volatile int sink; static inline __attribute__((always_inline)) "
			       "int deep(int x) { sink = x; return sink / x; } "
			       "__attribute__((noinline)) int outer(int x) { sink = x; return "
			       "deep(x) + deep(x + 2) + sink; } int main(int argc, char **argv) "
			       "{ (void)argv; return outer(argc); }\n"),
		0);
	assert_int_equal(workshop_run("gcc -O2 -g -gno-column-info -gno-inline-points "
				      "-gno-statement-frontiers -gno-variable-location-views "
				      "-fno-var-tracking one.c -o pi"),
			 0);
	check_table("pi");
}

/* A table of ranges that begin every 10 addresses, from start on, each of as many addresses as it
 * is told; all with two runs, of so many frames. */
static void make_table(struct image_line_table *t, uint64_t start, size_t count, uint64_t size,
		       size_t frame_count)
{
	struct lines_frame frames[LINES_FRAMES_MAX] = {0};
	struct image_lines *from;
	*t = (struct image_line_table){0};
	assert_int_equal(image_lines_new(2 * count, &t->lines), 0);
	assert_int_equal(image_lines_new(1, &from), 0);
	for (size_t i = 0; i < 2 * count; i++) {
		uint64_t at = start + i / 2 * 10;
		frames[0].line = (uint32_t)i + 1;
		assert_int_equal(image_lines_set(from, 0, frames, frame_count), 0);
		if (i % 2 == 0)
			assert_int_equal(
				image_line_table_add_range(t, (struct image_range){at, at + size}),
				0);
		assert_int_equal(image_line_table_add_run(t, at + i % 2 * (size - 1), from, 0), 0);
		if (image_lines_all_frames(from) > 1u << 20) {
			image_lines_free(from);
			assert_int_equal(image_lines_new(1, &from), 0);
		}
	}
	image_lines_free(from);
	image_line_table_finish(t);
}

static void test_tables_overlap(void **state)
{
	struct image_line_table a, b, both;
	(void)state;
	make_table(&a, 100, 1, 8, 1);
	make_table(&b, 97, 2, 5, 1);
	assert_int_equal(image_line_table_merge(&a, &b, &both), 0);
	assert_int_equal(both.range_count, 1);
	image_line_table_free(&both);
	assert_int_equal(image_line_table_merge(&b, &a, &both), 0);
	assert_int_equal(both.range_count, 2);
	assert_int_equal(image_line_table_find(&both, 101), 1);
	assert_int_equal(image_line_table_find(&both, 102), SIZE_MAX);
	image_line_table_free(&both);
	image_line_table_free(&a);
	image_line_table_free(&b);
}

/* A program of deeply inlined calls has many frames at each address: they do not fill the memory of
 * who merges tables, however few bytes they are on the disk. */
static void test_table_of_many_frames(void **state)
{
	struct image_line_table half, other, both;
	const size_t count = LINE_TABLE_MAX_FRAMES / LINES_FRAMES_MAX / 4;
	(void)state;
	make_table(&half, 1000, count + 1, 8, LINES_FRAMES_MAX);
	make_table(&other, 10000000, count, 8, LINES_FRAMES_MAX);
	assert_int_equal(image_lines_all_frames(other.lines), LINE_TABLE_MAX_FRAMES / 2);
	assert_int_equal(image_line_table_merge(&half, &other, &both), -EFBIG);
	image_line_table_free(&half);
	image_line_table_free(&other);
}

static void test_broken_table(void **state)
{
	struct image_line_table t, two, loaded;
	struct buf b;
	(void)state;
	make_table(&t, 5, 1, 3, 1);
	make_table(&two, 5, 2, 3, 1);
	buf_init(&b, 1 << 20);
	assert_int_equal(image_line_table_save(&t, &b), 0);
	/* Magic; ranges; gap, size, runs, gap of the second run. */
	assert_memory_equal((char *)b.data + 4, "\1\5\3\2\2", 5);
	b.data[8] = 3; /* a run past its range */
	assert_int_equal(image_line_table_load(b.data, b.size, &loaded), -EBADMSG);
	b.data[8] = 2;
	assert_int_equal(image_line_table_load(b.data, b.size, &loaded), 0);
	image_line_table_free(&loaded);
	b.size = 9;
	assert_int_equal(image_lines_save(two.lines, &b), 0); /* of other runs than the ranges */
	assert_int_equal(image_line_table_load(b.data, b.size, &loaded), -EBADMSG);
	buf_free(&b);
	image_line_table_free(&t);
	image_line_table_free(&two);
}

/* Clang writes the MD5 of each source into DWARF 5; other files have none. */
static void test_md5(void **state)
{
	(void)state;
	static const uint8_t none[IMAGE_LINES_MD5_BYTES];
	uint64_t size, at[] = {0};
	struct image_lines *l;
	const struct image_frame *f;
	char sum[40] = "", hex[40] = "";
	if (workshop_run("clang -O2 -gdwarf-5 p.c -o pc && md5sum <p.c >p.md5"))
		skip();
	at[0] = function_at("pc", "main", &size);
	l = read_lines("pc", NULL, at, 1);
	assert_true(image_lines_frames(l, 0, &f) > 0);
	assert_non_null(f[0].file_md5);
	assert_memory_not_equal(f[0].file_md5, none, sizeof(none));
	for (size_t i = 0; i < IMAGE_LINES_MD5_BYTES; i++)
		sprintf(hex + 2 * i, "%02x", f[0].file_md5[i]);
	char *text = workshop_read("p.md5", &size);
	snprintf(sum, sizeof(sum), "%.32s", text);
	free(text);
	assert_string_equal(hex, sum);
	image_lines_free(l);
	check_table("pc");
	at[0] = function_at("p5", "main", &size);
	l = read_lines("p5", NULL, at, 1);
	assert_true(image_lines_frames(l, 0, &f) > 0);
	assert_null(f[0].file_md5);
	image_lines_free(l);
}

/* A line table may say of a file that it has a second MD5, of one byte: that is none. */
static void test_short_md5(void **state)
{
	(void)state;
	static const char text[] =
		".text; .globl f; .type f, @function; f: nop; nop; ret; .size f, 3\n"
		".section .debug_abbrev; A: .uleb128 1, 0x11; .byte 0\n"
		".uleb128 0x10, 0x17, 0x11, 0x01, 0x12, 0x0f, 0, 0, 0\n"
		".section .debug_info; .long 2f - 1f; 1: .short 5; .byte 1, 8; .long A\n"
		".uleb128 1; .long L; .quad f; .uleb128 3; 2:\n"
		".section .debug_line; L: .long 4f - 1f; 1: .short 5; .byte 8, 0; .long 3f - 2f\n"
		"2: .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1\n"
		".byte 1; .uleb128 1, 8; .uleb128 1; .asciz \"/d\"\n"
		".byte 4; .uleb128 1, 8, 2, 0x0f, 5, 0x1e, 5, 0x0b; .uleb128 2; .rept 2\n"
		".asciz \"a.c\"; .uleb128 0; .ascii \"0123456789abcdef\"; .byte 0xff; .endr; 3:\n"
		".byte 0, 9, 2; .quad f; .byte 1, 2; .uleb128 3; .byte 0, 1, 1; 4:\n";
	uint64_t size, at[1];
	const struct image_frame *frames;
	assert_int_equal(workshop_write("m.s", text), 0);
	assert_int_equal(workshop_run("gcc -shared -nostdlib -o m m.s"), 0);
	at[0] = function_at("m", "f", &size);
	struct image_lines *l = read_lines("m", NULL, at, 1);
	assert_int_equal(image_lines_frames(l, 0, &frames), 1);
	assert_string_equal(frames->file, "/d/a.c");
	assert_non_null(frames->file_md5);
	assert_memory_equal(frames->file_md5, "0123456789abcdef", IMAGE_LINES_MD5_BYTES);
	image_lines_free(l);
}

static void test_hostile(void **state)
{
	(void)state;
	uint64_t addresses[64], at = division_at("p5", "outer"), seed = 7;
	size_t size;
	char *elf = workshop_read("p5", &size);
	assert_non_null(elf);
	for (size_t i = 0; i < 64; i++)
		addresses[i] = at - 32 + i;
	for (int round = 0; round < 1500; round++) {
		char *copy = malloc(size);
		struct image_lines *l;
		uint8_t *code;
		size_t got;
		memcpy(copy, elf, size);
		for (int k = 0; k < 12; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			copy[(seed >> 33) % size] = (char)(seed >> 20);
		}
		int fd = workshop_memory(copy, round % 4 ? size : (seed >> 35) % size);
		if (image_lines_read(fd, -1, addresses, 64, &l, NULL) == 0)
			image_lines_free(l);
		if (image_code_read(fd, at, 1 << 20, &code, &got, NULL) == 0)
			free(code);
		close(fd);
		free(copy);
	}
	free(elf);
}

static void test_code(void **state)
{
	(void)state;
	uint8_t *code;
	size_t got;
	struct diag diag;
	int fd = workshop_open("p5");
	assert_int_equal(image_code_read(fd, 1, 8, &code, &got, &diag), -ERANGE);
	assert_int_equal(image_code_read(fd, UINT64_MAX, 8, &code, &got, &diag), -ERANGE);
	/* As much as there is: to the end of the segment. */
	assert_int_equal(
		image_code_read(fd, division_at("p5", "outer"), SIZE_MAX, &code, &got, &diag), 0);
	assert_true(got > 16 && got < 1 << 20);
	assert_int_equal(code[0], 0xf7);
	free(code);
	close(fd);
	fd = workshop_open("p.c");
	assert_int_equal(image_code_read(fd, 1, 8, &code, &got, &diag), -EBADMSG);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlines),
		cmocka_unit_test(test_no_aranges),
		cmocka_unit_test(test_separate),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_save_load),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_md5),
		cmocka_unit_test(test_tables_overlap),
		cmocka_unit_test(test_table_of_many_frames),
		cmocka_unit_test(test_broken_table),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_short_md5),
		cmocka_unit_test(test_hostile),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
