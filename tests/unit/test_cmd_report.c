/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Options that all reports have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "cmd/report.h"

/* An option that a command has in its list, and forgot to take, is no other one. */
static void no_option_is_taken_for_another(void **state)
{
	struct report_options o = {0};
	struct diag diag = {""};

	(void)state;
	assert_int_equal(report_take_option(&o, REPORT_SUBJECT, "comm=x", &diag), 0);
	assert_int_equal(o.selection.subject_count, 1);
	assert_int_equal(report_take_option(&o, REPORT_OPTION_END, "comm=y", &diag), -ENOSYS);
	assert_int_equal(o.selection.subject_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_option_is_taken_for_another)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
