/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/governor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "collect/host/host.h"
#include "collect/events/period.h"
#include "util/array.h"
#include "util/num.h"

double governor_kernel_max_hz(const char *root)
{
	long long hz;

	if (host_read_number(root, "/proc/sys/kernel/perf_event_max_sample_rate", &hz) || hz <= 0)
		return 0;
	return (double)hz;
}

struct governor_rate governor_choose_rate(double cost_ns, double budget_percent,
					  unsigned int events, double kernel_max_hz)
{
	double per_sample_ns = fmax(cost_ns, 0) + GOVERNOR_DRAIN_NS;
	/* The kernel counts interrupts of each tick: the shortest period may not pass its limit. */
	double kernel_hz = kernel_max_hz * (1 - PERIOD_WIDTH_DEFAULT);
	struct governor_rate r = {.bound = "budget"};

	if (!events)
		events = 1;
	r.hz = budget_percent / 100 * 1e9 / per_sample_ns / events;
	if (r.hz > GOVERNOR_MAX_HZ) {
		r.hz = GOVERNOR_MAX_HZ;
		r.bound = "maximum";
	}
	if (kernel_max_hz > 0 && r.hz > kernel_hz) {
		r.hz = kernel_hz;
		r.bound = "kernel";
	}
	/* Also where the budget is not a number. */
	if (!(r.hz >= GOVERNOR_MIN_HZ)) {
		r.hz = GOVERNOR_MIN_HZ;
		r.bound = "minimum";
	}
	r.slowdown_percent = r.hz * per_sample_ns * events / 1e9 * 100;
	return r;
}

/* The highest frequency of the cores in Hz, as far as anything says. */
static double cpu_hz(const char *root)
{
	char text[4096];
	long long khz;
	const char *mhz;

	if (!host_read_number(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
			      &khz) &&
	    khz > 0)
		return (double)khz * 1e3;
	if (host_read_text(root, "/proc/cpuinfo", text, sizeof(text)) > 0 &&
	    (mhz = strstr(text, "cpu MHz")) && (mhz = strchr(mhz, ':')) && atof(mhz + 1) > 0)
		return atof(mhz + 1) * 1e6;
	return 3e9;
}

/* The most of a hardware event that a core does in a cycle, over a time that matters. */
static double most_per_cycle(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_HARDWARE) {
		switch (attr->config & UINT32_MAX) {
		case PERF_COUNT_HW_INSTRUCTIONS:
			return 4;
		case PERF_COUNT_HW_CACHE_MISSES:
		case PERF_COUNT_HW_BRANCH_MISSES:
			return 0.05;
		case PERF_COUNT_HW_CACHE_REFERENCES:
			return 0.2;
		default:
			return 1;
		}
	}
	/* The third byte: accesses or misses. */
	if (attr->type == PERF_TYPE_HW_CACHE)
		return attr->config >> 16 & 0xff ? 0.05 : 2;
	return 1;
}

uint64_t governor_period(const char *root, const struct event *e, double hz)
{
	double period;

	if (!(hz > 0))
		hz = GOVERNOR_MIN_HZ;
	if (event_is_clock(e))
		period = 1e9 / hz;
	else if (event_is_tracepoint(e))
		return 1;
	else if (e->attr.type == PERF_TYPE_SOFTWARE)
		/* Up to a million a second on a core, a fraction of a microsecond a sample. */
		period = fmax(1, 1e5 / hz);
	else
		period = cpu_hz(root) * most_per_cycle(&e->attr) / hz;
	return (uint64_t)fmin(fmax(1, period), (double)(INT64_MAX / 2));
}

/* The tail at each end that is left out: what the host took away unseen is in either. */
static unsigned int tail_of(unsigned int count)
{
	unsigned int tenth = (count + 9) / 10;

	return tenth < (count + 1) / 2 ? tenth : (count - 1) / 2;
}

/* The trimmed mean, and its standard error from the winsorized variance (Tukey and McLaughlin,
 * Sankhya A 1963). */
void governor_summarize(double *values, unsigned int count, struct governor_cost *ret)
{
	unsigned int tail = count ? tail_of(count) : 0, kept = count - 2 * tail;
	double sum = 0, all = 0, squares = 0;

	ret->pairs = count;
	if (!count)
		return;
	array_sort(values, count, sizeof(*values), num_compare_double);
	for (unsigned int i = tail; i < count - tail; i++)
		sum += values[i];
	ret->cost_ns = sum / kept;
	all = (sum + tail * (values[tail] + values[count - tail - 1])) / count;
	for (unsigned int i = 0; i < count; i++) {
		double v = fmin(fmax(values[i], values[tail]), values[count - tail - 1]);

		squares += (v - all) * (v - all);
	}
	ret->error_ns = count > 1 ? sqrt(squares / (count - 1)) / (kept * sqrt(count) / count) : 0;
}
