/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/edges/edge_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"
#include "util/search.h"

/*
 * Micro-operations are allocated one after the other in regions of equal size. When all regions are
 * full the one whose strips were used least is emptied whole: one grace period pays for thousands
 * of strips.
 */
#define REGIONS 16
/*
 * Decoded with an instruction that a window lacked: the strip after its own, and those that hold
 * the targets of direct branches and calls from the next so many bytes. More would mostly be code
 * that is never run, in the place of code that is.
 */
#define AHEAD_BYTES 160
#define AHEAD_MAX   8
/* Of the strips of a region that is emptied, those that windows met so often are decoded again,
 * as long as they fill no more than half of it. */
#define KEEP_USES 4
#define KEEP_MAX  1024
/* A sweep begins so far before a strip at most: code falls into step within a few instructions. */
#define LOOKBACK     8192
#define STEP_BYTES   128	 /* the same, where no start is known */
#define SEEN_MAX     16384	 /* starts that were met, of a file */
#define STARTS_MAX   (32u << 20) /* bytes of known ones, of a file */
#define LONGEST	     15		 /* instruction */
#define FAILURES_MAX 3		 /* of the worker, for a file */
#define TRIES_MAX    16		 /* for starts in one strip that the sweep did not meet */
#define NO_ENTRY     UINT32_MAX

struct strip_entry {
	struct wire_strip_key key;
	uint64_t starts[WIRE_STRIP_WORDS];
	uint32_t region; /* NO_ENTRY: free, then next is valid */
	uint32_t next;
	uint32_t tries, uses;
	uint32_t first, count; /* its operations */
};

struct region {
	uint32_t filled;
	uint64_t uses;
};

struct edge_code {
	struct edge_memory memory;
	struct image_worker *worker;
	struct edge_file *files[EDGE_FILES_MAX]; /* by slot less 1 */
	uint32_t file_count;
	struct map64 *strips; /* (slot, number) -> entry */
	struct strip_entry *entries;
	uint32_t free_entry;
	struct region regions[REGIONS];
	uint32_t region_size, current;
	struct edge_code_counters counters;
	struct wire_strip_key keep[KEEP_MAX];
	struct wire_micro scratch[WIRE_STRIP_BYTES];
	uint64_t starts[LOOKBACK + WIRE_STRIP_BYTES];
};

static void entries_reset(struct edge_code *c)
{
	for (uint32_t i = 0; i < EDGE_STRIPS_MAX; i++) {
		c->entries[i].region = NO_ENTRY;
		c->entries[i].next = i + 1 < EDGE_STRIPS_MAX ? i + 1 : NO_ENTRY;
	}
	c->free_entry = 0;
}

int edge_code_new(const struct edge_memory *memory, struct image_worker *worker,
		  struct edge_code **ret, struct diag *diag)
{
	struct edge_code *c = calloc(1, sizeof(*c));

	if (!c)
		return diag_fail(diag, ENOMEM, "out of memory");
	c->memory = *memory;
	c->worker = worker;
	c->region_size = memory->micro_count / REGIONS;
	c->strips = map64_new(EDGE_STRIPS_MAX);
	c->entries = malloc(EDGE_STRIPS_MAX * sizeof(*c->entries));
	int r = c->strips && c->entries ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	if (!r && c->region_size < WIRE_STRIP_BYTES)
		r = diag_fail(diag, EINVAL, "too little memory for decoded code");
	if (r) {
		edge_code_free(c);
		return r;
	}
	entries_reset(c);
	*ret = c;
	return 0;
}

static void file_free(struct edge_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->segments);
	free(f->starts);
	free(f->seen);
	free(f);
}

static void files_free_all(struct edge_code *c)
{
	for (uint32_t i = 0; i < c->file_count; i++)
		file_free(c->files[i]);
	c->file_count = 0;
}

void edge_code_free(struct edge_code *c)
{
	if (!c)
		return;
	files_free_all(c);
	map64_free(c->strips);
	free(c->entries);
	free(c);
}

uint32_t edge_code_find(const struct edge_code *c, uint64_t number)
{
	for (uint32_t i = 0; i < c->file_count; i++)
		if (c->files[i]->number == number)
			return i + 1;
	return 0;
}

int edge_code_add(struct edge_code *c, const struct mapped_file *file, int fd, uint32_t *ret_slot)
{
	struct edge_file *f = c->file_count < EDGE_FILES_MAX ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		close(fd);
		return c->file_count < EDGE_FILES_MAX ? -ENOMEM : -ENOSPC;
	}
	f->fd = fd;
	f->id = file->id;
	f->number = file->number;
	f->path = strndup(file->path, file->path_size);
	f->path_size = file->path_size;
	f->segments = calloc(file->segment_count + 1, sizeof(*f->segments));
	f->segment_count = file->segment_count;
	if (!f->path || !f->segments) {
		file_free(f);
		return -ENOMEM;
	}
	if (file->segment_count)
		memcpy(f->segments, file->segments, file->segment_count * sizeof(*f->segments));
	c->files[c->file_count++] = f;
	*ret_slot = c->file_count;
	return 0;
}

