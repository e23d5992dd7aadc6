/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "../unit/db_help.h"

/*
 * A thousand times a writer that flushes, compacts and begins epochs is killed at a moment that a
 * fixed list of random numbers says, while two readers read on. After each kill: no acknowledged
 * flush is lost, none is counted twice, nothing is damaged. Readers see at any time at least what
 * was acknowledged before they began, and no more than what had been begun.
 */
#define GROUPS	   20
#define ROUNDS	   50 /* in a group, on one database */
#define READERS	   2
#define DELAY_NS   6000000u
#define FLUSH_ROWS 40

struct shared {
	atomic_ullong acknowledged; /* samples of flushes that returned 0 */
	atomic_ullong begun;	    /* samples of all flushes that were called */
	atomic_ullong reads;
	atomic_bool stop;
	atomic_uint bad_reads;
	char what[1024]; /* of the last bad read */
};

static struct shared *shared;

struct ack {
	uint64_t seed;
};

static uint64_t flush_seed(unsigned group, unsigned round, unsigned flush)
{
	return ((uint64_t)group << 32) + ((uint64_t)round << 16) + flush;
}

static struct help_digest flush_digest(uint64_t seed)
{
	struct db_batch *b = db_batch_new(1000);
	struct help_digest d = {0};

	help_fill(b, &d, seed, FLUSH_ROWS);
	db_batch_free(b);
	return d;
}

static void writer_fail(const char *what, const struct diag *diag)
{
	fprintf(stderr, "# writer: %s: %s\n", what, diag->text);
	_exit(1);
}

/* Compacts an epoch of a killed predecessor now and then, so that this is interrupted too. */
static void compact_older(struct db_writer *w, const char *db, unsigned round, struct diag *diag)
{
	const struct db_epoch *epochs;
	struct db_reader *r;
	size_t count;

	if (db_reader_open(db, &io_system, &r, diag) < 0 ||
	    db_reader_epochs(r, &epochs, &count, diag) < 0)
		writer_fail("epochs", diag);
	if (count > 1 && db_writer_compact(w, epochs[round % count].name, diag) < 0)
		writer_fail("compact", diag);
	db_reader_free(r);
}

/* Runs until it is killed. */
static void write_forever(const char *db, unsigned group, unsigned round, int ack_fd)
{
	struct diag diag = {0};
	struct db_writer *w;
	struct db_batch *b = db_batch_new(1000);

	if (db_writer_open(db, TEST_MACHINE, &io_system, &w, &diag) < 0 ||
	    db_writer_begin_epoch(w, TEST_TIME_NS + round * 1000000000ull, &diag) < 0)
		writer_fail("open", &diag);
	for (unsigned i = 1;; i++) {
		struct ack ack = {flush_seed(group, round, i)};
		struct help_digest d = {0};

		help_fill(b, &d, ack.seed, FLUSH_ROWS);
		atomic_fetch_add(&shared->begun, d.samples);
		if (db_writer_flush(w, b, &diag) < 0)
			writer_fail("flush", &diag);
		atomic_fetch_add(&shared->acknowledged, d.samples);
		if (write(ack_fd, &ack, sizeof(ack)) != sizeof(ack))
			_exit(1);
		db_batch_clear(b);
		if (i % 4 == 0 && db_writer_compact(w, NULL, &diag) < 0)
			writer_fail("compact", &diag);
		if (i % 9 == 0)
			compact_older(w, db, round, &diag);
		if (i % 13 == 0 &&
		    db_writer_begin_epoch(w, TEST_TIME_NS + round * 1000000000ull, &diag) < 0)
			writer_fail("begin an epoch", &diag);
	}
}

static void read_forever(const char *db)
{
	struct help_digest d;
	struct diag diag;

	while (!atomic_load(&shared->stop)) {
		unsigned long long least = atomic_load(&shared->acknowledged), most;
		int r;

		diag.text[0] = 0;
		r = help_read(db, &io_system, "all", &d, &diag);
		most = atomic_load(&shared->begun);
		atomic_fetch_add(&shared->reads, 1);
		if (r == -ENOENT && !least) /* nothing there yet */
			continue;
		if (r == 0 && !d.damages && d.samples >= least && d.samples <= most)
			continue;
		snprintf(shared->what, sizeof(shared->what),
			 "returned %d (%.200s), %llu samples of %llu to %llu, damage: %.400s", r,
			 diag.text, (unsigned long long)d.samples, least, most,
			 d.damages ? d.last_damage : "none");
		atomic_fetch_add(&shared->bad_reads, 1);
	}
	_exit(0);
}

