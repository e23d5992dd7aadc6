/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * named MILLISECONDS [NAME MILLISECONDS]...: the main thread and one for each name work for so much
 * CPU time; each prints its name and how long it really did, in ns. named many COUNT: so many
 * threads of different names, one after the other, 20 ms each.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include "spin.h"

DEFINE_SPIN(named_work)

struct job {
	pthread_t thread;
	const char *name;
	uint64_t ns;
};

static void work(uint64_t ns)
{
	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < ns)
		named_work(1000000);
}

static void *begin(void *arg)
{
	const struct job *job = arg;

	prctl(PR_SET_NAME, job->name);
	work(job->ns);
	printf("%s %llu\n", job->name, (unsigned long long)clock_now_ns(CLOCK_THREAD_CPUTIME_ID));
	return NULL;
}

static int run_many(int count)
{
	for (int i = 0; i < count; i++) {
		char name[16];
		struct job job = {.name = name, .ns = 20000000};

		snprintf(name, sizeof(name), "one-%d", i);
		if (pthread_create(&job.thread, NULL, begin, &job))
			return 1;
		pthread_join(job.thread, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct job jobs[16];
	int count = 0;

	if (argc > 2 && !strcmp(argv[1], "many"))
		return run_many(atoi(argv[2]));
	for (; count < 16 && 2 * count + 3 < argc; count++) {
		jobs[count].name = argv[2 * count + 2];
		jobs[count].ns = (uint64_t)atoll(argv[2 * count + 3]) * 1000000;
		if (pthread_create(&jobs[count].thread, NULL, begin, &jobs[count]))
			return 1;
	}
	work((uint64_t)atoll(argc > 1 ? argv[1] : "100") * 1000000);
	for (int i = 0; i < count; i++)
		pthread_join(jobs[i].thread, NULL);
	printf("named %llu\n", (unsigned long long)clock_now_ns(CLOCK_THREAD_CPUTIME_ID));
	return 0;
}
