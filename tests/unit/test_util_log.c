/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/log.h"

/* What the function logs, with stderr a pipe. */
static void capture(void (*f)(void), char *out, size_t room, int journal)
{
	int pipes[2], saved = dup(STDERR_FILENO);
	char stream[64];
	struct stat st;
	ssize_t n;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	dup2(pipes[1], STDERR_FILENO);
	fstat(STDERR_FILENO, &st);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino + !journal);
	setenv("JOURNAL_STREAM", stream, 1);
	f();
	dup2(saved, STDERR_FILENO);
	close(pipes[1]);
	close(saved);
	n = read(pipes[0], out, room - 1);
	out[n > 0 ? n : 0] = 0;
	close(pipes[0]);
}

static void one_of_each(void)
{
	log_error("e %d\n", 1);
	log_notice("n");
}

static void a_long_one(void)
{
	char text[8000];

	memset(text, 1, sizeof(text));
	log_warning("%.*s", (int)sizeof(text), text);
}

static void writes_lines(void **state)
{
	char out[8192];

	(void)state;
	capture(one_of_each, out, sizeof(out), 0);
	assert_string_equal(out, "culprit: error: e 1\\n\nculprit: n\n");
	capture(one_of_each, out, sizeof(out), 1);
	assert_string_equal(out, "<3>e 1\\n\n<5>n\n");
	capture(a_long_one, out, sizeof(out), 0);
	assert_int_equal(out[strlen(out) - 1], '\n');
	assert_true(strlen(out) <= 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
