/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_CODE_H
#define CULPRIT_INSTRUMENT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A function's copy with counters, ready to be written into a running program: what the makers of
 * copies (copy.h) and the engine that puts them in place agree on. x86-64. Plain data: nothing here
 * knows how it was made, or points into an image.
 *
 * While the patches are in place the copy runs instead of the function. Calls alone are executed at
 * their original addresses: the copy jumps back to the call, and the place it returns to is patched
 * with a jump that enters the copy again. So every return address on a stack is an original one, in
 * the program as it was, while it is patched, and after.
 *
 * Addresses are those of the running process.
 */

/* The most bytes that one patch replaces: of a jump with 32 bits of displacement. */
#define INSTRUMENT_PATCH_BYTES 5

/*
 * Original text to be replaced. All patches of a function go in, or out, together, with all threads
 * stopped, and none of them, nor a signal's frame, may be left at an address inside of a patch
 * (address < pc < address + size), or where it would run into a relay: move it into the copy
 * before.
 */
struct instrument_patch {
	uint64_t address;
	uint64_t stands_for; /* where a thread that is at address goes on without the patch: there,
				but of a jump in a place of its own, which a shorter one leads to */
	uint8_t size;	     /* 1 to INSTRUMENT_PATCH_BYTES */
	uint8_t before[INSTRUMENT_PATCH_BYTES], after[INSTRUMENT_PATCH_BYTES];
};

/* A jump in a place of its own, which a shorter one leads to. */
static inline bool instrument_patch_is_relay(const struct instrument_patch *p)
{
	return p->stands_for != p->address;
}

/* A call that leads straight into the copy of what it calls. It returns to where it did, so it can
 * be left out. */
static inline bool instrument_patch_is_call(const struct instrument_patch *p)
{
	return p->after[0] == 0xe8;
}

/*
 * The order in which patches are written; they are put back in the reverse. A relay may lie on
 * instructions that nothing comes by at any more when the jumps of full size are in, and must lie
 * there before a shorter one leads to it.
 */
enum instrument_stage {
	INSTRUMENT_STAGE_FULL,
	INSTRUMENT_STAGE_RELAY,
	INSTRUMENT_STAGE_SHORT,
	INSTRUMENT_STAGES
};

static inline enum instrument_stage instrument_patch_stage(const struct instrument_patch *p)
{
	if (instrument_patch_is_relay(p))
		return INSTRUMENT_STAGE_RELAY;
	return p->size < INSTRUMENT_PATCH_BYTES ? INSTRUMENT_STAGE_SHORT : INSTRUMENT_STAGE_FULL;
}

/*
 * The same point of the program in both: all instructions of the function are listed. Registers and
 * memory are the same at both, so a thread may be moved from one to the other, and the counters
 * stay exact. A thread in the copy that is at no place is in the middle of inserted code: let it
 * run until it is at one, or out of the copy. Inserted code makes no system calls and faults only
 * where there is no table (it writes to the table, and to the stack below the red zone).
 */
struct instrument_place {
	uint64_t original;
	uint32_t copy; /* from the start of the copy */
	uint8_t size;  /* of the original instruction */
};

/* No address. */
#define INSTRUMENT_NOWHERE UINT64_MAX

/*
 * An instruction that was inserted into the copy, for who asks what a thread there is at: each of
 * them has a piece, but for those at a place, which are at the place's original.
 */
struct instrument_piece {
	uint64_t charged;    /* the instruction of the function that its time is of */
	uint64_t stands_for; /* where the thread would be in the original, with this stack;
				INSTRUMENT_NOWHERE: the original has no such stack */
	uint32_t copy;	     /* from the start of the copy */
};

/*
 * A counter is 8 bytes at slot * 8 from the base of %gs, which is each thread's own: its table must
 * have (first_slot + slot_count) * 8 bytes or more. Counters only ever rise, by 1, and wrap
 * silently; who reads takes differences. Nothing of the program depends on what the table holds:
 * two threads at one table miscount and do no harm.
 */
struct instrument_code {
	uint64_t entry;	  /* of the function */
	uint64_t address; /* where the copy must lie: its bytes are relocated for it */
	uint8_t *bytes;
	uint32_t size;
	uint32_t entrance; /* from the start of the copy: where calls of the function lead */
	struct instrument_place *places; /* ascending by original, and by copy */
	uint32_t place_count;
	struct instrument_piece *pieces; /* ascending by copy, none at a place */
	uint32_t piece_count;
	struct instrument_patch *patches; /* ascending by address, none overlaps another */
	uint32_t patch_count;
	uint32_t first_slot, slot_count;
	uint64_t original_hash; /* of the code that it is a copy of: instrument_code_hash_original()
				 */
};

/* Frees what it has; the struct is the caller's. */
void instrument_code_free(struct instrument_code *code);

/* The place of an address of the original or of the copy; NULL: it is at none. */
const struct instrument_place *instrument_code_at_original(const struct instrument_code *code,
							   uint64_t address);
const struct instrument_place *instrument_code_at_copy(const struct instrument_code *code,
						       uint64_t address);

/*
 * Whether it is what this header says, as far as that can be seen: sizes, orders, places and pieces
 * inside of the copy, pieces that are of the function, patches that do not overlap. Of what comes
 * from a process without privileges. 0, -EBADMSG.
 */
int instrument_code_check(const struct instrument_code *code);

/*
 * A hash of the instructions that the places stand for, by which who puts a copy in sees whether
 * they are the same in the program. read: bytes at an address of the original; what it returns
 * other than 0 is returned.
 */
int instrument_code_hash_original(const struct instrument_code *code,
				  int (*read)(void *arg, uint64_t address, void *data, size_t size),
				  void *arg, uint64_t *ret);

#endif
