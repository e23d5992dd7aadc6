/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include "db_help.h"

/*
 * Each I/O call failing in turn. The same work is done again and again, and each time the next call
 * fails, once or from then on; no acknowledged flush may be lost or counted twice.
 */
struct fault {
	struct io io;
	long left;	 /* calls that still succeed; negative: all do */
	bool persistent; /* once it fails it goes on failing */
	bool short_writes;
	int error;
	bool hit;
	long open_count; /* descriptors */
	ino_t synced;	 /* the directory that was last */
	long calls;
	uint64_t read_bytes;
};

static int fault_check(struct fault *f)
{
	f->calls++;
	if (f->left < 0)
		return 0;
	if (f->left-- > 0)
		return 0;
	f->hit = true;
	if (f->persistent)
		f->left = 0;
	return -f->error;
}

static int fault_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	struct fault *f = arg;
	int r = fault_check(f);

	if (r == 0)
		r = io_system.open(NULL, dirfd, path, flags, mode);
	f->open_count += r >= 0;
	return r;
}

static ssize_t fault_read(void *arg, int fd, void *data, size_t size, uint64_t offset)
{
	struct fault *f = arg;
	int r = fault_check(f);
	ssize_t n = r < 0 ? r : io_system.read(NULL, fd, data, size, offset);

	f->read_bytes += n > 0 ? (uint64_t)n : 0;
	return n;
}

static ssize_t fault_write(void *arg, int fd, const void *data, size_t size)
{
	struct fault *f = arg;
	int r = fault_check(f);

	if (r < 0) /* as a full disk does: a part is written */
		return io_system.write(NULL, fd, data, size / 2) < 0 ? -EIO : r;
	return io_system.write(NULL, fd, data, f->short_writes && size > 7 ? 7 : size);
}

static int fault_stat(void *arg, int fd, struct stat *ret)
{
	int r = fault_check(arg);

	return r < 0 ? r : io_system.stat(NULL, fd, ret);
}

static int fault_sync_data(void *arg, int fd)
{
	int r = fault_check(arg);

	(void)fd; /* the disk is not what is tested */
	return r;
}

static int fault_sync_dir(void *arg, int fd)
{
	struct fault *f = arg;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	f->synced = st.st_ino;
	return fault_sync_data(arg, fd);
}

/* What a base covers goes only when the base's name is known to be on the disk, and what is in an
 * epoch when that is out of sight there, also when it was a writer before that died after naming
 * it. */
static void expect_synced(const struct fault *f, int dirfd, const char *name)
{
	char fd_path[64], path[PATH_MAX] = "";
	struct stat st;

	if (strncmp(name, "seg-", 4) != 0 || strstr(name, ".tmp"))
		return;
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", dirfd);
	assert_true(readlink(fd_path, path, sizeof(path) - 1) > 0);
	if (strstr(path, "/making-")) /* never had another name */
		return;
	if (strstr(path, "/removing-"))
		strcat(path, "/..");
	assert_int_equal(stat(path, &st), 0);
	if (st.st_ino != f->synced)
		fail_msg("%s is deleted before %s was synced", name, path);
}

static int fault_rename(void *arg, int dirfd, const char *from, const char *to)
{
	int r = fault_check(arg);

	return r < 0 ? r : io_system.rename(NULL, dirfd, from, to);
}

static int fault_unlink(void *arg, int dirfd, const char *path, int flags)
{
	int r = fault_check(arg);

	expect_synced(arg, dirfd, path);
	return r < 0 ? r : io_system.unlink(NULL, dirfd, path, flags);
}

static int fault_mkdir(void *arg, int dirfd, const char *path, mode_t mode)
{
	int r = fault_check(arg);

	return r < 0 ? r : io_system.mkdir(NULL, dirfd, path, mode);
}

static int fault_list(void *arg, int fd, char **ret_names, size_t *ret_count)
{
	int r = fault_check(arg);

	return r < 0 ? r : io_system.list(NULL, fd, ret_names, ret_count);
}

