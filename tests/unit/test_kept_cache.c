/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is kept of a file in one database comes into the next as it was, while the file is what it
 * was; and never from a database into the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include "collect/keep/kept_cache.h"
#include "image/facts.h"
#include "image/kernel/kernel.h"
#include "image/elf/notes.h"
#include "util/io.h"
#include "workshop.h"

static const char machine[] = "0123456789abcdef0123456789abcdef";
static const char program[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3 + (x >> 1); }\n"
	"int main(int argc, char **argv) { (void)argv; return inner(argc); }\n"
	"int third(int x) { return x * 5; }\n"
	"int fourth(int x) { return x * 7; }\n";
#define FUNCTIONS 6

static char path[256], cache[256];
static struct image_id id;

static void await_settled(const char *name)
{
	struct stat st;
	assert_int_equal(stat(name, &st), 0);
	while (time(NULL) - st.st_ctim.tv_sec < 2)
		usleep(50000);
}

static void sh(const char *command)
{
	assert_int_equal(workshop_run(command), 0);
}

static void identify(void)
{
	struct image_facts facts;
	int fd = workshop_open("p");
	assert_true(fd >= 0);
	assert_int_equal(image_facts_read(fd, &facts, NULL), 0);
	close(fd);
	id = facts.id;
}

static uint64_t address_of(const struct image_symbols *all, const char *name)
{
	for (size_t i = 0; i < image_symbols_count(all); i++)
		if (!strcmp(image_symbols_at(all, i)->name, name))
			return image_symbols_at(all, i)->start;
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(workshop_write("p.c", program), 0);
	sh("rm -rf cache debug a b c d e f; gcc -O1 -g p.c -o p; mkdir -p debug");
	snprintf(path, sizeof(path), "%s/p", workshop_dir);
	snprintf(cache, sizeof(cache), "%s/cache", workshop_dir);
	await_settled(path);
	identify();
	return 0;
}

