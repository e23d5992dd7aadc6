/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_ELF_DEBUG_LINK_H
#define CULPRIT_IMAGE_ELF_DEBUG_LINK_H

#include <stdint.h>
#include "util/diag.h"

/* What .gnu_debuglink says: the base name of the separate debug file, and that file's CRC-32. */
struct image_debug_link {
	char name[256];
	uint32_t crc;
};

/*
 * -ENOENT: the ELF file has none. -EBADMSG: broken, or its name is not a base name. Foreign format:
 * privileged callers go through image/worker/worker.h.
 */
int image_debug_link_read(int fd, struct image_debug_link *ret, struct diag *diag);

#endif
