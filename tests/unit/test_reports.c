/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Every report, made without the program: of a database of a small one, whose samples are known.
 * What is asserted of each is that its numbers add up to these, and that it can be written as text
 * and as what programs read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include "image/facts.h"
#include "image/worker/worker.h"
#include "report/browse/browse.h"
#include "report/calls/calls.h"
#include "report/code/calc.h"
#include "report/code/cfg.h"
#include "report/code/list.h"
#include "report/code/inst.h"
#include "report/paths/paths.h"
#include "report/code/stalls.h"
#include "report/code/summary.h"
#include "report/compare/diff.h"
#include "report/compare/stats.h"
#include "report/database/epochs.h"
#include "report/database/verify.h"
#include "report/export/export.h"
#include "report/prof/prof.h"
#include "report/prof/top_view.h"
#include "report/why/why.h"
#include "report_bench.h"

static void prof_ranks_functions(void **state)
{
	const struct prof_options o = {.table.inclusive = false};
	struct prof_report made;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(prof_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	assert_int_equal(made.rank->totals[0], 2 * EPOCH);
	assert_int_equal(made.rank->row_count, 2);
	assert_string_equal(made.rank->rows[0].function, "hot");
	assert_int_equal(made.rank->rows[0].counts[0], 2 * HOT);
	assert_int_equal(b.header.epoch_count, 2);
	assert_true(sum(print_json(made.table, &b.header), "samples") == 2 * EPOCH);
	check_table(made.table, &b.header, "hot");
	prof_free(&made);
	end(&b);
}

static void prof_has_what_was_called(void **state)
{
	const struct prof_options o = {.table.inclusive = true}, bad = {{.by = RANK_LOOP}, o.table};
	struct prof_report made;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(prof_make(&b.session, &bad, &made, &b.header, &b.diag), -EINVAL);
	prof_free(&made);
	assert_int_equal(prof_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	assert_string_equal(made.rank->rows[0].function, "main");
	assert_int_equal(made.rank->rows[0].inclusive[0], 2 * EPOCH);
	prof_free(&made);
	end(&b);
}

/* One session is enough for several reports, one after the other. */
static void a_session_is_used_again(void **state)
{
	const struct prof_options o = {.rank.by = RANK_IMAGE};
	struct prof_report made;
	struct db_reader *reader;
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(prof_make(&b.session, &o, &made, &b.header, &b.diag), 0);
		assert_int_equal(made.rank->rows[0].counts[0], 2 * EPOCH);
		prof_free(&made);
		report_header_free(&b.header);
		b.header = (struct report_header){0};
		reader = i ? reader : b.session.reader;
		assert_ptr_equal(reader, b.session.reader);
	}
	end(&b);
}

static void what_is_not_there_is_an_error(void **state)
{
	const struct prof_options o = {.rank.by = RANK_IMAGE};
	struct prof_report made;
	struct bench b;

	(void)state;
	begin(&b);
	b.options.epoch = "1999";
	assert_int_equal(prof_make(&b.session, &o, &made, &b.header, &b.diag), -ENOENT);
	prof_free(&made);
	/* What failed is asked for again: it does not pass for a database without epochs. */
	assert_int_equal(prof_make(&b.session, &o, &made, &b.header, &b.diag), -ENOENT);
	prof_free(&made);
	b.options.epoch = "all";
	assert_int_equal(prof_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	prof_free(&made);
	end(&b);
}

static void calls_builds_a_tree(void **state)
{
	const struct calls_options o = {.group = QUERY_WHOLE};
	struct calls_report made;
	struct calls_page *page;
	struct written w;
	struct table *t;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(calls_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	assert_int_equal(made.set->quality.stacks, 2 * (30 + MAIN));
	assert_int_equal(tree_total(made.tree, 0, 0), 2 * EPOCH);
	assert_int_equal(calls_table(&made, &b.header, &t, &b.diag), 0);
	check_table(t, &b.header, "hot");
	table_free(t);
	open_written(&w);
	assert_int_equal(calls_json(&made, &b.header, w.out, &b.diag), 0);
	assert_true(sum(parse(&w), "total") == 2 * EPOCH);
	assert_int_equal(calls_page_new(&made, &b.header, &page, &b.diag), 0);
	open_written(&w);
	assert_int_equal(calls_page_write(page, &b.header, w.out), 0);
	check_text(&w, "</html>");
	calls_page_free(page);
	calls_free(&made);
	end(&b);
}

static void calls_of_one_function_and_of_gprof(void **state)
{
	const struct calls_options one = {.group = QUERY_WHOLE, .function = "hot"};
	const struct calls_options gprof = {.group = QUERY_WHOLE, .gprof = true};
	const struct calls_options *const all[] = {&one, &gprof};
	struct calls_report made;
	struct written w;
	struct bench b;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&b);
		assert_int_equal(calls_make(&b.session, all[i], &made, &b.header, &b.diag), 0);
		assert_int_equal(made.neighbors != NULL, i == 0);
		assert_int_equal(made.graph != NULL, i == 1);
		if (made.neighbors)
			assert_int_equal(made.neighbors->total[0], 2 * HOT);
		open_written(&w);
		assert_int_equal(calls_json(&made, &b.header, w.out, &b.diag), 0);
		json_decref(parse(&w));
		calls_free(&made);
		end(&b);
	}
}

static int add_samples(void *arg, const struct insight *one)
{
	*(uint64_t *)arg += one->samples;
	return 0;
}

static void calc_tells_functions_one_by_one(void **state)
{
	const struct calc_options o = {.cutoff = 100};
	struct calc_report made;
	struct written w, beside;
	uint64_t samples = 0;
	struct bench b;
	json_t *j;

	(void)state;
	begin(&b);
	assert_int_equal(calc_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	assert_int_equal(calc_each(&made, add_samples, &samples, &b.diag), 0);
	assert_int_equal(samples, 2 * EPOCH);
	assert_int_equal(made.failed, 0);
	open_written(&w);
	assert_int_equal(calc_print(&made, &b.header, TABLE_JSON, w.out, w.out, 0, &b.diag), 0);
	j = parse(&w);
	assert_int_equal(json_array_size(json_object_get(j, "functions")), 2);
	json_decref(j);
	open_written(&w);
	open_written(&beside);
	assert_int_equal(calc_print(&made, &b.header, TABLE_CSV, w.out, beside.out, 0, &b.diag), 0);
	check_text(&w, "hot");
	check_text(&beside, "cpu-clock");
	calc_free(&made);
	end(&b);
}

static void stalls_and_summary_share_the_samples_out(void **state)
{
	const struct stalls_options o = {.limit = 20, .cause = CULPRIT_CAUSES};
	const struct summary_options so = {.limit = 20, .cause = CULPRIT_CAUSES, .cutoff = 100};
	struct stalls_report stalls;
	struct summary_report summary;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(stalls_make(&b.session, &o, &stalls, &b.header, &b.diag), 0);
	assert_true(stalls.count > 0 && stalls.list[0].samples > 0);
	/* Each row is rounded. */
	assert_true(sum(print_json(stalls.table, &b.header), "samples") < 2 * EPOCH + 1e-6);
	check_table(stalls.table, &b.header, "app.c:");
	stalls_free(&stalls);
	report_header_free(&b.header);
	b.header = (struct report_header){0};
	assert_int_equal(summary_make(&b.session, &so, &summary, &b.header, &b.diag), 0);
	assert_int_equal(summary.part_count, 2);
	assert_true(fabs(summary.whole.samples - 2 * EPOCH) < 1e-6);
	check_table(summary.table, &b.header, "execution");
	summary_free(&summary);
	end(&b);
}

static void inst_has_what_processors_told(void **state)
{
	const struct inst_options by_miss = {.by = INST_BY_EVENT + INST_DCACHE_MISS, .limit = 20};
	struct inst_report made = {0};
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(inst_function_make(&b.session, &by_miss, "hot", &made, &b.header, &b.diag),
			 0);
	assert_int_equal(made.tally.samples, 200);
	assert_true(sum(print_json(made.table, &b.header), "samples") == 200);
	check_table(made.table, &b.header, "dcache_miss 50%");
	inst_free(&made);
	report_header_free(&b.header);
	b.header = (struct report_header){0};
	made = (struct inst_report){0};
	assert_int_equal(inst_ranking_make(&b.session, &by_miss, &made, &b.header, &b.diag), 0);
	assert_true(sum(print_json(made.table, &b.header), "total") == 100 * 1000);
	check_table(made.table, &b.header, "hot");
	inst_free(&made);
	/* Of a function that has none there is nothing to tell. */
	made = (struct inst_report){0};
	assert_int_equal(
		inst_function_make(&b.session, &by_miss, "main", &made, &b.header, &b.diag),
		-ENODATA);
	inst_free(&made);
	end(&b);
}

static void paths_are_ranked_by_their_time(void **state)
{
	struct paths_options o = {.by = PATHS_BY_BEST, .hot_percent = 1, .limit = 20};
	struct paths_report made = {0};
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(paths_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	assert_int_equal(made.by, PATH_TIME);
	assert_int_equal(made.tally.row_count, 2);
	assert_int_equal(made.tally.executions, 200);
	assert_int_equal(made.weights.untimed, 20);
	/* 100 ns each; that main's path cost nothing is not known, but it is not hot. */
	assert_true(sum(print_json(made.table, &b.header), "time") == 180 * 100);
	assert_true(sum(print_json(made.table, &b.header), "count") == 180);
	check_table(made.table, &b.header, "1 of 2 paths that were run cover 90% of the time");
	paths_free(&made);
	report_header_free(&b.header);
	b.header = (struct report_header){0};
	made = (struct paths_report){0};
	o.by = PATH_EXECUTIONS;
	o.procedures = true;
	assert_int_equal(paths_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	assert_true(sum(print_json(made.table, &b.header), "count") == 200);
	paths_free(&made);
	end(&b);
}

/* Another report of the session. */
static void again(struct bench *b, struct paths_report *made)
{
	report_header_free(&b->header);
	b->header = (struct report_header){0};
	*made = (struct paths_report){0};
}

static void paths_of_a_function_and_one_drawn(void **state)
{
	struct paths_options o = {
		.by = PATH_SAMPLES, .hot_percent = 1, .limit = 20, .function = "hot"};
	const struct cfg_options co = {.function = "hot", .path = 1},
				 no_such = {.function = "hot", .path = 2};
	struct paths_report made = {0};
	struct cfg_report graph;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(paths_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	/* The block's instructions have all samples of the function that are in it. */
	assert_true(sum(print_json(made.table, &b.header), "percent") == 100);
	check_table(made.table, &b.header, "returns");
	paths_free(&made);
	again(&b, &made);
	o.path = 1;
	assert_int_equal(paths_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	check_table(made.table, &b.header, "returns");
	paths_free(&made);
	again(&b, &made);
	o.path = 2;
	assert_int_equal(paths_make(&b.session, &o, &made, &b.header, &b.diag), -ENOENT);
	paths_free(&made);
	again(&b, &made);
	o.function = "[hm]";
	assert_int_equal(paths_make(&b.session, &o, &made, &b.header, &b.diag), -EEXIST);
	paths_free(&made);
	again(&b, &made);
	assert_int_equal(cfg_make(&b.session, &co, &graph, &b.header, &b.diag), 0);
	assert_true(graph.view->marked_blocks[0]);
	cfg_free(&graph);
	again(&b, &made);
	assert_int_equal(cfg_make(&b.session, &no_such, &graph, &b.header, &b.diag), -ENOENT);
	cfg_free(&graph);
	end(&b);
}

static void list_and_cfg_have_the_functions_samples(void **state)
{
	const struct list_options o = {.what = "hot", .form = LISTING_ASSEMBLY};
	const struct list_options none = {.what = "absent", .form = LISTING_ASSEMBLY};
	const struct cfg_options co = {.function = "hot"};
	struct cfg_report graph;
	struct list_report list;
	struct table *t;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(list_make(&b.session, &none, &list, &b.header, &b.diag), -ENOENT);
	list_free(&list);
	assert_int_equal(list_make(&b.session, &o, &list, &b.header, &b.diag), 0);
	assert_int_equal(list.pick.hit->counts[0], 2 * HOT);
	assert_true(sum(print_json(list.table, &b.header), "samples") == 2 * HOT);
	list_free(&list);
	report_header_free(&b.header);
	b.header = (struct report_header){0};
	assert_int_equal(cfg_make(&b.session, &co, &graph, &b.header, &b.diag), 0);
	assert_int_equal(graph.view->total, 2 * HOT);
	t = cfg_table(&graph, &b.header);
	check_table(t, &b.header, "block");
	table_free(t);
	cfg_free(&graph);
	end(&b);
}

/* Both functions are of the word "o"; the choice is for whoever asked. */
static void several_functions_are_a_choice(void **state)
{
	const struct list_options o = {.what = "hot|main"};
	struct list_report list;
	struct table *t = NULL;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(list_make(&b.session, &o, &list, &b.header, &b.diag), -EEXIST);
	assert_int_equal(list.pick.functions->count, 2);
	t = pick_choices(&list.pick, &b.session, &b.header);
	assert_true(sum(print_json(t, &b.header), "samples") == 2 * EPOCH);
	table_free(t);
	list_free(&list);
	end(&b);
}

static void a_file_has_the_samples_of_its_lines(void **state)
{
	const struct list_options o = {.what = "app.c"};
	struct list_file_report made;
	uint64_t samples = 0;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(list_file_make(&b.session, &o, &made, &b.header, &b.diag), 0);
	for (size_t i = 0; i < made.row_count; i++)
		samples += made.rows[i]->counts[0];
	assert_int_equal(samples, 2 * EPOCH);
	check_table(made.table, &b.header, "x += i;");
	list_file_free(&made);
	end(&b);
}

static void add_sets(struct sets *s, const struct report_options *base)
{
	struct diag diag = {""};

	assert_int_equal(sets_add(s, base, "all", &diag), 0);
	assert_int_equal(sets_split(s, &diag), 0);
	assert_int_equal(s->count, 2);
}

static void sets_are_compared(void **state)
{
	const struct diff_options o = {.table.false_alarms = 0.05};
	const struct stats_options so = {.table.false_alarms = 0.05};
	struct diff_report diff;
	struct stats_report stats;
	struct sets sets = {0};
	struct bench b;

	(void)state;
	begin(&b);
	add_sets(&sets, &b.options);
	assert_int_equal(diff_make(&sets, &o, &diff, &b.header, &b.diag), 0);
	assert_int_equal(diff.rows.count, 2);
	for (size_t s = 0; s < 2; s++)
		assert_int_equal(diff.rows.list[0].count[s] + diff.rows.list[1].count[s], EPOCH);
	assert_true(sum(print_json(diff.table, &b.header), "samples_a") == EPOCH);
	diff_free(&diff);
	sets_free(&sets);
	report_header_free(&b.header);
	b.header = (struct report_header){0};
	add_sets(&sets, &b.options);
	assert_int_equal(stats_make(&sets, &so, &stats, &b.header, &b.diag), 0);
	assert_true(sum(print_json(stats.table, &b.header), "sum") == 2 * EPOCH);
	check_table(stats.table, &b.header, "hot");
	stats_report_free(&stats);
	sets_free(&sets);
	end(&b);
}

static void epochs_are_listed(void **state)
{
	struct epochs_report made;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(epochs_make(&b.session, &made, &b.header, &b.diag), 0);
	assert_int_equal(made.count, 2);
	assert_int_equal(made.epochs[0]->samples, EPOCH);
	assert_true(sum(print_json(made.table, &b.header), "samples") == 2 * EPOCH);
	check_table(made.table, &b.header, "cpu-clock");
	epochs_free(&made);
	end(&b);
}

static json_t *verify_json(const struct verify_report *made)
{
	struct written w;

	open_written(&w);
	assert_int_equal(verify_print(made, TABLE_JSON, w.out, NULL), 0);
	return parse(&w);
}

static void count_damage(void *arg, const char *what)
{
	assert_non_null(strstr(what, "images/"));
	++*(int *)arg;
}

/* A file of symbols that is none. */
static void add_damage(char *file, size_t room)
{
	FILE *f;

	snprintf(file, room, "%s/%s/images", db, TEST_MACHINE);
	mkdir(file, 0777);
	snprintf(file, room, "%s/%s/images/0123456789abcdef.symbols", db, TEST_MACHINE);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs("no symbols", f);
	fclose(f);
}

static void verify_counts_what_there_is_and_names_damage(void **state)
{
	struct verify_report made;
	struct written w, beside;
	struct diag diag = {""};
	char damaged[300];
	int found = 0;
	const struct verify_options o = {count_damage, &found};
	json_t *j;

	(void)state;
	assert_int_equal(verify_make(workshop_dir, &o, &made, &diag), -ENOENT);
	verify_free(&made);
	assert_int_equal(verify_make(db, &o, &made, &diag), 0);
	assert_int_equal(made.totals.epochs, 2);
	j = verify_json(&made);
	assert_int_equal(json_integer_value(json_object_get(j, "samples")), 2 * EPOCH);
	assert_int_equal(json_array_size(json_object_get(j, "rows")), 0);
	json_decref(j);
	verify_free(&made);

	add_damage(damaged, sizeof(damaged));
	assert_int_equal(verify_make(db, &o, &made, &diag), -EBADMSG);
	assert_int_equal(found, 1);
	j = verify_json(&made);
	assert_int_equal(json_array_size(json_object_get(j, "rows")), 1);
	json_decref(j);
	open_written(&w);
	open_written(&beside);
	assert_int_equal(verify_print(&made, TABLE_CSV, w.out, beside.out), 0);
	check_text(&w, "images/0123456789abcdef.symbols: damaged");
	check_text(&beside, ": 1 damaged");
	open_written(&w);
	assert_int_equal(verify_print(&made, TABLE_TEXT, w.out, NULL), 0);
	check_text(&w, "100 samples");
	verify_free(&made);
	unlink(damaged);
}

static int count_writes(void *arg, const void *data, size_t size)
{
	(void)data, (void)size;
	++*(int *)arg;
	return 0;
}

static void exports_are_made(void **state)
{
	const struct estimates_options eo = {.classic = false};
	struct export_stacks_report stacks;
	struct export_code_report code;
	int writes = 0, error = 0;
	struct bench b;
	struct buf out;

	(void)state;
	begin(&b);
	buf_init(&out, 1 << 20);
	assert_int_equal(export_stacks_make(&b.session, &stacks, &b.diag), 0);
	export_stacks_write(&stacks, EXPORT_FOLDED, &out);
	assert_int_equal(out.error, 0);
	assert_non_null(memmem(out.data, out.size, "main;hot ", 9));
	export_stacks_free(&stacks);
	buf_clear(&out);
	assert_int_equal(export_code_make(&b.session, &eo, &code, &b.diag), 0);
	assert_int_equal(code.samples, 2 * EPOCH);
	assert_int_equal(export_code_write(&code, EXPORT_BLOCK_COUNTS, &out, &b.diag), 0);
	assert_true(out.size > 0);
	export_code_free(&code);
	buf_clear(&out);
	assert_int_equal(export_xml(&b.session, &out, &b.diag), 0);
	assert_non_null(memmem(out.data, out.size, "hot", 3));
	buf_free(&out);
	assert_int_equal(export_raw(&b.session, count_writes, &writes, &error, &b.diag), -ENODATA);
	assert_int_equal(error, 0);
	end(&b);
}

/* What top shows: of the newest epoch, then of both, before there are any nothing. */
static void top_shows_a_window(void **state)
{
	struct top_view v = {0};
	struct top_frame f;
	struct diag diag;

	(void)state;
	assert_int_equal(top_view_init(&v, db, &diag), 0);
	assert_int_equal(top_view_make(&v, 0, &f, &diag), 0);
	assert_int_equal(f.row_count, 0);
	top_frame_free(&f);
	assert_int_equal(top_view_load(&v, "last", &diag), 0);
	assert_int_equal(top_view_make(&v, 0, &f, &diag), 0);
	assert_int_equal(f.taken, EPOCH);
	top_frame_free(&f);
	assert_int_equal(top_view_load(&v, "all", &diag), 0);
	assert_int_equal(top_view_make(&v, 1, &f, &diag), 0);
	assert_int_equal(f.taken, 2 * EPOCH);
	assert_int_equal(f.row_count, 2);
	assert_true(sum(print_json(f.table, &f.header), "samples") == 2 * HOT);
	check_table(f.table, &f.header, "hot");
	top_frame_free(&f);
	top_view_free(&v);
}

/* The same samples in each tree: calls from the start in, callers, and images with functions. */
static void browse_has_all_samples_in_each_tree(void **state)
{
	struct browse made;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(browse_make(&b.session, &made, &b.header, &b.diag), 0);
	assert_true(made.has_stacks);
	assert_int_equal(made.all, 2 * EPOCH);
	for (int v = 0; v < BROWSE_VIEWS; v++) {
		const struct browse_tree *t = &made.trees[v];
		uint64_t self = 0;

		for (size_t i = 1; i < t->count; i++)
			if (v == BROWSE_DOWN ||
			    (v == BROWSE_UP ? t->nodes[i].parent == 0 : t->nodes[i].parent != 0))
				self += t->scopes[i].self;
		assert_int_equal(self, 2 * EPOCH);
	}
	const struct browse_tree *down = &made.trees[BROWSE_DOWN];
	uint32_t hot = browse_hot(down, 0);
	assert_string_equal(down->scopes[hot].name, "hot");
	assert_int_equal(down->scopes[hot].self, 2 * HOT);
	assert_string_equal(down->scopes[down->nodes[hot].parent].name, "main");
	assert_int_equal(made.trees[BROWSE_FLAT].count, 4); /* all, the image, two functions */
	browse_sort(&made.trees[BROWSE_FLAT], BROWSE_BY_NAME);
	browse_free(&made);
	end(&b);
}

/* Every sentence has what it rests on; hot() has four fifths of all, and is called by main(). */
static void why_says_where_the_time_went(void **state)
{
	struct why_report made;
	struct written w;
	json_t *j;
	bool hot = false;
	struct bench b;

	(void)state;
	begin(&b);
	assert_int_equal(why_make(&b.session, &made, &b.header, &b.diag), 0);
	assert_in_range(made.count, 1, WHY_SENTENCES_MAX);
	for (size_t i = 0; i < made.count; i++) {
		const struct why_sentence *s = &made.list[i];

		assert_true(s->percent >= 0 && s->percent <= 100);
		assert_ptr_equal(strstr(s->evidence, "culprit "), s->evidence);
		assert_int_equal(s->confidence == FREQUENCY_LOW,
				 strstr(s->text, "low confidence") != NULL);
		hot |= s->function && !strcmp(s->function, "hot") &&
		       strstr(s->text, "called from main");
	}
	assert_true(hot);
	assert_true(made.list[made.count - 1].kind == WHY_DOUBT); /* 100 samples are few */
	j = print_json(made.table, &b.header);
	assert_int_equal(json_array_size(json_object_get(j, "rows")), made.count);
	json_decref(j);
	open_written(&w);
	assert_int_equal(why_print(&made, &b.header, w.out, 40), 0);
	check_text(&w, " 1. ");
	why_free(&made);
	end(&b);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prof_ranks_functions),
		cmocka_unit_test(prof_has_what_was_called),
		cmocka_unit_test(a_session_is_used_again),
		cmocka_unit_test(what_is_not_there_is_an_error),
		cmocka_unit_test(top_shows_a_window),
		cmocka_unit_test(calls_builds_a_tree),
		cmocka_unit_test(calls_of_one_function_and_of_gprof),
		cmocka_unit_test(calc_tells_functions_one_by_one),
		cmocka_unit_test(stalls_and_summary_share_the_samples_out),
		cmocka_unit_test(browse_has_all_samples_in_each_tree),
		cmocka_unit_test(why_says_where_the_time_went),
		cmocka_unit_test(inst_has_what_processors_told),
		cmocka_unit_test(paths_are_ranked_by_their_time),
		cmocka_unit_test(paths_of_a_function_and_one_drawn),
		cmocka_unit_test(list_and_cfg_have_the_functions_samples),
		cmocka_unit_test(several_functions_are_a_choice),
		cmocka_unit_test(a_file_has_the_samples_of_its_lines),
		cmocka_unit_test(sets_are_compared),
		cmocka_unit_test(epochs_are_listed),
		cmocka_unit_test(verify_counts_what_there_is_and_names_damage),
		cmocka_unit_test(exports_are_made),
	};

	return cmocka_run_group_tests(tests, set_up, workshop_teardown);
}
