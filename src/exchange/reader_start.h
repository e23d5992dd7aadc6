/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_READER_START_H
#define CULPRIT_EXCHANGE_READER_START_H

#include <stddef.h>
#include <stdint.h>

/* Which format the first bytes of an input belong to: a name for reader_choose. NULL: none that is
 * known, so no more of it needs to be read. */
const char *reader_name_by_start(const uint8_t *start, size_t size);

#endif