static int fault_lock(void *arg, int fd)
{
	int r = fault_check(arg);

	return r < 0 ? r : io_system.lock(NULL, fd);
}

/* A failing close has closed all the same. */
static int fault_close(void *arg, int fd)
{
	struct fault *f = arg;
	int r = fault_check(f), closed = io_system.close(NULL, fd);

	f->open_count--;
	return r < 0 ? r : closed;
}

/* Reading a clock does not fail. */
static void fault_time(void *arg, struct io_time *ret)
{
	(void)arg;
	*ret = (struct io_time){.wall_ns = TEST_TIME_NS, .boot_ns = 1, .boot_id = "boot"};
}

static void fault_init(struct fault *f)
{
	*f = (struct fault){.left = -1};
	f->io = (struct io){fault_open,	     fault_read,
			    fault_write,     fault_stat,
			    fault_sync_data, fault_sync_dir,
			    fault_rename,    fault_unlink,
			    fault_mkdir,     fault_list,
			    fault_lock,	     fault_close,
			    fault_time,	     f};
}

/* What was asked for, what was acknowledged, and what was tried last without being acknowledged. */
struct run {
	struct help_place place;
	struct fault fault;
	struct db_writer *w;
	struct help_digest acknowledged, failed;
	unsigned step;
	bool insist; /* after a failure, the same again */
};

static void flush_step(struct run *run, uint64_t seed, int *ret)
{
	struct db_batch *b = db_batch_new(10000);
	struct help_digest d = {0};

	assert_int_equal(help_fill(b, &d, seed, 30), 0);
	*ret = db_writer_flush(run->w, b, NULL);
	if (*ret < 0 && run->insist)
		*ret = db_writer_flush(run->w, b, NULL);
	if (*ret == 0) {
		run->acknowledged.samples += d.samples;
		run->acknowledged.weighted += d.weighted;
		run->acknowledged.counted += d.counted;
	} else {
		run->failed = d;
	}
	db_batch_free(b);
}

/* The steps of the work, each of which may be repeated after it failed. */
static int run_step(struct run *run, unsigned step)
{
	unsigned removed;
	struct diag diag;
	int r = 0;

	switch (step) {
	case 0:
		return db_writer_open(run->place.db, TEST_MACHINE, &run->fault.io, &run->w, &diag);
	case 1:
	case 5:
	case 7:
	case 9:
	case 11:
		return db_writer_begin_epoch(run->w, TEST_TIME_NS + step * 1000000000u, &diag);
	case 2:
	case 3:
	case 6:
	case 8:
	case 10:
	case 12:
		flush_step(run, step, &r);
		return r;
	case 4:
		return db_writer_compact(run->w, NULL, &diag);
	case 13:
		return db_writer_retain(run->w, 0, 1u << 30, &removed, &diag);
	}
	return -ENOENT;
}

#define STEPS 14

/* Does the work with the nth call failing. Returns whether that call was reached. */
static bool run_with_fault(long n, int error, bool persistent, bool insist)
{
	struct run run = {.insist = insist};
	struct help_digest got;
	bool also_failed;
	int r = 0;

	help_place_make(&run.place);
	fault_init(&run.fault);
	run.fault.left = n;
	run.fault.error = error;
	run.fault.persistent = persistent;
	for (unsigned step = 0; step < STEPS && r == 0; step++) {
		r = run_step(&run, step);
		if (r < 0 && insist)
			r = run_step(&run, step);
	}
	if (insist)
		assert_int_equal(r, 0);
	db_writer_free(run.w);
	run.fault.left = -1;
	assert_int_equal(run.fault.open_count, 0);
	if (help_read(run.place.db, &io_system, "all", &got, NULL) < 0)
		memset(&got, 0, sizeof(got));
	if (got.damages)
		fail_msg("call %ld: %s", n, got.last_damage);
	/* A flush that was not acknowledged may be there, but only whole, and only that. */
	also_failed = !insist && got.samples == run.acknowledged.samples + run.failed.samples;
	if (got.samples != run.acknowledged.samples + (also_failed ? run.failed.samples : 0) ||
	    got.weighted != run.acknowledged.weighted + (also_failed ? run.failed.weighted : 0) ||
	    got.counted != run.acknowledged.counted + (also_failed ? run.failed.counted : 0))
		fail_msg("call %ld: %llu samples acknowledged, %llu read", n,
			 (unsigned long long)run.acknowledged.samples,
			 (unsigned long long)got.samples);
	/* The next writer cleans up after it. */
	run.w = NULL;
	run.fault.synced = 0;
	assert_int_equal(run_step(&run, 0), 0);
	assert_int_equal(db_writer_close(run.w, NULL), 0);
	help_place_remove(&run.place);
	return run.fault.hit;
}

