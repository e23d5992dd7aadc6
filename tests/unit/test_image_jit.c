/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Symbols of code made at run time: perf maps and jitdump files, good, growing and hostile. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "elf_file.h"
#include "image/jit/jit.h"
#include "image/worker/worker.h"
#include "util/buf.h"

typedef int read_function(int fd, size_t max, struct image_symbols **ret, struct diag *diag);

static struct image_symbols *read_symbols(read_function *f, const void *data, size_t size,
					  size_t max)
{
	struct image_symbols *s = NULL;
	struct diag diag = {0};
	int fd = file_with(data, size), r = f(fd, max, &s, &diag);

	close(fd);
	if (r)
		fail_msg("%d: %s", r, diag.text);
	return s;
}

static void assert_refused(read_function *f, const void *data, size_t size, const char *reason)
{
	struct image_symbols *s = (void *)1;
	struct diag diag = {0};
	int fd = file_with(data, size);

	assert_int_equal(f(fd, 1 << 20, &s, &diag), -EBADMSG);
	assert_ptr_equal(s, (void *)1);
	close(fd);
	if (!strstr(diag.text, reason))
		fail_msg("'%s' does not say '%s'", diag.text, reason);
}

static void assert_name(const struct image_symbols *s, uint64_t address, const char *name)
{
	const struct image_function *f = image_symbols_find(s, address);

	if (!name)
		assert_null(f);
	else if (!f)
		fail_msg("nothing at %#lx, not %s", (unsigned long)address, name);
	else
		assert_string_equal(f->name, name);
}

static void test_map(void **state)
{
	(void)state;
	static const char text[] = "7f0000001000 40 LazyCompile:~add /srv/app.js:1:13\n"
				   "0x7f0000002000 0x80 RegExp:a b  c\r\n"
				   "7F0000003000 10 with\ttab\n"
				   "7f0000004000 10 not finis";
	struct image_symbols *s =
		read_symbols(image_perf_map_read, text, sizeof(text) - 1, 1 << 20);

	assert_int_equal(image_symbols_count(s), 3);
	assert_name(s, 0x7f000000103f, "LazyCompile:~add /srv/app.js:1:13");
	assert_name(s, 0x7f0000001040, NULL);
	assert_name(s, 0x7f0000002000, "RegExp:a b  c");
	assert_name(s, 0x7f0000003008, "with\ttab");
	assert_string_equal(image_symbols_source(s), "perf map");
	image_symbols_free(s);
}

static void test_map_hostile(void **state)
{
	(void)state;
	static const char text[] = "\n"
				   " \n"
				   "1000\n"
				   "1000 10\n"
				   "1000 10 \n"
				   "zz 10 name\n"
				   "10000000000000000 10 seventeen\n"
				   "ffffffffffffff00 1000 wraps\n"
				   "-1000 10 negative\n"
				   "2000 10 good\n";
	struct image_symbols *s =
		read_symbols(image_perf_map_read, text, sizeof(text) - 1, 1 << 20);

	assert_int_equal(image_symbols_count(s), 1);
	assert_name(s, 0x2001, "good");
	image_symbols_free(s);
	assert_refused(image_perf_map_read, "\177ELF\nnothing\n", 13, "not a perf map");
	s = read_symbols(image_perf_map_read, "", 0, 1 << 20);
	assert_int_equal(image_symbols_count(s), 0);
	image_symbols_free(s);
}

/* A name over many pieces is cut; the lines around it are whole. */
static void test_map_long_name(void **state)
{
	(void)state;
	enum { LONG = 300000 };
	char *text = malloc(LONG + 200);
	size_t size = (size_t)sprintf(text, "1000 10 before\n2000 10 ");

	memset(text + size, 'n', LONG);
	size += LONG;
	size += (size_t)sprintf(text + size, "\n3000 10 after\n");
	struct image_symbols *s = read_symbols(image_perf_map_read, text, size, 1 << 20);
	assert_int_equal(image_symbols_count(s), 3);
	assert_name(s, 0x1000, "before");
	assert_name(s, 0x3000, "after");
	assert_int_equal(strlen(image_symbols_find(s, 0x2000)->name), 4096);
	image_symbols_free(s);
	s = read_symbols(image_perf_map_read, text, size, 40); /* in the middle of the name */
	assert_int_equal(image_symbols_count(s), 1);
	assert_string_equal(image_symbols_source(s), "perf map (cut at the limit)");
	image_symbols_free(s);
	free(text);
}

/* Code is made where other code was: the later one is right, whatever the order of addresses. */
static void test_later_wins(void **state)
{
	(void)state;
	static const char text[] = "1000 100 old_same\n"
				   "2080 20 old_inside\n"
				   "2180 100 old_tail\n"
				   "4000 100 old_head\n"
				   "6000 1000 young_outer_first\n"
				   "1000 100 new_same\n"
				   "2000 200 new_over\n"
				   "4080 100 new_over_tail\n"
				   "6100 10 young_inside\n";
	struct image_symbols *s =
		read_symbols(image_perf_map_read, text, sizeof(text) - 1, 1 << 20);

	assert_name(s, 0x1050, "new_same");
	assert_name(s, 0x2090, "new_over");
	assert_name(s, 0x2190, "new_over");
	assert_name(s, 0x2210, NULL);
	assert_name(s, 0x4000, "old_head");
	assert_name(s, 0x4080, "new_over_tail");
	assert_name(s, 0x6105, "young_inside");
	assert_name(s, 0x6000, "young_outer_first");
	image_symbols_free(s);
}

