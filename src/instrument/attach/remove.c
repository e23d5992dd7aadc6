/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

/* What a thread has to leave. A relay, as long as it is there, while nobody comes by at what it
 * hides; a copy, when nobody enters it any more. */
enum leaving { LEAVE_RELAYS, LEAVE_COPIES };

static bool leave_relay(const struct attach_space *s, const struct target_maps *maps,
			const struct instrument_patch *p, uint64_t *ret)
{
	uint8_t now[INSTRUMENT_PATCH_BYTES];

	if (p && !target_read(s->mem, maps, p->address, now, p->size) &&
	    !memcmp(now, p->after, p->size))
		*ret = p->stands_for;
	return true;
}

static bool leave(struct attach *a, const struct attach_space *s, const struct target_maps *maps,
		  uint64_t pc, enum leaving what, uint64_t *ret)
{
	bool out = true;

	*ret = pc;
	for (size_t i = 0; out && *ret == pc && i < s->implant_count; i++) {
		attach_charge_look(a, s->implants[i]->count * ATTACH_FUNCTION_BYTES);
		out = what == LEAVE_COPIES
			      ? implant_leave(s->implants[i], pc, ret)
			      : leave_relay(s, maps, implant_relay(s->implants[i], pc), ret);
	}
	return out;
}

/* Moves a thread, and what its signals' frames go on from. false: one is in the middle of inserted
 * code, or cannot be looked at. */
