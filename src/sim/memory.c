/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/hash.h"

#define LINE_SHIFT  6
#define PAGE_SHIFT  12
#define PAGE_LINES  (1u << (PAGE_SHIFT - LINE_SHIFT))
#define STRIDE_SURE 2
#define STREAM_SURE 2
/* Entries of page tables lie where no program's data does. */
#define TABLES_AT (UINT64_C(1) << 56)

static int cache_init(struct memory_cache *c, uint64_t lines, unsigned ways)
{
	c->ways = ways && ways <= lines ? ways : 1;
	c->sets = (uint32_t)(lines / c->ways);
	c->lines = calloc((size_t)c->sets * c->ways, sizeof(*c->lines));
	return c->lines ? 0 : -ENOMEM;
}

static uint64_t lines_of(unsigned kbytes)
{
	return (uint64_t)kbytes * 1024 >> LINE_SHIFT;
}

int memory_shared_init(struct memory_shared *s, const struct sim_config *config)
{
	*s = (struct memory_shared){.channel_free = 0};
	return cache_init(&s->l3, lines_of(config->core.cache_kbytes[2]), config->l3_ways);
}

void memory_shared_free(struct memory_shared *s)
{
	free(s->l3.lines);
}

int memory_init(struct memory *m, const struct sim_config *config, struct memory_shared *shared)
{
	const struct machine_core *core = &config->core;

	*m = (struct memory){.config = config, .shared = shared};
	if (cache_init(&m->l1i, lines_of(config->l1i_kbytes), config->l1i_ways) ||
	    cache_init(&m->l1d, lines_of(core->cache_kbytes[0]), config->l1d_ways) ||
	    cache_init(&m->l2, lines_of(core->cache_kbytes[1]), config->l2_ways) ||
	    cache_init(&m->itlb, config->itlb_pages, config->tlb_ways) ||
	    cache_init(&m->dtlb, core->dtlb_pages[0], config->tlb_ways) ||
	    cache_init(&m->tlb2, core->dtlb_pages[1], config->tlb_ways))
		return -ENOMEM;
	return 0;
}

void memory_free(struct memory *m)
{
	free(m->l1i.lines);
	free(m->l1d.lines);
	free(m->l2.lines);
	free(m->itlb.lines);
	free(m->dtlb.lines);
	free(m->tlb2.lines);
}

static struct memory_line *set_of(const struct memory_cache *c, uint64_t line)
{
	uint32_t set = c->sets & (c->sets - 1) ? (uint32_t)(line % c->sets)
					       : (uint32_t)line & (c->sets - 1);

	return &c->lines[(size_t)set * c->ways];
}

/* The line as the one used last; NULL: it is not there. */
static struct memory_line *find(const struct memory_cache *c, uint64_t line)
{
	struct memory_line *set = set_of(c, line), found;

	if (set->tag == line + 1)
		return set;
	for (uint32_t i = 1; i < c->ways; i++) {
		if (set[i].tag != line + 1)
			continue;
		found = set[i];
		memmove(set + 1, set, i * sizeof(*set));
		*set = found;
		return set;
	}
	return NULL;
}

