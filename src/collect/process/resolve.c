/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/wire.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/io.h"

/* Second looks at /proc for processes or mappings that no record told of; they are slow, and a
 * process that ended has nothing to look at. */
#define LOOKS_A_DRAIN 64
#define LOOKS_NS      50000000ull
/* Questions of the kernel what one of its addresses is, some microseconds each. */
#define ASKS_A_DRAIN	     256
#define KERNEL_WAIT_LEAST_NS 2000000000ull
#define KERNEL_WAIT_MOST_NS  64000000000ull
#define KERNEL_BIT	     (1ull << 63)
#define IMAGE_MEMOS	     64
/* Of a place's identity, for the same file known otherwise. */
#define PLACE_BY_NAME	(1ull << 62)
#define PLACE_BY_OFFSET (1ull << 61)
/* Samples that wait until their file is known: so many, and so long. */
#define WAITING_MAX   65536
#define WAITING_NS    5000000000ull
#define WAITING_FIRST 256

/* The number of a file or kernel region in the batch: for the many frames of stacks. */
struct image_memo {
	uint64_t what;
	uint32_t batch_number, image;
};

struct resolver {
	struct resolver_config config;
	struct image_memo image_memo[IMAGE_MEMOS];
	uint32_t batch_number;
	unsigned looks_left, asks_left;
	uint64_t looks_end_ns;
	uint64_t kernel_look_ns, kernel_wait_ns; /* when to scan the kernel's regions again */
	uint32_t event_index[WIRE_EVENTS];
	struct resolver_event_counters counters[WIRE_EVENTS];
	uint64_t cgroups_refused, threads_refused;
	struct process *nobody; /* whom samples of processes that are not known are charged to */
	uint8_t boot_id[16];
	struct waiting {
		struct sampler_entry entry;
		uint64_t since_ns;
		uint32_t tag; /* of its file */
	} * waiting;
	size_t waiting_count, waiting_room;
};

/* What a sample was found to be: the image, and the offset in it. */
struct place {
	/* Identity for the memo, which outlives much: the even number of a file, the odd hash of a
	 * kernel region's identity, or the address of the life itself or of this resolver. */
	uint64_t what;
	struct image_id id;
	const char *path;
	size_t path_size;
	uint64_t offset;
	const struct mapping *mapping; /* of a file */
};

static void read_boot_id(uint8_t ret[16])
{
	char *text;
	size_t size;

	if (io_read_file("/proc/sys/kernel/random/boot_id", 64, &text, &size))
		return;
	for (size_t i = 0, n = 0; i < size && n < 32; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, text[i]);

		if (!d || !*d)
			continue;
		ret[n / 2] |= (uint8_t)((d - digits) << (n % 2 ? 0 : 4));
		n++;
	}
	free(text);
}

struct resolver *resolver_new(const struct resolver_config *config)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->config = *config;
	r->nobody = calloc(1, sizeof(*r->nobody));
	if (!r->nobody || resolver_begin_batch(r)) {
		resolver_free(r);
		return NULL;
	}
	r->nobody->comm_size = 9;
	memcpy(r->nobody->comm, "[unknown]", 9);
	read_boot_id(r->boot_id);
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	if (r->nobody)
		free(r->nobody->subject);
	free(r->nobody);
	free(r->waiting);
	free(r);
}

int resolver_begin_batch(struct resolver *r)
{
	r->batch_number++;
	for (size_t i = 0; i < r->config.event_count; i++) {
		const struct event *e = &r->config.events[i];
		struct db_event event = {
			.name = e->name,
			.period = r->config.periods[i],
			.flags = (e->attr.precise_ip ? DB_EVENT_PRECISE : 0) |
				 (r->config.randomized && !e->tick ? DB_EVENT_RANDOMIZED : 0) |
				 (r->config.governed && !e->period ? DB_EVENT_GOVERNED : 0) |
				 (e->kernel ? DB_EVENT_KERNEL : 0) | (e->user ? DB_EVENT_USER : 0),
		};
		int err = db_batch_event(r->config.batch, &event, &r->event_index[i]);

		if (err)
			return err;
	}
	return 0;
}

void resolver_begin_drain(struct resolver *r)
{
	r->looks_left = LOOKS_A_DRAIN;
	r->asks_left = ASKS_A_DRAIN;
	r->looks_end_ns = clock_monotonic_ns() + LOOKS_NS;
}

