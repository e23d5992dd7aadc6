/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include "../unit/db_help.h"

/*
 * A disk that is really full, and one that is really read-only: a small file system in memory,
 * which only root may mount, in a mount namespace of our own.
 */
#define DISK_SIZE "size=256k"
#define BALLAST	  (96 << 10) /* freed again, as a person would */

static unsigned number;

static void result(bool good, const char *what, const char *detail)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++number, what);
	if (!good)
		printf("# %s\n", detail);
}

static int flush(struct db_writer *w, uint64_t seed, struct help_digest *sum, struct diag *diag)
{
	struct db_batch *b = db_batch_new(10000);
	struct help_digest d = {0};
	int r = help_fill(b, &d, seed, 2000);

	if (r == 0)
		r = db_writer_flush(w, b, diag);
	if (r == 0) {
		sum->samples += d.samples;
		sum->weighted += d.weighted;
	}
	db_batch_free(b);
	return r;
}

static bool is_whole(const char *db, const struct help_digest *sum)
{
	struct help_digest got;

	return help_read(db, &io_system, "all", &got, NULL) == 0 && !got.damages &&
	       got.samples == sum->samples && got.weighted == sum->weighted;
}

static void test_full(const struct help_place *p, struct help_digest *sum)
{
	struct diag diag = {0};
	struct db_writer *w;
	char ballast[256];
	int fd, r = 0;
	unsigned flushes = 0;

	snprintf(ballast, sizeof(ballast), "%s/ballast", p->dir);
	fd = open(ballast, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, BALLAST) != 0 ||
	    db_writer_open(p->db, TEST_MACHINE, &io_system, &w, &diag) < 0 ||
	    db_writer_begin_epoch(w, TEST_TIME_NS, &diag) < 0) {
		result(false, "a database on a small disk", diag.text);
		return;
	}
	close(fd);
	while ((r = flush(w, flushes, sum, &diag)) == 0 && flushes < 1000)
		flushes++;
	result(r == -ENOSPC && flushes > 1 && strstr(diag.text, "No space left"),
	       "a flush to a full disk says so", diag.text);
	result(is_whole(p->db, sum), "what was acknowledged is still there", "");
	result(db_writer_begin_epoch(w, TEST_TIME_NS, &diag) != 0 || is_whole(p->db, sum),
	       "a new epoch on a full disk loses nothing", diag.text);
	unlink(ballast);
	r = flush(w, flushes, sum, &diag);
	result(r == 0, "the same batch is flushed when there is room again", diag.text);
	result(db_writer_compact(w, NULL, &diag) == 0 && db_writer_close(w, &diag) == 0,
	       "and the database goes on", diag.text);
	result(is_whole(p->db, sum), "with every sample once", "");
}

static void test_read_only(const struct help_place *p, const struct help_digest *sum)
{
	struct diag diag = {0};
	struct db_writer *w;
	int r;

	if (mount(NULL, p->dir, NULL, MS_REMOUNT | MS_RDONLY, DISK_SIZE) < 0) {
		result(false, "a read-only disk", strerror(errno));
		return;
	}
	r = db_writer_open(p->db, TEST_MACHINE, &io_system, &w, &diag);
	result(r == -EROFS && strstr(diag.text, p->db) && strstr(diag.text, "Read-only"),
	       "a writer on a read-only disk says so", diag.text);
	result(is_whole(p->db, sum), "and a reader reads it", "");
}

int main(void)
{
	struct help_digest sum = {0};
	struct help_place p;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		puts("1..0 # skip mounting a small disk needs root");
		return 0;
	}
	help_place_make(&p);
	if (mount("none", p.dir, "tmpfs", 0, DISK_SIZE) < 0) {
		printf("1..0 # skip cannot mount a small disk: %s\n", strerror(errno));
		rmdir(p.dir);
		return 0;
	}
	puts("1..8");
	test_full(&p, &sum);
	test_read_only(&p, &sum);
	umount(p.dir);
	rmdir(p.dir);
	return 0;
}
