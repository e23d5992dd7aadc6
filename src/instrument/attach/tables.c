/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

#define TABLES_MAX	 4096
#define TABLES_MAX_BYTES (512ULL << 20)

struct tables *tables_ref(struct tables *t)
{
	t->refs++;
	return t;
}

static void set_gs(const struct tracee *e, uint64_t base)
{
	ptrace(PTRACE_POKEUSER, e->tid, offsetof(struct user_regs_struct, gs_base), base);
}

/* Adds what a table has to the sums, and empties it for who comes next. */
static void fold(struct attach *a, struct tables *t, uint32_t number)
{
	uint64_t *table = (uint64_t *)(t->map + number * t->table_bytes);

	if (a->ops->settle)
		a->ops->settle(a->ops->arg, table, t->used);
	for (uint32_t i = 0; i < t->used; i++) {
		if (!table[i])
			continue;
		a->totals[i] += table[i];
		table[i] = 0;
	}
}

void tables_unref(struct attach *a, struct tables *t)
{
	if (!t || --t->refs)
		return;
	for (struct tables **at = &a->tables; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	/* Others were folded when they were given back. */
	for (uint32_t i = 0; t->map && i < t->count; i++)
		if (!i || t->in_use[i])
			fold(a, t, i);
	if (t->map)
		munmap(t->map, t->count * t->table_bytes);
	free(t->in_use);
	free(t);
}

void tables_give(struct attach *a, struct tracee *e)
{
	struct attach_space *s = e->space;
	struct tables *t = s ? s->tables : NULL;
	uint32_t i = 1;

	e->table = ATTACH_TABLE_NONE;
	if (!t || !t->map)
		return;
	while (i < t->count && t->in_use[i])
		i++;
	if (i < t->count) {
		t->in_use[i] = true;
		e->table = i;
	} else {
		a->counters.threads_without_table++;
		i = 0;
	}
	set_gs(e, t->address + i * t->table_bytes);
}

void tables_take(struct attach *a, struct tracee *e)
{
	struct attach_space *s = e->space;

	if (e->table == ATTACH_TABLE_NONE || !s || !s->tables)
		return;
	fold(a, s->tables, e->table);
	s->tables->in_use[e->table] = false;
	e->table = ATTACH_TABLE_NONE;
}

static int grow_totals(struct attach *a, uint32_t slots)
{
	uint64_t *more;

	if (slots <= a->total_slots)
		return 0;
	more = reallocarray(a->totals, slots, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + a->total_slots, 0, (slots - a->total_slots) * sizeof(*more));
	a->totals = more;
	a->total_slots = slots;
	return 0;
}

int tables_make(struct attach *a, struct attach_space *s, const struct target_maps *maps,
		uint32_t slots, struct diag *diag)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t bytes = (slots * 8ULL + page - 1) & ~(page - 1);
	uint32_t count = bytes ? (uint32_t)(TABLES_MAX_BYTES / bytes) : 0;
	struct attach_space_file file = {.name = IMPLANT_TABLES_NAME,
					 .protection = PROT_READ | PROT_WRITE};
	struct tables *t;
	int r;

	if (s->tables)
		return s->tables->slots >= slots
			       ? 0
			       : diag_fail(diag, ENOSPC,
					   "process %d has tables of %u counters, not %u: remove "
					   "its copies first",
					   (int)s->pid, s->tables->slots, slots);
	if (count < 2)
		return diag_fail(diag, EFBIG,
				 "%u counters a thread are too many: choose fewer functions",
				 slots);
	count = count < TABLES_MAX ? count : TABLES_MAX;
	t = calloc(1, sizeof(*t));
	if (t)
		t->in_use = calloc(count, sizeof(*t->in_use));
	r = t && t->in_use ? grow_totals(a, slots) : -ENOMEM;
	file.bytes = count * bytes;
	r = r ? r : attach_space_map(a, s, maps, &file);
	if (r) {
		free(t ? t->in_use : NULL);
		free(t);
		return diag_fail(diag, -r, "counters cannot be mapped in process %d: %s",
				 (int)s->pid, strerror(-r));
	}
	attach_space_hide_from_dumps(a, s, maps, file.address, file.bytes);
	t->refs = 1;
	t->address = file.address;
	t->inode = file.inode;
	t->table_bytes = bytes;
	t->count = count;
	t->slots = slots;
	t->map = file.map;
	t->next = a->tables;
	a->tables = s->tables = t;
	for (size_t i = 0; i < a->tracer.count; i++)
		if (a->tracer.list[i]->space == s)
			tables_give(a, a->tracer.list[i]);
	return 0;
}

int tables_use(struct tables *t, const struct instrument_code *c, struct diag *diag)
{
	const uint64_t end = (uint64_t)c->first_slot + c->slot_count;

	if (end > t->slots)
		return diag_fail(diag, EINVAL, "a copy uses counter %llu of only %u",
				 (unsigned long long)end, t->slots);
	t->used = end > t->used ? (uint32_t)end : t->used;
	return 0;
}

uint32_t attach_slots(const struct attach *a, pid_t pid)
{
	const struct attach_space *s = attach_space_find(a, pid);

	return s && s->tables ? s->tables->slots : 0;
}

void attach_read(const struct attach *a, uint64_t *counts, uint32_t slots)
{
	memset(counts, 0, slots * sizeof(*counts));
	for (uint32_t i = 0; i < slots && i < a->total_slots; i++)
		counts[i] = a->totals[i];
	for (const struct tables *t = a->tables; t; t = t->next)
		for (uint32_t n = 0; t->map && n < t->count; n++) {
			const volatile uint64_t *table =
				(const uint64_t *)(t->map + n * t->table_bytes);

			for (uint32_t i = 0; (!n || t->in_use[n]) && i < slots && i < t->used; i++)
				counts[i] += table[i];
		}
}
