/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "collect/edges/edge_code.h"
#include "collect/edges/edges.h"
#include "collect/cost/pace.h"
#include "collect/edges/edge_windows.h"
#include "db/kind.h"
#include "db/pairs.h"
#include "db/touches.h"
#include "image/worker/worker.h"
#include "util/hash.h"

/* A file of code: nops, but for what a test writes; its segment is not where its file offset is. */
#define CODE_OFFSET  4096u
#define CODE_SIZE    (64u << 10)
#define CODE_ADDRESS 0x401000u

struct code_file {
	struct mapped_file file;
	struct image_segment segment;
	int fd;
};

static void make_file(struct code_file *f, uint64_t number)
{
	static uint8_t nops[CODE_SIZE];

	memset(f, 0, sizeof(*f));
	memset(nops, 0x90, sizeof(nops));
	f->fd = memfd_create("code", MFD_CLOEXEC);
	assert_int_equal(pwrite(f->fd, nops, sizeof(nops), CODE_OFFSET), CODE_SIZE);
	f->segment = (struct image_segment){CODE_ADDRESS, CODE_OFFSET, CODE_SIZE};
	f->file = (struct mapped_file){
		.state = FILE_ELF,
		.id = {.kind = IMAGE_BUILD_ID, .size = 1, .bytes = {(uint8_t)number}},
		.path = "/bin/code",
		.path_size = 9,
		.segment_count = 1,
		.segments = &f->segment,
		.number = number};
}

static void write_code(struct code_file *f, uint32_t offset, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(f->fd, bytes, size, offset), size);
}

/* What stands for the interpreter's maps. */
struct fake {
	struct wire_micro *micros;
	struct map64 *strips; /* key -> pointer */
	struct image_worker *worker;
	unsigned waits, dropped_unwaited;
};

static uint64_t key_of(const struct wire_strip_key *key)
{
	return (uint64_t)key->slot << 32 | key->number;
}

static struct wire_strip *fake_find(struct fake *fake, uint32_t slot, uint32_t offset)
{
	struct wire_strip_key key = {slot, offset >> WIRE_STRIP_BITS};
	uint64_t p;

	return map64_get(fake->strips, key_of(&key), &p) ? NULL : (void *)(uintptr_t)p;
}

static int put_strip(void *arg, const struct wire_strip_key *key, const struct wire_strip *strip)
{
	struct fake *fake = arg;
	struct wire_strip *copy = fake_find(fake, key->slot, key->number << WIRE_STRIP_BITS);

	/* What was dropped may still be in use, and is not written over. */
	assert_int_equal(fake->dropped_unwaited, 0);
	if (!copy)
		copy = malloc(sizeof(*copy));
	*copy = *strip;
	return map64_put(fake->strips, key_of(key), (uintptr_t)copy);
}

static void drop_strip(void *arg, const struct wire_strip_key *key)
{
	struct fake *fake = arg;

	free(fake_find(fake, key->slot, key->number << WIRE_STRIP_BITS));
	assert_int_equal(map64_remove(fake->strips, key_of(key)), 0);
	fake->dropped_unwaited++;
}

static int quiesce(void *arg)
{
	struct fake *fake = arg;

	fake->waits++;
	fake->dropped_unwaited = 0;
	return 0;
}

static struct edge_code *make_code_limited(struct fake *fake, uint32_t micro_count,
					   const struct image_worker_limits *limits)
{
	struct edge_memory memory = {.micro_count = micro_count,
				     .put_strip = put_strip,
				     .drop_strip = drop_strip,
				     .quiesce = quiesce,
				     .arg = fake};
	struct edge_code *c;

	*fake = (struct fake){.micros = calloc(micro_count, sizeof(struct wire_micro)),
			      .strips = map64_new(EDGE_STRIPS_MAX),
			      .worker = image_worker_new(limits)};
	assert_non_null(fake->worker);
	memory.micros = fake->micros;
	assert_int_equal(edge_code_new(&memory, fake->worker, &c, NULL), 0);
	return c;
}

static struct edge_code *make_code(struct fake *fake, uint32_t micro_count)
{
	return make_code_limited(fake, micro_count, NULL);
}

static void free_one(uint64_t key, uint64_t value, void *arg)
{
	(void)key, (void)arg;
	free((void *)(uintptr_t)value);
}

