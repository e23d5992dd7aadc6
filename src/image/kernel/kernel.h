/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KERNEL_H
#define CULPRIT_IMAGE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/counters.h"
#include "image/symbols.h"
#include "util/diag.h"
#include "util/identity.h"

#define IMAGE_KERNEL_CODE_MAX (16u << 20) /* bytes that one image_kernel_code() gives */

/*
 * The running kernel as images: the core kernel, each module, each BPF program. Addresses of the
 * core kernel are stored as linked (without the KASLR slide), so that epochs of several boots add
 * up: _text is at one constant address per architecture (kernel_scan.h); where a vmlinux has it
 * elsewhere, its reader shifts by the difference.
 */
struct image_kernel;

struct image_kernel_region {
	uint64_t start, end; /* run-time addresses, end exclusive */
	uint64_t bias;	     /* run-time address - bias = offset in the image */
	struct image_id id;
	/* "[kernel.kallsyms]", "[module]/name", "bpf_prog_<tag>_<name>", "[kernel.unnamed]" */
	const char *path;
};

/* Reads /sys/kernel/notes, /proc/kallsyms (addresses need CAP_SYSLOG), /proc/modules, /sys/module.
 * root is "" or, in tests, a directory to read them under. -EACCES: addresses are hidden. */
int image_kernel_new(const char *root, struct image_kernel **ret, struct diag *diag);
/*
 * The same, but only the core kernel if it can be had without a scan of all names (50 ms and more
 * of CPU): modules, BPF programs and trampolines are added by the first refresh, which the caller
 * asks for when an address is not found, or by events, as below.
 */
int image_kernel_new_core(const char *root, struct image_kernel **ret, struct diag *diag);
void image_kernel_free(struct image_kernel *k);
struct image_kernel_counts {
	COUNTERS_OF_KERNEL(COUNTER_FIELD)
};
struct image_kernel_counts image_kernel_counts(const struct image_kernel *k);

/* Reads modules and BPF programs again; cheap when nothing changed (and CAP_SYS_ADMIN lets it see
 * that). On failure the regions stay as they were. */
int image_kernel_refresh(struct image_kernel *k);
/*
 * Asks the kernel itself what is at an address that is in no region: this takes microseconds, a
 * refresh tens of milliseconds. 0: a BPF program or trampoline, which is found from now on;
 * -ENOENT: the kernel has no name for it (a system call filter), and a refresh finds none either;
 * other errors: only a refresh can tell.
 */
int image_kernel_ask(struct image_kernel *k, uint64_t address);
/*
 * The region of an address that is beside one for which the kernel, asked, had no name; NULL where
 * it was not asked, or where it has no code that it makes (or on an architecture where that is not
 * known). What is there is mostly filters of seccomp and of sockets: the kernel compiles them as it
 * does BPF programs, but tells nobody of them. All are one image of one function.
 */
const struct image_kernel_region *image_kernel_unnamed(const struct image_kernel *k,
						       uint64_t address);
/*
 * A PERF_RECORD_KSYMBOL of a BPF program or a trampoline: registered, or gone. One that is gone is
 * still found, for samples still on their way, until its addresses are used again or two scans have
 * passed. -EINVAL: the region is invalid; -ENOENT: what went was never there (before the first scan
 * nobody knows, so the event is believed); -ENOSPC: counted.
 */
int image_kernel_ksymbol(struct image_kernel *k, uint64_t address, uint64_t size, const char *name,
			 int unregister);
/* The region that has a run-time address, NULL when none does. Owned by k, valid until a change. */
const struct image_kernel_region *image_kernel_find(const struct image_kernel *k, uint64_t address);
/* Whether an address is the core kernel's, even if in none of its regions: a refresh will not find
 * it. The stacks of idle CPUs begin with code that ran at boot and is gone. */
bool image_kernel_is_core(const struct image_kernel *k, uint64_t address);
/* The region with this identity; owned and valid as above. */
const struct image_kernel_region *image_kernel_by_id(const struct image_kernel *k,
						     const struct image_id *id);
/* The functions of one region, as offsets. image_symbols_free() the result. */
int image_kernel_symbols(struct image_kernel *k, const struct image_id *id,
			 struct image_symbols **ret, struct diag *diag);
/* The same for the core kernel under root, if it has this identity (else -ENOENT), in one scan. */
int image_kernel_core_symbols(const char *root, const struct image_id *id,
			      struct image_symbols **ret, struct diag *diag);
/* Bytes of the running kernel's memory at a run-time address: /proc/kcore, else a BPF program that
 * reads them. -EACCES or -ENOENT with the remedy in diag. free() the data. */
int image_kernel_code(struct image_kernel *k, uint64_t address, size_t size, uint8_t **ret_data,
		      struct diag *diag);

#endif