/* Against the rule said plainly: a start inside anything younger is gone. */
static void test_later_wins_random(void **state)
{
	(void)state;
	enum { COUNT = 300 };
	uint32_t random = 1, starts[COUNT], sizes[COUNT];
	struct buf text;

	buf_init(&text, 1 << 20);
	for (int i = 0; i < COUNT; i++) {
		random = random * 1664525 + 1013904223;
		starts[i] = 0x1000 + (random >> 16) % 4000;
		sizes[i] = 1 + (random >> 8) % 60;
		buf_printf(&text, "%x %x f%d\n", starts[i], sizes[i], i);
	}
	struct image_symbols *s = read_symbols(image_perf_map_read, text.data, text.size, 1 << 20);
	for (int i = 0; i < COUNT; i++) {
		bool gone = false;
		char name[16];
		for (int j = i + 1; j < COUNT; j++)
			gone |= starts[i] >= starts[j] && starts[i] - starts[j] < sizes[j];
		snprintf(name, sizeof(name), "f%d", i);
		const struct image_function *f = image_symbols_find(s, starts[i]);
		assert_int_equal(f && !strcmp(f->name, name), !gone);
	}
	image_symbols_free(s);
	buf_free(&text);
}

static void dump_begin(struct buf *b, uint32_t magic, uint32_t version)
{
	buf_init(b, 1 << 20);
	const uint32_t head[] = {magic, version, 40, EM_X86_64, 0, 4242, 1, 0, 0, 0};
	buf_append(b, head, sizeof(head));
}

static void dump_load(struct buf *b, uint64_t address, uint64_t size, const char *name)
{
	static const uint8_t code[64] = {0xc3};
	uint32_t name_size = (uint32_t)strlen(name) + 1;

	buf_append_u32(b, 0);
	buf_append_u32(b, 16 + 40 + name_size + sizeof(code));
	buf_append_u64(b, 1);
	buf_append_u64(b, 4242 | 4243ull << 32);
	buf_append_u64(b, address);
	buf_append_u64(b, address);
	buf_append_u64(b, size);
	buf_append_u64(b, 1);
	buf_append(b, name, name_size);
	buf_append(b, code, sizeof(code));
}

static void dump_other(struct buf *b, uint32_t id, const void *body, uint32_t size)
{
	buf_append_u32(b, id);
	buf_append_u32(b, 16 + size);
	buf_append_u64(b, 1);
	buf_append(b, body, size);
}

static void dump_move(struct buf *b, uint64_t from, uint64_t to, uint64_t size)
{
	const uint64_t body[] = {4242, to, from, to, size, 1};
	dump_other(b, 1, body, sizeof(body));
}

#define MAGIC 0x4A695444u

/* A dump with a record of each kind. */
static struct buf dump_whole(void)
{
	static const uint8_t debug[100];
	struct buf b;

	dump_begin(&b, MAGIC, 1);
	dump_other(&b, 2, debug, sizeof(debug));
	dump_load(&b, 0x1000, 0x40, "Interpreter");
	dump_other(&b, 4, debug, 40);
	dump_load(&b, 0x2000, 0x40, "Ljava/lang/String;hashCode()I");
	dump_move(&b, 0x2000, 0x3000, 0x40);
	dump_move(&b, 0x9000, 0xa000, 0x40); /* of code that was never loaded */
	dump_load(&b, 0x1000, 0x80, "later");
	dump_other(&b, 77, debug, 8);
	dump_other(&b, 3, debug, 0);
	dump_load(&b, 0x5000, 0x40, "after the end");
	return b;
}

static void test_dump(void **state)
{
	(void)state;
	struct buf b = dump_whole();
	struct image_symbols *s = read_symbols(image_jitdump_read, b.data, b.size, 1 << 20);

	assert_int_equal(image_symbols_count(s), 3);
	assert_name(s, 0x107f, "later");
	assert_name(s, 0x2000, "Ljava/lang/String;hashCode()I");
	assert_name(s, 0x303f, "Ljava/lang/String;hashCode()I");
	assert_name(s, 0x3040, NULL);
	assert_name(s, 0xa000, NULL);
	assert_string_equal(image_symbols_source(s), "jitdump");
	image_symbols_free(s);
	buf_free(&b);
}

static void test_dump_refused(void **state)
{
	(void)state;
	struct buf b;

	dump_begin(&b, 0x4454694Au, 1);
	assert_refused(image_jitdump_read, b.data, b.size, "byte order");
	buf_free(&b);
	dump_begin(&b, MAGIC, 2);
	assert_refused(image_jitdump_read, b.data, b.size, "version 2");
	assert_refused(image_jitdump_read, b.data, 39, "not a jitdump");
	assert_refused(image_jitdump_read, b.data, 2, "not a jitdump");
	assert_refused(image_jitdump_read, b.data, 0, "not a jitdump");
	buf_free(&b);
}