static void free_code(struct edge_code *c, struct fake *fake)
{
	edge_code_free(c);
	map64_each(fake->strips, free_one, NULL);
	map64_free(fake->strips);
	image_worker_free(fake->worker);
	free(fake->micros);
}

/* The operation of the instruction at an offset, NULL when none begins there. */
static const struct wire_micro *micro_at(struct fake *fake, uint32_t slot, uint32_t offset)
{
	const struct wire_strip *s = fake_find(fake, slot, offset);
	uint32_t bit = offset & (WIRE_STRIP_BYTES - 1), index;

	if (!s || !(s->starts[bit / 64] >> (bit % 64) & 1))
		return NULL;
	index = s->rank[bit / 64] +
		(uint32_t)__builtin_popcountll(s->starts[bit / 64] & ((1ull << (bit % 64)) - 1));
	assert_true(index < s->count);
	return &fake->micros[s->first + index];
}

static int want(struct edge_code *c, uint32_t slot, uint32_t offset)
{
	return edge_code_want(c, (struct wire_place){slot, offset});
}

static void code_is_decoded_where_it_leads(void **state)
{
	/* call +0x5000; the rest is nops */
	static const uint8_t call[] = {0xe8, 0x00, 0x50, 0x00, 0x00};
	struct code_file f;
	struct fake fake;
	struct edge_code *c = make_code(&fake, 1 << 20);
	uint32_t slot, at = CODE_OFFSET + 0x410;
	uint64_t address;

	(void)state;
	make_file(&f, 7);
	write_code(&f, at, call, sizeof(call));
	assert_int_equal(edge_code_find(c, 7), 0);
	assert_int_equal(edge_code_add(c, &f.file, f.fd, &slot), 0);
	assert_int_equal(edge_code_find(c, 7), slot);
	assert_int_equal(want(c, slot, at), 3);
	assert_int_equal(micro_at(&fake, slot, at)->op, MICRO_CALL);
	assert_null(micro_at(&fake, slot, at + 1));
	assert_non_null(micro_at(&fake, slot, at + 5));
	assert_non_null(fake_find(&fake, slot, at + WIRE_STRIP_BYTES));
	assert_non_null(fake_find(&fake, slot, at + 5 + 0x5000));
	assert_null(fake_find(&fake, slot, at + 0x3000));
	assert_int_equal(want(c, slot, at), 0); /* it is there */
	assert_true(edge_file_offset(edge_code_file(c, slot), at, &address));
	assert_true(address == CODE_ADDRESS + 0x410);
	/* Outside of the code, and of files without a slot, there is nothing. */
	assert_int_equal(want(c, slot, CODE_OFFSET - 1), -ENODATA);
	assert_int_equal(want(c, slot, CODE_OFFSET + CODE_SIZE), -ENODATA);
	assert_int_equal(want(c, slot + 1, at), -ENODATA);
	assert_null(edge_code_file(c, 0));
	free_code(c, &fake);
}

/* A start within what a sweep takes for an instruction: it starts over there. */
static void starts_that_windows_meet_are_believed(void **state)
{
	/* mov eax, imm32, whose last bytes are: jmp short +2 */
	static const uint8_t overlap[] = {0xb8, 0x90, 0x90, 0xeb, 0x02};
	struct edge_code_counters n;
	struct code_file f;
	struct fake fake;
	struct edge_code *c = make_code(&fake, 1 << 20);
	uint32_t slot, at = CODE_OFFSET + 0x20;

	(void)state;
	make_file(&f, 7);
	write_code(&f, at, overlap, sizeof(overlap));
	assert_int_equal(edge_code_add(c, &f.file, f.fd, &slot), 0);
	assert_true(want(c, slot, CODE_OFFSET) > 0);
	assert_non_null(micro_at(&fake, slot, at));
	assert_null(micro_at(&fake, slot, at + 3));
	assert_true(want(c, slot, at + 3) > 0);
	assert_int_equal(micro_at(&fake, slot, at + 3)->op, MICRO_JUMP);
	edge_code_read_counters(c, &n);
	assert_int_equal(n.again, 1);
	free_code(c, &fake);
}

