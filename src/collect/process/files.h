/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_FILES_H
#define CULPRIT_COLLECT_PROCESS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/process/file_look.h"
#include "db/counters.h"
#include "image/facts.h"
#include "image/worker/worker.h"
#include "util/identity.h"

/*
 * The files that processes have mapped for execution, each known once however many processes map
 * it, and which image each is. Finding that out takes time, and nobody here waits for it: a file is
 * asked about (collect/process/looks.h), and known when files_take_answers has taken the answer.
 */
struct files;

enum file_state {
	FILE_UNRESOLVED,
	FILE_ELF,    /* id and segments are known */
	FILE_OPAQUE, /* not ELF: id is a hash of the content; or not readable: of the name. Offsets
			are file offsets */
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
	bool gone;	 /* found deleted, or where it may not last: its symbols are wanted soon */
	/* A user's, and not where its name leads from here: another process may mean another file
	 * by that name, whatever build ID this one says it has. */
	bool doubtful;
	struct file_version version; /* of what was read */
	/* Private to files.c. */
	uint32_t refs, attempts;
	uint32_t late;	   /* times that looking at it took too long */
	uint64_t again_ns; /* wall clock: not before, if late */
	int held;	   /* 1 + a descriptor that is kept open, 0: none */
	bool read;	   /* its content was: the version is valid */
	bool asked;	   /* a look is queued or under way */
	bool crowded;	   /* none could be queued */
	uint64_t key, used_ns;
	/* When the last look began, by both clocks, and when its answer came; 0: there was none. */
	uint64_t look_ns, look_wall_ns, answer_ns;
	struct file_name name; /* its path is the member above */
	struct mapped_file *next;
};

/* limits: of the workers that read what files are; may be NULL. NULL when out of memory. */
struct files *files_new(const struct image_worker_limits *limits);
void files_free(struct files *f);

/* The file of that name, with one reference for the caller; NULL when out of memory or past the
 * limit of files (counted). */
struct mapped_file *files_take(struct files *f, const struct file_name *name);
struct mapped_file *file_ref(struct mapped_file *file);
void file_unref(struct mapped_file *file);

/*
 * Which image the file of a mapping is. *file is replaced, and its reference moved, if the file is
 * known as another by now: usually it stays the same; it is another one when its content was
 * replaced in place. 0; -EAGAIN: it was asked about, or will be when it is this user's turn
 * (file_name_id until then); -ESTALE: it was written to since it was mapped, so that nothing but
 * its name says what ran.
 */
int files_resolve(struct files *f, struct mapped_file **file, const struct file_mapping *mapping);
/* Takes the answers that have come. Returns how many. */
unsigned files_take_answers(struct files *f);
/* Waits until there are any, at most until then (CLOCK_MONOTONIC). False: none is to come, or the
 * time is over. */
bool files_wait(struct files *f, uint64_t until_ns);
int files_fd(const struct files *f); /* readable when there are answers */
/* 31 bits, for those who wait for the answer about a file; whether that is still to come. */
uint32_t file_tag(const struct mapped_file *file);
bool files_is_asked(const struct files *f, uint32_t tag);
/* What stands for a file that nobody has read: from its name, its numbers and, where they were
 * seen, its size and time of change. */
void file_name_id(const struct mapped_file *file, struct image_id *ret);
/*
 * Whether it is another file than the one that a program in the kernel saw mapped, with the
 * kernel's numbers of its device and inode. False too where that cannot be told, as between file
 * systems that have several numbers for one file.
 */
bool file_is_other(const struct mapped_file *file, uint32_t kernel_device, uint64_t inode);
/* Whether files_resolve, if called once more, may find out what it is. */
bool file_is_pending(const struct mapped_file *file);
/* Asks about a file that was just mapped, if it was never seen before, or is not named by its
 * content and was changed lately: it may be gone, or another, when the first sample is resolved. A
 * file of a kind that does not last is kept open. */
void files_meet(struct files *f, struct mapped_file **file, const struct file_mapping *mapping);
/* The offset in the image of a file offset. False when no segment has it. */
bool file_image_offset(const struct mapped_file *file, uint64_t file_offset, uint64_t *ret);

/* The image that the kernel maps into every 64-bit process. */
void files_identify_vdso(struct image_id *ret);

/* Opens the file that was read, if it can still be had: a descriptor or a negative errno. */
int files_open(const struct mapped_file *file, const struct file_mapping *mapping);

/* Forgets files without references that were not used since the time given (CLOCK_MONOTONIC). */
void files_collect(struct files *f, uint64_t before_ns);

struct files_counters {
	COUNTERS_OF_FILES(COUNTER_FIELD)
};
void files_read_counters(struct files *f, struct files_counters *ret);

#endif
