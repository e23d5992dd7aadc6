/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_HASH_H
#define CULPRIT_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 64-bit hash of bytes (XXH3). Not for what is written to files: a format names its checksum. */
uint64_t hash_bytes(const void *data, size_t size);
/* Mixes a 64-bit number: the finalizer of MurmurHash3 (Appleby); every input bit affects every
 * output bit. Inline, since look-ups in the tables that count samples do little else. */
static inline uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdULL;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ULL;
	v ^= v >> 33;
	return v;
}

/*
 * Interns byte strings: equal bytes get the same small number, counted from 0 in order of arrival.
 * At most max_entries strings; each is copied, aligned to 16 bytes (so that structures may be
 * interned), and followed by a zero byte that is not counted in its size.
 */
struct intern;

struct intern *intern_new(uint32_t max_entries);
void intern_free(struct intern *t);
/* 0 and the string's number; -ENOSPC past the maximum; -ENOMEM. */
int intern_add(struct intern *t, const void *data, size_t size, uint32_t *ret_index);
/* 0 and the string's number; -ENOENT when it was never added. */
int intern_find(const struct intern *t, const void *data, size_t size, uint32_t *ret_index);
/* The bytes of a number that intern_add gave; owned by t, valid until it is freed. */
const void *intern_get(const struct intern *t, uint32_t index, size_t *ret_size);
uint32_t intern_count(const struct intern *t);

/*
 * A hash map from 64-bit keys to 64-bit values, by open addressing. The key UINT64_MAX is not
 * allowed.
 */
struct map64;

struct map64 *map64_new(size_t max_entries);
void map64_free(struct map64 *m);
/* Replaces the value of a key that is there. 0, -ENOSPC, -ENOMEM, or -EINVAL for UINT64_MAX. */
int map64_put(struct map64 *m, uint64_t key, uint64_t value);
int map64_get(const struct map64 *m, uint64_t key, uint64_t *ret_value); /* 0 or -ENOENT */
int map64_remove(struct map64 *m, uint64_t key);			 /* 0 or -ENOENT */
size_t map64_count(const struct map64 *m);
void map64_clear(struct map64 *m);
/* Calls f for each entry, in no order; f must not change the map. */
void map64_each(const struct map64 *m, void (*f)(uint64_t key, uint64_t value, void *arg),
		void *arg);

#endif
