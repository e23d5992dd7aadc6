/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/resource.h>
#include "db/reader.h"
#include "db/writer.h"

/*
 * What the database costs: bytes for each distinct PC, time of a flush, of a compaction, of
 * reading.
 *
 * The data is made up, after a measured hour of a mixed load (7.4 M samples at 10 kHz, 222 images,
 * 366,610 distinct PCs, half of them seen once):
 *  - images share the PCs by a power law, the largest (the kernel) has a tenth of them;
 *  - the distance from one PC to the next is log-uniform between 1 and 2048 bytes;
 *  - half of the PCs have one sample, the others a count by Zipf's law with exponent 1, up to
 * 65536;
 *  - 60 commands; the five largest images are shared by all of them: one PC in four of these is
 * seen by several commands (3 on average); the other images belong to one command each;
 *  - six flushes, each sample in any of them.
 * This has an order-0 entropy of 10.3 bits for an (offset, count); the measured hour had 10.2.
 */
#define IMAGES	 222
#define PCS	 366610
#define COMMANDS 60
#define SHARED	 5
#define FLUSHES	 6
#define HOUR_NS	 3600000000000ull

static uint64_t random_state = 1;

/* splitmix64 */
static uint64_t random_u64(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static double random_unit(void)
{
	return (double)(random_u64() >> 11) / (double)(1ull << 53);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double peak_mb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

static void check(int r, const struct diag *diag)
{
	if (r >= 0)
		return;
	fprintf(stderr, "bench-db-bytes: %s (%d)\n", diag->text, r);
	exit(1);
}

/* One row of the made-up hour, to be divided over the flushes. */
struct pc_row {
	uint32_t image, command;
	uint64_t offset, count;
};

static struct pc_row *rows;
static size_t row_count, row_room;

static void row_add(uint32_t image, uint32_t command, uint64_t offset, uint64_t count)
{
	if (row_count == row_room) {
		row_room = row_room ? row_room * 2 : PCS;
		rows = realloc(rows, row_room * sizeof(*rows));
		if (!rows)
			exit(1);
	}
	rows[row_count++] = (struct pc_row){image, command, offset, count};
}

static uint64_t random_count(void)
{
	double u = random_unit();

	return u < 1e-6 ? 1000000 : (uint64_t)(1 / u);
}

static void make_image(uint32_t image, size_t pcs)
{
	uint64_t offset = 0x1000 + image * 64;

	for (size_t i = 0; i < pcs; i++) {
		uint32_t sharers = 1, command = image % COMMANDS;

		offset += (uint64_t)pow(1024, random_unit());
		if (image < SHARED)
			command = (uint32_t)(COMMANDS * pow(random_unit(), 3));
		if (image < SHARED && random_unit() < 0.25)
			sharers = 2 + (uint32_t)(random_u64() % 3);
		for (uint32_t s = 0; s < sharers; s++)
			row_add(image, (command + s * 7) % COMMANDS, offset, random_count());
	}
}

static size_t make_rows(void)
{
	double total = 0;
	size_t pcs = 0;

	for (unsigned i = 0; i < IMAGES; i++)
		total += pow(i + 3, -0.9);
	for (unsigned i = 0; i < IMAGES; i++) {
		size_t share = (size_t)(PCS * pow(i + 3, -0.9) / total);

		make_image(i, share);
		pcs += share;
	}
	return pcs;
}

/* Adds n samples of a row. */
static void batch_add(struct db_batch *b, const struct pc_row *row, uint64_t n)
{
	static const struct db_event event = {"cycles", 1000003, DB_EVENT_KERNEL | DB_EVENT_USER};
	struct image_id id = {.kind = IMAGE_BUILD_ID, .size = 20};
	uint32_t image, event_index, subject, profile;
	char path[64], text[80];
	uint64_t state = random_state;
	int r;

	/* As hard to compress as a real build-id. */
	random_state = row->image;
	for (unsigned i = 0; i < 20; i++)
		id.bytes[i] = (uint8_t)random_u64();
	random_state = state;
	snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libsome-%u.so.%u", row->image * 37,
		 row->image % 10);
	snprintf(text, sizeof(text),
		 "%ccgroup%c/system.slice/some-%02u.service%ccomm%ccommand-%02u", 6, 29,
		 row->command, 4, 10, row->command);
	r = db_batch_image(b, &id, path, strlen(path), &image);
	if (r == 0)
		r = db_batch_event(b, &event, &event_index);
	if (r == 0)
		r = db_batch_subject(b, text, strlen(text), &subject);
	if (r == 0)
		r = db_batch_profile(b, image, event_index, subject, &profile);
	if (r == 0)
		r = db_batch_add(b, profile, row->offset, n);
	check(r, &(struct diag){"adding to a batch"});
}

static double flush_hour(struct db_writer *w)
{
	double spent_s = 0, start_s;
	struct diag diag;
	uint64_t *left = calloc(row_count, sizeof(*left));

	if (!left)
		exit(1);
	for (size_t i = 0; i < row_count; i++)
		left[i] = rows[i].count;
	for (unsigned f = 0; f < FLUSHES; f++) {
		struct db_batch *b = db_batch_new(1u << 20);

		for (size_t i = 0; i < row_count; i++) {
			uint64_t n = 0;

			if (left[i] < 16)
				for (uint64_t k = left[i]; k; k--)
					n += random_u64() % (FLUSHES - f) == 0;
			else
				n = left[i] / (FLUSHES - f);
			left[i] -= n;
			if (n)
				batch_add(b, &rows[i], n);
		}
		start_s = now_s();
		check(db_writer_flush(w, b, &diag), &diag);
		spent_s += now_s() - start_s;
		db_batch_free(b);
	}
	free(left);
	return spent_s / FLUSHES;
}

/* The middle of several flushes of 22,000 rows, fsync included. */
static double small_flush_s(struct db_writer *w)
{
	double spent_s[9];
	struct diag diag;

	for (unsigned n = 0; n < 9; n++) {
		struct db_batch *b = db_batch_new(1u << 16);
		size_t step = row_count / 22000, at;

		for (size_t i = 0; i < 22000; i++)
			batch_add(b, &rows[i * step + n], 1);
		spent_s[n] = now_s();
		check(db_writer_flush(w, b, &diag), &diag);
		spent_s[n] = now_s() - spent_s[n];
		db_batch_free(b);
		for (at = n; at && spent_s[at - 1] > spent_s[at]; at--) {
			double swapped = spent_s[at];

			spent_s[at] = spent_s[at - 1];
			spent_s[at - 1] = swapped;
		}
	}
	return spent_s[4];
}

static int count_rows(void *arg, const struct db_profile *p, const uint64_t *offsets,
		      const uint64_t *counts, size_t n)
{
	uint64_t *sum = arg;

	(void)p, (void)offsets, (void)counts;
	*sum += n;
	return 0;
}

/* Rows a second. */
static double read_rate(const char *db)
{
	struct db_visitor v = {.rows = count_rows};
	struct db_reader *r;
	struct diag diag;
	uint64_t sum = 0;
	double start_s;

	v.arg = &sum;
	check(db_reader_open(db, &io_system, &r, &diag), &diag);
	check(db_reader_select(r, "all", &diag), &diag);
	start_s = now_s();
	for (unsigned i = 0; i < 10; i++)
		check(db_reader_query(r, &v, &diag), &diag);
	start_s = now_s() - start_s;
	db_reader_free(r);
	return (double)sum / start_s;
}

static uint64_t epoch_bytes(const char *db)
{
	const struct db_epoch *epochs;
	struct db_reader *r;
	struct diag diag;
	uint64_t bytes;
	size_t count;

	check(db_reader_open(db, &io_system, &r, &diag), &diag);
	check(db_reader_epochs(r, &epochs, &count, &diag), &diag);
	bytes = epochs[0].bytes;
	db_reader_free(r);
	return bytes;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void row_print(const char *what, const char *unit, double ours, const char *goal)
{
	printf("row\t%s\t%s\t%.3g\t-\t-\t%s\n", what, unit, ours, goal);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	char dir[256], db[264];
	double flush_s, compact_s, before_mb, small_s;
	uint64_t segments_bytes, base_bytes;
	struct db_writer *w;
	struct diag diag;
	size_t pcs = make_rows();

	snprintf(dir, sizeof(dir), "%.200s/db-bytes-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	snprintf(db, sizeof(db), "%s/db", dir);
	check(db_writer_open(db, "bench", &io_system, &w, &diag), &diag);
	check(db_writer_begin_epoch(w, 500000 * HOUR_NS, &diag), &diag);
	flush_s = flush_hour(w);
	segments_bytes = epoch_bytes(db);
	before_mb = peak_mb();
	compact_s = now_s();
	check(db_writer_compact(w, NULL, &diag), &diag);
	compact_s = now_s() - compact_s;
	base_bytes = epoch_bytes(db);
	row_print("database: a made-up hour, compacted", "bytes/PC",
		  (double)base_bytes / (double)pcs, "1.6");
	row_print("database: the same, compacted", "bytes/row",
		  (double)base_bytes / (double)row_count, "-");
	row_print("database: the same, as six segments", "bytes/PC",
		  (double)segments_bytes / (double)pcs, "-");
	row_print("database: reading the compacted hour", "M rows/s", read_rate(db) / 1e6, "-");
	row_print("database: one of the six flushes", "ms", flush_s * 1e3, "-");
	row_print("database: compaction of the hour", "ms", compact_s * 1e3, "-");
	row_print("database: compaction, memory above that of a flush", "MB", peak_mb() - before_mb,
		  "-");
	check(db_writer_begin_epoch(w, 500024 * HOUR_NS, &diag), &diag);
	small_s = small_flush_s(w);
	row_print("database: a flush of 22,000 rows, fsync included", "ms", small_s * 1e3, "-");
	printf("note %zu distinct PCs, %zu rows of (image, event, subject, PC), %d images\n", pcs,
	       row_count, IMAGES);
	check(db_writer_close(w, &diag), &diag);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(rows);
	return 0;
}
