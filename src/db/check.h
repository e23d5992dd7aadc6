/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_CHECK_H
#define CULPRIT_DB_CHECK_H

#include "db/pack.h"

struct check_totals {
	uint64_t chunks, damaged;
	struct db_kind_totals of[DB_KIND_TYPES]; /* by type */
};

/*
 * Reads and decodes all of a pack. ret_good (NULL or room for every entry of its catalog) says
 * which chunks are sound: those of rows among them are ascending through the pack. 0; -EBADMSG when
 * there was damage, which was reported; other errors when it could not be checked.
 */
int check_pack(const struct pack *p, pack_damage_fn *damage, void *arg, bool *ret_good,
	       struct check_totals *ret);

#endif