static unsigned open_files(void)
{
	DIR *list = opendir("/proc/self/fd");
	unsigned count = 0;
	assert_non_null(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

/* A recording into a database; whether its functions would add something. */
static bool record(const char *name, bool cached, struct kept_cache_counters *ret)
{
	const unsigned open_before = open_files();
	struct kept_cache *c = cached ? kept_cache_new(cache) : NULL;
	struct image_finder *f;
	char db[300], root[300], line[300];
	snprintf(line, sizeof(line), "mkdir -p %s/%s", name, machine);
	sh(line);
	snprintf(db, sizeof(db), "%s/%s", workshop_dir, name);
	snprintf(root, sizeof(root), "%s/debug", workshop_dir);
	assert_true(!cached || c);
	assert_int_equal(image_finder_new(db, machine, &f), 0);
	assert_int_equal(image_finder_set_debug_root(f, root), 0);
	assert_int_equal(kept_cache_keep(c, f, &id, path), 0);
	/* A second time it is known. */
	assert_int_equal(kept_cache_keep(c, f, &id, path), 0);
	bool wants = image_finder_wants_functions(f, &id, path);
	kept_cache_count(c, ret);
	image_finder_free(f);
	kept_cache_free(c);
	assert_int_equal(open_files(), open_before);
	return wants;
}

static void the_next_database_has_the_same(void **state)
{
	struct kept_cache_counters n;
	(void)state;
	assert_true(record("a", true, &n));
	assert_true(n.written == 1 && n.read == 0);
	assert_true(record("b", true, &n));
	assert_true(n.written == 0 && n.read == 1);
	sh("ls b/*/images/*.symbols b/*/images/*.code && diff -r a b");
	/* Not over what is there: functions may have come to it. */
	sh("for x in b/*/images/*.code; do echo more >$x; done");
	record("b", true, &n);
	assert_int_equal(n.read, 0);
}

static void a_file_that_changed_is_read_anew(void **state)
{
	struct kept_cache_counters n;
	(void)state;
	record("a", true, &n);
	assert_int_equal(n.written, 1);
	sh("touch p");
	record("b", true, &n);
	assert_int_equal(n.read, 0);
	/* Only when it cannot change unseen any more, which took longer than this or not. */
	uint64_t written = n.written;
	await_settled(path);
	record("c", true, &n);
	assert_true(n.read == written && n.written == 1 - written);
}

static void a_debug_file_that_came_is_read(void **state)
{
	struct kept_cache_counters n;
	char text[IMAGE_ID_TEXT_MAX], line[1200], debug[400];
	(void)state;
	sh("objcopy --only-keep-debug p p.debug; strip p");
	await_settled(path);
	assert_false(record("a", true, &n));
	assert_int_equal(n.written, 1);
	image_id_format(&id, text);
	/* By build-id: the digits behind the kind. */
	const char *digits = strrchr(text, '-') ? strrchr(text, '-') + 1 : text;
	snprintf(line, sizeof(line),
		 "mkdir -p debug/.build-id/%.2s; mv p.debug debug/.build-id/%.2s/%s.debug", digits,
		 digits, digits + 2);
	sh(line);
	snprintf(debug, sizeof(debug), "%s/debug/.build-id/%.2s/%s.debug", workshop_dir, digits,
		 digits + 2);
	await_settled(debug);
	assert_true(record("b", true, &n));
	assert_true(n.read == 0 && n.written == 1);
	assert_true(record("c", true, &n));
	assert_int_equal(n.read, 1);
}

static void damage_is_none(void **state)
{
	struct kept_cache_counters n;
	(void)state;
	record("a", true, &n);
	sh("for x in cache/*; do printf X | dd of=$x bs=1 seek=$(($(stat -c %s $x) - 9)) "
	   "conv=notrunc 2>/dev/null; done");
	assert_true(record("b", true, &n));
	assert_true(n.damaged == 1 && n.read == 0 && n.written == 1);
	sh("diff -r a b");
	sh("for x in cache/*; do truncate -s 100 $x; done");
	record("c", true, &n);
	assert_true(n.damaged == 1 && n.read == 0 && n.written == 1);
}

/* Its owner may be another, who could have put anything there. */
static void nothing_comes_from_a_database(void **state)
{
	struct kept_cache_counters n;
	(void)state;
	record("a", false, &n);
	record("a", true, &n);
	assert_true(n.written == 0 && n.read == 0);
	sh("rm a/*/images/*.code");
	record("a", true, &n);
	assert_true(n.written == 0 && n.read == 0);
	sh("rm a/*/images/*.symbols");
	record("a", true, &n);
	assert_true(n.written == 0 && n.read == 0);
}

static void nothing_comes_from_another_machine(void **state)
{
	struct kept_cache_counters n;
	(void)state;
	record("a", false, &n);
	sh("mv a/* a.other && mv a.other a/other && rm a/other/images/*.code");
	record("a", true, &n);
	assert_true(n.written == 0 && n.read == 0);
}

static void the_kernel_is_asked_once_a_boot(void **state)
{
	struct kept_cache_counters n;
	struct image_symbols *all;
	char *notes;
	size_t size;
	(void)state;
	if (io_read_file("/sys/kernel/notes", 65536, &notes, &size))
		skip();
	int r = image_notes_build_id(notes, size, 4, &id);
	free(notes);
	id.kind = IMAGE_KERNEL;
	if (r || image_kernel_core_symbols("", &id, &all, NULL))
		skip(); /* nothing tells, or not to everybody */
	image_symbols_free(all);
	record("a", true, &n);
	assert_true(n.written == 1 && n.read == 0);
	record("b", true, &n);
	assert_true(n.written == 0 && n.read == 1);
	sh("ls b/*/images/*.symbols && diff -r a b");
}

/* Of which only the name is known, for the moment. */
static void a_bpf_program_that_is_gone_is_not_handed_on(void **state)
{
	struct kept_cache_counters n;
	(void)state;
	id = (struct image_id){.kind = IMAGE_BPF, .size = 16, .bytes = "no program's id"};
	record("a", true, &n);
	assert_true(n.written == 0);
}

/* A recording into a database with samples of functions: main (1), inner (2), third (4), fourth
 * (8), long_one (16), long_two (32); then the lines that a report has of them when there is no
 * file, 0 where it knows none. */
static void record_functions(const char *name, unsigned functions, struct kept_cache_counters *ret,
			     int ret_lines[FUNCTIONS])
{
	static const char *const names[FUNCTIONS] = {"main",   "inner",	   "third",
						     "fourth", "long_one", "long_two"};
	struct kept_cache *c = kept_cache_new(cache);
	struct image_symbols *all;
	struct image_finder *f;
	struct image_lines *lines;
	const struct image_frame *frames;
	uint64_t wanted[FUNCTIONS], at[FUNCTIONS];
	char db[300], line[300];
	size_t count = 0;
	snprintf(line, sizeof(line), "mkdir -p %s/%s", name, machine);
	sh(line);
	snprintf(db, sizeof(db), "%s/%s", workshop_dir, name);
	int fd = workshop_open("p");
	assert_int_equal(image_symbols_read(fd, -1, 1 << 20, &all, NULL), 0);
	close(fd);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		at[i] = address_of(all, names[i]);
		if (functions & 1u << i)
			wanted[count++] = at[i];
	}
	image_symbols_free(all);
	assert_int_equal(image_finder_new(db, machine, &f), 0);
	assert_int_equal(kept_cache_keep(c, f, &id, path), 0);
	assert_int_equal(kept_cache_keep_functions(c, f, &id, path, wanted, count), 0);
	kept_cache_count(c, ret);
	image_finder_free(f);
	kept_cache_free(c);
	assert_int_equal(image_finder_new(db, machine, &f), 0);
	assert_int_equal(image_find_lines(f, &id, "/none", at, FUNCTIONS, &lines, NULL), 0);
	for (size_t i = 0; i < FUNCTIONS; i++)
		ret_lines[i] = image_lines_frames(lines, i, &frames) ? (int)frames[0].line : 0;
	image_lines_free(lines);
	image_finder_free(f);
}

static void lines_are_read_once(void **state)
{
	struct kept_cache_counters n;
	int lines[FUNCTIONS];
	(void)state;
	record_functions("a", 1, &n, lines);
	assert_true(n.written == 2 && n.read == 0);
	assert_true(lines[0] == 2 && lines[1] == 0);
	record_functions("b", 1, &n, lines);
	assert_true(n.written == 0 && n.read == 2);
	assert_int_equal(lines[0], 2);
	sh("cmp a/*/images/*.lines b/*/images/*.lines");
	/* What is new joins it. */
	record_functions("c", 2, &n, lines);
	assert_true(n.written == 1 && n.read == 2);
	assert_true(lines[0] == 2 && lines[1] == 1);
	record_functions("d", 3, &n, lines);
	assert_true(n.written == 0 && n.read == 2);
	assert_true(lines[0] == 2 && lines[1] == 1);
	/* To what a database has it is added. */
	record_functions("a", 3, &n, lines);
	assert_true(lines[0] == 2 && lines[1] == 1);
}

/* To open a file for the lines of a function takes as long as those of many. */
static void who_read_lines_often_takes_all(void **state)
{
	struct kept_cache_counters n;
	int lines[FUNCTIONS];
	(void)state;
	record_functions("a", 1, &n, lines);
	record_functions("b", 2, &n, lines);
	assert_true(n.written == 1 && lines[2] == 0);
	record_functions("c", 4, &n, lines);
	assert_true(n.written == 1 && lines[2] == 3 && lines[3] == 4);
	record_functions("d", 8, &n, lines);
	assert_true(n.written == 0 && n.read == 2 && lines[3] == 4);
}

static void check_only_wanted(void)
{
	struct kept_cache_counters n;
	int lines[FUNCTIONS];
	await_settled(path);
	identify();
	record_functions("a", 1, &n, lines);
	record_functions("b", 2, &n, lines);
	record_functions("c", 4, &n, lines);
	assert_true(lines[2] == 3 && lines[3] == 0);
}

/* What others may execute but not read is disclosed as far as it was sampled. */
static void of_a_closed_file_no_lines_are_taken_beyond(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	sh("chown 64124 p; chmod 711 p");
	check_only_wanted();
}

static void of_too_many_functions_not_all_lines_are_taken(void **state)
{
	(void)state;
	sh("awk 'BEGIN { for (i = 0; i < 5000; i++) print \"int f\" i \"(int x) { return x + \" i "
	   "\"; }\" }' >>p.c; "
	   "gcc -O1 -g p.c -o p");
	check_only_wanted();
}

/* Two functions of which each has half of the lines that one answer has room for, and some. */
static void add_long_functions(void)
{
	sh("awk 'BEGIN {\n"
	   "  for (f = 1; f <= 2; f++) {\n"
	   "    name = f == 1 ? \"long_one\" : \"long_two\"\n"
	   "    print \".globl \" name \"\\n.type \" name \", @function\\n\" name \":\"\n"
	   "    for (i = 0; i < 1100000; i++) print \"nop\"\n"
	   "    print \"ret\\n.size \" name \", . - \" name\n"
	   "  }\n"
	   "}' >long.s && gcc -g -c long.s && gcc -O1 -g p.c long.o -o p && rm long.*");
	await_settled(path);
	identify();
}

static void lines_that_are_too_many_leave_others_theirs(void **state)
{
	struct kept_cache_counters n;
	int lines[FUNCTIONS];
	(void)state;
	add_long_functions();
	/* The third reading takes all, if they are not too many. */
	record_functions("a", 1, &n, lines);
	record_functions("b", 2, &n, lines);
	record_functions("c", 4, &n, lines);
	assert_true(lines[2] == 3 && lines[3] == 0);
	/* What has no room beside what is known takes its place. */
	record_functions("d", 16, &n, lines);
	assert_true(lines[4] == 4 && lines[5] == 0 && n.written == 1);
	record_functions("e", 32, &n, lines);
	assert_true(lines[4] == 0 && lines[5] > 1100000 && n.written == 1);
	record_functions("f", 32, &n, lines);
	assert_true(lines[5] > 1100000 && n.written == 0);
}

static void lines_that_there_are_none_of_are_asked_for_once(void **state)
{
	struct kept_cache_counters n;
	int lines[FUNCTIONS];
	(void)state;
	/* Only main comes with debug information. */
	assert_int_equal(workshop_write("q.c", "int inner(int x) { return x * 3 + (x >> 1); }\n"),
			 0);
	assert_int_equal(workshop_write("m.c", "int inner(int x);\nint main(int c, char **v)\n"
					       "{ (void)v; return inner(c); }\n"),
			 0);
	sh("gcc -O1 -c q.c && gcc -O1 -g -c m.c && gcc m.o q.o -o p");
	await_settled(path);
	identify();
	record_functions("a", 3, &n, lines);
	assert_true(n.written == 2 && lines[0] == 3 && lines[1] == 0);
	record_functions("b", 2, &n, lines);
	assert_true(n.written == 0 && n.read == 2 && lines[1] == 0);
}

static void damaged_lines_are_read_anew(void **state)
{
	struct kept_cache_counters n;
	int lines[FUNCTIONS];
	(void)state;
	record_functions("a", 3, &n, lines);
	sh("for x in cache/*-lines; do printf X | dd of=$x bs=1 seek=$(($(stat -c %s $x) - 9)) "
	   "conv=notrunc 2>/dev/null; done");
	record_functions("b", 3, &n, lines);
	assert_true(n.damaged == 1 && n.read == 1 && n.written == 1);
	assert_true(lines[0] == 2 && lines[1] == 1);
	sh("for x in cache/*-lines; do truncate -s 300 $x; done");
	record_functions("c", 3, &n, lines);
	assert_true(n.damaged == 1 && lines[1] == 1);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_next_database_has_the_same, set_up),
		cmocka_unit_test_setup(a_file_that_changed_is_read_anew, set_up),
		cmocka_unit_test_setup(a_debug_file_that_came_is_read, set_up),
		cmocka_unit_test_setup(damage_is_none, set_up),
		cmocka_unit_test_setup(nothing_comes_from_a_database, set_up),
		cmocka_unit_test_setup(nothing_comes_from_another_machine, set_up),
		cmocka_unit_test_setup(the_kernel_is_asked_once_a_boot, set_up),
		cmocka_unit_test_setup(a_bpf_program_that_is_gone_is_not_handed_on, set_up),
		cmocka_unit_test_setup(lines_are_read_once, set_up),
		cmocka_unit_test_setup(who_read_lines_often_takes_all, set_up),
		cmocka_unit_test_setup(of_a_closed_file_no_lines_are_taken_beyond, set_up),
		cmocka_unit_test_setup(of_too_many_functions_not_all_lines_are_taken, set_up),
		cmocka_unit_test_setup(lines_that_are_too_many_leave_others_theirs, set_up),
		cmocka_unit_test_setup(lines_that_there_are_none_of_are_asked_for_once, set_up),
		cmocka_unit_test_setup(damaged_lines_are_read_anew, set_up),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
