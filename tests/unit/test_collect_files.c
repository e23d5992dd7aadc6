/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which file a mapping is of: when its numbers are not those that stat shows, when looking at it
 * took too long, and what others of the machine wait for meanwhile: nothing. */
#include <dirent.h>
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
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include "collect/process/files.h"
#include "collect/process/procfs.h"
#include "elf_file.h"
#include "util/clock.h"

#define MS 1000000ull

/* A directory of the test's own, with what is needed to look at files. */
struct bench {
	char dir[64];
	struct files *files;
};

static void set_up(struct bench *b, const struct image_worker_limits *limits)
{
	snprintf(b->dir, sizeof(b->dir), "/var/tmp/culprit-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	b->files = files_new(limits);
	assert_non_null(b->files);
}

static void tear_down(struct bench *b)
{
	files_free(b->files);
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

/* Until it is known, or not to be known: in place of the ticks of a session. */
static struct mapped_file *resolve(struct bench *b, struct mapped_file *file, pid_t pid,
				   uint64_t born_ns)
{
	const struct file_mapping mapping = {.pid = pid, .born_ns = born_ns};

	while (files_resolve(b->files, &file, &mapping) == -EAGAIN) {
		assert_true(files_wait(b->files, UINT64_MAX));
		files_take_answers(b->files);
	}
	return file;
}

static enum file_state state_of(struct bench *b, const char *path, uint64_t off, pid_t pid,
				uint64_t born_ns)
{
	struct mapped_file *file = take(b, path, off);
	enum file_state state;

	assert_non_null(file);
	file = resolve(b, file, pid, born_ns);
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
	struct image_id id;
	struct bench b;
	char path[128];

	(void)state;
	set_up_program(&b, path);
	file = resolve(&b, take(&b, path, 0), getpid(), 0);
	assert_int_equal(file->state, FILE_ELF);
	id = file->id;
	/* A later mapping has a look of its own, since it was changed lately. */
	assert_int_equal(file->attempts, 1);
	file = resolve(&b, file, 0x7fffffff, clock_monotonic_ns());
	assert_int_equal(file->attempts, 2);
	/* Written to in place, it is another; and what was mapped before is known by its name. */
	file_ref(file);
	assert_int_equal(truncate(path, sizeof(struct elf_file) + 8), 0);
	written = resolve(&b, file, getpid(), clock_monotonic_ns());
	assert_ptr_not_equal(written, file);
	assert_int_equal(written->state, FILE_ELF);
	assert_int_equal(files_resolve(b.files, &file, &(struct file_mapping){.born_ns = 1}),
			 -ESTALE);
	assert_ptr_equal(written, file);
	file_name_id(file, &id);
	assert_int_equal(id.kind, IMAGE_FILE_OFFSET);
	file_unref(file);
	file_unref(written);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* The kernel's records name a file with its generation, /proc without, and with a mark once it is
 * deleted. */
static void a_file_has_one_entry_whoever_names_it(void **state)
{
	struct file_name name = {
		.path = "/tmp/x", .path_size = 6, .inode = 7, .inode_generation = 1234};
	struct mapped_file *file, *same;
	struct bench b;

	(void)state;
	set_up(&b, NULL);
	file = files_take(b.files, &name);
	name.inode_generation = 0;
	same = files_take(b.files, &name);
	assert_ptr_equal(file, same);
	file_unref(same);
	file_name_set(&name, "/tmp/x (deleted)", strlen("/tmp/x (deleted)"));
	same = files_take(b.files, &name);
	assert_ptr_equal(file, same);
	file_unref(same);
	name.inode = 8;
	same = files_take(b.files, &name);
	assert_ptr_not_equal(file, same);
	assert_int_equal(same->path_size, strlen("/tmp/x"));
	assert_string_equal(same->path, "/tmp/x");
	file_unref(same);
	file_unref(file);
	tear_down(&b);
}

/* No ELF file that anybody understands: who it is says its content all the same. */
static void a_broken_file_is_known_by_its_content(void **state)
{
	struct mapped_file *file, *copy;
	struct bench b;
	char path[2][128];

	(void)state;
	set_up(&b, NULL);
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/broken%d", b.dir, i);
		write_program(path[i]);
		assert_int_equal(truncate(path[i], 70), 0);
	}
	file = resolve(&b, take(&b, path[0], 0), getpid(), 0);
	copy = resolve(&b, take(&b, path[1], 0), getpid(), 0);
	assert_int_equal(file->state, FILE_OPAQUE);
	assert_int_equal(file->id.kind, IMAGE_FILE_OFFSET);
	assert_memory_equal(&file->id, &copy->id, sizeof(file->id));
	file_unref(file);
	file_unref(copy);
	assert_int_equal(unlink(path[0]), 0);
	assert_int_equal(unlink(path[1]), 0);
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
	file = resolve(&b, files_take(b.files, &name), none, 0);
	assert_int_equal(file->state, FILE_ELF);
	file_unref(file);
	assert_int_equal(state_of(&b, path, 0, getpid(), clock_monotonic_ns()), FILE_ELF);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(state_of(&b, path, 0, none, clock_monotonic_ns()), FILE_ELF);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* All of them wait for one turn: that is counted. */
static void files_of_nobody_share_a_turn(void **state)
{
	struct files_counters c;
	struct bench b;
	char path[128];

	(void)state;
	set_up_program(&b, path);
	assert_int_equal(state_of(&b, path, 0, getpid(), 0), FILE_ELF);
	files_read_counters(b.files, &c);
	assert_int_equal(c.ownerless, 0);
	assert_int_equal(state_of(&b, path, 0, 0x7fffffff, clock_monotonic_ns()), FILE_ELF);
	files_read_counters(b.files, &c);
	assert_int_equal(c.ownerless, 1);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* Nor by the root directory of a process whose user may not read it. */
static void another_users_process_leads_to_no_private_file(void **state)
{
	struct bench b;
	char path[128];
	int status;

	(void)state;
	if (geteuid())
		skip();
	pid_t pid = fork();
	if (!pid) {
		if (setresuid(65533, 65533, 65533) || prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(1);
		pause();
	}
	for (uid_t user = 0; user != 65533;)
		assert_int_equal(procfs_read_user(pid, &user), 0);
	set_up_program(&b, path);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(state_of(&b, path, 0, pid, 0), FILE_OPAQUE);
	assert_int_equal(state_of(&b, path, 0, getpid(), clock_monotonic_ns()), FILE_ELF);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(unlink(path), 0);
	tear_down(&b);
}

/* In a process of root's, to which the name of one file is another's; false where that may not be.
 * Written to the pipe when it is so. */
static void live_behind_mount(const char *from, const char *to, int ready)
{
	bool may = !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
		   !mount(from, to, NULL, MS_BIND, NULL) && !prctl(PR_SET_PDEATHSIG, SIGKILL);

	if (write(ready, &may, sizeof(may)) != sizeof(may))
		_exit(1);
	pause();
	_exit(0);
}

static bool claims(struct bench *b, const struct file_name *name, pid_t pid)
{
	struct mapped_file *file = files_take(b->files, name);
	bool is;

	assert_non_null(file);
	file = resolve(b, file, pid, clock_monotonic_ns());
	assert_int_equal(file->state, FILE_ELF);
	is = file->version.claimed;
	file_unref(file);
	return is;
}

/* A record with a build ID has no number of a file: a user who has another file mounted under that
 * name must not stand for everybody's, be he the first. */
static void a_private_mount_is_not_everybodys(void **state)
{
	struct elf_file_note note = elf_file_note(1);
	struct file_name name = {.build_id_size = sizeof(note.build_id)};
	char path[128], forged[160];
	bool may = false;
	struct bench b;
	int pipes[2];
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	set_up_program(&b, path);
	snprintf(forged, sizeof(forged), "%s-forged", path);
	write_program(forged);
	assert_int_equal(chown(forged, 64124, 64124), 0);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid)
		live_behind_mount(forged, path, pipes[1]);
	assert_int_equal(read(pipes[0], &may, sizeof(may)), sizeof(may));
	name.path = path;
	name.path_size = strlen(path);
	memcpy(name.build_id, note.build_id, sizeof(note.build_id));
	if (may) {
		assert_true(claims(&b, &name, pid));
		assert_false(claims(&b, &name, getpid()));
		/* From now on the name is that of the file that root alone could write. */
		assert_false(claims(&b, &name, pid));
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(forged), 0);
	tear_down(&b);
	if (!may)
		skip();
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

/* The worker's own process, a child of the thread that started it; 0: there is none yet. */
static pid_t find_worker(void)
{
	DIR *tasks = opendir("/proc/self/task");
	char path[64];
	int pid = 0;
	FILE *f;

	for (struct dirent *d; !pid && (d = readdir(tasks));) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", d->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%d", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return pid;
}

static void what_took_too_long_is_tried_again(void **state)
{
	const struct image_worker_limits limits = {.time_ns = 10000 * MS, .wait_ns = 300 * MS};
	struct mapped_file *file, *other;
	struct files_counters c;
	struct bench b;
	char path[128];

	(void)state;
	set_up(&b, &limits);
	snprintf(path, sizeof(path), "%s/first", b.dir);
	write_program(path);
	assert_int_equal(state_of(&b, path, 0, getpid(), 0), FILE_ELF);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/program", b.dir);
	write_program(path);
	file = take(&b, path, 0);
	other = file_ref(file);
	/* The worker is there, and does not run. */
	kill(find_worker(), SIGSTOP);
	file = resolve(&b, file, getpid(), 0);
	assert_int_equal(file->state, FILE_OPAQUE);
	assert_true(file_is_pending(file));
	files_read_counters(b.files, &c);
	assert_int_equal(c.hostile, 1);
	/* Not at once, lest it hold everything up. */
	file = resolve(&b, file, getpid(), 0);
	assert_int_equal(file->state, FILE_OPAQUE);
	file->again_ns = 0;
	file = resolve(&b, file, getpid(), 0);
	assert_int_equal(file->state, FILE_ELF);
	assert_false(file_is_pending(file));
	/* The other mapping learns of it. */
	assert_int_equal(other->state, FILE_OPAQUE);
	other = resolve(&b, other, getpid(), 0);
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
		cmocka_unit_test(a_file_has_one_entry_whoever_names_it),
		cmocka_unit_test(a_broken_file_is_known_by_its_content),
		cmocka_unit_test(a_name_leads_to_no_private_file),
		cmocka_unit_test(another_users_process_leads_to_no_private_file),
		cmocka_unit_test(files_of_nobody_share_a_turn),
		cmocka_unit_test(what_took_too_long_is_tried_again),
		cmocka_unit_test(a_private_mount_is_not_everybodys),
		cmocka_unit_test(overlays_may_number_files_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
