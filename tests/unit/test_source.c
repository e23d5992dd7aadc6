/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Lines of source files, and the paths that debug information may name instead. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include "analyze/source.h"

static char dir[] = "/tmp/culprit-source.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int set_up(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	*state = sources_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	sources_free(*state);
	return rmdir(dir);
}

static void write_source(const char *path, const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void assert_none(struct sources *s, const char *path, uint32_t line, const char *why)
{
	struct diag diag = {0};

	assert_null(sources_line(s, path, line, &diag));
	assert_non_null(strstr(diag.text, why));
}

static void lines_are_those_of_the_file(void **state)
{
	static const char text[] = "first\n\n\tindented\r\nab\tc\nlast";
	const char *path = in_dir("lines.c");
	struct diag diag;

	write_source(path, text, sizeof(text) - 1);
	assert_string_equal(sources_line(*state, path, 1, &diag), "first");
	assert_string_equal(sources_line(*state, path, 2, &diag), "");
	assert_string_equal(sources_line(*state, path, 3, &diag), "        indented");
	assert_string_equal(sources_line(*state, path, 4, &diag), "ab      c");
	assert_string_equal(sources_line(*state, path, 5, &diag), "last");
	assert_string_equal(sources_problem(*state, path), "");
	assert_none(*state, path, 0, "has no line 0");
	assert_none(*state, path, 6, "has no line 6");
	assert_none(*state, path, UINT32_MAX, "has no line");
	/* It was read once, whole. */
	assert_int_equal(unlink(path), 0);
	assert_string_equal(sources_line(*state, path, 1, &diag), "first");
}

static void what_is_shown_of_a_line_has_an_end(void **state)
{
	const char *path = in_dir("long.c"), *line;
	char text[5000];
	struct diag diag;

	memset(text, '\t', sizeof(text) / 2);
	memset(text + sizeof(text) / 2, 'x', sizeof(text) / 2);
	text[sizeof(text) / 2 - 1] = '\n';
	write_source(path, text, sizeof(text));
	for (uint32_t i = 1; i <= 2; i++) {
		line = sources_line(*state, path, i, &diag);
		assert_non_null(line);
		assert_int_equal(strlen(line), 1024 + 3);
		assert_string_equal(line + 1024, "...");
	}
	assert_int_equal(unlink(path), 0);
}

static void an_empty_file_has_no_line(void **state)
{
	const char *path = in_dir("empty.c");

	write_source(path, "", 0);
	assert_none(*state, path, 1, "has no line 1");
	assert_int_equal(unlink(path), 0);
}

static void what_cannot_be_read_says_why(void **state)
{
	const char *path;

	assert_none(*state, "src/relative.c", 1, "its directory is not recorded");
	assert_none(*state, in_dir("nothing.c"), 1, "No such file");
	assert_string_not_equal(sources_problem(*state, in_dir("nothing.c")), "");
	path = in_dir("large.c");
	write_source(path, "", 0);
	assert_int_equal(truncate(path, SOURCE_MAX_BYTES + 1), 0);
	assert_none(*state, path, 1, "not a regular file of at most 16 MB");
	assert_int_equal(unlink(path), 0);
	/* Never asked for. */
	assert_string_equal(sources_problem(*state, "/nobody/asked.c"), "");
}

/* To open a device may do something: a watchdog would start. */
static void what_is_no_file_is_not_even_opened(void **state)
{
	const char *path = in_dir("fifo.c");
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fifo;
	char event[512];

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(watch >= 0);
	fifo = inotify_add_watch(watch, path, IN_OPEN);
	assert_true(fifo >= 0);
	assert_none(*state, path, 1, "not a regular file");
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	close(watch);
	assert_int_equal(unlink(path), 0);
}

/* An MD5 settles it either way; without one the times do, if they are known. */
static void age_is_told(void **state)
{
	static const uint8_t of_abc[] = {0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0,
					 0xd6, 0x96, 0x3f, 0x7d, 0x28, 0xe1, 0x7f, 0x72};
	uint8_t other[sizeof(of_abc)] = {1};
	struct sources *s = *state;
	const char *path = in_dir("abc");
	char text[600];
	struct stat st;

	write_source(path, "abc", 3);
	assert_int_equal(stat(path, &st), 0);
	uint64_t then = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	assert_int_equal(sources_age(s, path, NULL, 0), SOURCE_AS_BUILT);
	assert_int_equal(sources_age(s, path, NULL, then), SOURCE_AS_BUILT);
	assert_int_equal(sources_age(s, path, NULL, then - 1), SOURCE_NEWER);
	assert_int_equal(sources_age(s, path, of_abc, then - 1), SOURCE_AS_BUILT);
	assert_int_equal(sources_age(s, path, other, then), SOURCE_DIFFERS);
	/* Of a file that is not there nothing can be said. */
	assert_int_equal(sources_age(s, "/nowhere/abc", other, 1), SOURCE_AS_BUILT);
	assert_null(source_age_name(SOURCE_AS_BUILT));
	source_age_describe(SOURCE_NEWER, path, text, sizeof(text));
	assert_non_null(strstr(text, "was changed after"));
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_the_file),
		cmocka_unit_test(what_is_shown_of_a_line_has_an_end),
		cmocka_unit_test(an_empty_file_has_no_line),
		cmocka_unit_test(what_cannot_be_read_says_why),
		cmocka_unit_test(what_is_no_file_is_not_even_opened),
		cmocka_unit_test(age_is_told),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
