/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include "db/check.h"
#include "db/layout.h"
#include "db_place.h"

/*
 * Packs whose every checksum is right and which are wrong all the same: as somebody's program, or a
 * mistake of ours, may write them.
 */

#define EPOCH "20261118T110640Z"

enum change {
	CHANGE_NOTHING,
	CHANGE_SAMPLES, /* the header of the chunk says one more than it holds */
	CHANGE_TWICE,	/* the chunk is there twice */
};

/* A pack with chunks of all types. */
static struct pack *make(const struct help_place *p)
{
	struct help_digest d = {0};
	struct db_writer *w = place_open_writer(p);
	char path[400];
	struct pack *pack;
	int fd;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	place_flush_random(w, &d, 1, 300);
	assert_int_equal(db_writer_close(w, NULL), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/" EPOCH, p->db);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(
		pack_open(&io_system, fd, "seg-00000001", "sound", NULL, NULL, &pack, NULL), 0);
	close(fd);
	return pack;
}

/* One more sample in a chunk's header, whose checksum is recomputed. */
static void lie(uint8_t *header, struct chunk_header *h)
{
	const size_t samples_at = 24, sum_at = CHUNK_HEADER_SIZE - 8;
	uint64_t sum;

	h->samples++;
	memcpy(header + samples_at, &h->samples, sizeof(h->samples));
	sum = chunk_sum(header, sum_at);
	memcpy(header + sum_at, &sum, sizeof(sum));
}

/* Copies the pack to the file "changed", with a change to its chunk of that type. */
static void copy_changed(const struct pack *from, int dirfd, enum chunk_type type,
			 enum change change)
{
	struct catalog head = from->catalog;
	struct pack_writer *w;
	struct buf whole;
	uint64_t bytes;

	head.entry_count = head.label_count = 0; /* the new pack has its own */
	buf_init(&whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	assert_int_equal(pack_create(&io_system, dirfd, "changed", &head, 3, &w, NULL), 0);
	for (uint32_t i = 0; i < from->catalog.entry_count; i++) {
		const struct catalog_entry *e = &from->catalog.entries[i];
		struct chunk_header h = e->chunk;

		if (h.type == CHUNK_HEAD)
			continue;
		assert_int_equal(pack_read_chunk(from, e, &whole, NULL, NULL), 0);
		if (h.type == type && change == CHANGE_SAMPLES)
			lie(whole.data, &h);
		assert_int_equal(pack_add_chunk(w, &h, whole.data), 0);
		if (h.type == type && change == CHANGE_TWICE)
			assert_int_equal(pack_add_chunk(w, &h, whole.data), 0);
	}
	assert_int_equal(pack_finish(w, &bytes, NULL), 0);
	buf_free(&whole);
}

/* What the check finds in the file "changed". */
static struct help_findings check(int dirfd, struct check_totals *ret)
{
	struct help_findings f = {0};
	struct pack *pack;
	int r;

