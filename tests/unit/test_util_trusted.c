/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file is trusted when nobody else decides what it is. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "util/sudo.h"
#include "util/trusted.h"

#define STRANGER 64123

static char top[64], directory[96], file[128];

static int set_up(void **state)
{
	(void)state;
	umask(022);
	strcpy(top, "/tmp/culprit-trusted.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(directory, sizeof(directory), "%s/in", top);
	snprintf(file, sizeof(file), "%s/file", directory);
	mkdir(directory, 0755);
	close(open(file, O_WRONLY | O_CREAT, 0644));
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(file);
	rmdir(directory);
	return rmdir(top);
}

static void expect(int wanted, const char *said)
{
	struct diag diag = {""};
	int fd = trusted_open(file, &diag);

	if (fd >= 0) {
		struct stat is, named;

		assert_int_equal(fstat(fd, &is), 0);
		assert_int_equal(stat(file, &named), 0);
		assert_int_equal(is.st_ino, named.st_ino);
		close(fd);
	}
	assert_int_equal(fd < 0 ? fd : 0, wanted);
	if (wanted)
		assert_non_null(strstr(diag.text, said));
}

static void test_own(void **state)
{
	(void)state;
	expect(0, "");
	unlink(file);
	expect(-ENOENT, "");
	mkfifo(file, 0644);
	expect(-EINVAL, "not a regular file");
}

static void test_writable(void **state)
{
	(void)state;
	chmod(file, 0664);
	expect(-EPERM, file);
	chmod(file, 0646);
	expect(-EPERM, file);
	chmod(file, 0644);
	chmod(directory, 0775);
	expect(-EPERM, directory);
	chmod(directory, 01777); /* others may put files into it */
	expect(-EPERM, directory);
	chmod(directory, 0755);
	chmod(top, 0777);
	expect(-EPERM, "may be written by others");
	chmod(top, 01777); /* nobody else may remove what is in it */
	expect(0, "");
}

static void test_strangers(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chown(top, STRANGER, STRANGER), 0);
	expect(-EPERM, "another user");
	setenv("SUDO_UID", "64123", 1);
	expect(-EPERM, "another user"); /* not as sudo sets them */
	setenv("SUDO_GID", "64123", 1);
	expect(0, "");
	setenv("SUDO_UID", "64124", 1);
	expect(-EPERM, "another user");
	assert_int_equal(chown(top, 0, 0), 0);
	assert_int_equal(chown(file, STRANGER, STRANGER), 0);
	expect(-EPERM, "another user");
}

/* A link's own place does not matter, but what it leads to. */
static void test_links(void **state)
{
	char held[160];

	(void)state;
	snprintf(held, sizeof(held), "%s/held", top);
	assert_int_equal(rename(directory, held), 0);
	assert_int_equal(symlink("held", directory), 0);
	expect(0, "");
	chmod(held, 0777);
	expect(-EPERM, held);
	chmod(held, 0755);
	unlink(directory);
	assert_int_equal(rename(held, directory), 0);
}

static bool as_before;

/* In place of the C library's. as_before: what the path was before somebody made a link of it. */
char *realpath(const char *path, char *ret)
{
	char *(*real)(const char *, char *) =
		(char *(*)(const char *, char *))(uintptr_t)dlsym(RTLD_NEXT, "realpath");

	return as_before ? strcpy(ret, path) : real(path, ret);
}
char *__realpath_chk(const char *path, char *ret, size_t room);
char *__realpath_chk(const char *path, char *ret, size_t room)
{
	(void)room;
	return realpath(path, ret);
}

/* Between its look at where the path leads and its steps there, somebody puts a link on the way. */
static void test_late_link(void **state)
{
	char held[160];

	(void)state;
	snprintf(held, sizeof(held), "%s/held", top);
	as_before = true;
	expect(0, "");
	assert_int_equal(rename(directory, held), 0);
	assert_int_equal(symlink("held", directory), 0);
	expect(-ENOTDIR, directory);
	unlink(directory);
	assert_int_equal(rename(held, directory), 0);
	snprintf(held, sizeof(held), "%s/held", directory);
	assert_int_equal(rename(file, held), 0);
	assert_int_equal(symlink("held", file), 0);
	expect(-ELOOP, file);
	as_before = false;
	unlink(held);
}

static void test_sudo(void **state)
{
	static const struct {
		const char *user, *group;
		bool found;
	} given[] = {
		{"1000", "1001", true},	   {"0", "0", false},		{"1000", NULL, false},
		{NULL, "1000", false},	   {"1000 ", "1000", false},	{"", "1", false},
		{"-1", "1", false},	   {"4294967295", "1", false},	{"1", "4294967295", false},
		{"4294967294", "0", true}, {"99999999999", "1", false},
	};
	uid_t user;
	gid_t group;

	(void)state;
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		unsetenv("SUDO_UID");
		unsetenv("SUDO_GID");
		if (given[i].user)
			setenv("SUDO_UID", given[i].user, 1);
		if (given[i].group)
			setenv("SUDO_GID", given[i].group, 1);
		assert_int_equal(sudo_find_caller(&user, &group), given[i].found && geteuid() == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_writable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_late_link, set_up, tear_down),
		cmocka_unit_test(test_sudo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
