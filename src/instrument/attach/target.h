/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_ATTACH_TARGET_H
#define CULPRIT_INSTRUMENT_ATTACH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A running program's address space, as /proc tells it. */

#define TARGET_NAME_BYTES 64

struct target_mapping {
	uint64_t start, end, inode;
	bool readable, writable, executable, private;
	bool of_file;		      /* not memory alone */
	bool in_memory;		      /* of a file that memfd_create made, or the kernel for it */
	bool answers;		      /* who reads it waits for nobody: target_files_answer() */
	char name[TARGET_NAME_BYTES]; /* terminated, the end of a longer one is missing */
};

struct target_maps {
	struct target_mapping *list; /* ascending */
	size_t count, room;
};

/* Those of a thread's process; named by the thread, for the first one may have ended. 0, -ENOMEM,
 * or why /proc/TID/maps cannot be read. */
int target_maps_read(pid_t tid, struct target_maps *ret);
void target_maps_free(struct target_maps *m);
const struct target_mapping *target_maps_find(const struct target_maps *m, uint64_t address);
/*
 * The start of so many bytes (whole pages) that nothing is mapped at and all of which a jump with
 * 32 bits of displacement reaches from, and to, the image from start to end: below it if it can be,
 * where no heap grows. 0, -ENOSPC.
 */
int target_maps_gap(const struct target_maps *m, uint64_t start, uint64_t end, uint64_t bytes,
		    uint64_t *ret);

/*
 * Reads and writes by /proc/PID/mem, also where the program itself may not write. All bytes, or a
 * negative errno. Memory that is not mapped, or that may never answer, is not touched (-EFAULT):
 * its pages may have to come from a server in user space (FUSE), which may be one of the threads
 * that we have stopped, and nothing, not even a signal, ends the wait for it.
 */
int target_read(int mem, const struct target_maps *maps, uint64_t address, void *data, size_t size);
int target_write(int mem, const struct target_maps *maps, uint64_t address, const void *data,
		 size_t size);

/*
 * Whether reading the files of a device waits for nothing but this machine's disks: its file system
 * is a local one that is mounted where we see it (in a mount namespace of their own, others can
 * mount anything), or holds our root. in_memory: it is where memfd_create makes files.
 */
bool target_files_answer(uint32_t major, uint32_t minor, bool *in_memory);

/* Where an interrupted thread continues after a signal handler, as the signal's frame says. */
struct target_frame {
	uint64_t at; /* of the saved program counter */
	uint64_t pc;
};

#define TARGET_FRAMES_MAX	64
#define TARGET_STACKS_MAX_BYTES (64ULL << 20) /* of one thread */

/*
 * Finds the frames of signals on the stack that a stack pointer points into, and on the stacks that
 * these lead to (a handler may have its own); at most TARGET_FRAMES_MAX. left: how many bytes may
 * be looked at; what was is taken off. Returns how many; -E2BIG: there are more, or the stacks are
 * too large; -EFAULT: the pointer is in memory that cannot hold a stack, or must not be read.
 */
int target_frames_find(int mem, const struct target_maps *maps, uint64_t stack, uint64_t *left,
		       struct target_frame frames[TARGET_FRAMES_MAX]);

#endif
