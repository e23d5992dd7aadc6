/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "db/seal.h"
#include "db_place.h"

/*
 * What a sealed epoch is made of, and what lies in a database that is none of it: each such
 * thing costs itself only, and is named.
 */

#define EPOCH "20261118T110640Z"

static void in_machine(const struct help_place *p, const char *name, char out[400])
{
	snprintf(out, 400, "%s/" TEST_MACHINE "/%s", p->db, name);
}

/* Three segments in an epoch; sealed: and closed. */
static struct db_writer *make(const struct help_place *p, struct help_digest parts[3], bool sealed)
{
	struct db_writer *w = place_open_writer(p);

	memset(parts, 0, 3 * sizeof(*parts));
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		place_flush_random(w, &parts[i], i, 50);
	if (!sealed)
		return w;
	assert_int_equal(db_writer_close(w, NULL), 0);
	return NULL;
}

static struct help_findings verify(const struct help_place *p)
{
	struct db_verify_totals totals;
	struct help_findings f = {0};
	int r = db_verify(p->db, &io_system, help_keep_finding, &f, &totals, NULL);

	assert_int_equal(r, f.count ? -EBADMSG : 0);
	return f;
}

/* Of all that a report would read. */
static struct help_digest read_all(const struct help_place *p)
{
	struct help_digest got;
	struct diag diag = {0};

	if (help_read(p->db, &io_system, "all", &got, &diag) < 0)
		fail_msg("%s", diag.text);
	return got;
}

static void a_lost_file_is_named(void **state)
{
	static const char *const names[] = {"seg-00000001", "seg-00000002", "seg-00000003"};
	struct help_place *p = *state;
	struct help_digest parts[3], got;
	struct help_findings f;
	char path[400], name[64];
	uint64_t left;

	make(p, parts, true);
	left = parts[0].samples + parts[1].samples + parts[2].samples;
	assert_int_equal(verify(p).count, 0);
	for (unsigned i = 0; i < 3; i++) {
		char lost[64];

		snprintf(name, sizeof(name), EPOCH "/%s", names[i]);
		in_machine(p, name, path);
		assert_int_equal(unlink(path), 0);
		left -= parts[i].samples;
		got = read_all(p);
		assert_true(got.samples == left);
		assert_int_equal(got.damages, i + 1);
		f = verify(p);
		assert_int_equal(f.count, i + 1);
		assert_non_null(strstr(f.last, names[i]));
		snprintf(lost, sizeof(lost), "lost: %llu samples",
			 (unsigned long long)parts[i].samples);
		assert_non_null(strstr(f.last, lost));
	}
	/* The next writer does not take it for an epoch that never had data. */
	db_writer_free(place_open_writer(p));
	assert_int_equal(verify(p).count, 3);
}

