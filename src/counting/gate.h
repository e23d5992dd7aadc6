/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_GATE_H
#define CULPRIT_COUNTING_GATE_H

#include <stdint.h>
#include "instrument/code.h"

/*
 * A gate: a loader calls a function that does nothing, for debuggers, when it has mapped libraries.
 * That function gets a copy that waits until we have looked at the libraries, before they run. The
 * copy counts in one slot of the thread's table how often it was entered, and goes on when another
 * slot has reached that number (attach_waiting, attach_let_on). Meanwhile it sleeps, so that no
 * time is charged to it. If culprit is killed, the program is not held up: the copy waits for some
 * thousand naps at most, not counting time in which it is stopped, and never again in that thread.
 */

#define GATE_ENTERED 0 /* slots of every table */
#define GATE_PASSED  1
#define GATE_SLOTS   2

#define GATE_BYTES_MAX 112
#define GATE_LOOKS_AT  16 /* bytes of the function that are needed */

/*
 * For the function of these bytes at an address, to lie at another. 0; -EOPNOTSUPP: it does
 * something, or there is no room for a jump; -ERANGE; -ENOMEM.
 */
int gate_new(uint64_t function, const uint8_t bytes[GATE_LOOKS_AT], uint64_t address,
	     struct instrument_code *ret);

#endif
