/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_IMPORT_FILES_H
#define CULPRIT_EXCHANGE_IMPORT_FILES_H

#include <limits.h>
#include <stdint.h>
#include "exchange/harvest.h"
#include "image/facts.h"
#include "image/worker/worker.h"

/* Where the files of the images that a foreign profile names are. */
struct import_files {
	const char *root;	     /* where they are looked for first, or NULL */
	uint64_t end_ns;	     /* no file changed later is one of them; 0: not known */
	struct image_worker *worker; /* borrowed */
};

struct import_file {
	int fd; /* the caller closes it */
	struct image_facts facts;
	char path[2 * PATH_MAX];
};

/*
 * Opens the file of an image: below root, by its path, or in perf's cache of files, whichever is
 * the one that was recorded, judged by its build ID or, where the profile has none, by inode and
 * time. The running kernel's vDSO is looked at too. 0; -ENOENT; -ESTALE: it is another by now;
 * -EBADMSG: it is not an ELF file.
 */
int import_files_open(const struct import_files *f, const struct harvest_image *image,
		      struct import_file *ret);

#endif
