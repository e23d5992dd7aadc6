/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * With --call-graph dwarf a sample brings the registers of its process and a piece of the stack,
 * from the stack pointer on. It is followed as the collector follows its own snapshots
 * (unwind/unwind_walk.h), by tables that the parent process has made of the images' files.
 */
#include "exchange/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include "analyze/calls/stack_set.h"
#include "bpf/unwind.h"
#include "exchange/places.h"
#include "unwind/unwind_walk.h"
#include "util/array.h"

#define REGISTERS_ALL ((UINT64_C(1) << 24) - 1) /* of x86-64 */
#define END_COPY      WIRE_STACK_ENDS		/* it goes on past the copy */
#define END_NO_FILE   (WIRE_STACK_ENDS + 1)	/* of an image that is not at hand */
#define END_NOT_TRIED (WIRE_STACK_ENDS + 2)

/* Numbers that tell notes apart; those of the collector's ends are its own. */
static const struct {
	const char *text;
	uint8_t number;
} notes[] = {
	[END_COPY] = {"the copy of the stack ended", 203},
	[END_NO_FILE] = {"the image's file is not at hand", 204},
	[END_NOT_TRIED] = {"the copied stack was not unwound", 201},
};

struct perf_code {
	struct reading_code code;
	enum { CODE_NEW, CODE_THERE, CODE_NONE } state;
};

struct following {
	struct perf *p;
	const struct perf_copy *copy;
	uint32_t pid;
	uint64_t begin; /* of the copy */
	uint32_t first; /* place of the frame that comes, or HARVEST_NONE */
	bool is_first;	/* it is the innermost */
	bool past;	/* the end of the copy was met */
	int error;	/* of the harvest */
	struct places_stack *stack;
	const struct perf_range *range; /* that was found last */
};

void perf_stack_free(struct perf *p)
{
	for (size_t i = 0; i < p->code_count; i++)
		reading_code_free(&p->code[i].code);
	free(p->code);
}

/* What is known of an image's code; NULL: its file is not at hand. */
static const struct reading_code *find_code(struct perf *p, uint32_t image)
{
	const struct reading_host *host = p->in->host;
	struct harvest_image wanted;
	struct perf_code *c;

	if (array_reserve_zeroed(&p->code, (size_t)image + 1, &p->code_count, sizeof(*p->code),
				 128))
		return NULL;
	c = &p->code[image];
	if (c->state == CODE_NEW) {
		harvest_image_get(p->harvest, image, &wanted);
		c->state = CODE_NONE;
		if ((wanted.kind == HARVEST_FILE || wanted.kind == HARVEST_VDSO) &&
		    !host->find_code(host->arg, &wanted, &c->code))
			c->state = CODE_THERE;
	}
	return c->state == CODE_THERE ? &c->code : NULL;
}

static const struct perf_range *find_range(struct following *f, uint64_t address)
{
	if (!f->range || address < f->range->start || address >= f->range->end)
		f->range = perf_world_range(f->p, f->pid, address);
	return f->range;
}

static int read_memory(void *arg, void *to, uint32_t size, uint64_t address)
{
	struct following *f = arg;
	const struct reading_code *code;
	uint64_t at = address - f->begin;

	if (at < f->copy->bytes && size <= f->copy->bytes - at) {
		memcpy(to, f->copy->stack + at, size);
		return 0;
	}
	/* A copy that is shorter than was asked for has all that there was. */
	if (at < UINT64_MAX / 2 && f->copy->bytes == f->copy->asked && !find_range(f, address))
		f->past = true;
	code = find_range(f, address) ? find_code(f->p, f->range->image) : NULL;
	at = f->range ? address + f->range->base : 0;
	if (!code || !code->file || at >= code->file_size || size > code->file_size - at)
		return -EFAULT;
	memcpy(to, code->file + at, size);
	return 0;
}

static const struct wire_unwind_rule *find_rule(const struct reading_code *code, uint64_t offset)
{
	for (uint32_t i = 0; code->unwind && i < code->segment_count; i++) {
		const struct image_segment *s = &code->segments[i];

		if (offset - s->file_offset < s->file_size)
			return image_unwind_find(code->unwind,
						 offset - s->file_offset + s->address);
	}
	return NULL;
}

static bool is_file(struct perf *p, uint32_t image)
{
	struct harvest_image i;

	harvest_image_get(p->harvest, image, &i);
	return i.kind == HARVEST_FILE || i.kind == HARVEST_VDSO;
}

