/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <unistd.h>

/* Room for a place of 16 bytes for every 4 bytes of code, which is what an instruction takes. */
#define ROOM_SHARE 6
#define ROOM_MORE  (1U << 20)

int attach_find_room(pid_t pid, uint64_t start, uint64_t end, uint64_t bytes, uint64_t *ret,
		     struct diag *diag)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t all = (bytes * ROOM_SHARE + ROOM_MORE + page - 1) & ~(page - 1);
	struct target_maps maps;
	int r = target_maps_read(pid, &maps);

	if (r)
		return diag_fail(diag, -r, "the mappings of process %d cannot be read: %s",
				 (int)pid, strerror(-r));
	r = target_maps_gap(&maps, start, end, all, ret);
	target_maps_free(&maps);
	if (r)
		return diag_fail(diag, -r,
				 "process %d has no memory free within 2 GiB of its code at %#llx: "
				 "that code cannot be counted",
				 (int)pid, (unsigned long long)start);
	*ret += IMPLANT_HEADER_BYTES;
	return 0;
}

/* Where a thread's registers, or a signal's frame, are to be moved. */
static bool enter_thread(const struct implant *i, const struct tracee *e, bool really)
{
	struct user_regs_struct regs;
	uint64_t back, to;

	if (ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return true; /* on its way out */
	/* A call that is to be made again is made from the copy's, two bytes before. */
	back = call_is_to_restart(&regs) ? 2 : 0;
	if (!implant_enter(i, regs.rip - back, &to) ||
	    (back && implant_hides(i, regs.rip) && to == regs.rip - back))
		return false;
	if (really && to != regs.rip - back)
		ptrace(PTRACE_POKEUSER, e->tid, offsetof(struct user_regs_struct, rip), to + back);
	return true;
}

/* Those in signals' frames only where they must: they may be on a stack that nobody uses any more.
 */
static bool enter_frames(struct attach *a, const struct attach_space *s,
			 const struct target_maps *maps, const struct implant *i,
			 const struct tracee *e, bool really)
{
	struct target_frame frames[TARGET_FRAMES_MAX];
	struct user_regs_struct regs;
	uint64_t to;
	int n;

	if (ptrace(PTRACE_GETREGS, e->tid, 0, &regs))
		return true;
	n = attach_find_frames(a, s, maps, regs.rsp, frames);
	for (int k = 0; k < n; k++) {
		if (!implant_hides(i, frames[k].pc))
			continue;
		if (!implant_enter(i, frames[k].pc, &to))
			return false;
		if (really && target_write(s->mem, maps, frames[k].at, &to, sizeof(to)))
			return false;
	}
	return n >= 0;
}

static bool enter(struct attach *a, const struct attach_space *s, const struct target_maps *maps,
		  const struct implant *i, bool really)
{
	bool all = true;

	for (size_t n = 0; all && n < a->tracer.count; n++) {
		const struct tracee *e = a->tracer.list[n];

		if (e->space == s)
			all = enter_thread(i, e, really) && enter_frames(a, s, maps, i, e, really);
	}
	return all;
}

/* -EAGAIN: a thread of the space is where nobody may be, or cannot be looked at; -ESTALE: its code
 * is no longer what was vetted, before threads were let run. */
static int check(struct attach *a, struct attach_space *s, struct target_maps *maps,
		 const struct implant *i)
{
	int r = attach_space_gather(a, s, NULL);

	r = r ? r : attach_space_maps(a, s, maps);
	if (!r && !enter(a, s, maps, i, false))
		return -EAGAIN;
	return r ? r : attach_patches_vet(s, maps, i);
}

/*
 * With the copies mapped. Each step leaves a program that runs rightly: copies are whole before
 * anybody is sent there, nobody is inside of a patch when it is written, and each patch, by its
 * stage, only leads into the copy of what it hides.
 */
static int patch(struct attach *a, struct attach_space *s, const struct implant *i, bool really)
{
	struct target_maps maps = {0};
	int r = check(a, s, &maps, i);

	if (!r && really && !enter(a, s, &maps, i, true))
		r = -EIO;
	if (!r && really) {
		s->is_patched = true;
		r = attach_patches_write(s, &maps, i);
	}
	target_maps_free(&maps);
	return r;
}

static bool is_fork(const struct attach_space *child, const struct attach_space *s,
		    const struct implant *i)
{
	for (size_t n = 0; child != s && n < child->implant_count; n++)
		if (child->implants[n] == i)
			return true;
	return false;
}

/* In the space, and in those that were forked off it with the copies, but without patches. */
static int patch_all(struct attach *a, struct attach_space *s, const struct implant *i, bool really)
{
	int r = patch(a, s, i, really), err;

	for (struct attach_space *f = a->spaces; !r && f; f = f->next) {
		if (!is_fork(f, s, i))
			continue;
		err = patch(a, f, i, really);
		if (really && err && !a->counters.forks_uncounted++)
			diag_fail(&a->counters.forks_why, -err,
				  "process %d was forked while copies were being prepared, and "
				  "could not be patched: %s",
				  (int)f->pid, strerror(-err));
		else if (!really && err == -EAGAIN)
			r = err;
	}
	return r;
}

/* begun: whether any patch may have been written. */
static int enter_and_patch(struct attach *a, struct attach_space *s, const struct implant *i,
			   bool *begun, struct diag *diag)
{
	int r = -EAGAIN;

	attach_begin_look(a);
	for (unsigned try = 0; r == -EAGAIN && attach_may_stir(a, try); try++) {
		r = try ? tracer_stir(&a->tracer, try, diag) : 0;
		if (r)
			return r;
		r = patch_all(a, s, i, false);
	}
	s->is_deep |= r == -EAGAIN && attach_is_deep(a);
	attach_begin_look(a);
	*begun = !r;
	r = r ? r : patch_all(a, s, i, true);
	if (r == -EAGAIN)
		return diag_fail(diag, EAGAIN,
				 "a thread of process %d does not leave code that is to be "
				 "patched, or its stack cannot be read: try again",
				 (int)s->pid);
	if (r == -ESTALE)
		return diag_fail(diag, ESTALE,
				 "the code of process %d changed while copies were being prepared: "
				 "try again",
				 (int)s->pid);
	return r ? diag_fail(diag, -r, "the code of process %d cannot be written: %s", (int)s->pid,
			     strerror(-r))
		 : 0;
}

/* On failure what was there before stays as it was, but where patches had been begun. */
static int put_in(struct attach *a, struct attach_space *s, const struct target_maps *maps,
		  uint64_t room, const struct attach_chosen *chosen, struct diag *diag)
{
	struct attach_space_file file = {.name = IMPLANT_NAME,
					 .address = room - IMPLANT_HEADER_BYTES,
					 .protection = PROT_READ | PROT_EXEC};
	bool listed, begun = false;
	struct implant *i;
	uint8_t *content;
	int r = implant_make(file.address, chosen->list, chosen->count, &i, &content);

	if (r)
		return diag_fail(diag, -r, "copies for process %d cannot be laid out: %s",
				 (int)s->pid, strerror(-r));
	file.content = content;
	file.bytes = i->bytes;
	r = attach_copies_fit(a, i->bytes, diag);
	if (r) {
		free(content);
		implant_unref(i);
		return r;
	}
	r = attach_space_add_implant(s, i);
	listed = !r;
	r = r ? r : attach_space_map(a, s, maps, &file);
	i->inode = file.inode;
	free(content);
	if (r)
		r = diag_fail(diag, -r, "copies cannot be mapped in process %d at %#llx: %s",
			      (int)s->pid, (unsigned long long)room, strerror(-r));
	r = r ? r : enter_and_patch(a, s, i, &begun, diag);
	if (r && begun)
		attach_space_remove(a, s, NULL);
	else if (r && listed)
		attach_space_drop_last(a, s);
	implant_unref(i);
	return r;
}

/* Makes ready: whoever may be sent, all who live there, and what lies there. From here on they stay
 * stopped until the copies lie there: of a child that is forked meanwhile it is all or nothing. */
static int prepare(struct attach *a, struct attach_space *s, struct target_maps *maps,
		   struct diag *diag)
{
	int r = attach_space_find_runner(a, s);

	if (r)
		return diag_fail(diag, -r,
				 "no thread of process %d can be made to map memory: all wait in "
				 "the kernel, or filter their system calls",
				 (int)s->pid);
	r = attach_space_gather(a, s, diag);
	if (r)
		return r;
	r = attach_space_maps(a, s, maps);
	if (r)
		return diag_fail(diag, -r, "the mappings of process %d cannot be read: %s",
				 (int)s->pid, strerror(-r));
	for (size_t i = 0; !r && i < a->tracer.count; i++)
		if (a->tracer.list[i]->space == s)
			r = attach_refuse_thread(a->tracer.list[i], maps, diag);
	return r;
}

static int apply_stopped(struct attach *a, struct attach_space *s, uint64_t room,
			 const struct instrument_code *codes, size_t count, uint32_t slots,
			 enum attach_taken *taken, struct diag *diag)
{
	struct attach_chosen chosen = {0};
	struct target_maps maps = {0};
	int r = s->is_deep ? diag_fail(diag, E2BIG,
				       "the stacks of process %d are too large to be looked at",
				       (int)s->pid)
			   : prepare(a, s, &maps, diag);

	if (!r && attach_choose(s, &maps, codes, count, taken, &chosen))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (!r && chosen.count)
		r = tables_make(a, s, &maps, slots, diag);
	for (size_t i = 0; !r && i < chosen.count; i++)
		r = tables_use(s->tables, &chosen.list[i], diag);
	if (!r && chosen.count)
		r = put_in(a, s, &maps, room, &chosen, diag);
	target_maps_free(&maps);
	attach_chosen_free(&chosen);
	return r;
}

int attach_apply(struct attach *a, pid_t pid, uint64_t room, const struct instrument_code *codes,
		 size_t count, uint32_t slots, enum attach_taken *taken, struct diag *diag)
{
	struct attach_space *s = attach_space_find(a, pid);
	int r = s ? tracer_stop(&a->tracer, s->family, diag) : 0;

	if (r)
		return r;
	s = attach_space_find(a, pid);
	if (!s) {
		r = diag_fail(diag, ESRCH, "process %d has ended", (int)pid);
	} else {
		s->refs++;
		r = apply_stopped(a, s, room, codes, count, slots, taken, diag);
		attach_space_unref(a, s);
	}
	tracer_resume(&a->tracer);
	return r;
}

int attach_prepare(struct attach *a, pid_t pid, uint32_t slots, struct diag *diag)
{
	struct target_maps maps = {0};
	struct attach_space *s = attach_space_find(a, pid);
	int r = s ? tracer_stop(&a->tracer, s->family, diag) : 0;

	if (r)
		return r;
	s = attach_space_find(a, pid);
	if (!s)
		return diag_fail(diag, ESRCH, "process %d has ended", (int)pid);
	s->refs++;
	r = prepare(a, s, &maps, diag);
	r = r ? r : tables_make(a, s, &maps, slots, diag);
	target_maps_free(&maps);
	attach_space_unref(a, s);
	return r;
}

/* With all stopped: those copies of which nothing has changed are entered. */
static int enter_space(struct attach *a, struct attach_space *s, struct target_maps *maps)
{
	int r = attach_space_gather(a, s, NULL);

	r = r ? r : attach_space_maps(a, s, maps);
	for (size_t i = 0; !r && i < s->implant_count; i++)
		r = enter(a, s, maps, s->implants[i], false) ? 0 : -EAGAIN;
	if (!r)
		attach_begin_look(a);
	for (size_t i = 0; !r && i < s->implant_count; i++) {
		const struct implant *one = s->implants[i];

		if (attach_patches_vet(s, maps, one)) {
			a->counters.entries_stale++;
			continue;
		}
		s->is_patched = true;
		r = enter(a, s, maps, one, true) ? attach_patches_write(s, maps, one) : -EIO;
	}
	return r;
}

static struct attach_space *find_left(const struct attach *a)
{
	struct attach_space *s = a->spaces;

	while (s && (s->is_patched || s->is_kept || !s->implant_count || !attach_space_tid(a, s)))
		s = s->next;
	return s;
}

int attach_enter(struct attach *a, struct diag *diag)
{
	struct target_maps maps = {0};
	struct attach_space *s;
	int r = tracer_stop(&a->tracer, 0, diag);

	attach_begin_look(a);
	/* From the start each time: spaces come and go while threads are let run. */
	for (unsigned try = 0; !r && (s = find_left(a)); try++) {
		s->refs++;
		r = enter_space(a, s, &maps);
		/* Nothing could be entered there: it is not looked at again before it is left. */
		s->is_patched |= !r;
		attach_space_unref(a, s);
		if (r == -EAGAIN && attach_may_stir(a, try + 1))
			r = tracer_stir(&a->tracer, try, diag);
		else if (r)
			r = diag_fail(diag, -r, "copies cannot be entered now: %s", strerror(-r));
	}
	target_maps_free(&maps);
	return r;
}
