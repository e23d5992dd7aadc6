/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_STACK_FILES_H
#define CULPRIT_COLLECT_STACKS_STACK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/events/sampler.h"
#include "collect/process/space.h"
#include "collect/stacks/unwind_cache.h"
#include "collect/stacks/unwinder.h"
#include "image/facts.h"
#include "util/diag.h"

/*
 * The files that stacks go through: each has a slot, by which we and the unwinder speak of it, and
 * an unwind table there, until that has to make room for another's.
 */
struct stack_files;

#define STACK_SLOTS 1024 /* number 0 is none */

struct stack_files_config {
	/* All borrowed. */
	struct sampler *sampler;
	struct unwinder *kernel;
	const struct originals *originals;
	uint32_t row_count;	     /* as the unwinder was configured */
	struct allowance *allowance; /* of the thread that makes the tables */
};

struct stack_file {
	struct image_id id;
	char *path;
	size_t path_size;
	struct image_segment *segments;
	uint32_t segment_count;
	uint64_t number; /* of its struct mapped_file; 0: the vDSO */
	/* Of a file of copies: the slot whose table is their image's; no code has frames there. */
	uint32_t originals;
	uint32_t copied; /* of such a slot: 1 + the number of the image; 0: it is none */
	int fd;		 /* for its table and its code; -1: none */
	uint64_t wish;	 /* of its table, which is being made; 0: it is not */
	uint32_t python; /* the number of the interpreter that it is; 0: it is none */
	/* Kept by the code that stores stacks: the batch for which image is its index. */
	uint32_t batch_number, image;
};

int stack_files_new(const struct stack_files_config *config, struct stack_files **ret,
		    struct diag *diag);
void stack_files_free(struct stack_files *f);

/*
 * The slot of the file of a mapping of a process. A file without one gets it now, and its table
 * soon. 0 in *ret: there is nothing to make a table of. 0; -EAGAIN: it is not known yet which file
 * it is; -ENOSPC: all are given; -ENOMEM.
 */
int stack_files_give(struct stack_files *f, const struct mapping *m, pid_t pid, uint32_t *ret);
/* Has the table of a slot made again if it was evicted. */
void stack_files_load(struct stack_files *f, uint32_t slot);
/* Whether its table is being made. */
bool stack_files_is_pending(const struct stack_files *f, uint32_t slot);
/* Places the tables that were made by now. Returns the time that it took to make them. */
uint64_t stack_files_take(struct stack_files *f);
int stack_files_fd(const struct stack_files *f); /* readable when there are any */
/* NULL: no such slot. */
struct stack_file *stack_files_get(struct stack_files *f, uint32_t slot);
/* Notes that a stack went through it. */
void stack_files_use(struct stack_files *f, uint32_t slot);
/* NULL: it has no table now. */
const struct wire_unwind_rule *stack_files_rule(const struct stack_files *f, uint32_t slot,
						uint32_t offset);
/* Bytes at an offset of the file. 0, or -EIO. */
int stack_files_read(const struct stack_files *f, uint32_t slot, uint64_t offset, void *to,
		     size_t size);
/* Takes all slots back but the vDSO's; no program may use them any more. */
void stack_files_clear(struct stack_files *f);

struct stack_files_counters {
	uint64_t tables, table_bytes, evicted;
	uint64_t without;	/* files that no table could be made of */
	uint64_t derived_rows;	/* of all tables that were made: those derived from code */
	uint64_t skipped_bytes; /* of code that no table has, past the limit of a file */
	uint64_t late;		/* tries to make one that failed for lack of time or resources */
	uint64_t refused;	/* rows whose rule found no number */
	struct unwind_cache_counters cache;
};
/* A bit for each minor version of Python 3 that was met and whose frames, in one of its builds,
 * cannot be read. */
uint32_t stack_files_unknown_pythons(const struct stack_files *f);
void stack_files_count(const struct stack_files *f, struct stack_files_counters *ret);

#endif
