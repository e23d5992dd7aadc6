/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_CODE_H
#define CULPRIT_IMAGE_CODE_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/* The most that one call returns. */
#define IMAGE_CODE_MAX_BYTES (64u << 20)

/*
 * The bytes of an ELF file at the virtual addresses [address, address + size), as far as one
 * executable segment of the file has them (of a relocatable file, a kernel module: offsets from the
 * start of its .text). free() the data. -ERANGE: the file has no code there. Foreign format:
 * privileged callers go through image/worker/worker.h.
 */
int image_code_read(int fd, uint64_t address, size_t size, uint8_t **ret_data, size_t *ret_size,
		    struct diag *diag);

#endif
