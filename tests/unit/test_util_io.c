/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/io.h"

struct place {
	char path[64];
	int fd;
};

static int make_place(void **state)
{
	static struct place p;

	strcpy(p.path, "/tmp/culprit-test-XXXXXX");
	if (!mkdtemp(p.path))
		return -1;
	p.fd = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &p;
	return p.fd < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
	struct place *p = *state;
	char *names, *name;
	size_t count;

	if (!io_system.list(NULL, p->fd, &names, &count)) {
		name = names;
		for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
			unlinkat(p->fd, name, 0);
		free(names);
	}
	close(p->fd);
	return rmdir(p->path);
}

static size_t count_names(int fd)
{
	char *names;
	size_t count;

	assert_int_equal(io_system.list(NULL, fd, &names, &count), 0);
	free(names);
	return count;
}

static void replaces_a_file(void **state)
{
	struct place *p = *state;
	char path[128], *data;
	size_t size;

	snprintf(path, sizeof(path), "%s/name", p->path);
	assert_int_equal(io_replace_file(&io_system, p->fd, "name", "old", 3, 0600), 0);
	assert_int_equal(io_replace_file(&io_system, p->fd, "name", "new!", 4, 0600), 0);
	assert_int_equal(io_read_file(path, 4, &data, &size), 0);
	assert_int_equal(size, 4);
	assert_string_equal(data, "new!");
	free(data);
	assert_int_equal(io_read_file(path, 3, &data, &size), -EFBIG);
	assert_int_equal(count_names(p->fd), 1);
}

/* The n-th call fails; everything else is real. */
struct fault {
	int left;
};

static int fault_hits(void *arg)
{
	struct fault *f = arg;

	return f->left-- == 0;
}

static int faulty_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	return fault_hits(arg) ? -ENOSPC : io_system.open(NULL, dirfd, path, flags, mode);
}

static ssize_t short_write(void *arg, int fd, const void *data, size_t size)
{
	return fault_hits(arg) ? -ENOSPC : io_system.write(NULL, fd, data, size > 2 ? 2 : size);
}

static int faulty_sync(void *arg, int fd)
{
	return fault_hits(arg) ? -EIO : io_system.sync_data(NULL, fd);
}

static int faulty_rename(void *arg, int dirfd, const char *from, const char *to)
{
	return fault_hits(arg) ? -EIO : io_system.rename(NULL, dirfd, from, to);
}

static void failed_replacement_leaves_the_old_file(void **state)
{
	struct place *p = *state;
	struct fault fault;
	struct io io = io_system;
	char path[128], *data;
	int step, r;

	io.open = faulty_open;
	io.write = short_write;
	io.sync_data = faulty_sync;
	io.rename = faulty_rename;
	io.arg = &fault;
	snprintf(path, sizeof(path), "%s/name", p->path);
	assert_int_equal(io_replace_file(&io_system, p->fd, "name", "old", 3, 0600), 0);
	for (step = 0; step < 20; step++) {
		fault.left = step;
		r = io_replace_file(&io, p->fd, "name", "newer", 5, 0600);
		if (!r)
			break;
		assert_int_equal(io_read_file(path, 100, &data, NULL), 0);
		assert_string_equal(data, "old");
		free(data);
		assert_int_equal(count_names(p->fd), 1);
	}
	assert_int_equal(step, 6); /* open, 3 writes, sync, rename */
	assert_int_equal(io_read_file(path, 100, &data, NULL), 0);
	assert_string_equal(data, "newer");
	free(data);
}

static ssize_t stuck_write(void *arg, int fd, const void *data, size_t size)
{
	(void)arg, (void)fd, (void)data, (void)size;
	return 0;
}

static void reads_and_writes_all(void **state)
{
	struct place *p = *state;
	struct fault never = {-1};
	struct io io = io_system;
	char data[8] = "";
	int fd;

	io.write = short_write;
	io.arg = &never;
	fd = io.open(&never, p->fd, "f", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(io_write_all(&io, fd, "0123456", 7), 0);
	assert_int_equal(io_read_all(&io, fd, data, 6, 1), 0);
	assert_string_equal(data, "123456");
	assert_int_equal(io_read_all(&io, fd, data, 7, 1), -EBADMSG);
	assert_int_equal(io_read_all(&io, fd, data, 1, UINT64_MAX), -EINVAL);
	assert_int_equal(io_read_all(&io, fd, data, 0, 99), 0);
	io.write = stuck_write;
	assert_int_equal(io_write_all(&io, fd, "x", 1), -EIO);
	io.close(&never, fd);
}

static void lists_and_keeps_the_position(void **state)
{
	struct place *p = *state;
	char name[32], *names;
	size_t count;

	assert_int_equal(io_system.list(NULL, p->fd, &names, &count), 0);
	assert_int_equal(count, 0);
	free(names);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		close(openat(p->fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	assert_int_equal(count_names(p->fd), 300);
	assert_int_equal(count_names(p->fd), 300);
	assert_int_equal(io_system.list(NULL, -1, &names, &count), -EBADF);
}

static void lock_excludes(void **state)
{
	struct place *p = *state;
	int one = openat(p->fd, "lock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	int two = openat(p->fd, "lock", O_RDWR | O_CLOEXEC);

	assert_int_equal(io_system.lock(NULL, one), 0);
	assert_int_equal(io_system.lock(NULL, two), -EWOULDBLOCK);
	close(one);
	assert_int_equal(io_system.lock(NULL, two), 0);
	close(two);
}

static void reads_odd_files(void **state)
{
	struct place *p = *state;
	char path[128], *data;
	size_t size;

	assert_int_equal(io_read_file(p->path, 100, &data, &size), -EISDIR);
	snprintf(path, sizeof(path), "%s/fifo", p->path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(io_read_file(path, 100, &data, &size), -EINVAL); /* and does not hang */
	snprintf(path, sizeof(path), "%s/none", p->path);
	assert_int_equal(io_read_file(path, 100, &data, &size), -ENOENT);
	/* Its size is said to be 0. */
	assert_int_equal(io_read_file("/proc/self/status", 1 << 20, &data, &size), 0);
	assert_int_equal(strlen(data), size);
	assert_true(size > 100);
	free(data);
	close(openat(p->fd, "empty", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(path, sizeof(path), "%s/empty", p->path);
	assert_int_equal(io_read_file(path, 0, &data, &size), 0);
	assert_string_equal(data, "");
	free(data);
}

#define WITH_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(replaces_a_file),
		WITH_PLACE(failed_replacement_leaves_the_old_file),
		WITH_PLACE(reads_and_writes_all),
		WITH_PLACE(lists_and_keeps_the_position),
		WITH_PLACE(lock_excludes),
		WITH_PLACE(reads_odd_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
