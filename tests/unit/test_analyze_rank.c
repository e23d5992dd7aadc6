/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/rank.h"
#include "image/lines_new.h"
#include "profile_feed.h"

static const struct feed_profile app = {IMAGE_BUILD_ID, 1, "/bin/app", "cycles", 1000, "app", "7"};
static const struct feed_profile app_misses = {IMAGE_BUILD_ID, 1,  "/bin/app", "misses", 10,
					       "app",	       "7"};
static const struct feed_profile app_two = {IMAGE_BUILD_ID, 2,	   "/bin/app", "cycles",
					    1000,	    "app", "9"};
static const struct feed_profile bare = {IMAGE_BUILD_ID, 3,	"/bin/bare", "cycles",
					 1000,		 "app", "9"};
static const struct feed_profile kernel = {IMAGE_KERNEL, 4,	    "[kernel]", "cycles",
					   1000,	 "swapper", "0"};
static const struct feed_profile lost = {IMAGE_UNKNOWN, 5, "", "cycles", 1000, "app", "7"};
static const struct feed_profile lost_two = {IMAGE_UNKNOWN, 6, "", "cycles", 1000, "app", "9"};

struct fake {
	struct image_symbols *app, *kernel;
	int symbol_calls, line_calls;
};

/* app: main at [0x100, 0x200), work at [0x200, 0x300); the kernel has a place to idle. */
static int start(void **state)
{
	static struct fake f;
	static const struct image_symbol app_list[] = {{0x100, 0x100, "main"},
						       {0x200, 0x100, "work"}};
	static const struct image_symbol kernel_list[] = {{0x100, 0x100, "pv_native_safe_halt"},
							  {0x200, 0x100, "schedule"}};

	f = (struct fake){0};
	image_symbols_build(app_list, 2, "test", &f.app);
	image_symbols_build(kernel_list, 2, "test", &f.kernel);
	*state = &f;
	return 0;
}

static int stop(void **state)
{
	struct fake *f = *state;

	image_symbols_free(f->app);
	image_symbols_free(f->kernel);
	return 0;
}

static int fake_symbols(void *arg, const struct image_id *id, const char *path,
			const struct image_symbols **ret, struct diag *diag)
{
	struct fake *f = arg;

	(void)path;
	f->symbol_calls++;
	if (id->bytes[0] == 3)
		return diag_fail(diag, ENOENT, "stripped bare");
	*ret = id->kind == IMAGE_KERNEL ? f->kernel : f->app;
	return 0;
}

/* Line = offset / 16, all in one file; work's first half is inlined from a header. */
static int fake_lines(void *arg, const struct image_id *id, const char *path,
		      const uint64_t *addresses, size_t count, struct image_lines **ret,
		      struct diag *diag)
{
	struct fake *f = arg;

	(void)path;
	f->line_calls++;
	if (id->bytes[0] == 3)
		return diag_fail(diag, ENOENT, "no debug information");
	assert_int_equal(image_lines_new(count, ret), 0);
	for (size_t i = 0; i < count; i++) {
		bool inlined = addresses[i] >= 0x200 && addresses[i] < 0x280;
		struct lines_frame frame = {
			.function = image_lines_string(*ret, inlined ? "inlined" : "own"),
			.file = image_lines_string(*ret, inlined ? "/src/x.h" : "/src/x.c"),
			.line = (uint32_t)addresses[i] / 16,
		};

		if (i)
			assert_true(addresses[i] > addresses[i - 1]);
		assert_int_equal(image_lines_set(*ret, i, &frame, 1), 0);
	}
	assert_int_equal(image_lines_finish(*ret), 0);
	return 0;
}

static struct query *make_query(enum rank_by by, const struct query_selection *selection)
{
	static const struct query_selection all;
	struct query *q;

