/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/counts.h"

#include <stdio.h>
#include <string.h>
#include "db/batch.h"
#include "db/paths.h"
#include "util/text.h"

void counts_fill_config(struct counting *c, struct session_config *config)
{
	counting_fill_originals(c, &config->originals);
	config->other_cpu_ns = counting_cpu_ns;
	config->other = c;
}

#define SAMPLES_LEAST 100 /* that say which functions take its time */

static void count_sample(void *arg, const struct session_sample *one)
{
	*(uint64_t *)arg += one->count;
}

static void give_sample(void *arg, const struct session_sample *one)
{
	counting_take_sample(arg, one->image, one->path, one->address, one->count);
}

void counts_give_samples(struct counting *c, struct session *s)
{
	uint64_t samples = 0;

	if (!counting_wants_samples(c))
		return;
	session_each_sample(s, count_sample, &samples);
	if (samples < SAMPLES_LEAST)
		return;
	session_each_sample(s, give_sample, c);
	counting_take_samples_end(c);
}

static int store_edge(void *arg, const struct db_execution *e)
{
	return session_add_count(arg, e);
}

_Static_assert((int)INSTRUMENT_PATH_RETURN + 1 == DB_PATH_RETURN &&
		       (int)INSTRUMENT_PATH_BACK + 1 == DB_PATH_BACK &&
		       (int)INSTRUMENT_PATH_CUT + 1 == DB_PATH_CUT &&
		       (int)INSTRUMENT_PATH_LEFT + 1 == DB_PATH_LEFT &&
		       (int)INSTRUMENT_PATH_CALL + 1 == DB_PATH_CALL,
	       "the ends of paths are in one order");

struct storing {
	struct session *session;
	struct counting_paths *report;
};

static int store_path(void *arg, const struct counting_path *p)
{
	const struct storing *w = arg;
	const struct db_path path = {.function = p->function,
				     .blocks = p->blocks,
				     .block_count = (uint32_t)p->block_count,
				     .end = (enum db_path_end)(p->end + 1),
				     .to = p->to};

	if (p->block_count > DB_PATH_BLOCKS_MAX) {
		w->report->longer += p->count;
		return 0;
	}
	return session_add_path(w->session, p->image, p->path, &path, p->count);
}

/* What the counts are of: all of the run, part of it, or bursts. */
static int store_fact(struct session *s, bool whole, const struct counting_report *r)
{
	return session_fact(s, r->of_paths ? DB_PATHS_FACT : DB_COUNTS_FACT,
			    !whole	      ? DB_COUNTS_PART
			    : r->bursts.count ? DB_COUNTS_BURSTS
					      : DB_COUNTS_WHOLE);
}

int counts_store(struct counting *c, struct session *s, bool all, struct counting_report *ret,
		 struct diag *diag)
{
	bool whole;
	int r;

	counting_stop(c);
	counting_read_report(c, ret);
	whole = !all && !ret->of_running && counting_is_whole(ret);
	session_add_counters(s, &counters_of_attach, &ret->attach);
	session_add_counters(s, &counters_of_bursts, &ret->bursts);
	session_add_counters(s, &counters_of_counting, ret);
	session_add_counters(s, &counters_of_misses, ret->missed);
	r = counting_each(c, store_edge, s);
	r = r ?: counting_each_path(c, store_path, &(struct storing){s, &ret->paths});
	session_add_counters(s, &counters_of_paths, &ret->paths);
	r = r ?: store_fact(s, whole, ret);
	return r ? diag_fail(diag, -r, "the counts cannot be stored: %s", strerror(-r)) : 0;
}

static void tell_left(uint64_t count, const char *why)
{
	if (count)
		fprintf(stderr, "culprit: not counted: %llu %s: %s\n",
			TEXT_COUNT(count, "function", "functions"), why);
}

static void tell_reasons(const struct counting_report *r)
{
	for (int i = 0; i < INSTRUMENT_REASONS; i++)
		tell_left(r->left[i], instrument_reason_text(i));
	for (unsigned i = 0; i < COUNTING_LEFTS; i++)
		tell_left(r->left_late[i], counting_left_text(i));
	if (r->inconsistent)
		fprintf(stderr, "culprit: the counts of %llu %s do not fit together\n",
			TEXT_COUNT(r->inconsistent, "function", "functions"));
	if (r->attach.patches_gone)
		fprintf(stderr,
			"culprit: %llu %s into copies had been overwritten or unmapped before "
			"culprit removed them\n",
			TEXT_COUNT(r->attach.patches_gone, "jump", "jumps"));
}

static void tell_counters(const struct counter_list *list, const uint64_t *values)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct counter *c = &list->counters[i];

		if (values[i] && c->told.one)
			fprintf(stderr, "culprit: %llu %s %s\n",
				TEXT_COUNT(values[i], c->told.one, c->told.many), c->told.rest);
	}
}

static void tell_bursts(const struct counting_bursts *b)
{
	const double each = (double)b->count;

	fprintf(stderr,
		"culprit: counted in %llu %s, which cover %.3g s of %.3g s of CPU time, and took "
		"%.0f%% longer for it; stopped for %.0f us in each, at most %.0f us\n",
		TEXT_COUNT(b->count, "burst", "bursts"), (double)b->counted_ns / 1e9,
		(double)b->total_ns / 1e9,
		b->counted_ns ? 100 * ((double)b->ran_ns / (double)b->counted_ns - 1) : 0,
		each > 0 ? (double)b->stopped_ns / each / 1e3 : 0, (double)b->longest_ns / 1e3);
	if (b->failed)
		fprintf(stderr, "culprit: %llu more %s not be counted\n",
			TEXT_COUNT(b->failed, "burst could", "bursts could"));
}

void counts_tell(const struct counting_report *r, bool quiet, bool verbose)
{
	if (!quiet)
		fprintf(stderr, "culprit: counted %llu of %llu %s of %llu %s, in %llu %s%s\n",
			(unsigned long long)r->counted,
			TEXT_COUNT(r->functions, "function", "functions"),
			TEXT_COUNT(r->images, "file", "files"),
			TEXT_COUNT(r->programs, "program", "programs"),
			verbose || r->counted == r->functions ? ""
							      : " (-v says why not the others)");
	if (!quiet && r->bursts.count)
		tell_bursts(&r->bursts);
	if (verbose && !quiet)
		tell_reasons(r);
	if (r->of_paths && !quiet)
		tell_counters(&counters_of_paths, &r->paths.executions);
	for (unsigned i = 0; i < COUNTING_MISSES; i++) {
		const struct counter *c = &counters_of_misses.counters[i];

		if (r->missed[i])
			fprintf(stderr, "culprit: %llu %s %s%s: %s\n",
				TEXT_COUNT(r->missed[i], c->told.one, c->told.many), c->told.rest,
				r->missed[i] > r->of_why[i] ? ", the first" : "", r->why[i].text);
	}
	if (!counting_is_whole(r))
		fputs("culprit: so the counts cover only part of the run\n", stderr);
}
