/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_MM_STATE_BPF_H
#define CULPRIT_BPF_MM_STATE_BPF_H

/*
 * A number that changes whenever an address space does, for in-kernel programs: what was found in
 * it holds as long as the number stays the same.
 */

/* Linux 6.4 to 6.12; mm_struct___sequence: since then. */
struct mm_struct___number {
	int mm_lock_seq;
} __attribute__((preserve_access_index));

struct sequence {
	unsigned sequence;
} __attribute__((preserve_access_index));

typedef struct sequence seqcount_t;

struct mm_struct___sequence {
	seqcount_t mm_lock_seq;
} __attribute__((preserve_access_index));

/* x86-64, any Linux: how often address translations were invalidated. */
struct mm_context___flushes {
	struct {
		__s64 counter;
	} __attribute__((preserve_access_index)) tlb_gen;
} __attribute__((preserve_access_index));

struct mm_struct___flushes {
	struct mm_context___flushes context;
} __attribute__((preserve_access_index));

struct mm_struct;

/* False where the kernel does not say. */
static __always_inline bool mm_state(const struct mm_struct *mm, __u32 *ret)
{
	if (bpf_core_field_exists(((struct mm_struct___sequence *)0)->mm_lock_seq))
		*ret = ((const struct mm_struct___sequence *)mm)->mm_lock_seq.sequence;
	else if (bpf_core_field_exists(((struct mm_struct___number *)0)->mm_lock_seq))
		*ret = ((const struct mm_struct___number *)mm)->mm_lock_seq;
	else
		return false;
	return true;
}

/* The same with reads that the verifier does not look into, for all but the sampling path: for a
 * pointer that it trusts, it searches all names of the kernel's types, 1 to 2 ms a step. */
static __always_inline bool mm_state_read(const struct mm_struct *mm, __u32 *ret)
{
	if (bpf_core_field_exists(((struct mm_struct___sequence *)0)->mm_lock_seq))
		*ret = BPF_CORE_READ((const struct mm_struct___sequence *)mm, mm_lock_seq.sequence);
	else if (bpf_core_field_exists(((struct mm_struct___number *)0)->mm_lock_seq))
		*ret = BPF_CORE_READ((const struct mm_struct___number *)mm, mm_lock_seq);
	else
		return false;
	return true;
}

/*
 * A number that has changed when an address at which code ran means something else: mm_state's, or
 * the number of TLB flushes, since where code ran there was a page, and no page goes away without a
 * flush. It need not change when something is mapped where nothing was, and it changes for other
 * reasons too. 0 where the kernel does not say.
 */
static __always_inline __u32 mm_code_state(const struct mm_struct *mm)
{
	const struct mm_struct___flushes *m = (const struct mm_struct___flushes *)mm;
	__u32 state = 0;

	if (!mm_state(mm, &state) && bpf_core_field_exists(m->context.tlb_gen.counter))
		state = m->context.tlb_gen.counter;
	return state;
}

#endif
