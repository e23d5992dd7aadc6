/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Users take turns: one whose files hang, or who has too many, waits alone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/process/looks.h"
#include "elf_file.h"

#define HOUR_NS 3600000000000ull

static char program[64];

static struct file_look *new_look(uid_t user)
{
	struct file_look *look = calloc(1, sizeof(*look));
	struct stat st;

	assert_non_null(look);
	assert_int_equal(stat(program, &st), 0);
	look->name = (struct file_name){
		.path = program, .path_size = strlen(program), .inode = st.st_ino};
	look->mapping.pid = getpid();
	look->turn.user = user;
	look->fd = -1;
	return look;
}

static void ask(struct looks *q, uid_t user)
{
	assert_int_equal(looks_ask(q, new_look(user)), 0);
}

/* Waits for the next one, whose user is told. */
static uid_t next(struct looks *q)
{
	struct file_look *look;
	uid_t user;

	while (!(look = looks_take(q)))
		usleep(1000);
	assert_int_equal(look->looked, FILE_LOOKED_READ);
	user = look->turn.user;
	if (look->fd >= 0)
		close(look->fd);
	free(look);
	return user;
}

static int each_task(void (*f)(pid_t child))
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	for (struct dirent *d; (d = readdir(tasks));) {
		char path[64];
		int child;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", d->d_name);
		FILE *in = fopen(path, "re");

		for (; in && fscanf(in, "%d", &child) == 1; count++)
			f(child);
		if (in)
			fclose(in);
	}
	closedir(tasks);
	return count;
}

static void freeze(pid_t child)
{
	kill(child, SIGSTOP);
}

static void test_who_hangs_hangs_alone(void **state)
{
	const struct image_worker_limits limits = {.time_ns = HOUR_NS, .wait_ns = HOUR_NS};
	struct looks *q = looks_new(&limits);
	struct looks_counters c;
	struct file_look *more;

	(void)state;
	ask(q, 1);
	assert_int_equal(next(q), 1);
	/* What he is served by stands still from now on. */
	assert_int_equal(each_task(freeze), 1);
	/* Others do not, however much of his is queued; and that has a limit. */
	do
		more = new_look(1);
	while (looks_ask(q, more) == 0);
	free(more);
	ask(q, 2);
	ask(q, 3);
	assert_int_equal(next(q), 2);
	assert_int_equal(next(q), 3);
	/* Nor does he get who serves the others, though it is his turn. */
	ask(q, 2);
	assert_int_equal(next(q), 2);
	looks_count(q, &c);
	assert_in_range(c.queued, LOOKS_USER_MAX, LOOKS_USER_MAX + 1);
	assert_int_equal(c.threads, 2);
	/* And none of it is waited for at the end. */
	assert_true(looks_free(q));
}

static void *keep_writing(void *stop)
{
	int fd = open(program, O_WRONLY | O_APPEND | O_CLOEXEC);

	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		if (write(fd, "x", 1) != 1)
			break;
	close(fd);
	return NULL;
}

/* What is written while it is read is neither what it was nor what it became. */
static void test_written_while_read(void **state)
{
	struct image_worker *worker = image_worker_new(NULL);
	bool stop = false, busy = false;
	pthread_t writer;

	(void)state;
	assert_non_null(worker);
	assert_int_equal(pthread_create(&writer, NULL, keep_writing, &stop), 0);
	for (int tries = 0; tries < 2000 && !busy; tries++) {
		struct file_look *look = new_look(1);

		file_look(look, worker);
		busy = look->looked == FILE_LOOKED_FAILED && look->error == -EBUSY;
		if (look->fd >= 0)
			close(look->fd);
		free(look);
	}
	stop = true;
	pthread_join(writer, NULL);
	image_worker_free(worker);
	assert_true(busy);
}

static int setup(void **state)
{
	struct elf_file f = elf_file_64(1);
	int fd;

	(void)state;
	strcpy(program, "/var/tmp/culprit-test-XXXXXX");
	fd = mkstemp(program);
	if (fd < 0 || write(fd, &f, sizeof(f)) != sizeof(f))
		return -1;
	return close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(program);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_hangs_hangs_alone),
		cmocka_unit_test(test_written_while_read),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
