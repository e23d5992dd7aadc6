/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_READ_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_READ_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/* Reads the kernel's memory: all of size, or it fails. Uses src/bpf/kread.bpf.c, loaded into
 * *reader when that is NULL. -EFAULT: not mapped. */
struct kread_bpf;
int kernel_read_bpf(struct kread_bpf **reader, uint64_t address, void *out, size_t size,
		    struct diag *diag);
/* What the kernel calls the code at an address, as its "%pS" prints it; the same program. */
int kernel_name_bpf(struct kread_bpf **reader, uint64_t address, char *out, size_t size);
void kread_bpf_free(struct kread_bpf *reader); /* NULL allowed */

#endif
