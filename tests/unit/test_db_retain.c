/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "db/age.h"
#include "db/blob.h"
#include "db_place.h"

/* What retention removes, by clocks that the test sets, and never the machine's own. */

#define HOUR_NS 3600000000000ull
#define DAY_NS	(24 * HOUR_NS)
#define YEAR_NS (365 * DAY_NS)

struct scene {
	struct help_place place;
	struct help_clock clock;
	struct db_writer *w;
	uint64_t seed;
};

static void open_writer(struct scene *s)
{
	struct diag diag = {0};

	if (db_writer_open(s->place.db, TEST_MACHINE, &s->clock.io, &s->w, &diag) < 0)
		fail_msg("%s", diag.text);
}

static int set_up(void **state)
{
	static struct scene s;

	s = (struct scene){0};
	help_place_make(&s.place);
	help_clock_init(&s.clock, TEST_TIME_NS);
	open_writer(&s);
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	db_writer_free(s->w);
	help_place_remove(&s->place);
	return 0;
}

/* Records for so long into an epoch of its own. */
static void record(struct scene *s, uint64_t ns)
{
	struct help_digest d = {0};
	struct db_batch *b = db_batch_new(1u << 20);

	assert_int_equal(db_writer_begin_epoch(s->w, s->clock.now.wall_ns, NULL), 0);
	assert_int_equal(help_fill(b, &d, ++s->seed, 300), 0);
	help_clock_pass(&s->clock, ns);
	db_batch_interval(b, s->clock.now.wall_ns - ns, s->clock.now.wall_ns);
	assert_int_equal(db_writer_flush(s->w, b, NULL), 0);
	db_batch_free(b);
}

static unsigned retain(struct scene *s, uint64_t age_ns, uint64_t bytes)
{
	struct diag diag = {0};
	unsigned removed = 0;

	if (db_writer_retain(s->w, age_ns, bytes, &removed, &diag) < 0)
		fail_msg("%s", diag.text);
	return removed;
}

struct seen {
	size_t count, future;
	bool last_is_future, noted;
};

/* What a report of now sees. */
static struct seen look(struct scene *s)
{
	const struct db_epoch *epochs, *const *last;
	const char *const *notes;
	struct db_visitor v = {0};
	struct seen seen = {0};
	struct db_reader *r;
	size_t count, more;

	assert_int_equal(db_reader_open(s->place.db, &s->clock.io, &r, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &seen.count, NULL), 0);
	for (size_t i = 0; i < seen.count; i++)
		seen.future += epochs[i].future;
	assert_int_equal(db_reader_select(r, "last", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	last = db_reader_selected(r, &count);
	assert_int_equal(count, 1);
	seen.last_is_future = last[0]->future;
	notes = db_reader_take_notes(r, &count, &more);
	seen.noted = count > 0 && strstr(notes[0], "in the future");
	db_reader_free(r);
	return seen;
}

static void the_newest_three_stay(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 6; i++)
		record(s, HOUR_NS);
	help_clock_pass(&s->clock, 4 * HOUR_NS);
	assert_int_equal(retain(s, 0, 0), 0);
	/* Sealed 9, 8, 7, 6, 5 hours ago, the last not at all. */
	assert_int_equal(retain(s, 9 * HOUR_NS - HOUR_NS / 2, 1u << 30), 1);
	assert_int_equal(look(s).count, 5);
	assert_int_equal(retain(s, 1, 0), 2);
	assert_int_equal(retain(s, 1, 1), 0);
	assert_int_equal(look(s).count, 3);
}

/* The first case of a clock that jumps: forward for a while, and back. */
static void a_jump_forward_deletes_nothing(void **state)
{
	struct scene *s = *state;
	struct seen seen;

	for (unsigned i = 0; i < 20; i++)
		record(s, DAY_NS);
	s->clock.now.wall_ns += 127 * YEAR_NS;
	record(s, HOUR_NS);
	assert_int_equal(retain(s, 30 * DAY_NS, 0), 0);
	assert_false(look(s).future); /* as far as anybody can know */
	s->clock.now.wall_ns -= 127 * YEAR_NS;
	record(s, HOUR_NS);
	assert_int_equal(retain(s, 30 * DAY_NS, 0), 0);
	seen = look(s);
	assert_int_equal(seen.count, 22);
	assert_int_equal(seen.future, 1);
	assert_false(seen.last_is_future);
	assert_true(seen.noted);
}

/* ... and its epoch goes with those of its age, whatever its name. */
static void an_epoch_of_the_future_goes_by_its_age(void **state)
{
	struct scene *s = *state;
	unsigned days = 0;

	s->clock.now.wall_ns += 127 * YEAR_NS;
	record(s, HOUR_NS);
	s->clock.now.wall_ns -= 127 * YEAR_NS;
	for (; look(s).future || !days; days++) {
		record(s, DAY_NS);
		retain(s, 10 * DAY_NS, 0);
		assert_true(days < 20);
	}
	assert_true(days >= 10);
	assert_false(look(s).noted);
}

/* A clock that is wrong from the start of the machine on is no better. */
static void a_clock_far_ahead_at_boot_deletes_nothing(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 20; i++)
		record(s, DAY_NS);
	db_writer_free(s->w);
	s->clock.now = (struct io_time){.wall_ns = s->clock.now.wall_ns + 127 * YEAR_NS,
					.boot_ns = 60000000000,
					.boot_id = "second"};
	open_writer(s);
	record(s, DAY_NS);
	/* A day of that makes AGE_RATE days of age: these four are gone, not all. */
	assert_int_equal(retain(s, 20 * DAY_NS, 0), AGE_RATE - 1);
	assert_int_equal(look(s).count, 21 - AGE_RATE + 1);
}

