/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_MM_STATE_H
#define CULPRIT_BPF_MM_STATE_H

/*
 * A number that changes whenever an address space does, for in-kernel programs: what was found in
 * it holds while the number stays.
 */

/* Linux 6.4 to 6.12, and since. */
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

struct mm_struct;

/* False where the kernel does not tell. */
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

#endif
