/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_FILE_LOOK_H
#define CULPRIT_COLLECT_PROCESS_FILE_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "collect/process/turns.h"
#include "image/facts.h"
#include "image/worker/worker.h"
#include "util/identity.h"

/*
 * A look at a file through a mapping of it: everything that may have to wait, for a file system or
 * for the worker. Done by the threads of collect/process/looks.h, never by the thread that drains.
 */

/* How a mapping names its file: from a kernel record or from /proc/PID/maps. */
struct file_name {
	const char
		*path; /* not terminated, any bytes; without the kernel's mark of a deleted file */
	size_t path_size;
	bool deleted; /* it had that mark */
	uint8_t build_id_size, build_id[IMAGE_ID_MAX];
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
};

/* A mapping through which a file can be had, as long as the process has not become another. */
struct file_mapping {
	pid_t pid; /* may be dead already */
	uint64_t start, end;
	uint64_t born_ns; /* CLOCK_MONOTONIC; 0: before collection */
};

/* What tells one state of a file from the next. */
struct file_version {
	uint64_t size, device, inode; /* as stat says, of the file that was read */
	int64_t changed_s, changed_ns;
	int64_t written_s, written_ns;
	uid_t owner;
	bool claimed; /* not only root and we could write it: its build ID is what others say */
};

enum file_looked {
	FILE_LOOKED_NOTHING, /* no way led to it */
	FILE_LOOKED_SAME,    /* as it was known */
	FILE_LOOKED_READ,    /* the version and the facts are its own now */
	FILE_LOOKED_FAILED,  /* found, but nobody can tell what it is: error says why */
};

struct file_look {
	struct turn turn; /* for whoever queues it; the first member */
	/* What is to be looked at. The path is terminated, and stays the owner's. */
	struct file_name name;
	struct file_mapping mapping;
	int held;		     /* 1 + a descriptor of it, 0: none */
	bool is_known;		     /* the version is what was read last */
	struct file_version version; /* in and out */
	/* What came of it. */
	enum file_looked looked;
	int error;
	struct image_facts facts;
	bool gone;	   /* deleted, or where it may not last */
	bool doubtful;	   /* a user's, and not where its name leads from here */
	int fd;		   /* of what was read, the owner's from now on; -1: none */
	uint64_t begun_ns; /* CLOCK_MONOTONIC: what happened to the file after this was not seen */
	void *owner;
	struct file_look *next;
};

void file_look(struct file_look *l, struct image_worker *worker);

/* Opens the file of the version: the surest way first, through the mapping, then by its name. A
 * descriptor, or -ESTALE. */
int file_look_open(const struct file_look *l);

/* Whether a name begins with prefix. */
bool file_name_begins(const struct file_name *name, const char *prefix);
/* Takes a path as the kernel tells it, which marks that of a deleted file. */
void file_name_set(struct file_name *name, const char *path, size_t size);
/* Whether the file was written to after a mapping was made of it, so that what ran is no longer
 * there. */
bool file_version_is_after(const struct file_version *v, uint64_t born_ns);

#endif
