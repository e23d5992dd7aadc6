/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/diff_rows.h"

#include <errno.h>
#include <stdlib.h>

enum rank_by diff_rank(enum diff_by by)
{
	static const enum rank_by ranks[] = {
		[DIFF_FUNCTION] = RANK_FUNCTION, [DIFF_IMAGE] = RANK_IMAGE,
		[DIFF_FILE] = RANK_FILE,	 [DIFF_LINE] = RANK_LINE,
		[DIFF_BLOCK] = RANK_FUNCTION,	 [DIFF_INSTRUCTION] = RANK_FUNCTION,
	};

	return ranks[by];
}

static int find_code(void *arg, const struct image_id *id, const char *path, uint64_t address,
		     size_t size, uint8_t **ret_data, size_t *ret_size, struct diag *diag)
{
	const struct report_session *s = arg;

	return image_find_code(s->finder, id, path, address, size, ret_data, ret_size, diag);
}

static void find_machine(void *arg, const struct image_id *id, const char *path,
			 uint16_t *ret_machine, unsigned *ret_bits)
{
	const struct report_session *s = arg;

	image_find_machine(s->finder, id, path, ret_machine, ret_bits);
}

static struct diff_side make_side(const struct set *one)
{
	struct rank_source source = report_session_source(&one->session);

	return (struct diff_side){
		.match = {one->rank, source.symbols, find_code, find_machine, source.arg},
		.query = one->session.query,
		.event = one->event,
		.graphs = source,
	};
}

static void take_pair(struct diff_rows *d, const struct match_pair *pair)
{
	struct diff_row *row = &d->list[d->count];

	*row = (struct diff_row){.pair = pair, .address = {ISA_NO_ADDRESS, ISA_NO_ADDRESS}};
	for (int s = 0; s < 2; s++)
		if (pair->row[s])
			row->count[s] = pair->row[s]->counts[d->sides[s].event];
	/* Rows of other events alone. */
	d->count += row->count[0] || row->count[1];
}

static int collect(struct diff_rows *d, enum diff_by by)
{
	if (by != DIFF_BLOCK && by != DIFF_INSTRUCTION) {
		d->list = calloc(d->match->count + 1, sizeof(*d->list));
		for (size_t i = 0; d->list && i < d->match->count; i++)
			take_pair(d, &d->match->pairs[i]);
		return d->list ? 0 : -ENOMEM;
	}
	int r = diff_code_new(d->sides, d->match, by == DIFF_BLOCK, &d->code);
	if (r)
		return r;
	d->list = calloc(d->code->count + 1, sizeof(*d->list));
	if (!d->list)
		return -ENOMEM;
	for (size_t i = 0; i < d->code->count; i++) {
		const struct diff_unit *u = &d->code->units[i];

		if (u->count[0] || u->count[1])
			d->list[d->count++] = (struct diff_row){u->pair,
								{u->address[0], u->address[1]},
								{u->end[0], u->end[1]},
								{u->count[0], u->count[1]},
								NULL};
	}
	return 0;
}

static int judge(struct diff_rows *d, const struct sets *sets, bool shares, double false_alarms)
{
	int r = stats_new(2, &d->stats);

	for (size_t s = 0; s < 2 && !r; s++)
		stats_set(d->stats, s,
			  &(struct stats_set){sets->list[s]->samples, sets->list[s]->weight});
	for (size_t i = 0; i < d->count && !r; i++) {
		r = stats_add_row(d->stats) < 0 ? -ENOMEM : 0;
		for (size_t s = 0; s < 2 && !r; s++)
			stats_count(d->stats, i, s, d->list[i].count[s]);
	}
	if (!r)
		r = stats_finish(d->stats, shares, false_alarms);
	for (size_t i = 0; i < d->count && !r; i++)
		d->list[i].stats = stats_row_at(d->stats, i);
	return r;
}

/* Lines move when others are added above them: the code that was made of them tells where to. */
static int match_the_lines(const struct sets *sets, struct diff_rows *d, struct match_side *first)
{
	const struct rank_options by = {.by = RANK_FUNCTION, .idle = true};
	const struct rank *lines[2] = {sets->list[0]->rank, sets->list[1]->rank};
	struct diff_side sides[2] = {d->sides[0], d->sides[1]};
	int r = 0;

	for (size_t s = 0; s < 2 && !r; s++) {
		r = rank_new(sets->list[s]->session.query, &by, &sides[s].graphs, &d->functions[s],
			     NULL);
		sides[s].match.rank = d->functions[s];
	}
	if (!r)
		r = match_lines_new(sides, lines, &d->lines);
	if (!r)
		first->lines = d->lines->of;
	return r;
}

int diff_rows_new(const struct sets *sets, enum diff_by by, bool shares, double false_alarms,
		  struct diff_rows *ret)
{
	struct match_side match[2];

	for (size_t s = 0; s < 2; s++) {
		ret->sides[s] = make_side(sets->list[s]);
		match[s] = ret->sides[s].match;
	}
	int r = by == DIFF_LINE ? match_the_lines(sets, ret, &match[0]) : 0;
	if (!r)
		r = match_new(match, &ret->match);
	if (!r)
		r = collect(ret, by);
	return r ? r : judge(ret, sets, shares, false_alarms);
}

void diff_rows_free(struct diff_rows *d)
{
	free(d->list);
	diff_code_free(d->code);
	match_free(d->match);
	match_lines_free(d->lines);
	rank_free(d->functions[0]);
	rank_free(d->functions[1]);
	stats_free(d->stats);
}
