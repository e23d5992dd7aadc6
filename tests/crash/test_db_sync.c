/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include "../unit/db_help.h"
#include "db/blob.h"
#include "model_disk.h"

/*
 * The machine crashes before each call that a writer makes of a disk that keeps what was synced and
 * nothing else for sure (model_disk.h). Whatever is left, the database opens, all that was
 * acknowledged is there, once, and nothing is damaged; before the next writer has come and after.
 * Then the same with each kind of sync left out in turn, which must be noticed: else nobody would
 * notice when it is forgotten.
 */
#define EPOCHS_MAX  8
#define EXHAUSTIVE  4  /* up to so many unsafe names all subsets are tried, ... */
#define RANDOM_SETS 16 /* ... past that so many */
#define FILE_SEEDS  4
#define SEEN_ROOM   (1u << 16)
#define HOUR_NS	    3600000000000ull

/* What may and must be read of an epoch. */
struct promise {
	char name[64];
	struct help_digest kept; /* acknowledged */
	struct help_digest more; /* asked for: there as a whole or not at all */
	bool sealed, may_go, unseen;
};

struct trial {
	struct model_disk *disk;
	struct io io;
	struct db_writer *w;
	struct promise epochs[EPOCHS_MAX];
	size_t epoch_count;
	bool blob_kept;
	uint64_t seen[SEEN_ROOM]; /* states that were checked, with what was promised: a hash table
				   */
	uint64_t states, calls, random;
	char violation[512]; /* the first */
};

static const struct image_id kept_id = {.kind = IMAGE_CONTENT, .size = 2, .bytes = {1}};
static const struct image_id cached_id = {.kind = IMAGE_CONTENT, .size = 2, .bytes = {2}};

__attribute__((format(printf, 2, 3))) static void violate(struct trial *t, const char *format, ...)
{
	va_list ap;

	if (*t->violation)
		return;
	va_start(ap, format);
	vsnprintf(t->violation, sizeof(t->violation), format, ap);
	va_end(ap);
}

static void keep_finding(void *arg, const char *what)
{
	struct trial *t = arg;

	violate(t, "call %llu: verify: %s", (unsigned long long)t->calls, what);
}

static bool is_sum(const struct help_digest *got, const struct promise *p, bool with_more)
{
	return got->samples == p->kept.samples + (with_more ? p->more.samples : 0) &&
	       got->weighted == p->kept.weighted + (with_more ? p->more.weighted : 0) &&
	       got->counted == p->kept.counted + (with_more ? p->more.counted : 0);
}

static void check_epoch(struct trial *t, const struct io *io, const struct promise *p)
{
	struct help_digest got;
	int r = help_read("db", io, p->name, &got, NULL);

	if (r == -ENOENT && (p->may_go || !p->kept.samples))
		return;
	if (r < 0)
		violate(t, "call %llu: epoch %s is gone (%d)", (unsigned long long)t->calls,
			p->name, r);
	else if (got.damages)
		violate(t, "call %llu: %s", (unsigned long long)t->calls, got.last_damage);
	else if (!is_sum(&got, p, false) && !is_sum(&got, p, true))
		violate(t, "call %llu: epoch %s has %llu samples, not %llu (and %llu)",
			(unsigned long long)t->calls, p->name, (unsigned long long)got.samples,
			(unsigned long long)p->kept.samples, (unsigned long long)p->more.samples);
}

static void check_blob(struct trial *t, const struct io *io, const struct image_id *id, bool must)
{
	void *data;
	size_t size;
	int r = db_blob_read(&(struct db_blobs){"db", NULL, io}, id, "symbols", 100, &data, &size,
			     NULL);

	if (r == 0) {
		if (size != 3 || memcmp(data, "abc", 3) != 0)
			violate(t, "call %llu: a blob is another", (unsigned long long)t->calls);
		free(data);
	} else if (must || r != -ENOENT) {
		violate(t, "call %llu: a blob cannot be read (%d)", (unsigned long long)t->calls,
			r);
	}
}

static bool has_promised(const struct trial *t)
{
	bool any = t->blob_kept;

	for (size_t i = 0; i < t->epoch_count; i++)
		any |= t->epochs[i].kept.samples > 0;
	return any;
}

