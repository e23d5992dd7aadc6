/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is kept of a file in one database comes into the next as it was, while the file is what it
 * was; and never from a database into the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <time.h>
#include "collect/kept_cache.h"
#include "image/facts.h"
#include "workshop.h"

static const char machine[] = "0123456789abcdef0123456789abcdef";
static const char program[] =
	"static __attribute__((noinline)) int inner(int x) { return x * 3 + (x >> 1); }\n"
	"int main(int argc, char **argv) { (void)argv; return inner(argc); }\n";

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

static int set_up(void **state)
{
	struct image_facts facts;
	(void)state;
	assert_int_equal(workshop_write("p.c", program), 0);
	sh("rm -rf cache debug a b c; gcc -O1 -g p.c -o p; mkdir -p debug");
	snprintf(path, sizeof(path), "%s/p", workshop_dir);
	snprintf(cache, sizeof(cache), "%s/cache", workshop_dir);
	await_settled(path);
	await_settled("/proc/self/exe"); /* it may just have been built */
	int fd = workshop_open("p");
	assert_true(fd >= 0);
	assert_int_equal(image_facts_read(fd, &facts, NULL), 0);
	close(fd);
	id = facts.id;
	return 0;
}

/* A recording into a database; whether its functions would add something. */
static bool record(const char *name, bool cached, struct kept_cache_counters *ret)
{
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
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
