/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_COPIES_H
#define CULPRIT_COUNTING_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/process/originals.h"
#include "instrument/code.h"

/*
 * From an address in a copy back to the original: what struct originals asks. Copies lie in files
 * without a name, each of which has a number (its inode), the same in who was forked. A sample is
 * charged to an instruction of the original; of a stack it is asked where the thread would be
 * there. One thread adds, others ask.
 */
struct copies;

#define COPIES_RUNS_MAX	 (1u << 27) /* of all images */
#define COPIES_FILES_MAX (1u << 20)

struct copies *copies_new(void); /* NULL: no memory */
void copies_free(struct copies *c);

/* Where an image's copies lie, the same wherever they are. */
struct copies_image {
	const struct instrument_code
		*codes; /* ascending by address; they need not outlive the call */
	size_t count;
	uint64_t bias;	  /* that they were made for */
	uint64_t room;	  /* address of the first copy */
	uint64_t room_at; /* offset of that in their files */
};
/* ret: the number it is known by. 0; -ERANGE: its code spans 4 GiB; -ENOSPC, -ENOMEM. */
int copies_add_image(struct copies *c, const struct copies_image *image, uint32_t *ret);

/* A file of copies of an image. */
struct copies_file {
	uint64_t inode;
	uint64_t bias;
	uint32_t image;
	uint64_t gate; /* address of the original of what follows the copies; 0: nothing does */
};
/* 0; -EINVAL: there is no such image; -ENOSPC, -ENOMEM. */
int copies_add_file(struct copies *c, const struct copies_file *file);

/* The instruction that what is at an offset of a file is charged to. False: it is none of ours. */
bool copies_find(struct copies *c, uint64_t inode, uint64_t offset, uint64_t *ret);

/* As in struct originals. */
bool copies_find_file(struct copies *c, uint64_t inode, struct originals_file *ret);
int copies_each_run(struct copies *c, uint32_t image,
		    int (*f)(void *arg, const struct originals_run *run), void *arg);

#endif
