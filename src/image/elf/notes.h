/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_ELF_NOTES_H
#define CULPRIT_IMAGE_ELF_NOTES_H

#include <stddef.h>
#include <stdint.h>
#include "util/identity.h"

/*
 * Looks for the GNU build ID in ELF notes (a PT_NOTE, a note section, /sys/kernel/notes), aligned
 * to 4 or 8. Sets size and bytes of ret, not its kind. -ENOENT when there is none; a build ID of no
 * bytes or of zeroes only names nothing and counts as none. Safe on hostile bytes.
 */
int image_notes_build_id(const void *data, size_t size, size_t align, struct image_id *ret);

#endif
