/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The annotated listing of a small program, in its three forms, and with what it needs missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analyze/listing.h"
#include "image/facts.h"
#include "image/worker/worker.h"
#include "workshop.h"

#define ROWS_MAX 256

static const char source[] = "int inner(int x)\n"
			     "{\n"
			     "	int y = x * 3;\n"
			     "	return y / 7;\n"
			     "}\n"
			     "int main(int argc, char **argv)\n"
			     "{\n"
			     "	return argv ? inner(argc) : 0;\n"
			     "}\n";

static char path[128];
static struct image_id id;
static uint64_t start, size;

static int set_up(void **state)
{
	const struct image_symbols *s;
	struct image_finder *f;
	struct image_facts facts;

	if (workshop_setup(state) || workshop_write("p.c", source) ||
	    workshop_run("gcc -O0 -g p.c -o p"))
		return -1;
	snprintf(path, sizeof(path), "%s/p", workshop_dir);
	int fd = workshop_open("p");
	if (fd < 0 || image_facts_read(fd, &facts, NULL))
		return -1;
	close(fd);
	id = facts.id;
	if (image_finder_new(NULL, NULL, &f) || image_find_symbols(f, &id, path, &s, NULL))
		return -1;
	for (size_t i = 0; i < image_symbols_count(s); i++)
		if (!strcmp(image_symbols_at(s, i)->demangled, "inner")) {
			start = image_symbols_at(s, i)->start;
			size = image_symbols_at(s, i)->size;
		}
	image_finder_free(f);
	return size ? 0 : -1;
}

/* Samples of two events: at the first instruction, and at the last, the ret. */
static int make(enum listing_form form, uint64_t bytes, struct listing **ret, struct diag *diag)
{
	const uint64_t offsets[] = {start, start + size - 1}, counts[] = {10, 1, 4, 0};
	struct listing_request q = {
		.image = &id,
		.image_path = path,
		.start = start,
		.size = bytes,
		.offsets = offsets,
		.counts = counts,
		.offset_count = 2,
		.event_count = 2,
		.form = form,
	};
	struct image_finder *f;
	int err;

	assert_int_equal(image_finder_new(NULL, NULL, &f), 0);
	q.finder = f;
	err = listing_new(&q, ret, diag);
	image_finder_free(f);
	return err;
}

/* The samples of rows of a kind, which must be all of them, whatever the form. */
static void check_sums(const struct listing_row *rows, size_t count, enum listing_kind kind)
{
	uint64_t sum[2] = {0};

	for (size_t i = 0; i < count; i++) {
		if (rows[i].kind != kind)
			continue;
		sum[0] += rows[i].counts[0];
		sum[1] += rows[i].counts[1];
	}
	assert_int_equal(sum[0], 14);
	assert_int_equal(sum[1], 1);
}

static void instructions_have_their_samples(void **state)
{
	struct listing *l;
	size_t count;

	(void)state;
	assert_int_equal(make(LISTING_ASSEMBLY, size, &l, NULL), 0);
	const struct listing_row *rows = listing_rows(l, &count);
	assert_in_range(count, 5, ROWS_MAX);
	assert_int_equal(rows[0].address, start);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(rows[i].kind, LISTING_INSTRUCTION);
		assert_non_null(rows[i].text);
		assert_string_equal(rows[i].function, "inner");
		assert_in_range(rows[i].line, 2, 5);
		assert_true(i == 0 || rows[i].address > rows[i - 1].address);
	}
	assert_int_equal(rows[0].counts[0], 10);
	assert_int_equal(rows[0].counts[1], 1);
	assert_int_equal(rows[count - 1].counts[0], 4);
	assert_non_null(strstr(rows[count - 1].text, "ret"));
	check_sums(rows, count, LISTING_INSTRUCTION);
	assert_null(listing_note(l, 0));
	listing_free(l);
	listing_free(NULL);
}

/* A line's row is before its instructions, and has what they have. */
static void lines_are_between_instructions(void **state)
{
	uint64_t below = 0;
	uint32_t line = 0;
	struct listing *l;
	size_t count;

	(void)state;
	assert_int_equal(make(LISTING_BOTH, size, &l, NULL), 0);
	const struct listing_row *rows = listing_rows(l, &count);
	assert_int_equal(rows[0].kind, LISTING_FILE);
	assert_non_null(strstr(rows[0].text, "p.c"));
	check_sums(rows, count, LISTING_INSTRUCTION);
	check_sums(rows, count, LISTING_SOURCE);
	for (size_t i = count; i-- > 0;) {
		if (rows[i].kind == LISTING_INSTRUCTION) {
			line = rows[i].line;
			below += rows[i].counts[0];
		} else if (rows[i].kind == LISTING_SOURCE && rows[i].line == line) {
			assert_int_equal(rows[i].counts[0], below);
			below = 0;
		}
	}
	assert_int_equal(below, 0);
	listing_free(l);
}

static void each_line_is_there_once(void **state)
{
	struct listing *l;
	uint32_t last = 0;
	size_t count;

	(void)state;
	assert_int_equal(make(LISTING_BY_LINE, size, &l, NULL), 0);
	const struct listing_row *rows = listing_rows(l, &count);
	check_sums(rows, count, LISTING_SOURCE);
	for (size_t i = 0; i < count; i++) {
		assert_int_not_equal(rows[i].kind, LISTING_INSTRUCTION);
		if (rows[i].kind != LISTING_SOURCE || !rows[i].line)
			continue;
		assert_true(rows[i].line > last);
		last = rows[i].line;
		assert_int_equal(rows[i].counts[0], last == 2 ? 10 : last == 5 ? 4 : 0);
		if (last == 3)
			assert_non_null(strstr(rows[i].text, "int y = x * 3;"));
	}
	assert_int_equal(last, 5);
	listing_free(l);
}

static void what_is_missing_is_said(void **state)
{
	struct diag diag = {""};
	struct listing *l;
	size_t count;

	(void)state;
	assert_int_equal(make(LISTING_BOTH, LISTING_MAX_BYTES + 1, &l, &diag), -EFBIG);
	assert_int_equal(workshop_run("mv p.c away.c"), 0);
	assert_int_equal(make(LISTING_BOTH, size, &l, NULL), 0);
	const struct listing_row *rows = listing_rows(l, &count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rows[i].kind, LISTING_INSTRUCTION);
	check_sums(rows, count, LISTING_INSTRUCTION);
	assert_non_null(listing_note(l, 0));
	assert_non_null(strstr(listing_note(l, 0), "p.c"));
	listing_free(l);
	assert_int_equal(workshop_run("cp away.c p.c; echo 'int more;' >>p.c; gcc -O1 -g p.c -o p"),
			 0);
	assert_int_equal(make(LISTING_BOTH, size, &l, &diag), -ESTALE);
	assert_non_null(strstr(diag.text, "another build"));
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_have_their_samples),
		cmocka_unit_test(lines_are_between_instructions),
		cmocka_unit_test(each_line_is_there_once),
		cmocka_unit_test(what_is_missing_is_said), /* last: it takes the source away */
	};

	return cmocka_run_group_tests(tests, set_up, workshop_teardown);
}