/* Time that a machine is off is caught up with, not forgotten. */
static void a_machine_that_was_off_ages_in_the_end(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 5; i++)
		record(s, DAY_NS);
	assert_int_equal(db_writer_close(s->w, NULL), 0);
	s->clock.now = (struct io_time){.wall_ns = s->clock.now.wall_ns + 60 * DAY_NS,
					.boot_ns = 1000000000,
					.boot_id = "second"};
	open_writer(s);
	for (unsigned i = 0; i < 3; i++)
		record(s, DAY_NS);
	assert_int_equal(retain(s, 30 * DAY_NS, 0), 0);
	help_clock_pass(&s->clock, 17 * DAY_NS);
	assert_int_equal(retain(s, 65 * DAY_NS, 0), 5);
}

/* Within one start the age goes on where a writer that died has left it. */
static void the_age_survives_the_writer(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 5; i++)
		record(s, HOUR_NS);
	db_writer_free(s->w);
	help_clock_pass(&s->clock, DAY_NS);
	s->clock.now.wall_ns = 0; /* and nobody needs the wall clock */
	open_writer(s);
	assert_int_equal(retain(s, DAY_NS + HOUR_NS / 2, 0), 2);
}

static void a_clock_set_back_deletes_nothing(void **state)
{
	struct scene *s = *state;

	for (unsigned i = 0; i < 5; i++)
		record(s, DAY_NS);
	s->clock.now.wall_ns -= 26 * YEAR_NS;
	record(s, HOUR_NS);
	assert_int_equal(retain(s, 30 * DAY_NS, 0), 0);
	s->clock.now.wall_ns += 26 * YEAR_NS;
	record(s, HOUR_NS);
	assert_int_equal(retain(s, 30 * DAY_NS, 0), 0);
	/* The one with the oldest name is not the oldest. */
	assert_int_equal(retain(s, DAY_NS, 0), 4);
	assert_int_equal(look(s).count, 3);
}

