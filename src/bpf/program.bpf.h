/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_PROGRAM_BPF_H
#define CULPRIT_BPF_PROGRAM_BPF_H

/* What the programs begin with: the kernel's headers, and how they declare their maps. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include "wire.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define MAP(name, of_type, flags, entries, key_type, value_type) \
	struct {                                                 \
		__uint(type, BPF_MAP_TYPE_##of_type);            \
		__uint(map_flags, flags);                        \
		__uint(max_entries, entries);                    \
		__type(key, key_type);                           \
		__type(value, value_type);                       \
	} name SEC(".maps")

/* Indexed by number: one array; one per CPU; one that the collector maps into its memory too. */
#define MAP_ARRAY(name, entries, value)	    MAP(name, ARRAY, 0, entries, __u32, value)
#define MAP_CPU_ARRAY(name, entries, value) MAP(name, PERCPU_ARRAY, 0, entries, __u32, value)
#define MAP_SHARED_ARRAY(name, entries, value) \
	MAP(name, ARRAY, BPF_F_MMAPABLE, entries, __u32, value)

/* Indexed by key; the collector sets its real size before loading. */
#define MAP_HASH(name, key, value) MAP(name, HASH, 0, 1, key, value)
/* The same, but it takes memory only for the entries that are there. */
#define MAP_SPARSE_HASH(name, key, value) MAP(name, HASH, BPF_F_NO_PREALLOC, 1, key, value)

/* A ring to the collector, which sets its real size before loading too. */
#define MAP_RING(name)                              \
	struct {                                    \
		__uint(type, BPF_MAP_TYPE_RINGBUF); \
		__uint(max_entries, 65536);         \
	} name SEC(".maps")

#endif
