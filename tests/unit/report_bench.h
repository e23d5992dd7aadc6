/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_REPORT_BENCH_H
#define CULPRIT_TESTS_REPORT_BENCH_H

/* What tests of reports work on: a database of a small program, whose samples are known, a session
 * that reads it, and what looks at what was made. set_up() is cmocka's, for a group. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include "db/instsamples.h"
#include "db_help.h"
#include "find/find.h"
#include "image/facts.h"
#include "instsample/record.h"
#include "render/table.h"
#include "report/session.h"
#include "workshop.h"

#define FIRST_NS  TEST_TIME_NS
#define SECOND_NS (TEST_TIME_NS + 10000000000u)
#define HOT	  40 /* samples of each epoch in hot(), at two places; 30 of its stacks */
#define MAIN	  10 /* in main() */
#define EPOCH	  (HOT + MAIN)

static const char source[] = "volatile int x;\n"
			     "__attribute__((noinline)) void hot(void)\n"
			     "{\n"
			     "	for (int i = 0; i < 100; i++)\n"
			     "		x += i;\n"
			     "}\n"
			     "int main(void)\n"
			     "{\n"
			     "	hot();\n"
			     "	return 0;\n"
			     "}\n";

static char path[200], db[200];
static struct image_id id;
static uint64_t hot_start, main_start;

static inline int find_functions(void)
{
	const struct image_symbols *s;
	struct image_finder *f;

	if (image_finder_new(NULL, NULL, &f) || image_find_symbols(f, &id, path, &s, NULL))
		return -1;
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *one = image_symbols_at(s, i);

		hot_start = strcmp(one->name, "hot") ? hot_start : one->start;
		main_start = strcmp(one->name, "main") ? main_start : one->start;
	}
	image_finder_free(f);
	return hot_start && main_start ? 0 : -1;
}

/* Of an operation that was sampled, half of which missed the cache and took twenty cycles. */
static inline int add_insts(struct db_batch *b, uint32_t image, uint32_t subject)
{
	static const struct db_event op = {"ibs_op//", 1000, DB_EVENT_USER};
	struct db_inst inst = {
		.image = image,
		.subject = subject,
		.other_image = DB_INST_NO_OTHER,
		.form = {.source = INST_IBS_OP,
			 .known = {INST_BIT(INST_RETIRED) | INST_BIT(INST_DCACHE_MISS), 0},
			 .fields = 1u << INST_EVENTS | 1u << INST_CYCLES_LOAD_DATA},
		.offset = hot_start,
		.values = {INST_BIT(INST_RETIRED), 0},
	};
	int r = db_batch_event(b, &op, &inst.event);

	if (!r)
		r = db_batch_inst(b, &inst, 50);
	inst.values[0] |= INST_BIT(INST_DCACHE_MISS);
	inst.values[1] = 20;
	return r ? r : db_batch_inst(b, &inst, 50);
}

/* Of hot a path of one block, of which some executions were timed, and one of main, of which none
 * was. */
static inline int add_paths(struct db_batch *b, uint32_t image)
{
	static const struct db_event event = {DB_PATHS_EVENT, 1, 0};
	struct db_path one = {.image = image,
			      .function = hot_start,
			      .blocks = &hot_start,
			      .block_count = 1,
			      .end = DB_PATH_RETURN};
	int r = db_batch_event(b, &event, &one.event);

	if (!r)
		r = db_batch_path(b, &one, &(struct db_path_sums){90, 10, 1000});
	one.function = main_start;
	one.blocks = &main_start;
	one.end = DB_PATH_CALL;
	return r ? r : db_batch_path(b, &one, &(struct db_path_sums){10, 0, 0});
}

