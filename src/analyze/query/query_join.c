/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Ticks are many and cost nothing, but they are not random: work that is in step with them is
 * counted too often or never. Random samples are few and right on an average. For a group of code
 * both estimate the same time: T by ticks, R by random samples, with the variances of counts.
 *
 * Where no more than chance is between them the best of both is the mean weighted by the inverse
 * of their variances, which is the sum of the samples at the sum of the rates. Where more is, the
 * ticks have an error of their own: its square is estimated by (T - R)^2 less what chance explains
 * (DerSimonian and Laird's estimate, of two) and added to their variance. So the weight of the
 * ticks falls from the pooled one at a difference of one standard error to nearly nothing at three,
 * and what is left of their error is at most one standard error of the random samples, whatever the
 * program does. Of a group with few samples the square says nothing, and would favor places that
 * are met rarely: the few samples of a piece's small parts are judged together.
 *
 * It is asked of all code first, then of each image (of each subject), then of smaller and smaller
 * pieces of it; the parts of a piece always have together what was found for it. Functions need not
 * be known.
 */
#include "analyze/query/query_join.h"

#include <math.h>
#include <string.h>
#include "analyze/query/query_state.h"
#include "util/num.h"

#define TIMER_NAME "cpu-clock"

/* Random samples that a group is worth, by either kind, to be judged by itself. */
#define MANY 8.0
/* Bits of the addresses within a piece, from level to level. */
static const unsigned levels[] = {16, 12, 9, 7, 6, 5, 4, 3, 0};
#define LEVELS (sizeof(levels) / sizeof(levels[0]))

struct join {
	struct query *q;
	uint32_t tick, timer; /* events */
	struct join_periods periods;
	double period_ns; /* of both together */
	double carry;	  /* what rounding has left, in samples */
	double moved_ns, sum_ns;
};

/* What a group's time is by either kind, in parts of what its samples say. */
struct worth {
	double ticks, timers;
};

static double pooled_ns(const struct join_periods *p, const struct join_sums *s)
{
	return (s->ticks_ns * p->timer_ns + s->timers_ns * p->tick_ns) / (p->timer_ns + p->tick_ns);
}

double join_weight(const struct join_periods *p, const struct join_sums *s)
{
	double pooled = pooled_ns(p, s), difference = s->ticks_ns - s->timers_ns;
	double ticks = p->tick_ns * pooled, timers = p->timer_ns * pooled; /* variances */
	double own = fmax(0, difference * difference - ticks - timers);

	return timers > 0 ? timers / (timers + ticks + own) : 0;
}

static struct join_sums sum_rows(const struct join *j, const struct query_part *p, size_t first,
				 size_t end)
{
	struct join_sums s = {0};

	for (size_t i = first; i < end; i++)
		if (p->rows[i].event == j->tick)
			s.ticks_ns += (double)p->rows[i].count * j->periods.tick_ns;
		else if (p->rows[i].event == j->timer)
			s.timers_ns += (double)p->rows[i].count * j->periods.timer_ns;
	return s;
}

static double found_ns(struct worth w, const struct join_sums *s)
{
	return w.ticks * s->ticks_ns + w.timers * s->timers_ns;
}

/* A group that is judged by its parts. */
struct split {
	const struct join *j;
	double ns;	      /* that it has */
	struct worth whole;   /* were it by one kind alone */
	struct join_sums few; /* of all parts that are too small to be judged */
	double sum_ns;	      /* of all parts as they are judged */
};

static struct split begin_split(const struct join *j, const struct join_sums *s, double ns)
{
	struct split split = {.j = j, .ns = ns};

	split.whole.ticks = s->ticks_ns > 0 ? ns / s->ticks_ns : 0;
	split.whole.timers = s->timers_ns > 0 ? ns / s->timers_ns : 0;
	return split;
}

static bool is_large(const struct join *j, const struct join_sums *s)
{
	return fmax(s->ticks_ns, s->timers_ns) >= MANY * j->periods.timer_ns;
}

static struct worth judge(const struct split *split, const struct join_sums *s)
{
	const struct join_periods *of = &split->j->periods;
	struct worth w = split->whole;
	struct join_periods p = {of->tick_ns * w.ticks, of->timer_ns * w.timers};
	struct join_sums scaled = {s->ticks_ns * w.ticks, s->timers_ns * w.timers};
	double weight = w.timers > 0 ? join_weight(&p, &scaled) : 1;

	return (struct worth){w.ticks * weight, w.timers * (1 - weight)};
}

static void add_part(struct split *split, const struct join_sums *s)
{
	if (is_large(split->j, s)) {
		split->sum_ns += found_ns(judge(split, s), s);
	} else {
		split->few.ticks_ns += s->ticks_ns;
		split->few.timers_ns += s->timers_ns;
	}
}

static void end_split(struct split *split)
{
	split->sum_ns += found_ns(judge(split, &split->few), &split->few);
}

static struct worth part_worth(const struct split *split, const struct join_sums *s)
{
	struct worth w = judge(split, is_large(split->j, s) ? s : &split->few);
	double scale = split->sum_ns > 0 ? split->ns / split->sum_ns : 0;

	return (struct worth){w.ticks * scale, w.timers * scale};
}

static uint64_t round_samples(struct join *j, double ns)
{
	double samples = ns / j->period_ns + j->carry, whole = floor(samples);

	j->carry = samples - whole;
	return whole < 0x1p63 ? (uint64_t)whole : UINT64_MAX;
}

static void tell(struct join *j, const struct join_sums *s, struct worth w)
{
	double found = found_ns(w, s);

	j->moved_ns += fabs(found - pooled_ns(&j->periods, s));
	j->sum_ns += found;
}

struct piece {
	size_t first, end; /* rows */
};

/* Rows become samples of both, where those of the timers are; which come to nothing have count 0.
 */
static void convert(struct join *j, struct query_part *p, struct piece piece, struct worth w)
{
	struct join_sums s = sum_rows(j, p, piece.first, piece.end);

	tell(j, &s, w);
	for (size_t i = piece.first; i < piece.end; i++) {
		struct query_row *row = &p->rows[i];
		double ns;

		if (row->event == j->tick)
			ns = w.ticks * j->periods.tick_ns;
		else if (row->event == j->timer)
			ns = w.timers * j->periods.timer_ns;
		else
			continue;
		row->count = round_samples(j, ns * (double)row->count);
		row->event = j->timer;
	}
}

/* The first level from one on that has a piece in more than one: nobody is judged twice. */
static size_t find_split(const struct query_part *p, struct piece piece, size_t level)
{
	uint64_t first = p->rows[piece.first].offset, last = p->rows[piece.end - 1].offset;

	while (level < LEVELS && first >> levels[level] == last >> levels[level])
		level++;
	return level;
}

/* The part of a piece that begins at a row. */
static struct piece part_at(const struct query_part *p, struct piece piece, size_t first,
			    unsigned bits)
{
	size_t end = first + 1;

	while (end < piece.end && p->rows[end].offset >> bits == p->rows[first].offset >> bits)
		end++;
	return (struct piece){first, end};
}

static void join_piece(struct join *j, struct query_part *p, struct piece piece, struct worth w,
		       size_t level)
{
	struct join_sums s = sum_rows(j, p, piece.first, piece.end);
	struct split split = begin_split(j, &s, found_ns(w, &s));
	struct piece part;

	level = find_split(p, piece, level);
	if (level == LEVELS || !is_large(j, &s)) {
		convert(j, p, piece, w);
		return;
	}
	for (size_t i = piece.first; i < piece.end; i = part.end) {
		part = part_at(p, piece, i, levels[level]);
		s = sum_rows(j, p, part.first, part.end);
		add_part(&split, &s);
	}
	end_split(&split);
	for (size_t i = piece.first; i < piece.end; i = part.end) {
		part = part_at(p, piece, i, levels[level]);
		s = sum_rows(j, p, part.first, part.end);
		join_piece(j, p, part, part_worth(&split, &s), level + 1);
	}
}

/* Two rows of a place are one now, and some are empty. */
static uint64_t close_rows(const struct join *j, struct query_part *p)
{
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		struct query_row row = p->rows[i];

		if (!row.count)
			continue;
		sum += row.event == j->timer ? row.count : 0;
		query_rows_put(p->rows, 0, &n, &row);
	}
	p->row_count = n;
	p->sorted = 0;
	return sum;
}

