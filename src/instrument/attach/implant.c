/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/implant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/hash.h"
#include "util/search.h"

#define MAGIC "culprit copies 1"

/* At the mapping's beginning. The record (functions, then all their patches, then all their places)
 * lies behind the copies. */
struct header {
	char magic[16];
	uint64_t base, bytes;
	uint64_t record_at, record_bytes, record_hash;
	uint64_t function_count;
};

struct function {
	uint64_t entry, address;
	uint32_t size, place_count, patch_count, reserved;
};

static uint64_t record_bytes_of(const struct instrument_code *c)
{
	return sizeof(struct function) + c->patch_count * sizeof(*c->patches) +
	       c->place_count * sizeof(*c->places);
}

struct implant *implant_ref(struct implant *i)
{
	i->refs++;
	return i;
}

void implant_unref(struct implant *i)
{
	if (!i || --i->refs)
		return;
	for (size_t n = 0; n < i->count; n++)
		instrument_code_free(&i->codes[n]);
	free(i->codes);
	free(i);
}

static struct implant *new_implant(uint64_t base, uint64_t bytes, size_t count)
{
	struct implant *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	*i = (struct implant){.refs = 1, .base = base, .bytes = bytes};
	i->codes = calloc(count ? count : 1, sizeof(*i->codes));
	if (!i->codes) {
		free(i);
		return NULL;
	}
	i->count = count;
	return i;
}

/* Reads the record back: what was written, or what a program has there. */
static int read_record(struct implant *i, const uint8_t *record, uint64_t bytes)
{
	uint64_t at = i->count * sizeof(struct function);

	for (size_t n = 0; n < i->count; n++) {
		struct instrument_code *c = &i->codes[n];
		uint64_t patches, places;
		struct function f;

		memcpy(&f, record + n * sizeof(f), sizeof(f));
		patches = f.patch_count * sizeof(*c->patches);
		places = f.place_count * sizeof(*c->places);
		if (patches + places > bytes - at)
			return -EBADMSG;
		*c = (struct instrument_code){
			.entry = f.entry, .address = f.address, .size = f.size};
		c->patches = malloc(patches + 1);
		c->places = malloc(places + 1);
		if (!c->patches || !c->places)
			return -ENOMEM;
		memcpy(c->patches, record + at, patches);
		memcpy(c->places, record + at + patches, places);
		c->patch_count = f.patch_count;
		c->place_count = f.place_count;
		at += patches + places;
		if (instrument_code_check(c) || c->address < i->base + IMPLANT_HEADER_BYTES ||
		    c->address + c->size > i->base + i->bytes)
			return -EBADMSG;
	}
	return 0;
}

static void write_record(uint8_t *record, const struct instrument_code *codes, size_t count)
{
	uint8_t *at = record + count * sizeof(struct function);

	for (size_t n = 0; n < count; n++) {
		const struct instrument_code *c = &codes[n];
		const struct function f = {.entry = c->entry,
					   .address = c->address,
					   .size = c->size,
					   .place_count = c->place_count,
					   .patch_count = c->patch_count};

		memcpy(record + n * sizeof(f), &f, sizeof(f));
		memcpy(at, c->patches, c->patch_count * sizeof(*c->patches));
		at += c->patch_count * sizeof(*c->patches);
		memcpy(at, c->places, c->place_count * sizeof(*c->places));
		at += c->place_count * sizeof(*c->places);
	}
}

int implant_make(uint64_t base, const struct instrument_code *codes, size_t count,
		 struct implant **ret, uint8_t **ret_file)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct header h = {.magic = MAGIC, .base = base, .function_count = count};
	struct implant *i;
	uint8_t *file;
	int r;

	h.record_at = IMPLANT_HEADER_BYTES;
	for (size_t n = 0; n < count; n++) {
		if (codes[n].address < base + IMPLANT_HEADER_BYTES)
			return -EINVAL;
		if (codes[n].address + codes[n].size - base > h.record_at)
			h.record_at = (codes[n].address + codes[n].size - base + 7) & ~7ULL;
		h.record_bytes += record_bytes_of(&codes[n]);
	}
	h.bytes = (h.record_at + h.record_bytes + page - 1) & ~(page - 1);
	if (h.bytes > IMPLANT_MAX_BYTES)
		return -EFBIG;
	file = calloc(1, h.bytes);
	i = new_implant(base, h.bytes, count);
	r = file && i ? 0 : -ENOMEM;
	if (!r) {
		write_record(file + h.record_at, codes, count);
		for (size_t n = 0; n < count; n++)
			memcpy(file + (codes[n].address - base), codes[n].bytes, codes[n].size);
		h.record_hash = hash_bytes(file + h.record_at, h.record_bytes);
		memcpy(file, &h, sizeof(h));
		i->record_bytes = h.record_bytes;
		r = read_record(i, file + h.record_at, h.record_bytes);
	}
	if (r) {
		free(file);
		implant_unref(i);
		return r;
	}
	*ret = i;
	*ret_file = file;
	return 0;
}