	assert_int_equal(query_new(selection ? selection : &all, rank_group(by), &q, NULL), 0);
	feed(q, &app, 0x100, 5);
	feed(q, &app, 0x1ff, 6);
	feed(q, &app, 0x210, 7);
	feed(q, &app_misses, 0x210, 70);
	feed(q, &app, 0x290, 8);
	feed(q, &app, 0x300, 1); /* past the last function */
	feed(q, &app, 0x900, 2);
	feed(q, &app_two, 0x210, 4);
	feed(q, &bare, 0x123, 9);
	feed(q, &bare, 0x456, 9);
	feed(q, &kernel, 0x110, 100);
	feed(q, &kernel, 0x210, 3);
	feed(q, &lost, 0xdead, 1);
	feed(q, &lost_two, 0xbeef, 1);
	assert_int_equal(query_finish(q, NULL), 0);
	return q;
}

static struct rank *make_rank(struct fake *f, const struct query *q, const struct rank_options *o)
{
	struct rank_source source = {fake_symbols, fake_lines, NULL, f};
	struct rank *k = NULL;

	assert_int_equal(rank_new(q, o, &source, &k, NULL), 0);
	return k;
}

/* The first event's samples of the row that has these; 0 when there is none. */
static uint64_t find(const struct rank *k, int image, const char *function, const char *file,
		     uint32_t line)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < k->row_count; i++) {
		const struct rank_row *r = &k->rows[i];

		if (image && (!r->image || r->image->id.bytes[0] != image))
			continue;
		if (function && (!r->function || strcmp(r->function, function)))
			continue;
		if (file && (!r->file || strcmp(r->file, file)))
			continue;
		if (!line || r->line == line)
			sum += r->counts[0];
	}
	return sum;
}

static void by_function(void **state)
{
	struct rank_options o = {.by = RANK_FUNCTION};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(*state, q, &o);

	assert_int_equal(find(k, 1, "main", NULL, 0), 11);
	assert_int_equal(find(k, 1, "work", NULL, 0), 15);
	assert_int_equal(find(k, 1, RANK_NO_SYMBOL, NULL, 0), 3);
	assert_int_equal(find(k, 2, "work", NULL, 0), 4); /* another version stays apart */
	assert_int_equal(find(k, 3, RANK_NO_SYMBOL, NULL, 0), 18);
	assert_int_equal(find(k, 0, RANK_UNKNOWN, NULL, 0), 2);
	assert_int_equal(find(k, 4, "schedule", NULL, 0), 3);
	assert_int_equal(k->row_count, 7);
	assert_int_equal(k->idle[0], 100);
	assert_int_equal(k->totals[0], q->events[0].samples - 100);
	assert_int_equal(k->ranked[0], k->totals[0]);
	assert_int_equal(k->ranked[1], 70);
	assert_int_equal(k->images_without_symbols, 1);
	assert_string_equal(k->symbols_reason.text, "stripped bare");
	rank_free(k);
	rank_free(NULL);
	query_free(q);
}

static void idle_is_shown_on_request(void **state)
{
	struct rank_options o = {.by = RANK_FUNCTION, .idle = true};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(*state, q, &o);

	assert_int_equal(find(k, 4, "pv_native_safe_halt", NULL, 0), 100);
	assert_int_equal(k->totals[0], q->events[0].samples);
	rank_free(k);
	query_free(q);
}

static void by_image(void **state)
{
	struct fake *f = *state;
	struct rank_options o = {.by = RANK_IMAGE};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(f, q, &o);

	assert_int_equal(k->row_count, 5);
	assert_int_equal(find(k, 1, NULL, NULL, 0), 29);
	assert_int_equal(find(k, 4, NULL, NULL, 0), 3);
	assert_int_equal(f->symbol_calls, 1); /* only the kernel's, for its idle functions */
	rank_free(k);
	query_free(q);
}

static void by_line(void **state)
{
	struct fake *f = *state;
	struct rank_options o = {.by = RANK_LINE};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(f, q, &o);

	assert_int_equal(find(k, 1, "own", "/src/x.c", 0x10), 5);
	assert_int_equal(find(k, 1, "own", "/src/x.c", 0x1f), 6);
	assert_int_equal(find(k, 1, "inlined", "/src/x.h", 0x21), 7);
	assert_int_equal(find(k, 1, "own", "/src/x.c", 0x29), 8);
	assert_int_equal(find(k, 3, RANK_NO_SYMBOL, NULL, 0), 18);
	assert_int_equal(find(k, 0, RANK_UNKNOWN, NULL, 0), 2);
	assert_int_equal(find(k, 0, NULL, NULL, 0), k->totals[0]);
	assert_int_equal(f->line_calls, 4); /* once an image */
	assert_int_equal(k->images_without_lines, 1);
	rank_free(k);
	query_free(q);
}

