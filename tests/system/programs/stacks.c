/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Works for some seconds of CPU time with stacks of a kind: stacks KIND SECONDS. Each kind is
 * something that unwinders stumble over.
 */
#include <alloca.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define DEEP	 10000
#define THREADS	 4

static double seconds;
static volatile unsigned long sink;

/* Not through the vDSO, which is a kind of its own. */
static double now(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Something to do, none of it a call. */
NOINLINE static void work(unsigned long times)
{
	for (unsigned long i = 0; i < times; i++)
		sink += i * i;
}

NOINLINE static void work_on(void)
{
	while (now() < seconds)
		work(20000);
}

NOINLINE static int deep(int left)
{
	if (left == 0)
		work_on();
	else
		deep(left - 1);
	sink++; /* so that it is no loop */
	return left;
}

NOINLINE static void fill(char *memory, size_t size)
{
	memset(memory, 1, size);
	work(1000 + (unsigned long)memory[size / 2]);
}

/* What alloca takes is free again when the function returns. */
NOINLINE static void take(size_t size)
{
	for (int i = 0; i < 10; i++)
		fill(alloca(size), size);
}

static void dynamic(void)
{
	for (size_t size = 16; now() < seconds; size = size * 5 % 30011 + 16)
		take(size);
}

static void handle(int signal)
{
	(void)signal;
	work(100000);
}

/* Signals at any instruction; on a stack of their own or not. */
static void interrupted(int flags)
{
	struct itimerval often = {{0, 500}, {0, 500}};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | flags};
	stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};

	if (flags & SA_ONSTACK)
		sigaltstack(&other, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	deep(20);
}

static void handled(void)
{
	interrupted(0);
}

static void handled_apart(void)
{
	interrupted(SA_ONSTACK);
}

NOINLINE static void last(unsigned long times)
{
	work(times);
}

NOINLINE static void middle(unsigned long times)
{
	sink += times;
	last(times + 1); /* a jump */
}

static void tails(void)
{
	while (now() < seconds)
		middle(5000);
}

/* Its return address is behind the end of the function that calls it. */
__attribute__((noreturn)) NOINLINE static void finish(void)
{
	work_on();
	exit(0);
}

NOINLINE static void never(void)
{
	sink++;
	finish();
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Through the linkage table and back: neither names nor tables of ours in between. */
static void linked(void)
{
	static int numbers[1000];

	while (now() < seconds) {
		for (int i = 0; i < 1000; i++)
			numbers[i] = (int)strtol("17", NULL, 10) + rand() % 10000;
		qsort(numbers, 1000, sizeof(*numbers), compare);
	}
}

static void *thread(void *arg)
{
	work_on();
	return arg;
}

static void threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void kernel(void)
{
	static char memory[1 << 16];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (now() < seconds)
		for (int i = 0; i < 20 && read(fd, memory, sizeof(memory)) > 0; i++)
			;
}

static void recursion(void)
{
	deep(DEEP);
}

static void clocks(void)
{
	struct timespec t;

	while (now() < seconds)
		for (int i = 0; i < 10000; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{"plain", work_on},
		{"recursion", recursion},
		{"alloca", dynamic},
		{"handler", handled},
		{"altstack", handled_apart},
		{"tail", tails},
		{"noreturn", never},
		{"linkage", linked},
		{"threads", threads},
		{"kernel", kernel},
		{"vdso", clocks},
	};

	seconds = argc > 2 ? atof(argv[2]) : 0;
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			return 0;
		}
	fprintf(stderr, "usage: stacks KIND SECONDS\n");
	return 2;
}
