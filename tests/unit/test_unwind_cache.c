/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Unwind tables that are kept from one recording to the next: which are found again, and that what
 * is not as it was written is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "collect/stacks/unwind_cache.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/io.h"

#define ROWS 5000

/* In place of the C library's: a file system and a device as one likes. */
static long file_system;
static unsigned loop_device;

int fstatfs(int fd, struct statfs *ret)
{
	int r = (int)syscall(SYS_fstatfs, fd, ret);

	if (!r && file_system)
		ret->f_type = file_system;
	return r;
}

int fstat(int fd, struct stat *ret)
{
	int r = fstatat(fd, "", ret, AT_EMPTY_PATH);

	if (!r && loop_device)
		ret->st_dev = makedev(loop_device, 0);
	return r;
}

struct test {
	char root[64], cache[80], file[80];
	int fd; /* the file whose table it is */
};

static void make_old(const char *path)
{
	const struct timespec then[] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};

	assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

static void await_settled(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	while (time(NULL) - st.st_ctim.tv_sec < 2)
		usleep(50000);
}

static int set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	snprintf(t->root, sizeof(t->root), "/tmp/culprit-unwind-cache-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	snprintf(t->cache, sizeof(t->cache), "%s/some/cache", t->root);
	snprintf(t->file, sizeof(t->file), "%s/file", t->root);
	/* One that was not changed just now. */
	await_settled("/proc/self/exe"); /* it may just have been built */
	t->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(t->fd >= 0);
	*state = t;
	return 0;
}

