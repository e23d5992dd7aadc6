/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_TICK_BPF_H
#define CULPRIT_BPF_TICK_BPF_H

/*
 * Programs on the scheduler's tick, which find all that they need from the address of its timer:
 * struct wire_tick says where. A program on a raw tracepoint, unlike one on an event, is not told
 * what was interrupted.
 */

struct hrtimer_clock_base;
struct hrtimer {
	struct hrtimer_clock_base *base;
} __attribute__((preserve_access_index));

/* Set before loading. */
const volatile struct wire_tick tick = {};

/* Reads what is at that distance from the timer that has expired. */
static __always_inline __u64 tick_read(struct hrtimer *timer, __s64 distance, const __u32 size)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, size, (const char *)timer + distance);
	return value;
}

/* Whether it is the tick's own timer and none of the many others: it is in its CPU's memory, as its
 * clock is, and no other two things there are that far apart. */
static __always_inline bool is_tick(struct hrtimer *timer)
{
	return BPF_CORE_READ(timer, base) == (void *)((char *)timer + tick.base);
}

static __always_inline struct pt_regs *tick_registers(struct hrtimer *timer)
{
	return (struct pt_regs *)tick_read(timer, tick.registers, sizeof(struct pt_regs *));
}

#endif