static bool is_header(const struct header *h, uint64_t base, uint64_t bytes)
{
	return !memcmp(h->magic, MAGIC, sizeof(h->magic)) && h->base == base && h->bytes == bytes &&
	       h->record_at <= bytes && h->record_bytes <= bytes - h->record_at &&
	       h->function_count <= h->record_bytes / sizeof(struct function);
}

int implant_load(uint64_t base, uint64_t bytes, uint64_t record_max,
		 int (*read)(void *arg, uint64_t offset, void *data, size_t size), void *arg,
		 struct implant **ret)
{
	struct header h = {0};
	const bool whole = bytes <= IMPLANT_MAX_BYTES && !read(arg, 0, &h, sizeof(h)) &&
			   is_header(&h, base, bytes);

	if (whole && h.record_bytes > record_max)
		return -E2BIG;

	struct implant *i = new_implant(base, bytes, whole ? h.function_count : 0);
	uint8_t *record = malloc(whole ? h.record_bytes + 1 : 1);
	int r = record && i ? 0 : -ENOMEM;

	if (!r && whole) {
		i->record_bytes = h.record_bytes;
		r = read(arg, h.record_at, record, h.record_bytes);
		if (!r && hash_bytes(record, h.record_bytes) != h.record_hash)
			r = -EBADMSG;
		r = r ? r : read_record(i, record, h.record_bytes);
	}
	free(record);
	if (r && r != -ENOMEM) {
		implant_unref(i);
		i = new_implant(base, bytes, 0);
		r = i ? 0 : -ENOMEM;
		if (i)
			i->record_bytes = h.record_bytes;
	}
	if (r)
		implant_unref(i);
	else
		*ret = i;
	return r;
}

/* The first patch that ends behind an address. */
static const struct instrument_patch *find_patch(const struct instrument_code *c, uint64_t pc)
{
	const struct instrument_patch *p = c->patches;
	size_t n = SEARCH_FIRST(c->patch_count, k, p[k].address + p[k].size > pc);

	return n < c->patch_count ? &p[n] : NULL;
}

bool implant_hides(const struct implant *i, uint64_t pc)
{
	for (size_t n = 0; n < i->count; n++) {
		const struct instrument_code *c = &i->codes[n];
		const struct instrument_patch *p = find_patch(c, pc);

		if (p && pc > p->address)
			return true;
		if (p && instrument_patch_is_relay(p) &&
		    (pc == p->address || instrument_code_at_original(c, pc)))
			return true;
	}
	return false;
}

const struct instrument_patch *implant_relay(const struct implant *i, uint64_t pc)
{
	for (size_t n = 0; n < i->count; n++) {
		const struct instrument_patch *p = find_patch(&i->codes[n], pc);

		if (p && p->address == pc && instrument_patch_is_relay(p))
			return p;
	}
	return NULL;
}

bool implant_enter(const struct implant *i, uint64_t pc, uint64_t *ret)
{
	for (size_t n = 0; n < i->count; n++) {
		const struct instrument_code *c = &i->codes[n];
		const struct instrument_place *place = instrument_code_at_original(c, pc);

		if (place) {
			*ret = c->address + place->copy;
			return true;
		}
	}
	*ret = pc;
	return !implant_hides(i, pc);
}

bool implant_leave(const struct implant *i, uint64_t pc, uint64_t *ret)
{
	*ret = pc;
	if (pc - i->base >= i->bytes)
		return true;
	for (size_t n = 0; n < i->count; n++) {
		const struct instrument_place *place = instrument_code_at_copy(&i->codes[n], pc);

		if (place) {
			*ret = place->original;
			return true;
		}
	}
	return false;
}
