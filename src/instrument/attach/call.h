/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_ATTACH_CALL_H
#define CULPRIT_INSTRUMENT_ATTACH_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "instrument/attach/target.h"
#include "instrument/attach/tracer.h"

/*
 * System calls made inside a running program. A stopped thread is redirected to a small piece of
 * code that makes the calls, restores all of the thread's registers and its signal mask, and
 * continues where the thread was, so we may die at any moment. The code lies behind the end of the
 * vDSO's image, in the last page of its mapping, which nothing else uses. When no thread is there,
 * the program's copy of that page has the bytes of our own vDSO again.
 */

#define CALL_MAX 3
/* As an argument: what the first of the calls returned. */
#define CALL_FIRST 0xcf1257cf1257cf12ULL

struct call {
	uint32_t number;
	uint64_t arguments[6];
	int64_t result; /* a negative errno on failure */
};

struct call_errand {
	struct call calls[CALL_MAX];
	unsigned count;
	char name[24]; /* for a call's argument, at call_name_address */
	/* Called when the first has returned something that is not an error to the thread, before
	 * the second is made; NULL: nobody. Not 0: of the others only the last is made. */
	int (*between)(void *arg, pid_t tid, int64_t first);
	void *arg;
};

/* Where an errand's name will lie, and its code; 0: this vDSO has no room. */
uint64_t call_name_address(const struct target_maps *maps);
bool call_is_in_code(const struct target_maps *maps, uint64_t pc);
/*
 * Makes the calls in a stopped thread, which is stopped in the same state afterwards; only one
 * thread of an address space may do so at a time. 0 if all calls were made, whatever they returned;
 * -ESRCH: the thread is gone; -EBUSY: it cannot be redirected from where it is; -ENOSYS: there is
 * no room for the code; or what `between` returned.
 */
int call_make(struct tracee *e, int mem, const struct target_maps *maps,
	      struct call_errand *errand);
/* Whether a thread can be redirected: not within a system call or a restartable sequence. */
bool call_is_possible(const struct tracee *e, int mem, const struct target_maps *maps);
/* Overwrites code that a dead culprit may have left with our vDSO's bytes. No thread is in it. */
int call_clean(int mem, const struct target_maps *maps);

/* Whether the thread was interrupted in a system call that the kernel will restart, at the two
 * bytes before its program counter. */
bool call_is_to_restart(const struct user_regs_struct *regs);

#endif