struct edge_file *edge_code_file(struct edge_code *c, uint32_t slot)
{
	return slot && slot <= c->file_count ? c->files[slot - 1] : NULL;
}

static const struct image_segment *find_segment(const struct edge_file *f, uint64_t file_offset)
{
	for (uint32_t i = 0; i < f->segment_count; i++)
		if (file_offset - f->segments[i].file_offset < f->segments[i].file_size)
			return &f->segments[i];
	return NULL;
}

bool edge_file_offset(const struct edge_file *f, uint32_t file_offset, uint64_t *ret)
{
	const struct image_segment *s = find_segment(f, file_offset);

	if (s)
		*ret = s->address + (file_offset - s->file_offset);
	return s != NULL;
}

/* The file's own starts, as file offsets. Without them (a file that cannot be read any more, or has
 * no .eh_frame) what windows meet must do. */
static void read_starts(struct edge_code *c, struct edge_file *f)
{
	uint64_t *addresses = NULL;
	size_t count = 0, kept = 0;
	struct diag why;

	f->starts_known = true;
	if (image_worker_starts(c->worker, f->fd, STARTS_MAX, &addresses, &count, &why))
		return;
	f->starts = malloc((count + 1) * sizeof(*f->starts));
	for (size_t i = 0; f->starts && i < count; i++)
		for (uint32_t n = 0; n < f->segment_count; n++) {
			const struct image_segment *s = &f->segments[n];
			uint64_t at = s->file_offset + (addresses[i] - s->address);

			if (addresses[i] - s->address < s->file_size && at <= UINT32_MAX)
				f->starts[kept++] = (uint32_t)at;
		}
	if (f->starts)
		array_sort(f->starts, kept, sizeof(*f->starts), num_compare_u32);
	f->start_count = f->starts ? kept : 0;
	free(addresses);
}

/* How many of an ascending list are below limit. */
static size_t below(const uint32_t *list, size_t count, uint64_t limit)
{
	return SEARCH_FIRST(count, i, list[i] >= limit);
}

/* Notes that an instruction begins there. */
static void see_start(struct edge_file *f, uint32_t offset)
{
	size_t at = below(f->seen, f->seen_count, offset);

	if ((at < f->seen_count && f->seen[at] == offset) || f->seen_count == SEEN_MAX)
		return;
	if (array_grow_short(&f->seen, f->seen_count, sizeof(*f->seen)))
		return;
	memmove(f->seen + at + 1, f->seen + at, (f->seen_count - at) * sizeof(*f->seen));
	f->seen[at] = offset;
	f->seen_count++;
}

/* The last known start at or before a strip's begin, not further back than LOOKBACK; else a little
 * before it. */
static uint64_t sweep_begin(const struct edge_file *f, const struct image_segment *s,
			    uint64_t begin)
{
	size_t own = below(f->starts, f->start_count, begin + 1);
	size_t seen = below(f->seen, f->seen_count, begin + 1);
	uint64_t least = begin > LOOKBACK ? begin - LOOKBACK : 0, found = 0;

	if (least < s->file_offset)
		least = s->file_offset;
	if (own && f->starts[own - 1] >= least)
		found = f->starts[own - 1];
	if (seen && f->seen[seen - 1] >= least && f->seen[seen - 1] > found)
		found = f->seen[seen - 1];
	if (found)
		return found;
	return begin > least + STEP_BYTES ? begin - STEP_BYTES : least;
}

/* The known starts from begin to before end, merged, each once. */
static size_t collect_starts(struct edge_code *c, const struct edge_file *f, uint64_t begin,
			     uint64_t end)
{
	size_t a = below(f->starts, f->start_count, begin),
	       b = below(f->seen, f->seen_count, begin);
	size_t count = 0;

	for (;;) {
		uint64_t x = a < f->start_count ? f->starts[a] : end;
		uint64_t y = b < f->seen_count ? f->seen[b] : end;
		uint64_t least = x < y ? x : y;

		if (least >= end)
			return count;
		a += x == least;
		b += y == least;
		c->starts[count++] = least;
	}
}

static void drop_entry(struct edge_code *c, struct strip_entry *e)
{
	c->memory.drop_strip(c->memory.arg, &e->key);
	map64_remove(c->strips, (uint64_t)e->key.slot << 32 | e->key.number);
	e->region = NO_ENTRY;
	e->next = c->free_entry;
	c->free_entry = (uint32_t)(e - c->entries);
	c->counters.strips--;
}

