/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_STARTS_H
#define CULPRIT_IMAGE_STARTS_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/*
 * Virtual addresses at which an instruction of an ELF file is known to begin, without using
 * symbols: starts of functions and their parts from .eh_frame, and of PLT entries. Ascending,
 * without duplicates; *ret is to be freed, NULL when there are none. A foreign format: privileged
 * callers go through image/worker/worker.h.
 */
int image_starts_read(int fd, size_t max_bytes, uint64_t **ret, size_t *ret_count,
		      struct diag *diag);

#endif