/* More code than memory: what is used stays, and nothing is overwritten that may be in use. */
static void memory_is_kept_for_what_is_used(void **state)
{
	enum { FILES = 12 };
	struct edge_code_counters n;
	struct code_file f[FILES];
	struct fake fake;
	struct edge_code *c = make_code(&fake, 16 * 4096);
	uint32_t slot[FILES], hot = CODE_OFFSET + 0x800;

	(void)state;
	for (unsigned i = 0; i < FILES; i++) {
		make_file(&f[i], 100 + i);
		assert_int_equal(edge_code_add(c, &f[i].file, f[i].fd, &slot[i]), 0);
	}
	assert_true(want(c, slot[0], hot) > 0);
	for (unsigned i = 0; i < FILES; i++)
		for (uint32_t at = 0; at < CODE_SIZE; at += WIRE_STRIP_BYTES) {
			for (unsigned uses = 0; uses < 8; uses++)
				edge_code_use(c, (struct wire_place){slot[0], hot});
			assert_true(want(c, slot[i], CODE_OFFSET + at) >= 0);
			assert_non_null(micro_at(&fake, slot[i], CODE_OFFSET + at));
			assert_non_null(micro_at(&fake, slot[0], hot));
		}
	edge_code_read_counters(c, &n);
	assert_true(n.micros <= 16 * 4096);
	assert_true(n.evicted > 0 && fake.waits > 0);
	assert_int_equal(n.strips, map64_count(fake.strips));
	assert_int_equal(edge_code_clear(c), 0);
	assert_int_equal(map64_count(fake.strips), 0);
	assert_null(edge_code_file(c, slot[0]));
	free_code(c, &fake);
}

static void bytes_that_are_no_code_do_no_harm(void **state)
{
	struct edge_code_counters n;
	uint8_t noise[CODE_SIZE];
	struct code_file f;
	struct fake fake;
	struct edge_code *c = make_code(&fake, 1 << 20);
	uint64_t random = 42;
	uint32_t slot;

	(void)state;
	make_file(&f, 7);
	for (size_t i = 0; i < sizeof(noise); i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		noise[i] = (uint8_t)(random >> 56);
	}
	write_code(&f, CODE_OFFSET, noise, sizeof(noise));
	/* The file became shorter since it was mapped. */
	assert_int_equal(ftruncate(f.fd, CODE_OFFSET + CODE_SIZE / 2), 0);
	assert_int_equal(edge_code_add(c, &f.file, f.fd, &slot), 0);
	for (uint32_t at = CODE_OFFSET; at < CODE_OFFSET + CODE_SIZE; at += 37)
		want(c, slot, at);
	edge_code_read_counters(c, &n);
	assert_true(n.strips > 0 && n.unreadable > 0);
	/* What cannot be decoded is not tried for ever. */
	for (unsigned i = 0; i < 100; i++)
		want(c, slot, CODE_OFFSET + 36);
	assert_true(n.decoded < 64 * (37 + 20));
	free_code(c, &fake);
}

/* Every strip was decoded in the jail: a request for the starts of the file, and one a strip. */
static void foreign_code_is_decoded_by_the_worker(void **state)
{
	struct edge_code_counters n;
	struct code_file f;
	struct fake fake;
	struct edge_code *c = make_code(&fake, 1 << 20);
	uint32_t slot;

	(void)state;
	make_file(&f, 7);
	assert_int_equal(edge_code_add(c, &f.file, f.fd, &slot), 0);
	assert_true(want(c, slot, CODE_OFFSET) > 0);
	assert_true(want(c, slot, CODE_OFFSET + 0x8000) > 0);
	edge_code_read_counters(c, &n);
	assert_true(n.decoded >= 4);
	assert_int_equal(image_worker_stats(fake.worker).requests, 1 + n.decoded);
	free_code(c, &fake);
}