/* In the place of the one that was not used for longest. */
static void insert(const struct memory_cache *c, uint64_t line, uint64_t ready)
{
	struct memory_line *set = set_of(c, line);

	memmove(set + 1, set, (c->ways - 1) * sizeof(*set));
	*set = (struct memory_line){line + 1, ready};
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When memory brings a line that is asked for at a cycle: one after the other. */
static uint64_t from_memory(struct memory *m, uint64_t cycle)
{
	struct memory_shared *s = m->shared;
	uint64_t begin = later(cycle, s->channel_free);

	if (!m->timed)
		return 0;
	/* What is ahead of everything else is of another core's time. */
	if (begin > cycle + 4u * m->config->core.memory_cycles)
		begin = cycle;
	s->channel_free = begin + m->config->line_cycles;
	return begin + m->config->core.memory_cycles;
}

/* A line from the second cache on; fills what did not have it. cycle: when the first was asked. */
static uint64_t below(struct memory *m, uint64_t line, uint64_t cycle, uint32_t *met)
{
	const struct machine_core *core = &m->config->core;
	struct memory_line *at = find(&m->l2, line);
	uint64_t ready;

	if (at) {
		*met |= at->ready > cycle + core->l2_cycles ? MEMORY_ON_ITS_WAY : 0;
		return later(cycle + core->l2_cycles, at->ready);
	}
	*met |= MEMORY_L2_MISS;
	at = find(&m->shared->l3, line);
	if (at) {
		ready = later(cycle + core->l3_cycles, at->ready);
	} else {
		*met |= MEMORY_L3_MISS;
		ready = from_memory(m, cycle);
		insert(&m->shared->l3, line, ready);
	}
	ready = m->timed ? ready : 0;
	insert(&m->l2, line, ready);
	return ready;
}

/* Into the second cache, without anybody waiting. */
static void prefetch(struct memory *m, uint64_t line, uint64_t cycle)
{
	uint32_t met = 0;

	if (!find(&m->l2, line))
		below(m, line, cycle, &met);
}

static struct memory_stream *stream_of(struct memory *m, uint64_t page)
{
	struct memory_stream *oldest = &m->streams[0];

	for (unsigned i = 0; i < MEMORY_STREAMS; i++) {
		if (m->streams[i].page == page + 1)
			return &m->streams[i];
		if (m->streams[i].used < oldest->used)
			oldest = &m->streams[i];
	}
	*oldest = (struct memory_stream){.page = page + 1};
	return oldest;
}

/* Lines that a page's accesses go towards, up or down. */
static void follow_stream(struct memory *m, uint64_t line, uint64_t cycle)
{
	struct memory_stream *s = stream_of(m, line / PAGE_LINES);
	int direction = line > s->line ? 1 : -1;

	s->used = ++m->clock;
	if (s->line == line)
		return;
	if (s->line && direction == s->direction && line - s->line + 3 <= 6)
		s->sure = (uint8_t)(s->sure + (s->sure < STREAM_SURE));
	else
		s->sure = 0;
	s->direction = (int8_t)direction;
	s->line = line;
	if (s->sure < STREAM_SURE)
		return;
	for (unsigned i = 1; i <= m->config->prefetch_lines; i++) {
		uint64_t next = line + (uint64_t)(int64_t)(direction * (int)i);

		if (next / PAGE_LINES != line / PAGE_LINES)
			break;
		prefetch(m, next, cycle);
	}
}

/* An instruction that goes by equal steps. */
static void follow_stride(struct memory *m, uint64_t address, uint32_t site, uint64_t cycle)
{
	struct memory_stride *s = &m->strides[site % MEMORY_STRIDES];
	int64_t step = (int64_t)(address - s->last);
	uint32_t met = 0;

	if (s->site != site) {
		*s = (struct memory_stride){.site = site, .last = address};
		return;
	}
	s->sure = step == s->step && step ? (uint8_t)(s->sure + (s->sure < STRIDE_SURE)) : 0;
	s->step = step;
	s->last = address;
	if (s->sure < STRIDE_SURE)
		return;
	uint64_t next = address + (uint64_t)step * m->config->stride_ahead;
	if (next >> PAGE_SHIFT != address >> PAGE_SHIFT ||
	    next >> LINE_SHIFT == address >> LINE_SHIFT)
		return;
	if (!find(&m->l1d, next >> LINE_SHIFT))
		insert(&m->l1d, next >> LINE_SHIFT, below(m, next >> LINE_SHIFT, cycle, &met));
}

/* Cycles until the page is translated, beyond a hit. */
static uint32_t translate(struct memory *m, struct memory_cache *first, uint64_t address,
			  uint64_t cycle, uint32_t *met)
{
	uint64_t page = address >> PAGE_SHIFT, ready;
	uint32_t walked = 0;

	if (find(first, page))
		return 0;
	insert(first, page, 0);
	*met |= MEMORY_TLB_MISS;
	if (find(&m->tlb2, page))
		return m->config->tlb2_cycles;
	insert(&m->tlb2, page, 0);
	*met |= MEMORY_TLB_WALK;
	/* The last level's entry is read through the caches; the levels above mostly hit. */
	ready = below(m, (TABLES_AT + page * 8) >> LINE_SHIFT, cycle, &walked);
	if (!m->timed)
		return 0;
	return m->config->tlb2_cycles + m->config->walk_cycles +
	       (uint32_t)(ready > cycle ? ready - cycle : 0);
}

void memory_data(struct memory *m, uint64_t address, uint32_t site, uint64_t cycle,
		 struct memory_access *ret)
{
	uint64_t line = address >> LINE_SHIFT;
	struct memory_line *at;

	ret->met = 0;
	ret->translation_cycles = translate(m, &m->dtlb, address, cycle, &ret->met);
	cycle += ret->translation_cycles;
	at = find(&m->l1d, line);
	if (at) {
		ret->met |= at->ready > cycle ? MEMORY_L1_MISS | MEMORY_ON_ITS_WAY : 0;
		ret->ready = later(cycle, at->ready);
		if (m->config->stride_ahead)
			follow_stride(m, address, site, cycle);
		return;
	}
	ret->met |= MEMORY_L1_MISS;
	ret->ready = below(m, line, cycle, &ret->met);
	insert(&m->l1d, line, ret->ready);
	if (m->config->prefetch_lines)
		follow_stream(m, line, cycle);
	if (m->config->stride_ahead)
		follow_stride(m, address, site, cycle);
}

void memory_code(struct memory *m, uint64_t address, uint64_t cycle, struct memory_access *ret)
{
	uint64_t line = address >> LINE_SHIFT;
	struct memory_line *at;

	ret->met = 0;
	ret->translation_cycles = translate(m, &m->itlb, address, cycle, &ret->met);
	cycle += ret->translation_cycles;
	at = find(&m->l1i, line);
	ret->ready = cycle;
	if (at) {
		ret->ready = later(cycle, at->ready);
		return;
	}
	ret->met |= MEMORY_L1_MISS;
	ret->ready = below(m, line, cycle, &ret->met);
	insert(&m->l1i, line, ret->ready);
	/* The next line comes with it. */
	prefetch(m, line + 1, cycle);
}
