/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_STACKS_H
#define CULPRIT_BPF_WIRE_STACKS_H

#include "wire.h"
#include "wire_file.h"

/*
 * What the unwinder (unwind.bpf.c) and the collector share.
 *
 * For a share of the samples the program follows the stack to the thread's start, by tables that
 * the collector compiled from the images' .eh_frame, and counts (process, thread's name, event,
 * stack) in a hash map.
 *
 * The program itself finds the file that is mapped at an address, as the interpreter does
 * (wire_edges.h), with the same map of files and slots. A frame is therefore (slot, offset in the
 * file), and is resolved without a look at the process, which may be gone by then. A stack that
 * meets a file without a slot, or a slot without a table, is not lost: it is sent as a snapshot of
 * the registers and the stack's next pages, which the collector, woken by it, follows further with
 * the tables that it then loads.
 *
 * Maps of the program:
 *   files    hash   struct wire_file -> u32 slot; 0: there is no table, but maybe frame pointers
 *   tables   array  slot -> struct wire_unwind_table
 *   rows     array of arrays of WIRE_UNWIND_CHUNK_ROWS u32, made as they are needed
 *   rules    array  struct wire_unwind_rule, mmap()able; number 0: none
 *   counts   hash   struct wire_stack_key -> struct wire_stack_count
 *   stacks   ring   struct wire_stack, cut after its last frame: the first of each key in counts
 *   snapshots       ring   struct wire_snapshot, cut likewise
 *   stacks_of_cpu   per-CPU array of one struct wire_stack_counters
 *
 * A table is a range of rows: first a struct wire_unwind_page for each page of its file, then its
 * rows, each of which is the low bits of the file offset from which it holds << 16, and the number
 * of its rule. Each page's first row has offset 0; all rows of a page are in one chunk. Write them,
 * then the table; rewrite only after the table was cleared and an RCU grace period has passed.
 *
 * Where code runs in copies of itself, the slot of such a file has no rows but the number of
 * another slot, whose rows say where the original of each piece of code is. The stack goes on
 * there, with the original as its frame. Rows of that table have no rules; after all rows of a page
 * there is a word for each: what is added to an offset to get the original's address in its image,
 * plus WIRE_UNWIND_STEP; 0: there is none.
 *
 * wire_python.h says how Python frames take the place of the frames of their interpreter, and which
 * further maps there are for them.
 */

/*
 * How to get from a frame to its caller's, as the in-kernel program does it. Registers have DWARF's
 * numbers. In the frame that was interrupted all general registers are known; further out the stack
 * and the frame pointer are, and where rbx is, which the dynamic linker uses as a base.
 */
enum wire_cfa {
	WIRE_CFA_NONE,	   /* not known here */
	WIRE_CFA_REGISTER, /* reg + offset */
	WIRE_CFA_DEREF,	   /* what is in memory at reg + offset, + add */
	WIRE_CFA_PLT,	   /* reg + offset, + 8 from byte add of a 16-byte stub on */
	WIRE_CFA_THREAD,   /* the call is on another stack: p = the thread's base, then in turn the
			    * word at p + offset, at p + the low 16 bits of add, at p + (add >> 16),
			    * at p + fp_offset; the CFA is p + 8 */
};

enum wire_location {
	WIRE_LOCATION_UNDEFINED, /* of the return address: the thread's first frame */
	WIRE_LOCATION_SAME,
	WIRE_LOCATION_AT_CFA,	   /* in memory at CFA + offset */
	WIRE_LOCATION_AT_REGISTER, /* in memory at reg + offset */
	WIRE_LOCATION_IS_CFA,	   /* CFA + offset */
	WIRE_LOCATION_REGISTER,	   /* in reg */
};

#define WIRE_UNWIND_RBX_LOST 255 /* not known */

#define WIRE_UNWIND_REGISTERS 16
#define WIRE_UNWIND_SIGNAL \
	1 /* the caller was interrupted where its address says, not after a call */
#define WIRE_UNWIND_DERIVED 2 /* derived from code, not a table: its caller must be at a call */

struct wire_unwind_rule {
	wire_u8 cfa, cfa_reg;
	wire_u8 fp, fp_reg; /* the caller's frame pointer */
	wire_u8 ra, ra_reg; /* the return address */
	wire_u8 flags;
	/* The caller's rbx: 0: as it is here; n: in memory at CFA - 8n, or, in a signal's frame, at
	 * the stack pointer + 8n. Read only if a rule asks for it. */
	wire_u8 rbx;
	wire_i32 cfa_offset, cfa_add;
	wire_i32 fp_offset, ra_offset;
};

/* Small enough that a search among one's rows touches few cache lines, all cold at a sample. */
#define WIRE_UNWIND_PAGE_BITS 12
#define WIRE_UNWIND_PAGE_ROWS 2 /* that a struct wire_unwind_page takes */

struct wire_unwind_table {
	wire_u32 first_page; /* its place / WIRE_UNWIND_PAGE_ROWS */
	wire_u32 page_count; /* 0: there is no table */
	wire_u32 python;     /* number of the Python that the file is; 0: it is none */
	wire_u32 originals;  /* of copies: the slot whose table says of what; 0: it has none */
	wire_u64 bias;	     /* ... and where the original 0 of its rows is */
};

#define WIRE_UNWIND_STEP (1u << 31) /* so that no step to an original is 0 */

struct wire_unwind_page {
	wire_u32 first, count; /* rows; at most one a byte */
};

#define WIRE_UNWIND_CHUNK_BITS 18
#define WIRE_UNWIND_CHUNK_ROWS (1u << WIRE_UNWIND_CHUNK_BITS)

