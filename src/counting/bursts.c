/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/bursts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "util/array.h"

#define IMAGES_MAX    4096
#define SAMPLES_MAX   (1u << 20) /* of an image */
#define SHARE_OF_FILE 0.005	 /* of all samples, that a file must have to be worth a plan */

/*
 * What counting itself takes of a burst's time (doc/trials/counts.md): of a processor for each
 * counter, for each time that a copy is entered (the jumps from the call, to the copy, and back
 * behind the call, and what they displace), and for each stop and start. Whoever runs hardly
 * anything but that is not believed.
 */
#define COUNTER_NS 0.22
#define ENTRY_NS   2.1
#define STOP_NS	   10000.0
#define LEFT_LEAST 0.5 /* of the time */

void bursts_free(struct bursts *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->image_room; i++) {
		free(b->images[i].path);
		free(b->images[i].list);
	}
	free(b->images);
	free(b->before);
	free(b->now);
	for (int g = 0; g < BURSTS_GROUPS; g++)
		free(b->sums[g]);
	free(b);
}

int bursts_add_sample(struct bursts *b, uint32_t image, const char *path, uint64_t address,
		      uint64_t count)
{
	struct bursts_image *im;

	if (image >= IMAGES_MAX || *path != '/')
		return 0;
	if (array_reserve_zeroed(&b->images, image + 1, &b->image_room, sizeof(*b->images), 16))
		return -ENOMEM;
	im = &b->images[image];
	if (!im->path && !(im->path = strdup(path)))
		return -ENOMEM;
	if (im->count == SAMPLES_MAX)
		return 0;
	if (array_grow(&im->list, im->count, &im->room, sizeof(*im->list), 64))
		return -ENOMEM;
	im->list[im->count++] = address;
	im->samples += count;
	b->samples += count;
	return 0;
}

const struct bursts_image *bursts_find_image(const struct bursts *b, const char *path)
{
	for (size_t i = 0; i < b->image_room; i++) {
		const struct bursts_image *im = &b->images[i];

		if (im->path && !strcmp(im->path, path))
			return (double)im->samples >= SHARE_OF_FILE * (double)b->samples ? im
											 : NULL;
	}
	return NULL;
}

static uint64_t read_clock(pid_t pid, uint64_t fallback)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return fallback;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct bursts_process *find_process(struct bursts *b, pid_t pid)
{
	struct bursts_process *p = b->processes;

	for (size_t i = 0; i < b->process_count; i++)
		if (p[i].pid == pid)
			return &p[i];
	if (b->process_count == BURSTS_PROCESSES_MAX)
		return NULL;
	/* The first one has run before; who comes later was forked since. */
	p += b->process_count;
	*p = (struct bursts_process){.pid = pid};
	if (!b->process_count++)
		p->first_ns = p->last_ns = p->began_ns = read_clock(pid, 0);
	return p;
}

uint64_t bursts_look(struct bursts *b, const pid_t *pids, size_t count, bool begins)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		struct bursts_process *p = find_process(b, pids[i]);

		if (!p)
			continue;
		p->last_ns = read_clock(p->pid, p->last_ns);
		if (begins)
			p->began_ns = p->last_ns;
		sum += p->last_ns - p->began_ns;
	}
	return sum;
}

double bursts_total_ns(const struct bursts *b)
{
	double sum = 0;

	for (size_t i = 0; i < b->process_count; i++)
		sum += (double)(b->processes[i].last_ns - b->processes[i].first_ns);
	return sum;
}

double bursts_counted_ns(const struct bursts *b)
{
	double sum = 0;

	for (int g = 0; g < BURSTS_GROUPS; g++)
		sum += b->counted_ns[g];
	return sum;
}

int bursts_set_slots(struct bursts *b, uint32_t slots)
{
	bool all = (b->before = calloc(slots + 1, sizeof(*b->before))) &&
		   (b->now = calloc(slots + 1, sizeof(*b->now)));

	for (int g = 0; all && g < BURSTS_GROUPS; g++)
		all = (b->sums[g] = calloc(slots + 1, sizeof(*b->sums[g])));
	b->slots = slots;
	return all ? 0 : -ENOMEM;
}

uint64_t bursts_add(struct bursts *b, unsigned group, uint64_t ran_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < b->slots; i++) {
		b->sums[group][i] += b->now[i] - b->before[i];
		sum += b->now[i] - b->before[i];
	}
	b->ran_ns[group] += ran_ns;
	b->counters[group] += sum;
	b->count[group]++;
	return sum;
}

void bursts_settle(struct bursts *b, uint64_t entries)
{
	double counters = 0;

	for (int g = 0; g < BURSTS_GROUPS; g++)
		counters += (double)b->counters[g];
	/* Entries are as frequent among counters in each group. */
	const double each = COUNTER_NS + (counters > 0 ? ENTRY_NS * (double)entries / counters : 0);

	for (int g = 0; g < BURSTS_GROUPS; g++) {
		const double ran = (double)b->ran_ns[g];
		const double own = each * (double)b->counters[g] + STOP_NS * (double)b->count[g];

		b->counted_ns[g] = fmax(ran - own, LEFT_LEAST * ran);
	}
}

struct bursts_estimate bursts_estimate(const struct bursts *b, uint64_t sum,
				       const uint64_t counts[BURSTS_GROUPS])
{
	const double counted = bursts_counted_ns(b), total = bursts_total_ns(b);
	double squares = 0, variance, windows;
	struct bursts_estimate e = {0, 0};

	if (!sum || !(counted > 0))
		return e;
	/* Of a ratio of sums (Cochran, Sampling Techniques, 6.4). */
	for (int g = 0; g < BURSTS_GROUPS; g++) {
		double more = (double)counts[g] - (double)sum * b->counted_ns[g] / counted;

		squares += more * more;
	}
	variance = squares * BURSTS_GROUPS / (BURSTS_GROUPS - 1);
	windows = fmin((double)sum, (double)sum * (double)sum / fmax(variance, 1));
	e.count = (uint64_t)((double)sum * fmax(total / counted, 1) + 0.5);
	e.windows = (uint64_t)fmax(windows, 1);
	return e;
}
