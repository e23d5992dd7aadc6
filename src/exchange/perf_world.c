/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/places.h"
#include "util/array.h"

#define THREADS_MAX (1u << 20)
#define CACHE_BITS  16
#define COMM_MAX    64
#define NO_SUBJECT  UINT32_MAX
#define IDLE	    0 /* the process of the idle threads */

struct thread {
	char comm[COMM_MAX];
	uint32_t subject; /* of the cgroup that it was last seen in */
	uint64_t cgroup;
	uint64_t names; /* of processes, when subject was made */
	uint32_t tid, pid;
};

struct process {
	struct perf_space *space;
	uint64_t born; /* tells two of one number apart */
	uint32_t pid;
};

/* A place, and samples there that the harvest has not been told of: so a sample of code that was
 * sampled before touches one line of memory. */
struct memo {
	uint64_t offset;
	uint32_t image, place; /* image: HARVEST_NONE where no mapping explains the address */
	uint32_t event, subject, pending;
	bool known;
};

struct perf_world {
	struct map64 *thread_of, *process_of; /* number -> index */
	struct thread *threads;
	struct process *processes;
	size_t thread_count, thread_room, process_count, process_room;
	size_t last_thread, last_process; /* of the last sample */
	struct perf_space *kernel;
	uint64_t refused, births;
	uint64_t names; /* grows with each name that a process gets */
	bool has_kernel;
	struct map64 *cgroup_of; /* id -> index in cgroups */
	char **cgroups;
	size_t cgroup_count, cgroup_room;
	struct memo cache[1u << CACHE_BITS];
};

struct perf_world *perf_world_new(void)
{
	struct perf_world *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->thread_of = map64_new(THREADS_MAX);
	w->process_of = map64_new(THREADS_MAX);
	w->cgroup_of = map64_new(THREADS_MAX);
	w->kernel = perf_space_new();
	if (w->thread_of && w->process_of && w->cgroup_of && w->kernel)
		return w;
	perf_world_free(w);
	return NULL;
}

void perf_world_free(struct perf_world *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->process_count; i++)
		perf_space_unref(w->processes[i].space);
	for (size_t i = 0; i < w->cgroup_count; i++)
		free(w->cgroups[i]);
	free(w->cgroups);
	free(w->threads);
	free(w->processes);
	map64_free(w->thread_of);
	map64_free(w->process_of);
	map64_free(w->cgroup_of);
	perf_space_unref(w->kernel);
	free(w);
}

static struct process *process_known(const struct perf_world *w, uint32_t pid)
{
	uint64_t i = w->last_process;

	/* Samples of one come together. */
	if (i < w->process_count && w->processes[i].pid == pid)
		return &w->processes[i];
	return map64_get(w->process_of, pid, &i) ? NULL : &w->processes[i];
}

/* NULL when there is no memory for it, or there are too many. */
static struct process *process_get(struct perf_world *w, uint32_t pid)
{
	struct process *known = process_known(w, pid);
	struct perf_space *space;

	if (known)
		return known;
	if (array_grow(&w->processes, w->process_count, &w->process_room, sizeof(*known), 64))
		return NULL;
	space = perf_space_new();
	if (!space || map64_put(w->process_of, pid, w->process_count)) {
		perf_space_unref(space);
		return NULL;
	}
	w->processes[w->process_count] = (struct process){space, ++w->births, pid};
	return &w->processes[w->process_count++];
}

static struct thread *thread_known(const struct perf_world *w, uint32_t tid)
{
	uint64_t i = w->last_thread;

	if (i < w->thread_count && w->threads[i].tid == tid)
		return &w->threads[i];
	return map64_get(w->thread_of, tid, &i) ? NULL : &w->threads[i];
}

static struct thread *thread_get(struct perf_world *w, uint32_t tid)
{
	struct thread *known = thread_known(w, tid);

	if (known)
		return known;
	if (array_grow(&w->threads, w->thread_count, &w->thread_room, sizeof(*known), 64))
		return NULL;
	if (map64_put(w->thread_of, tid, w->thread_count))
		return NULL;
	known = &w->threads[w->thread_count++];
	*known = (struct thread){.subject = NO_SUBJECT, .tid = tid, .pid = tid};
	return known;
}

/* A build ID of the table at the file's end, where the record has none. */
static void find_build_id(struct perf *p, const char *path, size_t size,
			  struct harvest_image *image)
{
	uint64_t i;