void resolver_read_sums(const struct resolver *r, struct resolver_sums *ret)
{
	*ret = (struct resolver_sums){.cgroups_refused = r->cgroups_refused,
				      .threads_refused = r->threads_refused};
	for (size_t i = 0; i < r->config.event_count; i++)
		ret->by_name += r->counters[i].by_name;
}

const struct resolver_event_counters *resolver_counters(const struct resolver *r, size_t event)
{
	return &r->counters[event];
}

uint32_t resolver_event(const struct resolver *r, size_t event)
{
	return r->event_index[event];
}

void resolver_jit_image(const struct resolver *r, const struct process *life, struct image_id *ret)
{
	uint64_t key[4] = {(uint64_t)life->pid, life->started_ns};

	memcpy(&key[2], r->boot_id, sizeof(r->boot_id));
	*ret = (struct image_id){.kind = IMAGE_JIT, .size = 16};
	uint64_t hash[2] = {hash_bytes(key, sizeof(key)), hash_bytes(key, 3 * sizeof(key[0]))};

	memcpy(ret->bytes, hash, sizeof(hash));
}

static void place_unknown(struct resolver *r, uint64_t pc, struct place *ret)
{
	*ret = (struct place){
		.what = (uintptr_t)r,
		.id = {.kind = IMAGE_UNKNOWN},
		.path = "[unknown]",
		.path_size = 9,
		.offset = pc,
	};
}

/*
 * Looks for a module that was loaded since. A scan reads all of kallsyms, 0.1 s of CPU, and there
 * may always be another PC that it might find: the more often it is asked for, the longer the next
 * one waits.
 */
static const struct image_kernel_region *scan_again(struct resolver *r, uint64_t pc,
						    uint64_t time_ns)
{
	if (time_ns < r->kernel_look_ns)
		return NULL;
	r->kernel_wait_ns *= 2;
	if (time_ns - r->kernel_look_ns > KERNEL_WAIT_MOST_NS || r->kernel_wait_ns == 0)
		r->kernel_wait_ns = KERNEL_WAIT_LEAST_NS;
	if (r->kernel_wait_ns > KERNEL_WAIT_MOST_NS)
		r->kernel_wait_ns = KERNEL_WAIT_MOST_NS;
	r->kernel_look_ns = time_ns + r->kernel_wait_ns;
	image_kernel_refresh(r->config.kernel);
	return image_kernel_find(r->config.kernel, pc);
}

/* What no event told of: it was there before, or is nothing that has a name. */
static const struct image_kernel_region *find_unseen(struct resolver *r, uint64_t pc,
						     uint64_t time_ns)
{
	const struct image_kernel_region *unnamed = image_kernel_unnamed(r->config.kernel, pc);
	int known;

	if (unnamed || image_kernel_is_core(r->config.kernel, pc) || !r->asks_left)
		return unnamed;
	r->asks_left--;
	known = image_kernel_ask(r->config.kernel, pc);
	if (known == -ENOENT)
		return image_kernel_unnamed(r->config.kernel, pc);
	return known ? scan_again(r, pc, time_ns) : image_kernel_find(r->config.kernel, pc);
}

static bool place_kernel(struct resolver *r, uint64_t pc, uint64_t time_ns, struct place *ret)
{
	const struct image_kernel_region *region = NULL;

	if (!r->config.kernel)
		return false;
	region = image_kernel_find(r->config.kernel, pc);
	if (!region)
		region = find_unseen(r, pc, time_ns);
	if (!region)
		return false;
	*ret = (struct place){
		.what = hash_bytes(&region->id, sizeof(region->id)) | 1,
		.id = region->id,
		.path = region->path,
		.path_size = strlen(region->path),
		.offset = pc - region->bias,
	};
	return true;
}

static void place_jit(const struct resolver *r, struct process *life, uint64_t pc,
		      struct place *ret)
{
	life->jit_sampled = true;
	*ret = (struct place){
		.what = (uintptr_t)life, .path = "[jit]", .path_size = 5, .offset = pc};
	resolver_jit_image(r, life, &ret->id);
}

/* A process with many mappings takes long to look at, and not more often than it is worth: what all
 * of them may take in a drain has a limit, and each has one of its own. */
static bool may_look(struct resolver *r, const struct process *life)
{
	uint64_t now = clock_monotonic_ns();

	return r->looks_left && life->ended_ns == UINT64_MAX && !life->leader_gone &&
	       now < r->looks_end_ns && now >= life->scan_next_ns;
}

