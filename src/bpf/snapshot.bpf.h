/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_SNAPSHOT_BPF_H
#define CULPRIT_BPF_SNAPSHOT_BPF_H

/* Sends the collector a stack that it is to follow on: wire_stacks.h says what a snapshot is. */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} snapshots SEC(".maps");

static __always_inline __u64 snapshot_begin(const struct wire_unwind_state *state)
{
	return state->reg[UNWIND_RSP] & -(__u64)WIRE_SNAPSHOT_PAGE;
}

/* 1 or 0, without a branch: the verifier would look at each way separately. */
static __always_inline __u64 succeeded(long result)
{
	asm volatile("" : "+r"(result));
	return ~(__u64)result >> 63;
}

/*
 * How many pages of a stack there are from an address on, up to the last that is in memory. A hole
 * is a large array that the program has not touched yet; a longer one is the end of the stack,
 * where mostly nothing is mapped.
 */
__noinline __u32 snapshot_count_pages(__u64 begin)
{
	__u64 word, missing = 0;
	__u32 i;

	for (i = 0; i < WIRE_SNAPSHOT_PAGES && missing <= WIRE_SNAPSHOT_HOLE; i++)
		missing =
			(missing + 1) & (succeeded(bpf_probe_read_user(
						 &word, sizeof(word),
						 (const void *)(begin + i * WIRE_SNAPSHOT_PAGE))) -
					 1);
	return i - (__u32)missing;
}

/* With room for so many pages, which the verifier must know, of those that there are. False: there
 * is none. */
static __always_inline bool snapshot_send(const struct wire_unwind_state *state,
					  const struct wire_stack *stack, __u32 pages,
					  const __u32 room)
{
	const __u32 head = __builtin_offsetof(struct wire_snapshot, page);
	struct wire_snapshot *s =
		bpf_ringbuf_reserve(&snapshots, head + room * WIRE_SNAPSHOT_PAGE, 0);
	__u64 begin = snapshot_begin(state);
	__u32 i;

	if (!s)
		return false;
	bpf_probe_read_kernel(&s->state, sizeof(s->state), state);
	s->begin = begin;
	s->is_cut = pages > room;
	s->bytes = (pages < room ? pages : room) * WIRE_SNAPSHOT_PAGE;
	s->there = 0;
	for (i = 0; i < room && i < pages; i++)
		s->there |= succeeded(bpf_probe_read_user(
				    s->page[i], WIRE_SNAPSHOT_PAGE,
				    (const void *)(begin + i * WIRE_SNAPSHOT_PAGE)))
			    << i;
	bpf_probe_read_kernel(&s->stack, sizeof(s->stack), stack);
	bpf_ringbuf_submit(s, 0);
	return true;
}

#endif