static int enter(void *arg, uint64_t pc, bool called, const struct wire_unwind_rule **ret)
{
	struct following *f = arg;
	const struct perf_range *range = find_range(f, pc);
	const struct reading_code *code;
	uint32_t place = f->first;
	enum perf_found found;

	if (!range && !f->is_first)
		return WIRE_STACK_NOT_CODE;
	code = range ? find_code(f->p, range->image) : NULL;
	if (code)
		*ret = find_rule(code, pc + range->base);
	if (place == HARVEST_NONE)
		f->error = perf_world_place(f->p, f->pid, PERF_USER,
					    unwind_frame_pc(pc, called, *ret), &place, &found);
	if (f->error)
		return WIRE_STACK_NO_RULE;
	places_push(f->stack, place);
	f->first = HARVEST_NONE;
	f->is_first = false;
	return code || (range && !is_file(f->p, range->image)) ? -1 : END_NO_FILE;
}

/* A recording has the frames of code that was made at run time, but not the code. */
static bool is_unseen(void *arg, uint64_t pc)
{
	struct following *f = arg;
	const struct perf_range *range = find_range(f, pc - 1);

	return range && !is_file(f->p, range->image);
}

/* The registers by DWARF's numbers. False: without the address and the stack there is no way. */
static bool take_state(uint64_t mask, const uint8_t *dump, struct wire_unwind_state *ret)
{
	/* Where each is in the kernel's list of them (asm/perf_regs.h of x86). */
	static const uint8_t place[WIRE_UNWIND_REGISTERS] = {0,	 3,  2,	 1,  4,	 5,  6,	 7,
							     16, 17, 18, 19, 20, 21, 22, 23};
	const unsigned sp = 7, ip = 8;

	*ret = (struct wire_unwind_state){.first = 1, .exact = 1};
	if (!(mask >> sp & 1) || !(mask >> ip & 1))
		return false;
	for (unsigned i = 0; i < WIRE_UNWIND_REGISTERS; i++) {
		uint64_t bit = UINT64_C(1) << place[i];
		unsigned before = (unsigned)__builtin_popcountll(mask & (bit - 1));

		if (mask & bit)
			ret->reg[i] = perf_u64(dump + 8 * (size_t)before);
		else
			ret->first = 0;
	}
	ret->fp_known = mask >> UNWIND_RBP & 1;
	ret->rbx_known = mask >> place[UNWIND_RBX] & 1;
	ret->pc = perf_u64(dump + 8 * (size_t)__builtin_popcountll(mask & ((1u << ip) - 1)));
	return true;
}

static int walk_copy(struct following *f, const struct perf_attr *a)
{
	const struct unwind_walk walk = {
		.read = read_memory, .enter = enter, .is_unseen = is_unseen, .arg = f};
	struct wire_unwind_state state;
	int end;

	if (f->copy->abi == PERF_SAMPLE_REGS_ABI_32)
		return WIRE_STACK_32_BIT;
	if (f->copy->abi != PERF_SAMPLE_REGS_ABI_64 || f->p->is_other_arch || !f->p->in->host ||
	    a->regs_user & ~REGISTERS_ALL || !take_state(a->regs_user, f->copy->registers, &state))
		return END_NOT_TRIED;
	f->begin = state.reg[UNWIND_RSP];
	end = unwind_walk(&walk, &state, WIRE_STACK_DEPTH);
	return end == WIRE_STACK_NOT_RESIDENT && f->past ? END_COPY : end;
}

static void count_end(struct perf_counters *c, int end)
{
	c->copies++;
	if (end < WIRE_STACK_ENDS)
		c->ends[end]++;
	c->copies_cut += end == END_COPY;
	c->copies_no_file += end == END_NO_FILE;
	c->copies_not_unwound += end == END_NOT_TRIED;
}

int perf_stack_follow(struct perf *p, const struct perf_attr *a, uint32_t pid,
		      const struct perf_copy *copy, uint32_t first, struct places_stack *ret,
		      uint32_t *ret_note)
{
	struct following f = {
		.p = p, .copy = copy, .pid = pid, .first = first, .is_first = true, .stack = ret};
	int end = walk_copy(&f, a);
	const char *why = end < WIRE_STACK_ENDS ? unwind_end_text((unsigned)end) : notes[end].text;
	char text[96];

	if (f.error)
		return f.error;
	count_end(&p->counters, end);
	if (first != HARVEST_NONE && f.is_first)
		places_push(ret, first);
	if (!why)
		return 0;
	snprintf(text, sizeof(text), STACK_TRUNCATED "%s]", why);
	return places_note(p->harvest, end < WIRE_STACK_ENDS ? (unsigned)end : notes[end].number,
			   text, strlen(text), ret_note);
}
