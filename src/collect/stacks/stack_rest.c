/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/stack_rest.h"

#include <errno.h>
#include <string.h>
#include "unwind/unwind_walk.h"

/* Behind the copy this is still the stack; what is further off, no frame is as large as that. */
#define PAST_BYTES (16u << 20)

/* Where a frame is. */
struct spot {
	const struct mapping *mapping; /* kept as long as its process is not forgotten */
	uint32_t slot;		       /* 0: no table */
};

struct rest {
	struct resolver *resolver;
	struct stack_files *files;
	const struct wire_snapshot *snapshot;
	struct spot spot; /* of the last address that was looked for */
	uint32_t waits;	  /* slot of the file whose table is being made */
	uint32_t looks;	  /* the tag of a file that is being looked at, or 0 */
	bool past;	  /* the end of the copy was met */
	bool is_other;	  /* where the kernel stopped there is another file by now */
	bool is_new;	  /* the frame that comes has no place in *stack yet */
	struct wire_stack *stack;
};

/* Of the file where the kernel stopped, if it knew it; else 0. */
static uint32_t stop_slot(const struct wire_stack *stack)
{
	uint64_t frame = stack->frame[WIRE_STACK_PLACE(stack->followed - 1)];

	return frame & WIRE_FRAME_ADDRESS ? 0 : (uint32_t)(frame >> 32);
}

bool stack_rest_is_other(const struct wire_stack *stack, const struct mapping *m)
{
	/* What it looked up last is another's then. */
	if (stop_slot(stack))
		return stack->file_offset != stack->address - m->start + m->file_offset;
	return m->file && file_is_other(m->file, stack->file.device, stack->file.inode);
}

/* Into r->spot: what has an address of the process. False: not known. */
static bool find_spot(struct rest *r, uint64_t address)
{
	const struct wire_stack *stack = &r->snapshot->stack;
	struct process *life;
	struct mapping *m = (struct mapping *)r->spot.mapping;
	bool is_stop;

	if (m && address >= m->start && address < m->end)
		return true;
	m = resolver_find_mapping(r->resolver, (pid_t)(stack->process & WIRE_TGID_MASK), address,
				  stack->time_ns, &life);
	r->spot = (struct spot){.mapping = m};
	is_stop = m && stack->address >= m->start && stack->address < m->end;
	if (is_stop && stack_rest_is_other(stack, m)) {
		r->is_other = true;
		m = NULL;
	}
	int err = m ? stack_files_give(r->files, m, life->pid, &r->spot.slot) : -ESRCH;
	if (err == -EAGAIN)
		r->looks = STACK_REST_LOOKS | file_tag(m->file);
	if (err) {
		r->spot.mapping = NULL;
		return false;
	}
	if (is_stop && stop_slot(stack))
		r->spot.slot = stop_slot(stack);
	stack_files_load(r->files, r->spot.slot);
	return true;
}

static uint64_t file_offset(const struct rest *r, uint64_t address)
{
	return address - r->spot.mapping->start + r->spot.mapping->file_offset;
}

/* No word is as large as to lie in more than two pages. */
static bool is_copied(const struct wire_snapshot *s, uint64_t at, uint32_t size)
{
	uint64_t pages;

	if (at >= s->bytes || size > s->bytes - at || !size)
		return false;
	pages = 1ull << at / WIRE_SNAPSHOT_PAGE | 1ull << (at + size - 1) / WIRE_SNAPSHOT_PAGE;
	return (s->there & pages) == pages;
}

/* Of the stack from the copy, of code from its file. */
static int read_memory(void *arg, void *to, uint32_t size, uint64_t address)
{
	struct rest *r = arg;
	const struct wire_snapshot *s = r->snapshot;
	uint64_t at = address - s->begin;

	if (is_copied(s, at, size)) {
		memcpy(to, s->page[0] + at, size);
		return 0;
	}
	if (find_spot(r, address) && r->spot.slot)
		return stack_files_read(r->files, r->spot.slot, file_offset(r, address), to, size);
	r->past |= s->is_cut && at < PAST_BYTES && !r->spot.mapping;
	return -EFAULT;
}

static int enter(void *arg, uint64_t pc, bool called, const struct wire_unwind_rule **ret)
{
	struct rest *r = arg;
	struct wire_stack *stack = r->stack;
	bool is_new = r->is_new;
	uint64_t offset, *frame;

	r->is_new = true;
	if (!find_spot(r, pc))
		return is_new ? WIRE_STACK_NOT_CODE : WIRE_STACK_NO_TABLE;
	stack->followed += is_new;
	frame = &stack->frame[WIRE_STACK_PLACE(stack->followed - 1)];
	offset = file_offset(r, pc);
	if (!r->spot.slot || offset >= UINT32_MAX) {
		*frame = WIRE_FRAME_ADDRESS | pc;
		return -1;
	}
	*ret = stack_files_rule(r->files, r->spot.slot, (uint32_t)offset);
	*frame = (uint64_t)r->spot.slot << 32 | unwind_frame_pc(offset, called, *ret);
	if (*ret)
		return -1;
	r->waits = stack_files_is_pending(r->files, r->spot.slot) ? r->spot.slot : 0;
	return WIRE_STACK_NO_TABLE;
}

/* Code that was made at run time was not copied, and may be another by now. */
static bool is_unseen(void *arg, uint64_t pc)
{
	struct rest *r = arg;

	return find_spot(r, pc - 1) && r->spot.mapping->file->state == FILE_ANON;
}

/* A copy has no frames: its original has. The stack stopped there for want of a table that says
 * what the copies are of, which is there from now on. */
static void leave_copy(struct rest *r, struct wire_unwind_state *state)
{
	const struct wire_stack *stack = &r->snapshot->stack;
	const pid_t tgid = (pid_t)(stack->process & WIRE_TGID_MASK);
	uint64_t pc = resolver_find_original(r->resolver, tgid, state->pc, stack->time_ns);

	if (!state->exact || pc == state->pc)
		return;
	stack_files_load(r->files, stop_slot(stack));
	state->pc = pc;
}

uint32_t stack_rest(struct resolver *resolver, struct stack_files *files,
		    const struct wire_snapshot *snapshot, struct wire_stack *ret)
{
	struct rest r = {.resolver = resolver, .files = files, .snapshot = snapshot, .stack = ret};
	struct unwind_walk walk = {
		.read = read_memory, .enter = enter, .is_unseen = is_unseen, .arg = &r};
	struct wire_unwind_state state = snapshot->state;
	int end;

	*ret = snapshot->stack;
	leave_copy(&r, &state);
	end = unwind_walk(&walk, &state, WIRE_STACK_DEPTH - ret->followed + 1);
	/* Better no frame than one of the file that is there now. */
	if (r.is_other && ret->followed == snapshot->stack.followed && ret->followed)
		ret->followed--;
	if (end == WIRE_STACK_NOT_RESIDENT && r.past)
		end = WIRE_STACK_NO_TABLE;
	ret->end = (uint8_t)end;
	return r.looks ? r.looks : r.waits;
}
