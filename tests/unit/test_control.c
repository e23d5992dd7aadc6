/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The control socket: requests and answers, who is dropped, and whose the socket's file is. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/control.h"
#include "workshop.h"

#define NOW UINT64_C(1000000000000)

static struct control *control;
static unsigned asked;

static int start(void **state)
{
	struct diag diag = {0};

	(void)state;
	asked = 0;
	if (control_new("socket", &control, &diag))
		fail_msg("%s", diag.text);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	control_free(control);
	return access("socket", F_OK) ? 0 : -1;
}

static int connect_client(void)
{
	const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void echo(void *arg, const char *request, struct buf *out)
{
	(void)arg;
	asked++;
	buf_printf(out, "you said %s", request);
}

static void serve(uint64_t now_ns)
{
	control_serve(control, now_ns, echo, NULL);
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect_answer(int fd, const char *answer)
{
	char text[256];
	ssize_t n = recv(fd, text, sizeof(text), 0);

	assert_int_equal(n, strlen(answer));
	assert_memory_equal(text, answer, (size_t)n);
	assert_int_equal(recv(fd, text, sizeof(text), 0), 0);
	close(fd);
}

static size_t clients(void)
{
	struct pollfd fds[CONTROL_CLIENTS_MAX + 1];

	return control_poll_fds(control, fds, CONTROL_CLIENTS_MAX + 1) - 1;
}

static void test_a_line_is_answered(void **state)
{
	int one = connect_client(), in_pieces = connect_client();

	(void)state;
	say(one, "status\n");
	say(in_pieces, "sta");
	serve(NOW);
	expect_answer(one, "you said status\n");
	assert_int_equal(clients(), 1);
	say(in_pieces, "tus\nand more");
	serve(NOW);
	expect_answer(in_pieces, "you said status\n");
	assert_int_equal(clients(), 0);
}

static void test_silence_has_an_end(void **state)
{
	int fd = connect_client();

	(void)state;
	serve(NOW);
	serve(NOW + CONTROL_PATIENCE_NS);
	assert_int_equal(clients(), 1);
	serve(NOW + CONTROL_PATIENCE_NS + 1);
	assert_int_equal(clients(), 0);
	assert_int_equal(asked, 0);
	close(fd);
}

/* A request without end costs what a request may be long, once. */
static void test_a_request_has_an_end(void **state)
{
	char much[CONTROL_REQUEST_MAX];
	int fd = connect_client();

	(void)state;
	memset(much, 'x', sizeof(much));
	assert_int_equal(send(fd, much, sizeof(much) - 1, MSG_NOSIGNAL), sizeof(much) - 1);
	serve(NOW);
	assert_int_equal(clients(), 1);
	say(fd, "x");
	serve(NOW);
	assert_int_equal(clients(), 0);
	assert_int_equal(asked, 0);
	close(fd);
}

static void test_the_oldest_makes_room(void **state)
{
	int fd[CONTROL_CLIENTS_MAX + 1];

	(void)state;
	for (int i = 0; i <= CONTROL_CLIENTS_MAX; i++) {
		fd[i] = connect_client();
		serve(NOW + (uint64_t)i);
	}
	assert_int_equal(clients(), CONTROL_CLIENTS_MAX);
	for (int i = 1; i <= CONTROL_CLIENTS_MAX; i++)
		say(fd[i], "status\n");
	serve(NOW + 100);
	assert_int_equal(asked, CONTROL_CLIENTS_MAX);
	for (int i = 1; i <= CONTROL_CLIENTS_MAX; i++)
		expect_answer(fd[i], "you said status\n");
	close(fd[0]);
}

static void test_others_may_not(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat("socket", &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0660);
}

static void test_only_a_dead_socket_is_replaced(void **state)
{
	struct control *second = NULL;
	struct diag diag = {0};

	(void)state;
	assert_int_equal(control_new("socket", &second, &diag), -EADDRINUSE);
	assert_int_equal(workshop_write("file", "precious"), 0);
	assert_true(control_new("file", &second, &diag) < 0);
	assert_int_equal(access("file", F_OK), 0);
	assert_null(second);
}

static void *ask(void *arg)
{
	char *text = NULL;

	control_ask(arg, "hello there", 10000, &text, NULL);
	return text;
}

static void test_the_clients_side(void **state)
{
	struct pollfd fds[CONTROL_CLIENTS_MAX + 1];
	char path[] = "socket", *nothing;
	struct diag diag;
	pthread_t t;
	void *text;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, ask, path), 0);
	while (pthread_tryjoin_np(t, &text)) {
		size_t n = control_poll_fds(control, fds, CONTROL_CLIENTS_MAX + 1);

		poll(fds, (nfds_t)n, 10);
		serve(NOW);
	}
	assert_non_null(text);
	assert_string_equal(text, "you said hello there");
	free(text);
	assert_int_equal(control_ask("nowhere", "x", 100, &nothing, &diag), -ENOENT);
}

/* A daemon that hangs takes no connections, and its queue of them is full. */
static void test_a_daemon_that_hangs(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "hangs"};
	char *text;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), waiting[8], count = 0;
	struct control *second;
	struct diag diag;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	do {
		assert_in_range(count, 0, 7);
		waiting[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	} while (connect(waiting[count++], (struct sockaddr *)&address, sizeof(address)) == 0);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(control_ask(address.sun_path, "status", 100, &text, &diag), -EPIPE);
	assert_non_null(strstr(diag.text, "did not answer"));
	assert_int_equal(control_new(address.sun_path, &second, &diag), -EADDRINUSE);
	while (count)
		close(waiting[--count]);
	close(listener);
	unlink(address.sun_path);
}

static int enter_workshop(void **state)
{
	return workshop_setup(state) || chdir(workshop_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_line_is_answered, start, stop),
		cmocka_unit_test_setup_teardown(test_silence_has_an_end, start, stop),
		cmocka_unit_test_setup_teardown(test_a_request_has_an_end, start, stop),
		cmocka_unit_test_setup_teardown(test_the_oldest_makes_room, start, stop),
		cmocka_unit_test_setup_teardown(test_others_may_not, start, stop),
		cmocka_unit_test_setup_teardown(test_the_clients_side, start, stop),
		cmocka_unit_test(test_a_daemon_that_hangs),
		cmocka_unit_test_setup_teardown(test_only_a_dead_socket_is_replaced, start, stop),
	};

	return cmocka_run_group_tests(tests, enter_workshop, workshop_teardown);
}