static void put_file(const struct scene *s, const char *name, off_t holes, size_t size)
{
	static const char block[4096];
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s", s->place.db, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, holes), 0);
	for (; size; size -= sizeof(block))
		assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

/* All blobs were written so long after the start of the scene. */
static void date_blobs(const struct scene *s, uint64_t ns)
{
	struct timespec t[2] = {{.tv_sec = (time_t)((TEST_TIME_NS + ns) / 1000000000)}};
	char path[300];
	struct dirent *e;
	DIR *d;

	t[1] = t[0];
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/images", s->place.db);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			assert_int_equal(utimensat(dirfd(d), e->d_name, t, 0), 0);
	closedir(d);
}

/* What is of no epoch counts too; what only seems large does not. */
static void all_of_the_database_counts_for_its_size(void **state)
{
	struct scene *s = *state;
	char path[512];

	for (unsigned i = 0; i < 6; i++)
		record(s, HOUR_NS);
	assert_int_equal(retain(s, 0, 1 << 20), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/images", s->place.db);
	assert_int_equal(mkdir(path, 0700), 0);
	put_file(s, "images/holes.symbols", (off_t)20 << 30, 0);
	assert_int_equal(retain(s, 0, 1 << 20), 0);
	put_file(s, "large", 0, 2 << 20);
	assert_int_equal(retain(s, 0, 1 << 20), 3);
	assert_int_equal(look(s).count, 3);
}

/* No more epochs go than must. */
static void only_the_oldest_go_for_size(void **state)
{
	struct scene *s = *state;
	const struct db_epoch *epochs;
	struct db_reader *r;
	uint64_t bytes = 0;
	size_t count;

	for (unsigned i = 0; i < 6; i++)
		record(s, HOUR_NS);
	assert_int_equal(db_reader_open(s->place.db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &count, NULL), 0);
	for (size_t i = 0; i < count; i++)
		bytes += epochs[i].bytes;
	db_reader_free(r);
	assert_int_equal(retain(s, 0, bytes - 1), 1);
}

static bool has_file(const struct scene *s, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s", s->place.db, name);
	return access(path, F_OK) == 0;
}

/* Somebody ran many large programs: what is kept of them takes the half, and no history. */
static void blobs_do_not_drive_history_out(void **state)
{
	struct scene *s = *state;
	char path[512];

	for (unsigned i = 0; i < 6; i++)
		record(s, HOUR_NS);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/images", s->place.db);
	assert_int_equal(mkdir(path, 0700), 0);
	put_file(s, "images/aa.symbols", 0, 384 << 10);
	put_file(s, "images/aa.code", 0, 64 << 10);
	put_file(s, "images/bb.code", 0, 768 << 10);
	put_file(s, "images/cc.lines", 0, 512 << 10);
	date_blobs(s, 6 * HOUR_NS);
	assert_int_equal(retain(s, 0, 2 << 20), 0);
	assert_true(has_file(s, "images/bb.code")); /* as long as there is room */
	assert_int_equal(db_writer_trimmed(s->w), 0);
	assert_int_equal(retain(s, 0, 1 << 20), 0);
	assert_false(has_file(s, "images/bb.code"));
	assert_false(has_file(s, "images/cc.lines"));
	assert_true(has_file(s, "images/aa.code"));
	assert_int_equal(db_writer_trimmed(s->w), 2);
	assert_int_equal(retain(s, 0, 420 << 10), 0);
	assert_false(has_file(s, "images/aa.code"));
	assert_false(has_file(s, "images/aa.symbols"));
	assert_int_equal(db_writer_trimmed(s->w), 4);
	assert_int_equal(look(s).count, 6);
}

static int read_blob(const struct scene *s, const struct image_id *id)
{
	void *data;
	size_t size;
	int r = db_blob_read(&(struct db_blobs){s->place.db, NULL, &io_system}, id, "symbols", 100,
			     &data, &size, NULL);

	if (r == 0)
		free(data);
	return r;
}

static void write_blob(const struct scene *s, const struct image_id *id)
{
	assert_int_equal(db_blob_write(&(struct db_blobs){s->place.db, TEST_MACHINE, &io_system},
				       id, "symbols", "abc", 3, NULL),
			 0);
}

static void blobs_go_with_the_last_epoch_of_their_image(void **state)
{
	/* See db_help.h: sampled, gone to by edges, in stacks only, targets of raw records only. */
	static const struct image_id known[] = {
		{.kind = IMAGE_BUILD_ID, .size = 20, .bytes = {0, 1, 2, 3}},
		{.kind = IMAGE_CONTENT, .size = 20, .bytes = {3, 1, 4}},
		{.kind = IMAGE_CONTENT, .size = 20, .bytes = {2, 7, 1}},
		{.kind = IMAGE_CONTENT, .size = 20, .bytes = {1, 6, 1}},
	};
	static const struct image_id stranger = {.kind = IMAGE_CONTENT, .size = 2, .bytes = {7}};
	const size_t known_count = sizeof(known) / sizeof(*known);
	struct scene *s = *state;

	for (unsigned i = 0; i < 4; i++)
		record(s, HOUR_NS);
	for (size_t i = 0; i < known_count; i++)
		write_blob(s, &known[i]);
	write_blob(s, &stranger);
	date_blobs(s, 0);
	help_clock_pass(&s->clock, 48 * HOUR_NS);
	assert_int_equal(retain(s, 1, 0), 1);
	for (size_t i = 0; i < known_count; i++)
		assert_int_equal(read_blob(s, &known[i]), 0);
	assert_int_equal(read_blob(s, &stranger), -ENOENT);
}

static bool packs_fail;

static int failing_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	if (packs_fail && !strncmp(path, "seg-", 4))
		return -EIO;
	return io_system.open(arg, dirfd, path, flags, mode);
}

/* A disk that does not answer now: what is in use is not known, so nothing goes. */
static void blobs_stay_while_epochs_cannot_be_read(void **state)
{
	static const struct image_id known = {
		.kind = IMAGE_BUILD_ID, .size = 20, .bytes = {0, 1, 2, 3}};
	struct scene *s = *state;
	struct diag diag = {0};
	unsigned removed;

	for (unsigned i = 0; i < 4; i++)
		record(s, HOUR_NS);
	write_blob(s, &known);
	date_blobs(s, 0);
	help_clock_pass(&s->clock, 48 * HOUR_NS);
	s->clock.io.open = failing_open;
	packs_fail = true;
	assert_true(db_writer_retain(s->w, 1, 0, &removed, &diag) < 0);
	packs_fail = false;
	assert_int_equal(read_blob(s, &known), 0);
}

/* A young blob may be of samples that are not written yet, also to a clock that is ahead. */
static void young_blobs_stay_whatever_the_clock(void **state)
{
	static const struct image_id stranger = {.kind = IMAGE_CONTENT, .size = 2, .bytes = {7}};
	struct scene *s = *state;

	for (unsigned i = 0; i < 4; i++)
		record(s, HOUR_NS);
	write_blob(s, &stranger);
	date_blobs(s, 4 * HOUR_NS);
	s->clock.now.wall_ns += 127 * YEAR_NS;
	assert_int_equal(retain(s, 1, 0), 1);
	assert_int_equal(read_blob(s, &stranger), 0);
	/* One that such a clock has dated goes. */
	s->clock.now.wall_ns -= 127 * YEAR_NS;
	date_blobs(s, 127 * YEAR_NS);
	record(s, HOUR_NS);
	assert_int_equal(retain(s, 1, 0), 1);
	assert_int_equal(read_blob(s, &stranger), -ENOENT);
}

/* Somebody's things with the names of epochs, in all places and among the oldest. */
static void strange_things_do_not_keep_others(void **state)
{
	struct scene *s = *state;
	char path[512];
	unsigned removed;

	for (unsigned i = 0; i < 6; i++)
		record(s, HOUR_NS);
	put_file(s, "20010101T000000Z", 0, 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/20010102T000000Z", s->place.db);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/images", s->place.db);
	assert_int_equal(symlink("/tmp", path), 0);
	removed = retain(s, 1, 0);
	assert_int_equal(removed, 3);
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(the_newest_three_stay),
		SCENE(a_jump_forward_deletes_nothing),
		SCENE(an_epoch_of_the_future_goes_by_its_age),
		SCENE(a_clock_far_ahead_at_boot_deletes_nothing),
		SCENE(a_machine_that_was_off_ages_in_the_end),
		SCENE(the_age_survives_the_writer),
		SCENE(a_clock_set_back_deletes_nothing),
		SCENE(all_of_the_database_counts_for_its_size),
		SCENE(only_the_oldest_go_for_size),
		SCENE(blobs_do_not_drive_history_out),
		SCENE(blobs_go_with_the_last_epoch_of_their_image),
		SCENE(blobs_stay_while_epochs_cannot_be_read),
		SCENE(young_blobs_stay_whatever_the_clock),
		SCENE(strange_things_do_not_keep_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