static void identify(struct resolver *r, const struct process *life, struct mapping *m)
{
	const struct file_mapping through = {life->pid, m->start, m->end, m->born_ns};
	int err = files_resolve(r->config.files, &m->file, &through);

	if (err == -ESTALE)
		m->identity = MAPPING_REWRITTEN;
	else if (err == -EAGAIN)
		m->identity = MAPPING_ASKED;
	else
		m->identity = file_is_pending(m->file) ? MAPPING_NEW : MAPPING_KNOWN;
}

/* Of code that runs in a copy, the original. */
static uint64_t original_of(const struct resolver *r, const struct process *life, uint64_t pc,
			    uint64_t time_ns)
{
	const struct originals *o = &r->config.originals;
	const struct mapping *m =
		o->find && life->space ? space_find(life->space, pc, time_ns) : NULL;
	uint64_t original;

	if (!m || !file_name_begins(&m->file->name, RESOLVER_COPIES))
		return pc;
	return o->find(o->arg, m->file->name.inode, pc - m->start + m->file_offset, &original)
		       ? original
		       : pc;
}

static struct mapping *find_mapping(struct resolver *r, struct process *life, uint64_t pc,
				    uint64_t time_ns)
{
	struct mapping *m = life->space ? space_find(life->space, pc, time_ns) : NULL;

	if (!m && may_look(r, life)) {
		r->looks_left--;
		if (processes_scan_one(r->config.processes, life->pid, time_ns) == 0)
			m = life->space ? space_find(life->space, pc, time_ns) : NULL;
	}
	if (m && (m->identity == MAPPING_NEW || m->identity == MAPPING_ASKED))
		identify(r, life, m);
	return m;
}

/*
 * A file by another identity than that of its content in memory: by its name, where that is all
 * that is known of it, or with offsets in the file, where no segment of it has the code that runs
 * (a program may map what it likes, or have more segments than are kept).
 */
static void place_by_offset(const struct mapping *m, struct place *ret)
{
	ret->what |= m->identity == MAPPING_KNOWN ? PLACE_BY_OFFSET : PLACE_BY_NAME;
	if (m->identity == MAPPING_KNOWN)
		ret->id.kind = IMAGE_FILE_OFFSET;
	else
		file_name_id(m->file, &ret->id);
}

static void place_file(const struct mapping *m, uint64_t pc, struct place *ret)
{
	uint64_t file_offset = pc - m->start + m->file_offset;

	*ret = (struct place){
		.what = m->file->number << 1,
		.id = m->file->id,
		.path = m->file->path,
		.path_size = m->file->path_size,
		.offset = file_offset,
		.mapping = m,
	};
	if (m->file->state == FILE_VDSO)
		ret->offset = pc - m->start;
	else if (m->identity == MAPPING_ASKED || m->identity == MAPPING_REWRITTEN ||
		 !file_image_offset(m->file, file_offset, &ret->offset))
		place_by_offset(m, ret);
}

static bool place_user(struct resolver *r, struct process *life, const struct sampler_entry *e,
		       struct place *ret)
{
	uint64_t pc = original_of(r, life, e->pc, e->first_ns);
	struct mapping *m = find_mapping(r, life, pc, e->first_ns);

	if (!m)
		return false;
	if (m->file->state == FILE_ANON)
		place_jit(r, life, pc, ret);
	else
		place_file(m, pc, ret);
	return true;
}

/* Whether it is to be placed later, when it is known which image its file is. */
static bool must_wait(const struct place *place)
{
	return place->mapping && place->mapping->identity == MAPPING_ASKED;
}

/* The life that a sample belongs to; "nobody" when its process is not known. */
static struct process *find_life(struct resolver *r, pid_t tgid, uint64_t time_ns)
{
	struct process *life = processes_find(r->config.processes, tgid, time_ns);

	if (!life && r->looks_left) {
		r->looks_left--;
		processes_scan_one(r->config.processes, tgid, 0);
		life = processes_find(r->config.processes, tgid, time_ns);
	}
	return life ?: r->nobody;
}

struct mapping *resolver_find_mapping(struct resolver *r, pid_t tgid, uint64_t pc, uint64_t time_ns,
				      struct process **ret_life)
{
	struct process *life = pc & KERNEL_BIT ? r->nobody : find_life(r, tgid, time_ns);

