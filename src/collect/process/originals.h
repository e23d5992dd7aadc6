/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_ORIGINALS_H
#define CULPRIT_COLLECT_PROCESS_ORIGINALS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where code runs in copies of itself, in files called RESOLVER_COPIES (resolve.h): what they are
 * copies of. Images have numbers from 0 on; their copies are laid out alike in all files of them.
 */

/* A file of copies: of which image, and where the original 0 of that is in the process. */
struct originals_file {
	uint64_t bias;
	uint32_t image;
};

/* From offset in the file up to the next run, code has its original from bias + original on, byte
 * by byte. With NO_ORIGINAL it has none. */
struct originals_run {
	uint32_t offset, original;
};

#define NO_ORIGINAL UINT32_MAX

struct originals {
	/* The address that one in such a file stands for, by the file's inode and the offset; NULL:
	 * there are no copies. */
	bool (*find)(void *arg, uint64_t inode, uint64_t offset, uint64_t *ret);
	bool (*find_file)(void *arg, uint64_t inode, struct originals_file *ret);
	/* All runs of an image, ascending, until f returns other than 0; what it returned. */
	int (*each_run)(void *arg, uint32_t image,
			int (*f)(void *f_arg, const struct originals_run *run), void *f_arg);
	void *arg;
};

#endif