static void check_sealed(struct trial *t, const struct io *io)
{
	const struct db_epoch *epochs;
	struct db_reader *r;
	size_t count;

	if (db_reader_open("db", io, &r, NULL) < 0)
		return;
	if (db_reader_epochs(r, &epochs, &count, NULL) == 0)
		for (size_t i = 0; i < count; i++)
			for (size_t n = 0; n < t->epoch_count; n++)
				if (!strcmp(epochs[i].name, t->epochs[n].name) &&
				    t->epochs[n].sealed && !epochs[i].sealed)
					violate(t, "call %llu: epoch %s is not sealed",
						(unsigned long long)t->calls, epochs[i].name);
	db_reader_free(r);
}

static void check_database(struct trial *t, const struct io *io)
{
	struct db_verify_totals totals;
	int r = db_verify("db", io, keep_finding, t, &totals, NULL);

	if (r == -ENOENT && !has_promised(t))
		return;
	if (r < 0)
		violate(t, "call %llu: verify fails (%d)", (unsigned long long)t->calls, r);
	for (size_t i = 0; i < t->epoch_count; i++)
		check_epoch(t, io, &t->epochs[i]);
	check_sealed(t, io);
	check_blob(t, io, &kept_id, t->blob_kept);
	check_blob(t, io, &cached_id, false);
}

static bool was_seen(struct trial *t, const struct model_disk *left)
{
	uint64_t key = hash_u64(model_disk_hash(left) + t->blob_kept);
	size_t at;

	for (size_t i = 0; i < t->epoch_count; i++) {
		const struct promise *p = &t->epochs[i];

		key = hash_u64(key ^ p->kept.weighted) + p->more.weighted;
		key = hash_u64(key + 2 * p->sealed + p->may_go);
	}
	key |= 1;
	for (at = key % SEEN_ROOM; t->seen[at]; at = (at + 1) % SEEN_ROOM)
		if (t->seen[at] == key)
			return true;
	t->seen[at] = key;
	return false;
}

/* One thing that a crash may leave. */
static void check_crash(struct trial *t, uint64_t names, uint64_t seed)
{
	struct model_disk *left = model_disk_crash(t->disk, names, seed);
	struct io io = model_disk_io(left);
	struct diag diag = {""};
	struct db_writer *w;

	if (was_seen(t, left)) {
		model_disk_free(left);
		return;
	}
	t->states++;
	check_database(t, &io);
	if (db_writer_open("db", TEST_MACHINE, &io, &w, &diag) < 0 || db_writer_close(w, &diag) < 0)
		violate(t, "call %llu: the next writer: %s", (unsigned long long)t->calls,
			diag.text);
	else
		check_database(t, &io);
	model_disk_free(left);
}

static void before_call(void *arg)
{
	struct trial *t = arg;
	size_t unsafe = model_disk_unsafe(t->disk);
	uint64_t sets = unsafe <= EXHAUSTIVE ? 1ull << unsafe : RANDOM_SETS;

	t->calls++;
	for (uint64_t i = 0; i < sets && !*t->violation; i++) {
		/* Nothing, everything, and what chance says. */
		uint64_t names = unsafe <= EXHAUSTIVE ? i : i < 2 ? 0 - i : help_random(&t->random);

		for (uint64_t seed = 0; seed < FILE_SEEDS && !*t->violation; seed++)
			check_crash(t, names, seed);
	}
}

static struct promise *current(struct trial *t)
{
	return &t->epochs[t->epoch_count - 1];
}

static void add(struct help_digest *to, const struct help_digest *d)
{
	to->samples += d->samples;
	to->weighted += d->weighted;
	to->counted += d->counted;
}

/* The disk fails no call. */
static void must(int r, const struct diag *diag)
{
	if (r == 0)
		return;
	printf("Bail out! the work itself fails: %s\n", diag->text);
	exit(1);
}

static void begin(struct trial *t, bool unseen)
{
	uint64_t start_ns = model_disk_clock(t->disk)->wall_ns += HOUR_NS;
	struct diag diag = {""};

	model_disk_clock(t->disk)->boot_ns += HOUR_NS;
	must((unseen ? db_writer_begin_unseen : db_writer_begin_epoch)(t->w, start_ns, &diag),
	     &diag);
	if (t->epoch_count)
		current(t)->sealed = true;
	t->epoch_count++;
	current(t)->unseen = unseen;
	snprintf(current(t)->name, sizeof(current(t)->name), "%s", db_writer_epoch(t->w));
}

