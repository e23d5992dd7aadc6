/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_SPACE_H
#define CULPRIT_COLLECT_PROCESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/process/files.h"

/*
 * The code mappings of one address space over time. Shared by a process and the children it forks
 * until either changes it. A mapping that is replaced is kept until the samples taken before that
 * have been resolved.
 */
struct space;

struct mapping {
	uint64_t start, end, file_offset;
	uint64_t born_ns, died_ns; /* died: UINT64_MAX while it is there */
	struct mapped_file *file;
	/* What is known of its file: nothing yet; it was asked about; which image it is; or that it
	 * was written to since, so that only its name is known. */
	enum { MAPPING_NEW, MAPPING_ASKED, MAPPING_KNOWN, MAPPING_REWRITTEN } identity;
};

struct space *space_new(void); /* NULL when out of memory */
struct space *space_ref(struct space *s);
void space_unref(struct space *s);

/*
 * Adds a mapping; whatever it overlaps is cut at time born_ns. Takes over the caller's reference to
 * the file. *s is replaced by a private copy when it is shared. 0, -ENOMEM, or -ENOSPC past the
 * limit of mappings (SPACE_MAPPINGS_MAX).
 */
#define SPACE_MAPPINGS_MAX 65536
int space_add(struct space **s, uint64_t start, uint64_t end, uint64_t file_offset,
	      struct mapped_file *file, uint64_t born_ns);
/* The mapping that had pc at that time; failing that, one that has it now; else NULL. */
struct mapping *space_find(struct space *s, uint64_t pc, uint64_t time_ns);
/* True when it holds just this mapping already. */
bool space_has(const struct space *s, uint64_t start, uint64_t end, uint64_t file_offset,
	       const char *path, size_t path_size);
/* Whether anything was mapped there after a time that is still there. NULL: no. */
bool space_changed(const struct space *s, uint64_t start, uint64_t end, uint64_t since_ns);
/* Forgets what was replaced before the time given. */
void space_collect(struct space *s, uint64_t before_ns);
size_t space_mappings(const struct space *s);

#endif
