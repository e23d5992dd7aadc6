/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_H
#define CULPRIT_BPF_WIRE_H

/*
 * The memory that the in-kernel program and the collector share. The collector maps it; nothing is
 * copied between them.
 *
 * Each CPU has two tables (DCPI, section 4.2.1): the program counts in the active one, the
 * collector reads the other. A table is set-associative, keyed by (process, thread's name, PC,
 * event); an entry that leaves a full bucket goes to the table's spill. The program is the only
 * writer of the active table, the collector the only one of the other, and the collector flips
 * them. After a flip it waits for an RCU grace period (a program runs with preemption off), so
 * neither side needs a lock, an atomic operation or a barrier on the sampling path.
 */

#include "util/wire_int.h"

#define WIRE_WAYS    6
#define WIRE_BUCKETS 2048 /* a power of two */
#define WIRE_SPILL   8192 /* a power of two */
#define WIRE_EVENTS  64	  /* below 1 << (32 - WIRE_EVENT_SHIFT) */

/* The kernel's PID_MAX_LIMIT is 2^22. */
#define WIRE_TGID_BITS 22
#define WIRE_TGID_MASK ((1u << WIRE_TGID_BITS) - 1)

/* The process of an entry. Consecutive generations always differ: exec adds 1, a reused PID has
 * another start. */
static inline wire_u32 wire_process(wire_u32 tgid, wire_u64 start_boottime, wire_u64 self_exec_id)
{
	wire_u32 generation = (wire_u32)(start_boottime >> 10) * 0x61 + (wire_u32)self_exec_id;

	return (tgid & WIRE_TGID_MASK) | generation << WIRE_TGID_BITS;
}

/* Of an entry's tally: the count, a number of mappings, and the event's index + 1. */
#define WIRE_COUNT_BITS	  16
#define WIRE_COUNT_MASK	  ((1u << WIRE_COUNT_BITS) - 1)
#define WIRE_MAPPING_BITS 9
#define WIRE_MAPPING_MASK ((1u << WIRE_MAPPING_BITS) - 1)
#define WIRE_EVENT_SHIFT  (WIRE_COUNT_BITS + WIRE_MAPPING_BITS)

/*
 * 20 bytes, so that six ways fill two cache lines and the front three the first of them. first is
 * what lets the collector resolve an entry exactly although the process may since have mapped
 * something else, called exec or died: an entry never spans two lives of a process, nor two states
 * of its mappings.
 */
struct wire_entry {
	wire_u32 pc_low, pc_high;
	/* tgid, and above it a generation: differs between an exec or a reuse of the PID and the
	 * next, so that their samples never share an entry. */
	wire_u32 process;
	/* See above. 0: an empty entry. The number of mappings changes when code goes out of a user
	 * address space, where the kernel tells (mm_state.bpf.h); 0 for addresses in the kernel. */
	wire_u32 tally;
	/* When it was first hit: units of 1024 ns since the table's start_ns, at most
	 * WIRE_FIRST_MAX. */
	wire_u32 first;
};

#define WIRE_FIRST_MAX 0xffffffffu

/* names: byte i is the number of the thread's name of way i, part of its key. */
struct wire_bucket {
	struct wire_entry way[WIRE_WAYS];
	wire_u64 names;
};

/* The name of a thread as the kernel has it: zeros, or other bytes, follow the first zero. */
#define WIRE_NAME_BYTES 16
struct wire_name {
	wire_u64 half[WIRE_NAME_BYTES / 8];
};

/* Names that a table has room for. Number 0 is none: that of the process, or one that found no
 * room.
 */
#define WIRE_NAMES	 256 /* one byte has their numbers */
#define WIRE_NAME_PROBES 4

/* A multiple of the page size, so that tables of different CPUs share no page. */
struct wire_table {
	struct wire_bucket bucket[WIRE_BUCKETS];
	struct wire_entry spill[WIRE_SPILL];
	wire_u16 touched[WIRE_BUCKETS]; /* buckets in use, so that a drain visits no other */
	struct wire_name name[WIRE_NAMES];
	wire_u8 spill_name[WIRE_SPILL]; /* of each entry of the spill */
	wire_u64 start_ns;		/* CLOCK_MONOTONIC at the flip to this table */
	wire_u32 touched_count, spill_count;
	wire_u32 name_count;
	wire_u32 names_refused; /* samples whose thread's name found no room */
	wire_u8 unused[4096 - 24];
};

/* A CPU's private state: one cache line, as in the paper's section 4.2.2. */
struct wire_cpu {
	/* Written by the collector only. */
	wire_u16 active; /* which of the two tables */
	/* One in so many samples of user mode of that event is followed by the interpreter
	 * (wire_edges.h), one in so many of all samples by the unwinder (wire_stacks.h); 0: none.
	 */
	wire_u16 window_event;
	wire_u32 slot; /* tables 2 * slot and 2 * slot + 1 */
	wire_u16 window_period, stack_period;
	/* Written by the program only. */
	wire_u16 window_left, stack_left;
	wire_u64 samples; /* of the chosen scope: hits + inserts + lost */
	wire_u64 hits;
	wire_u64 evictions;
	wire_u64 lost_spill; /* samples of evicted entries that found the spill full */
	wire_u64 outside;    /* interrupts outside the chosen scope */
	wire_u64 idle;	     /* interrupts of the idle task */
};

/* The longest of these periods: the time to the next is up to twice as long. */
#define WIRE_FOLLOW_PERIOD_MAX 32767

/* The programs that a sample is handed to, in the order of the map. */
enum wire_follower { WIRE_FOLLOW_NONE = -1, WIRE_FOLLOW_WINDOW, WIRE_FOLLOW_STACK, WIRE_FOLLOWERS };

/* Of a CPU that has no tables. Twice this and 1 is still no index of one. */
#define WIRE_NO_SLOT 0x7fffffffu

/* The period of a tracepoint, which the program keeps itself: uniform in low..low + span - 1. */
struct wire_period {
	wire_u32 left, low, span;
};

/* What the programs on forks, ends and moves of processes took, of one CPU. */
struct wire_programs {
	wire_u64 runs, ns;
};

/* Sent through the notices ring: the process's cgroup is no longer its parent's or its former one.
 */
struct wire_notice {
	wire_u32 tgid;
	wire_u32 unused;
	wire_u64 time_ns;
};

#endif
