/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_UNWIND_H
#define CULPRIT_BPF_UNWIND_H

/*
 * From a frame to its caller's, by a rule or by the frame pointer. The same source runs in the
 * kernel (unwind.bpf.c), in user space on copies of stacks (unwind/unwind_walk.h), and in tests.
 *
 * The includer is the host. Before including this it defines UNWIND_FUNCTION (its kind of static
 * inline; without it there are no functions), UNWIND_RARE_FUNCTION where what few frames need is to
 * be in functions of another kind, and
 *   int host_read(void *to, wire_u32 size, wire_u64 address)     memory of the process: 0, or it
 *                                                                 is not resident
 */
#include "wire_stacks.h"

/* DWARF's numbers of registers. */
#define UNWIND_RBX 3
#define UNWIND_RBP 6
#define UNWIND_RSP 7

#ifdef UNWIND_FUNCTION
#ifndef UNWIND_RARE_FUNCTION
#define UNWIND_RARE_FUNCTION UNWIND_FUNCTION
#endif

UNWIND_FUNCTION bool unwind_read_word(wire_u64 address, wire_u64 *ret)
{
	return host_read(ret, sizeof(*ret), address) == 0;
}

/* A register's value in this frame. */
UNWIND_FUNCTION bool unwind_read_register(const struct wire_unwind_state *u, wire_u32 number,
					  wire_u64 *ret)
{
	if (!u->first && number != UNWIND_RSP && !(number == UNWIND_RBP && u->fp_known))
		return false;
	*ret = u->reg[number & (WIRE_UNWIND_REGISTERS - 1)];
	return true;
}

/* By way of the thread's memory (WIRE_CFA_THREAD). */
UNWIND_FUNCTION int unwind_find_thread_cfa(const struct wire_unwind_state *u,
					   const struct wire_unwind_rule *r, wire_u64 *ret)
{
	wire_u64 word = u->thread + (wire_i64)r->cfa_offset;

	if (!u->thread)
		return WIRE_STACK_NO_RULE;
	if (!unwind_read_word(word, &word) ||
	    !unwind_read_word(word + (r->cfa_add & 0xffff), &word) ||
	    !unwind_read_word(word + ((wire_u32)r->cfa_add >> 16), &word) ||
	    !unwind_read_word(word + (wire_i64)r->fp_offset, &word))
		return WIRE_STACK_NOT_RESIDENT;
	*ret = word + 8;
	return word & 7 ? WIRE_STACK_BAD_ADDRESS : 0;
}

/* The register that the CFA is an offset from. 0, or the reason why it is not known. */
UNWIND_FUNCTION int unwind_read_base(const struct wire_unwind_state *u,
				     const struct wire_unwind_rule *r, wire_u64 *ret)
{
	if (r->cfa_reg != UNWIND_RBX || u->first || !u->rbx_known)
		return unwind_read_register(u, r->cfa_reg, ret) ? 0 : WIRE_STACK_NO_RULE;
	if (u->rbx_at)
		return unwind_read_word(u->rbx_at, ret) ? 0 : WIRE_STACK_NOT_RESIDENT;
	*ret = u->reg[UNWIND_RBX];
	return 0;
}

UNWIND_FUNCTION int unwind_find_cfa(const struct wire_unwind_state *u,
				    const struct wire_unwind_rule *r, wire_u64 *ret)
{
	wire_u64 base;
	int end;

	if (r->cfa == WIRE_CFA_THREAD)
		return unwind_find_thread_cfa(u, r, ret);
	end = r->cfa == WIRE_CFA_NONE ? WIRE_STACK_NO_RULE : unwind_read_base(u, r, &base);
	if (end)
		return end;
	base += (wire_i64)r->cfa_offset;
	if (r->cfa == WIRE_CFA_DEREF) {
		if (!unwind_read_word(base, &base))
			return WIRE_STACK_NOT_RESIDENT;
		base += (wire_i64)r->cfa_add;
	} else if (r->cfa == WIRE_CFA_PLT && (u->pc & 15) >= (wire_u32)r->cfa_add) {
		base += 8;
	}
	*ret = base;
	return 0;
}