static void fail_each_call(int error, bool persistent, bool insist)
{
	long n = 0;

	while (run_with_fault(n, error, persistent, insist))
		n++;
	assert_true(n > 150); /* the work does make calls */
}

static void one_call_fails_and_is_tried_again(void **state)
{
	(void)state;
	fail_each_call(EIO, false, true);
}

static void from_one_call_on_all_fail(void **state)
{
	(void)state;
	fail_each_call(ENOSPC, true, false);
}

struct unseen {
	struct help_place place;
	struct help_digest whole;
	struct fault fault;
	struct db_writer *w;
};

/* What an import does, up to its end or an error, after which it gives up. */
static int write_unseen(struct unseen *u)
{
	struct diag diag;
	int r = db_writer_open(u->place.db, TEST_MACHINE, &u->fault.io, &u->w, &diag);

	memset(&u->whole, 0, sizeof(u->whole));
	if (r == 0)
		r = db_writer_begin_unseen(u->w, TEST_TIME_NS, &diag);
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct db_batch *b = db_batch_new(10000);

		assert_int_equal(help_fill(b, &u->whole, seed, 30), 0);
		if (r == 0)
			r = db_writer_flush(u->w, b, &diag);
		db_batch_free(b);
	}
	if (r == 0)
		r = db_writer_compact(u->w, NULL, &diag);
	if (r == 0)
		return db_writer_close(u->w, &diag);
	db_writer_abandon(u->w);
	return r;
}

static uint64_t samples_in(const char *db)
{
	struct help_digest got;

	if (help_read(db, &io_system, "all", &got, NULL) < 0)
		return 0;
	assert_int_equal(got.damages, 0);
	return got.samples;
}

static bool has_leaves(const char *db)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE, db);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		found |= !strncmp(e->d_name, "making-", 7) || !strncmp(e->d_name, "removing-", 9);
	closedir(d);
	return found;
}

/* With one call that fails, and with all from one on: as when the process dies there. */
static void unseen_with_fault(struct unseen *u, long n, int error, bool persistent)
{
	uint64_t samples;
	struct diag diag;
	int r;

	memset(u, 0, sizeof(*u));
	help_place_make(&u->place);
	fault_init(&u->fault);
	u->fault.left = n;
	u->fault.error = error;
	u->fault.persistent = persistent;
	r = write_unseen(u);
	assert_int_equal(u->fault.open_count, 0);
	samples = samples_in(u->place.db);
	/* Named already, it stays when it cannot be removed any more. */
	if (samples != u->whole.samples && (r == 0 || samples))
		fail_msg("call %ld: returned %d, %llu samples of %llu", n, r,
			 (unsigned long long)samples, (unsigned long long)u->whole.samples);
	if (r < 0 && !persistent && samples)
		fail_msg("call %ld: failed (%d), and the epoch is there", n, r);
	/* A failure that did not last leaves nothing, unless it was in removing. */
	u->w = NULL;
	assert_int_equal(db_writer_open(u->place.db, TEST_MACHINE, &io_system, &u->w, &diag), 0);
	assert_int_equal(db_writer_close(u->w, &diag), 0);
	if (has_leaves(u->place.db))
		fail_msg("call %ld: the next writer leaves what is not whole", n);
	assert_true(samples_in(u->place.db) == samples);
	help_place_remove(&u->place);
}

