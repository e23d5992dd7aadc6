/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "db_help.h"

static int make_place(void **state)
{
	static struct help_place p;

	help_place_make(&p);
	*state = &p;
	return 0;
}

static int remove_place(void **state)
{
	help_place_remove(*state);
	return 0;
}

static struct db_writer *open_writer(const struct help_place *p)
{
	struct db_writer *w;
	struct diag diag = {0};
	int r = db_writer_open(p->db, TEST_MACHINE, &io_system, &w, &diag);

	if (r < 0)
		fail_msg("%s", diag.text);
	return w;
}

static void flush_random(struct db_writer *w, struct help_digest *d, uint64_t seed, unsigned count)
{
	struct db_batch *b = db_batch_new(1u << 20);
	struct diag diag = {0};

	assert_int_equal(help_fill(b, d, seed, count), 0);
	assert_int_equal(db_batch_fact(b, "kernel", "6.18"), 0);
	db_batch_interval(b, TEST_TIME_NS + seed, TEST_TIME_NS + seed + 1000);
	if (db_writer_flush(w, b, &diag) < 0)
		fail_msg("%s", diag.text);
	db_batch_free(b);
}

static void expect_digest(const struct help_place *p, const char *epochs,
			  const struct help_digest *expected)
{
	struct help_digest got;
	struct diag diag = {0};

	if (help_read(p->db, &io_system, epochs, &got, &diag) < 0)
		fail_msg("%s", diag.text);
	if (got.damages)
		fail_msg("%s", got.last_damage);
	assert_true(got.samples == expected->samples);
	assert_true(got.weighted == expected->weighted);
	assert_true(got.counted == expected->counted);
}

static void what_is_flushed_is_read(void **state)
{
	struct help_place *p = *state;
	struct help_digest d = {0};
	struct db_writer *w = open_writer(p);

	assert_null(db_writer_epoch(w));
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_random(w, &d, 1, 500);
	expect_digest(p, "last", &d);
	flush_random(w, &d, 2, 100000); /* several chunks */
	expect_digest(p, "last", &d);
	assert_int_equal(db_writer_segments(w), 2);
	assert_int_equal(db_writer_close(w, NULL), 0);
	expect_digest(p, "all", &d);
}

/* As builds of one program do that follow each other, and the run-time code of all processes. */
static void images_may_share_a_path(void **state)
{
	static const struct db_event cycles = {"cycles", 1000003, 0};
	struct help_digest got, expected = {.samples = 8};
	struct db_writer *w = open_writer(*state);
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
	struct db_writer *w = open_writer(*state), *other;
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
	w = open_writer(*state);
	db_writer_free(w);
}

static void epochs_are_sealed_and_listed(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0}, b = {0};
	struct db_writer *w = open_writer(p);
	const struct db_epoch *epochs;
	struct db_reader *r;
	size_t count;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_random(w, &a, 1, 100);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0); /* the same second */
	assert_string_equal(db_writer_epoch(w), "20261118T110640Z-2");
	flush_random(w, &b, 2, 100);
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
	w = open_writer(p); /* seals what was left */
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + 5000000000u, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &count, NULL), 0);
	assert_int_equal(count, 3);
	assert_true(epochs[1].sealed && !epochs[2].sealed);
	expect_digest(p, "last", &b); /* the newest that has data */
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_reader_epochs(r, &epochs, &count, NULL), 0);
	assert_int_equal(count, 2); /* an epoch without data is no epoch */
	db_reader_free(r);
}

static void an_epoch_can_be_abandoned(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0}, b = {0};
	struct db_writer *w = open_writer(p);

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_random(w, &a, 1, 100);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + 1000000000, NULL), 0);
	flush_random(w, &b, 2, 100);
	db_writer_abandon(w);
	expect_digest(p, "all", &a);
	/* Without an epoch there is nothing to remove. */
	db_writer_abandon(open_writer(p));
	expect_digest(p, "all", &a);
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
	struct db_writer *w = open_writer(p);
	uint64_t hour_ns = 3600000000000u;
	struct db_reader *r;
	size_t count;

	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "last", NULL), -ENOENT);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t start_ns = TEST_TIME_NS + (i > 1 ? (i - 1) * 9 * hour_ns : 0);

		assert_int_equal(db_writer_begin_epoch(w, start_ns, NULL), 0);
		flush_random(w, &d, i, 10);
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
	struct db_writer *w = open_writer(p);
	struct db_reader *r;
	struct diag diag = {0};
	char path[368];
	FILE *f;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_random(w, &d, 1, 10);
	assert_int_equal(db_writer_close(w, NULL), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/meta", p->db);
	/* A flipped byte is damage, not a version: the packs are still read. */
	f = fopen(path, "r+");
	fseek(f, 27, SEEK_SET);
	fputc('7', f);
	fclose(f);
	expect_digest(p, "all", &d);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_flushed_is_read, make_place, remove_place),
		cmocka_unit_test_setup_teardown(images_may_share_a_path, make_place, remove_place),
		cmocka_unit_test_setup_teardown(a_second_writer_is_kept_out, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(epochs_are_sealed_and_listed, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(an_epoch_can_be_abandoned, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(expressions_choose_epochs, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_newer_version_is_refused, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_reader_says_what_is_not_there, make_place,
						remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
