/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names and lines that an imported profile tells of an image whose file is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "image/facts.h"
#include "find/find.h"
#include "image/lines_new.h"
#include "workshop.h"

static const char machine[] = "0123456789abcdef0123456789abcdef";
static char db[256], path[256];

static int set_up(void **state)
{
	int r = workshop_setup(state);

	snprintf(db, sizeof(db), "%s/db", workshop_dir);
	snprintf(path, sizeof(path), "%s/p", workshop_dir);
	return r ? r : workshop_run("mkdir -p db/0123456789abcdef0123456789abcdef");
}

static struct image_finder *finder(void)
{
	struct image_finder *f;

	assert_int_equal(image_finder_new(db, machine, &f), 0);
	return f;
}

/* That each address is of a function in a file, at the line of its own number. */
static void tell(const struct image_id *id, const uint64_t *addresses, size_t count,
		 const char *function)
{
	struct image_symbol symbols[8];
	struct image_lines *lines;
	struct image_finder *f = finder();

	assert_int_equal(image_lines_new(count, &lines), 0);
	for (size_t i = 0; i < count; i++) {
		struct lines_frame frame = {.function = image_lines_string(lines, function),
					    .file = image_lines_string(lines, "x.c"),
					    .line = (uint32_t)addresses[i]};

		symbols[i] = (struct image_symbol){addresses[i], 1, function};
		assert_int_equal(image_lines_set(lines, i, &frame, 1), 0);
	}
	assert_int_equal(image_lines_finish(lines), 0);
	assert_int_equal(image_finder_tell_symbols(f, id, symbols, count, NULL), 0);
	assert_int_equal(image_finder_tell_lines(f, id, addresses, count, lines, NULL), 0);
	image_finder_free(f);
}

static const char *name_at(const struct image_symbols *s, uint64_t address)
{
	const struct image_function *fn = image_symbols_find(s, address);

	return fn ? fn->name : "";
}

static void test_told(void **state)
{
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 4, .bytes = {1, 2, 3, 4}};
	const uint64_t all[] = {0x80, 0x100, 0x104, 0x108, 0x110, 0x200};
	const uint32_t known[] = {0, 0x100, 0x104, 0x108, 0x110, 0x200};
	const struct image_frame *frames;
	const struct image_symbols *s;
	struct image_lines *l;
	struct image_finder *f;

	(void)state;
	tell(&id, (uint64_t[]){0x100, 0x108}, 2, "one");
	tell(&id, (uint64_t[]){0x200}, 1, "two");
	tell(&id, (uint64_t[]){0x104, 0x108, 0x110}, 3, "one");
	f = finder();
	assert_int_equal(image_find_symbols(f, &id, "/none/p", &s, NULL), 0);
	assert_int_equal(image_symbols_count(s), 2);
	assert_string_equal(name_at(s, 0x106), "one");
	assert_string_equal(name_at(s, 0x110), "one");
	assert_string_equal(name_at(s, 0x111), "");
	assert_string_equal(name_at(s, 0x200), "two");
	assert_int_equal(image_find_lines(f, &id, "/none/p", all, 6, &l, NULL), 0);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(image_lines_frames(l, i, &frames), known[i] != 0);
		if (known[i])
			assert_int_equal(frames[0].line, known[i]);
	}
	image_lines_free(l);
	image_finder_free(f);
}

/* A profile may say anything of the last of all addresses: that spoils nothing else. */
static void test_last_address(void **state)
{
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 4, .bytes = {9, 9, 9, 9}};
	const uint64_t all[] = {0x100, UINT64_MAX - 1, UINT64_MAX}, last = UINT64_MAX;
	const struct image_frame *frames;
	const struct image_symbols *s;
	struct image_lines *l;
	struct image_finder *f;

	(void)state;
	tell(&id, &last, 1, "last");
	tell(&id, all, 3, "one");
	f = finder();
	assert_int_equal(image_find_symbols(f, &id, "/none/p", &s, NULL), 0);
	assert_string_equal(name_at(s, 0x100), "one");
	assert_int_equal(image_find_lines(f, &id, "/none/p", all, 3, &l, NULL), 0);
	assert_int_equal(image_lines_frames(l, 0, &frames), 1);
	assert_int_equal(frames[0].line, 0x100);
	assert_int_equal(image_lines_frames(l, 1, &frames), 1);
	assert_int_equal(image_lines_frames(l, 2, &frames), 0);
	assert_int_equal(image_finder_counts(f).damaged, 0);
	image_lines_free(l);
	image_finder_free(f);
}

/* A blob that is damaged costs what was told, nothing else. */
static void test_damaged(void **state)
{
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 4, .bytes = {5, 6, 7, 8}};
	uint64_t at = 0x100;
	struct image_lines *l;
	struct image_finder *f;

	(void)state;
	tell(&id, &at, 1, "one");
	assert_int_equal(workshop_run("cd db/*/images && printf x | dd of=05060708.told bs=1 "
				      "seek=40 conv=notrunc"),
			 0);
	f = finder();
	assert_int_equal(image_find_lines(f, &id, "/none/p", &at, 1, &l, NULL), -ENOENT);
	assert_true(image_finder_counts(f).damaged > 0);
	image_finder_free(f);
	tell(&id, &at, 1, "one");
	f = finder();
	assert_int_equal(image_find_lines(f, &id, "/none/p", &at, 1, &l, NULL), 0);
	image_lines_free(l);
	image_finder_free(f);
}

/* The file tells better when it is there, and what was told never hides that. */
static void test_file(void **state)
{
	struct image_facts facts;
	const struct image_symbols *s;
	struct image_finder *f;
	uint64_t at = 1;
	int fd;

	(void)state;
	assert_int_equal(workshop_write("p.c", "int main(void) { return 0; }\n"), 0);
	assert_int_equal(workshop_run("gcc -O1 -Wl,--build-id p.c -o p && mv p away"), 0);
	fd = workshop_open("away");
	assert_int_equal(image_facts_read(fd, &facts, NULL), 0);
	close(fd);
	tell(&facts.id, &at, 1, "told");
	f = finder();
	assert_int_equal(image_find_symbols(f, &facts.id, path, &s, NULL), 0);
	assert_string_equal(name_at(s, 1), "told");
	image_finder_free(f);
	assert_int_equal(workshop_run("mv away p"), 0);
	for (int i = 0; i < 2; i++) { /* from the file, then kept */
		f = finder();
		assert_int_equal(image_find_symbols(f, &facts.id, path, &s, NULL), 0);
		assert_string_equal(name_at(s, 1), "");
		assert_true(image_symbols_count(s) > 1);
		image_finder_free(f);
		tell(&facts.id, &at, 1, "told");
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_last_address),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_file),
	};

	image_worker_dispatch(argc, argv);
	return cmocka_run_group_tests(tests, set_up, workshop_teardown);
}