	if (image->build_id_size || map64_get(p->build_ids, hash_bytes(path, size) >> 1, &i))
		return;
	image->build_id_size = p->build_id[i].size;
	memcpy(image->build_id, p->build_id[i].bytes, image->build_id_size);
}

static bool starts(const struct perf_mmap *m, const char *with)
{
	size_t size = strlen(with);

	return m->path_size >= size && !memcmp(m->path, with, size);
}

/* Names that the kernel gives to memory that is no file. */
static bool is_no_file(const struct perf_mmap *m)
{
	if (starts(m, "/memfd:"))
		return m->build_id_size == 0;
	return !starts(m, "/") || starts(m, "//") || starts(m, "/dev/zero") || starts(m, "/SYSV") ||
	       starts(m, "/[aio]");
}

static void name_user(struct perf *p, const struct perf_mmap *m, const struct process *process,
		      struct harvest_image *image, struct perf_range *range)
{
	image->kind = HARVEST_FILE;
	range->base = m->file_offset - m->start;
	if (m->path_size == 6 && starts(m, "[vdso]")) {
		image->kind = HARVEST_VDSO;
		range->base = 0 - m->start;
	} else if (is_no_file(m)) {
		image->kind = HARVEST_CODE;
		image->key = hash_u64(p->file_key ^ hash_u64(process->pid ^ process->born << 32));
		image->path = "[jit]";
		image->path_size = 5;
		range->base = 0;
	} else if (m->has_inode) {
		image->inode = m->inode;
	}
}

#define KERNEL_NAME "[kernel.kallsyms]"

/*
 * The core kernel's record says where a symbol of it, _text, was at run time; a module's where it
 * was loaded. A module without a file is called "[name]".
 */
static void name_kernel(struct perf *p, const struct perf_mmap *m, char name[PERF_NAME_MAX],
			struct harvest_image *image, struct perf_range *range)
{
	const char *base = memrchr(m->path, '/', m->path_size), *end, *dot;
	size_t size;

	if (starts(m, KERNEL_NAME) || starts(m, "[guest.kernel")) {
		image->kind = HARVEST_KERNEL;
		image->path = KERNEL_NAME;
		image->path_size = strlen(KERNEL_NAME);
		range->base = p->kernel_link - (m->file_offset ? m->file_offset : m->start);
		return;
	}
	image->kind = HARVEST_MODULE;
	range->base = 0 - m->start;
	base = base ? base + 1 : m->path;
	end = m->path + m->path_size;
	if (base < end && *base == '[' && end[-1] == ']')
		base++, end--;
	dot = memchr(base, '.', (size_t)(end - base));
	size = (size_t)((dot ? dot : end) - base);
	/* As the collector calls them. */
	image->path_size = (size_t)snprintf(name, PERF_NAME_MAX, "[module]/%.*s",
					    size < 64 ? (int)size : 64, base);
	image->path = name;
	for (char *c = name + strlen("[module]/"); *c; c++)
		*c = *c == '-' ? '_' : *c;
}

void perf_world_mmap(struct perf *p, const struct perf_mmap *m)
{
	struct perf_world *w = p->world;
	struct process *process = m->kernel ? NULL : process_get(w, m->pid);
	struct harvest_image image = {
		.path = m->path,
		.path_size = m->path_size,
		.build_id_size = m->build_id_size,
	};
	struct perf_range range = {.start = m->start, .end = m->start + m->size};
	char name[PERF_NAME_MAX];

	if (m->build_id_size)
		memcpy(image.build_id, m->build_id, m->build_id_size);
	if (range.end < range.start)
		range.end = UINT64_MAX;
	if (!m->kernel && !process) {
		w->refused++;
		return;
	}
	if (m->kernel) {
		name_kernel(p, m, name, &image, &range);
		w->has_kernel = true;
	} else {
		name_user(p, m, process, &image, &range);
	}
	if (image.kind == HARVEST_KERNEL)
		find_build_id(p, KERNEL_NAME, strlen(KERNEL_NAME), &image);
	else if (image.kind != HARVEST_CODE)
		find_build_id(p, m->path, m->path_size, &image);
	if (harvest_image(p->harvest, &image, &range.image) ||
	    perf_space_add(m->kernel ? &w->kernel : &process->space, &range))
		w->refused++;
}

void perf_world_ksymbol(struct perf *p, uint64_t start, uint64_t size, const char *name,
			size_t name_size, bool gone)
{
	struct harvest_image image = {.kind = HARVEST_BPF, .path = name, .path_size = name_size};
	struct perf_range range = {start, start + size, 0 - start, 0};

	if (gone ? perf_space_remove(&p->world->kernel, start, start + size)
		 : harvest_image(p->harvest, &image, &range.image) ||
			    perf_space_add(&p->world->kernel, &range))
		p->world->refused++;
}

