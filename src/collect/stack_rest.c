/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stack_rest.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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
	bool past;	  /* the end of the copy was met */
	bool is_other;	  /* where the kernel stopped there is another file by now */
};

static struct rest *host; /* of the stack that is followed */

static int host_read(void *to, wire_u32 size, wire_u64 address);

#define UNWIND_FUNCTION static inline
#include "bpf/unwind.h"

/* Into r->spot: what has an address of the process. False: not known. */
static bool find_spot(struct rest *r, uint64_t address)
{
	const struct wire_stack *stack = &r->snapshot->stack;
	struct process *life;
	struct mapping *m = (struct mapping *)r->spot.mapping;

	if (m && address >= m->start && address < m->end)
		return true;
	m = resolver_find_mapping(r->resolver, (pid_t)(stack->process & WIRE_TGID_MASK), address,
				  stack->time_ns, &life);
	r->spot = (struct spot){.mapping = m};
	/* Of the place where the kernel stopped it is known which file it was. */
	if (m && m->file && stack->address >= m->start && stack->address < m->end &&
	    file_is_other(m->file, stack->file.device, stack->file.inode)) {
		r->is_other = true;
		m = NULL;
	}
	if (!m || stack_files_give(r->files, m, life->pid, &r->spot.slot)) {
		r->spot.mapping = NULL;
		return false;
	}
	stack_files_load(r->files, r->spot.slot);
	return true;
}

static uint64_t file_offset(const struct rest *r, uint64_t address)
{
	return address - r->spot.mapping->start + r->spot.mapping->file_offset;
}

/* Of the stack from the copy, of code from its file. */
static int host_read(void *to, wire_u32 size, wire_u64 address)
{
	const struct wire_snapshot *s = host->snapshot;
	uint64_t at = address - s->begin;

	if (at < sizeof(s->page)) {
		if (at + size <= s->bytes) {
			memcpy(to, s->page[0] + at, size);
			return 0;
		}
		host->past |= at + size > sizeof(s->page);
		return -EFAULT;
	}
	if (find_spot(host, address) && host->spot.slot)
		return stack_files_read(host->files, host->spot.slot, file_offset(host, address),
					to, size);
	host->past |= address > s->begin && !host->spot.mapping;
	return -EFAULT;
}

/* One frame, and the way to the next; -1: there is one. is_new: it has no place in *ret yet. */
static int follow(struct rest *r, struct wire_unwind_state *state, bool is_new,
		  struct wire_stack *ret)
{
	uint64_t pc = state->pc - !state->exact, offset;
	const struct wire_unwind_rule *rule;

	if (!find_spot(r, pc))
		return is_new ? WIRE_STACK_NOT_CODE : WIRE_STACK_NO_TABLE;
	ret->followed += is_new;
	offset = file_offset(r, pc);
	if (!r->spot.slot || offset > UINT32_MAX) {
		ret->frame[WIRE_STACK_PLACE(ret->followed - 1)] = WIRE_FRAME_ADDRESS | pc;
		return unwind_follow_frame_pointer(state);
	}
	ret->frame[WIRE_STACK_PLACE(ret->followed - 1)] = (uint64_t)r->spot.slot << 32 | offset;
	rule = stack_files_rule(r->files, r->spot.slot, (uint32_t)offset);
	if (!rule)
		return WIRE_STACK_NO_TABLE;
	return rule->cfa == WIRE_CFA_NONE && rule->ra == WIRE_LOCATION_UNDEFINED
		       ? unwind_follow_frame_pointer(state)
		       : unwind_follow_rule(state, rule);
}

void stack_rest(struct resolver *resolver, struct stack_files *files,
		const struct wire_snapshot *snapshot, struct wire_stack *ret)
{
	struct rest r = {.resolver = resolver, .files = files, .snapshot = snapshot};
	struct wire_unwind_state state = snapshot->state;
	int end = -1;

	host = &r;
	*ret = snapshot->stack;
	for (bool is_new = false; end < 0 && ret->followed < WIRE_STACK_DEPTH; is_new = true)
		end = follow(&r, &state, is_new, ret);
	/* Better no frame than one of the file that is there now. */
	if (r.is_other && ret->followed == snapshot->stack.followed && ret->followed)
		ret->followed--;
	if (end == WIRE_STACK_NOT_RESIDENT && r.past)
		end = WIRE_STACK_NO_TABLE;
	ret->end = (uint8_t)(end < 0 ? WIRE_STACK_TOO_DEEP : end);
	host = NULL;
}
