/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "db/blob.h"
#include "db/pack.h"
#include "db_place.h"

static void compact(struct db_writer *w, const char *epoch)
{
	struct diag diag = {0};

	if (db_writer_compact(w, epoch, &diag) < 0)
		fail_msg("%s", diag.text);
}

/* The names in an epoch, sorted, with a blank after each. */
static void list_epoch(const struct help_place *p, const char *epoch, char *out, size_t room)
{
	struct dirent **names;
	char path[400];
	int count;

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s", p->db, epoch);
	count = scandir(path, &names, NULL, alphasort);
	assert_true(count >= 0);
	*out = 0;
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.')
			snprintf(out + strlen(out), room - strlen(out), "%s ", names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static void a_base_takes_the_place_of_its_segments(void **state)
{
	struct help_place *p = *state;
	struct help_digest d = {0};
	struct db_writer *w = place_open_writer(p);
	char names[512];

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &d, 1, 300);
	compact(w, NULL);
	list_epoch(p, db_writer_epoch(w), names, sizeof(names));
	assert_string_equal(names, "seg-00000001 "); /* it will not stay alone */
	place_flush_random(w, &d, 2, 40000);
	place_flush_random(w, &d, 3, 300);
	compact(w, NULL);
	list_epoch(p, db_writer_epoch(w), names, sizeof(names));
	assert_string_equal(names, "base-00000001-00000003 ");
	assert_int_equal(db_writer_segments(w), 0);
	place_expect(p, "all", &d);
	place_flush_random(w, &d, 4, 70000);
	assert_int_equal(db_writer_segments(w), 1);
	place_expect(p, "all", &d);
	assert_int_equal(db_writer_close(w, NULL), 0);
	/* A sealed epoch may still be compacted. */
	w = place_open_writer(p);
	compact(w, "20261118T110640Z");
	list_epoch(p, "20261118T110640Z", names, sizeof(names));
	assert_string_equal(names, "SEALED base-00000002-00000004 ");
	db_writer_free(w);
	place_expect(p, "all", &d);
}

/* Once, and not the base that came of it. */
static void the_only_segment_of_a_sealed_epoch_becomes_a_base(void **state)
{
	const char *sealed = "20261118T110640Z";
	struct help_place *p = *state;
	struct db_writer *w = place_open_writer(p);
	struct help_digest d = {0};
	char names[64];

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &d, 1, 300);
	assert_int_equal(db_writer_close(w, NULL), 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		w = place_open_writer(p);
		compact(w, sealed);
		db_writer_free(w);
		list_epoch(p, sealed, names, sizeof(names));
		assert_string_equal(names, "SEALED base-00000001-00000001 ");
		place_expect(p, "all", &d);
	}
}

static void equal_rows_of_many_segments_are_added_up(void **state)
{
	struct help_place *p = *state;
	struct help_digest d = {0}, got;
	struct db_writer *w = place_open_writer(p);
	char names[512];

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	for (unsigned i = 0; i < 100; i++) /* more than one round takes */
		place_flush_random(w, &d, i % 3, 200);
	compact(w, NULL);
	list_epoch(p, db_writer_epoch(w), names, sizeof(names));
	assert_int_equal(strncmp(names, "base-", 5), 0);
	assert_non_null(strstr(names, "-00000100 "));
	place_expect(p, "all", &d);
	assert_int_equal(help_read(p->db, &io_system, "all", &got, NULL), 0);
	assert_true(got.rows <= 600);
	assert_true(got.edges <= 150 && got.passes == d.passes);
	assert_true(got.raws <= 150 && got.raw_samples == d.raw_samples);
	assert_true(got.paths <= 150 && got.path_passes == d.path_passes);
	assert_int_equal(got.facts, 1);
	db_writer_free(w);
}

