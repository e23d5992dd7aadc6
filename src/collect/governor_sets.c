/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which working sets are measured for how long, and what follows: no clock and no event here. */
#include <math.h>

#include "collect/governor.h"
#include "collect/host.h"

#define BURST	      12   /* pairs of one set in a row */
#define PAIRS_NEEDED  24   /* of each set */
#define PAIRS_WANTED  144  /* at most */
#define ERROR_ENOUGH  0.05 /* of the cost: a budget is no more exact than that */
#define COST_LEAST_NS 20.0
#define COST_MOST_NS  1000000.0

struct pairs {
	double values[PAIRS_WANTED]; /* cost of a sample by each */
	unsigned count, discarded;
	struct governor_cost cost; /* of these */
};

bool governor_cost_is_sane(const struct governor_cost *c)
{
	return c->cost_ns >= COST_LEAST_NS && c->cost_ns <= COST_MOST_NS && c->error_ns >= 0 &&
	       c->error_ns <= c->cost_ns / 2;
}

/* A slice with the event against the mean of the two around it. */
static void measure_burst(const struct governor_bench *b, enum governor_set set, double deadline_ns,
			  struct pairs *p)
{
	double samples, off, on, next_off;

	b->begin(b->arg, set);
	off = b->slice(b->arg, set, false, &samples);
	for (int i = 0; i < BURST && p->count < PAIRS_WANTED; i++) {
		if (b->now_ns(b->arg) >= deadline_ns)
			break;
		samples = 0;
		on = b->slice(b->arg, set, true, &samples);
		next_off = b->slice(b->arg, set, false, &(double){0});
		if (off > 0 && on > 0 && next_off > 0 && samples >= 1)
			p->values[p->count++] = (on - (off + next_off) / 2) / samples;
		else
			p->discarded++;
		off = next_off;
	}
	governor_summarize(p->values, p->count, &p->cost);
}

static bool is_known(const struct pairs *p)
{
	return p->count >= PAIRS_NEEDED && governor_cost_is_sane(&p->cost);
}

static enum governor_set dearest(const struct pairs *p)
{
	enum governor_set best = 0;

	for (enum governor_set set = 1; set < GOVERNOR_SETS; set++)
		if (is_known(&p[set]) &&
		    (!is_known(&p[best]) || p[set].cost.cost_ns > p[best].cost.cost_ns))
			best = set;
	return best;
}

static void measure_all(const struct governor_bench *b, double deadline_ns, struct pairs *p)
{
	bool more = true;

	/* In turns: what changes on the machine meanwhile meets all of them. */
	while (more && b->now_ns(b->arg) < deadline_ns) {
		more = false;
		for (enum governor_set set = 0; set < GOVERNOR_SETS; set++) {
			if (p[set].count >= PAIRS_NEEDED)
				continue;
			measure_burst(b, set, deadline_ns, &p[set]);
			more = true;
		}
	}
	while (b->now_ns(b->arg) < deadline_ns) {
		struct pairs *most = &p[dearest(p)];

		if (most->count >= PAIRS_WANTED ||
		    (is_known(most) && most->cost.error_ns <= ERROR_ENOUGH * most->cost.cost_ns))
			break;
		measure_burst(b, (enum governor_set)(most - p), deadline_ns, most);
	}
}

/* Of the sets that are known none may stand for one that is not. */
static void use_default(const struct pairs *p, double default_ns, struct governor_cost *ret)
{
	bool busy = false;

	for (enum governor_set set = 0; set < GOVERNOR_SETS; set++)
		busy |= p[set].count < PAIRS_NEEDED;
	ret->measured = false;
	ret->why = busy ? "the machine was too busy to measure"
			: "what was measured makes no sense on so noisy a machine";
	if (!(governor_cost_is_sane(ret) && ret->cost_ns > default_ns))
		ret->cost_ns = default_ns;
	ret->error_ns = 0;
	ret->low_ns = ret->high_ns = ret->cost_ns;
}

enum governor_set governor_measure_sets(const struct governor_bench *b, double patience_ns,
					double default_ns, struct governor_cost *ret)
{
	struct pairs p[GOVERNOR_SETS] = {0};
	bool known = true;
	enum governor_set most;

	measure_all(b, b->now_ns(b->arg) + patience_ns, p);
	most = dearest(p);
	*ret = p[most].cost;
	ret->measured = true;
	ret->why = "";
	for (enum governor_set set = 0; set < GOVERNOR_SETS; set++) {
		known &= is_known(&p[set]);
		ret->discarded += p[set].discarded;
	}
	if (!known)
		use_default(p, default_ns, ret);
	return most;
}
