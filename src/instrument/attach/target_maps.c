/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/array.h"
#include "util/io.h"
#include "util/proc.h"
#include "util/search.h"

#define MAPS_MAX_BYTES (256UL << 20) /* two million mappings */
#define FILES_MAX      64	     /* file systems; what is of others is not touched */
/* How far a jump reaches, less what the displacement is counted from and an image's end. */
#define REACH 0x7fff0000ULL
/* Nothing lies lower (vm.mmap_min_addr), or above. */
#define LOWEST	0x10000ULL
#define HIGHEST 0x7ffffffff000ULL

/* File systems that mappings are of, as far as they were seen: each is asked about once. */
struct files {
	struct file_system {
		uint32_t major, minor;
		bool answers, in_memory;
	} list[FILES_MAX];
	size_t count;
};

/* NULL: of too many. */
static const struct file_system *find_files(struct files *f, const struct proc_mapping *p)
{
	struct file_system *at = f->list;

	for (; at < f->list + f->count; at++)
		if (at->major == p->device_major && at->minor == p->device_minor)
			return at;
	if (f->count == FILES_MAX)
		return NULL;
	f->count++;
	*at = (struct file_system){.major = p->device_major, .minor = p->device_minor};
	at->answers = target_files_answer(at->major, at->minor, &at->in_memory);
	return at;
}

static int take_line(struct target_maps *m, struct files *files, char *line)
{
	const struct file_system *f;
	struct target_mapping *at;
	struct proc_mapping p;
	int r = proc_parse_mapping(line, &p);

	if (r)
		return r;
	if (array_grow(&m->list, m->count, &m->room, sizeof(*m->list), 64))
		return -ENOMEM;
	at = &m->list[m->count++];
	*at = (struct target_mapping){.start = p.start,
				      .end = p.end,
				      .inode = p.inode,
				      .readable = p.readable,
				      .writable = p.writable,
				      .executable = p.executable,
				      .private = p.private,
				      .of_file = p.inode || p.device_major || p.device_minor,
				      .answers = true};
	if (at->of_file) {
		f = find_files(files, &p);
		at->answers = f && f->answers;
		at->in_memory = f && f->in_memory;
	}
	snprintf(at->name, sizeof(at->name), "%s", p.path);
	return 0;
}

int target_maps_read(pid_t tid, struct target_maps *ret)
{
	struct target_maps m = {0};
	struct files files = {0};
	char path[32], *text, *line, *rest;
	size_t size;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tid);
	r = io_read_file(path, MAPS_MAX_BYTES, &text, &size);
	if (r)
		return r;
	for (line = strtok_r(text, "\n", &rest); line && !r; line = strtok_r(NULL, "\n", &rest))
		r = take_line(&m, &files, line);
	free(text);
	if (r)
		target_maps_free(&m);
	else
		*ret = m;
	return r;
}

void target_maps_free(struct target_maps *m)
{
	free(m->list);
	*m = (struct target_maps){0};
}

const struct target_mapping *target_maps_find(const struct target_maps *m, uint64_t address)
{
	size_t i = SEARCH_FIRST(m->count, n, m->list[n].end > address);

	return i < m->count && m->list[i].start <= address ? &m->list[i] : NULL;
}

int target_maps_gap(const struct target_maps *m, uint64_t start, uint64_t end, uint64_t bytes,
		    uint64_t *ret)
{
	uint64_t low = end > REACH + LOWEST ? end - REACH : LOWEST;
	uint64_t high = start + REACH < HIGHEST ? start + REACH : HIGHEST;
	uint64_t from, to, best = 0;

	/* The gap before each mapping, and behind the last: the highest below the image, or else
	 * the highest above, as far as can be from a heap that grows. */
	for (size_t i = 0; i <= m->count; i++) {
		from = i ? m->list[i - 1].end : LOWEST;
		to = i < m->count ? m->list[i].start : HIGHEST;
		from = from > low ? from : low;
		to = to < high ? to : high;
		if (to < from || to - from < bytes || (best && best < start && to > start))
			continue;
		if (i < m->count && !strcmp(m->list[i].name, "[stack]"))
			continue; /* which grows into it */
		best = to - bytes;
	}
	if (!best)
		return -ENOSPC;
	*ret = best;
	return 0;
}

static bool answers(const struct target_maps *maps, uint64_t address, size_t size)
{
	uint64_t end = address + size;

	while (address < end) {
		const struct target_mapping *m = target_maps_find(maps, address);

		if (!m || !m->answers)
			return false;
		address = m->end;
	}
	return true;
}

int target_read(int mem, const struct target_maps *maps, uint64_t address, void *data, size_t size)
{
	ssize_t n = answers(maps, address, size) ? pread(mem, data, size, (off_t)address) : 0;

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}

int target_write(int mem, const struct target_maps *maps, uint64_t address, const void *data,
		 size_t size)
{
	ssize_t n = answers(maps, address, size) ? pwrite(mem, data, size, (off_t)address) : 0;

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}