/* A frame that is to be followed (unwind.h). */
struct wire_unwind_state {
	/* All known in the first frame, then RSP, RBP and RBX only. */
	wire_u64 reg[WIRE_UNWIND_REGISTERS];
	wire_u64 pc;
	wire_u64 thread; /* base of its memory (fs); 0: not known */
	wire_u64 rbx_at; /* where a callee saved it; 0: none did */
	wire_u8 first, fp_known, rbx_known;
	wire_u8 exact; /* pc is where it is, not where it returns to */
	wire_u8 unused[4];
};

/* Frames nearest to the interruption, and to the thread's start, that a record keeps. */
#define WIRE_STACK_INNER  448
#define WIRE_STACK_OUTER  64
#define WIRE_STACK_KERNEL 64
/* The most that are followed. */
#define WIRE_STACK_DEPTH 16384

/*
 * A frame: slot << 32 | offset in its file; or, in memory of no file, WIRE_FRAME_ADDRESS | address;
 * or WIRE_FRAME_PYTHON | ...; or an address of the kernel, which has all the highest 8 bits set. In
 * a caller, that of the last byte of the call; in what a signal handler returns to, of the first
 * byte of the instruction.
 */
#define WIRE_FRAME_ADDRESS (1ull << 63)

enum wire_stack_end {
	WIRE_STACK_COMPLETE,	 /* reached the thread's start */
	WIRE_STACK_NO_TABLE,	 /* its file's table was not there yet */
	WIRE_STACK_NO_RULE,	 /* no table has anything for it, and it has no frame pointer */
	WIRE_STACK_BAD_ADDRESS,	 /* a frame that is not further out than the one before */
	WIRE_STACK_NOT_CODE,	 /* a return address outside executable memory */
	WIRE_STACK_NOT_RESIDENT, /* a page of the stack is not in memory */
	WIRE_STACK_TOO_DEEP,	 /* more frames than WIRE_STACK_DEPTH, or WIRE_PYTHON_DEPTH */
	WIRE_STACK_NO_USER,	 /* a thread of the kernel, or within exec: complete as it is */
	WIRE_STACK_32_BIT,	 /* of a 32-bit program, which is not followed */
	WIRE_STACK_ENDS,
};

struct wire_stack_key {
	wire_u64 hash[2];
};

struct wire_stack_count {
	wire_u32 count;
	wire_u32 check; /* another hash: differs if two stacks ever got the same key */
};

/*
 * Frames of the kernel are frame[0..kernel_count), those of the process begin at
 * frame[WIRE_STACK_KERNEL], innermost first. If there are more than are kept, the outermost are
 * stored as in a ring.
 */
#define WIRE_STACK_PLACE(n)  \
	(WIRE_STACK_KERNEL + \
	 ((n) < WIRE_STACK_INNER ? (n) : WIRE_STACK_INNER + (n) % WIRE_STACK_OUTER))

struct wire_stack {
	struct wire_stack_key key;
	wire_u64 time_ns;
	wire_u32 process; /* as in struct wire_entry */
	wire_u16 event;
	wire_u8 end; /* enum wire_stack_end */
	wire_u8 kernel_count;
	wire_u32 followed; /* frames of the process */
	wire_u32 unused;
	struct wire_name thread; /* zero: its process's name */
	/* Of the last frame, with NO_TABLE; the file only if the frame has no slot. */
	struct wire_file file;
	wire_u64 address; /* where it is in the process */
	wire_u64 file_offset;
	wire_u64 frame[WIRE_STACK_KERNEL + WIRE_STACK_INNER + WIRE_STACK_OUTER];
};

#define WIRE_SNAPSHOT_PAGES 64
#define WIRE_SNAPSHOT_PAGE  4096
/* Pages that are sent of a stack that has all WIRE_SNAPSHOT_PAGES, its end not in sight. */
#define WIRE_SNAPSHOT_ENDLESS 8
/* At most this many pages in a row within a stack are not in memory. */
#define WIRE_SNAPSHOT_HOLE 16

/*
 * A stack that stopped for lack of a table. Its end is NO_TABLE and its last frame the one that has
 * no table; it is not counted in counts, nor its end in the counters. The record ends after the
 * pages that it has, or somewhat later.
 */
struct wire_snapshot {
	struct wire_unwind_state state;
	wire_u64 begin;	 /* address of the pages, from the stack pointer's on */
	wire_u32 bytes;	 /* of them that are here */
	wire_u32 is_cut; /* the stack goes on after them */
	wire_u64 there;	 /* a bit for each page, from the lowest: it was in memory; else it is 0 */
	struct wire_stack stack;
	wire_u8 page[WIRE_SNAPSHOT_PAGES][WIRE_SNAPSHOT_PAGE];
};

struct wire_stack_counters {
	wire_u64 stacks;    /* the sum of ends and snapshots */
	wire_u64 snapshots; /* that were sent */
	wire_u64 spent_ns;
	wire_u64 frames; /* that were followed */
	wire_u64 ends[WIRE_STACK_ENDS];
	wire_u64 lost_full;	   /* found counts full */
	wire_u64 collisions;	   /* of keys: not counted */
	wire_u64 python_frames;	   /* that stand for the evaluator's */
	wire_u64 python_unnamed;   /* of these: without a number */
	wire_u64 python_crowded;   /* of these: their user had too many new ones at a time */
	wire_u64 python_strangers; /* stacks of threads that their interpreter does not know */
	wire_u64 python_broken;	   /* chains of frames that end or loop where they should not */
};

#endif
