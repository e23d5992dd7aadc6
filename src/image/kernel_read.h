/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_READ_H
#define CULPRIT_IMAGE_KERNEL_READ_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/* The bytes of the kernel's memory: all of them, or it fails. */

/* Through src/bpf/kread.bpf.c, which is loaded into *reader when that is NULL. -EFAULT: the range
 * is not mapped. */
struct kread_bpf;
int kernel_read_bpf(struct kread_bpf **reader, uint64_t address, void *out, size_t size,
		    struct diag *diag);
void kread_bpf_free(struct kread_bpf *reader); /* NULL allowed */

#endif
