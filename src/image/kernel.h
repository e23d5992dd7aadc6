/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_H
#define CULPRIT_IMAGE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/symbols.h"
#include "util/diag.h"
#include "util/identity.h"

#define IMAGE_KERNEL_CODE_MAX (16u << 20) /* bytes that one image_kernel_code() gives */

/*
 * The running kernel as images: the core kernel, each module, each BPF program. Addresses of the
 * core kernel are stored as linked (the slide of KASLR taken off), so that epochs of several boots
 * add up: _text is at one constant address per architecture (kernel_scan.h); where a vmlinux has it
 * elsewhere, its reader shifts by the difference.
 */
struct image_kernel;

struct image_kernel_region {
	uint64_t start, end; /* run-time addresses, end exclusive */
	uint64_t bias;	     /* run-time address - bias = offset in the image */
	struct image_id id;
	const char *path; /* "[kernel.kallsyms]", "[module]/name", "bpf_prog_<tag>_<name>" */
};

/* Reads /sys/kernel/notes, /proc/kallsyms (addresses need CAP_SYSLOG), /proc/modules, /sys/module.
 * root is "" or, in tests, a directory to read them under. -EACCES: addresses are hidden. */
int image_kernel_new(const char *root, struct image_kernel **ret, struct diag *diag);
/*
 * The same, but if it can be had without a scan of all names (50 ms and more of CPU) the core
 * kernel alone: modules, BPF programs and trampolines are there from the first refresh on, which
 * the caller asks for when an address is not found; and those that events tell of, as below.
 */
int image_kernel_new_core(const char *root, struct image_kernel **ret, struct diag *diag);
void image_kernel_free(struct image_kernel *k);
struct image_kernel_counts {
	uint64_t regions;
	uint64_t regions_refused; /* past 65536 */
	uint64_t lines_refused;	  /* of kallsyms and modules, in the last scan: not of the form */
	uint64_t scans;		  /* of /proc/kallsyms */
};
struct image_kernel_counts image_kernel_counts(const struct image_kernel *k);

/* Reads modules and BPF programs again; cheap when nothing changed (and CAP_SYS_ADMIN lets it see
 * that). On failure the regions stay as they were. */
int image_kernel_refresh(struct image_kernel *k);
/*
 * A PERF_RECORD_KSYMBOL of a BPF program or a trampoline: registered, or gone. One that is gone is
 * still found, for samples on their way, until its addresses are used anew or two scans have
 * passed. -EINVAL: the region makes no sense; -ENOENT: what is gone was never there (before the
 * first scan nobody knows, and it is believed); -ENOSPC: counted.
 */
int image_kernel_ksymbol(struct image_kernel *k, uint64_t address, uint64_t size, const char *name,
			 int unregister);
/* The region that has a run-time address, NULL when none does. Owned by k, valid until a change. */
const struct image_kernel_region *image_kernel_find(const struct image_kernel *k, uint64_t address);
/* Whether an address is the core kernel's, be it in none of its regions: a refresh will not find
 * it. The stacks of idle CPUs begin with code that ran at the boot, and is gone. */
bool image_kernel_is_core(const struct image_kernel *k, uint64_t address);
/* The region of an identity; the same rules. */
const struct image_kernel_region *image_kernel_by_id(const struct image_kernel *k,
						     const struct image_id *id);
/* The functions of one region, as offsets. image_symbols_free() the result. */
int image_kernel_symbols(struct image_kernel *k, const struct image_id *id,
			 struct image_symbols **ret, struct diag *diag);
/* The same of the core kernel of a root, if it has this identity (-ENOENT), by a single scan. */
int image_kernel_core_symbols(const char *root, const struct image_id *id,
			      struct image_symbols **ret, struct diag *diag);
/* Bytes of the running kernel's memory at a run-time address: /proc/kcore, else a BPF program that
 * reads them. -EACCES or -ENOENT with the way to mend it in diag. free() the data. */
int image_kernel_code(struct image_kernel *k, uint64_t address, size_t size, uint8_t **ret_data,
		      struct diag *diag);

#endif