static void a_base_is_sealed_in_place_of_its_segments(void **state)
{
	struct help_place *p = *state;
	struct help_digest parts[3], whole, got;
	char path[400];
	struct db_writer *w;

	make(p, parts, true);
	whole = read_all(p);
	w = place_open_writer(p);
	assert_int_equal(db_writer_compact(w, EPOCH, NULL), 0);
	db_writer_free(w);
	assert_int_equal(verify(p).count, 0);
	got = read_all(p);
	assert_true(got.weighted == whole.weighted && !got.damages);
	in_machine(p, EPOCH "/base-00000001-00000003", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(verify(p).count, 1);
	assert_int_equal(read_all(p).damages, 1);
}

static void copy(const char *from, const char *to)
{
	char bytes[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n = read(in, bytes, sizeof(bytes));

	assert_true(in >= 0 && out >= 0 && n > 0 && n < (ssize_t)sizeof(bytes));
	assert_int_equal(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
}

/* A sound pack, but not the one that was there. */
static void another_file_is_told_from_the_sealed_one(void **state)
{
	struct help_place *p = *state;
	struct help_digest parts[3];
	char one[400], two[400], four[400];
	struct help_findings f;

	make(p, parts, true);
	in_machine(p, EPOCH "/seg-00000001", one);
	in_machine(p, EPOCH "/seg-00000002", two);
	in_machine(p, EPOCH "/seg-00000004", four);
	copy(one, four);
	f = verify(p);
	assert_int_equal(f.count, 1);
	assert_non_null(strstr(f.last, "seg-00000004 was not there when the epoch was sealed"));
	assert_true(read_all(p).samples == parts[0].samples + parts[1].samples + parts[2].samples);
	assert_int_equal(unlink(four), 0);
	copy(one, two);
	f = verify(p);
	assert_int_equal(f.count, 1);
	assert_non_null(strstr(f.last, "seg-00000002 is another file"));
	assert_int_equal(read_all(p).damages, 1);
}

static void every_byte_of_the_seal_is_checked(void **state)
{
	struct help_place *p = *state;
	struct help_digest parts[3];
	char path[400];
	uint8_t byte, flipped;
	off_t size;
	int fd;

	make(p, parts, true);
	in_machine(p, EPOCH "/SEALED", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size > 100);
	for (off_t at = 0; at < size; at++) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		flipped = byte ^ (uint8_t)(1u << (at % 8));
		assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
		if (verify(p).count != 1)
			fail_msg("byte %ld", (long)at);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(verify(p).count, 0);
	for (off_t at = size - 1; at >= 0; at--) {
		struct help_digest got;

		assert_int_equal(ftruncate(fd, at), 0);
		got = read_all(p);
		assert_int_equal(got.damages, 1);
		assert_true(got.samples == parts[0].samples + parts[1].samples + parts[2].samples);
	}
	close(fd);
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/*
 * Sealed with a base that was damaged then, and so with the segments that it covers. When the base
 * can be read again they would be in the way no more; but the seal names them.
 */
static void what_a_seal_names_stays(void **state)
{
	static const char *const names[] = {"seg-00000001", "seg-00000002", "seg-00000003"};
	struct help_place *p = *state;
	struct help_digest parts[3], whole;
	char path[400], name[64], kept[3][400];
	struct db_writer *w = make(p, parts, false);

	whole = read_all(p);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), EPOCH "/%s", names[i]);
		in_machine(p, name, path);
		in_machine(p, names[i], kept[i]);
		copy(path, kept[i]);
	}
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	db_writer_free(w);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), EPOCH "/%s", names[i]);
		in_machine(p, name, path);
		assert_int_equal(rename(kept[i], path), 0);
	}
	in_machine(p, EPOCH "/base-00000001-00000003", path);
	flip(path, 700);
	db_writer_free(place_open_writer(p));
	flip(path, 700);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(verify(p).count, 0);
		assert_true(read_all(p).weighted == whole.weighted);
		db_writer_free(place_open_writer(p));
	}
}

enum strange { A_FILE, A_FIFO, A_SOCKET, A_LINK, A_LOOP, A_DIRECTORY, STRANGE_KINDS };

static void put_strange(const char *path, enum strange kind)
{
	int fd;

	switch (kind) {
	case A_FILE:
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "what is this?", 13), 13);
		close(fd);
		return;
	case A_FIFO:
		assert_int_equal(mkfifo(path, 0600), 0);
		return;
	case A_SOCKET:
		assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
		return;
	case A_LINK:
		assert_int_equal(symlink("/dev/zero", path), 0);
		return;
	case A_LOOP:
		assert_int_equal(symlink(path, path), 0);
		return;
	default:
		assert_int_equal(mkdir(path, 0700), 0);
	}
}

/* The database goes on: it is read, checked, written to, compacted, and old epochs go. */
static void expect_alive(const struct help_place *p, const struct help_digest *whole)
{
	struct help_digest more = {0}, got;
	struct diag diag = {0};
	struct db_writer *w;
	unsigned removed;

	got = read_all(p);
	assert_true(got.samples == whole->samples && got.weighted == whole->weighted);
	assert_int_equal(help_read(p->db, &io_system, "last", &got, NULL), 0);
	assert_true(got.samples > 0);
	w = place_open_writer(p);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS + 1000000000, NULL), 0);
	place_flush_random(w, &more, 9, 50);
	place_flush_random(w, &more, 10, 50);
	if (db_writer_compact(w, NULL, &diag) < 0 || db_writer_compact(w, EPOCH, &diag) < 0 ||
	    db_writer_retain(w, 0, 1, &removed, &diag) < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_true(read_all(p).samples == whole->samples + more.samples);
}

static void strange_things_cost_only_themselves(void **state)
{
	/* In the places of an epoch, of the blobs, of packs, of what counts for nothing. */
	static const struct {
		const char *name;
		bool is_damage; /* to be named by verify */
		bool directory_is_fine;
	} places[] = {
		{"20261117T000000Z", true, true},
		{"21531118T000000Z", true, true},
		{"images", true, true},
		{EPOCH "/seg-00000004", true, false},
		{EPOCH "/base-00000009-00000003", true, false},
		{EPOCH "/base-99999999-99999999", true, false},
		{EPOCH "/x.tmp", false, true},
		{"x.tmp", false, true},
		{"making-20261118T000000Z", false, true},
		{"removing-20261118T000000Z", false, true},
		{"nothing of ours", false, true},
	};
	struct help_place *p = *state;
	struct help_digest parts[3], whole;
	struct help_findings f;
	char path[400];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (unsigned kind = 0; kind < STRANGE_KINDS; kind++) {
			const char *base = strrchr(places[i].name, '/');
			bool named = places[i].is_damage &&
				     !(kind == A_DIRECTORY && places[i].directory_is_fine);

			help_place_remove(p);
			help_place_make(p);
			make(p, parts, true);
			whole = read_all(p);
			in_machine(p, places[i].name, path);
			put_strange(path, kind);
			f = verify(p);
			if (f.count != named)
				fail_msg("%s, kind %u: %u findings: %s", places[i].name, kind,
					 f.count, f.last);
			if (named)
				assert_non_null(strstr(f.last, base ? base + 1 : places[i].name));
			expect_alive(p, &whole);
		}
}

