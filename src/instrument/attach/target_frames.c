/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/target.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A signal's frame has the interrupted registers in a struct sigcontext (asm/sigcontext.h), on a
 * boundary of 8: stack pointer, program counter, flags, and one word of the selectors of code, %gs,
 * %fs and stack, which hardly anything else looks like. What is found there by mistake is dead, or
 * a copy of such a frame.
 */
enum sigcontext_word { WORD_STACK, WORD_PC, WORD_FLAGS, WORD_SELECTORS, WORD_COUNT };

#define SELECTORS      0x002b000000000033ULL
#define FLAGS_ALWAYS   0x202ULL /* bit 1, and interrupts */
#define FLAGS_POSSIBLE 0x3f7fd7ULL
#define STACKS_MAX     8
#define CHUNK_WORDS    8192

struct search {
	int mem;
	const struct target_maps *maps;
	struct target_frame *frames;
	int count;
	uint64_t room; /* for stacks, in bytes */
	struct {
		uint64_t from, to;
	} stacks[STACKS_MAX];
	size_t stack_count;
};

static const struct target_mapping *find_stack(const struct target_maps *maps, uint64_t pointer)
{
	const struct target_mapping *m = target_maps_find(maps, pointer);

	return m && m->readable && m->writable ? m : NULL;
}

static int add_stack(struct search *s, uint64_t pointer)
{
	const struct target_mapping *m = find_stack(s->maps, pointer);
	uint64_t to = m ? m->end : 0;

	if (!m)
		return 0;
	if (!m->answers)
		return -EFAULT;
	/* Of one mapping, that a handler's stack lies in too, the part that is not looked at yet.
	 */
	for (size_t i = 0; i < s->stack_count; i++)
		if (s->stacks[i].from >= m->start && s->stacks[i].from < to)
			to = s->stacks[i].from;
	if (pointer >= to)
		return 0;
	if (s->stack_count == STACKS_MAX || to - pointer > s->room)
		return -E2BIG;
	s->room -= to - pointer;
	s->stacks[s->stack_count].from = pointer;
	s->stacks[s->stack_count++].to = to;
	return 0;
}

static int take(struct search *s, const uint64_t *words, uint64_t at)
{
	if (words[WORD_SELECTORS] != SELECTORS || (words[WORD_FLAGS] & ~FLAGS_POSSIBLE) ||
	    (words[WORD_FLAGS] & FLAGS_ALWAYS) != FLAGS_ALWAYS)
		return 0;
	if (s->count == TARGET_FRAMES_MAX)
		return -E2BIG;
	s->frames[s->count++] = (struct target_frame){.at = at + WORD_PC * 8, .pc = words[WORD_PC]};
	return add_stack(s, words[WORD_STACK]);
}

static int scan(struct search *s, uint64_t from, uint64_t end)
{
	uint64_t words[CHUNK_WORDS];
	int r = 0;

	/* Chunks overlap by what a frame may have on both sides. */
	while (!r && from + sizeof(words[0]) * WORD_COUNT <= end) {
		size_t n = (end - from) / 8 < CHUNK_WORDS ? (end - from) / 8 : CHUNK_WORDS;

		if (target_read(s->mem, s->maps, from, words, n * 8))
			return 0; /* a guard, or gone: nobody returns through it */
		for (size_t i = 0; !r && i + WORD_COUNT <= n; i++)
			r = take(s, words + i, from + i * 8);
		from += (n - (WORD_COUNT - 1)) * 8;
	}
	return r;
}

int target_frames_find(int mem, const struct target_maps *maps, uint64_t stack, uint64_t *left,
		       struct target_frame frames[TARGET_FRAMES_MAX])
{
	const uint64_t room = *left < TARGET_STACKS_MAX_BYTES ? *left : TARGET_STACKS_MAX_BYTES;
	struct search s = {.mem = mem, .maps = maps, .frames = frames, .room = room};
	int r;

	/* That of a stack with nothing on it is where its mapping ends. */
	if (!find_stack(maps, stack) && !find_stack(maps, stack - 1))
		return -EFAULT;
	r = add_stack(&s, stack & ~7ULL);
	for (size_t i = 0; !r && i < s.stack_count; i++)
		r = scan(&s, s.stacks[i].from, s.stacks[i].to);
	*left -= room - s.room;
	return r ? r : s.count;
}
