/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/file_slots.h"
#include "collect/files.h"
#include "collect/unwind_tables.h"
#include "collect/unwinder.h"
#include "util/hash.h"

#define SLOTS	      1024
#define LOOKS_A_DRAIN 64
/* Between drains: while tables are lacking, and later. */
#define SOON_NS		10000000ull
#define LATER_NS	250000000ull
#define DISTINCT_MAX	16384 /* stacks between two drains */
#define RING_BYTES	(4u << 20)
#define RULES		65536
#define EARLY_MAX	64
#define PAGE_ROWS_LEAST 16 /* rows of a page on average: fewer, and pages run out first */

/* A file that has a slot. */
struct slot_file {
	struct image_id id;
	char *path;
	size_t path_size;
	struct image_segment *segments;
	uint32_t segment_count;
	uint64_t number; /* of its struct mapped_file */
	int fd;		 /* to compile its table again after it was evicted; -1: none */
	uint32_t batch_number, image;
};

struct stacks {
	struct stacks_config config;
	struct resolver *resolver;
	struct unwinder *kernel;
	struct unwind_tables *tables;
	struct file_slots *files;
	struct slot_file slots[SLOTS]; /* number 0 is none */
	uint32_t slot_count, batch_number, period, memory_bytes;
	/* Counts whose stack has not come yet: key's first half -> count. */
	struct map64 *waiting;
	/* Stacks that came before their count: of programs that ran between the two looks. */
	struct wire_stack *early[EARLY_MAX];
	unsigned early_count;
	uint64_t next_ns,
		lacking; /* lacking: stacks of this drain that ended for want of a table */
	uint64_t stored, unmatched, lost_storage, unreadable;
	struct stacks_status flushed;
};

static int put_table(void *arg, uint32_t slot, const struct wire_unwind_table *table)
{
	struct stacks *s = arg;

	return unwinder_put_table(s->kernel, slot, table);
}

static int quiesce(void *arg)
{
	struct stacks *s = arg;

	return sampler_quiesce(s->config.sampler, NULL);
}

static int put_file(void *arg, const struct wire_file *file, uint32_t slot)
{
	struct stacks *s = arg;

	return unwinder_put_file(s->kernel, file, slot);
}

static void drop_file(void *arg, const struct wire_file *file)
{
	struct stacks *s = arg;

	unwinder_drop_file(s->kernel, file);
}

/* Compiles and places the table of a slot. That it has none is placed too. */
static void load_table(struct stacks *s, uint32_t slot)
{
	struct slot_file *f = &s->slots[slot];
	struct image_unwind *u = NULL;

	if (f->fd < 0 || image_worker_unwind(s->config.worker, f->fd, &u, NULL))
		s->unreadable++;
	unwind_tables_put(s->tables, slot, u, f->segments, f->segment_count);
	image_unwind_free(u);
}

static int add_slot(struct stacks *s, const struct mapping *m, pid_t pid, uint32_t *ret)
{
	const struct mapped_file *file = m->file;
	struct slot_file *f = &s->slots[s->slot_count + 1];

	if (s->slot_count + 1 == SLOTS)
		return -ENOSPC;
	*f = (struct slot_file){
		.id = file->id,
		.path = strdup(file->path),
		.path_size = file->path_size,
		.segments = calloc(file->segment_count + 1, sizeof(*f->segments)),
		.segment_count = file->segment_count,
		.number = file->number,
		.fd = files_open(file, pid, m->start, m->end),
	};
	if (!f->path || !f->segments) {
		free(f->path);
		free(f->segments);
		if (f->fd >= 0)
			close(f->fd);
		return -ENOMEM;
	}
	memcpy(f->segments, file->segments, file->segment_count * sizeof(*f->segments));
	*ret = ++s->slot_count;
	load_table(s, *ret);
	return 0;
}

static int give_slot(void *arg, const struct mapping *m, pid_t pid, uint32_t *ret)
{
	struct stacks *s = arg;

	if (m->file->state != FILE_ELF)
		return 0;
	for (uint32_t slot = 1; slot <= s->slot_count; slot++)
		if (s->slots[slot].number == m->file->number) {
			*ret = slot;
			return 0;
		}
	return add_slot(s, m, pid, ret);
}

