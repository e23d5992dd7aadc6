/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/event_generic.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define HW(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name
#define SW(name) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##name

static const struct generic {
	const char *name;
	uint32_t type;
	uint64_t config;
} generics[] = {
	{"cycles", HW(CPU_CYCLES)},
	{"cpu-cycles", HW(CPU_CYCLES)},
	{"instructions", HW(INSTRUCTIONS)},
	{"cache-references", HW(CACHE_REFERENCES)},
	{"cache-misses", HW(CACHE_MISSES)},
	{"branches", HW(BRANCH_INSTRUCTIONS)},
	{"branch-instructions", HW(BRANCH_INSTRUCTIONS)},
	{"branch-misses", HW(BRANCH_MISSES)},
	{"bus-cycles", HW(BUS_CYCLES)},
	{"stalled-cycles-frontend", HW(STALLED_CYCLES_FRONTEND)},
	{"idle-cycles-frontend", HW(STALLED_CYCLES_FRONTEND)},
	{"stalled-cycles-backend", HW(STALLED_CYCLES_BACKEND)},
	{"idle-cycles-backend", HW(STALLED_CYCLES_BACKEND)},
	{"ref-cycles", HW(REF_CPU_CYCLES)},
	{"cpu-clock", SW(CPU_CLOCK)},
	{"task-clock", SW(TASK_CLOCK)},
	{"page-faults", SW(PAGE_FAULTS)},
	{"faults", SW(PAGE_FAULTS)},
	{"minor-faults", SW(PAGE_FAULTS_MIN)},
	{"major-faults", SW(PAGE_FAULTS_MAJ)},
	{"context-switches", SW(CONTEXT_SWITCHES)},
	{"cs", SW(CONTEXT_SWITCHES)},
	{"cpu-migrations", SW(CPU_MIGRATIONS)},
	{"migrations", SW(CPU_MIGRATIONS)},
	{"alignment-faults", SW(ALIGNMENT_FAULTS)},
	{"emulation-faults", SW(EMULATION_FAULTS)},
	{"cgroup-switches", SW(CGROUP_SWITCHES)},
};

/*
 * A cache event is CACHE[-OPERATION][-RESULT], the last two in either order, each with synonyms.
 * Row i is the kernel's number i; the first name of a row is perf's canonical one.
 */
#define SYNONYMS 5
static const char *const caches[][SYNONYMS] = {
	{"L1-dcache", "l1-d", "l1d", "L1-data"},
	{"L1-icache", "l1-i", "l1i", "L1-instruction"},
	{"LLC", "L2"},
	{"dTLB", "d-tlb", "Data-TLB"},
	{"iTLB", "i-tlb", "Instruction-TLB"},
	{"branch", "branches", "bpu", "btb", "bpc"},
	{"node"},
};
static const char *const operations[][SYNONYMS] = {
	{"loads", "load", "read"},
	{"stores", "store", "write"},
	{"prefetches", "prefetch", "speculative-read", "speculative-load"},
};
static const char *const results[][SYNONYMS] = {
	{"refs", "Reference", "ops", "access"},
	{"misses", "miss"},
};
/* Stem of an operation before "-misses", as perf spells it. */
static const char *const operation_stems[] = {"load", "store", "prefetch"};
/* Operations that make sense for each cache, a bit each. */
static const uint8_t cache_operations[] = {7, 5, 7, 7, 1, 1, 7};

/* The row whose longest synonym starts *text and ends at a dash or at its end; steps over it and
 * the dash. -1 when there is none. */
static int match_row(const char *const table[][SYNONYMS], size_t rows, const char **text)
{
	size_t best = 0;
	int row = -1;

	for (size_t i = 0; i < rows; i++) {
		for (size_t j = 0; j < SYNONYMS && table[i][j]; j++) {
			size_t n = strlen(table[i][j]);

			if (n > best && !strncasecmp(*text, table[i][j], n) &&
			    ((*text)[n] == '-' || !(*text)[n])) {
				best = n;
				row = (int)i;
			}
		}
	}
	*text += best;
	/* A dash with nothing after it stays, and makes the name unknown. */
	if (row >= 0 && (*text)[0] == '-' && (*text)[1])
		(*text)++;
	return row;
}

static int encode_cache(const char *name, struct perf_event_attr *attr)
{
	int cache = match_row(caches, COUNT(caches), &name), operation = -1, result = -1;

	if (cache < 0)
		return -ENOENT;
	while (*name) {
		int row = operation < 0 ? match_row(operations, COUNT(operations), &name) : -1;

		if (row >= 0) {
			operation = row;
			continue;
		}
		row = result < 0 ? match_row(results, COUNT(results), &name) : -1;
		if (row < 0)
			return -ENOENT;
		result = row;
	}
	if (operation < 0)
		operation = PERF_COUNT_HW_CACHE_OP_READ;
	if (result < 0)
		result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	if (!(cache_operations[cache] & (1u << operation)))
		return -ENOENT;
	attr->type = PERF_TYPE_HW_CACHE;
	attr->config = (uint64_t)cache | (uint64_t)operation << 8 | (uint64_t)result << 16;
	return 0;
}

static int encode_raw(const char *name, struct perf_event_attr *attr)
{
	size_t digits = strspn(name + 1, "0123456789abcdefABCDEF");

	if (name[0] != 'r' || digits < 1 || digits > 16 || name[1 + digits])
		return -ENOENT;
	attr->type = PERF_TYPE_RAW;
	attr->config = strtoull(name + 1, NULL, 16);
	return 0;
}

int event_generic_encode(const char *name, struct perf_event_attr *attr)
{
	for (size_t i = 0; i < COUNT(generics); i++) {
		if (!strcmp(name, generics[i].name)) {
			attr->type = generics[i].type;
			attr->config = generics[i].config;
			return 0;
		}
	}
	if (!encode_raw(name, attr))
		return 0;
	return encode_cache(name, attr);
}

void event_generic_each(void (*f)(void *arg, const char *kind, const char *name), void *arg)
{
	char name[64];

	for (size_t i = 0; i < COUNT(generics); i++)
		f(arg, generics[i].type == PERF_TYPE_HARDWARE ? "hardware" : "software",
		  generics[i].name);
	for (size_t i = 0; i < COUNT(caches); i++) {
		for (size_t j = 0; j < COUNT(operations); j++) {
			if (!(cache_operations[i] & (1u << j)))
				continue;
			snprintf(name, sizeof(name), "%s-%s", caches[i][0], operations[j][0]);
			f(arg, "cache", name);
			snprintf(name, sizeof(name), "%s-%s-misses", caches[i][0],
				 operation_stems[j]);
			f(arg, "cache", name);
		}
	}
}