static void flush(struct trial *t)
{
	struct db_batch *b = db_batch_new(10000);
	struct promise *p = current(t);
	struct help_digest d = {0};
	struct diag diag = {""};

	help_fill(b, &d, ++t->random, 12);
	add(&p->more, &d);
	must(db_writer_flush(t->w, b, &diag), &diag);
	/* One that is out of sight comes as a whole. */
	if (!p->unseen) {
		add(&p->kept, &d);
		p->more = (struct help_digest){0};
	}
	db_batch_free(b);
}

static void compact(struct trial *t, const char *epoch)
{
	struct diag diag = {""};

	must(db_writer_compact(t->w, epoch, &diag), &diag);
}

static void write_blobs(struct trial *t)
{
	struct diag diag = {""};

	must(db_blob_write(&(struct db_blobs){"db", TEST_MACHINE, &t->io}, &kept_id, "symbols",
			   "abc", 3, &diag),
	     &diag);
	t->blob_kept = true;
	must(db_blob_cache(&(struct db_blobs){"db", TEST_MACHINE, &t->io}, &cached_id, "symbols",
			   "abc", 3, &diag),
	     &diag);
}

/* The oldest epoch goes, and then its blobs may. */
static void retain(struct trial *t)
{
	struct diag diag = {""};
	unsigned removed = 0;

	t->epochs[0].may_go = true;
	t->blob_kept = false;
	must(db_writer_retain(t->w, 1, 0, &removed, &diag), &diag);
	if (removed != 1)
		violate(t, "%u epochs were removed", removed);
}

static void open_writer(struct trial *t)
{
	struct diag diag = {""};

	must(db_writer_open("db", TEST_MACHINE, &t->io, &t->w, &diag), &diag);
}

static void close_writer(struct trial *t)
{
	struct diag diag = {""};

	must(db_writer_close(t->w, &diag), &diag);
	current(t)->sealed = true;
	add(&current(t)->kept, &current(t)->more);
	current(t)->more = (struct help_digest){0};
}

/* All that writers do. After a violation the rest only has to end. */
static void work(struct trial *t)
{
	open_writer(t);
	begin(t, false);
	flush(t);
	flush(t);
	compact(t, NULL);
	flush(t);
	write_blobs(t);
	for (unsigned i = 0; i < 3; i++) {
		begin(t, false);
		flush(t);
	}
	compact(t, t->epochs[0].name);
	retain(t);
	flush(t);
	close_writer(t);
	open_writer(t);
	compact(t, current(t)->name);
	begin(t, true);
	flush(t);
	flush(t);
	compact(t, NULL);
	close_writer(t);
	before_call(t);
}

/* Without the syncs of one kind (prefix NULL: with all). Returns whether all promises were kept. */
static bool run(bool data, const char *prefix, unsigned number, const char *what)
{
	static struct trial t;
	bool kept;

	t = (struct trial){.disk = model_disk_new(), .random = 20261122};
	t.io = model_disk_io(t.disk);
	*model_disk_clock(t.disk) =
		(struct io_time){.wall_ns = TEST_TIME_NS, .boot_ns = HOUR_NS, .boot_id = "first"};
	model_disk_ignore(t.disk, data, prefix);
	model_disk_watch(t.disk, before_call, &t);
	work(&t);
	kept = !*t.violation;
	printf("%sok %u - %s: %llu states left by crashes at %llu calls%s%s\n",
	       kept == !prefix ? "" : "not ", number, what, (unsigned long long)t.states,
	       (unsigned long long)t.calls, kept ? "" : "; noticed: ", t.violation);
	model_disk_free(t.disk);
	return kept;
}

int main(void)
{
	static const struct {
		bool data;
		const char *prefix, *what;
	} left_out[] = {
		{true, "seg-", "without the data of segments"},
		{true, "base-", "without the data of bases"},
		{true, "SEALED", "without the data of seals"},
		{true, "meta", "without the data of the version"},
		{true, "content-", "without the data of blobs"},
		{false, "root", "without the database's own name"},
		{false, "db", "without the names of machines"},
		{false, TEST_MACHINE, "without the names of epochs"},
		{false, "2026", "without the names of packs"},
		{false, "making-", "without the names of packs of what is out of sight"},
		{false, "images", "without the names of blobs"},
	};
	const unsigned count = sizeof(left_out) / sizeof(*left_out);

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%u\n", count + 1);
	run(false, NULL, 1, "with every sync");
	for (unsigned i = 0; i < count; i++)
		run(left_out[i].data, left_out[i].prefix, i + 2, left_out[i].what);
	return 0;
}
