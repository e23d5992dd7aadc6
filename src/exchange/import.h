/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_IMPORT_H
#define CULPRIT_EXCHANGE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * Takes a foreign profile into a database, as one epoch. The file is read by a child process
 * without privileges, which is given the descriptor and nothing else, and hands back a harvest
 * (harvest.h); this process looks for the images that it names, and writes.
 */

/* To be called first in main(): the child is this very program, in which it does not return. */
void import_dispatch(int argc, char **argv);

#define IMPORT_CUT_MAX 200

/* Called now and then with the progress. A negative errno from it ends the import, and nothing is
 * kept; once all samples are stored it only ends the keeping of names. */
struct import_watch {
	/* of: 0 when it is not known how much there is. */
	int (*tell)(void *arg, const char *doing, uint64_t done, uint64_t of);
	void *arg;
};

struct import_source {
	int fd;
	const char *format;  /* "perf", "pprof", "folded", "script", "gmon"; NULL: by its content */
	const char *program; /* for formats that do not name it: its path, or NULL */
	bool raw;	     /* keeps the raw records of IBS too */
	uint64_t memory_bytes; /* that the child may take; 0: 4 GiB */
	/* For images whose code is needed to unwind copied stacks, as in struct import_target. */
	const char *root;
	uint64_t end_ns;
	struct import_watch watch;
};

/* Reads it: the bytes of a harvest are appended to out. cut: why not all of the file was read, or
 * "". -EBADMSG and others with the sentence in diag; what the watch returned. */
int import_read(const struct import_source *source, struct buf *out, char cut[IMPORT_CUT_MAX],
		struct diag *diag);

#define IMPORT_LABELS_MAX 16

struct kernel_ahead;

struct import_target {
	const char *db, *machine; /* machine NULL: by the file's host name */
	const char *root;	  /* where the images' files are looked for first, or NULL */
	const char *labels[IMPORT_LABELS_MAX]; /* "key=value" */
	size_t label_count;
	struct kernel_ahead *kernel; /* image/kernel/kernel_ahead.h: borrowed, or NULL */
	uint64_t end_ns; /* when it was recorded, where the file does not say: ns since 1970 */
	struct import_watch watch;
};

struct import_result {
	char epoch[64], machine[256];
	uint64_t samples, stacks, edges, raws, insts, lost, unknown;
	uint64_t copies, copies_whole; /* copied stacks; unwound to their thread's start */
	char not_kept[512]; /* what the file holds that a database has no place for, or "" */
	uint32_t images, images_found; /* with samples; of these, whose file is available */
	bool kernel_not_told;	       /* it has samples, but of a build that is not named */
	uint32_t images_unwritten; /* whose symbols were read, but the database had no room for */
	struct diag unwritten_why;
	uint64_t code_refused; /* times code or lines were not kept: too many or no room to spare */
	struct {
		char name[64];
		uint64_t samples, period;
	} events[16]; /* the first */
	uint32_t event_count;
};

/* Writes a harvest. Nothing is written when it is invalid (-EBADMSG). */
int import_store(const struct import_target *target, const void *data, size_t size,
		 struct import_result *ret, struct diag *diag);

#endif
