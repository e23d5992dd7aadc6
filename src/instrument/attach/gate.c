/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>

/* A program can say without end that it waits, and each look at it costs all others. Of twice
 * opening and closing a library once is for something. */
#define WAITS_FOR_NOTHING_MAX 256

/* A slot of the thread's table, which is the first where it has none of its own; NULL: no table. */
static volatile uint64_t *slot_of(const struct tracee *e, uint32_t slot)
{
	const struct attach_space *s = e->space;
	const uint32_t table = e->table == ATTACH_TABLE_NONE ? 0 : e->table;

	if (!s || !s->tables || !s->tables->map || slot >= s->tables->slots)
		return NULL;
	return (volatile uint64_t *)(s->tables->map + table * s->tables->table_bytes) + slot;
}

/* Of a table that several have, nobody could tell who has come and who has given up. */
static bool may_pass(const struct tracee *e)
{
	const struct attach_space *s = e->space;

	return s->is_open || e->table == ATTACH_TABLE_NONE;
}

static bool is_listed(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

size_t attach_waiting(struct attach *a, uint32_t entered, uint32_t passed, pid_t *pids, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < a->tracer.count && count < max; i++) {
		const struct tracee *e = a->tracer.list[i];
		volatile uint64_t *in = slot_of(e, entered), *out = slot_of(e, passed);

		if (!in || !out)
			continue;
		/* One that has given up waiting waits again the next time. */
		if (may_pass(e)) {
			*out = UINT64_MAX;
		} else if (*out > *in) {
			a->counters.gave_up_waiting++;
			*out = *in;
		} else if (*out < *in && !is_listed(pids, count, e->tgid)) {
			pids[count++] = e->tgid;
		}
	}
	return count;
}

void attach_let_on(struct attach *a, pid_t pid, uint32_t entered, uint32_t passed)
{
	struct attach_space *s = attach_space_find(a, pid);

	if (s && !s->is_open && ++s->waits_for_nothing > WAITS_FOR_NOTHING_MAX) {
		s->is_open = true;
		a->counters.gates_left_open++;
	}
	for (size_t i = 0; i < a->tracer.count; i++) {
		const struct tracee *e = a->tracer.list[i];
		volatile uint64_t *in = slot_of(e, entered), *out = slot_of(e, passed);

		if (in && out && e->tgid == pid)
			*out = may_pass(e) ? UINT64_MAX : *in;
	}
}

void attach_let_all_on(struct attach *a, uint32_t passed)
{
	for (size_t i = 0; i < a->tracer.count; i++) {
		volatile uint64_t *out = slot_of(a->tracer.list[i], passed);

		if (out)
			*out = UINT64_MAX;
	}
}

int attach_hold(struct attach *a, pid_t pid, struct diag *diag)
{
	struct attach_space *s = attach_space_find(a, pid);
	int r = s ? tracer_stop(&a->tracer, s->family, diag)
		  : diag_fail(diag, ESRCH, "process %d has ended", (int)pid);

	/* All who wait have waited for it: it is not asked again. */
	s = r ? attach_space_find(a, pid) : NULL;
	if (s)
		s->waits_for_nothing = WAITS_FOR_NOTHING_MAX;
	return r;
}

void attach_go_on(struct attach *a)
{
	tracer_resume(&a->tracer);
}
