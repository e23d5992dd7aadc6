/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which file a mapping is of: when its numbers are not those that stat shows, and when looking at
 * it took too long. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>
#include "collect/files.h"
#include "elf_file.h"
#include "util/clock.h"

#define MS 1000000ull

/* A directory of the test's own, with what is needed to look at files. */
struct bench {
	char dir[64];
	struct image_worker *worker;
	struct files *files;
};

static void set_up(struct bench *b, const struct image_worker_limits *limits)
{
	snprintf(b->dir, sizeof(b->dir), "/var/tmp/culprit-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	b->worker = image_worker_new(limits);
	assert_non_null(b->worker);
	b->files = files_new(b->worker);
	assert_non_null(b->files);
}

static void tear_down(struct bench *b)
{
	files_free(b->files);
	image_worker_free(b->worker);
	assert_int_equal(rmdir(b->dir), 0);
}

static void write_program(const char *path)
{
	struct elf_file f = elf_file_64(1);
	FILE *out = fopen(path, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(&f, sizeof(f), 1, out), 1);
	assert_int_equal(fclose(out), 0);
}

/* As a mapping of this process names it, off by so much in its inode. */
static void set_up_program(struct bench *b, char path[128])
{
	set_up(b, NULL);
	snprintf(path, 128, "%s/program", b->dir);
	write_program(path);
}

static struct mapped_file *take(struct bench *b, const char *path, uint64_t off)
{
	struct file_name name = {.path = path, .path_size = strlen(path)};
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	name.inode = st.st_ino + off;
	return files_take(b->files, &name);
}

static enum file_state state_of(struct bench *b, const char *path, uint64_t off, pid_t pid,
				uint64_t born_ns)
{
	struct mapped_file *file = take(b, path, off);
	enum file_state state;

	assert_non_null(file);
	file = files_resolve(b->files, file, pid, 0, 0, born_ns);
	state = file->state;
	file_unref(file);
	return state;
}

static void another_inode_is_another_file(void **state)
{
	struct bench b;
	char path[128];

	(void)state;
	set_up_program(&b, path);
	assert_int_equal(state_of(&b, path, 1, getpid(), 0), FILE_OPAQUE);
	assert_int_equal(state_of(&b, path, 0, getpid(), 0), FILE_ELF);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* So that a process may be gone by then. */
static void a_file_that_is_as_it_was_read_is_not_opened(void **state)
{
	struct mapped_file *file, *written;
	struct bench b;
	char path[128];

	(void)state;
	set_up_program(&b, path);
	file = files_resolve(b.files, take(&b, path, 0), getpid(), 0, 0, 0);
	assert_int_equal(file->state, FILE_ELF);
	assert_int_equal(file->attempts, 1);
	file = files_resolve(b.files, file, getpid(), 0, 0, 0);
	assert_int_equal(file->attempts, 1);
	/* Written to in place, it is another. */
	file_ref(file);
	assert_int_equal(truncate(path, sizeof(struct elf_file) + 8), 0);
	written = files_resolve(b.files, file, getpid(), 0, 0, 0);
	assert_ptr_not_equal(written, file);
	assert_int_equal(written->state, FILE_ELF);
	file_unref(file);
	file_unref(written);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* Whoever mounts file systems of his own has any inode and any build-id he likes behind a name that
 * leads us to a file that only we may read. */
static void a_name_leads_to_no_private_file(void **state)
{
	pid_t none = 0x7fffffff;
	struct file_name name = {0};
	struct mapped_file *file;
	struct stat st;
	struct bench b;
	char path[128];

	(void)state;
	set_up_program(&b, path);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(state_of(&b, path, 0, none, 0), FILE_OPAQUE);
	/* But the very file it may be, and one that its user or everybody may read. */
	assert_int_equal(stat(path, &st), 0);
	name = (struct file_name){.path = path,
				  .path_size = strlen(path),
				  .device_major = major(st.st_dev),
				  .device_minor = minor(st.st_dev),
				  .inode = st.st_ino};
	file = files_resolve(b.files, files_take(b.files, &name), none, 0, 0, 0);
	assert_int_equal(file->state, FILE_ELF);
	file_unref(file);
	assert_int_equal(state_of(&b, path, 0, getpid(), 0), FILE_ELF);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(state_of(&b, path, 0, none, 0), FILE_ELF);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* Into the directory, in a mount namespace of our own; false where that is not allowed. */
static bool mount_overlay(const char *dir)
{
	static const char *const parts[] = {"lower", "upper", "work", "top"};
	char path[128], options[512];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 dir, dir, dir);
	if (mount("none", path, "overlay", 0, options) == 0)
		return true;
	umount(dir);
	return false;
}

/* The kernel of the machine may show the same number in both, so the test makes one up. */
static void overlays_may_number_files_anew(void **state)
{
	uint64_t before_ns = clock_monotonic_ns(), hour_ns = 3600000 * MS;
	pid_t none = 0x7fffffff;
	struct bench b;
	char path[128];

	(void)state;
	set_up(&b, NULL);
	if (!mount_overlay(b.dir)) {
		tear_down(&b);
		skip();
	}
	snprintf(path, sizeof(path), "%s/top/program", b.dir);
	write_program(path);
	/* Mapped before we looked, by a process that goes on, and in an hour. */
	assert_int_equal(state_of(&b, path, 1, getpid(), 0), FILE_ELF);
	assert_int_equal(state_of(&b, path, 2, getpid(), clock_monotonic_ns() + hour_ns), FILE_ELF);
	/* Something was done to the file since, or the process's own root cannot be had. */
	assert_int_equal(state_of(&b, path, 3, getpid(), before_ns), FILE_OPAQUE);
	assert_int_equal(state_of(&b, path, 4, none, 0), FILE_OPAQUE);
	assert_int_equal(state_of(&b, path, 0, none, 0), FILE_ELF);
	files_free(b.files);
	b.files = NULL;
	snprintf(path, sizeof(path), "%s/top", b.dir);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_int_equal(umount2(b.dir, MNT_DETACH), 0);
	tear_down(&b);
}

static void what_took_too_long_is_tried_again(void **state)
{
	const struct image_worker_limits limits = {.time_ns = 10000 * MS, .wait_ns = 300 * MS};
	struct mapped_file *file, *other;
	struct image_facts facts;
	struct bench b;
	char path[128];
	int fd;

	(void)state;
	set_up(&b, &limits);
	snprintf(path, sizeof(path), "%s/program", b.dir);
	write_program(path);
	file = take(&b, path, 0);
	other = file_ref(file);
	/* The worker is there, and does not run. */
	fd = file_with("", 0);
	assert_int_equal(image_worker_facts(b.worker, fd, &facts, NULL), -EBADMSG);
	close(fd);
	kill(image_worker_stats(b.worker).pid, SIGSTOP);
	file = files_resolve(b.files, file, getpid(), 0, 0, 0);
	assert_int_equal(file->state, FILE_OPAQUE);
	assert_true(file_is_pending(file));
	assert_int_equal(image_worker_stats(b.worker).timeouts, 1);
	/* Not at once, lest it hold everything up. */
	file = files_resolve(b.files, file, getpid(), 0, 0, 0);
	assert_int_equal(file->state, FILE_OPAQUE);
	file->again_ns = 0;
	file = files_resolve(b.files, file, getpid(), 0, 0, 0);
	assert_int_equal(file->state, FILE_ELF);
	assert_false(file_is_pending(file));
	/* The other mapping learns of it. */
	assert_int_equal(other->state, FILE_OPAQUE);
	other = files_resolve(b.files, other, getpid(), 0, 0, 0);
	assert_ptr_equal(other, file);
	file_unref(file);
	file_unref(other);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_inode_is_another_file),
		cmocka_unit_test(a_file_that_is_as_it_was_read_is_not_opened),
		cmocka_unit_test(a_name_leads_to_no_private_file),
		cmocka_unit_test(what_took_too_long_is_tried_again),
		cmocka_unit_test(overlays_may_number_files_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