	*ret_life = life;
	return life == r->nobody ? NULL : find_mapping(r, life, pc, time_ns);
}

uint64_t resolver_find_original(struct resolver *r, pid_t tgid, uint64_t pc, uint64_t time_ns)
{
	return original_of(r, find_life(r, tgid, time_ns), pc, time_ns);
}

/* The number of a thread's name, 0 where there is none or no room for it. */
static uint32_t number_thread(struct resolver *r, struct process *life,
			      const struct wire_name *thread, uint64_t samples)
{
	long number = life == r->nobody ? 0 : subject_thread(life, thread);

	if (number < 0)
		r->threads_refused += samples;
	return number < 0 ? 0 : (uint32_t)number;
}

/* The batch's number of what a life's threads of a name are charged to. */
static int find_thread_subject(struct resolver *r, const struct process *life, uint32_t thread,
			       uint32_t *ret)
{
	struct thread_subject *t = &life->threads[thread - 1];
	char bytes[SUBJECT_MAX_BYTES];
	int err;

	if (t->batch_number != r->batch_number) {
		long size = subject_of_thread(life, thread, r->config.with_pid, r->config.labels,
					      bytes);

		err = size < 0 ? (int)size
			       : db_batch_subject(r->config.batch, bytes, (size_t)size, &t->index);
		if (err)
			return err;
		t->batch_number = r->batch_number;
	}
	*ret = t->index;
	return 0;
}

static int find_subject(struct resolver *r, struct process *life, uint32_t thread, uint32_t *ret)
{
	uint32_t subject;
	int err;

	if (life->subject_number != r->batch_number || !life->subject) {
		err = subject_of(life, r->config.with_pid, r->config.labels);
		r->cgroups_refused += err > 0;
		if (err >= 0)
			err = db_batch_subject(r->config.batch, life->subject, life->subject_size,
					       &subject);
		if (err)
			return err;
		life->subject_number = r->batch_number;
		life->subject_index = subject;
	}
	*ret = life->subject_index;
	return thread ? find_thread_subject(r, life, thread, ret) : 0;
}

static int find_image(struct resolver *r, struct process *life, const struct place *place,
		      uint32_t *ret)
{
	struct image_memo *memo = &r->image_memo[hash_u64(place->what) % IMAGE_MEMOS];

	if (memo->what == place->what && memo->batch_number == r->batch_number) {
		*ret = memo->image;
		return 0;
	}
	if (r->config.saw_image)
		r->config.saw_image(r->config.keeper, &place->id, place->path, life,
				    place->mapping);
	int err = db_batch_image(r->config.batch, &place->id, place->path, place->path_size, ret);
	/* A life's code is its own: another may come to be at the same address. */
	if (!err && place->id.kind != IMAGE_JIT)
		*memo = (struct image_memo){place->what, r->batch_number, *ret};
	return err;
}

static int make_profile(struct resolver *r, struct process *life, uint32_t thread,
			const struct place *place, uint32_t event, uint32_t *ret)
{
	uint32_t image, subject;
	int err = find_subject(r, life, thread, &subject);

	if (!err)
		err = find_image(r, life, place, &image);
	return err ?: db_batch_profile(r->config.batch, image, r->event_index[event], subject, ret);
}

static int find_profile(struct resolver *r, struct process *life, uint32_t thread,
			const struct place *place, uint32_t event, uint32_t *ret)
{
	uint64_t pair =
		hash_u64(place->what + event + ((uint64_t)thread << 48)) % (PROCESS_MEMOS / 2);
	struct process_memo *memo = &life->memo[2 * pair];

	for (int i = 0; i < 2; i++) {
		if (memo[i].what == place->what && memo[i].event == event &&
		    memo[i].thread == thread && memo[i].batch_number == r->batch_number) {
			*ret = memo[i].profile;
			return 0;
		}
	}
	int err = make_profile(r, life, thread, place, event, ret);
	if (err)
		return err;
	memo[1] = memo[0];
	memo[0] = (struct process_memo){place->what, event, r->batch_number, *ret, thread};
	return 0;
}

static int store(struct resolver *r, struct process *life, const struct place *place,
		 const struct sampler_entry *e)
{
	uint32_t profile, thread = number_thread(r, life, &e->thread, e->count);
	int err = find_profile(r, life, thread, place, e->event, &profile);

	return err ?: db_batch_add(r->config.batch, profile, place->offset, e->count);
}

