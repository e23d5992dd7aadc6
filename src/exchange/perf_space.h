/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_PERF_SPACE_H
#define CULPRIT_EXCHANGE_PERF_SPACE_H

#include <stdint.h>

/*
 * What is mapped where in one address space, now: records come in order of time, so no past is kept
 * (collect/process/space.h, which resolves late, needs one). Shared by a process and its children
 * until either changes it.
 */
struct perf_space;

struct perf_range {
	uint64_t start, end;
	uint64_t base; /* offset in the image of address 0: address + base, modulo 2^64 */
	uint32_t image;
};

struct perf_space *perf_space_new(void); /* NULL when out of memory */
struct perf_space *perf_space_ref(struct perf_space *s);
void perf_space_unref(struct perf_space *s);

/* Adds a range; what it overlaps is cut. *s is replaced by a copy when it is shared. 0, -ENOMEM,
 * -ENOSPC past PERF_RANGES_MAX, -EINVAL when it is empty. */
#define PERF_RANGES_MAX 65536
int perf_space_add(struct perf_space **s, const struct perf_range *range);
/* 0, -ENOMEM, -ENOSPC: the rest would be more than PERF_RANGES_MAX. Nothing is removed then. */
int perf_space_remove(struct perf_space **s, uint64_t start, uint64_t end);
/* NULL where nothing is mapped. */
const struct perf_range *perf_space_find(struct perf_space *s, uint64_t address);

#endif
