/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * Calls known_work() a known number of times, and that known_part() three times each:
 *
 *     known plain N           in the first thread
 *     known threads N         in four threads
 *     known forks N           in four children
 *     known execs N           half of them before it becomes itself again
 *     known dies N            before it writes where it may not
 *     known library N PATH    known_library() of a library that is loaded by then
 *     known signals N         in a handler of signals that it sends itself
 *     known crowded N PATH    as library, with more mappings of code than one looks at
 *     known tight N PATH      as library, with no more memory than that needs, then as plain
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LIBRARY
static int started;

__attribute__((constructor)) static void known_constructor(void)
{
	started = 1;
}

long known_library(long n);
__attribute__((noinline)) long known_library(long n)
{
	return n % 7 ? n + started : 0;
}
#else
long known_part(long n);
__attribute__((noinline, noclone)) long known_part(long n)
{
	return n % 3 ? n * 5 : n ^ 77;
}

long known_work(long n);
__attribute__((noinline, noclone)) long known_work(long n)
{
	long sum = 0;

	for (int i = 0; i < 3; i++)
		sum += known_part(n + i);
	return sum;
}

static long work(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += known_work(i);
	return sum;
}

static void *run(void *arg)
{
	*(long *)arg = work(*(long *)arg);
	return NULL;
}

static long threads(long n)
{
	pthread_t list[4];
	long parts[4] = {n / 4, n / 4, n / 4, n / 4}, sum = 0;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&list[i], NULL, run, &parts[i]))
			exit(1);
	for (int i = 0; i < 4; i++) {
		pthread_join(list[i], NULL);
		sum += parts[i];
	}
	return sum;
}

static long forks(long n)
{
	int status, failed = 0;

	for (int i = 0; i < 4; i++)
		if (!fork())
			_exit(work(n / 4) ? i : 9);
	while (wait(&status) > 0)
		failed += WEXITSTATUS(status);
	return failed;
}

static long library(long n, const char *path)
{
	void *found = dlopen(path, RTLD_NOW);
	long (*f)(long) = found ? (long (*)(long))dlsym(found, "known_library") : NULL;
	long sum = 0;

	if (!f)
		exit(1);
	for (long i = 0; i < n; i++)
		sum += f(i);
	return sum;
}

/* Page upon page, each the file's first, so that no two are one mapping. */
static long crowded(long n, const char *path)
{
	int fd = open(path, O_RDONLY);

	for (int i = 0; i < 5000; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			exit(1);
	return library(n, path);
}

/* As much memory as the library needs, to the page. */
static long tight(long n, const char *path)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%lu", &pages) != 1)
		exit(1);
	fclose(f);
	for (int i = 0; i < 64; i++, pages++) {
		setrlimit(RLIMIT_AS, &(struct rlimit){pages * 4096, RLIM_INFINITY});
		if (dlopen(path, RTLD_NOW))
			break;
	}
	return library(n, path);
}

static volatile long handled;

static void handle(int number)
{
	handled += known_work(number);
}

static long signals(long n)
{
	signal(SIGUSR1, handle);
	for (long i = 0; i < n; i++)
		raise(SIGUSR1);
	return handled;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0, sum = 0;
	char half[32];

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "plain")) {
		sum = work(n);
	} else if (!strcmp(argv[1], "threads")) {
		sum = threads(n);
	} else if (!strcmp(argv[1], "forks")) {
		sum = forks(n);
	} else if (!strcmp(argv[1], "signals")) {
		sum = signals(n);
	} else if (!strcmp(argv[1], "library") && argc > 3) {
		sum = library(n, argv[3]);
	} else if (!strcmp(argv[1], "crowded") && argc > 3) {
		sum = crowded(n, argv[3]);
	} else if (!strcmp(argv[1], "tight") && argc > 3) {
		sum = tight(n, argv[3]) + work(n);
	} else if (!strcmp(argv[1], "execs")) {
		snprintf(half, sizeof(half), "%ld", n - n / 2);
		sum = work(n / 2);
		execl(argv[0], argv[0], "plain", half, NULL);
	} else if (!strcmp(argv[1], "dies")) {
		printf("%ld\n", work(n));
		fflush(stdout);
		*(volatile int *)(argv[1] - argv[1]) = 1;
	}
	printf("%ld\n", sum);
	return 3;
}
#endif
