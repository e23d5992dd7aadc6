/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who gets the page of `culprit view` from its server, and who gets nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "view/serve.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST  "127.0.0.1:4711"

static const struct serve_key key = {TOKEN, HOST, "localhost:4711"};

static unsigned check(const char *method, const char *url, const char *host, const char *site)
{
	enum serve_what what;

	return serve_check(&key, method, url, host, site, &what);
}

static void test_gives(void **state)
{
	enum serve_what what;

	(void)state;
	assert_int_equal(serve_check(&key, "GET", "/" TOKEN "/", HOST, NULL, &what), 200);
	assert_int_equal(what, SERVE_PAGE);
	assert_int_equal(serve_check(&key, "HEAD", "/" TOKEN "/code", "LocalHost:4711",
				     "same-origin", &what),
			 200);
	assert_int_equal(what, SERVE_CODE);
}

static void test_refuses(void **state)
{
	static const char *const paths[] = {"",
					    "/",
					    "*",
					    "/" TOKEN,
					    "/" TOKEN "0/",
					    "/0123456789abcdef0123456789abcdee/",
					    "/0123456789abcdef/",
					    "/" TOKEN "/code/",
					    "/" TOKEN "//",
					    "/" TOKEN "/../x"};
	static const char *const hosts[] = {NULL,
					    "",
					    "127.0.0.1",
					    HOST "1",
					    HOST ".evil.example",
					    "evil.example:4711",
					    "127.0.0.1:4712"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(check("GET", paths[i], HOST, NULL), 404);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(check("GET", "/" TOKEN "/", hosts[i], NULL), 403);
	assert_int_equal(check("GET", "/" TOKEN "/", HOST, "cross-site"), 403);
	assert_int_equal(check("GET", "/" TOKEN "/", HOST, "same-site"), 403);
	assert_int_equal(check("POST", "/" TOKEN "/", HOST, NULL), 405);
	assert_int_equal(check("get", "/" TOKEN "/", HOST, NULL), 405);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