/* Something in the way of what the writer is about to write, a filled directory too. */
static void nothing_stands_in_the_way(void **state)
{
	static const char *const places[] = {
		EPOCH "/seg-00000004",
		EPOCH "/seg-00000004.tmp",
		EPOCH "/base-00000001-00000004.tmp",
		EPOCH "/SEALED",
		"removing-" EPOCH,
	};
	struct help_place *p = *state;
	char path[400], inside[420];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (unsigned kind = 0; kind <= STRANGE_KINDS; kind++) {
			struct help_digest parts[3], more = {0}, got;
			struct diag diag = {0};
			struct db_writer *w;
			unsigned removed;

			help_place_remove(p);
			help_place_make(p);
			w = make(p, parts, false);
			in_machine(p, places[i], path);
			put_strange(path, kind < STRANGE_KINDS ? kind : A_DIRECTORY);
			snprintf(inside, sizeof(inside), "%s/x", path);
			if (kind == STRANGE_KINDS)
				put_strange(inside, A_DIRECTORY);
			place_flush_random(w, &more, 9, 50);
			if (db_writer_compact(w, NULL, &diag) < 0 ||
			    db_writer_begin_epoch(w, TEST_TIME_NS + 1000000000, &diag) < 0)
				fail_msg("%s, kind %u: %s", places[i], kind, diag.text);
			got = read_all(p);
			if (got.damages)
				fail_msg("%s, kind %u: %s", places[i], kind, got.last_damage);
			assert_true(got.samples == parts[0].samples + parts[1].samples +
							   parts[2].samples + more.samples);
			assert_int_equal(verify(p).count, 0);
			for (unsigned epoch = 2; epoch < 6; epoch++) {
				place_flush_random(w, &more, epoch, 50);
				assert_int_equal(
					db_writer_begin_epoch(
						w, TEST_TIME_NS + epoch * 1000000000ull, NULL),
					0);
			}
			if (db_writer_retain(w, 0, 1, &removed, &diag) < 0)
				fail_msg("%s, kind %u: %s", places[i], kind, diag.text);
			in_machine(p, EPOCH, path);
			assert_int_equal(access(path, F_OK), -1);
			assert_int_equal(db_writer_close(w, NULL), 0);
		}
}

/* A report that would have read it says so; others have nothing to do with it. */
static void a_strange_epoch_is_noted_where_it_was_meant(void **state)
{
	static const struct {
		const char *epochs;
		bool noted;
	} cases[] = {{"all", true}, {"last", false}, {EPOCH, false}, {"20261117", true}};
	struct help_place *p = *state;
	struct help_digest parts[3];
	char path[400];

	make(p, parts, true);
	in_machine(p, "20261117T000000Z", path);
	put_strange(path, A_FIFO);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct diag diag = {0};
		struct db_reader *r;
		size_t count, more;
		const char *const *notes;

		assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
		/* Where nothing else was meant it is the reason. */
		assert_int_equal(db_reader_select(r, cases[i].epochs, &diag), i == 3 ? -ENOENT : 0);
		notes = db_reader_take_notes(r, &count, &more);
		assert_int_equal(count, cases[i].noted);
		if (count)
			assert_string_equal(notes[0], "damaged: 20261117T000000Z was passed over: "
						      "it is not a directory");
		if (i == 3)
			assert_non_null(strstr(diag.text, "it is not a directory"));
		db_reader_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(a_lost_file_is_named),
		PLACE_TEST(a_base_is_sealed_in_place_of_its_segments),
		PLACE_TEST(another_file_is_told_from_the_sealed_one),
		PLACE_TEST(what_a_seal_names_stays),
		PLACE_TEST(every_byte_of_the_seal_is_checked),
		PLACE_TEST(strange_things_cost_only_themselves),
		PLACE_TEST(nothing_stands_in_the_way),
		PLACE_TEST(a_strange_epoch_is_noted_where_it_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
