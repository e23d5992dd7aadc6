/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/kind.h"

/* This file holds the table alone, so that a program with a table of its own can be linked without
 * it. */

#define KIND(NAME, name, number) &kind_##name,
const struct db_kind *const db_kinds[] = {
#include "db/kinds.inc"
};
#undef KIND

const size_t db_kind_count = sizeof(db_kinds) / sizeof(*db_kinds);
