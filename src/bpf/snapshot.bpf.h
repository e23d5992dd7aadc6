/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_SNAPSHOT_BPF_H
#define CULPRIT_BPF_SNAPSHOT_BPF_H

/* Sends the collector a stack to follow further: wire_stacks.h says what a snapshot is. */

MAP_RING(snapshots);

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

/* Loops are the kernel's (bpf_loop), whose body the verifier looks at once or twice: of one of ours
 * it follows each turn, which was half of its work at the start of a recording with stacks. */
struct snapshot_search {
	__u64 at;
	__u32 pages, missing;
};

static long snapshot_search_page(__u32 index, void *context)
{
	struct snapshot_search *search = context;
	__u64 word;

	search->pages = index + 1;
	search->missing = (search->missing + 1) &
			  ((__u32)succeeded(bpf_probe_read_user(&word, sizeof(word),
								(const void *)search->at)) -
			   1);
	search->at += WIRE_SNAPSHOT_PAGE;
	return search->missing > WIRE_SNAPSHOT_HOLE;
}

/*
 * How many pages of a stack there are from an address on, up to the last that is in memory. A hole
 * is a large array that the program has not touched yet; a longer one is the end of the stack,
 * where mostly nothing is mapped.
 */
__noinline __u32 snapshot_count_pages(__u64 begin)
{
	struct snapshot_search search = {begin, 0, 0};

	bpf_loop(WIRE_SNAPSHOT_PAGES, snapshot_search_page, &search, 0);
	return search.pages - search.missing;
}

struct snapshot_copy {
	struct wire_snapshot *to;
	__u64 there;
	__u32 room;
};

static long snapshot_copy_page(__u32 index, void *context)
{
	struct snapshot_copy *copy = context;
	struct wire_snapshot *to = copy->to;

	if (index >= copy->room)
		return 1;
	copy->there |= succeeded(bpf_probe_read_user(
			       to->page[index], WIRE_SNAPSHOT_PAGE,
			       (const void *)(to->begin + index * WIRE_SNAPSHOT_PAGE)))
		       << index;
	return 0;
}

/* Sends at most room of the pages; the verifier must know room. False: the ring is full. */
static __always_inline bool snapshot_send(const struct wire_unwind_state *state,
					  const struct wire_stack *stack, __u32 pages,
					  const __u32 room)
{
	const __u32 head = __builtin_offsetof(struct wire_snapshot, page);
	struct wire_snapshot *s =
		bpf_ringbuf_reserve(&snapshots, head + room * WIRE_SNAPSHOT_PAGE, 0);
	struct snapshot_copy copy = {s, 0, room};

	if (!s)
		return false;
	bpf_probe_read_kernel(&s->state, sizeof(s->state), state);
	s->begin = snapshot_begin(state);
	s->is_cut = pages > room;
	s->bytes = (pages < room ? pages : room) * WIRE_SNAPSHOT_PAGE;
	bpf_loop(pages < room ? pages : room, snapshot_copy_page, &copy, 0);
	s->there = copy.there;
	bpf_probe_read_kernel(&s->stack, sizeof(s->stack), stack);
	bpf_ringbuf_submit(s, 0);
	return true;
}

#endif