static void by_file(void **state)
{
	struct rank_options o = {.by = RANK_FILE};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(*state, q, &o);

	assert_int_equal(find(k, 1, NULL, "/src/x.h", 0), 7);
	assert_int_equal(find(k, 1, NULL, "/src/x.c", 0), 22);
	assert_int_equal(find(k, 0, NULL, NULL, 0), k->totals[0]);
	rank_free(k);
	query_free(q);
}

static void by_process(void **state)
{
	struct rank_options o = {.by = RANK_PROCESS};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(*state, q, &o);

	assert_int_equal(k->row_count, 3); /* app 7, app 9, swapper 0 */
	assert_int_equal(k->rows[0].counts[0], 30);
	assert_int_equal(k->rows[0].counts[1], 70);
	assert_int_equal(k->ranked[0], k->totals[0]);
	rank_free(k);
	query_free(q);
}

static void function_filter(void **state)
{
	struct rank_options o = {.by = RANK_IMAGE, .function = "^(wo|pv_)"};
	struct query *q = make_query(o.by, NULL);
	struct rank *k = make_rank(*state, q, &o);

	assert_int_equal(find(k, 1, NULL, NULL, 0), 15);
	assert_int_equal(find(k, 2, NULL, NULL, 0), 4);
	assert_int_equal(k->row_count, 2); /* idle stays left out */
	assert_int_equal(k->totals[0], q->events[0].samples - 100);
	rank_free(k);
	query_free(q);
}

/* The base of all shares does not move with the selection. */
static void shares_are_of_everything(void **state)
{
	struct query_selection selection = {.image = "/bin/bare"};
	struct rank_options o = {.by = RANK_FUNCTION};
	struct query *q = make_query(o.by, &selection);
	struct rank *k = make_rank(*state, q, &o);

	assert_int_equal(k->row_count, 1);
	assert_int_equal(k->ranked[0], 18);
	assert_int_equal(k->totals[0], q->events[0].samples - 100);
	assert_int_equal(k->idle[0], 100);
	rank_free(k);
	query_free(q);
}

static void bad_regex_is_refused(void **state)
{
	struct rank_source source = {fake_symbols, fake_lines, NULL, *state};
	struct rank_options o = {.function = "("};
	struct query *q = make_query(RANK_FUNCTION, NULL);
	struct rank *k = NULL;
	struct diag d;

	assert_int_equal(rank_new(q, &o, &source, &k, &d), -EINVAL);
	assert_non_null(strstr(d.text, "'('"));
	assert_null(k);
	query_free(q);
}

static void idle_functions(void **state)
{
	const struct image_id vmlinux = {.kind = IMAGE_KERNEL}, program = {.kind = IMAGE_BUILD_ID};

	(void)state;
	assert_false(rank_is_idle(&program, "default_idle"));
	assert_false(rank_is_idle(&vmlinux, NULL));
	assert_true(rank_is_idle(&vmlinux, "default_idle"));
	assert_true(rank_is_idle(&vmlinux, "intel_idle_irq"));
	assert_true(rank_is_idle(&vmlinux, "poll_idle.constprop.0"));
	assert_true(rank_is_idle(&vmlinux, "acpi_processor_ffh_cstate_enter"));
	assert_false(rank_is_idle(&vmlinux, "default_idle_calls_home"));
	assert_false(rank_is_idle(&vmlinux, "schedule"));
	assert_false(rank_is_idle(&vmlinux, ""));
}

#define WITH_FAKE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FAKE(by_function),
		WITH_FAKE(idle_is_shown_on_request),
		WITH_FAKE(by_image),
		WITH_FAKE(by_line),
		WITH_FAKE(by_file),
		WITH_FAKE(by_process),
		WITH_FAKE(function_filter),
		WITH_FAKE(shares_are_of_everything),
		WITH_FAKE(bad_regex_is_refused),
		cmocka_unit_test(idle_functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
