/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}
