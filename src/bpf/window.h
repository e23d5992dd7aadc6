/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WINDOW_H
#define CULPRIT_BPF_WINDOW_H

/* What an interpreted window reports: its transfers of control, and two of its loads. */
#include "wire_edges.h"

struct window_record {
	/* Loads so far; of those that might be touches, which one is chosen, and where it is. */
	wire_u32 loads, choice;
	wire_u64 random;
	struct wire_place chosen;
	struct wire_window window;
};

static inline void window_begin(struct window_record *r)
{
	r->window.edge_count = 0;
	r->window.touch_count = 0;
	r->loads = 0;
	r->random = r->random * 6364136223846793005ull + 1442695040888963407ull; /* Knuth's */
	r->choice = r->random >> 32 & (WIRE_TOUCH_CHOICE - 1);
}

static inline void window_transfer(struct window_record *r, struct wire_place from,
				   struct wire_place to)
{
	wire_u32 n = r->window.edge_count & (WIRE_WINDOW_INSTRUCTIONS - 1);
	struct wire_edge e = {from.offset, to.offset, from.slot, to.slot};

	r->window.edge[n] = e;
	r->window.edge_count = n + 1;
}

/* The first load's touches are kept until the chosen one comes, and from then on that one's. */
static inline void window_load(struct window_record *r, struct wire_place at, wire_u64 address)
{
	wire_u32 number = r->loads++, place = r->window.touch_count;

	if (number == 0 || number == r->choice)
		r->chosen = at;
	if (at.offset != r->chosen.offset || at.slot != r->chosen.slot ||
	    place >= WIRE_WINDOW_TOUCHES)
		return;

	struct wire_touch *t = &r->window.touch[place & (WIRE_WINDOW_TOUCHES - 1)];

	r->window.touch_count = place + 1;
	t->line = address >> 6;
	t->at = at;
}

#endif
