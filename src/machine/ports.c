/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdbool.h>
#include <string.h>
#include "machine/ports.h"
#include "util/hash.h"

#define MASK	   (PORTS_CYCLES - 1)
#define LOAD_HALVE 4096 /* operations after which old use of the ports counts half */

/* Forgets the cycles before this one. */
static void advance(struct ports *p, uint64_t cycle)
{
	if (cycle <= p->base)
		return;
	if (cycle - p->base >= PORTS_CYCLES) {
		memset(p->busy, 0, sizeof(p->busy));
		memset(p->queues, 0, sizeof(p->queues));
		memset(p->leaving, 0, sizeof(p->leaving));
		p->waiting = 0;
		p->base = cycle;
		return;
	}
	for (; p->base < cycle; p->base++) {
		p->waiting -= p->leaving[p->base & MASK];
		p->leaving[p->base & MASK] = 0;
		for (uint64_t left = p->busy[p->base & MASK]; left; left &= left - 1)
			p->queues[__builtin_ctzll(left)]--;
		p->busy[p->base & MASK] = 0;
	}
}

uint64_t ports_wait_scheduler(struct ports *p, uint64_t cycle, unsigned size)
{
	advance(p, cycle);
	while (p->waiting >= size)
		advance(p, p->base + 1);
	return p->base;
}

void ports_enter_scheduler(struct ports *p, unsigned count, uint64_t leaves)
{
	/* What leaves beyond the calendar is taken to leave at its end. */
	if (leaves >= p->base + PORTS_CYCLES)
		leaves = p->base + PORTS_CYCLES - 1;
	if (leaves < p->base)
		leaves = p->base;
	p->leaving[leaves & MASK] = (uint16_t)(p->leaving[leaves & MASK] + count);
	p->waiting += count;
}

/* The port with the shortest queue where operations are bound, else the least used. */
static unsigned choose(const struct ports *p, uint64_t free)
{
	unsigned best = (unsigned)__builtin_ctzll(free);

	for (uint64_t rest = free & (free - 1); rest; rest &= rest - 1) {
		unsigned port = (unsigned)__builtin_ctzll(rest);

		if (p->bound && p->queues[port] != p->queues[best]
			    ? p->queues[port] < p->queues[best]
			    : p->load[port] < p->load[best])
			best = port;
	}
	return best;
}

static void count_load(struct ports *p, unsigned port, unsigned cycles)
{
	p->load[port] += cycles;
	if (++p->taken < LOAD_HALVE)
		return;
	p->taken = 0;
	for (unsigned i = 0; i < MACHINE_PORTS_MAX; i++)
		p->load[i] /= 2;
}

/* Ports of a set that are free for so many cycles from one on. */
static uint64_t free_for(const struct ports *p, uint64_t ports, uint64_t cycle, unsigned cycles)
{
	for (unsigned i = 0; i < cycles && ports; i++)
		ports &= ~p->busy[(cycle + i) & MASK];
	return ports;
}

static uint64_t take_one(struct ports *p, uint64_t ports, unsigned cycles, uint64_t ready)
{
	if (p->bound)
		ports = UINT64_C(1) << choose(p, ports);
	unsigned hint = (unsigned)(hash_u64(ports) % PORTS_HINTS);
	uint64_t c = ready, free = 0, end = p->base + PORTS_CYCLES - cycles;
	uint64_t *from = &p->hints[hint].from, *to = &p->hints[hint].to;
	bool known = p->hints[hint].ports == ports;

	if (known && c >= *from && c < *to)
		c = *to;
	while (c < end && !(free = free_for(p, ports, c, cycles)))
		c++;
	if (cycles == 1 && c > ready) {
		/* Joins what was known to be full when they touch. */
		if (!known || ready > *to || c < *from) {
			p->hints[hint].ports = ports;
			*from = ready;
			*to = c;
		} else {
			*from = ready < *from ? ready : *from;
			*to = c > *to ? c : *to;
		}
	}
	if (!free) /* beyond the calendar */
		return c;
	unsigned port = choose(p, free);
	for (unsigned i = 0; i < cycles; i++)
		p->busy[(c + i) & MASK] |= UINT64_C(1) << port;
	p->queues[port] += cycles;
	count_load(p, port, cycles);
	return c;
}

uint64_t ports_take(struct ports *p, const struct machine_use *use, uint64_t ready,
		    uint8_t *ret_port)
{
	uint64_t last = ready;
	unsigned cycles = use->cycles < PORTS_CYCLES / 2 ? use->cycles : PORTS_CYCLES / 2;

	if (!use->ports || ready >= p->base + PORTS_CYCLES - cycles)
		return ready;
	for (unsigned i = 0; i < use->count; i++) {
		uint64_t c = take_one(p, use->ports, cycles ? cycles : 1, ready);

		last = c > last ? c : last;
	}
	if (last > ready)
		*ret_port = (uint8_t)__builtin_ctzll(use->ports);
	return last;
}
