/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * threads COUNT SECONDS: so many threads with names of their own spin, and one child after the
 * other, ten in a second.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "spin.h"

DEFINE_SPIN(thread_work)
DEFINE_SPIN(child_work)

static uint64_t ticks;

static void *work(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)arg);
	prctl(PR_SET_NAME, name);
	thread_work(ticks);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 2;
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	pthread_t threads[64];

	ticks = (uint64_t)(ticks_a_ns() * seconds * 1e9);
	count = count < 64 ? count : 64;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < (int)(seconds * 10); i++) {
		if (fork() == 0) {
			child_work((uint64_t)((double)ticks / seconds / 10));
			_exit(0);
		}
		wait(NULL);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
