/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "util/array.h"

struct attach_space *attach_space_new(struct attach *a, pid_t pid)
{
	struct attach_space *s = calloc(1, sizeof(*s));
	char path[32];

	if (!s)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	s->mem = open(path, O_RDWR | O_CLOEXEC);
	if (s->mem < 0) {
		free(s);
		return NULL;
	}
	s->pid = pid;
	s->family = ++a->families;
	s->next = a->spaces;
	a->spaces = s;
	return s;
}

void attach_space_join(struct attach_space *s, struct tracee *e)
{
	e->space = s;
	e->family = s->family;
	e->table = ATTACH_TABLE_NONE;
	s->refs++;
}

void attach_space_forget(struct attach *a, struct attach_space *s)
{
	while (s->implant_count)
		implant_unref(s->implants[--s->implant_count]);
	s->record_bytes = 0;
	tables_unref(a, s->tables);
	s->tables = NULL;
}

void attach_space_unref(struct attach *a, struct attach_space *s)
{
	if (!s || (s->refs && --s->refs))
		return;
	for (struct attach_space **at = &a->spaces; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	attach_space_forget(a, s);
	free(s->implants);
	free(s->strangers);
	close(s->mem);
	free(s);
}

struct attach_space *attach_space_find(const struct attach *a, pid_t pid)
{
	for (size_t i = 0; i < a->tracer.count; i++)
		if (a->tracer.list[i]->tgid == pid && a->tracer.list[i]->space)
			return a->tracer.list[i]->space;
	return NULL;
}

pid_t attach_space_tid(const struct attach *a, const struct attach_space *s)
{
	for (size_t i = 0; i < a->tracer.count; i++)
		if (a->tracer.list[i]->space == s && !a->tracer.list[i]->gone)
			return a->tracer.list[i]->tid;
	return 0;
}

int attach_space_maps(const struct attach *a, const struct attach_space *s,
		      struct target_maps *maps)
{
	pid_t tid = attach_space_tid(a, s);

	target_maps_free(maps);
	return tid ? target_maps_read(tid, maps) : -ESRCH;
}

int attach_copies_fit(const struct attach *a, uint64_t bytes, struct diag *diag)
{
	const uint64_t part = (uint64_t)sysconf(_SC_PHYS_PAGES) / ATTACH_COPIES_PART *
			      (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t most = part < ATTACH_COPIES_MAX_BYTES ? part : ATTACH_COPIES_MAX_BYTES;

	/* Those that were forked share them: a part of each. */
	for (const struct attach_space *s = a->spaces; s; s = s->next)
		for (size_t i = 0; i < s->implant_count; i++)
			bytes += s->implants[i]->bytes / s->implants[i]->refs;
	if (bytes <= most)
		return 0;
	return diag_fail(diag, ENOSPC,
			 "the copies in other programs take all of the %llu MiB allowed",
			 (unsigned long long)most >> 20);
}

int attach_space_add_implant(struct attach_space *s, struct implant *i)
{
	int r = s->implant_count == ATTACH_IMPLANTS_MAX ||
				i->record_bytes > ATTACH_RECORD_MAX_BYTES - s->record_bytes
			? -E2BIG
			: array_grow_short(&s->implants, s->implant_count, sizeof(*s->implants));

	if (r)
		return r;
	s->waits_for_nothing = 0;
	s->record_bytes += i->record_bytes;
	s->implants[s->implant_count++] = implant_ref(i);
	return 0;
}

struct place_in {
	int mem;
	const struct target_maps *maps;
	uint64_t base;
};

static int read_in(void *arg, uint64_t offset, void *data, size_t size)
{
	const struct place_in *in = arg;

	return target_read(in->mem, in->maps, in->base + offset, data, size);
}

static bool is_ours(const struct target_mapping *m, const char *name)
{
	return m->in_memory && !strcmp(m->name, name);
}

static int load_tables(struct attach *a, struct attach_space *s, const struct target_mapping *m)
{
	s->tables = calloc(1, sizeof(*s->tables));
	if (!s->tables)
		return -ENOMEM;
	*s->tables = (struct tables){.refs = 1,
				     .address = m->start,
				     .table_bytes = m->end - m->start,
				     .inode = m->inode,
				     .count = 1,
				     .next = a->tables};
	a->tables = s->tables;
	return 0;
}

static int load_implant(struct attach_space *s, const struct target_maps *maps,
			const struct target_mapping *m)
{
	struct place_in in = {.mem = s->mem, .maps = maps, .base = m->start};
	struct implant *i;
	int r = implant_load(m->start, m->end - m->start, ATTACH_RECORD_MAX_BYTES - s->record_bytes,
			     read_in, &in, &i);

	if (r)
		return r;
	i->inode = m->inode;
	r = attach_space_add_implant(s, i);
	implant_unref(i);
	return r;
}

int attach_space_load(struct attach *a, struct attach_space *s, const struct target_maps *maps)
{
	int r = 0;

	for (size_t n = 0; !r && n < maps->count; n++) {
		const struct target_mapping *m = &maps->list[n];

		if (!s->tables && is_ours(m, IMPLANT_MAPS_NAME(IMPLANT_TABLES_NAME)))
			r = load_tables(a, s, m);
		else if (is_ours(m, IMPLANT_MAPS_NAME(IMPLANT_NAME)))
			r = load_implant(s, maps, m);
	}
	return r;
}

static struct implant *find_implant(const struct attach *a, const struct target_mapping *m)
{
	for (const struct attach_space *s = a->spaces; s; s = s->next)
		for (size_t i = 0; i < s->implant_count; i++)
			if (s->implants[i]->inode == m->inode && s->implants[i]->base == m->start)
				return s->implants[i];
	return NULL;
}

static void join_family(const struct attach *a, struct attach_space *s)
{
	for (const struct attach_space *o = a->spaces; o && s->tables; o = o->next)
		if (o != s && o->tables == s->tables) {
			s->family = o->family;
			s->is_kept = o->is_kept;
			s->is_deep = o->is_deep;
			return;
		}
}

static struct tables *find_tables(const struct attach *a, const struct target_mapping *m)
{
	struct tables *t = a->tables;

	while (t && (t->inode != m->inode || t->address != m->start))
		t = t->next;
	return t;
}

/* What it has of ours is known by the files, which are there once each. */
static int inherit(struct attach *a, struct attach_space *s, const struct target_maps *maps)
{
	int r = 0;

	for (size_t n = 0; !r && n < maps->count; n++) {
		const struct target_mapping *m = &maps->list[n];
		struct implant *i = m->in_memory ? find_implant(a, m) : NULL;
		struct tables *t = m->in_memory && !s->tables ? find_tables(a, m) : NULL;

		if (i)
			r = attach_space_add_implant(s, i);
		else if (t)
			s->tables = tables_ref(t);
	}
	return r;
}

struct attach_space *attach_space_of_child(struct attach *a, pid_t pid)
{
	struct target_maps maps = {0};
	struct attach_space *s;
	int r;

	for (s = a->spaces; s; s = s->next)
		if (!syscall(SYS_kcmp, attach_space_tid(a, s), pid, KCMP_VM, 0, 0))
			return s;
	s = attach_space_new(a, pid);
	if (!s)
		return NULL;
	r = target_maps_read(pid, &maps);
	r = r ? r : inherit(a, s, &maps);
	target_maps_free(&maps);
	if (!r) {
		join_family(a, s);
		s->is_patched = s->implant_count != 0;
		return s;
	}
	attach_space_unref(a, s);
	errno = -r;
	return NULL;
}