void perf_world_comm(struct perf *p, uint32_t pid, uint32_t tid, const char *comm, size_t size,
		     bool exec)
{
	struct thread *t = thread_get(p->world, tid);
	struct process *process = process_get(p->world, pid);
	struct perf_space *empty = exec && process ? perf_space_new() : NULL;

	if (t) {
		snprintf(t->comm, sizeof(t->comm), "%.*s", (int)size, comm);
		t->subject = NO_SUBJECT;
		t->pid = pid;
	}
	p->world->names += pid == tid;
	if (!empty)
		return;
	perf_space_unref(process->space);
	process->space = empty;
	process->born = ++p->world->births;
}

void perf_world_fork(struct perf *p, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid,
		     bool keep_maps)
{
	struct perf_world *w = p->world;
	struct thread *child = thread_get(w, tid), *parent = thread_known(w, ptid);
	struct process *process, *from;

	/* The first call may have moved the second's. */
	child = thread_known(w, tid);
	if (child)
		child->pid = pid;
	if (child && parent && child != parent) {
		memcpy(child->comm, parent->comm, sizeof(child->comm));
		child->subject = NO_SUBJECT;
	}
	if (pid == ppid)
		return;
	process = process_get(w, pid);
	from = process_known(w, ppid);
	if (!process || !from || process == from || !keep_maps)
		return;
	perf_space_unref(process->space);
	process->space = perf_space_ref(from->space);
	process->born = ++w->births;
}

void perf_world_cgroup(struct perf *p, uint64_t id, const char *path, size_t size)
{
	struct perf_world *w = p->world;
	char **list;

	if (id == UINT64_MAX ||
	    array_grow(&w->cgroups, w->cgroup_count, &w->cgroup_room, sizeof(*list), 16))
		return;
	list = w->cgroups;
	list[w->cgroup_count] = strndup(path, size);
	if (list[w->cgroup_count])
		map64_put(w->cgroup_of, id, w->cgroup_count++);
}

/* As our own collector has it: the command is the process's, and a thread that is called otherwise
 * has its own name too. */
static int make_subject(struct perf *p, const struct thread *t, uint32_t pid, uint64_t cgroup,
			uint32_t *ret)
{
	const struct thread *leader = thread_known(p->world, pid);
	const char *comm = leader && leader->comm[0] ? leader->comm : t->comm;
	struct subject_pair pairs[3];
	uint8_t bytes[SUBJECT_MAX_BYTES];
	size_t count = 0;
	uint64_t i;
	long size;

	if (cgroup && cgroup != UINT64_MAX && !map64_get(p->world->cgroup_of, cgroup, &i))
		pairs[count++] = (struct subject_pair){"cgroup", p->world->cgroups[i], 6,
						       strlen(p->world->cgroups[i])};
	pairs[count++] = (struct subject_pair){"comm", comm, 4, strlen(comm)};
	if (strcmp(comm, t->comm))
		pairs[count++] = (struct subject_pair){"thread", t->comm, 6, strlen(t->comm)};
	size = subject_build(pairs, count, bytes, sizeof(bytes));
	return size < 0 ? (int)size : harvest_subject(p->harvest, bytes, (size_t)size, ret);
}

uint32_t perf_world_process(const struct perf *p, uint32_t tid)
{
	const struct thread *t = thread_known(p->world, tid);

	return t ? t->pid : tid;
}

int perf_world_subject(struct perf *p, uint32_t pid, uint32_t tid, uint64_t cgroup, uint32_t *ret)
{
	struct thread *t = thread_get(p->world, tid);

	if (!t)
		return -ENOSPC;
	p->world->last_thread = (size_t)(t - p->world->threads);
	if (t->subject != NO_SUBJECT && t->cgroup == cgroup && t->names == p->world->names) {
		*ret = t->subject;
		return 0;
	}
	if (!t->comm[0] && tid == IDLE)
		snprintf(t->comm, sizeof(t->comm), "swapper");
	else if (!t->comm[0]) /* as perf calls whom it does not know */
		snprintf(t->comm, sizeof(t->comm), ":%d", pid ? (int)tid : 0);
	int r = make_subject(p, t, pid, cgroup, &t->subject);
	if (r) {
		t->subject = NO_SUBJECT;
		return r;
	}
	t->cgroup = cgroup;
	t->names = p->world->names;
	*ret = t->subject;
	return 0;
}