/* False: it cannot wait. */
static bool wait_for_file(struct resolver *r, const struct sampler_entry *e, uint32_t tag)
{
	if (r->waiting_count == WAITING_MAX ||
	    array_grow(&r->waiting, r->waiting_count, &r->waiting_room, sizeof(*r->waiting),
		       WAITING_FIRST) < 0)
		return false;
	r->waiting[r->waiting_count++] = (struct waiting){*e, clock_monotonic_ns(), tag};
	return true;
}

static void count_unknown(struct resolver_event_counters *c, bool is_kernel, bool is_nobody,
			  uint32_t count)
{
	if (is_kernel)
		c->unknown_kernel += count;
	else if (is_nobody)
		c->unknown_process += count;
	else
		c->unknown_mapping += count;
}

/* False: it is to be taken again when the tag's file is known. ret_tag NULL: it cannot wait. */
static bool take(struct resolver *r, const struct sampler_entry *e, uint32_t *ret_tag)
{
	struct resolver_event_counters *c = &r->counters[e->event];
	struct process *life = find_life(r, (pid_t)e->tgid, e->first_ns);
	bool is_kernel = e->pc & KERNEL_BIT, found;
	struct place place;

	if (is_kernel)
		found = place_kernel(r, e->pc, e->first_ns, &place);
	else
		found = life != r->nobody && place_user(r, life, e, &place);
	if (found && must_wait(&place)) {
		if (ret_tag) {
			*ret_tag = file_tag(place.mapping->file);
			return false;
		}
		c->by_name += e->count;
	}
	if (!found) {
		place_unknown(r, e->pc, &place);
		count_unknown(c, is_kernel, life == r->nobody, e->count);
	}
	c->samples += e->count;
	c->kernel += is_kernel ? e->count : 0;
	int err = store(r, life, &place, e);
	if (err == -ENOSPC && r->config.make_room(r->config.arg) == 0)
		err = store(r, life, &place, e);
	if (err == -ENOMEM)
		c->lost_memory += e->count;
	else if (err)
		c->lost_storage += e->count;
	return true;
}

void resolver_take(void *resolver, const struct sampler_entry *e)
{
	struct resolver *r = resolver;
	uint32_t tag;

	if (e->event >= r->config.event_count)
		return; /* of a measurement before the start */
	if (!take(r, e, &tag) && !wait_for_file(r, e, tag))
		take(r, e, NULL);
}

void resolver_retry(struct resolver *r, bool must_end)
{
	uint64_t now = clock_monotonic_ns();
	size_t kept = 0;

	for (size_t i = 0; i < r->waiting_count; i++) {
		struct waiting one = r->waiting[i];
		bool ends = must_end || now - one.since_ns > WAITING_NS;

		if ((!ends && files_is_asked(r->config.files, one.tag)) ||
		    !take(r, &one.entry, ends ? NULL : &one.tag))
			r->waiting[kept++] = one;
	}
	r->waiting_count = kept;
}

size_t resolver_waiting(const struct resolver *r)
{
	return r->waiting_count;
}

uint64_t resolver_oldest_ns(const struct resolver *r)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < r->waiting_count; i++)
		if (r->waiting[i].entry.first_ns < oldest)
			oldest = r->waiting[i].entry.first_ns;
	return oldest;
}

int resolver_subject(struct resolver *r, pid_t tgid, const struct wire_name *thread,
		     uint64_t time_ns, uint32_t *ret)
{
	struct process *life = find_life(r, tgid, time_ns);

	return find_subject(r, life, number_thread(r, life, thread, 0), ret);
}

int resolver_image(struct resolver *r, pid_t tgid, uint64_t pc, uint64_t time_ns,
		   uint32_t *ret_image, uint64_t *ret_offset)
{
	struct sampler_entry e = {.pc = pc, .first_ns = time_ns, .tgid = (uint32_t)tgid};
	struct process *life = find_life(r, tgid, time_ns);
	struct place place;
	bool found;

	if (pc & KERNEL_BIT)
		found = place_kernel(r, pc, time_ns, &place);
	else
		found = life != r->nobody && place_user(r, life, &e, &place);
	if (!found)
		place_unknown(r, pc, &place);
	int err = find_image(r, life, &place, ret_image);
	if (!err)
		*ret_offset = place.offset;
	return err;
}