/* The only event of a name; false: there is none, or more than one. */
static bool find_one(const struct query *q, const char *name, uint32_t *ret)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < q->event_count; i++)
		if (q->events[i].periods && q->events[i].period &&
		    !strcmp(q->events[i].name, name)) {
			*ret = i;
			found++;
		}
	return found == 1;
}

/* Of samples that the query holds no rows of. */
static struct join_sums sum_rest(const struct join *j, const struct join_sums *all)
{
	struct join_sums rest = *all, s;

	for (size_t i = 0; i < j->q->part_count; i++) {
		s = sum_rows(j, &j->q->parts[i], 0, j->q->parts[i].row_count);
		rest.ticks_ns = fmax(0, rest.ticks_ns - s.ticks_ns);
		rest.timers_ns = fmax(0, rest.timers_ns - s.timers_ns);
	}
	return rest;
}

/* What both have together, but for samples and what was selected. */
static void join_totals(struct join *j, uint64_t samples, uint64_t selected)
{
	struct query_event *tick = &j->q->events[j->tick], *timer = &j->q->events[j->timer];
	uint64_t missing = tick->counted + timer->counted - tick->samples - timer->samples;

	timer->joined = (struct query_joined){
		.name = tick->name,
		.ticks = tick->samples,
		.timers = timer->samples,
		.moved_percent = j->sum_ns > 0 ? 50 * j->moved_ns / j->sum_ns : 0,
	};
	timer->period = (uint64_t)llround(j->period_ns);
	timer->samples = samples;
	timer->counted = num_add_sat(samples, missing <= INT64_MAX ? missing : 0);
	timer->selected = selected;
	timer->lost = num_add_sat(timer->lost, tick->lost);
	timer->unknown = num_add_sat(timer->unknown, tick->unknown);
	timer->flags &= tick->flags | DB_EVENT_RANDOMIZED;
	tick->periods = 0;
}

