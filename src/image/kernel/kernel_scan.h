/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_SCAN_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include "image/kernel/kallsyms.h"
#include "image/kernel/kernel_regions.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * Where _text is in the addresses stored for the core kernel: where the linker puts it. One
 * constant for all kernels of an architecture, so that the same code has the same address whatever
 * was installed or readable when it was profiled; where a vmlinux has its _text elsewhere, its
 * reader shifts by the difference.
 * x86-64: __START_KERNEL_map + CONFIG_PHYSICAL_START's default. arm64: KIMAGE_VADDR with 48-bit
 * addresses and 2 GiB of module space (since Linux 6.5): -(1 << 47) + (2 << 30).
 */
#if defined(__x86_64__)
#define KERNEL_LINK_TEXT UINT64_C(0xffffffff81000000)
#elif defined(__aarch64__)
#define KERNEL_LINK_TEXT UINT64_C(0xffff800080000000)
#else
#error "the kernel's link address is not known for this architecture"
#endif

/*
 * Where modules and code that the kernel makes lie; x86-64: behind the core kernel, wherever it was
 * put (__START_KERNEL_map + KERNEL_IMAGE_SIZE) to MODULES_END. Elsewhere code is not told from
 * data.
 */
#if defined(__x86_64__)
#define KERNEL_MADE_START UINT64_C(0xffffffffa0000000)
#define KERNEL_MADE_END	  UINT64_C(0xffffffffff000000)
#else
#define KERNEL_MADE_START UINT64_C(0)
#define KERNEL_MADE_END	  UINT64_C(0)
#endif

#define KERNEL_CORE_PATH    "[kernel.kallsyms]"
#define KERNEL_UNNAMED_PATH "[kernel.unnamed]"

/*
 * The whole of root/proc/kallsyms, root/proc/modules and what they lead to, as a sorted set.
 * lines_refused counts what could not be parsed. Not whole: the core kernel alone, its start from
 * the first names and its size from /proc/iomem (kernel_iomem.h), in 0.1 ms instead of 50; it fails
 * where these do not tell.
 */
int kernel_scan(const char *root, bool whole, struct kernel_regions *ret,
		uint64_t *ret_lines_refused, struct diag *diag);
/* Which kernel runs: its build ID, else a hash of its version. */
int kernel_scan_core_id(const char *root, struct image_id *ret, struct diag *diag);
/* The core kernel alone, if it has this identity (else -ENOENT, and nothing is scanned); calls f
 * for each of its symbols as it is read, until f returns other than 0. The region's path is not
 * copied. */
int kernel_scan_core(const char *root, const struct image_id *id,
		     int (*f)(void *arg, const struct kallsyms_line *line), void *arg,
		     struct kernel_region *ret, struct diag *diag);
/*
 * A number that changes when modules, BPF programs or BPF links (with them their trampolines) come
 * or go. -EPERM when this process may not list the latter (CAP_SYS_ADMIN), or root is not "".
 */
int kernel_scan_signature(const char *root, uint64_t *ret);
/* The region of a BPF program or a trampoline, by its symbol; the path is not copied. */
struct kernel_region kernel_scan_bpf_region(uint64_t start, uint64_t size, const char *name);

#endif
