/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "db/pack.h"
#include "db_help.h"

/*
 * Every byte of a small database flipped, every file cut at every length: all that is undamaged is
 * read, what is damaged is named, and nothing crashes (run it under the sanitizers too).
 */

#define EPOCH "20261118T110640Z"

/* A base and two segments, and what each holds. */
struct small_db {
	struct help_place place;
	struct help_digest base, second, third, total;
};

static void flush_random(struct db_writer *w, struct help_digest *d, uint64_t seed, unsigned count)
{
	struct db_batch *b = db_batch_new(1u << 20);

	assert_int_equal(help_fill(b, d, seed, count), 0);
	assert_int_equal(db_batch_fact(b, "kernel", "6.18"), 0);
	assert_int_equal(db_writer_flush(w, b, NULL), 0);
	db_batch_free(b);
}

static void make_db(struct small_db *s, unsigned rows)
{
	struct db_writer *w;

	memset(s, 0, sizeof(*s));
	help_place_make(&s->place);
	assert_int_equal(db_writer_open(s->place.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_random(w, &s->base, 1, rows);
	flush_random(w, &s->base, 2, rows);
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	flush_random(w, &s->second, 3, rows);
	flush_random(w, &s->third, 4, rows);
	assert_int_equal(db_writer_close(w, NULL), 0);
	s->total.samples = s->base.samples + s->second.samples + s->third.samples;
	s->total.weighted = s->base.weighted + s->second.weighted + s->third.weighted;
	s->total.passes = s->base.passes + s->second.passes + s->third.passes;
	s->total.stack_samples =
		s->base.stack_samples + s->second.stack_samples + s->third.stack_samples;
	s->total.raw_samples = s->base.raw_samples + s->second.raw_samples + s->third.raw_samples;
	s->total.path_passes = s->base.path_passes + s->second.path_passes + s->third.path_passes;
	s->total.counted = s->base.counted + s->second.counted + s->third.counted;
}

static int open_file(const struct small_db *s, const char *file, off_t *ret_size)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s", s->place.db, file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	*ret_size = lseek(fd, 0, SEEK_END);
	return fd;
}

/* Findings of verify, which all must name the file. */
struct findings {
	struct help_digest d;
	unsigned others; /* about some other file */
	const char *file;
};

static void keep_finding(void *arg, const char *what)
{
	struct findings *f = arg;

	help_damage(&f->d, what);
	f->others += strstr(what, f->file) == NULL;
}

/*
 * Returns whether the samples of the damaged file, its edges, its stacks, its raw records or its
 * paths (and no others) were lost: how many of the five.
 */
static unsigned check_damaged(const struct small_db *s, const char *file,
			      const struct help_digest *own, bool counters_survive, long at)
{
	struct db_verify_totals totals;
	struct findings f = {0};
	struct help_digest got;
	struct diag diag = {0};
	bool lost, lost_edges, lost_stacks, lost_raws, lost_paths;
	uint64_t weighted = s->total.weighted;

	if (help_read(s->place.db, &io_system, "all", &got, &diag) < 0)
		fail_msg("%s at %ld: %s", file, at, diag.text);
	lost = got.samples != s->total.samples;
	lost_edges = got.passes != s->total.passes;
	lost_stacks = got.stack_samples != s->total.stack_samples;
	lost_raws = got.raw_samples != s->total.raw_samples;
	lost_paths = got.path_passes != s->total.path_passes;
	weighted -= lost ? own->weighted - own->weighted_edges - own->weighted_stacks -
				    own->weighted_raws - own->weighted_paths
			 : 0;
	weighted -= lost_edges ? own->weighted_edges : 0;
	weighted -= lost_stacks ? own->weighted_stacks : 0;
	weighted -= lost_raws ? own->weighted_raws : 0;
	weighted -= lost_paths ? own->weighted_paths : 0;
	if (got.samples != s->total.samples - (lost ? own->samples : 0) || got.weighted != weighted)
		fail_msg("%s at %ld: undamaged rows are lost", file, at);
	if (counters_survive && got.counted != s->total.counted)
		fail_msg("%s at %ld: counters are lost", file, at);
	if ((lost || lost_edges || lost_stacks || lost_raws || lost_paths) && !got.damages)
		fail_msg("%s at %ld: a loss was not told", file, at);
	f.file = strchr(file, '/') ? strchr(file, '/') + 1 : file;
	if (db_verify(s->place.db, &io_system, keep_finding, &f, &totals, NULL) != -EBADMSG ||
	    !totals.damaged)
		fail_msg("%s at %ld: verify noticed nothing", file, at);
	if (f.others)
		fail_msg("%s at %ld: verify names something else: %s", file, at, f.d.last_damage);
	return (unsigned)lost + lost_edges + lost_stacks + lost_raws + lost_paths;
}

/* The size of the payloads of rows, edges, stacks, raw records and paths of a pack: one of each. */
static off_t rows_payload(int fd, off_t size)
{
	uint8_t bytes[CHUNK_HEADER_SIZE];
	struct chunk_header h;
	off_t payload = 0;

	for (off_t at = PACK_HEADER_SIZE; at < size - PACK_TRAILER_SIZE;
	     at += CHUNK_HEADER_SIZE + (off_t)h.payload_size) {
		assert_int_equal(pread(fd, bytes, sizeof(bytes), at), sizeof(bytes));
		assert_int_equal(chunk_header_decode(bytes, &h), 0);
		if (h.type == CHUNK_ROWS || h.type == CHUNK_EDGES || h.type == CHUNK_STACKS ||
		    h.type == CHUNK_RAWS || h.type == CHUNK_PATHS)
			payload += h.payload_size;
	}
	return payload;
}

static void flip_all(const struct small_db *s, const char *file, const struct help_digest *own)
{
	off_t size, lost = 0;
	int fd = open_file(s, file, &size);
	uint8_t byte, flipped;

	for (off_t at = 0; at < size; at++) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		flipped = byte ^ (uint8_t)(1u << (at % 8));
		assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
		lost += check_damaged(s, file, own, true, (long)at);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	/* What stands twice is never lost: only bytes of rows cost rows. */
	assert_int_equal(lost, own->samples ? rows_payload(fd, size) : 0);
	close(fd);
}

static void cut_all(const struct small_db *s, const char *file, const struct help_digest *own)
{
	off_t size;
	int fd = open_file(s, file, &size);
	uint8_t *bytes = malloc((size_t)size);
	unsigned lost, lost_before = 5;

	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	for (off_t at = 0; at < size; at++) {
		assert_int_equal(ftruncate(fd, at), 0);
		assert_int_equal(pwrite(fd, bytes, (size_t)at, 0), at);
		lost = check_damaged(s, file, own, !lost_before, (long)at);
		assert_true(lost <= lost_before); /* once the rows are whole they are read */
		lost_before = lost;
	}
	assert_false(lost_before && own->samples);
	assert_int_equal(pwrite(fd, bytes, (size_t)size, 0), size);
	free(bytes);
	close(fd);
}

static void expect_whole(const struct small_db *s)
{
	struct db_verify_totals totals;
	struct help_digest got;

	assert_int_equal(help_read(s->place.db, &io_system, "all", &got, NULL), 0);
	assert_true(got.samples == s->total.samples && got.weighted == s->total.weighted);
	assert_int_equal(db_verify(s->place.db, &io_system, NULL, NULL, &totals, NULL), 0);
	assert_true(totals.of[CHUNK_ROWS].sum == s->total.samples);
	assert_true(totals.of[CHUNK_EDGES].sum == s->total.passes && totals.of[CHUNK_EDGES].sum);
	assert_true(totals.of[CHUNK_STACKS].items > 0);
	assert_true(totals.of[CHUNK_RAWS].items > 0);
	assert_true(totals.of[CHUNK_PATHS].items > 0);
	assert_int_equal(totals.files, 3);
}

static void every_byte_flipped(void **state)
{
	struct small_db s;

	(void)state;
	make_db(&s, 40);
	expect_whole(&s);
	flip_all(&s, EPOCH "/base-00000001-00000002", &s.base);
	flip_all(&s, EPOCH "/seg-00000003", &s.second);
	flip_all(&s, EPOCH "/seg-00000004", &s.third);
	flip_all(&s, "meta", &(struct help_digest){0});
	expect_whole(&s);
	help_place_remove(&s.place);
}

static void every_length_cut(void **state)
{
	struct small_db s;

	(void)state;
	make_db(&s, 40);
	cut_all(&s, EPOCH "/base-00000001-00000002", &s.base);
	cut_all(&s, EPOCH "/seg-00000003", &s.second);
	cut_all(&s, EPOCH "/seg-00000004", &s.third);
	cut_all(&s, "meta", &(struct help_digest){0});
	expect_whole(&s);
	help_place_remove(&s.place);
}

/* In a pack of several chunks, with and without its index, one damaged chunk costs only itself. */
static void a_chunk_costs_only_itself(void **state)
{
	struct small_db s;
	struct help_digest got;
	off_t size;
	uint8_t byte, flipped;
	int fd;

	(void)state;
	make_db(&s, 120000);
	fd = open_file(&s, EPOCH "/seg-00000003", &size);
	for (unsigned indexed = 0; indexed < 2; indexed++) {
		for (off_t at = PACK_HEADER_SIZE + 400; at < size - 4000; at += size / 16) {
			assert_int_equal(pread(fd, &byte, 1, at), 1);
			flipped = byte ^ 0x10;
			assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
			assert_int_equal(help_read(s.place.db, &io_system, "all", &got, NULL), 0);
			assert_true(got.samples >= s.total.samples - s.second.samples / 2);
			assert_true(got.samples < s.total.samples || got.passes < s.total.passes ||
				    got.stack_samples < s.total.stack_samples ||
				    got.raw_samples < s.total.raw_samples ||
				    got.path_passes < s.total.path_passes);
			assert_true(got.damages > 0);
			if (indexed == 0) {
				assert_non_null(strstr(got.last_damage, "seg-00000003"));
				assert_true(strstr(got.last_damage, "/usr/lib/image-") ||
					    strstr(got.last_damage, " samples of "));
				assert_non_null(strstr(got.last_damage, "lost: "));
				assert_true(strstr(got.last_damage, " samples in ") ||
					    strstr(got.last_damage, " passes over ") ||
					    strstr(got.last_damage, " samples of ") ||
					    strstr(got.last_damage, " samples with ") ||
					    strstr(got.last_damage, " executions of "));
			}
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		/* For the second time around: the trailer and the end of the index. */
		assert_int_equal(ftruncate(fd, size - 60), 0);
	}
	close(fd);
	help_place_remove(&s.place);
}

static void unseal(const struct small_db *s)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/" EPOCH "/SEALED", s->place.db);
	assert_int_equal(unlink(path), 0);
}

static void a_missing_segment_is_told(void **state)
{
	struct small_db s;
	struct help_digest got;
	char path[400];

	(void)state;
	make_db(&s, 40);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/" EPOCH "/seg-00000003", s.place.db);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(help_read(s.place.db, &io_system, "all", &got, NULL), 0);
	assert_true(got.samples == s.total.samples - s.second.samples);
	assert_int_equal(got.damages, 1);
	assert_non_null(strstr(got.last_damage, "seg-00000003 ("));
	/* Of an epoch that is not sealed the numbers tell. */
	unseal(&s);
	assert_int_equal(help_read(s.place.db, &io_system, "all", &got, NULL), 0);
	assert_int_equal(got.damages, 1);
	assert_non_null(strstr(got.last_damage, "segments 3 to 3 are missing"));
	help_place_remove(&s.place);
}

/* What stands in the way of a pack: a FIFO, a directory, a link to nowhere. */
static void strange_files_cost_only_themselves(void **state)
{
	struct small_db s;
	struct help_digest got;
	char path[400];

	(void)state;
	make_db(&s, 40);
	unseal(&s); /* else none of them would count */
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/" EPOCH "/seg-00000005", s.place.db);
	for (unsigned kind = 0; kind < 3; kind++) {
		assert_int_equal(kind == 0   ? mkfifo(path, 0600)
				 : kind == 1 ? mkdir(path, 0700)
					     : symlink("/dev/zero", path),
				 0);
		assert_int_equal(help_read(s.place.db, &io_system, "all", &got, NULL), 0);
		assert_true(got.samples == s.total.samples);
		assert_int_equal(got.damages, 1);
		assert_int_equal(remove(path), 0);
	}
	help_place_remove(&s.place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_flipped),
		cmocka_unit_test(every_length_cut),
		cmocka_unit_test(a_chunk_costs_only_itself),
		cmocka_unit_test(a_missing_segment_is_told),
		cmocka_unit_test(strange_files_cost_only_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
