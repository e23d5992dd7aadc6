/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_EHFRAME_H
#define CULPRIT_IMAGE_EHFRAME_H

#include <stddef.h>
#include <stdint.h>

/*
 * Calls f with the start and size of the code that each FDE of an .eh_frame section describes, in
 * the section's order, until its terminator or end. data is the section, loaded at address;
 * pointer_bytes is 4 or 8; little endian only. FDEs in encodings that linkers do not write are
 * passed over. A non-zero return of f ends the walk with that value. -EBADMSG: broken from some
 * point on; what is before it was shown. (LSB Core 5.0, 10.6 Exception Frames.)
 */
int ehframe_each(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		 int (*f)(void *arg, uint64_t start, uint64_t size), void *arg);

/*
 * The address of .eh_frame according to .eh_frame_hdr, whose bytes are data and which is loaded at
 * address. 0 or -EBADMSG.
 */
int ehframe_header(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		   uint64_t *ret);

#endif
