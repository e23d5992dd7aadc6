/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_EHFRAME_H
#define CULPRIT_UNWIND_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "unwind/cfi.h"

/* What an FDE says of a piece of code. */
struct ehframe_entry {
	uint64_t start, size;
	uint64_t lsda; /* the address of its exception table, 0: none */
	bool part;     /* its first frame is not that of a call just made: it is not the start of a
			  function but a part that was split off */
	bool signal;   /* the frame that a signal handler returns to */
	struct cfi_program program; /* borrows from the section */
};

/*
 * Calls f with each FDE of an .eh_frame section, in the section's order, until its terminator or
 * end. data is the section, loaded at address; pointer_bytes is 4 or 8; little endian only. FDEs in
 * encodings that linkers do not write are passed over. A non-zero return of f ends the walk with
 * that value. -EBADMSG: broken from some point on; f got what is before it. (LSB Core 5.0, 10.6
 * Exception Frames.)
 */
int ehframe_each(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		 int (*f)(void *arg, const struct ehframe_entry *entry), void *arg);

/*
 * The same for a .debug_frame section (DWARF 5, 6.4.1), whose addresses are absolute.
 */
int debugframe_each(const uint8_t *data, size_t size, unsigned pointer_bytes,
		    int (*f)(void *arg, const struct ehframe_entry *entry), void *arg);

/*
 * Calls f with the address of each landing pad in an exception table (an LSDA of
 * .gcc_except_table), which is loaded at address and whose available bytes are data; function is
 * the start of its FDE. Non-zero and -EBADMSG as above. (Itanium C++ ABI, Exception Handling
 * Tables.)
 */
int ehframe_each_landing(const uint8_t *data, size_t size, uint64_t address, uint64_t function,
			 unsigned pointer_bytes, int (*f)(void *arg, uint64_t landing), void *arg);

/*
 * The address of .eh_frame according to .eh_frame_hdr, whose bytes are data and which is loaded at
 * address. 0 or -EBADMSG.
 */
int ehframe_header(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		   uint64_t *ret);

#endif
