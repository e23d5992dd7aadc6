/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_FILES_H
#define CULPRIT_COLLECT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "image/facts.h"
#include "image/worker.h"
#include "util/identity.h"

/*
 * The files that processes have mapped for execution, each known once however many processes map
 * it, and which image each is. A file is looked at only when a sample falls into it.
 */
struct files;

/* How a mapping names its file: from a kernel record or from /proc/PID/maps. */
struct file_name {
	const char *path; /* not terminated, any bytes */
	size_t path_size;
	uint8_t build_id_size, build_id[IMAGE_ID_MAX];
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
};

enum file_state {
	FILE_UNRESOLVED,
	FILE_ELF,    /* id and segments are known */
	FILE_OPAQUE, /* not ELF or not readable: id is made from the name, offsets are file offsets
		      */
	FILE_ANON,   /* no file: code made at run time; the image belongs to the process */
	FILE_VDSO,
};

struct mapped_file {
	enum file_state state;
	struct image_id id; /* FILE_ELF, FILE_OPAQUE, FILE_VDSO */
	const char *path;   /* terminated copy */
	size_t path_size;
	uint32_t segment_count;
	struct image_segment *segments;
	uint64_t number; /* never given twice, unlike its address */
	bool gone;	 /* found deleted, or where it may not stay: its symbols are wanted soon */
	/* Private to files.c. */
	uint32_t refs, attempts;
	uint32_t late;	   /* times that looking at it took too long */
	uint64_t again_ns; /* wall clock: not before, if late */
	int held;	   /* 1 + a descriptor that is kept open, 0: none */
	uint64_t key, used_ns, size;
	uint64_t looked_ns;	/* wall clock, when its state was last compared */
	uint64_t device, inode; /* as stat says, of the file that was read */
	struct timespec_pair {
		int64_t s, ns;
	} changed;
	struct file_name name; /* its path is the member above */
	struct mapped_file *next;
};

/* worker is borrowed. */
struct files *files_new(struct image_worker *worker);
void files_free(struct files *f);

/* The file of that name, with one reference for the caller; NULL when out of memory or past the
 * limit of files (counted). */
struct mapped_file *files_take(struct files *f, const struct file_name *name);
struct mapped_file *file_ref(struct mapped_file *file);
void file_unref(struct mapped_file *file);

/*
 * Finds out which image the file is, through one mapping of it in process pid, which may be dead
 * already. born_ns: when it was mapped (CLOCK_MONOTONIC; 0: before collection); a file without a
 * build-id that was written to after that is not read, since its content is not what ran. Returns
 * the file to use from now on with the caller's reference moved to it: usually the same, another
 * one when its content was replaced in place.
 */
struct mapped_file *files_resolve(struct files *f, struct mapped_file *file, pid_t pid,
				  uint64_t start, uint64_t end, uint64_t born_ns);
/*
 * Whether it is another file than the one that a program in the kernel saw mapped, with the
 * kernel's numbers of its device and inode. False too where that cannot be told, as between file
 * systems that have several numbers for one file.
 */
bool file_is_other(const struct mapped_file *file, uint32_t kernel_device, uint64_t inode);
/* Whether a report may not find it any more: it is deleted, replaced, in a place that is emptied,
 * or only the process's own view of the file system has it. Of one that was resolved. */
bool file_is_passing(const struct mapped_file *file);
/* Whether it may be known what it is when files_resolve is called once more. */
bool file_is_pending(const struct mapped_file *file);
/* The same for a mapping that was just made, if its file was never seen before, or is not named by
 * its content and was changed lately: it may be gone, or another, when the first sample is
 * resolved. Keeps it open if it is of a kind that does not last. */
struct mapped_file *files_meet(struct files *f, struct mapped_file *file, pid_t pid, uint64_t start,
			       uint64_t end, uint64_t born_ns);
/* The offset in the image of a file offset. False when no segment has it. */
bool file_image_offset(const struct mapped_file *file, uint64_t file_offset, uint64_t *ret);

/* The image that the kernel maps into every 64-bit process. */
void files_identify_vdso(struct image_id *ret);

/* Opens the file that files_resolve read, if it can still be had: a descriptor or a negative errno.
 */
int files_open(const struct mapped_file *file, pid_t pid, uint64_t start, uint64_t end);

/* Forgets files without references that were not used since the time given (CLOCK_MONOTONIC). */
void files_collect(struct files *f, uint64_t before_ns);

struct files_counters {
	uint64_t files, refused, unreadable, hostile;
};
void files_read_counters(const struct files *f, struct files_counters *ret);

#endif