	assert_int_equal(pack_open(&io_system, dirfd, "changed", "changed", help_keep_finding, &f,
				   &pack, NULL),
			 0);
	r = check_pack(pack, help_keep_finding, &f, NULL, ret);
	assert_int_equal(r, f.count ? -EBADMSG : 0);
	pack_close(pack);
	return f;
}

static int open_place(const struct help_place *p)
{
	int fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void each_chunk_holds_what_it_says(void **state)
{
	static const enum chunk_type types[] = {CHUNK_ROWS, CHUNK_EDGES, CHUNK_STACKS, CHUNK_RAWS,
						CHUNK_PATHS};
	struct pack *sound = make(*state);
	int dirfd = open_place(*state);
	struct check_totals totals;
	struct help_findings f;

	copy_changed(sound, dirfd, CHUNK_ROWS, CHANGE_NOTHING);
	assert_int_equal(check(dirfd, &totals).count, 0);
	assert_int_equal(totals.chunks, 6); /* and the head */
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		copy_changed(sound, dirfd, types[i], CHANGE_SAMPLES);
		f = check(dirfd, &totals);
		if (f.count != 1 || totals.damaged != 1)
			fail_msg("chunk of type %u: %u findings", types[i], f.count);
		assert_non_null(strstr(f.last, "cannot be decoded"));
	}
	close(dirfd);
	pack_close(sound);
}

/* Who merges packs relies on it. */
static void rows_rise_through_the_chunks(void **state)
{
	struct pack *sound = make(*state);
	int dirfd = open_place(*state);
	struct check_totals once, twice;
	struct help_findings f;

	copy_changed(sound, dirfd, CHUNK_ROWS, CHANGE_NOTHING);
	assert_int_equal(check(dirfd, &once).count, 0);
	copy_changed(sound, dirfd, CHUNK_ROWS, CHANGE_TWICE);
	f = check(dirfd, &twice);
	assert_int_equal(f.count, 1);
	assert_non_null(strstr(f.last, "cannot be decoded"));
	assert_true(twice.of[CHUNK_ROWS].sum == once.of[CHUNK_ROWS].sum &&
		    twice.of[CHUNK_ROWS].lost == once.of[CHUNK_ROWS].sum);
	close(dirfd);
	pack_close(sound);
}

/* Puts bytes into the file at an offset. */
static void insert(int dirfd, uint64_t at, const void *bytes, size_t size)
{
	uint8_t rest[65536];
	int fd = openat(dirfd, "changed", O_RDWR | O_CLOEXEC);
	ssize_t n = pread(fd, rest, sizeof(rest), (off_t)at);

	assert_true(n >= 0 && n < (ssize_t)sizeof(rest));
	assert_int_equal(pwrite(fd, bytes, size, (off_t)at), size);
	assert_int_equal(pwrite(fd, rest, (size_t)n, (off_t)(at + size)), n);
	close(fd);
}

/* Writes the trailer for an index that is elsewhere now. */
static void point_at(int dirfd, uint64_t index)
{
	uint64_t trailer[2] = {index, chunk_sum(&index, sizeof(index))};
	int fd = openat(dirfd, "changed", O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);

	assert_int_equal(pwrite(fd, trailer, sizeof(trailer), size - PACK_TRAILER_SIZE),
			 sizeof(trailer));
	close(fd);
}

/* Bytes that the index does not know, before it and behind it: any, and a chunk. */
static void every_byte_is_accounted_for(void **state)
{
	struct pack *sound = make(*state), *copy;
	int dirfd = open_place(*state);
	struct check_totals totals;
	struct buf chunk;

	buf_init(&chunk, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	assert_int_equal(pack_read_chunk(sound, &sound->catalog.entries[1], &chunk, NULL, NULL), 0);
	for (unsigned step = 0; step < 4; step++) {
		bool before = step % 2, whole = step / 2;
		size_t size = whole ? chunk.size : 8;
		const struct catalog_entry *last;
		struct help_findings f;
		uint64_t index;

		copy_changed(sound, dirfd, CHUNK_ROWS, CHANGE_NOTHING);
		assert_int_equal(
			pack_open(&io_system, dirfd, "changed", "changed", NULL, NULL, &copy, NULL),
			0);
		last = &copy->catalog.entries[copy->catalog.entry_count - 1];
		index = last->offset + CHUNK_HEADER_SIZE + last->chunk.payload_size;
		insert(dirfd, before ? index : copy->index_end, chunk.data, size);
		if (before)
			point_at(dirfd, index + size);
		pack_close(copy);
		f = check(dirfd, &totals);
		if (f.count != 1 || !strstr(f.last, "does not account for every byte"))
			fail_msg("step %u: %u findings: %s", step, f.count, f.last);
	}
	buf_free(&chunk);
	close(dirfd);
	pack_close(sound);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACE_TEST(each_chunk_holds_what_it_says),
		PLACE_TEST(rows_rise_through_the_chunks),
		PLACE_TEST(every_byte_is_accounted_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
