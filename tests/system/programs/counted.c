/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * Programs whose output tells whether anything went wrong in them while they were counted:
 *
 *     counted KIND ROUNDS
 *
 * prints what counted_work() came to and, on "calls C turns T", how often it was called and went
 * round, of its own account.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "counted.h"

COUNTED_WORK;

#define THREADS 4

static long plain(long sum)
{
	return sum;
}

long (*volatile counted_hook)(long) = plain;

/* In memory that children share. */
static struct tally {
	long calls, turns, sum;
} * tally;

static long rounds;
static char **arguments;

static void count(long n, long sum)
{
	__atomic_add_fetch(&tally->calls, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&tally->turns, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&tally->sum, sum, __ATOMIC_RELAXED);
}

static long size_of(long i)
{
	return 1 + i * 7919 % 97;
}

static void work(long i)
{
	long n = size_of(i), got = counted_work(n);

	if (got != n * (n + 1) / 2 + 1) {
		printf("counted_work(%ld) is %ld\n", n, got);
		fflush(stdout);
		abort();
	}
	count(n, got);
}

static void *loop(void *arg)
{
	for (long i = 0; i < rounds; i++)
		work(i + (long)(intptr_t)arg);
	return NULL;
}

static void in_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void run_loop(void)
{
	loop(NULL);
}

static void run_threads(void)
{
	in_threads(loop);
}

static void *one(void *arg)
{
	work((long)(intptr_t)arg);
	return NULL;
}

/* Threads that come and go. */
static void run_births(void)
{
	pthread_t thread;

	for (long i = 0; i < rounds; i++) {
		if (pthread_create(&thread, NULL, one, (void *)(intptr_t)i))
			abort();
		work(i);
		pthread_join(thread, NULL);
	}
}

static void expect_status(pid_t pid, int wanted)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			abort();
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted) {
		printf("a child's status is %#x, not that of exit %d\n", status, wanted);
		fflush(stdout);
		abort();
	}
}

static void run_forks(void)
{
	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (!pid) {
			work(i);
			_exit((int)(i % 200));
		}
		work(i + 1);
		expect_status(pid, (int)(i % 200));
	}
}

static void *crowd(void *arg)
{
	in_threads(loop);
	return arg;
}

/* Forks beside threads that are in the function most of the time. */
static void run_crowd(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, crowd, NULL))
		abort();
	for (long i = 0; i < rounds / 1000; i++) {
		pid_t pid = fork();

		if (!pid) {
			for (long k = 0; k < 1000; k++)
				work(k);
			_exit(0);
		}
		expect_status(pid, 0);
	}
	pthread_join(thread, NULL);
}

extern char **environ;

static void run_spawns(void)
{
	for (volatile long i = 0; i < rounds; i++) {
		char *argv[] = {arguments[0], "status", "7", NULL};
		pid_t pid;

		if (i & 1) {
			pid = vfork();
			if (!pid) {
				execv("/proc/self/exe", argv);
				_exit(1);
			}
		} else if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ)) {
			abort();
		}
		work(i);
		expect_status(pid, 7);
	}
}

/* Becomes itself again and again, the sums on the command line. */
static void run_execs(void)
{
	char text[3][32];
	char *argv[] = {arguments[0], "execs", text[0], text[1], text[2], NULL};

	if (arguments[3] && arguments[4]) {
		tally->calls = atol(arguments[3]);
		tally->sum = atol(arguments[4]);
	}
	work(rounds);
	if (!rounds)
		return;
	snprintf(text[0], sizeof(text[0]), "%ld", rounds - 1);
	snprintf(text[1], sizeof(text[1]), "%ld", tally->calls);
	snprintf(text[2], sizeof(text[2]), "%ld", tally->sum);
	execv("/proc/self/exe", argv);
	abort();
}

static volatile sig_atomic_t handled;

static void handle(int signal)
{
	long n = size_of(++handled);

	(void)signal;
	counted_hook = plain;
	if (counted_work(n) != n * (n + 1) / 2 + 1)
		abort();
	count(n, 0);
}

static void use_own_stack(int signal)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};

	if (!stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(signal, &action, NULL))
		abort();
}

/* Signals that come at any instruction of the function, and whose handler calls it. */
static void run_signals(void)
{
	struct itimerval often = {.it_interval.tv_usec = 300, .it_value.tv_usec = 300}, never = {0};

	use_own_stack(SIGALRM);
	setitimer(ITIMER_REAL, &often, NULL);
	loop(NULL);
	setitimer(ITIMER_REAL, &never, NULL);
}

