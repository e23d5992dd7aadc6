/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_TYPES_KERNEL_TYPES_H
#define CULPRIT_COLLECT_TYPES_KERNEL_TYPES_H

#include <bpf/btf.h>

/*
 * The kernel's types that the in-kernel programs name, out of all of them: libbpf reads what it is
 * given once for each of the programs' three objects, and all types take 20 ms each time. They are
 * kept from one recording to the next, known by the kernel's identity and by the programs.
 */
#define KERNEL_TYPES_PATH 32

/*
 * A file that has them, for bpf_object_open_opts.btf_custom_path: a descriptor, and its path in
 * this process. Where: the directory, NULL for the user's own; it need not be there. A negative
 * errno means that the programs are loaded with all types.
 */
int kernel_types_open(const char *directory, char ret_path[KERNEL_TYPES_PATH]);

/*
 * The part of all types that has every type named in of, with what is in it but not what its
 * pointers lead to, so that nothing can be relocated differently with the part than with all. The
 * names are compared without what follows "___", as CO-RE does. It also has the variables of
 * TICK_SECTION in variables, which ends with NULL. Returns NULL with errno set; btf__free() it.
 */
struct btf *kernel_types_cut(const struct btf *all, const struct btf *const *of, size_t of_count,
			     const char *const *variables);

#endif