static void an_unseen_epoch_is_whole_or_not_there(void **state)
{
	struct unseen u = {0};
	long n;

	(void)state;
	for (n = 0, u.fault.hit = true; u.fault.hit; n++)
		unseen_with_fault(&u, n, EIO, false);
	assert_true(n > 60);
	for (n = 0, u.fault.hit = true; u.fault.hit; n++)
		unseen_with_fault(&u, n, ENOSPC, true);
}

/* Another of the same second takes the next name; so does one that is begun in sight. */
static void an_unseen_epoch_takes_a_free_name(void **state)
{
	struct unseen u = {0};
	struct db_batch *b;
	struct diag diag;

	(void)state;
	help_place_make(&u.place);
	fault_init(&u.fault);
	assert_int_equal(write_unseen(&u), 0);
	assert_int_equal(db_writer_open(u.place.db, TEST_MACHINE, &u.fault.io, &u.w, &diag), 0);
	b = db_batch_new(1000);
	memset(&u.whole, 0, sizeof(u.whole));
	assert_int_equal(help_fill(b, &u.whole, 7, 30), 0);
	assert_int_equal(db_writer_begin_unseen(u.w, TEST_TIME_NS, &diag), 0);
	assert_string_equal(db_writer_epoch(u.w) + strlen(db_writer_epoch(u.w)) - 2, "-2");
	assert_int_equal(db_writer_flush(u.w, b, &diag), 0);
	/* The next one brings it into sight. */
	assert_int_equal(db_writer_begin_epoch(u.w, TEST_TIME_NS, &diag), 0);
	assert_string_equal(db_writer_epoch(u.w) + strlen(db_writer_epoch(u.w)) - 2, "-3");
	assert_true(samples_in(u.place.db) > u.whole.samples);
	assert_int_equal(db_writer_close(u.w, &diag), 0);
	assert_false(has_leaves(u.place.db));
	db_batch_free(b);
	help_place_remove(&u.place);
}

static void writes_are_short(void **state)
{
	struct run run = {0};
	struct help_digest got;

	(void)state;
	help_place_make(&run.place);
	fault_init(&run.fault);
	run.fault.short_writes = true;
	for (unsigned step = 0; step < STEPS; step++)
		assert_int_equal(run_step(&run, step), 0);
	assert_int_equal(db_writer_close(run.w, NULL), 0);
	assert_int_equal(help_read(run.place.db, &io_system, "all", &got, NULL), 0);
	assert_true(got.samples == run.acknowledged.samples);
	assert_int_equal(got.damages, 0);
	help_place_remove(&run.place);
}

/* Readers too: an error of the medium is told, and costs what it touches. */
static void reading_fails_at_each_call(void **state)
{
	struct help_place place;
	struct help_digest whole, got;
	struct run run = {0};
	struct fault f;
	int r;

	(void)state;
	help_place_make(&place);
	run.place = place;
	fault_init(&run.fault);
	for (unsigned step = 0; step < STEPS; step++)
		assert_int_equal(run_step(&run, step), 0);
	assert_int_equal(db_writer_close(run.w, NULL), 0);
	assert_int_equal(help_read(place.db, &io_system, "all", &whole, NULL), 0);
	for (long n = 0;; n++) {
		struct diag diag = {0};

		fault_init(&f);
		f.left = n;
		f.error = EIO;
		r = help_read(place.db, &f.io, "all", &got, &diag);
		assert_int_equal(f.open_count, 0);
		if (!f.hit)
			break;
		/* Either the query says that it failed, or what is missing was told. */
		if (r < 0 ? !diag.text[0] : got.samples != whole.samples && !got.damages)
			fail_msg("call %ld: a loss was not told (%d)", n, r);
	}
	help_place_remove(&place);
}