/* Cut anywhere, as while it is written: what is whole is there. Any byte wrong: no harm. */
static void test_dump_damage(void **state)
{
	(void)state;
	struct buf b = dump_whole();
	size_t last = 0;

	for (size_t size = 40; size < b.size; size++) {
		struct image_symbols *s = read_symbols(image_jitdump_read, b.data, size, 1 << 20);
		assert_in_range(image_symbols_count(s), last, 3);
		last = image_symbols_count(s);
		image_symbols_free(s);
	}
	assert_int_equal(last, 3);
	for (size_t i = 0; i < b.size * 8; i++) {
		struct image_symbols *s;
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		int fd = file_with(b.data, b.size);
		if (!image_jitdump_read(fd, 1 << 20, &s, NULL))
			image_symbols_free(s);
		close(fd);
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
}

/* Code that is longer than what is read of a record: not there until all of it is. */
static void test_dump_that_grows(void **state)
{
	(void)state;
	static uint8_t code[1 << 16];
	struct buf b;
	size_t head;

	dump_begin(&b, MAGIC, 1);
	dump_load(&b, 0x1000, 0x40, "whole");
	head = b.size;
	dump_load(&b, 0x2000, sizeof(code), "growing");
	b.size -= 64; /* its code, which is replaced */
	buf_append(&b, code, sizeof(code));
	memcpy(b.data + head + 4, &(uint32_t){(uint32_t)(b.size - head)}, 4);
	for (size_t cut = 0; cut < 2; cut++) {
		struct image_symbols *s =
			read_symbols(image_jitdump_read, b.data, b.size - cut, 1 << 20);
		assert_int_equal(image_symbols_count(s), 2 - cut);
		image_symbols_free(s);
	}
	buf_free(&b);
}

static void test_dump_limits(void **state)
{
	(void)state;
	struct buf b = dump_whole();
	struct image_symbols *s = read_symbols(image_jitdump_read, b.data, b.size, 250);

	assert_int_equal(image_symbols_count(s), 1);
	assert_string_equal(image_symbols_source(s), "jitdump (cut at the limit)");
	image_symbols_free(s);
	dump_other(&b, 0, "", 0); /* not reached: the dump was closed */
	s = read_symbols(image_jitdump_read, b.data, b.size, 1 << 20);
	assert_string_equal(image_symbols_source(s), "jitdump");
	image_symbols_free(s);
	buf_free(&b);
	dump_begin(&b, MAGIC, 1);
	dump_load(&b, 0x1000, 0x40, "good");
	dump_load(&b, 0x2000, UINT64_MAX, "wraps");
	dump_load(&b, 0x3000, 0x40, "");
	dump_load(&b, 0x4000, 0x40, "good too");
	s = read_symbols(image_jitdump_read, b.data, b.size, 1 << 20);
	assert_int_equal(image_symbols_count(s), 2);
	assert_string_equal(image_symbols_source(s), "jitdump (damaged)");
	image_symbols_free(s);
	buf_free(&b);
}

static void test_not_regular(void **state)
{
	(void)state;
	struct image_symbols *s;
	int pair[2];

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(image_perf_map_read(pair[0], 100, &s, NULL), -EBADMSG);
	assert_int_equal(image_jitdump_read(pair[0], 100, &s, NULL), -EBADMSG);
	close(pair[0]);
	close(pair[1]);
}

static void test_worker(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct buf b = dump_whole();
	struct image_symbols *s;
	struct diag diag = {0};
	int fd = file_with(b.data, b.size);

	assert_int_equal(image_worker_jit(w, fd, true, 1 << 20, &s, &diag), 0);
	assert_int_equal(image_symbols_count(s), 3);
	image_symbols_free(s);
	close(fd);
	fd = file_with("no perf map\n", 12);
	assert_int_equal(image_worker_jit(w, fd, false, 1 << 20, &s, &diag), -EBADMSG);
	assert_non_null(strstr(diag.text, "not a perf map"));
	assert_int_equal(image_worker_jit(w, fd, true, 1 << 20, &s, &diag), -EBADMSG);
	close(fd);
	fd = file_with("1000 10 name\n", 13);
	assert_int_equal(image_worker_jit(w, fd, false, 1 << 20, &s, &diag), 0);
	assert_name(s, 0x1000, "name");
	image_symbols_free(s);
	close(fd);
	assert_int_equal(image_worker_stats(w).starts, 1);
	buf_free(&b);
	image_worker_free(w);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_map_hostile),
		cmocka_unit_test(test_map_long_name),
		cmocka_unit_test(test_later_wins),
		cmocka_unit_test(test_later_wins_random),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_dump_refused),
		cmocka_unit_test(test_dump_damage),
		cmocka_unit_test(test_dump_that_grows),
		cmocka_unit_test(test_dump_limits),
		cmocka_unit_test(test_not_regular),
		cmocka_unit_test(test_worker),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
