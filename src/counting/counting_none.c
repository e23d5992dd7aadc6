/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* In the place of all others where programs cannot be counted. */
#include <errno.h>

#include "counting/counting.h"

int counting_new(struct counting **ret, struct diag *diag)
{
	(void)ret;
	return diag_fail(diag, EOPNOTSUPP, "programs are counted on x86-64 only");
}

void counting_free(struct counting *c)
{
	(void)c;
}

int counting_start(struct counting *c, pid_t pid, struct diag *diag)
{
	(void)c, (void)pid;
	return diag_fail(diag, EOPNOTSUPP, "programs are counted on x86-64 only");
}

int counting_start_running(struct counting *c, pid_t pid, struct diag *diag)
{
	return counting_start(c, pid, diag);
}

int counting_count_paths(struct counting *c, uint32_t max, const char *names, struct diag *diag)
{
	(void)max, (void)names;
	return counting_start(c, 0, diag);
}

int counting_each_path(const struct counting *c, int (*f)(void *arg, const struct counting_path *p),
		       void *arg)
{
	(void)c, (void)f, (void)arg;
	return 0;
}

int counting_start_bursts(struct counting *c, pid_t pid, double percent, struct diag *diag)
{
	(void)percent;
	return counting_start(c, pid, diag);
}

bool counting_wants_samples(struct counting *c)
{
	(void)c;
	return false;
}

int counting_take_sample(struct counting *c, uint32_t image, const char *path, uint64_t address,
			 uint64_t count)
{
	(void)c, (void)image, (void)path, (void)address, (void)count;
	return 0;
}

void counting_take_samples_end(struct counting *c)
{
	(void)c;
}

int counting_wait(struct counting *c)
{
	(void)c;
	return -1;
}

void counting_stop(struct counting *c)
{
	(void)c;
}

int counting_each(const struct counting *c, int (*f)(void *arg, const struct db_execution *e),
		  void *arg)
{
	(void)c, (void)f, (void)arg;
	return 0;
}

void counting_read_report(const struct counting *c, struct counting_report *ret)
{
	(void)c;
	*ret = (struct counting_report){0};
}

uint64_t counting_cpu_ns(void *arg)
{
	(void)arg;
	return 0;
}

void counting_fill_originals(struct counting *c, struct originals *ret)
{
	(void)c;
	*ret = (struct originals){0};
}