static void drop_slots(struct stacks *s)
{
	for (uint32_t slot = 1; slot <= s->slot_count; slot++) {
		struct slot_file *f = &s->slots[slot];

		if (s->tables)
			unwind_tables_drop(s->tables, slot);
		free(f->path);
		free(f->segments);
		if (f->fd >= 0)
			close(f->fd);
	}
	s->slot_count = 0;
}

static int open_kernel(struct stacks *s, struct diag *diag)
{
	struct unwinder_config config = {
		.files = FILE_SLOTS_MAX,
		.rows = s->memory_bytes / 4,
		.pages = s->memory_bytes / 4 / PAGE_ROWS_LEAST,
		.stacks = DISTINCT_MAX,
		.ring_bytes = RING_BYTES,
	};
	struct unwind_memory memory = {
		.row_count = config.rows,
		.page_count = config.pages,
		.rule_count = RULES,
		.slot_count = SLOTS,
		.put = put_table,
		.quiesce = quiesce,
		.arg = s,
	};
	int r = unwinder_new(&config, &s->kernel, diag);

	if (r)
		return r;
	memory.rows = unwinder_rows(s->kernel);
	memory.pages = unwinder_pages(s->kernel);
	memory.rules = unwinder_rules(s->kernel);
	s->tables = unwind_tables_new(&memory);
	s->waiting = map64_new(4 * DISTINCT_MAX);
	return s->tables && s->waiting ? 0 : diag_fail(diag, ENOMEM, "out of memory");
}

int stacks_new(const struct stacks_config *config, struct stacks **ret, struct diag *diag)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->config = *config;
	s->memory_bytes = config->memory_bytes ?: STACKS_MEMORY_DEFAULT;
	r = open_kernel(s, diag);
	if (!r)
		r = sampler_set_unwinder(config->sampler, unwinder_program(s->kernel), diag);
	if (r) {
		stacks_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	file_slots_free(s->files);
	if (s->kernel)
		drop_slots(s);
	for (unsigned i = 0; i < s->early_count; i++)
		free(s->early[i]);
	unwind_tables_free(s->tables);
	unwinder_free(s->kernel);
	map64_free(s->waiting);
	free(s);
}

int stacks_start(struct stacks *s, struct resolver *resolver, double hz)
{
	struct file_slots_config config = {
		.resolver = resolver,
		.put = put_file,
		.drop = drop_file,
		.give = give_slot,
		.arg = s,
	};

	s->resolver = resolver;
	s->files = file_slots_new(&config);
	if (!s->files)
		return -ENOMEM;
	s->period = hz > STACKS_HZ ? (uint32_t)(hz / STACKS_HZ + 0.5) : 1;
	sampler_unwind(s->config.sampler, s->period);
	return 0;
}

void stacks_begin_batch(struct stacks *s)
{
	s->batch_number++;
}

static int slot_frame(struct stacks *s, uint64_t frame, struct db_frame *ret)
{
	uint32_t slot = (uint32_t)(frame >> 32), offset = (uint32_t)frame;
	struct slot_file *f = slot <= s->slot_count ? &s->slots[slot] : NULL;
	int r;

	if (!f || !slot)
		return -ENOENT;
	if (f->batch_number != s->batch_number + 1) {
		r = db_batch_image(s->config.batch, &f->id, f->path, f->path_size, &f->image);
		if (r)
			return r;
		f->batch_number = s->batch_number + 1;
	}
	unwind_tables_use(s->tables, slot);
	for (uint32_t i = 0; i < f->segment_count; i++) {
		const struct image_segment *segment = &f->segments[i];

		if (offset - segment->file_offset < segment->file_size) {
			*ret = (struct db_frame){f->image,
						 offset - segment->file_offset + segment->address};
			return 0;
		}
	}
	return -ENOENT;
}

/* A frame of the process: by its file, else by what is known of the process. */
static int user_frame(struct stacks *s, const struct wire_stack *stack, uint64_t frame,
		      struct db_frame *ret)
{
	int r = -ENOENT;

	if (!(frame & WIRE_FRAME_ADDRESS))
		r = slot_frame(s, frame, ret);
	if (r == -ENOENT)
		r = resolver_image(s->resolver, (pid_t)(stack->process & WIRE_TGID_MASK),
				   frame & ~WIRE_FRAME_ADDRESS, stack->time_ns, &ret->image,
				   &ret->offset);
	return r;
}

