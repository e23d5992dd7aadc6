/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_FILE_SLOTS_H
#define CULPRIT_COLLECT_PROCESS_FILE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/wire_file.h"
#include "collect/process/resolve.h"

/*
 * Files as in-kernel programs know them, and the slots by which we and they speak of them. A
 * program that meets a file without a slot names it by what the kernel has of it, with the place
 * where a process mapped it; here it is found in what is known of that process, and gets a slot.
 */
struct file_slots;

#define FILE_SLOTS_MAX 4096 /* contents of files that the kernel can tell apart */

struct file_slots_config {
	struct resolver *resolver; /* borrowed */
	/* Tells the program: 0 or -errno. */
	int (*put)(void *arg, const struct wire_file *file, uint32_t slot);
	void (*drop)(void *arg, const struct wire_file *file);
	/* The slot of the file that a mapping of a process shows, a new one if need be; 0: it gets
	 * none. -ENOSPC: all are given. */
	int (*give)(void *arg, const struct mapping *m, pid_t pid, uint32_t *ret_slot);
	void *arg;
};

struct file_slots *file_slots_new(const struct file_slots_config *config);
void file_slots_free(struct file_slots *s);

/* Where a program met a file. */
struct file_place {
	struct wire_file file;
	uint64_t offset;  /* in the file */
	uint64_t address; /* of it in the process */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t tgid;
};

/* The slot of the file there, 0: it has none, or it is not known yet. At most as many new ones as
 * file_slots_begin said are looked at. */
uint32_t file_slots_learn(struct file_slots *s, const struct file_place *place);
void file_slots_begin(struct file_slots *s, unsigned looks);
/* How many of those that were looked at are not known: we know something else at that place, or it
 * can no longer be opened. */
uint64_t file_slots_unplaced(const struct file_slots *s);
/* More files than there is room for: all should be forgotten. */
bool file_slots_full(const struct file_slots *s);
void file_slots_clear(struct file_slots *s);

#endif
