/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/foreign.h"

static char dir[] = "/tmp/culprit-foreign.XXXXXX";
static const char *const names[] = {"sub/link", "sub/file", "up", "fifo", "loop", "sub", ""};

static char *in_dir(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int make(void **state)
{
	FILE *file;

	(void)state;
	if (!mkdtemp(dir) || mkdir(in_dir("sub"), 0700))
		return -1;
	file = fopen(in_dir("sub/file"), "w");
	if (!file || fputs("content", file) < 0 || fclose(file))
		return -1;
	return symlink("file", in_dir("sub/link")) || symlink("sub", in_dir("up")) ||
	       symlink("loop", in_dir("loop")) || mkfifo(in_dir("fifo"), 0600);
}

static int clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(in_dir(names[i]));
	return 0;
}

static void assert_content(int fd, const struct stat *st)
{
	char text[8] = "";

	assert_true(fd >= 0);
	assert_int_equal(st->st_size, 7);
	assert_int_equal(read(fd, text, 7), 7);
	assert_string_equal(text, "content");
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void test_regular(void **state)
{
	struct stat st;

	(void)state;
	assert_content(foreign_open(in_dir("sub/file"), &st), &st);
	assert_content(foreign_open(in_dir("sub/link"), &st), &st);
	assert_content(foreign_open_below(dir, "sub/file", &st), &st);
	/* As a recorded path has it, from the root. */
	assert_content(foreign_open_below(dir, "/sub/file", &st), &st);
	assert_content(foreign_open_below(dir, "../../sub/file", &st), &st);
}

static void test_other_kinds(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(foreign_open(in_dir("fifo"), &st), -EBADMSG);
	assert_int_equal(foreign_open(in_dir("sub"), &st), -EBADMSG);
	assert_int_equal(foreign_open("/dev/null", &st), -EBADMSG);
	assert_int_equal(foreign_open(in_dir("nothing"), &st), -ENOENT);
	assert_int_equal(foreign_open(in_dir("loop"), &st), -ELOOP);
	assert_int_equal(foreign_open_below(dir, "fifo", &st), -EBADMSG);
	assert_int_equal(foreign_open_below(dir, "nothing", &st), -ENOENT);
	assert_int_equal(foreign_open_below(in_dir("nothing"), "file", &st), -ENOENT);
}

static void test_links(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(foreign_open_below(dir, "sub/link", &st), -ELOOP);
	assert_int_equal(foreign_open_below(dir, "up/file", &st), -ELOOP);
	assert_int_equal(foreign_open_below("/proc/self", "root/etc/passwd", &st), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_regular),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests_name("util-foreign", tests, make, clean);
}