/* What stands for frames that are not there. */
static int note_frame(struct stacks *s, const char *text, uint8_t number, struct db_frame *ret)
{
	struct image_id id = {.kind = IMAGE_NOTE, .size = 1, .bytes = {number}};

	ret->offset = 0;
	return db_batch_image(s->config.batch, &id, text, strlen(text), &ret->image);
}

#define NOTE_LEFT_OUT 100

static const char *const end_notes[WIRE_STACK_ENDS] = {
	[WIRE_STACK_NO_TABLE] = "[truncated: unwind table not loaded yet]",
	[WIRE_STACK_NO_RULE] = "[truncated: no unwind rule]",
	[WIRE_STACK_BAD_ADDRESS] = "[truncated: bad frame address]",
	[WIRE_STACK_NOT_CODE] = "[truncated: return address outside code]",
	[WIRE_STACK_NOT_RESIDENT] = "[truncated: stack page not resident]",
	[WIRE_STACK_TOO_DEEP] = "[truncated: too deep]",
};

struct made {
	struct db_frame frames[DB_STACK_MAX];
	uint32_t count;
};

/* Frames from the outermost in. */
static int make_frames(struct stacks *s, const struct wire_stack *stack, struct made *m)
{
	const uint64_t *user = stack->frame + WIRE_STACK_KERNEL;
	uint32_t kept = WIRE_STACK_INNER + WIRE_STACK_OUTER, followed = stack->followed;
	int r = 0;

	m->count = 0;
	if (end_notes[stack->end])
		r = note_frame(s, end_notes[stack->end], stack->end, &m->frames[m->count++]);
	for (uint32_t i = followed; i > WIRE_STACK_INNER && i + WIRE_STACK_OUTER > followed && !r;
	     i--)
		r = user_frame(s, stack, user[WIRE_STACK_INNER + (i - 1) % WIRE_STACK_OUTER],
			       &m->frames[m->count++]);
	if (!r && followed > kept)
		r = note_frame(s, "[frames left out]", NOTE_LEFT_OUT, &m->frames[m->count++]);
	for (uint32_t i = followed < WIRE_STACK_INNER ? followed : WIRE_STACK_INNER; i > 0 && !r;
	     i--)
		r = user_frame(s, stack, user[i - 1], &m->frames[m->count++]);
	for (uint32_t i = stack->kernel_count; i > 0 && !r; i--, m->count++)
		r = resolver_image(s->resolver, (pid_t)(stack->process & WIRE_TGID_MASK),
				   stack->frame[i - 1], stack->time_ns, &m->frames[m->count].image,
				   &m->frames[m->count].offset);
	return r;
}

static int store(struct stacks *s, const struct wire_stack *stack, uint64_t count)
{
	uint32_t subject;
	struct made m;
	int r = resolver_subject(s->resolver, (pid_t)(stack->process & WIRE_TGID_MASK),
				 stack->time_ns, &subject);

	if (!r)
		r = make_frames(s, stack, &m);
	if (!r && m.count)
		r = db_batch_stack(s->config.batch, resolver_event(s->resolver, stack->event),
				   subject, m.frames, m.count, count);
	return r;
}

static void learn(struct stacks *s, const struct wire_stack *stack)
{
	struct file_place place = {
		.file = stack->file,
		.offset = stack->file_offset,
		.address = stack->address,
		.time_ns = stack->time_ns,
		.tgid = (pid_t)(stack->process & WIRE_TGID_MASK),
	};
	uint64_t last =
		stack->frame[WIRE_STACK_KERNEL +
			     (stack->followed - 1 < WIRE_STACK_INNER ? stack->followed - 1 : 0)];

	if (stack->followed == 0)
		return;
	if (last & WIRE_FRAME_ADDRESS)
		file_slots_learn(s->files, &place);
	else if (last >> 32 <= s->slot_count)
		load_table(s, (uint32_t)(last >> 32)); /* it was evicted */
}

static void take_count(void *arg, const struct wire_stack_key *key, uint32_t count)
{
	struct stacks *s = arg;
	uint64_t k = key->hash[0] >> 1, before = 0;

	map64_get(s->waiting, k, &before);
	if (map64_put(s->waiting, k, before + count))
		s->unmatched += count;
}

/* False: its count has not come yet. */
static bool store_counted(struct stacks *s, const struct wire_stack *stack)
{
	uint64_t k = stack->key.hash[0] >> 1, count;
	int r;

	if (map64_get(s->waiting, k, &count))
		return false;
	map64_remove(s->waiting, k);
	r = store(s, stack, count);
	if (r == -ENOSPC && s->config.make_room(s->config.arg) == 0)
		r = store(s, stack, count);
	if (r)
		s->lost_storage += count;
	else
		s->stored += count;
	return true;
}