static void damaged_segments_are_set_aside_and_counted(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0}, b = {0}, got;
	struct db_writer *w = place_open_writer(p);
	struct db_verify_totals totals;
	char path[400], names[512];
	int fd;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &a, 1, 300);
	place_flush_random(w, &b, 2, 300);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s/seg-00000002", p->db,
		 db_writer_epoch(w));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "xxxx", 4, 700), 4); /* in the rows */
	close(fd);
	compact(w, NULL);
	list_epoch(p, db_writer_epoch(w), names, sizeof(names));
	assert_string_equal(names, "base-00000001-00000002 damaged-seg-00000002 ");
	assert_int_equal(help_read(p->db, &io_system, "all", &got, NULL), 0);
	assert_true(got.samples == a.samples);
	/* Edges, stacks, raw records and paths are other chunks. */
	assert_true(got.weighted == a.weighted + b.weighted_edges + b.weighted_stacks +
					    b.weighted_raws + b.weighted_paths);
	/* The counters of the damaged segment are still known, and the loss is one more. */
	assert_true(got.counted == a.counted + b.counted + b.samples);
	assert_int_equal(got.damages, 1);
	assert_non_null(strstr(got.last_damage, "damaged-seg-00000002"));
	assert_int_equal(db_verify(p->db, &io_system, NULL, NULL, &totals, NULL), -EBADMSG);
	assert_int_equal(totals.damaged, 1);
	assert_true(totals.of[CHUNK_ROWS].sum == a.samples);
	db_writer_free(w);
}

static int keep_lost(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	(void)event;
	if (strcmp(name, "lost.damaged") == 0)
		*(uint64_t *)arg += value;
	return 0;
}

/* Of rows that no scan finds any more the head knows how many samples they were. */
static void what_is_not_found_any_more_is_counted(void **state)
{
	struct help_place *p = *state;
	struct help_digest a = {0}, b = {0};
	struct db_writer *w = place_open_writer(p);
	uint64_t lost = 0;
	struct db_visitor v = {.counter = keep_lost, .arg = &lost};
	uint8_t header[CHUNK_HEADER_SIZE];
	struct chunk_header h;
	struct db_reader *r;
	char path[400];
	int fd;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &a, 1, 300);
	place_flush_random(w, &b, 2, 300);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s/seg-00000002", p->db,
		 db_writer_epoch(w));
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* The rows stand behind the head; without their header, and without the trailer, nothing
	 * leads to them. */
	assert_int_equal(pread(fd, header, sizeof(header), PACK_HEADER_SIZE), sizeof(header));
	assert_int_equal(chunk_header_decode(header, &h), 0);
	assert_int_equal(
		pwrite(fd, "xxxx", 4, PACK_HEADER_SIZE + CHUNK_HEADER_SIZE + h.payload_size), 4);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - PACK_TRAILER_SIZE - 1), 0);
	close(fd);
	compact(w, NULL);
	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	assert_true(lost == b.samples);
	db_reader_free(r);
	db_writer_free(w);
}

/* The first listing of an epoch misses the new base and a segment, as one beside a writer may. */
struct torn {
	struct io io;
	unsigned listings, torn; /* how many there were, which one is torn */
};

static int list_torn(void *arg, int fd, char **ret_names, size_t *ret_count)
{
	struct torn *t = arg;
	char *names, *from, *to;
	size_t count, kept = 0;
	int r = io_system.list(NULL, fd, &names, &count);

	if (r < 0)
		return r;
	from = to = names;
	for (size_t i = 0; i < count; i++, from += strlen(from) + 1)
		t->listings += !strcmp(from, "base-00000002-00000004");
	from = names;
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(from) + 1;
		bool missed =
			!strcmp(from, "base-00000002-00000004") || !strcmp(from, "seg-00000004");

		if (!missed || t->listings != t->torn) {
			memmove(to, from, size);
			to += size;
			kept++;
		}
		from += size;
	}
	*ret_names = names;
	*ret_count = kept;
	return 0;
}

static void a_torn_listing_is_noticed(void **state)
{
	static const char *const older[] = {"base-00000001-00000002", "seg-00000003",
					    "seg-00000004"};
	struct help_place *p = *state;
	struct help_digest d = {0}, got;
	struct torn torn = {.io = io_system};
	struct db_writer *w = place_open_writer(p);
	char path[400], kept[400];

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &d, 1, 100);
	place_flush_random(w, &d, 2, 100);
	compact(w, NULL);
	place_flush_random(w, &d, 3, 100);
	place_flush_random(w, &d, 4, 100);
	/* What a writer that died before it deleted them would leave. */
	for (int back = 0; back < 2; back++) {
		for (unsigned i = 0; i < 3; i++) {
			snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s/%s", p->db,
				 db_writer_epoch(w), older[i]);
			snprintf(kept, sizeof(kept), "%s/%s", p->dir, older[i]);
			assert_int_equal(back ? link(kept, path) : link(path, kept), 0);
		}
		compact(w, NULL);
	}
	place_expect(p, "all", &d);
	torn.io.list = list_torn;
	torn.io.arg = &torn;
	/* Choosing and querying list the epoch twice each, when nothing is amiss. */
	for (torn.torn = 1; torn.torn <= 4; torn.torn++) {
		torn.listings = 0;
		assert_int_equal(help_read(p->db, &torn.io, "all", &got, NULL), 0);
		assert_true(torn.listings >= 4);
		assert_true(got.samples == d.samples && got.weighted == d.weighted && !got.damages);
	}
	db_writer_free(w);
}

