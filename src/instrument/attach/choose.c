/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/num.h"
#include "util/search.h"

static bool crosses(const struct instrument_patch *p)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return p->address / page != (p->address + p->size - 1) / page;
}

static enum attach_taken vet_patch(const struct attach_space *s, const struct target_maps *maps,
				   const struct instrument_patch *p)
{
	const enum attach_taken taken = attach_vet_mapping(maps, p->address);
	uint8_t now[INSTRUMENT_PATCH_BYTES];

	if (taken != ATTACH_TAKEN)
		return taken;
	if (crosses(p) && !instrument_patch_is_call(p))
		return ATTACH_CROSSES;
	if (target_read(s->mem, maps, p->address, now, p->size) || memcmp(now, p->before, p->size))
		return ATTACH_CHANGED;
	return ATTACH_TAKEN;
}

struct text {
	const struct attach_space *s;
	const struct target_maps *maps;
};

static int read_text(void *arg, uint64_t address, void *data, size_t size)
{
	const struct text *t = arg;

	return target_read(t->s->mem, t->maps, address, data, size);
}

/* Between the patches too: a program may have changed its own code, or a probe lie there. */
static enum attach_taken vet(const struct attach_space *s, const struct target_maps *maps,
			     const struct instrument_code *c)
{
	struct text text = {s, maps};
	enum attach_taken taken = ATTACH_TAKEN;
	uint64_t hash;

	for (uint32_t i = 0; taken == ATTACH_TAKEN && i < c->patch_count; i++)
		taken = vet_patch(s, maps, &c->patches[i]);
	if (taken == ATTACH_TAKEN &&
	    (instrument_code_hash_original(c, read_text, &text, &hash) || hash != c->original_hash))
		taken = ATTACH_CHANGED;
	return taken;
}

/* Where a patch leads to, as a jump or call of its size does. */
static uint64_t target_of(const struct instrument_patch *p)
{
	int32_t distance;

	memcpy(&distance, p->after + 1, sizeof(distance));
	return p->address + p->size + (uint64_t)(int64_t)distance;
}

/* Whether it can be written, and leads into a copy that is put in too. entrances: of those. */
static bool is_kept(const struct instrument_patch *p, const uint64_t *entrances, size_t count)
{
	if (!instrument_patch_is_call(p))
		return true;
	if (p->size != INSTRUMENT_PATCH_BYTES || crosses(p))
		return false;
	const uint64_t target = target_of(p);
	const size_t i = SEARCH_FIRST(count, k, entrances[k] >= target);

	return i < count && entrances[i] == target;
}

static int keep_patches(struct instrument_code *c, const uint64_t *entrances, size_t count)
{
	const struct instrument_patch *all = c->patches;
	const uint32_t all_count = c->patch_count;

	c->patch_count = 0;
	c->patches = malloc(all_count * sizeof(*c->patches) + 1);
	if (!c->patches)
		return -ENOMEM;
	for (uint32_t i = 0; i < all_count; i++)
		if (is_kept(&all[i], entrances, count))
			c->patches[c->patch_count++] = all[i];
	return 0;
}

int attach_choose(const struct attach_space *s, const struct target_maps *maps,
		  const struct instrument_code *codes, size_t count, enum attach_taken *taken,
		  struct attach_chosen *ret)
{
	struct attach_chosen c = {.list = calloc(count + 1, sizeof(*c.list))};
	uint64_t *entrances = calloc(count + 1, sizeof(*entrances));
	size_t n = 0;
	int r = c.list && entrances ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++) {
		taken[i] = vet(s, maps, &codes[i]);
		if (taken[i] == ATTACH_TAKEN)
			entrances[n++] = codes[i].address + codes[i].entrance;
	}
	n = r ? 0 : num_sort_unique(entrances, n);
	for (size_t i = 0; i < count && !r; i++) {
		if (taken[i] != ATTACH_TAKEN)
			continue;
		c.list[c.count] = codes[i];
		r = keep_patches(&c.list[c.count++], entrances, n);
	}
	free(entrances);
	if (r)
		attach_chosen_free(&c);
	else
		*ret = c;
	return r;
}

void attach_chosen_free(struct attach_chosen *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i].patches);
	free(c->list);
	*c = (struct attach_chosen){0};
}