/* The value of one of the caller's registers. 0, or the reason why it is not known. */
UNWIND_FUNCTION int unwind_find_place(const struct wire_unwind_state *u, wire_u64 cfa,
				      wire_u32 place, wire_u32 reg, wire_i64 offset,
				      wire_u64 *value)
{
	wire_u64 base;

	switch (place) {
	case WIRE_LOCATION_SAME:
		return 0;
	case WIRE_LOCATION_AT_CFA:
		return unwind_read_word(cfa + offset, value) ? 0 : WIRE_STACK_NOT_RESIDENT;
	case WIRE_LOCATION_AT_REGISTER:
		if (!unwind_read_register(u, reg, &base))
			return WIRE_STACK_NO_RULE;
		return unwind_read_word(base + offset, value) ? 0 : WIRE_STACK_NOT_RESIDENT;
	case WIRE_LOCATION_IS_CFA:
		*value = cfa + offset;
		return 0;
	case WIRE_LOCATION_REGISTER:
		return unwind_read_register(u, reg, value) ? 0 : WIRE_STACK_NO_RULE;
	default:
		return WIRE_STACK_NO_RULE;
	}
}

#ifndef UNWIND_IS_UNSEEN
#define UNWIND_IS_UNSEEN(pc) false
#endif

/* Whether the instruction before this one is a call, as far as its bytes say. Where nobody kept the
 * bytes, it must suffice that it is code. */
UNWIND_FUNCTION bool unwind_is_after_call(wire_u64 pc)
{
	wire_u8 b[8] = {0};

	if (host_read(b, 7, pc - 7))
		return UNWIND_IS_UNSEEN(pc);
	return b[2] == 0xe8 || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[3] == 0xff && (b[4] & 0x38) == 0x10) ||
	       (b[1] == 0xff && (b[2] & 0x38) == 0x10) || (b[0] == 0xff && (b[1] & 0x38) == 0x10);
}

/* Where Go's goroutines begin: after the nop of runtime.goexit, which did not call them. */
UNWIND_FUNCTION bool unwind_is_goexit(wire_u64 pc)
{
	wire_u8 b[8] = {0};

	return host_read(b, 7, pc - 1) == 0 && b[0] == 0x90 && b[1] == 0xe8 && b[6] == 0x90;
}

/*
 * What methods that HotSpot interprets return to: its interpreter jumps to them, with this for a
 * return address. It restores the stack pointer: mov -16(%rbp), %rsp; movq $0, -16(%rbp) (JDK 8 to
 * 20), or mov -16(%rbp), %rcx; lea (%rbp, %rcx, 8), %rsp.
 */
UNWIND_FUNCTION bool unwind_is_interpreted(wire_u64 pc)
{
	wire_u8 b[8] = {0};

	if (host_read(b, 8, pc) || b[0] != 0x48 || b[1] != 0x8b || b[3] != 0xf0 || b[4] != 0x48)
		return false;
	return (b[2] == 0x65 && b[5] == 0xc7 && b[6] == 0x45 && b[7] == 0xf0) ||
	       (b[2] == 0x4d && b[5] == 0x8d && b[6] == 0x64 && b[7] == 0xcd);
}

/* What handlers of signals return to: mov $15, %rax; syscall. */
UNWIND_FUNCTION bool unwind_is_sigreturn(wire_u64 pc)
{
	wire_u8 b[16] = {0};

	return host_read(b, 9, pc) == 0 && b[0] == 0x48 && b[1] == 0xc7 && b[2] == 0xc0 &&
	       b[3] == 0x0f && b[4] == 0 && b[7] == 0x0f && b[8] == 0x05;
}

/* Whether a rule that was derived from code has found what may be a return address. */
UNWIND_RARE_FUNCTION int unwind_is_return(wire_u64 pc)
{
	return unwind_is_after_call(pc) || unwind_is_goexit(pc) || unwind_is_sigreturn(pc);
}

/* Notes where the caller's rbx is, before the stack pointer becomes the caller's. */
UNWIND_FUNCTION void unwind_note_rbx(struct wire_unwind_state *u, const struct wire_unwind_rule *r,
				     wire_u64 cfa)
{
	if (!r->rbx)
		return;
	u->rbx_known = r->rbx != WIRE_UNWIND_RBX_LOST;
	u->rbx_at = r->flags & WIRE_UNWIND_SIGNAL ? u->reg[UNWIND_RSP] + 8 * (wire_u64)r->rbx
						  : cfa - 8 * (wire_u64)r->rbx;
}

