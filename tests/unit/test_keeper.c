/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* An image whose symbols cannot be kept now is not forgotten. */
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include "collect/keep/keeper.h"
#include "image/facts.h"
#include "image/worker/worker.h"

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* No thread can have a stack as large as all addresses. */
static void let_threads_start(bool may)
{
	static size_t usual;
	pthread_attr_t attr;

	assert_int_equal(pthread_attr_init(&attr), 0);
	if (!usual)
		assert_int_equal(pthread_attr_getstacksize(&attr, &usual), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, may ? usual : (size_t)1 << 47), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static struct keeper_counters want(struct keeper *k, uint8_t number)
{
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 1, .bytes = {number}};
	struct keeper_counters counters;

	keeper_want_image(k, &id, "/nowhere/program", NULL, NULL);
	keeper_read_counters(k, &counters);
	return counters;
}

static void what_was_refused_is_asked_for_again(void **state)
{
	char dir[] = "/tmp/culprit-keeper.XXXXXX";
	struct keeper_counters counters;
	struct keeper *k;

	(void)state;
	assert_non_null(mkdtemp(dir));
	k = keeper_new(dir, "machine");
	assert_non_null(k);
	let_threads_start(false);
	assert_int_equal(want(k, 1).refused, 1);
	assert_int_equal(want(k, 1).refused, 2);
	let_threads_start(true);
	assert_int_equal(want(k, 1).refused, 2);
	/* That the file is not there does not change from one batch to the next. */
	want(k, 1);
	want(k, 2);
	keeper_finish(k);
	keeper_read_counters(k, &counters);
	assert_int_equal(counters.kept, 0);
	assert_int_equal(counters.failed, 2);
	assert_int_equal(counters.refused, 2);
	keeper_free(k);
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* On a machine of many CPUs the events' descriptors come first. */
static void maps_are_held_behind_many_descriptors(void **state)
{
	char dir[] = "/tmp/culprit-keeper.XXXXXX", map[64];
	struct image_id id = {.kind = IMAGE_JIT, .size = 1};
	struct process life = {.pid = getpid()};
	struct rlimit before, many;
	int fds[2048], count = 1;
	struct keeper *k;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	many = (struct rlimit){.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
	if (before.rlim_max < 4096)
		skip();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &many), 0);
	assert_non_null(mkdtemp(dir));
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)getpid());
	unlink(map); /* of a process that once had this number */
	fds[0] = open(map, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	for (; fds[count - 1] >= 0 && count < 2048; count++)
		fds[count] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	assert_int_equal(count, 2048);
	k = keeper_new(dir, "machine");
	assert_non_null(k);
	keeper_want_image(k, &id, "[jit]", &life, NULL);
	assert_true(life.map_fd > 2048);
	close(life.map_fd - 1);
	keeper_free(k);
	while (count)
		close(fds[--count]);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(unlink(map), 0);
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static uint64_t failed_of(struct keeper *k, uint8_t number)
{
	struct keeper_counters counters;

	want(k, number);
	keeper_finish(k);
	keeper_read_counters(k, &counters);
	return counters.failed;
}

static void what_the_disk_could_not_take_is_asked_for_again(void **state)
{
	static const struct image_symbol symbol = {.start = 1, .size = 1, .name = "f"};
	char dir[] = "/tmp/culprit-keeper.XXXXXX", db[64];
	struct keeper_script *list = calloc(1, sizeof(*list));
	struct keeper_counters counters;
	struct diag why = {""};
	struct keeper *k;

	(void)state;
	assert_non_null(list);
	assert_non_null(mkdtemp(dir));
	/* A file, where the database's directory belongs. */
	snprintf(db, sizeof(db), "%s/db", dir);
	assert_int_equal(fclose(fopen(db, "w")), 0);
	k = keeper_new(db, "machine");
	assert_non_null(k);
	assert_int_equal(failed_of(k, 1), 1);
	keeper_ask_again(k);
	assert_int_equal(failed_of(k, 1), 1);
	list->id = (struct image_id){.kind = IMAGE_BUILD_ID, .size = 1, .bytes = {2}};
	assert_int_equal(image_symbols_build(&symbol, 1, "test", &list->symbols), 0);
	assert_int_equal(keeper_want_scripts(k, list, 1), 0);
	assert_int_equal(failed_of(k, 1), 2);
	keeper_read_counters(k, &counters);
	assert_int_equal(counters.unwritten, 1);
	keeper_read_trouble(k, &why);
	assert_non_null(strstr(why.text, db));
	keeper_ask_again(k);
	assert_int_equal(failed_of(k, 1), 3);
	keeper_ask_again(k);
	assert_int_equal(failed_of(k, 1), 3);
	keeper_free(k);
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* A file of that user, nothing in it. */
static int make_file(const char *dir, const char *name, uid_t user)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(fchown(fd, user, user), 0);
	return fd;
}

static void want_of(struct keeper *k, uint8_t number, int fd)
{
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 1, .bytes = {number}};

	keeper_want_file(k, &id, "/nowhere/program", fd);
}

static void await_done(struct keeper *k, uint64_t count)
{
	struct keeper_counters c;

	for (int tries = 0; tries < 6000; tries++) {
		keeper_read_counters(k, &c);
		if (c.kept + c.failed >= count)
			break;
		usleep(10000);
	}
	assert_int_equal(c.kept + c.failed, count);
}