void query_join(struct query *q)
{
	struct join j = {.q = q, .carry = 0.5};
	struct join_sums all, rest, s;
	uint64_t samples = 0, selected = 0;
	struct split split;
	double weight;

	if (!find_one(q, DB_EVENT_TICK_NAME, &j.tick) || !find_one(q, TIMER_NAME, &j.timer))
		return;
	j.periods = (struct join_periods){(double)q->events[j.tick].period,
					  (double)q->events[j.timer].period};
	j.period_ns =
		j.periods.tick_ns * j.periods.timer_ns / (j.periods.tick_ns + j.periods.timer_ns);
	all = (struct join_sums){(double)q->events[j.tick].samples * j.periods.tick_ns,
				 (double)q->events[j.timer].samples * j.periods.timer_ns};
	rest = sum_rest(&j, &all);
	weight = join_weight(&j.periods, &all);
	split = begin_split(&j, &all, found_ns((struct worth){weight, 1 - weight}, &all));
	for (size_t i = 0; i < q->part_count; i++) {
		s = sum_rows(&j, &q->parts[i], 0, q->parts[i].row_count);
		add_part(&split, &s);
	}
	add_part(&split, &rest);
	end_split(&split);
	for (size_t i = 0; i < q->part_count; i++) {
		struct query_part *p = &q->parts[i];
		uint64_t sum;

		if (!p->row_count)
			continue;
		s = sum_rows(&j, p, 0, p->row_count);
		join_piece(&j, p, (struct piece){0, p->row_count}, part_worth(&split, &s), 0);
		sum = close_rows(&j, p);
		samples += sum;
		selected += p->selected ? sum : 0;
	}
	tell(&j, &rest, part_worth(&split, &rest));
	samples += round_samples(&j, found_ns(part_worth(&split, &rest), &rest));
	join_totals(&j, samples, selected);
}