static void take_stack(void *arg, const struct wire_stack *stack)
{
	struct stacks *s = arg;
	struct wire_stack *copy;

	if (stack->end == WIRE_STACK_NO_TABLE) {
		s->lacking++;
		learn(s, stack);
	}
	if (store_counted(s, stack) || s->early_count == EARLY_MAX)
		return;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return;
	/* The record is cut after its last frame. */
	memcpy(copy, stack, unwinder_stack_bytes(stack));
	s->early[s->early_count++] = copy;
}

/* After the counts, before further stacks. */
static void take_early(void *arg)
{
	struct stacks *s = arg;

	for (unsigned i = 0; i < s->early_count; i++) {
		store_counted(s, s->early[i]);
		free(s->early[i]);
	}
	s->early_count = 0;
}

static void count_unmatched(uint64_t key, uint64_t count, void *arg)
{
	(void)key;
	*(uint64_t *)arg += count;
}

/* All slots are given: begins anew. */
static void clear_all(struct stacks *s, const struct unwinder_taker *taker)
{
	sampler_unwind(s->config.sampler, 0);
	file_slots_clear(s->files);
	sampler_quiesce(s->config.sampler, NULL);
	unwinder_drain(s->kernel, taker);
	drop_slots(s);
	sampler_unwind(s->config.sampler, s->period);
}

void stacks_drain(struct stacks *s, uint64_t now_ns)
{
	struct unwinder_taker taker = {take_count, take_early, take_stack, s};

	s->lacking = 0;
	file_slots_begin(s->files, LOOKS_A_DRAIN);
	unwinder_drain(s->kernel, &taker);
	/* Their frames did not come: the ring was full. */
	if (map64_count(s->waiting) > DISTINCT_MAX) {
		map64_each(s->waiting, count_unmatched, &s->unmatched);
		map64_free(s->waiting);
		s->waiting = map64_new(4 * DISTINCT_MAX);
	}
	if (file_slots_full(s->files))
		clear_all(s, &taker);
	s->next_ns = now_ns + (s->lacking ? SOON_NS : LATER_NS);
}

uint64_t stacks_next_ns(const struct stacks *s)
{
	return s->next_ns;
}

void stacks_read_status(const struct stacks *s, struct stacks_status *ret)
{
	struct unwind_tables_counters tables;
	struct wire_stack_counters c;

	unwinder_count(s->kernel, &c);
	unwind_tables_count(s->tables, &tables);
	*ret = (struct stacks_status){
		.stacks = c.stacks,
		.complete = c.ends[WIRE_STACK_COMPLETE] + c.ends[WIRE_STACK_NO_USER],
		.frames = c.frames,
		.stored = s->stored,
		.lost = c.lost_full + c.lost_ring + c.collisions + s->lost_storage + s->unmatched,
		.tables = tables.tables,
		.table_bytes = 4 * (tables.rows + tables.pages),
		.evicted = tables.evicted,
		.period = s->period,
	};
	memcpy(ret->ends, c.ends, sizeof(ret->ends));
}

static void add(struct stacks *s, const char *name, uint64_t now, uint64_t *before)
{
	if (now > *before)
		db_batch_count(s->config.batch, DB_EVENT_NONE, name, now - *before);
	*before = now;
}

void stacks_flush(struct stacks *s)
{
	static const char *const ends[WIRE_STACK_ENDS] = {
		"complete", "no_table",	    "no_rule",	"bad_address",
		"not_code", "not_resident", "too_deep", "kernel_thread",
	};
	struct stacks_status now;
	char name[64];

	stacks_read_status(s, &now);
	add(s, "stacks.taken", now.stacks, &s->flushed.stacks);
	add(s, "stacks.stored", now.stored, &s->flushed.stored);
	add(s, "stacks.lost", now.lost, &s->flushed.lost);
	add(s, "stacks.frames", now.frames, &s->flushed.frames);
	for (unsigned i = 0; i < WIRE_STACK_ENDS; i++) {
		snprintf(name, sizeof(name), "stacks.end.%s", ends[i]);
		add(s, name, now.ends[i], &s->flushed.ends[i]);
	}
	add(s, "stacks.tables.evicted", now.evicted, &s->flushed.evicted);
}