/* Who writes a file pays for it: the others' are looked at while he waits. */
static void a_costly_file_holds_up_its_owner_alone(void **state)
{
	char dir[] = "/tmp/culprit-keeper.XXXXXX";
	struct allowance *a = allowance_new(1, 1, 0);
	int theirs, ours;
	struct keeper *k;

	(void)state;
	if (geteuid())
		skip();
	assert_non_null(a);
	assert_non_null(mkdtemp(dir));
	theirs = make_file(dir, "theirs", 64124);
	ours = make_file(dir, "ours", 0);
	k = keeper_new(dir, "machine");
	assert_non_null(k);
	keeper_set_allowance(k, a);
	want_of(k, 1, theirs);
	await_done(k, 1);
	for (uint8_t number = 2; number < 10; number++)
		want_of(k, number, theirs);
	want_of(k, 10, ours);
	await_done(k, 2);
	keeper_finish(k);
	await_done(k, 10);
	keeper_free(k);
	allowance_free(a);
	close(theirs);
	close(ours);
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static unsigned blobs;

static int count_blob(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	blobs += type == FTW_F && strstr(path, ".symbols") != NULL;
	return 0;
}

static int remove_blob(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	return type == FTW_F ? remove(path) : 0;
}

static unsigned blobs_after_wanting(struct keeper *k, const char *db)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct image_facts facts;

	assert_true(fd >= 0);
	assert_int_equal(image_facts_identify(fd, &facts, NULL), 0);
	keeper_want_file(k, &facts.id, "/proc/self/exe", fd);
	keeper_finish(k);
	close(fd);
	blobs = 0;
	assert_int_equal(nftw(db, count_blob, 8, FTW_PHYS), 0);
	return blobs;
}

/* As of a job that runs once a month, with --keep 30d. */
static void what_retention_removed_is_kept_again(void **state)
{
	char db[] = "/tmp/culprit-keeper.XXXXXX", machine[64];
	struct keeper *k;

	(void)state;
	assert_non_null(mkdtemp(db));
	snprintf(machine, sizeof(machine), "%s/machine", db);
	assert_int_equal(mkdir(machine, 0700), 0);
	k = keeper_new(db, "machine");
	assert_non_null(k);
	assert_int_equal(blobs_after_wanting(k, db), 1);
	assert_int_equal(nftw(db, remove_blob, 8, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(blobs_after_wanting(k, db), 0);
	keeper_forget(k, false, 1);
	assert_int_equal(blobs_after_wanting(k, db), 0);
	keeper_forget(k, true, 1);
	assert_int_equal(blobs_after_wanting(k, db), 1);
	/* Not at each removal, but of none too long after. */
	assert_int_equal(nftw(db, remove_blob, 8, FTW_DEPTH | FTW_PHYS), 0);
	keeper_forget(k, true, KEEPER_FORGET_NS);
	assert_int_equal(blobs_after_wanting(k, db), 0);
	keeper_forget(k, false, KEEPER_FORGET_NS + 1);
	assert_int_equal(blobs_after_wanting(k, db), 1);
	keeper_free(k);
	assert_int_equal(nftw(db, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* A file of a user's that says to be an image is heard until one of root's does. */
static void a_file_of_roots_is_kept_after_a_users(void **state)
{
	char dir[] = "/tmp/culprit-keeper.XXXXXX";
	struct keeper_counters c;
	int theirs, others, ours;
	struct keeper *k;

	(void)state;
	if (geteuid())
		skip();
	assert_non_null(mkdtemp(dir));
	theirs = make_file(dir, "theirs", 64124);
	others = make_file(dir, "others", 64125);
	ours = make_file(dir, "ours", 0);
	k = keeper_new(dir, "machine");
	assert_non_null(k);
	want_of(k, 1, theirs);
	await_done(k, 1);
	want_of(k, 1, theirs);
	keeper_read_counters(k, &c);
	assert_int_equal(c.disputed, 0);
	/* Whose program it is then nobody can tell: that is counted. */
	want_of(k, 1, others);
	want_of(k, 1, others);
	keeper_read_counters(k, &c);
	assert_int_equal(c.disputed, 1);
	assert_int_equal(c.claimed, 0);
	/* Nor which samples are of the one and which of the others. */
	want_of(k, 1, ours);
	await_done(k, 2);
	keeper_read_counters(k, &c);
	assert_int_equal(c.claimed, 1);
	want_of(k, 1, ours);
	want_of(k, 1, others);
	want_of(k, 1, theirs);
	want_of(k, 2, ours);
	want_of(k, 2, ours);
	want_of(k, 2, -1); /* nobody knows whose */
	keeper_read_counters(k, &c);
	assert_int_equal(c.claimed, 1);
	want_of(k, 2, theirs);
	keeper_finish(k);
	await_done(k, 3);
	keeper_read_counters(k, &c);
	assert_int_equal(c.disputed, 1);
	assert_int_equal(c.claimed, 2);
	keeper_free(k);
	close(theirs);
	close(others);
	close(ours);
	assert_int_equal(nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_refused_is_asked_for_again),
		cmocka_unit_test(maps_are_held_behind_many_descriptors),
		cmocka_unit_test(what_the_disk_could_not_take_is_asked_for_again),
		cmocka_unit_test(what_retention_removed_is_kept_again),
		cmocka_unit_test(a_file_of_roots_is_kept_after_a_users),
		cmocka_unit_test(a_costly_file_holds_up_its_owner_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
