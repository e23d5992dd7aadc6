/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

/* The finalizer of MurmurHash3 (Appleby): every input bit reaches every output bit. */
uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdULL;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ULL;
	v ^= v >> 33;
	return v;
}