static inline int add_epoch(struct db_writer *w, struct db_batch *b, uint64_t start_ns)
{
	static const struct db_event clock = {"cpu-clock", 1000000,
					      DB_EVENT_KERNEL | DB_EVENT_USER};
	struct subject_pair pair = {"comm", "app", 4, 3};
	uint32_t image, event, subject, profile;
	struct db_frame frames[2];
	char text[64];
	long size = subject_build(&pair, 1, text, sizeof(text));

	db_batch_clear(b);
	if (size < 0 || db_writer_begin_epoch(w, start_ns, NULL) ||
	    db_batch_image(b, &id, path, strlen(path), &image) ||
	    db_batch_event(b, &clock, &event) ||
	    db_batch_subject(b, text, (size_t)size, &subject) ||
	    db_batch_profile(b, image, event, subject, &profile))
		return -1;
	frames[0] = (struct db_frame){image, main_start + 5};
	frames[1] = (struct db_frame){image, hot_start + 4};
	if (db_batch_add(b, profile, hot_start, HOT / 4) ||
	    db_batch_add(b, profile, hot_start + 5, HOT - HOT / 4) ||
	    db_batch_add(b, profile, main_start, MAIN) ||
	    db_batch_stack(b, event, subject, frames, 2, 30) ||
	    db_batch_stack(b, event, subject, frames, 1, MAIN) || add_insts(b, image, subject) ||
	    add_paths(b, image))
		return -1;
	db_batch_interval(b, start_ns, start_ns + 1000000000);
	return db_writer_flush(w, b, NULL);
}

static inline int make_database(void)
{
	struct db_batch *b = db_batch_new(1000);
	struct db_writer *w;
	int r = -1;

	if (!b || db_writer_open(db, TEST_MACHINE, &io_system, &w, NULL))
		return -1;
	if (!add_epoch(w, b, FIRST_NS) && !add_epoch(w, b, SECOND_NS))
		r = db_writer_close(w, NULL);
	db_batch_free(b);
	return r;
}

static inline int set_up(void **state)
{
	struct image_facts facts;
	int fd;

	if (workshop_setup(state) || workshop_write("app.c", source) ||
	    workshop_run("gcc -O1 -g -Wl,--build-id app.c -o app"))
		return -1;
	snprintf(path, sizeof(path), "%s/app", workshop_dir);
	snprintf(db, sizeof(db), "%s/db", workshop_dir);
	fd = workshop_open("app");
	if (fd < 0 || image_facts_read(fd, &facts, NULL))
		return -1;
	close(fd);
	id = facts.id;
	return find_functions() ? -1 : make_database();
}

/* What a test has open: both epochs, and the header of a report. */
struct bench {
	struct report_options options;
	struct report_session session;
	struct report_header header;
	struct diag diag;
};

static inline void begin(struct bench *b)
{
	*b = (struct bench){.options = {.db = db, .epoch = "all"}};
	b->session.options = &b->options;
}

static inline void end(struct bench *b)
{
	report_header_free(&b->header);
	report_session_close(&b->session);
}

/* A stream that is read when it is done. */
struct written {
	char *text;
	size_t size;
	FILE *out;
};

static inline void open_written(struct written *w)
{
	w->out = open_memstream(&w->text, &w->size);
	assert_non_null(w->out);
}

static inline json_t *parse(struct written *w)
{
	json_t *j;

	assert_int_equal(fclose(w->out), 0);
	j = json_loadb(w->text, w->size, 0, NULL);
	assert_non_null(j);
	free(w->text);
	return j;
}

static inline json_t *print_json(const struct table *t, const struct report_header *h)
{
	struct written w;

	open_written(&w);
	assert_int_equal(table_print(t, h, TABLE_JSON, w.out, 0), 0);
	return parse(&w);
}

/* The text has the word; frees it. */
static inline void check_text(struct written *w, const char *word)
{
	assert_int_equal(fclose(w->out), 0);
	assert_non_null(memmem(w->text, w->size, word, strlen(word)));
	free(w->text);
}

static inline void check_table(const struct table *t, const struct report_header *h,
			       const char *word)
{
	struct written w;

	open_written(&w);
	assert_int_equal(table_print(t, h, TABLE_TEXT, w.out, 0), 0);
	check_text(&w, word);
}

/* A column of the rows, summed up; frees j. */
static inline double sum(json_t *j, const char *key)
{
	json_t *row;
	double all = 0;
	size_t i;

	json_array_foreach(json_object_get(j, "rows"), i, row) all +=
		json_number_value(json_object_get(row, key));
	json_decref(j);
	return all;
}

#endif
