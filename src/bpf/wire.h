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

/* In an entry's tally: the count, a number of mappings, and the event's index + 1. */
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
	/* See above. 0: an empty entry. The number of mappings changes when code leaves a user
	 * address space, if the kernel says so (mm_state.bpf.h); 0 for addresses in the kernel. */
	wire_u32 tally;
	/* When it was first hit: in 1024 ns from the table's start_ns, WIRE_FIRST_MAX at most. */
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

/* Names that a table has room for. Number 0 is none: the thread has its process's name, or its name
 * found no room. */
#define WIRE_NAMES	 256 /* their numbers fit in one byte */
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

/*
 * The programs that a sample is handed to, in the order of the map: the unwinder (wire_stacks.h),
 * the interpreter (wire_edges.h). A sample that is due to several goes to the first. After them
 * come those that end a pair (struct wire_pair), at a sample in user mode and at one in the kernel:
 * for one window in WIRE_PAIR_PART the next sample of its event is handed to these, whoever else it
 * is due to.
 */
enum wire_follower {
	WIRE_FOLLOW_NONE = -1,
	WIRE_FOLLOW_STACK,
	WIRE_FOLLOW_WINDOW,
	WIRE_FOLLOWERS,
	WIRE_FOLLOW_PAIR = WIRE_FOLLOWERS,
	WIRE_FOLLOW_PAIR_MISSED,
	WIRE_FOLLOWER_PROGRAMS,
};
#define WIRE_PAIR_PART 4
/* Whether it follows one event's samples in user mode, not all samples. */
#define WIRE_FOLLOWS_ONE_EVENT(follower) ((follower) == WIRE_FOLLOW_WINDOW)

/* A CPU's private state: one cache line, as in the paper's section 4.2.2. */
struct wire_cpu {
	/* Written by the collector only. */
	wire_u8 active;			 /* which of the two tables */
	wire_u8 followed_event;		 /* of followers that WIRE_FOLLOWS_ONE_EVENT */
	wire_u16 slot;			 /* tables 2 * slot and 2 * slot + 1 */
	wire_u16 period[WIRE_FOLLOWERS]; /* one in this many samples is followed; 0: none */
	/* Written by the program only. */
	wire_u16 left[WIRE_FOLLOWERS];
	wire_u16 pair;	  /* the next sample of the followed event is a pair's second */
	wire_u64 samples; /* of the chosen scope: hits + inserts + lost */
	wire_u64 hits;
	wire_u64 evictions;
	wire_u64 lost_spill; /* samples of evicted entries that found the spill full */
	wire_u64 outside;    /* interrupts outside the chosen scope */
	wire_u64 idle;	     /* interrupts of the idle task */
};

/* The longest of these periods: the time to the next is up to twice as long. */
#define WIRE_FOLLOW_PERIOD_MAX 32767

/* The slot of a CPU that has no tables. Even 2 * this + 1 is not the index of one. */
#define WIRE_NO_SLOT 0xffffu

/* The period of a tracepoint, which the program keeps itself: uniform in low..low + span - 1. */
struct wire_period {
	wire_u32 left, low, span;
};

/* Where a CPU's data is, in bytes from the timer of its tick. */
struct wire_tick {
	wire_i64 base;	    /* the timer's clock */
	wire_i64 registers; /* a pointer to those that the interrupt at hand found */
	wire_i64 running;   /* how many programs on events are running: 4 bytes */
	wire_u32 event;	    /* the number of the event that the tick is */
	wire_u32 unused;
};

/* Of one CPU: what the programs on forks, ends and moves of processes took, and what the tick's
 * program took, which runs for other timers too; ticks: those that were samples, in the scope or
 * outside. */
struct wire_programs {
	wire_u64 runs, ns;
	wire_u64 ticks, tick_ns;
};

/* Sent through the notices ring: a process's cgroup is not its parent's or its former one. */
struct wire_notice {
	wire_u32 tgid;
	wire_u32 unused;
	wire_u64 time_ns;
};

#endif
