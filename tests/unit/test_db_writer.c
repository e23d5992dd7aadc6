/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/blob.h"
#include "db/layout.h"
#include "db_place.h"

static void what_is_flushed_is_read(void **state)
{
	struct help_place *p = *state;
	struct help_digest d = {0};
	struct db_writer *w = place_open_writer(p);

	assert_null(db_writer_epoch(w));
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &d, 1, 500);
	place_expect(p, "last", &d);
	place_flush_random(w, &d, 2, 100000); /* several chunks */
	place_expect(p, "last", &d);
	assert_int_equal(db_writer_segments(w), 2);
	assert_int_equal(db_writer_close(w, NULL), 0);
	place_expect(p, "all", &d);
}

/* As builds of one program do that follow each other, and the run-time code of all processes. */
static void images_may_share_a_path(void **state)
{
	static const struct db_event cycles = {"cycles", 1000003, 0};
	struct help_digest got, expected = {.samples = 8};
	struct db_writer *w = place_open_writer(*state);
	struct db_batch *b = db_batch_new(100);
	uint32_t image, event, subject, profile;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	assert_int_equal(db_batch_event(b, &cycles, &event), 0);
	assert_int_equal(db_batch_subject(b, "", 0, &subject), 0);
	for (uint8_t i = 0; i < expected.samples; i++) {
		struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 20, .bytes = {i, 1}};

		assert_int_equal(db_batch_image(b, &id, "/bin/x", 6, &image), 0);
		assert_int_equal(db_batch_profile(b, image, event, subject, &profile), 0);
		assert_int_equal(db_batch_add(b, profile, i, 1), 0);
	}
	assert_int_equal(db_writer_flush(w, b, NULL), 0);
	assert_int_equal(
		help_read(((struct help_place *)*state)->db, &io_system, "all", &got, NULL), 0);
	if (got.damages)
		fail_msg("%s", got.last_damage);
	assert_int_equal(got.samples, expected.samples);
	db_batch_free(b);
	assert_int_equal(db_writer_close(w, NULL), 0);
}

static void a_second_writer_is_kept_out(void **state)
{
	struct db_writer *w = place_open_writer(*state), *other;
	struct diag diag = {0};
	char pid[32];

	assert_int_equal(db_writer_open(((struct help_place *)*state)->db, TEST_MACHINE, &io_system,
					&other, &diag),
			 -EBUSY);
	snprintf(pid, sizeof(pid), "process %d ", (int)getpid());
	assert_non_null(strstr(diag.text, pid));
	/* Another machine's directory is another matter. */
	assert_int_equal(db_writer_open(((struct help_place *)*state)->db, "other", &io_system,
					&other, &diag),
			 0);
	db_writer_free(other);
	db_writer_free(w);
	w = place_open_writer(*state);
	db_writer_free(w);
}

static void epochs_are_sealed_and_listed(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0}, b = {0};
	struct db_writer *w = place_open_writer(p);
	const struct db_epoch *epochs;
	struct db_reader *r;
	size_t count;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &a, 1, 100);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0); /* the same second */
	assert_string_equal(db_writer_epoch(w), "20261118T110640Z-2");
	place_flush_random(w, &b, 2, 100);
	db_writer_free(w); /* as a crash would leave it: not sealed */
	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_string_equal(epochs[0].name, "20261118T110640Z");
	assert_string_equal(epochs[0].machine, TEST_MACHINE);
	assert_true(epochs[0].sealed && !epochs[1].sealed);
	assert_true(epochs[0].samples == a.samples && epochs[1].samples == b.samples);
	assert_true(epochs[1].start_ns == TEST_TIME_NS + 2);
	assert_true(epochs[1].end_ns == TEST_TIME_NS + 1002);
	w = place_open_writer(p); /* seals what was left */
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + 5000000000u, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &count, NULL), 0);
	assert_int_equal(count, 3);
	assert_true(epochs[1].sealed && !epochs[2].sealed);
	place_expect(p, "last", &b); /* the newest that has data */
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &count, NULL), 0);
	assert_int_equal(count, 2); /* an epoch without data is no epoch */
	db_reader_free(r);
}

