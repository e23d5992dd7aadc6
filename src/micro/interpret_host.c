/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "micro/interpret_host.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "util/hash.h"

#define INTERPRET_HOST                 \
	wire_u64 *tag;                 \
	struct interpret_word *word;   \
	wire_u32 places, used;         \
	bool fixed;                    \
	struct interpret_limits limit; \
	struct interpret_calls calls;
#include "micro/interpret_fixed.h"

#define PLACES_FIRST 1024 /* a power of two */

struct interpret_host {
	struct interpret s;
};

static int host_read(struct interpret *s, void *to, wire_u32 size, wire_u64 address)
{
	int r = s->calls.read(s->calls.context, to, size, address);

	if (r)
		memset(to, 0, size); /* as the kernel does */
	return r;
}

static int host_read_word(struct interpret *s, wire_u64 to[2], wire_u32 size, wire_u64 address)
{
	return host_read(s, to, size, address);
}

static const struct wire_strip *host_strip(struct interpret *s, struct wire_strip_key *key)
{
	return s->calls.strip(s->calls.context, *key);
}

static const struct wire_micro *host_micro(struct interpret *s, wire_u32 index)
{
	return s->calls.micro(s->calls.context, index);
}

static int host_find(struct interpret *s)
{
	struct interpret_mapping *m = &s->mapping;
	wire_u32 slot = 0;
	int end = s->calls.find(s->calls.context, s->pc, &slot, &m->begin, &m->end, &m->shift);

	m->slot = end ? 0 : slot;
	return end;
}

static void host_transfer(struct interpret *s, struct wire_place from, struct wire_place to)
{
	if (s->calls.transfer)
		s->calls.transfer(s->calls.context, from, to);
}

static void host_load(struct interpret *s)
{
	if (s->calls.load)
		s->calls.load(s->calls.context, interpret_place(s), s->address);
}

/* Linear probing; at most half of the places are used. */
static wire_u32 host_place(const struct interpret *s, wire_u64 word, wire_u32 *ret_free)
{
	wire_u64 tag = interpret_tag(s, word);
	wire_u32 mask = s->places - 1, at = (wire_u32)hash_u64(word) & mask;

	if (s->fixed)
		return interpret_fixed_place(s, s->tag, word, ret_free);
	for (; !interpret_is_free(s, s->tag[at]); at = (at + 1) & mask)
		if (s->tag[at] == tag)
			return at;
	*ret_free = at;
	return INTERPRET_NO_PLACE;
}

static int resize(struct interpret *s, wire_u32 places)
{
	wire_u64 *tag = calloc(places, sizeof(*tag)), *old_tag = s->tag;
	struct interpret_word *word = malloc(places * sizeof(*word)), *old_word = s->word;
	wire_u32 old_places = s->places, to;

	if (!tag || !word) {
		free(tag);
		free(word);
		return -ENOMEM;
	}
	s->tag = tag;
	s->word = word;
	s->places = places;
	for (wire_u32 i = 0; i < old_places; i++)
		if (!interpret_is_free(s, old_tag[i])) {
			host_place(s, interpret_tag_word(old_tag[i]), &to);
			s->tag[to] = old_tag[i];
			s->word[to] = old_word[i];
		}
	free(old_tag);
	free(old_word);
	return 0;
}

static wire_u32 host_claim(struct interpret *s, wire_u64 word, wire_u32 free)
{
	if (s->fixed)
		return free;
	if (s->used == s->limit.words)
		return INTERPRET_NO_PLACE;
	if (s->used >= s->places / 2) {
		if (resize(s, s->places * 2))
			return INTERPRET_NO_PLACE;
		host_place(s, word, &free);
	}
	s->used++;
	return free;
}

#define HOST_PLACES(s)	((s)->places)
#define HOST_TURNS(s)	((s)->limit.turns)
#define HOST_REPEATS(s) ((s)->fixed ? INTERPRET_FIXED_REPEATS : (s)->limit.turns)

#define INTERPRET_FUNCTION static
#include "micro/interpret.h"

int interpret_host_new(const struct interpret_calls *calls, const struct interpret_limits *limits,
		       struct interpret_host **ret)
{
	static const struct interpret_limits kernel = {INTERPRET_FIXED_WORDS,
						       INTERPRET_FIXED_TURNS};
	struct interpret_host *h;

	if (limits &&
	    (limits->words > INTERPRET_HOST_WORDS_MAX || limits->turns > INTERPRET_HOST_WORDS_MAX))
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->s.calls = *calls;
	h->s.limit = limits ? *limits : kernel;
	h->s.fixed = !limits;
	if (resize(&h->s, limits ? PLACES_FIRST : INTERPRET_FIXED_WORDS)) {
		free(h);
		return -ENOMEM;
	}
	*ret = h;
	return 0;
}

void interpret_host_free(struct interpret_host *h)
{
	if (!h)
		return;
	free(h->s.tag);
	free(h->s.word);
	free(h);
}

void interpret_host_begin(struct interpret_host *h, const struct interpret_registers *registers)
{
	struct interpret *s = &h->s;

	memcpy(s->reg, registers->gpr, sizeof(registers->gpr));
	s->pc = registers->pc;
	s->fs_base = registers->fs_base;
	s->flags = registers->flags;
	s->used = 0;
	interpret_begin(s);
	interpret_arrive(s);
}

enum wire_end interpret_host_run(struct interpret_host *h, uint64_t instructions, uint64_t *path)
{
	struct interpret *s = &h->s;
	uint64_t begin = s->instructions;
	int end = interpret_arrive(s);

	s->strip_key.slot = 0; /* it may have been decoded again */
	while (!end && s->instructions - begin < instructions) {
		if (path)
			path[s->instructions - begin] = s->pc;
		end = interpret_step(s);
	}
	if (path)
		path[s->instructions - begin] = s->pc;
	return (enum wire_end)end;
}

void interpret_host_get(const struct interpret_host *h, struct interpret_state *ret)
{
	const struct interpret *s = &h->s;
	struct interpret_registers *r = &ret->registers;

	memcpy(r->gpr, s->reg, sizeof(r->gpr));
	r->pc = s->pc;
	r->fs_base = s->fs_base;
	r->flags = s->flags;
	ret->known = s->known & 0xffff;
	ret->flags_known = s->flags_known;
	ret->instructions = s->instructions;
	ret->place = interpret_place(s);
}

int interpret_host_read(struct interpret_host *h, void *to, size_t size, uint64_t address)
{
	uint8_t *bytes = to;

	for (size_t i = 0; i < size; i++) {
		if (!interpret_load(&h->s, address + i, 0))
			return -EFAULT;
		bytes[i] = (uint8_t)h->s.value;
	}
	return 0;
}
