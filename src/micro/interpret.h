/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MICRO_INTERPRET_H
#define CULPRIT_MICRO_INTERPRET_H

/*
 * The interpreter: follows, from registers and memory, the path that the code will take (an idea of
 * DCPI: Anderson et al., SOSP 1997, section 7). The same source runs in the kernel, from a sample's
 * registers (bpf/interpret.bpf.c), and in user space (interpret_host.h).
 *
 * It computes only with what is certain. A value that cannot be known (a vector register at the
 * sample, a page that is not resident, the result of an instruction that is not modelled) is marked
 * unknown, and so is everything computed from it; the window ends only when the path depends on it.
 * What the window writes goes to an overlay of words, from which its reads are served; memory is
 * never written.
 *
 * The file that includes this is the host; its own data are members of struct interpret too. It
 * defines
 *   INTERPRET_HOST   members of struct interpret; among them the overlay by place, tag[] and word[]
 * and includes interpret_state.h; then
 *   INTERPRET_FUNCTION   which for the kernel makes a function of its own for the verifier, so that
 *                        paths do not multiply
 *   HOST_PLACES(s)   of the overlay
 *   HOST_TURNS(s), HOST_REPEATS(s)   the most that string operations repeat: in a window, in one
 *   int host_read(struct interpret *s, void *to, wire_u32 size, wire_u64 address)
 *       0, or not resident
 *   int host_read_word(s, wire_u64 to[2], wire_u32 size, wire_u64 address)   the same, to 8 bytes
 *   const struct wire_strip *host_strip(s, struct wire_strip_key *)
 *   const struct wire_micro *host_micro(s, wire_u32 index)
 *   int host_find(s)   sets s->mapping for s->pc: 0 or an enum wire_end
 *   wire_u32 host_place(s, wire_u64 word, wire_u32 *ret_free)
 *       where the overlay has a word, or INTERPRET_NO_PLACE and a place that is free for it, if any
 *   wire_u32 host_claim(s, wire_u64 word, wire_u32 free)   that, or another, or INTERPRET_NO_PLACE
 *   void host_transfer(s, from, to)   control went from one struct wire_place to the other
 *   void host_load(s)   it reads s->address, which is neither fixed nor next to the stack pointer
 * and includes this file.
 */
#include "interpret_state.h"

#include "interpret_memory.h"
#include "interpret_register.h"
#include "interpret_arithmetic.h"
#include "interpret_value.h"
#include "interpret_vector.h"
#include "interpret_window.h"

#endif