/* A file on which the worker fails costs itself, and not for ever. */
static void files_that_hurt_the_worker_are_given_up(void **state)
{
	const struct image_worker_limits impatient = {.memory_bytes = 256u << 20,
						      .time_ns = 300000000};
	struct image_facts facts;
	struct code_file f;
	struct fake fake;
	struct edge_code *c = make_code_limited(&fake, 1 << 20, &impatient);
	struct image_worker_stats before, after;
	uint32_t slot, at = CODE_OFFSET;

	(void)state;
	make_file(&f, 10);
	assert_int_equal(edge_code_add(c, &f.file, f.fd, &slot), 0);
	assert_true(want(c, slot, at) > 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(image_worker_facts(fake.worker, f.fd, &facts, NULL) < 0);
		before = image_worker_stats(fake.worker);
		assert_true(before.pid > 0);
		if (i < 3)
			kill(before.pid, SIGSTOP);
		at += 0x1000;
		assert_true(want(c, slot, at) < 0);
		after = image_worker_stats(fake.worker);
		assert_int_equal(after.requests - before.requests, i < 3);
		assert_null(micro_at(&fake, slot, at));
	}
	assert_int_equal(after.timeouts, 3);
	free_code(c, &fake);
}

/* Windows, into a batch. */
struct stage {
	struct code_file f[2];
	struct fake fake;
	struct edge_code *code;
	struct db_batch *batch;
	struct edge_windows *windows;
	uint32_t slot[2];
	unsigned flushes;
	uint64_t flushed_passes;
};

static int sum_edge(void *arg, const void *item)
{
	const struct db_edge_item *e = item;
	uint64_t *sum = arg;

	*sum += e->count;
	return 0;
}

static int flush_stage(void *arg)
{
	struct stage *s = arg;

	s->flushes++;
	assert_int_equal(kind_each(&kind_edges, s->batch, sum_edge, &s->flushed_passes), 0);
	db_batch_clear(s->batch);
	return edge_windows_begin_batch(s->windows);
}

static void make_stage(struct stage *s, size_t max_rows)
{
	struct edge_windows_config config = {.make_room = flush_stage, .arg = s};

	memset(s, 0, sizeof(*s));
	s->code = make_code(&s->fake, 1 << 20);
	for (unsigned i = 0; i < 2; i++) {
		make_file(&s->f[i], 10 + i);
		assert_int_equal(edge_code_add(s->code, &s->f[i].file, s->f[i].fd, &s->slot[i]), 0);
	}
	config.code = s->code;
	config.batch = s->batch = db_batch_new(max_rows);
	s->windows = edge_windows_new(&config);
	assert_non_null(s->windows);
}

static void free_stage(struct stage *s)
{
	edge_windows_free(s->windows);
	free_code(s->code, &s->fake);
	db_batch_free(s->batch);
}

struct seen {
	struct db_edge_item items[32];
	size_t count;
};

static int see(void *arg, const void *item)
{
	struct seen *s = arg;

	assert_true(s->count < 32);
	s->items[s->count++] = *(const struct db_edge_item *)item;
	return 0;
}

static const struct db_edge_item *find(const struct seen *s, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].from == from && s->items[i].to == to)
			return &s->items[i];
	return NULL;
}

#define AT(n) (CODE_OFFSET + (n))
#define IN(n) (CODE_ADDRESS + (n))

static void windows_become_edges(void **state)
{
	struct edge_windows_counters n;
	struct wire_window w = {.instructions = 30, .edge_count = 4};
	struct seen seen = {.count = 0};
	struct stage s;

	(void)state;
	make_stage(&s, 1000);
	/* Twice around a loop, then a call into the other file. */
	w.start = (struct wire_place){s.slot[0], AT(0x10)};
	for (unsigned i = 0; i < 3; i++)
		w.edge[i] = (struct wire_edge){AT(0x30), AT(0x20), (uint16_t)s.slot[0],
					       (uint16_t)s.slot[0]};
	w.edge[2].to = AT(0x32);
	w.edge[3] =
		(struct wire_edge){AT(0x40), AT(0x900), (uint16_t)s.slot[0], (uint16_t)s.slot[1]};
	w.end = (struct wire_place){s.slot[1], AT(0x905)};
	edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	assert_int_equal(kind_each(&kind_edges, s.batch, see, &seen), 0);
	assert_int_equal(seen.count, 5);
	assert_int_equal(find(&seen, DB_EDGE_START, IN(0x10))->count, 2);
	assert_int_equal(find(&seen, IN(0x30), IN(0x20))->count, 4);
	assert_int_equal(find(&seen, IN(0x30), IN(0x20))->windows, 2);
	assert_int_equal(find(&seen, IN(0x30), IN(0x32))->count, 2);
	assert_int_equal(find(&seen, IN(0x40), IN(0x900))->to_image->bytes[0], 11);
	assert_int_equal(find(&seen, IN(0x905), DB_EDGE_END)->image->bytes[0], 11);
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.windows, 2);
	assert_int_equal(n.outcomes, 8);
	free_stage(&s);
}

