/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_ID_HASH_H
#define CULPRIT_UTIL_ID_HASH_H

#include <stddef.h>
#include <xxhash.h>
#include "util/identity.h"

/*
 * Identities that are hashes: the 16 bytes of XXH3-128 in its canonical (big-endian) form.
 * Databases keep them, so neither the function nor the order of bytes may ever change.
 */
struct image_id image_id_from_hash(enum image_kind kind, XXH128_hash_t hash);
struct image_id image_id_hash(enum image_kind kind, const void *data, size_t size);

#endif
