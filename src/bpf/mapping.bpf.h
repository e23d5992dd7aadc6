/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_MAPPING_BPF_H
#define CULPRIT_BPF_MAPPING_BPF_H

/*
 * What is mapped at an address of the current process, for in-kernel programs. It is read from the
 * kernel's own tree of mappings, so it is right even for processes that nobody else has seen yet.
 * collect/host/mapping_types.h says whether the running kernel has these types.
 */
#include "wire_file.h"

/* The parts of the kernel's structures that are used; CO-RE finds them in the running kernel. */
struct super_block {
	__u32 s_dev;
} __attribute__((preserve_access_index));

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
} __attribute__((preserve_access_index));

struct inode {
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
	__s64 i_mtime_sec; /* since Linux 6.11 */
	__u32 i_mtime_nsec;
} __attribute__((preserve_access_index));

struct inode___hidden { /* since 6.6 */
	struct timespec64 __i_mtime;
} __attribute__((preserve_access_index));

struct inode___open {
	struct timespec64 i_mtime;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
} __attribute__((preserve_access_index));

struct maple_tree {
	void *ma_root;
} __attribute__((preserve_access_index));

typedef struct {
	void *vdso; /* where it is mapped */
} __attribute__((preserve_access_index)) mm_context_t;

struct mm_struct {
	struct maple_tree mm_mt; /* since 6.1 */
	mm_context_t context;
} __attribute__((preserve_access_index));

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
} __attribute__((preserve_access_index));

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
} __attribute__((preserve_access_index));

MAP_SPARSE_HASH(files, struct wire_file, __u32);

/* A node of the tree of mappings, as read. */
#define NODE_PIVOTS 15
struct mapping_node {
	unsigned long pivot[NODE_PIVOTS + 1];
};

#define MAPLE_LEAF   1
#define MAPLE_RANGE  2
#define MAPLE_ARANGE 3

/* For the root only: below it, down to the leaves, the slots of a node always hold nodes. */
static __always_inline bool mapping_is_root(unsigned long entry)
{
	return (entry & 3) == 2 && entry > 4096;
}

/*
 * One step down the tree of mappings: the entry of a node that covers the address. The tree may
 * change under us; what comes out is checked by the caller, and reads cannot fault. Not static, so
 * that the verifier looks at it once, and not once for each path to each of its calls.
 */
__noinline unsigned long mapping_descend(struct mapping_node *copy, unsigned long entry,
					 __u64 address)
{
	__u32 type = entry >> 3 & 15, pivots, i;
	unsigned long node = entry & ~255ul, slots, next = 0;

	if (!copy)
		return 0;
	if (type == MAPLE_ARANGE) {
		struct maple_arange_64 *n = (void *)node;

		pivots = 9;
		slots = (unsigned long)__builtin_preserve_access_index(&n->slot);
		bpf_probe_read_kernel(copy->pivot, 9 * sizeof(long),
				      __builtin_preserve_access_index(&n->pivot));
	} else if (type == MAPLE_RANGE || type == MAPLE_LEAF) {
		struct maple_range_64 *n = (void *)node;

		pivots = 15;
		slots = (unsigned long)__builtin_preserve_access_index(&n->slot);
		bpf_probe_read_kernel(copy->pivot, 15 * sizeof(long),
				      __builtin_preserve_access_index(&n->pivot));
	} else {
		return 0;
	}
	for (i = 0; i < NODE_PIVOTS; i++) {
		if (i >= pivots || copy->pivot[i] >= address || (i > 0 && copy->pivot[i] == 0))
			break;
	}
	bpf_probe_read_kernel(&next, sizeof(next), (void *)(slots + i * sizeof(void *)));
	return next;
}

/* The mapping that the tree has at an address, or one next to it, or 0. */
static __always_inline struct vm_area_struct *mapping_area(struct mm_struct *mm,
							   struct mapping_node *copy, __u64 address)
{
	unsigned long entry = (unsigned long)BPF_CORE_READ(mm, mm_mt.ma_root);

	if (!mapping_is_root(entry))
		return 0;
	for (int depth = 0; depth < 8 && entry; depth++) {
		bool leaf = (entry >> 3 & 15) == MAPLE_LEAF;

		entry = mapping_descend(copy, entry, address);
		if (leaf)
			return (struct vm_area_struct *)entry;
	}
	return 0;
}

static __always_inline __u64 mapping_modified(struct inode *inode)
{
	struct timespec64 t = {};

	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		t.tv_sec = BPF_CORE_READ(inode, i_mtime_sec);
		t.tv_nsec = BPF_CORE_READ(inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(((struct inode___hidden *)0)->__i_mtime)) {
		t.tv_sec = BPF_CORE_READ((struct inode___hidden *)inode, __i_mtime.tv_sec);
		t.tv_nsec = BPF_CORE_READ((struct inode___hidden *)inode, __i_mtime.tv_nsec);
	} else {
		t.tv_sec = BPF_CORE_READ((struct inode___open *)inode, i_mtime.tv_sec);
		t.tv_nsec = BPF_CORE_READ((struct inode___open *)inode, i_mtime.tv_nsec);
	}
	return (__u64)t.tv_sec << 30 ^ (__u64)t.tv_nsec;
}

/* What a file is called between us and the collector. */
static __always_inline void mapping_name_file(struct inode *inode, struct wire_file *ret)
{
	ret->inode = BPF_CORE_READ(inode, i_ino);
	ret->modified = mapping_modified(inode);
	ret->device = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->generation = BPF_CORE_READ(inode, i_generation);
}

#define VM_EXEC	  0x4
#define VM_PFNMAP 0x400
#define VM_IO	  0x4000

#endif
