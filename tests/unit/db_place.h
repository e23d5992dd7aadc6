/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_DB_PLACE_H
#define CULPRIT_TESTS_DB_PLACE_H

/* For the tests of the database with a place of its own for each: what they do with a writer in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "db_help.h"

static inline int place_set_up(void **state)
{
	static struct help_place p;

	help_place_make(&p);
	*state = &p;
	return 0;
}

static inline int place_tear_down(void **state)
{
	help_place_remove(*state);
	return 0;
}

#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)

static inline struct db_writer *place_open_writer(const struct help_place *p)
{
	struct db_writer *w;
	struct diag diag = {0};

	if (db_writer_open(p->db, TEST_MACHINE, &io_system, &w, &diag) < 0)
		fail_msg("%s", diag.text);
	return w;
}

static inline void place_flush_random(struct db_writer *w, struct help_digest *d, uint64_t seed,
				      unsigned count)
{
	struct db_batch *b = db_batch_new(1u << 20);
	struct diag diag = {0};

	assert_int_equal(help_fill(b, d, seed, count), 0);
	assert_int_equal(db_batch_fact(b, "kernel", "6.18"), 0);
	db_batch_interval(b, TEST_TIME_NS + seed, TEST_TIME_NS + seed + 1000);
	if (db_writer_flush(w, b, &diag) < 0)
		fail_msg("%s", diag.text);
	db_batch_free(b);
}

static inline void place_expect(const struct help_place *p, const char *epochs,
				const struct help_digest *expected)
{
	struct help_digest got;
	struct diag diag = {0};

	if (help_read(p->db, &io_system, epochs, &got, &diag) < 0)
		fail_msg("%s", diag.text);
	if (got.damages)
		fail_msg("%s", got.last_damage);
	assert_true(got.samples == expected->samples);
	assert_true(got.weighted == expected->weighted);
	assert_true(got.counted == expected->counted);
}

#endif