static int exists(const struct help_place *p, const char *name, bool make)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/" LAYOUT_IMAGES "/%s", p->db, name);
	fd = open(path, make ? O_WRONLY | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Symbols are kept by many processes, any of which may be killed. */
static void symbols_that_were_not_written_to_the_end_go(void **state)
{
	struct help_place *p = *state;
	char path[512];

	assert_int_equal(db_writer_close(place_open_writer(p), NULL), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/" LAYOUT_IMAGES, p->db);
	assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	assert_true(exists(p, "00aa.symbols", true));
	assert_true(exists(p, "00aa.symbols.0123456789abcdef.tmp", true));
	assert_int_equal(db_writer_close(place_open_writer(p), NULL), 0);
	assert_true(exists(p, "00aa.symbols", false));
	assert_false(exists(p, "00aa.symbols.0123456789abcdef.tmp", false));
}

static void an_epoch_can_be_abandoned(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0}, b = {0};
	struct db_writer *w = place_open_writer(p);

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &a, 1, 100);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + 1000000000, NULL), 0);
	place_flush_random(w, &b, 2, 100);
	db_writer_abandon(w);
	place_expect(p, "all", &a);
	/* Without an epoch there is nothing to remove. */
	db_writer_abandon(place_open_writer(p));
	place_expect(p, "all", &a);
}

static void flush_counter(struct db_writer *w)
{
	struct db_batch *b = db_batch_new(1u << 20);

	assert_int_equal(db_batch_count(b, DB_EVENT_NONE, "records.lost", 3), 0);
	db_batch_interval(b, TEST_TIME_NS, TEST_TIME_NS + 1000);
	assert_int_equal(db_writer_flush(w, b, NULL), 0);
	db_batch_free(b);
}

/* Of a program that did not run, or a machine that idled: what is asked for are samples. */
static void last_has_samples(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0};
	struct db_writer *w = place_open_writer(p);
	const struct db_epoch *const *chosen;
	const char *const *notes;
	struct db_reader *r;
	size_t count, more;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_counter(w);
	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "last", NULL), 0); /* there is no better one */
	db_reader_take_notes(r, &count, &more);
	assert_int_equal(count, 0);
	db_reader_free(r);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + 5000000000u, NULL), 0);
	place_flush_random(w, &a, 1, 100);
	for (unsigned i = 2; i < 4; i++) {
		assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + i * 5000000000u, NULL), 0);
		flush_counter(w);
	}
	place_expect(p, "last", &a);
	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "last", NULL), 0);
	chosen = db_reader_selected(r, &count);
	assert_int_equal(count, 1);
	assert_string_equal(chosen[0]->name, "20261118T110645Z");
	notes = db_reader_take_notes(r, &count, &more);
	assert_int_equal(count, 1);
	assert_non_null(strstr(notes[0], "2 newer epochs have no samples"));
	db_reader_free(r);
	db_writer_free(w);
}

static void expressions_choose_epochs(void **state)
{
	static const struct {
		const char *expression;
		int chosen;
	} cases[] = {
		{"all", 4},
		{"last", 1},
		{"20261118", 3},
		{"20261118T110640Z", 1},
		{"20261118T110640Z-2", 1},
		{"2026", 4},
		{"20261118..20261118", 3},
		{"20261118T12..", 2},
		{"..20261118T110640Z", 2},
		{"20261119..20271119", 1},
		{"..", 4},
		{"2025", -ENOENT},
		{"2027..", -ENOENT},
		{"nonsense", -ENOENT},
		{"", -ENOENT},
	};
	struct help_place *p = *state;
	struct help_digest d = {0};
	struct db_writer *w = place_open_writer(p);
	uint64_t hour_ns = 3600000000000u;
	struct db_reader *r;
	size_t count;

	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "last", NULL), -ENOENT);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t start_ns = TEST_TIME_NS + (i > 1 ? (i - 1) * 9 * hour_ns : 0);

		assert_int_equal(db_writer_begin_epoch(w, start_ns, NULL), 0);
		place_flush_random(w, &d, i, 10);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diag diag = {0};
		int err = db_reader_select(r, cases[i].expression, &diag);

		db_reader_selected(r, &count);
		if ((err < 0 ? err : (int)count) != cases[i].chosen)
			fail_msg("'%s' chose %zu (%d)", cases[i].expression, count, err);
		assert_true(err == 0 || diag.text[0]);
	}
	db_reader_free(r);
	db_writer_free(w);
}

