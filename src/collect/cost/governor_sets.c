/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which working sets are measured for how long, and what follows: no clock and no event here. */
#include <math.h>
#include <string.h>

#include "collect/cost/governor.h"

#define BURST	      12   /* pairs of one set in a row */
#define PAIRS_NEEDED  24   /* of each set */
#define PAIRS_AGAIN   4	   /* a look of a watch */
#define AGAIN_MOST_NS 50e6 /* which goes ahead of all others, so it ends */
#define ERROR_ENOUGH  0.05 /* of the cost: a budget is no more exact than that */
#define COST_LEAST_NS 20.0
#define COST_MOST_NS  1000000.0
#define CHANGE_MOST   4.0
#define ERROR_MOST    0.1   /* of the cost */
#define BUSY_SHARE    0.25  /* of the other CPUs' time */
#define SURE_ERRORS   1.645 /* a normal mean is that many of them above the truth 1 of 20 times */
#define CHANCE_ERRORS 4	    /* it is asked again and again: 1 of 16,000 each time, were it normal */

struct pairs {
	double values[GOVERNOR_PAIRS]; /* cost of a sample by each */
	unsigned count, discarded;
	struct governor_cost cost; /* of these */
};

bool governor_cost_is_sane(const struct governor_cost *c)
{
	return c->cost_ns >= COST_LEAST_NS && c->cost_ns <= COST_MOST_NS && c->error_ns >= 0 &&
	       c->error_ns <= c->cost_ns / 2;
}

bool governor_was_busy(uint64_t idle_ns, uint64_t passed_ns, long cpus)
{
	return cpus > 1 &&
	       (double)idle_ns < (1 - BUSY_SHARE) * (double)(cpus - 1) * (double)passed_ns;
}

double governor_charge(const struct governor_cost *c)
{
	return c->cost_ns + SURE_ERRORS * c->error_ns;
}

double governor_trust(double start_ns, double again_ns)
{
	return fmax(start_ns / CHANGE_MOST, fmin(again_ns, start_ns * CHANGE_MOST));
}

bool governor_tells(const struct governor_cost *c, double believed_ns)
{
	return c->error_ns < ERROR_MOST * c->cost_ns ||
	       fabs(c->cost_ns - believed_ns) > CHANCE_ERRORS * c->error_ns;
}

/* A slice with the event against the mean of the two around it. */
static void measure_burst(const struct governor_bench *b, enum governor_set set, double deadline_ns,
			  unsigned wanted, struct pairs *p)
{
	double samples, off, on, next_off;

	b->begin(b->arg, set);
	off = b->slice(b->arg, set, false, &samples);
	for (unsigned i = 0; i < wanted && p->count < GOVERNOR_PAIRS; i++) {
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
			measure_burst(b, set, deadline_ns, BURST, &p[set]);
			more = true;
		}
	}
	while (b->now_ns(b->arg) < deadline_ns) {
		struct pairs *most = &p[dearest(p)];

		if (most->count >= GOVERNOR_PAIRS ||
		    (is_known(most) && most->cost.error_ns <= ERROR_ENOUGH * most->cost.cost_ns))
			break;
		measure_burst(b, (enum governor_set)(most - p), deadline_ns, BURST, most);
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
			: "the measurement makes no sense: the machine is too noisy";
	if (!(governor_cost_is_sane(ret) && ret->cost_ns > default_ns))
		ret->cost_ns = default_ns;
	ret->error_ns = 0;
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

bool governor_measure_again(const struct governor_bench *b, enum governor_set set,
			    struct governor_recent *recent, struct governor_cost *ret)
{
	struct pairs now = {.count = 0}, all = {.count = 0};

	measure_burst(b, set, b->now_ns(b->arg) + AGAIN_MOST_NS, PAIRS_AGAIN, &now);
	for (unsigned i = 0; i < now.count; i++) {
		recent->values[recent->next] = now.values[i];
		recent->next = (recent->next + 1) % GOVERNOR_PAIRS;
		recent->count += recent->count < GOVERNOR_PAIRS;
	}
	all.count = recent->count;
	memcpy(all.values, recent->values, recent->count * sizeof(*all.values));
	governor_summarize(all.values, all.count, &all.cost);
	if (!is_known(&all))
		return false;
	*ret = all.cost;
	ret->measured = true;
	ret->why = "";
	return true;
}
