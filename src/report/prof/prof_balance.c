/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/prof/prof_balance.h"

#include <errno.h>
#include <stdlib.h>
#include "util/hash.h"
#include "util/identity.h"
#include "util/num.h"
#include "util/text.h"

#define NOTES_MAX 10

struct program {
	size_t first, count; /* of its processes in samples */
	struct balance balance;
};

struct prof_balance {
	struct intern *names; /* of programs, by their number */
	struct program *programs;
	uint64_t *samples;     /* of the processes, program by program */
	uint32_t *programs_of; /* of each row */
	const struct rank *rank;
	int of_mean, processes, least, mean, most, imbalance, chance; /* columns */
};

/* Numbers the programs of the rows, and counts the processes of each. */
static int find_programs(struct prof_balance *b, const struct query *q)
{
	for (size_t i = 0; i < b->rank->row_count; i++) {
		size_t size = 0, n = 0;
		const void *subject = intern_get(q->groups, b->rank->rows[i].group, &size);
		const char *comm = subject ? subject_get(subject, size, "comm", &n) : NULL;
		int r = intern_add(b->names, comm ? comm : "", comm ? n : 0, &b->programs_of[i]);

		if (r)
			return r;
		b->programs[b->programs_of[i]].count++;
	}
	return 0;
}

static void find_balances(struct prof_balance *b)
{
	uint32_t count = intern_count(b->names);
	size_t at = 0;

	for (uint32_t p = 0; p < count; p++) {
		b->programs[p].first = at;
		at += b->programs[p].count;
		b->programs[p].count = 0;
	}
	for (size_t i = 0; i < b->rank->row_count; i++) {
		struct program *p = &b->programs[b->programs_of[i]];

		b->samples[p->first + p->count++] = b->rank->rows[i].counts[0];
	}
	for (uint32_t p = 0; p < count; p++)
		balance_find(b->samples + b->programs[p].first, b->programs[p].count,
			     &b->programs[p].balance);
}

int prof_balance_new(const struct query *q, const struct rank *k, struct prof_balance **ret)
{
	struct prof_balance *b = calloc(1, sizeof(*b));
	int r = -ENOMEM;

	if (!b)
		return -ENOMEM;
	b->rank = k;
	b->names = intern_new(UINT32_MAX / 2);
	b->programs = calloc(k->row_count + 1, sizeof(*b->programs));
	b->samples = calloc(k->row_count + 1, sizeof(*b->samples));
	b->programs_of = calloc(k->row_count + 1, sizeof(*b->programs_of));
	if (b->names && b->programs && b->samples && b->programs_of)
		r = find_programs(b, q);
	if (r) {
		prof_balance_free(b);
		return r;
	}
	find_balances(b);
	*ret = b;
	return 0;
}

void prof_balance_free(struct prof_balance *b)
{
	if (!b)
		return;
	intern_free(b->names);
	free(b->programs);
	free(b->samples);
	free(b->programs_of);
	free(b);
}

void prof_balance_add_columns(struct prof_balance *b, struct table *t)
{
	if (!b)
		return;
	b->of_mean = table_add_column(t, TABLE_PERCENT, "percent_of_mean", "of mean%");
	b->processes = table_add_group_column(t, TABLE_COUNT, "program", "processes", NULL);
	b->least = table_add_group_column(t, TABLE_COUNT, "program", "min", NULL);
	b->mean = table_add_group_column(t, TABLE_REAL, "program", "mean", NULL);
	b->most = table_add_group_column(t, TABLE_COUNT, "program", "max", NULL);
	b->imbalance =
		table_add_group_column(t, TABLE_PERCENT, "program", "imbalance_percent", NULL);
	b->chance = table_add_group_column(t, TABLE_REAL, "program", "chance", NULL);
}

void prof_balance_set(const struct prof_balance *b, struct table *t, size_t row)
{
	const struct balance *p;

	if (!b)
		return;
	p = &b->programs[b->programs_of[row]].balance;
	if (p->count > 1 && p->sum)
		table_set_real(t, b->of_mean, 100 * (double)b->rank->rows[row].counts[0] / p->mean);
	table_set_count(t, b->processes, p->count);
	table_set_count(t, b->least, p->least);
	table_set_real(t, b->mean, p->mean);
	table_set_count(t, b->most, p->most);
	table_set_real(t, b->imbalance, p->imbalance);
	table_set_real(t, b->chance, p->chance);
}

static int compare_programs(const void *x, const void *y, void *arg)
{
	const struct program *programs = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	const struct balance *a = &programs[i].balance, *b = &programs[j].balance;
	int d = NUM_ORDER(b->sum, a->sum);

	return d ? d : NUM_ORDER(i, j);
}

static void note_program(const struct prof_balance *b, uint32_t program, struct report_header *h)
{
	const struct balance *p = &b->programs[program].balance;
	char name[200], chance[32];
	size_t size;
	const char *text = intern_get(b->names, program, &size);

	text_escape(name, sizeof(name), text, size);
	snprintf(chance, sizeof(chance), p->chance < 1e-9 ? "under 1e-9" : "%.2g", p->chance);
	report_header_note(h,
			   "%s: %zu processes, samples min %llu, mean %.2f, max %llu: imbalance "
			   "%.2f%%; the chance of as much by sampling alone is %s",
			   name, p->count, (unsigned long long)p->least, p->mean,
			   (unsigned long long)p->most, p->imbalance, chance);
}

void prof_balance_note(const struct prof_balance *b, struct report_header *h)
{
	uint32_t *list, all, count = 0;

	if (!b)
		return;
	all = intern_count(b->names);
	list = report_header_list(h, all, sizeof(*list));
	if (!list)
		return;
	for (uint32_t p = 0; p < all; p++)
		if (b->programs[p].balance.count > 1 && b->programs[p].balance.sum)
			list[count++] = p;
	qsort_r(list, count, sizeof(*list), compare_programs, b->programs);
	for (uint32_t i = 0; i < count && i < NOTES_MAX; i++)
		note_program(b, list[i], h);
	if (count > NOTES_MAX)
		report_header_note(h, "%u more %s several processes (see --csv)", count - NOTES_MAX,
				   text_plural(count - NOTES_MAX, "program has", "programs have"));
	free(list);
}