static void make_segments(const struct help_place *place, unsigned count, char ret_dir[400])
{
	struct db_writer *w;

	assert_int_equal(db_writer_open(place->db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	for (unsigned i = 0; i < count; i++) {
		struct db_batch *b = db_batch_new(1000);
		struct help_digest d = {0};

		assert_int_equal(help_fill(b, &d, i, 10), 0);
		assert_int_equal(db_writer_flush(w, b, NULL), 0);
		db_batch_free(b);
	}
	snprintf(ret_dir, 400, "%s/" TEST_MACHINE "/%s", place->db, db_writer_epoch(w));
	assert_int_equal(db_writer_close(w, NULL), 0);
}

/* A number that is missing may be a compaction's doing, so it is looked for many times; the files
 * that are there are not opened each time. */
static void a_lost_segment_costs_few_calls(void **state)
{
	char dir[400], path[440];
	struct help_digest got;
	struct help_place place;
	struct fault f;

	(void)state;
	help_place_make(&place);
	make_segments(&place, 20, dir);
	snprintf(path, sizeof(path), "%s/seg-00000019", dir);
	assert_int_equal(unlink(path), 0);
	fault_init(&f);
	assert_int_equal(help_read(place.db, &f.io, "all", &got, NULL), 0);
	assert_int_equal(got.damages, 1);
	assert_true(f.calls < 4000);
	help_place_remove(&place);
}

/* ... and what was made to look like the start of a chunk everywhere is not read again for each. */
static void a_file_of_false_starts_is_read_a_few_times(void **state)
{
	enum { STARTS = 16384 };
	char dir[400], path[440];
	struct help_digest got;
	struct help_place place;
	struct fault f;
	FILE *file;

	(void)state;
	help_place_make(&place);
	make_segments(&place, 1, dir);
	snprintf(path, sizeof(path), "%s/seg-00000001", dir);
	file = fopen(path, "w");
	for (unsigned i = 0; i < STARTS; i++)
		fwrite("\x89"
		       "CHUNK\r\n",
		       8, 1, file);
	fclose(file);
	fault_init(&f);
	assert_int_equal(help_read(place.db, &f.io, "all", &got, NULL), 0);
	assert_int_equal(got.samples, 0);
	assert_true(got.damages > 0);
	assert_true(f.read_bytes < STARTS * 8 * 200);
	help_place_remove(&place);
}

static void make_holes(const char *dir, const char *name, off_t size)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

/* Files with holes take no room, and no time either: sizes are held against headers first. */
static void what_is_only_large_is_not_read(void **state)
{
	struct help_place place;
	struct db_verify_totals totals;
	struct help_digest got;
	struct fault f;
	char dir[400], path[450];

	(void)state;
	help_place_make(&place);
	make_segments(&place, 2, dir);
	snprintf(path, sizeof(path), "%s/SEALED", dir);
	assert_int_equal(unlink(path), 0); /* so that it counts */
	make_holes(dir, "seg-00000003", (off_t)20 << 30);
	fault_init(&f);
	assert_int_equal(help_read(place.db, &f.io, "all", &got, NULL), 0);
	assert_true(got.damages >= 3 && got.samples > 0);
	/* Twice: when the epoch is chosen, and when it is read. */
	assert_true(f.read_bytes < (uint64_t)2 * (70 << 20));
	snprintf(path, sizeof(path), "%s/seg-00000003", dir);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/../images", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	make_holes(path, "00aa.symbols", (off_t)1 << 30);
	fault_init(&f);
	assert_int_equal(db_verify(place.db, &f.io, NULL, NULL, &totals, NULL), -EBADMSG);
	assert_int_equal(totals.damaged, 1);
	assert_true(f.read_bytes < 1 << 20);
	help_place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_fails_and_is_tried_again),
		cmocka_unit_test(from_one_call_on_all_fail),
		cmocka_unit_test(an_unseen_epoch_is_whole_or_not_there),
		cmocka_unit_test(an_unseen_epoch_takes_a_free_name),
		cmocka_unit_test(writes_are_short),
		cmocka_unit_test(reading_fails_at_each_call),
		cmocka_unit_test(a_lost_segment_costs_few_calls),
		cmocka_unit_test(a_file_of_false_starts_is_read_a_few_times),
		cmocka_unit_test(what_is_only_large_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
