/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "render/screen.h"
#include "render/screen_keys.h"

struct line {
	struct screen_keys keys;
	int ends[2];
};

static void line_open(struct line *l)
{
	memset(l, 0, sizeof(*l));
	assert_int_equal(pipe2(l->ends, O_NONBLOCK | O_CLOEXEC), 0);
}

static void line_close(struct line *l)
{
	close(l->ends[0]);
	if (l->ends[1] >= 0)
		close(l->ends[1]);
}

static void send_bytes(struct line *l, const char *bytes)
{
	assert_int_equal(write(l->ends[1], bytes, strlen(bytes)), strlen(bytes));
}

/* Exactly these keys come from the bytes. */
static void check_keys(const char *bytes, const int *keys, size_t count)
{
	struct line l;

	line_open(&l);
	send_bytes(&l, bytes);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(screen_keys_read(&l.keys, l.ends[0]), keys[i]);
	assert_int_equal(screen_keys_read(&l.keys, l.ends[0]), -EAGAIN);
	line_close(&l);
}

#define CHECK_KEYS(bytes, ...)                                         \
	do {                                                           \
		const int keys[] = {__VA_ARGS__};                      \
		check_keys(bytes, keys, sizeof(keys) / sizeof(*keys)); \
	} while (0)

static void plain(void **state)
{
	(void)state;
	CHECK_KEYS("q /", 'q', ' ', '/');
	CHECK_KEYS("\r\n", SCREEN_ENTER, SCREEN_ENTER);
	CHECK_KEYS("\b\177", SCREEN_BACKSPACE, SCREEN_BACKSPACE);
	CHECK_KEYS("\xc3\xa9", 0xc3, 0xa9);
}

static void sequences(void **state)
{
	(void)state;
	CHECK_KEYS("\033[A\033[B\033OA\033OB", SCREEN_UP, SCREEN_DOWN, SCREEN_UP, SCREEN_DOWN);
	CHECK_KEYS("\033[5~\033[6~", SCREEN_PAGE_UP, SCREEN_PAGE_DOWN);
	CHECK_KEYS("\033[H\033[F\033[1~\033[4~", SCREEN_HOME, SCREEN_END, SCREEN_HOME, SCREEN_END);
	CHECK_KEYS("\033[15~q\033[1;5Cq", SCREEN_OTHER, 'q', SCREEN_OTHER, 'q');
	CHECK_KEYS("\033[1;5A", SCREEN_UP);
	CHECK_KEYS("\033[99999999999999999999~q", SCREEN_OTHER, 'q');
}

/* An Esc that nothing follows is the key; a sequence that breaks off is some key. */
static void cut_short(void **state)
{
	(void)state;
	CHECK_KEYS("\033", SCREEN_ESCAPE);
	CHECK_KEYS("\033q", SCREEN_ESCAPE, 'q');
	CHECK_KEYS("\033\033[A", SCREEN_ESCAPE, SCREEN_UP);
	CHECK_KEYS("\033[", SCREEN_OTHER);
	CHECK_KEYS("\033[5", SCREEN_OTHER);
}

static void in_pieces(void **state)
{
	char many[200];
	struct line l;

	(void)state;
	line_open(&l);
	memset(many, 'x', sizeof(many));
	for (int round = 0; round < 4; round++) {
		assert_int_equal(write(l.ends[1], many, sizeof(many)), sizeof(many));
		send_bytes(&l, "\033[B");
	}
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < sizeof(many); i++)
			assert_int_equal(screen_keys_read(&l.keys, l.ends[0]), 'x');
		assert_int_equal(screen_keys_read(&l.keys, l.ends[0]), SCREEN_DOWN);
	}
	line_close(&l);
}

static void gone(void **state)
{
	struct line l;

	(void)state;
	line_open(&l);
	send_bytes(&l, "q");
	close(l.ends[1]);
	l.ends[1] = -1;
	assert_int_equal(screen_keys_read(&l.keys, l.ends[0]), 'q');
	assert_int_equal(screen_keys_read(&l.keys, l.ends[0]), -EIO);
	line_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),     cmocka_unit_test(sequences),
		cmocka_unit_test(cut_short), cmocka_unit_test(in_pieces),
		cmocka_unit_test(gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