struct touched {
	uint64_t place[32], count[32];
	size_t rows;
};

static int see_touch(void *arg, const void *item)
{
	const struct db_touch_item *t = item;
	struct touched *to = arg;

	assert_true(to->rows < 32);
	assert_true(t->load == IN(0x20));
	to->place[to->rows] = t->place;
	to->count[to->rows++] = t->count;
	return 0;
}

/* No address is kept; a page once a window; another process's memory is other memory. */
static void loads_become_touches(void **state)
{
	static const uint64_t lines[] = {0x7f001234, 0x7f001235, 0x7f001300, 0x7f001234, 0x5500};
	struct wire_window w = {.instructions = 9, .process = 77};
	struct touched all = {.rows = 0};
	struct stage s;

	(void)state;
	make_stage(&s, 1000);
	w.start = w.end = (struct wire_place){s.slot[0], AT(0x10)};
	w.end.offset += 40;
	for (unsigned i = 0; i < 5; i++)
		w.touch[w.touch_count++] =
			(struct wire_touch){lines[i], {i == 4 ? 0 : s.slot[0], AT(0x20)}};
	edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	w.process = 78;
	edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	assert_int_equal(kind_each(&kind_touches, s.batch, see_touch, &all), 0);
	assert_int_equal(all.rows, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_in_range(all.count[i], 1, 2);
		assert_true(all.place[i] % 64 == 0x34 || all.place[i] % 64 == 0);
		assert_true(all.place[i] < 1ull << 38 && all.place[i] >> 6 != 0x7f001234 >> 6);
	}
	free_stage(&s);
}

static void an_end_in_an_unknown_file_is_found_or_left_out(void **state)
{
	struct wire_window w = {.instructions = 3, .edge_count = 1};
	struct seen seen = {.count = 0};
	struct stage s;

	(void)state;
	make_stage(&s, 1000);
	w.start = (struct wire_place){s.slot[0], AT(0x10)};
	w.edge[0] = (struct wire_edge){AT(0x14), 0, (uint16_t)s.slot[0], 0};
	edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	edge_windows_take(s.windows, &w, (struct wire_place){s.slot[1], AT(0x700)});
	assert_int_equal(kind_each(&kind_edges, s.batch, see, &seen), 0);
	assert_int_equal(seen.count, 4);
	assert_int_equal(find(&seen, DB_EDGE_START, IN(0x10))->count, 2);
	assert_int_equal(find(&seen, IN(0x14), DB_EDGE_END)->count, 1);
	assert_int_equal(find(&seen, IN(0x14), IN(0x700))->count, 1);
	assert_int_equal(find(&seen, IN(0x700), DB_EDGE_END)->count, 1);
	free_stage(&s);
}

static void windows_that_do_not_hold_together_are_refused(void **state)
{
	struct edge_windows_counters n;
	struct wire_window good = {.instructions = 3, .edge_count = 1}, w;
	struct wire_place nowhere = {0, 0};
	struct stage s;

	(void)state;
	make_stage(&s, 1000);
	good.start = (struct wire_place){s.slot[0], AT(0x10)};
	good.edge[0] =
		(struct wire_edge){AT(0x14), AT(0x80), (uint16_t)s.slot[0], (uint16_t)s.slot[0]};
	good.end = (struct wire_place){s.slot[0], AT(0x84)};
	for (unsigned i = 0; i < 9; i++) {
		w = good;
		switch (i) {
		case 0: /* an edge before the start */
			w.edge[0].from = AT(0x0f);
			break;
		case 1: /* further than so few instructions reach */
			w.edge[0].from = AT(0x10 + WIRE_WINDOW_INSTRUCTIONS * 15 + 1);
			break;
		case 2: /* no such file */
			w.edge[0].to_slot = 77;
			break;
		case 3: /* outside of the code */
			w.end.offset = CODE_OFFSET + CODE_SIZE;
			w.edge[0].to = w.end.offset - 1;
			break;
		case 4: /* another file without a transfer */
			w.end.slot = s.slot[1];
			break;
		case 5:
			w.edge_count = WIRE_WINDOW_INSTRUCTIONS + 1;
			break;
		case 6:
			w.start.slot = 0;
			break;
		case 7:
			w.end.offset = AT(0x7f);
			break;
		case 8:
			w.touch_count = WIRE_WINDOW_TOUCHES + 1;
			break;
		}
		edge_windows_take(s.windows, &w, nowhere);
	}
	assert_int_equal(db_batch_edges(s.batch), 0);
	w = good;
	w.instructions = 0;
	edge_windows_take(s.windows, &w, nowhere);
	edge_windows_take(s.windows, &good, nowhere);
	assert_int_equal(db_batch_edges(s.batch), 3);
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.refused, 9);
	assert_int_equal(n.empty, 1);
	free_stage(&s);
}