/* Forgets the strips of a region; notes in keep those that are worth keeping. Returns how many. */
static uint32_t drop_of_region(struct edge_code *c, uint32_t region)
{
	uint32_t kept = 0, micros = 0;

	for (uint32_t i = 0; i < EDGE_STRIPS_MAX; i++) {
		struct strip_entry *e = &c->entries[i];
		uint32_t uses = e->uses;

		/* What was used long ago counts for less. */
		e->uses /= 2;
		if (e->region != region)
			continue;
		if (uses >= KEEP_USES && kept < KEEP_MAX &&
		    micros + e->count <= c->region_size / 2) {
			micros += e->count;
			c->keep[kept++] = e->key;
		} else {
			c->counters.evicted++;
		}
		drop_entry(c, e);
	}
	return kept;
}

/* The region to fill next: an empty one, unless entries are wanted, else the least used one. */
static uint32_t choose_region(const struct edge_code *c, bool for_entry)
{
	uint32_t least = NO_ENTRY;

	for (uint32_t i = 0; i < REGIONS; i++) {
		const struct region *region = &c->regions[i];

		if (i == c->current || (for_entry && !region->filled))
			continue;
		if (!region->filled)
			return i;
		if (least == NO_ENTRY || region->uses < c->regions[least].uses)
			least = i;
	}
	return least == NO_ENTRY ? c->current : least;
}

static struct strip_entry *find_entry(const struct edge_code *c, struct wire_strip_key key)
{
	uint64_t index;

	if (map64_get(c->strips, (uint64_t)key.slot << 32 | key.number, &index))
		return NULL;
	return &c->entries[index];
}

static struct strip_entry *new_entry(struct edge_code *c, struct wire_strip_key key)
{
	uint32_t index = c->free_entry;

	if (index == NO_ENTRY || map64_put(c->strips, (uint64_t)key.slot << 32 | key.number, index))
		return NULL;
	c->free_entry = c->entries[index].next;
	c->entries[index].key = key;
	c->entries[index].tries = c->entries[index].uses = 0;
	c->counters.strips++;
	return &c->entries[index];
}

/* Puts what is in scratch, for which there is room, where the interpreter finds it. */
static int store_strip(struct edge_code *c, struct wire_strip_key key, struct wire_strip *strip)
{
	const uint32_t count = strip->count;
	struct region *region = &c->regions[c->current];
	struct strip_entry *e;

	strip->first = c->current * c->region_size + region->filled;
	if (count)
		memcpy(c->memory.micros + strip->first, c->scratch, count * sizeof(*c->scratch));
	e = find_entry(c, key);
	if (e)
		c->counters.again++;
	else
		e = new_entry(c, key);
	if (!e)
		return -ENOSPC;
	int r = c->memory.put_strip(c->memory.arg, &key, strip);
	/* In the map or not: the entry says what was tried, so that it is not tried for ever. */
	memcpy(e->starts, strip->starts, sizeof(e->starts));
	e->region = c->current;
	e->first = strip->first;
	e->count = count;
	region->filled += count;
	c->counters.micros += count;
	c->counters.decoded++;
	return r;
}

/* Has the worker decode; a file that costs it its life again and again is not given to it more. */
static int decode_wanted(struct edge_code *c, struct edge_file *f,
			 const struct image_strip_wanted *wanted, struct wire_strip *ret)
{
	struct diag why;
	int r = -EBADMSG;

	if (f->failures < FAILURES_MAX)
		r = image_worker_strip(c->worker, f->fd, wanted, ret, c->scratch, &why);
	f->failures += r == -EBADMSG || r == -ETIMEDOUT;
	c->counters.unreadable += r != 0;
	return r;
}

/* 0, -ENODATA: nothing to decode there. There must be room. */
static int decode_strip(struct edge_code *c, struct wire_strip_key key)
{
	uint64_t begin = (uint64_t)key.number << WIRE_STRIP_BITS, end = begin + WIRE_STRIP_BYTES;
	struct edge_file *f = edge_code_file(c, key.slot);
	const struct image_segment *s =
		f ? find_segment(f, begin) ?: find_segment(f, end - 1) : NULL;
	struct image_strip_wanted wanted = {.number = key.number, .starts = c->starts};
	struct wire_strip strip;
	uint64_t s_end;

	if (!s) {
		c->counters.no_code++;
		return -ENODATA;
	}
	s_end = s->file_offset + s->file_size;
	wanted.begin = sweep_begin(f, s, begin > s->file_offset ? begin : s->file_offset);
	wanted.size = (uint32_t)((end + LONGEST < s_end ? end + LONGEST : s_end) - wanted.begin);
	wanted.start_count = collect_starts(c, f, wanted.begin, end < s_end ? end : s_end);
	int r = decode_wanted(c, f, &wanted, &strip);
	return r ?: store_strip(c, key, &strip);
}