static long raise_one(long sum)
{
	raise(SIGUSR1);
	return sum;
}

/* A signal in each call, its handler on a stack of its own. */
static void run_raises(void)
{
	use_own_stack(SIGUSR1);
	for (long i = 0; i < rounds; i++) {
		counted_hook = raise_one;
		work(i);
	}
	printf("handled %d\n", (int)handled);
}

static __thread jmp_buf away;

static long jump(long sum)
{
	if (sum % 3 == 0)
		longjmp(away, 1);
	return sum;
}

static void *jumps(void *arg)
{
	long at = (long)(intptr_t)arg;

	for (volatile long i = 0; i < rounds; i++) {
		long n = size_of(i + at);

		if (setjmp(away))
			count(n, 0);
		else
			count(n, counted_work(n));
	}
	return NULL;
}

static void run_jumps(void)
{
	counted_hook = jump;
	in_threads(jumps);
}

/* Calls that wait, none of which may be broken off. */
static void *sleeps(void *arg)
{
	int pipes[2];
	char c = 'x';

	if (pipe(pipes))
		abort();
	for (long i = 0; i < rounds; i++) {
		struct timespec nap = {.tv_nsec = 300000};
		struct pollfd nobody = {.fd = pipes[0], .events = POLLIN};

		errno = 0;
		switch ((i + (long)(intptr_t)arg) % 3) {
		case 0:
			if (nanosleep(&nap, NULL) || errno)
				printf("nanosleep: %s\n", strerror(errno));
			break;
		case 1:
			if (poll(&nobody, 1, 1) || errno)
				printf("poll: %s\n", strerror(errno));
			break;
		case 2:
			if (write(pipes[1], &c, 1) != 1 || read(pipes[0], &c, 1) != 1 || errno)
				printf("read: %s\n", strerror(errno));
		}
		work(i);
	}
	return NULL;
}

static void run_sleeps(void)
{
	in_threads(sleeps);
}

static volatile sig_atomic_t is_asked;

static void take_asking(int number)
{
	(void)number;
	is_asked++;
}

/* Whoever unmaps something from then on ends the program. */
static void install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		abort();
}

/* Until it is told to, it may make all calls; it works when it is told again. */
static void run_filters(void)
{
	signal(SIGUSR1, take_asking);
	while (is_asked < 1)
		usleep(100);
	install_filter();
	while (is_asked < 2)
		usleep(100);
	for (long i = 0; i < rounds; i++)
		work(i);
}

static int connections[THREADS][2];

/* Answers until nobody asks any more. */
static void *serve(void *arg)
{
	const int fd = connections[(intptr_t)arg][0];
	long n;

	while (read(fd, &n, sizeof(n)) == sizeof(n)) {
		const long got = counted_work(n);

		if (write(fd, &got, sizeof(got)) != sizeof(got))
			abort();
		count(n, got);
	}
	return NULL;
}

static void *ask(void *arg)
{
	const int fd = connections[(intptr_t)arg][1];
	long got;

	for (long i = 0; i < rounds; i++) {
		const long n = size_of(i);

		if (write(fd, &n, sizeof(n)) != sizeof(n) ||
		    read(fd, &got, sizeof(got)) != sizeof(got) || got != n * (n + 1) / 2 + 1)
			_exit(1);
	}
	return NULL;
}

/* Threads that serve another process, which misses no answer. */
static void run_serves(void)
{
	pid_t pid;

	for (int i = 0; i < THREADS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, connections[i]))
			abort();
	pid = fork();
	for (int i = 0; i < THREADS; i++)
		close(connections[i][pid ? 1 : 0]);
	if (!pid) {
		in_threads(ask);
		_exit(0);
	}
	in_threads(serve);
	expect_status(pid, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"loop", run_loop},       {"threads", run_threads}, {"births", run_births},
	     {"forks", run_forks},     {"spawns", run_spawns},	 {"execs", run_execs},
	     {"signals", run_signals}, {"raises", run_raises},	 {"jumps", run_jumps},
	     {"sleeps", run_sleeps},   {"crowd", run_crowd},	 {"filters", run_filters},
	     {"serves", run_serves}};

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "status"))
		return atoi(argv[2]);
	arguments = argv;
	rounds = atol(argv[2]);
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (tally == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			printf("sum %ld\ncalls %ld turns %ld\n", tally->sum, tally->calls,
			       tally->turns);
			return 0;
		}
	return 2;
}
