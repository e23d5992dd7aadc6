/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What root makes in a database belongs to its owner; nothing else changes hands. */
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
#include "util/hand_over.h"
#include "util/io.h"

#define USER  64123
#define GROUP 64122
#define OTHER 64121

static char top[64];
static int top_fd;

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/culprit-hand.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return geteuid() == 0 ? chown(top, USER, GROUP) : 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	close(top_fd);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void expect_owner(const char *name, uid_t user, gid_t group)
{
	struct stat st;

	assert_int_equal(fstatat(top_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_uid, user);
	assert_int_equal(st.st_gid, group);
}

static int create(const char *name, int flags)
{
	int fd = io_system.open(NULL, top_fd, name, O_WRONLY | O_CREAT | flags, 0640);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_files(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(create("new", O_EXCL), 0);
	expect_owner("new", USER, GROUP);
	assert_int_equal(create("lock", 0), 0);
	expect_owner("lock", USER, GROUP);
	assert_int_equal(create("new", O_EXCL), -EEXIST);
	/* What was there stays whose it is. */
	assert_int_equal(fchownat(top_fd, "lock", OTHER, OTHER, 0), 0);
	assert_int_equal(create("lock", 0), 0);
	expect_owner("lock", OTHER, OTHER);
	/* A link neither: the owner put it there. */
	assert_int_equal(symlinkat("/dev/null", top_fd, "link"), 0);
	assert_int_equal(create("link", O_NOFOLLOW), -ELOOP);
}

static void test_directories(void **state)
{
	char path[128];

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(io_system.mkdir(NULL, top_fd, "machine", 0750), 0);
	expect_owner("machine", USER, GROUP);
	/* By its path it is root's, unless somebody called root by sudo. */
	snprintf(path, sizeof(path), "%s/plain/", top);
	assert_int_equal(io_system.mkdir(NULL, AT_FDCWD, path, 0750), 0);
	expect_owner("plain", 0, 0);
	setenv("SUDO_UID", "64121", 1);
	setenv("SUDO_GID", "64120", 1);
	assert_int_equal(io_system.mkdir(NULL, AT_FDCWD, path, 0750), -EEXIST);
	expect_owner("plain", 0, 0);
	snprintf(path, sizeof(path), "%s/called//", top);
	assert_int_equal(io_system.mkdir(NULL, AT_FDCWD, path, 0750), 0);
	expect_owner("called", OTHER, 64120);
	snprintf(path, sizeof(path), "%s/none/called", top);
	assert_int_equal(io_system.mkdir(NULL, AT_FDCWD, path, 0750), -ENOENT);
	assert_int_equal(chdir(top), 0);
	assert_int_equal(io_system.mkdir(NULL, AT_FDCWD, "here", 0750), 0);
	expect_owner("here", OTHER, 64120);
	assert_int_equal(chdir("/"), 0);
}

/* What the owner of the directory around it may have put in its place. */
static void test_swapped(void **state)
{
	char path[128];

	(void)state;
	if (geteuid())
		skip();
	setenv("SUDO_UID", "64121", 1);
	setenv("SUDO_GID", "64121", 1);
	snprintf(path, sizeof(path), "%s/full", top);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdirat(top_fd, "full/within", 0700), 0);
	hand_over_made(path);
	expect_owner("full", 0, 0);
	assert_int_equal(unlinkat(top_fd, "full/within", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("full", top_fd, "link"), 0);
	snprintf(path, sizeof(path), "%s/link", top);
	hand_over_made(path);
	expect_owner("full", 0, 0);
	assert_int_equal(mkdirat(top_fd, "other", 0700), 0);
	assert_int_equal(fchownat(top_fd, "other", USER, USER, 0), 0);
	snprintf(path, sizeof(path), "%s/other", top);
	hand_over_made(path);
	expect_owner("other", USER, USER);
	snprintf(path, sizeof(path), "%s/full", top);
	hand_over_made(path);
	expect_owner("full", OTHER, OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_directories, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_swapped, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
