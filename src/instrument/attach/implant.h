/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTRUMENT_ATTACH_IMPLANT_H
#define CULPRIT_INSTRUMENT_ATTACH_IMPLANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "instrument/code.h"

/*
 * Copies of functions as they lie in a running program: one mapping of an unnamed file that has a
 * header, the copies, and a record of what was changed in the program for them. If culprit dies,
 * the next one can restore everything from this record.
 */

/* What /proc/PID/maps calls the mappings of copies, and of counters. */
#define IMPLANT_NAME		"culprit-copies"
#define IMPLANT_TABLES_NAME	"culprit-counters"
#define IMPLANT_MAPS_NAME(name) "/memfd:" name " (deleted)"
#define IMPLANT_MAPS_BEGIN	"/memfd:culprit-" /* of both */

#define IMPLANT_HEADER_BYTES 4096	  /* in front of the first copy */
#define IMPLANT_MAX_BYTES    (1ULL << 30) /* of the mapping */

struct implant {
	unsigned refs;
	uint64_t base, bytes;	       /* of the mapping */
	uint64_t inode;		       /* of its file, in memory */
	uint64_t record_bytes;	       /* what it takes to read it back */
	struct instrument_code *codes; /* with neither bytes nor slots */
	size_t count;
};

/*
 * Lays out copies for a base below all of them. ret_file: the bytes of the mapping, to be freed.
 * -EINVAL: a copy is below the header; -EBADMSG: not as code.h says; -EFBIG, -ENOMEM.
 */
int implant_make(uint64_t base, const struct instrument_code *codes, size_t count,
		 struct implant **ret, uint8_t **ret_file);
/* The same of what lies in a program, which may be anything. read: bytes at an offset of the
 * mapping. One that is not whole has no copies: who made it died before anybody was sent there.
 * -E2BIG: with a record of more than record_max; -ENOMEM. */
int implant_load(uint64_t base, uint64_t bytes, uint64_t record_max,
		 int (*read)(void *arg, uint64_t offset, void *data, size_t size), void *arg,
		 struct implant **ret);
struct implant *implant_ref(struct implant *i);
void implant_unref(struct implant *i);

/* Where a thread at pc continues while the patches are in place: in the copy, if pc is in a
 * function that has one. false: nowhere, pc is inside a patch and not at a place. */
bool implant_enter(const struct implant *i, uint64_t pc, uint64_t *ret);
/* Whether no thread may continue at pc: a patch covers it, or the code from there runs into a relay
 * that belongs to another entrance. */
bool implant_hides(const struct implant *i, uint64_t pc);
/* Where a thread in a copy continues in the original. false: nowhere yet, pc is in inserted code.
 */
bool implant_leave(const struct implant *i, uint64_t pc, uint64_t *ret);
/* The relay that begins at pc; NULL. */
const struct instrument_patch *implant_relay(const struct implant *i, uint64_t pc);

#endif
