/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_CHECK_H
#define CULPRIT_DB_CHECK_H

#include "db/pack.h"

struct check_totals {
	uint64_t chunks, damaged;
	struct db_kind_totals of[DB_KIND_TYPES]; /* by type */
};

/*
 * Reads and decodes a whole pack. ret_good, if not NULL, has room for every entry of its catalog
 * and tells which chunks are sound; the sound chunks of rows ascend through the pack. 0; -EBADMSG
 * when there was damage, all of which was reported; other errors when it could not be checked.
 */
int check_pack(const struct pack *p, pack_damage_fn *damage, void *arg, bool *ret_good,
	       struct check_totals *ret);

#endif