/* The largest number that a name can say. */
static void a_base_may_stand_for_all_segments_there_can_be(void **state)
{
	struct help_place *p = *state;
	struct help_digest first = {0}, second = {0};
	struct db_writer *w = place_open_writer(p);
	char epoch[300], from[400], to[400];

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &first, 1, 300);
	place_flush_random(w, &first, 2, 300);
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	place_flush_random(w, &second, 3, 300);
	snprintf(epoch, sizeof(epoch), "%s/" TEST_MACHINE "/%s", p->db, db_writer_epoch(w));
	db_writer_free(w);
	snprintf(from, sizeof(from), "%s/base-00000001-00000002", epoch);
	snprintf(to, sizeof(to), "%s/base-00000001-4294967295", epoch);
	assert_int_equal(rename(from, to), 0);
	place_expect(p, "last", &first);
}

static void blobs_are_bounded_and_checked(void **state)
{
	struct image_id id = {.kind = IMAGE_KERNEL, .size = 20, .bytes = {1}};
	struct help_place *p = *state;
	struct db_writer *w = place_open_writer(p);
	struct db_verify_totals totals;
	char text[1000], path[464], name[IMAGE_ID_TEXT_MAX];
	void *data;
	size_t size;
	off_t end;
	int fd;

	memset(text, 'x', sizeof(text));
	image_id_format(&id, name);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/images/%s.code", p->db, name);
	assert_int_equal(db_blob_write(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				       "code", text, sizeof(text), NULL),
			 0);
	assert_int_equal(db_blob_write(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				       "../code", "", 0, NULL),
			 -EINVAL);
	assert_int_equal(db_blob_read(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				      "code", 999, &data, &size, NULL),
			 -EFBIG);
	assert_int_equal(db_blob_read(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				      "code", 1000, &data, &size, NULL),
			 0);
	assert_memory_equal(data, text, sizeof(text));
	free(data);
	assert_int_equal(db_verify(p->db, &io_system, NULL, NULL, &totals, NULL), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* Longer than what it says can be: that is seen before it is read. */
	end = lseek(fd, 0, SEEK_END);
	assert_int_equal(ftruncate(fd, (off_t)1 << 42), 0);
	assert_int_equal(db_blob_read(&(struct db_blobs){p->db, TEST_MACHINE, &io_system}, &id,
				      "code", 1000, &data, &size, NULL),
			 -EBADMSG);
	assert_int_equal(ftruncate(fd, end), 0);
	for (off_t at = lseek(fd, 0, SEEK_END); at-- > 0;) {
		char byte, flipped;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		flipped = (char)~byte;
		assert_int_equal(pwrite(fd, &flipped, 1, at), 1);
		assert_int_equal(db_blob_read(&(struct db_blobs){p->db, TEST_MACHINE, &io_system},
					      &id, "code", 1000, &data, &size, NULL),
				 -EBADMSG);
		assert_int_equal(db_verify(p->db, &io_system, NULL, NULL, &totals, NULL), -EBADMSG);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	db_writer_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(a_base_takes_the_place_of_its_segments),
		PLACE_TEST(the_only_segment_of_a_sealed_epoch_becomes_a_base),
		PLACE_TEST(equal_rows_of_many_segments_are_added_up),
		PLACE_TEST(damaged_segments_are_set_aside_and_counted),
		PLACE_TEST(what_is_not_found_any_more_is_counted),
		PLACE_TEST(a_torn_listing_is_noticed),
		PLACE_TEST(a_base_may_stand_for_all_segments_there_can_be),
		PLACE_TEST(blobs_are_bounded_and_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