struct paired {
	struct db_raw_item items[8];
	size_t count;
};

static int see_pair(void *arg, const void *item)
{
	struct paired *p = arg;

	assert_true(p->count < 8);
	p->items[p->count++] = *(const struct db_raw_item *)item;
	return 0;
}

static void pairs_become_raw_records(void **state)
{
	struct wire_pair p = {.distance = 0x20}, missed = {.missed = 1},
			 far = {.distance = 1ll << 32};
	int32_t changes[DB_PAIR_REGISTERS];
	struct edge_windows_counters n;
	struct paired seen = {.count = 0};
	struct stage s;

	(void)state;
	make_stage(&s, 1000);
	p.at = missed.at = far.at = (struct wire_place){s.slot[0], AT(0x10)};
	for (unsigned i = 0; i < 16; i++)
		p.before[i] = p.after[i] = 0x7fff00000000 + i;
	p.before[2] = p.after[2] = 24;
	p.after[15] -= 4096;
	edge_windows_take_pair(s.windows, &p);
	edge_windows_take_pair(s.windows, &missed);
	edge_windows_take_pair(s.windows, &far);
	p.at.slot = 77;
	edge_windows_take_pair(s.windows, &p);
	assert_int_equal(kind_each(&kind_raws, s.batch, see_pair, &seen), 0);
	assert_int_equal(seen.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(seen.items[i].form.kind, DB_RAW_PAIR);
		assert_int_equal(seen.items[i].offset, IN(0x10));
	}
	/* What was missed, and what came elsewhere. */
	assert_null(seen.items[0].target_image);
	assert_int_equal(seen.items[0].count, 2);
	assert_int_equal(seen.items[0].form.mask, 0);
	assert_int_equal(seen.items[1].target, IN(0x30));
	assert_int_equal(seen.items[1].target_image->bytes[0], 10);
	assert_int_equal(seen.items[1].form.mask, 1 << 1 | 1 << 7);
	db_pair_get(&seen.items[1].form, seen.items[1].values, changes);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(changes[i], i == 2 ? 49 : i == 15 ? -8192 : 0);
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.pairs, 3);
	assert_int_equal(n.pairs_left, 1);
	free_stage(&s);
}

/* Enough of one place are enough, until the next batch. */
static void pairs_have_limits(void **state)
{
	struct wire_pair p = {.missed = 1};
	struct edge_windows_counters n;
	struct stage s;

	(void)state;
	make_stage(&s, 1 << 20);
	for (uint32_t i = 0; i < EDGE_PAIRS_OF_CODE + 5; i++) {
		p.at = (struct wire_place){s.slot[0], AT(0x100 + i % 256)};
		edge_windows_take_pair(s.windows, &p);
	}
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.pairs, EDGE_PAIRS_OF_CODE);
	assert_int_equal(n.pairs_left, 5);
	for (uint32_t i = 0; i < EDGE_PAIRS_MAX; i++) {
		p.at = (struct wire_place){s.slot[1], AT(4 * i)};
		edge_windows_take_pair(s.windows, &p);
	}
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.pairs, EDGE_PAIRS_MAX);
	db_batch_clear(s.batch);
	assert_int_equal(edge_windows_begin_batch(s.windows), 0);
	edge_windows_take_pair(s.windows, &p);
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.pairs, EDGE_PAIRS_MAX + 1);
	free_stage(&s);
}