/* To one of the test's own. */
static void change_file(struct test *t)
{
	close(t->fd);
	t->fd = open(t->file, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	assert_true(t->fd >= 0 && write(t->fd, "code", 4) == 4);
}

static int tear_down(void **state)
{
	struct test *t = *state;
	char command[128];

	close(t->fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", t->root);
	assert_int_equal(system(command), 0);
	free(t);
	return 0;
}

static const struct image_python interpreter = {.runtime = 7, .version = 0x030b02f0};

static struct image_unwind *make_table(size_t rows)
{
	struct image_unwind *u = calloc(1, sizeof(*u));

	assert_non_null(u);
	*u = (struct image_unwind){
		.base = 0x1000, .row_count = rows, .rule_count = 2, .derived = 7};
	u->memory = u->rules = calloc(1, 2 * sizeof(*u->rules) + rows * sizeof(*u->rows));
	assert_non_null(u->rules);
	u->rows = (void *)(u->rules + 2);
	u->rules[1] = (struct wire_unwind_rule){.cfa = WIRE_CFA_REGISTER, .cfa_reg = 7, .rbx = 3};
	for (size_t i = 0; i < rows; i++)
		u->rows[i] = (struct image_unwind_row){(uint32_t)(3 * i), (i & 1) ^ 1};
	u->rows[rows - 1].rule = 0;
	return u;
}

/* As a recording does: 0 if it was there, else made and kept. */
static int record(struct test *t, size_t rows, struct unwind_cache_counters *ret)
{
	struct unwind_cache *c = unwind_cache_new(t->cache);
	struct image_unwind *u = NULL;
	struct image_python python;
	struct cache_key key;
	int r;

	assert_non_null(c);
	r = unwind_cache_read(c, t->fd, &key, &u, &python);
	if (!r) {
		assert_true(u->base == 0x1000 && u->row_count == rows && u->rule_count == 2);
		assert_memory_equal(&python, &interpreter, sizeof(python));
		/* Where it was read, not a copy. */
		assert_true((uint8_t *)u->rules > (uint8_t *)u->memory);
		assert_true(u->derived == 7 && u->rules[1].rbx == 3 && u->rows[8].offset == 24);
		image_unwind_free(u);
	} else {
		unwind_cache_take(c, t->fd, &key, make_table(rows), &interpreter);
		unwind_cache_write(c);
	}
	unwind_cache_count(c, ret);
	unwind_cache_free(c);
	return r;
}

/* The only entry of the cache. */
static void find_entry(const struct test *t, char *out, size_t size)
{
	DIR *directory = opendir(t->cache);
	const struct dirent *e;
	unsigned count = 0;

	assert_non_null(directory);
	while ((e = readdir(directory)))
		if (e->d_name[0] != '.') {
			snprintf(out, size, "%s/%s", t->cache, e->d_name);
			count++;
		}
	closedir(directory);
	assert_int_equal(count, 1);
}

static void a_table_is_made_once(void **state)
{
	struct unwind_cache_counters count;
	struct test *t = *state;
	char entry[512];
	struct stat st;

	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_true(count.written == 1 && !count.damaged && !count.failed);
	assert_int_equal(record(t, ROWS, &count), 0);
	assert_true(count.read == 1 && !count.written && !count.damaged);
	/* When it was last used says its time. */
	find_entry(t, entry, sizeof(entry));
	make_old(entry);
	assert_int_equal(record(t, ROWS, &count), 0);
	assert_int_equal(stat(entry, &st), 0);
	assert_true(st.st_mtim.tv_sec > 1000000 && (st.st_mode & 0777) == 0600);
}

static void young_files_have_no_table(void **state)
{
	struct unwind_cache_counters count;
	struct test *t = *state;

	change_file(t);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_int_equal(count.written, 0);
}

static void a_changed_file_has_another_table(void **state)
{
	struct unwind_cache_counters count;
	struct test *t = *state;

	change_file(t);
	await_settled(t->file);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_int_equal(pwrite(t->fd, "edoc", 4, 0), 4);
	/* Not even if it pretends to be as old. */
	make_old(t->file);
	await_settled(t->file);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_true(count.written == 1 && !count.damaged);
	assert_int_equal(record(t, ROWS, &count), 0);
}

static void damage_is_no_table(void **state)
{
	static const size_t places[] = {0, 9, 20, 40, 200};
	struct unwind_cache_counters count;
	struct test *t = *state;
	char entry[512];
	uint8_t byte;

	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	find_entry(t, entry, sizeof(entry));
	for (size_t i = 0; i <= sizeof(places) / sizeof(*places); i++) {
		int fd = open(entry, O_RDWR | O_CLOEXEC);

		if (i == sizeof(places) / sizeof(*places)) {
			assert_int_equal(ftruncate(fd, 300), 0);
		} else {
			assert_int_equal(pread(fd, &byte, 1, (off_t)places[i]), 1);
			byte ^= 0x10;
			assert_int_equal(pwrite(fd, &byte, 1, (off_t)places[i]), 1);
		}
		close(fd);
		/* And is rebuilt. */
		assert_int_equal(record(t, ROWS, &count), -ENOENT);
		assert_true(count.damaged == 1 && count.written == 1);
		assert_int_equal(record(t, ROWS, &count), 0);
	}
}

/* Undamaged, and for this file, but what no worker would be believed. */
static void nonsense_is_no_table(void **state)
{
	struct unwind_cache_counters count;
	struct image_unwind *u = NULL;
	struct image_python python;
	struct cache_key key;
	struct test *t = *state;
	struct unwind_cache *c;
	struct buf plain;
	char entry[512];
	uint64_t sum = 0;
	int directory;

	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	find_entry(t, entry, sizeof(entry));
	c = unwind_cache_new(t->cache);
	assert_int_equal(unwind_cache_read(c, t->fd, &key, &u, &python), 0);
	u->rows[10].rule = 2;
	buf_init(&plain, 1 << 20);
	buf_append(&plain, &sum, sizeof(sum));
	buf_append(&plain, &key, sizeof(key));
	buf_append(&plain, &python, sizeof(python));
	assert_int_equal(image_unwind_save(u, &plain), 0);
	sum = hash_bytes(plain.data + sizeof(sum), plain.size - sizeof(sum));
	memcpy(plain.data, &sum, sizeof(sum));
	image_unwind_free(u);
	directory = open(t->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(io_place_file(&io_system, directory, strrchr(entry, '/') + 1, plain.data,
				       plain.size, 0600),
			 0);
	close(directory);
	buf_free(&plain);
	assert_int_equal(unwind_cache_read(c, t->fd, &key, &u, &python), -ENOENT);
	unwind_cache_count(c, &count);
	assert_int_equal(count.damaged, 1);
	unwind_cache_free(c);
}

/* Neither files nor a directory that others could have written; no links. */
static void what_others_may_write_is_not_read(void **state)
{
	struct unwind_cache_counters count;
	struct test *t = *state;
	char entry[512], moved[512];

	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	find_entry(t, entry, sizeof(entry));
	assert_int_equal(chmod(entry, 0620), 0);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_true(count.damaged == 1 && count.written == 1);
	snprintf(moved, sizeof(moved), "%s/moved", t->root);
	assert_int_equal(rename(entry, moved), 0);
	assert_int_equal(symlink(moved, entry), 0);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_int_equal(record(t, ROWS, &count), 0);
	assert_int_equal(chmod(t->cache, 0777), 0);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_true(!count.written && count.failed == 1);
}

static void the_least_used_makes_room_on_disk(void **state)
{
	struct unwind_cache_counters count;
	struct test *t = *state;
	char path[4][128], left[128];

	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	for (unsigned i = 0; i < 4; i++) {
		const struct timespec times[] = {{.tv_sec = 2000 + i}, {.tv_sec = 2000 + i}};
		int fd;

		snprintf(path[i], sizeof(path[i]), "%s/%u", t->cache, i);
		fd = open(path[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		/* Without the first there would be room, but only for this one. */
		assert_int_equal(ftruncate(fd, i ? UNWIND_CACHE_BYTES / 3 - (1 << 20) : 4 << 20),
				 0);
		close(fd);
		assert_int_equal(utimensat(AT_FDCWD, path[i], times, 0), 0);
	}
	snprintf(left, sizeof(left), "%s/1234.tmp", t->cache);
	close(open(left, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	make_old(left);
	close(t->fd);
	t->fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_true(count.written == 1 && count.evicted == 2);
	assert_true(access(path[0], F_OK) && access(path[1], F_OK) && access(left, F_OK));
	assert_false(access(path[2], F_OK) || access(path[3], F_OK));
	assert_int_equal(record(t, ROWS, &count), 0);
}

/* Where much is new, a store is filled within the hour: what is in use must not seem the oldest. */
static void what_is_read_counts_as_used_since_minutes(void **state)
{
	const struct timespec before[] = {{.tv_sec = time(NULL) - 300},
					  {.tv_sec = time(NULL) - 300}};
	struct unwind_cache_counters count;
	struct test *t = *state;
	char entry[512];
	struct stat st;

	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	find_entry(t, entry, sizeof(entry));
	assert_int_equal(utimensat(AT_FDCWD, entry, before, 0), 0);
	assert_int_equal(record(t, ROWS, &count), 0);
	assert_int_equal(stat(entry, &st), 0);
	assert_true(st.st_mtim.tv_sec > before[1].tv_sec);
}

/* Times and numbers that whoever made an image of a file system wrote into it say nothing. */
static void files_whose_times_are_made_up_are_not_known(void **state)
{
	static const long made_up[] = {SQUASHFS_MAGIC,	ISOFS_SUPER_MAGIC,    MSDOS_SUPER_MAGIC,
				       UDF_SUPER_MAGIC, EROFS_SUPER_MAGIC_V1, FUSE_SUPER_MAGIC};
	struct test *t = *state;
	struct cache_key key;

	assert_int_equal(cache_store_key(t->fd, &key), 0);
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++) {
		file_system = made_up[i];
		assert_int_equal(cache_store_key(t->fd, &key), -ENOENT);
	}
	file_system = EXT4_SUPER_MAGIC;
	assert_int_equal(cache_store_key(t->fd, &key), 0);
	loop_device = 7;
	assert_int_equal(cache_store_key(t->fd, &key), -ENOENT);
	loop_device = 8;
	assert_int_equal(cache_store_key(t->fd, &key), 0);
	file_system = loop_device = 0;
}

static void there_may_be_no_cache(void **state)
{
	struct unwind_cache_counters count;
	struct cache_key key;
	struct image_unwind *u;
	struct image_python python;
	struct test *t = *state;

	assert_int_equal(unwind_cache_read(NULL, t->fd, &key, &u, &python), -ENOENT);
	unwind_cache_take(NULL, t->fd, &key, make_table(ROWS), &interpreter);
	unwind_cache_write(NULL);
	unwind_cache_free(NULL);
	snprintf(t->cache, sizeof(t->cache), "/proc/nowhere");
	assert_int_equal(record(t, ROWS, &count), -ENOENT);
	assert_true(count.failed == 1 && !count.written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_table_is_made_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(young_files_have_no_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_changed_file_has_another_table, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(damage_is_no_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nonsense_is_no_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_others_may_write_is_not_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_least_used_makes_room_on_disk, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_read_counts_as_used_since_minutes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(files_whose_times_are_made_up_are_not_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(there_may_be_no_cache, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
