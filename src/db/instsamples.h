/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_INSTSAMPLES_H
#define CULPRIT_DB_INSTSAMPLES_H

#include "db/chunk.h"

/*
 * Instruction samples: what a processor or a model of one told of a single instruction, or of a
 * pair of them. The database interprets none of it: instsample/record.h has the numbers of sources,
 * events and fields, and their meaning. Equal samples are one item with a count; the order of time
 * is not kept.
 */
#define DB_INST_VALUES_MAX 40

/* What samples have in common that tell of the same. */
struct db_inst_form {
	uint32_t source;
	uint32_t known[2]; /* events that it tells of: of the sample, and of a pair's other half */
	uint32_t unused;   /* 0 */
	uint64_t fields;   /* a bit for each value that is there: at most DB_INST_VALUES_MAX */
};

static inline unsigned db_inst_values(const struct db_inst_form *form)
{
	return (unsigned)__builtin_popcountll(form->fields);
}

#define DB_INST_NO_OTHER UINT32_MAX

struct db_inst {
	uint32_t image, event, subject; /* numbers that this batch gave */
	uint32_t other_image;		/* of a pair's other half, or DB_INST_NO_OTHER */
	struct db_inst_form form;
	uint64_t offset, other;
	uint32_t values[DB_INST_VALUES_MAX]; /* of the fields, lowest number first */
};

/* Adds count equal samples. 0, or, with nothing added: -ENOSPC, -ENOMEM, -EINVAL. */
int db_batch_inst(struct db_batch *b, const struct db_inst *inst, uint64_t count);
size_t db_batch_insts(const struct db_batch *b); /* distinct; at most max_rows / 4 */

struct db_inst_item {
	const struct image_id *image, *other_image; /* other_image NULL: it is no pair */
	struct db_bytes path, other_path, subject;
	const struct db_event *event;
	struct db_inst_form form;
	uint64_t offset, other, count;
	uint32_t values[DB_INST_VALUES_MAX];
};

/* By (image, event, form, offset, subject, other place, values); those that are no pair first. */
int db_inst_compare(const struct db_inst_item *a, const struct db_inst_item *b);

/*
 * The payload of a chunk. The values that stand first in their samples form one stream, those that
 * stand second another, and so on; those from the last stream's place on are in it one after the
 * other. Each is transposed: the lowest byte of all, then the next byte of all, up to the fourth.
 */
enum insts_stream {
	INSTS_DICT,	    /* images, events and subjects used by the chunk */
	INSTS_GROUPS,	    /* (image, event, form): number of samples */
	INSTS_OFFSETS,	    /* minus that of the sample before */
	INSTS_SUBJECTS,	    /* numbers in the dictionary */
	INSTS_OTHER_IMAGES, /* 0 none, 1 the group's, else 2 + number in the dictionary */
	INSTS_OTHERS,	    /* in the group's image: minus the offset, zigzag; else unchanged */
	INSTS_COUNTS,	    /* minus one: 4 bits, 15 for 15 or more */
	INSTS_COUNTS_MORE,  /* ... and these minus 15 */
	INSTS_VALUES,
	INSTS_STREAMS = CHUNK_STREAMS_MAX,
};

#define INSTS_CHUNK_TARGET 16384u     /* a writer closes a chunk at this many samples */
#define INSTS_CHUNK_MAX	   (1u << 20) /* a reader refuses more */
#define INSTS_DICT_TARGET  (1u << 20) /* ... or this many bytes of names */

#endif