const struct perf_range *perf_world_range(const struct perf *p, uint32_t pid, uint64_t address)
{
	const struct process *process = process_known(p->world, pid);

	return process ? perf_space_find(process->space, address) : NULL;
}

static int tell_pending(struct perf *p, struct memo *m)
{
	int r = m->pending ? harvest_sample(p->harvest, m->event, m->subject, m->place, m->pending)
			   : 0;

	m->pending = 0;
	return r;
}

int perf_world_flush(struct perf *p)
{
	int r = 0;

	for (size_t i = 0; i < 1u << CACHE_BITS && !r; i++)
		r = tell_pending(p, &p->world->cache[i]);
	return r;
}

/* Where an address is: by image and offset, which the processes of one program have in common. */
struct spot {
	uint64_t offset;
	uint32_t image;
};

static struct spot find_spot(struct perf_space *space, uint64_t address)
{
	const struct perf_range *range = perf_space_find(space, address);

	return range ? (struct spot){address + range->base, range->image}
		     : (struct spot){address, HARVEST_NONE};
}

static struct memo *memo_of(struct perf_world *w, struct spot at)
{
	return &w->cache[hash_u64(at.offset ^ (uint64_t)at.image << 40) >> (64 - CACHE_BITS)];
}

void perf_world_expect(const struct perf *p, uint32_t pid, enum perf_mode mode, uint64_t address)
{
	struct perf_world *w = p->world;
	const struct process *last = w->process_count ? &w->processes[w->last_process] : NULL;

	if (mode == PERF_KERNEL)
		__builtin_prefetch(memo_of(w, find_spot(w->kernel, address)));
	else if (last && last->pid == pid)
		__builtin_prefetch(memo_of(w, find_spot(last->space, address)));
}

static int find_place(struct perf *p, struct perf_space *space, uint64_t address, struct memo **ret)
{
	struct spot at = find_spot(space, address);
	struct memo *memo = memo_of(p->world, at);
	uint32_t place;

	*ret = memo;
	if (memo->known && memo->offset == at.offset && memo->image == at.image)
		return 0;
	int r = tell_pending(p, memo);
	if (!r)
		r = at.image == HARVEST_NONE
			    ? places_unknown(p->harvest, address, &place)
			    : harvest_place(p->harvest, at.image, at.offset, &place);
	if (r)
		return r;
	*memo = (struct memo){
		.offset = at.offset, .image = at.image, .place = place, .known = true};
	return 0;
}

static enum perf_found found_in(const struct memo *m, enum perf_mode mode)
{
	return m->image != HARVEST_NONE ? PERF_FOUND
	       : mode == PERF_KERNEL	? PERF_NO_KERNEL
					: PERF_NO_MAPPING;
}

static struct perf_space *space_of(struct perf_world *w, uint32_t pid, enum perf_mode mode)
{
	const struct process *process = mode == PERF_USER ? process_known(w, pid) : NULL;

	if (process)
		w->last_process = (size_t)(process - w->processes);
	return mode == PERF_KERNEL ? w->kernel : process ? process->space : NULL;
}

int perf_world_place(struct perf *p, uint32_t pid, enum perf_mode mode, uint64_t address,
		     uint32_t *ret, enum perf_found *ret_found)
{
	struct perf_space *space = space_of(p->world, pid, mode);
	struct memo *memo;

	if (!space) {
		*ret_found = PERF_NO_PROCESS;
		return places_unknown(p->harvest, address, ret);
	}
	int r = find_place(p, space, address, &memo);
	if (!r) {
		*ret = memo->place;
		*ret_found = found_in(memo, mode);
	}
	return r;
}

int perf_world_sample(struct perf *p, const struct perf_sampled *s, uint32_t *ret,
		      enum perf_found *ret_found)
{
	struct perf_space *space = space_of(p->world, s->pid, s->mode);
	struct memo *memo;
	int r;

	if (!space) {
		*ret_found = PERF_NO_PROCESS;
		r = places_unknown(p->harvest, s->address, ret);
		return r ? r : harvest_sample(p->harvest, s->event, s->subject, *ret, 1);
	}
	r = find_place(p, space, s->address, &memo);
	if (r)
		return r;
	*ret = memo->place;
	*ret_found = found_in(memo, s->mode);
	if (memo->event != s->event || memo->subject != s->subject || memo->pending == UINT32_MAX) {
		r = tell_pending(p, memo);
		memo->event = s->event;
		memo->subject = s->subject;
	}
	memo->pending++;
	return r;
}
