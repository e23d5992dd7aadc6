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

/* How many pages of a stack are there from an address on: to its end, mostly, where nothing is
 * mapped. */
__noinline __u32 snapshot_count_pages(__u64 begin)
{
	__u64 word;
	__u32 i;

	for (i = 0; i < WIRE_SNAPSHOT_PAGES; i++)
		if (bpf_probe_read_user(&word, sizeof(word),
					(const void *)(begin + i * WIRE_SNAPSHOT_PAGE)))
			break;
	return i;
}

/* With room for so many pages, which the verifier must know, of those that are there. False: there
 * is none. */
static __always_inline bool snapshot_send(const struct wire_unwind_state *state,
					  const struct wire_stack *stack, __u32 there,
					  const __u32 room)
{
	const __u32 head = __builtin_offsetof(struct wire_snapshot, page);
	struct wire_snapshot *s =
		bpf_ringbuf_reserve(&snapshots, head + room * WIRE_SNAPSHOT_PAGE, 0);
	__u64 begin = snapshot_begin(state);
	__u32 bytes = there * WIRE_SNAPSHOT_PAGE;

	if (!s)
		return false;
	/* Verifiers before Linux 6.2 believe no bound but one on the very register. */
	asm volatile("" : "+r"(bytes));
	if (bytes > room * WIRE_SNAPSHOT_PAGE)
		bytes = room * WIRE_SNAPSHOT_PAGE;
	bpf_probe_read_kernel(&s->state, sizeof(s->state), state);
	s->begin = begin;
	s->is_cut = there > room;
	s->bytes = bpf_probe_read_user(s->page, bytes, (const void *)begin) ? 0 : bytes;
	bpf_probe_read_kernel(&s->stack, sizeof(s->stack), stack);
	bpf_ringbuf_submit(s, 0);
	return true;
}

#endif