static void a_newer_version_is_refused(void **state)
{
	struct help_place *p = *state;
	struct help_digest d = {0};
	struct db_writer *w = place_open_writer(p);
	struct db_reader *r;
	struct diag diag = {0};
	char path[368];
	FILE *f;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &d, 1, 10);
	assert_int_equal(db_writer_close(w, NULL), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/meta", p->db);
	/* A flipped byte is damage, not a version: the packs are still read. */
	f = fopen(path, "r+");
	fseek(f, 27, SEEK_SET);
	fputc('7', f);
	fclose(f);
	place_expect(p, "all", &d);
	f = fopen(path, "w");
	fputs("culprit database, version 2\nsum ", f);
	fprintf(f, "%016llx\n",
		(unsigned long long)hash_bytes("culprit database, version 2\n", 28));
	fclose(f);
	assert_int_equal(db_reader_open(p->db, &io_system, &r, &diag), -EPROTONOSUPPORT);
	assert_non_null(strstr(diag.text, "version 2"));
	assert_int_equal(db_writer_open(p->db, TEST_MACHINE, &io_system, &w, &diag),
			 -EPROTONOSUPPORT);
}

static void a_reader_says_what_is_not_there(void **state)
{
	struct help_place *p = *state;
	struct diag diag = {0};
	struct db_reader *r;
	struct db_writer *w;

	assert_int_equal(db_reader_open("/nonexistent/db", &io_system, &r, &diag), -ENOENT);
	assert_non_null(strstr(diag.text, "/nonexistent/db"));
	assert_int_equal(db_writer_open(p->db, "../escape", &io_system, &w, &diag), -EINVAL);
	assert_int_equal(db_writer_open("/proc/nowhere", TEST_MACHINE, &io_system, &w, &diag),
			 -ENOENT);
}

static void make_victim(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
}

static void expect_victim(const char *path)
{
	char text[16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, text, sizeof(text)), 8);
	assert_memory_equal(text, "precious", 8);
	close(fd);
}

/* What another user, whose database it is, may have put there for root to write through. */
static void no_link_in_a_database_is_written_through(void **state)
{
	static const struct image_id id = {.kind = IMAGE_CONTENT, .size = 2, .bytes = {7}};
	struct help_place *p = *state;
	struct help_digest d = {0};
	char victim[256], elsewhere[256], machine[256], at[420];
	struct db_writer *w;

	snprintf(victim, sizeof(victim), "%s/victim", p->dir);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", p->dir);
	snprintf(machine, sizeof(machine), "%s/" TEST_MACHINE, p->db);
	make_victim(victim);
	mkdir(elsewhere, 0700);
	mkdir(p->db, 0700);
	assert_int_equal(symlink(elsewhere, machine), 0);
	assert_int_equal(db_writer_open(p->db, TEST_MACHINE, &io_system, &w, NULL), -ENOTDIR);
	assert_int_equal(db_blob_write(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				       "symbols", "abc", 3, NULL),
			 -ENOTDIR);
	unlink(machine);
	mkdir(machine, 0700);
	snprintf(at, sizeof(at), "%s/lock", machine);
	assert_int_equal(symlink(victim, at), 0);
	assert_int_equal(db_writer_open(p->db, TEST_MACHINE, &io_system, &w, NULL), -ELOOP);
	unlink(at);
	assert_int_equal(link(victim, at), 0);
	assert_int_equal(db_writer_open(p->db, TEST_MACHINE, &io_system, &w, NULL), -EMLINK);
	unlink(at);
	w = place_open_writer(p);
	snprintf(at, sizeof(at), "%s/images", machine);
	assert_int_equal(symlink(elsewhere, at), 0);
	assert_int_equal(db_blob_write(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				       "symbols", "abc", 3, NULL),
			 -ENOTDIR);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	snprintf(at, sizeof(at), "%s/%s/seg-00000001.tmp", machine, db_writer_epoch(w));
	assert_int_equal(symlink(victim, at), 0);
	place_flush_random(w, &d, 1, 500);
	place_expect(p, "last", &d);
	assert_int_equal(db_writer_close(w, NULL), 0);
	expect_victim(victim);
	assert_int_equal(rmdir(elsewhere), 0); /* nothing was put there */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(what_is_flushed_is_read),
		PLACE_TEST(images_may_share_a_path),
		PLACE_TEST(a_second_writer_is_kept_out),
		PLACE_TEST(epochs_are_sealed_and_listed),
		PLACE_TEST(symbols_that_were_not_written_to_the_end_go),
		PLACE_TEST(an_epoch_can_be_abandoned),
		PLACE_TEST(last_has_samples),
		PLACE_TEST(expressions_choose_epochs),
		PLACE_TEST(a_newer_version_is_refused),
		PLACE_TEST(a_reader_says_what_is_not_there),
		PLACE_TEST(no_link_in_a_database_is_written_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