static bool leave_thread(struct attach *a, const struct attach_space *s,
			 const struct target_maps *maps, const struct tracee *e, enum leaving what)
{
	struct target_frame frames[TARGET_FRAMES_MAX];
	struct user_regs_struct regs;
	uint64_t back, to;
	int n;

	if (ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return true;
	back = call_is_to_restart(&regs) ? 2 : 0;
	if (!leave(a, s, maps, regs.rip - back, what, &to))
		return false;
	if (to != regs.rip - back)
		ptrace(PTRACE_POKEUSER, e->tid, offsetof(struct user_regs_struct, rip), to + back);
	n = attach_find_frames(a, s, maps, regs.rsp, frames);
	for (int k = 0; k < n; k++) {
		if (!leave(a, s, maps, frames[k].pc, what, &to))
			return false;
		if (to != frames[k].pc && target_write(s->mem, maps, frames[k].at, &to, sizeof(to)))
			return false;
	}
	return n >= 0;
}

static int look_again(struct attach *a, struct attach_space *s, struct target_maps *maps)
{
	const int r = attach_space_gather(a, s, NULL);

	return r ? r : attach_space_maps(a, s, maps);
}

/* With all who live there stopped, and its mappings as they are. */
static int leave_all(struct attach *a, struct attach_space *s, struct target_maps *maps,
		     enum leaving what)
{
	bool out = false;
	int r = 0;

	attach_begin_look(a);
	for (unsigned try = 0; !r && !out && attach_may_stir(a, try); try++) {
		if (try)
			r = tracer_stir(&a->tracer, try, NULL);
		if (try && !r)
			r = look_again(a, s, maps);
		out = !r;
		for (size_t i = 0; out && i < a->tracer.count; i++)
			if (a->tracer.list[i]->space == s)
				out = leave_thread(a, s, maps, a->tracer.list[i], what);
	}
	s->is_deep |= !out && attach_is_deep(a);
	return r ? r : out ? 0 : -EBUSY;
}

/* What is not ours there is the program's. */
static int unmap(struct attach *a, const struct attach_space *s, const struct target_maps *maps,
		 uint64_t address, uint64_t bytes)
{
	struct call_errand errand = {.calls = {{SYS_munmap, {address, bytes}, 0}}, .count = 1};
	const struct target_mapping *m = target_maps_find(maps, address);

	if (!m || !m->in_memory || strncmp(m->name, IMPLANT_MAPS_BEGIN, strlen(IMPLANT_MAPS_BEGIN)))
		return 0;
	int r = attach_space_call(a, s, maps, &errand);

	return r ? r : (int)errand.calls[0].result;
}

/* The counters are unmapped when no thread has its %gs there. */
static int unmap_tables(struct attach *a, struct attach_space *s, const struct target_maps *maps)
{
	struct tables *t = s->tables;

	for (size_t i = 0; i < a->tracer.count; i++) {
		struct tracee *e = a->tracer.list[i];

		if (e->space != s)
			continue;
		ptrace(PTRACE_POKEUSER, e->tid, offsetof(struct user_regs_struct, gs_base), 0);
		tables_take(a, e);
	}
	s->tables = NULL;
	if (t) {
		uint64_t address = t->address, bytes = t->count * t->table_bytes;

		tables_unref(a, t);
		return unmap(a, s, maps, address, bytes);
	}
	return 0;
}

/* Whether anybody is left to run there: who has ended may still be listed, and untold. */
static bool is_lived_in(const struct attach *a, const struct attach_space *s)
{
	for (size_t i = 0; i < a->tracer.count; i++) {
		const struct tracee *e = a->tracer.list[i];

		if (e->space == s && !e->gone && !tracer_is_dead(e->tgid, e->tid))
			return true;
	}
	return false;
}

/* -EBUSY: somebody stays in copies, where nobody comes into any more, or, with all patches in
 * place, at a relay. */
static int leave_space(struct attach *a, struct attach_space *s, struct target_maps *maps)
{
	int r = look_again(a, s, maps);

	r = r ? r : leave_all(a, s, maps, LEAVE_RELAYS);
	if (r)
		return r;
	attach_patches_restore(a, s, maps);
	s->is_patched = false;
	return leave_all(a, s, maps, LEAVE_COPIES);
}

static struct attach_space *find_patched(const struct attach *a)
{
	struct attach_space *s = a->spaces;

	while (s && (!s->is_patched || s->is_kept || !attach_space_tid(a, s)))
		s = s->next;
	return s;
}

int attach_leave(struct attach *a, struct diag *diag)
{
	struct target_maps maps = {0};
	struct attach_space *s;
	int r = tracer_stop(&a->tracer, 0, diag);

	while (!r && (s = find_patched(a))) {
		s->refs++;
		r = leave_space(a, s, &maps);
		/* Who stays in a copy comes out by the next time. */
		if (!s->is_patched || !attach_space_tid(a, s))
			r = 0;
		attach_space_unref(a, s);
		if (r)
			diag_fail(diag, -r, "copies cannot be left now: %s", strerror(-r));
	}
	target_maps_free(&maps);
	return r;
}

void attach_space_drop_last(struct attach *a, struct attach_space *s)
{
	struct implant *i = s->implants[s->implant_count - 1];
	struct target_maps maps = {0};
	int r = attach_space_maps(a, s, &maps);

	r = r ? r : unmap(a, s, &maps, i->base, i->bytes);
	if (!r) {
		s->record_bytes -= i->record_bytes;
		s->implant_count--;
		implant_unref(i);
	}
	target_maps_free(&maps);
}

int attach_space_remove(struct attach *a, struct attach_space *s, struct diag *diag)
{
	struct target_maps maps = {0};
	int r;

	s->refs++;
	/* They go on where they could not be stopped again. */
	r = a->tracer.stopping ? 0 : tracer_stop(&a->tracer, s->family, NULL);
	r = r ? r : leave_space(a, s, &maps);
	/* Nobody comes back into copies from here on, however long who is to unmap them takes. */
	r = r ? r : attach_space_find_runner(a, s);
	r = r ? r : attach_space_maps(a, s, &maps);
	while (!r && s->implant_count) {
		struct implant *i = s->implants[s->implant_count - 1];

		r = unmap(a, s, &maps, i->base, i->bytes);
		if (r)
			break;
		s->record_bytes -= i->record_bytes;
		implant_unref(i);
		s->implant_count--;
	}
	r = r ? r : unmap_tables(a, s, &maps);
	target_maps_free(&maps);
	if (r && !is_lived_in(a, s))
		r = 0;
	else if (r) {
		r = diag_fail(
			diag, EBUSY,
			"copies of functions stay mapped in process %d: a thread does not leave "
			"them, or its stack cannot be read (%s); attach again to take them out",
			(int)s->pid, strerror(-r));
	}
	attach_space_unref(a, s);
	return r;
}

/* One that has something to take out, of a family or, 0, of any; NULL. */
static struct attach_space *find_full(const struct attach *a, uint64_t family)
{
	struct attach_space *s = a->spaces;

	while (s &&
	       (s->is_kept || (!s->implant_count && !s->tables) || (family && s->family != family)))
		s = s->next;
	return s;
}

/* Stopped alone: where one does not stop, its family keeps what it has, and others do not. */
static int remove_family(struct attach *a, uint64_t family, struct diag *diag)
{
	int r = tracer_stop(&a->tracer, family, diag), first = r;
	struct attach_space *s;
	struct diag why;

	for (s = r ? a->spaces : NULL; s; s = s->next)
		s->is_kept |= s->family == family;
	/* From the start each time: spaces come and go while threads are let run. */
	while ((s = find_full(a, family))) {
		s->refs++;
		r = attach_space_remove(a, s, &why);
		if (r && !first)
			first = diag_fail(diag, -r, "%s", why.text);
		attach_space_forget(a, s);
		attach_space_unref(a, s);
	}
	return first;
}

int attach_spaces_remove(struct attach *a, struct diag *diag)
{
	struct attach_space *s;
	struct diag why;
	int r = 0, err;

	for (s = a->spaces; s; s = s->next)
		s->is_kept = false;
	while ((s = find_full(a, 0))) {
		err = remove_family(a, s->family, &why);
		if (err && !r)
			r = diag_fail(diag, -err, "%s", why.text);
		tracer_resume(&a->tracer);
	}
	return r;
}

int attach_remove(struct attach *a, struct diag *diag)
{
	int r = attach_spaces_remove(a, diag);

	tracer_resume_all(&a->tracer);
	if (!r && *a->unfollowed.text)
		r = diag_fail(diag, EBUSY, "%s", a->unfollowed.text);
	*a->unfollowed.text = 0;
	return r;
}