/* Goes to the caller's frame. -1: there is one; else the reason to end. */
UNWIND_FUNCTION int unwind_follow_rule(struct wire_unwind_state *u,
				       const struct wire_unwind_rule *r)
{
	wire_u64 ra = u->pc, fp = u->reg[UNWIND_RBP], sp = u->reg[UNWIND_RSP], cfa = 0;
	bool fp_known;
	int end;

	if (r->ra == WIRE_LOCATION_UNDEFINED && r->cfa != WIRE_CFA_NONE)
		return WIRE_STACK_COMPLETE;
	end = unwind_find_cfa(u, r, &cfa);
	if (!end)
		end = unwind_find_place(u, cfa, r->ra, r->ra_reg, r->ra_offset, &ra);
	if (end)
		return end;
	if ((r->flags & WIRE_UNWIND_DERIVED) && ra && !unwind_is_return(ra))
		return WIRE_STACK_NO_RULE;
	fp_known = unwind_find_place(u, cfa, r->fp, r->fp_reg, r->fp_offset, &fp) == 0 &&
		   (r->fp != WIRE_LOCATION_SAME || u->fp_known);
	/* Signal handlers may have a stack of their own. */
	if (!(r->flags & WIRE_UNWIND_SIGNAL) &&
	    ((r->cfa != WIRE_CFA_THREAD && cfa <= sp) || cfa >> 47))
		return WIRE_STACK_BAD_ADDRESS;
	unwind_note_rbx(u, r, cfa);
	u->reg[UNWIND_RSP] = cfa;
	u->reg[UNWIND_RBP] = fp;
	u->fp_known = fp_known;
	u->pc = ra;
	u->first = 0;
	u->exact = r->flags & WIRE_UNWIND_SIGNAL;
	return ra == 0 ? WIRE_STACK_COMPLETE : -1;
}

/*
 * In a frame that was interrupted: where the return address is while the frame pointer is still, or
 * again, the caller's. 0: it is this frame's.
 */
UNWIND_FUNCTION wire_u64 unwind_find_bare_return(const struct wire_unwind_state *u)
{
	wire_u8 c[4] = {0};

	if (!u->exact || host_read(c, sizeof(c), u->pc))
		return 0;
	/* push rbp; ret; endbr64 at a function's start; jmp [rip + ...] and push n of a stub. */
	if (c[0] == 0x55 || c[0] == 0xc3 || (c[0] == 0xf3 && c[1] == 0x0f && c[2] == 0x1e) ||
	    (c[0] == 0xff && c[1] == 0x25) || (c[0] == 0xf2 && c[1] == 0xff && c[2] == 0x25) ||
	    c[0] == 0x68)
		return u->reg[UNWIND_RSP];
	if (c[0] == 0x48 && c[1] == 0x89 && c[2] == 0xe5) /* mov rbp, rsp */
		return u->reg[UNWIND_RSP] + 8;
	return 0;
}

/*
 * Follows the frame pointer, for code that has no rule: what compilers make at run time, and
 * assembly. It might not be used as such, so a return address must follow a call.
 */
UNWIND_FUNCTION int unwind_follow_frame_pointer(struct wire_unwind_state *u)
{
	wire_u64 frame[2] = {u->reg[UNWIND_RBP], 0}, fp = u->reg[UNWIND_RBP];
	wire_u64 bare = unwind_find_bare_return(u);

	if (!u->fp_known)
		return WIRE_STACK_NO_RULE;
	if (bare) {
		if (!unwind_read_word(bare, &frame[1]))
			return WIRE_STACK_NOT_RESIDENT;
		fp = bare - 8;
	} else {
		if (fp == 0)
			return WIRE_STACK_COMPLETE;
		if (fp < u->reg[UNWIND_RSP] || fp >> 47 || (fp & 7))
			return WIRE_STACK_NO_RULE;
		if (host_read(frame, sizeof(frame), fp))
			return WIRE_STACK_NOT_RESIDENT;
	}
	if (frame[1] == 0)
		return WIRE_STACK_COMPLETE;
	if (!unwind_is_after_call(frame[1]) && !unwind_is_interpreted(frame[1]) &&
	    !(frame[0] == 0 && unwind_is_goexit(frame[1])))
		return WIRE_STACK_NO_RULE;
	u->reg[UNWIND_RSP] = fp + sizeof(frame);
	u->reg[UNWIND_RBP] = frame[0];
	u->pc = frame[1];
	u->exact = u->first = u->rbx_known = 0;
	return -1;
}

#endif

#endif
