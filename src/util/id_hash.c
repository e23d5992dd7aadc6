/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/id_hash.h"

#include <string.h>

struct image_id image_id_from_hash(enum image_kind kind, XXH128_hash_t hash)
{
	struct image_id id = {.kind = (uint8_t)kind, .size = sizeof(XXH128_canonical_t)};
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(id.bytes, &canonical, sizeof(canonical));
	return id;
}

struct image_id image_id_hash(enum image_kind kind, const void *data, size_t size)
{
	return image_id_from_hash(kind, XXH3_128bits(data, size));
}
