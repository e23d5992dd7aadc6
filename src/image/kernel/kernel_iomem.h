/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_IOMEM_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_IOMEM_H

#include <stdint.h>

/*
 * How large the core kernel is, according to root/proc/iomem: bytes from its _text to its _etext,
 * which are the bounds of what x86-64 calls "Kernel code" (setup_arch), and to the end of its data.
 * -ENODATA on other machines, which set other bounds, and where the addresses are hidden:
 * CAP_SYS_ADMIN shows them.
 */
int kernel_iomem_sizes(const char *root, uint64_t *ret_code, uint64_t *ret_all);

#endif
