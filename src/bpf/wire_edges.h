/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_EDGES_H
#define CULPRIT_BPF_WIRE_EDGES_H

/*
 * What the interpreter of edge samples (interpret.bpf.c) and the collector share.
 *
 * For a share of the samples that were taken in user mode, the program interprets the next
 * instructions from the sampled PC with the sampled registers, and reports a window: each transfer
 * of control that the code would make. It works on micro-operations (micro/) that the
 * collector decoded ahead.
 *
 * The program itself finds the file that is mapped at an address, so decoded code belongs to files,
 * not to processes: what was decoded once serves every process that maps it, even those that live
 * for milliseconds. Places are therefore (slot, offset in the file). The collector gives slots:
 *
 * 1. A file that has no slot ends a window with WIRE_END_NO_FILE; the record names the file
 *    (struct wire_file) and where the process has it. The collector resolves (process, address,
 *    time) as it does for a sample, chooses a slot (1 or more) and enters it in the map `files`.
 *    The kernel's view of a file is thus never compared with that of stat(2), which differs on
 *    overlayfs and btrfs. A file that it will never decode (its slot in `files` is 0) counts as
 *    none: WIRE_END_ANONYMOUS.
 * 2. Code that is not decoded ends a window with WIRE_END_COLD; the record's end says where. The
 *    collector decodes the strip and its neighbours (micro/translate.h).
 *
 * Maps of the program, all of which the collector sizes before loading:
 *   files    hash   struct wire_file -> u32 slot
 *   strips   hash   struct wire_strip_key -> struct wire_strip
 *   micros   array  struct wire_micro, mmap()able. A strip's operations are consecutive: write them
 *                   first, then the strip. Rewrite a range only after its strips were deleted and
 *                   an RCU grace period has passed (as after a flip of the sample tables).
 *   windows  ring   struct wire_window, cut after the last edge; BPF_RB_NO_WAKEUP
 *   pairs    ring   struct wire_pair, likewise
 *   windows_of_cpu  per-CPU array of one struct wire_window_counters
 * The sampling program calls it by a tail call through its map `followers`, once in
 * period[WIRE_FOLLOW_WINDOW] samples of user mode of one event (struct wire_cpu); 0: never.
 */
#include "wire_file.h"
#include "micro/wire_micro.h"
#include "micro/wire_strip.h"

/*
 * From the instruction that transfers control to the one that runs next. There is one for each
 * conditional branch (not taken: to is the next instruction), jump, call and return, direct or not.
 */
struct wire_edge {
	wire_u32 from, to; /* file offsets */
	wire_u16 from_slot, to_slot;
};

#define WIRE_WINDOW_INSTRUCTIONS 256 /* a power of two */

/*
 * A load of the window: which instruction, and the line (of 64 bytes) of the process's memory that
 * it read. Two loads are reported, the window's first and another chosen at random, each time that
 * the window comes to them. Loads at fixed addresses and next to the stack pointer hardly miss and
 * are left out.
 */
struct wire_touch {
	wire_u64 line;
	struct wire_place at;
};

#define WIRE_TOUCH_CHOICE   16 /* the other is among this many first ones; a power of two */
#define WIRE_WINDOW_TOUCHES 8  /* a power of two */

struct wire_window {
	wire_u32 process; /* as in struct wire_entry */
	wire_u16 edge_count;
	wire_u16 instructions; /* that were interpreted, from start to before end */
	wire_u64 time_ns;      /* CLOCK_MONOTONIC */
	struct wire_place start;
	struct wire_place end; /* the next instruction, which was not interpreted */
	wire_u64 address;      /* of end, in the process */
	struct wire_file file; /* of end, if it has no slot and the reason is NO_FILE */
	wire_u64 file_offset;  /* of end in file, likewise */
	wire_u32 touch_count;
	wire_u32 end_reason;
	struct wire_touch touch[WIRE_WINDOW_TOUCHES];
	struct wire_edge edge[WIRE_WINDOW_INSTRUCTIONS];
};

/*
 * Two consecutive samples of a CPU, at the first of which a window began: what the general
 * registers held. There is no pair when the thread was made to wait in between, for then nobody
 * knows where it would have been.
 */
struct wire_pair {
	struct wire_place at; /* of the first */
	wire_i64 distance;    /* in bytes to the second's */
	wire_u64 missed;      /* the thread went elsewhere: nothing else is known of the second */
	wire_u64 before[16], after[16];
};

struct wire_window_counters {
	wire_u64 windows; /* the sum of ends */
	wire_u64 instructions;
	wire_u64 edges;
	wire_u64 pairs;
	wire_u64 ends[WIRE_END_REASONS];
	wire_u64 lost;	   /* found the ring full */
	wire_u64 spent_ns; /* of this CPU, from a window's time_ns to its end, and for pairs: what
			      the budget is charged */
	/* Without an instruction, or anything that the collector could help: not recorded. */
	wire_u64 empty;
	wire_u64 values_lost; /* windows whose values found their ring full */
};

#endif
