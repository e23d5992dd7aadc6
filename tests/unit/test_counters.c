/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A counter is a line of its module's list: whoever shows counters has it then. That a session
 * tells all of them is in test_followers.c. */
#include "collect/tally.h"
#include "db/kind.h"
#include "db_place.h"

#define REFER(name, list) &counters_of_##name,
static const struct counter_list *const lists[] = {COUNTER_LISTS(REFER)};
#define LISTS (sizeof(lists) / sizeof(lists[0]))

struct named {
	const char *name;
	unsigned times;
};

static void count_name(void *arg, const struct counter *c, uint64_t value)
{
	struct named *n = arg;

	(void)value;
	n->times += c->status && !strcmp(c->status, n->name);
}

static void a_status_has_each_name_once(void **state)
{
	static const uint64_t values[64];

	(void)state;
	for (size_t l = 0; l < LISTS; l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			struct named n = {.name = lists[l]->counters[i].status};

			for (size_t k = 0; n.name && k < LISTS; k++)
				counters_walk(lists[k], values,
					      &(struct counter_taker){count_name, &n});
			assert_int_equal(n.times, n.name != NULL);
		}
}

static void what_is_told_is_stored(void **state)
{
	(void)state;
	for (size_t l = 0; l < LISTS; l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			const struct counter *c = &lists[l]->counters[i];

			if (c->told.one)
				assert_ptr_equal(counters_find(c->stored), c);
			assert_true(!c->told.one == !c->told.rest);
		}
	assert_string_equal(counters_find("mappings.refused")->told.rest, "not kept: too many");
	assert_null(counters_find("mappings"));
}

/* What compaction finds damaged is told by reports, of each kind of chunk. "lost." is, whatever
 * follows. */
static void damage_of_each_kind_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < db_kind_count; i++) {
		const struct counter *c = counters_find(db_kinds[i]->lost);

		if (strncmp(db_kinds[i]->lost, "lost.", 5) != 0)
			assert_true(c && c->told.one);
	}
}

/* What was found in the database, of the lists' counters. */
struct found {
	uint64_t values[LISTS][64];
	unsigned others;
};

static int take_found(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	struct found *f = arg;
	unsigned known = 0;

	assert_null(event);
	for (size_t l = 0; l < LISTS; l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			if (lists[l]->counters[i].stored &&
			    !strcmp(lists[l]->counters[i].stored, name)) {
				f->values[l][i] += value;
				known++;
			}
	f->others += known != 1;
	return 0;
}

static void flush(struct tally *t, struct db_writer *w, const uint64_t values[LISTS][64])
{
	struct diag diag;

	t->batch = db_batch_new(1000);
	t->event = DB_EVENT_NONE;
	t->next = 0;
	for (size_t l = 0; l < LISTS; l++)
		counters_walk(lists[l], values[l], &(struct counter_taker){tally_take, t});
	db_batch_interval(t->batch, TEST_TIME_NS, TEST_TIME_NS + 1000);
	assert_int_equal(db_writer_flush(w, t->batch, &diag), 0);
	db_batch_free(t->batch);
}

/* Two flushes of a start add up to what was counted, of each counter that has a name there. */
static void the_database_has_what_counters_grew_by(void **state)
{
	static uint64_t values[LISTS][64];
	static struct found found;
	struct db_visitor v = {.counter = take_found, .arg = &found};
	struct db_writer *w = place_open_writer(*state);
	struct help_place *p = *state;
	struct db_reader *r;
	struct tally t = {0};
	struct diag diag;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, &diag), 0);
	for (size_t l = 0; l < LISTS; l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			values[l][i] = i % 3 ? 64 * l + i : 0;
	flush(&t, w, values);
	for (size_t l = 0; l < LISTS; l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			values[l][i] += i % 2 ? 0 : 1000 + i;
	flush(&t, w, values);
	tally_free(&t);
	assert_int_equal(db_writer_close(w, &diag), 0);
	assert_int_equal(db_reader_open(p->db, &io_system, &r, &diag), 0);
	assert_int_equal(db_reader_select(r, "all", &diag), 0);
	assert_int_equal(db_reader_query(r, &v, &diag), 0);
	db_reader_free(r);
	assert_int_equal(found.others, 0);
	for (size_t l = 0; l < LISTS; l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			assert_int_equal(found.values[l][i],
					 lists[l]->counters[i].stored ? values[l][i] : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_has_each_name_once),
		cmocka_unit_test(what_is_told_is_stored),
		cmocka_unit_test(damage_of_each_kind_is_told),
		PLACE_TEST(the_database_has_what_counters_grew_by),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