/* What must be there after each round; what is known when the killed writer's pipe is empty. */
struct expected {
	struct help_digest sum;
	unsigned long long flushes, unacknowledged;
};

static void expect_add(struct expected *e, uint64_t seed)
{
	struct help_digest d = flush_digest(seed);

	e->sum.samples += d.samples;
	e->sum.weighted += d.weighted;
	e->sum.counted += d.counted;
	e->sum.passes += d.passes;
	e->flushes++;
}

static bool is_same(const struct help_digest *a, const struct help_digest *b)
{
	return a->samples == b->samples && a->weighted == b->weighted && a->counted == b->counted;
}

/* True when the database holds what was acknowledged, or that and the flush that was under way. */
static bool check_database(const char *db, struct expected *e, uint64_t next_seed)
{
	struct help_digest got = {0};
	struct expected more = *e;
	struct diag diag = {0};
	int r = help_read(db, &io_system, "all", &got, &diag);

	if (r < 0 && (r != -ENOENT || e->sum.samples)) {
		printf("# %s\n", diag.text);
		return false;
	}
	if (got.damages)
		printf("# %s\n", got.last_damage);
	if (!got.damages && is_same(&got, &e->sum))
		return true;
	expect_add(&more, next_seed);
	if (got.damages || !is_same(&got, &more.sum)) {
		printf("# %llu samples acknowledged, %llu read\n",
		       (unsigned long long)e->sum.samples, (unsigned long long)got.samples);
		return false;
	}
	more.unacknowledged++;
	*e = more;
	return true;
}

static bool run_round(const char *db, unsigned group, unsigned round, uint64_t *random,
		      struct expected *e)
{
	struct timespec delay = {.tv_nsec = (long)(help_random(random) % DELAY_NS)};
	uint64_t last_seed = flush_seed(group, round, 0);
	struct ack ack;
	int pipe_fd[2], status;
	pid_t pid;
	bool good;

	if (pipe(pipe_fd) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		write_forever(db, group, round, pipe_fd[1]);
	close(pipe_fd[1]);
	nanosleep(&delay, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	while (read(pipe_fd[0], &ack, sizeof(ack)) == sizeof(ack)) {
		expect_add(e, ack.seed);
		last_seed = ack.seed;
	}
	close(pipe_fd[0]);
	good = WIFSIGNALED(status) && check_database(db, e, last_seed + 1);
	atomic_store(&shared->acknowledged, e->sum.samples);
	return good;
}

static void run_group(unsigned group, uint64_t *random)
{
	struct db_verify_totals totals;
	struct expected e = {0};
	struct help_place place;
	pid_t readers[READERS];
	unsigned bad_rounds = 0;
	int verified;

	/* Killing a process does not test the disk: memory is faster, where there is such a place.
	 */
	help_place_make_in(&place, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL);
	memset(shared, 0, sizeof(*shared));
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = fork();
		if (readers[i] == 0)
			read_forever(place.db);
	}
	for (unsigned round = 0; round < ROUNDS; round++)
		bad_rounds += !run_round(place.db, group, round, random, &e);
	atomic_store(&shared->stop, true);
	for (unsigned i = 0; i < READERS; i++)
		waitpid(readers[i], NULL, 0);
	verified = db_verify(place.db, &io_system, NULL, NULL, &totals, NULL);
	if (atomic_load(&shared->bad_reads))
		printf("# a reader: %s\n", shared->what);
	printf("%sok %u - %d kills: %llu flushes acknowledged, %llu more found, %llu reads beside, "
	       "%u bad, %u rounds wrong, %llu samples verified\n",
	       bad_rounds || atomic_load(&shared->bad_reads) || verified < 0 ||
			       totals.of[CHUNK_ROWS].sum != e.sum.samples ||
			       totals.of[CHUNK_EDGES].sum != e.sum.passes
		       ? "not "
		       : "",
	       group + 1, ROUNDS, e.flushes - e.unacknowledged, e.unacknowledged,
	       (unsigned long long)atomic_load(&shared->reads),
	       (unsigned)atomic_load(&shared->bad_reads), bad_rounds,
	       (unsigned long long)(verified < 0 ? 0 : totals.of[CHUNK_ROWS].sum));
	help_place_remove(&place);
}

int main(void)
{
	uint64_t random = 20261121;

	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	printf("1..%d\n", GROUPS);
	for (unsigned group = 0; group < GROUPS; group++)
		run_group(group, &random);
	return 0;
}