/* A batch that fills up in the midst of a window loses nothing, and is not confused by it. */
static void a_full_batch_is_flushed(void **state)
{
	struct edge_windows_counters n;
	uint64_t left = 0;
	struct stage s;

	(void)state;
	make_stage(&s, 100); /* 25 edges */
	for (uint32_t i = 0; i < 200; i++) {
		struct wire_window w = {.instructions = 3, .edge_count = 1};

		w.start = (struct wire_place){s.slot[i % 2], AT(8 * i)};
		w.edge[0] = (struct wire_edge){AT(8 * i + 1), AT(0x4000), (uint16_t)s.slot[i % 2],
					       (uint16_t)s.slot[0]};
		w.end = (struct wire_place){s.slot[0], AT(0x4004)};
		edge_windows_take(s.windows, &w, (struct wire_place){0, 0});
	}
	assert_true(s.flushes > 10);
	assert_int_equal(kind_each(&kind_edges, s.batch, sum_edge, &left), 0);
	assert_int_equal(left + s.flushed_passes, 600);
	edge_windows_read_counters(s.windows, &n);
	assert_int_equal(n.windows, 200);
	assert_int_equal(n.lost_storage + n.lost_memory + n.refused, 0);
	free_stage(&s);
}

static void the_pace_keeps_to_the_budget(void **state)
{
	struct pace p;
	struct pace_config third = {.budget_percent = 1.0 / 3,
				    .hz = 1000,
				    .cost_ns = EDGE_WINDOW_DEFAULT_NS,
				    .drain_ns = EDGE_WINDOW_DRAIN_NS};
	struct pace_config plenty = third, nothing = third, few = third;
	uint64_t windows = 0, spent_ns = 0;

	(void)state;
	plenty.budget_percent = 10;
	plenty.hz = nothing.hz = 100;
	nothing.budget_percent = 0;
	few.most_hz = 50;
	/* A third of a percent, 1000 samples a second, 24 us each: one in 8 is 0.3%. */
	pace_start(&p, &third);
	assert_int_equal(p.period, 8);
	pace_start(&p, &plenty);
	assert_int_equal(p.period, 1);
	pace_start(&p, &nothing);
	assert_int_equal(p.period, 0);
	assert_false(pace_update(&p, 1000, 1000000));
	/* They turn out to cost 48 us with the drain's 4: one in 15. */
	pace_start(&p, &third);
	for (unsigned i = 0; i < 60; i++) {
		windows += 500;
		spent_ns += 500 * 44000;
		pace_update(&p, windows, spent_ns);
	}
	assert_in_range(p.period, 13, 16);
	assert_false(pace_update(&p, windows + 10, spent_ns + 10 * 44000)); /* too few */
	/* And then 2 us: more of them again. */
	for (unsigned i = 0; i < 60; i++) {
		windows += 500;
		spent_ns += 500 * 2000;
		pace_update(&p, windows, spent_ns);
	}
	assert_in_range(p.period, 1, 2);
	/* As cheap as they may be, no more than are wanted. */
	pace_start(&p, &few);
	assert_int_equal(p.period, 20);
	assert_false(pace_update(&p, 1000, 1000));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_decoded_where_it_leads),
		cmocka_unit_test(starts_that_windows_meet_are_believed),
		cmocka_unit_test(memory_is_kept_for_what_is_used),
		cmocka_unit_test(bytes_that_are_no_code_do_no_harm),
		cmocka_unit_test(foreign_code_is_decoded_by_the_worker),
		cmocka_unit_test(files_that_hurt_the_worker_are_given_up),
		cmocka_unit_test(windows_become_edges),
		cmocka_unit_test(loads_become_touches),
		cmocka_unit_test(an_end_in_an_unknown_file_is_found_or_left_out),
		cmocka_unit_test(windows_that_do_not_hold_together_are_refused),
		cmocka_unit_test(pairs_become_raw_records),
		cmocka_unit_test(pairs_have_limits),
		cmocka_unit_test(a_full_batch_is_flushed),
		cmocka_unit_test(the_pace_keeps_to_the_budget),
	};

	image_worker_dispatch(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