static bool has_room(const struct edge_code *c)
{
	return c->regions[c->current].filled + WIRE_STRIP_BYTES <= c->region_size &&
	       c->free_entry != NO_ENTRY;
}

/* Makes room for a strip, if need be by emptying a region. */
static int make_room(struct edge_code *c)
{
	uint32_t next, kept;

	if (has_room(c))
		return 0;
	next = choose_region(c, c->free_entry == NO_ENTRY);
	kept = drop_of_region(c, next);
	int r = c->regions[next].filled ? c->memory.quiesce(c->memory.arg) : 0;
	if (r)
		return r;
	c->counters.micros -= c->regions[next].filled;
	c->regions[next] = (struct region){0};
	c->current = next;
	for (uint32_t i = 0; i < REGIONS; i++)
		c->regions[i].uses /= 2;
	for (uint32_t i = 0; i < kept && has_room(c); i++)
		decode_strip(c, c->keep[i]);
	return has_room(c) ? 0 : -ENOSPC;
}

static bool has_start(const struct strip_entry *e, uint32_t offset)
{
	uint32_t bit = offset & (WIRE_STRIP_BYTES - 1);

	return e->starts[bit / 64] >> (bit % 64) & 1;
}

/* Decodes a strip unless it is there. 1 when it did, 0, or a negative errno. */
static int ensure_strip(struct edge_code *c, struct wire_strip_key key)
{
	int r = find_entry(c, key) ? 1 : make_room(c);

	if (r)
		return r == 1 ? 0 : r;
	r = decode_strip(c, key);
	return r ?: 1;
}

/* The strips that direct branches and calls from the code at a place lead to, at most AHEAD_MAX. */
static unsigned find_targets(const struct edge_code *c, const struct strip_entry *e,
			     struct wire_place place, uint32_t numbers[AHEAD_MAX])
{
	uint32_t base = e->key.number << WIRE_STRIP_BITS, index = e->first;
	unsigned count = 0;

	for (uint32_t bit = 0; bit < WIRE_STRIP_BYTES && count < AHEAD_MAX; bit++) {
		const struct wire_micro *m = &c->memory.micros[index];
		uint32_t at = base + bit;

		if (!(e->starts[bit / 64] >> (bit % 64) & 1))
			continue;
		index++;
		if (at < place.offset || at >= place.offset + AHEAD_BYTES)
			continue;
		if (m->op == MICRO_JUMP || m->op == MICRO_CALL || m->op == MICRO_BRANCH)
			numbers[count++] = (at + (m->length & 15) + m->imm) >> WIRE_STRIP_BITS;
	}
	return count;
}

static int decode_ahead(struct edge_code *c, struct wire_place place)
{
	struct wire_strip_key key = {place.slot, place.offset >> WIRE_STRIP_BITS};
	const struct strip_entry *e = find_entry(c, key);
	uint32_t numbers[AHEAD_MAX];
	unsigned count = e ? find_targets(c, e, place, numbers) : 0;
	int decoded = 0;

	key.number++;
	decoded += ensure_strip(c, key) == 1;
	for (unsigned i = 0; i < count; i++) {
		key.number = numbers[i];
		decoded += ensure_strip(c, key) == 1;
	}
	return decoded;
}

int edge_code_want(struct edge_code *c, struct wire_place place)
{
	struct edge_file *f = edge_code_file(c, place.slot);
	struct wire_strip_key key = {place.slot, place.offset >> WIRE_STRIP_BITS};
	struct strip_entry *e = find_entry(c, key);

	if (!f || !find_segment(f, place.offset))
		return -ENODATA;
	/* Decoded since the window went by; or no instruction that can be decoded. */
	if (e && (has_start(e, place.offset) || ++e->tries > TRIES_MAX))
		return 0;
	if (!f->starts_known)
		read_starts(c, f);
	see_start(f, place.offset);
	int r = make_room(c);
	if (!r)
		r = decode_strip(c, key);
	return r ?: 1 + decode_ahead(c, place);
}

void edge_code_use(struct edge_code *c, struct wire_place place)
{
	struct wire_strip_key key = {place.slot, place.offset >> WIRE_STRIP_BITS};
	struct strip_entry *e = find_entry(c, key);

	if (!e)
		return;
	e->uses++;
	c->regions[e->region].uses++;
}

int edge_code_clear(struct edge_code *c)
{
	for (uint32_t i = 0; i < REGIONS; i++)
		drop_of_region(c, i);
	int r = c->memory.quiesce(c->memory.arg);
	files_free_all(c);
	memset(c->regions, 0, sizeof(c->regions));
	c->current = 0;
	c->counters.micros = 0;
	c->counters.clears++;
	return r;
}

void edge_code_read_counters(const struct edge_code *c, struct edge_code_counters *ret)
{
	*ret = c->counters;
	ret->files = c->file_count;
}
