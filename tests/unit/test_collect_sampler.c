/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The in-kernel program on the real kernel. Needs the rights to load it; skipped without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/events/sampler.h"
#include "collect/events/sampler_state.h"

static struct event clock_event;
static struct diag clock_why;
static int clock_refused; /* why there is none, 0 if there is */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static bool is_refusal(int r)
{
	return r == -EPERM || r == -EACCES || r == -EOPNOTSUPP;
}

static struct sampler *start(bool scoped, uint64_t period)
{
	struct sampler_config config = {
		.events = &clock_event,
		.periods = &period,
		.event_count = 1,
		.scoped = scoped,
		.randomize = true,
		.seed = 1,
	};
	struct sampler *s = NULL;
	struct diag diag;
	int r = clock_refused;

	if (r)
		diag = clock_why;
	else
		r = sampler_new(&config, &s, &diag);
	if (is_refusal(r)) {
		print_message("skipped: %s\n", diag.text);
		skip();
	}
	if (r)
		fail_msg("%s", diag.text);
	return s;
}

struct sums {
	uint64_t entries, samples, mine, others, outside_time;
	uint64_t from_ns, to_ns;
	pid_t me;
};

static void add_entry(void *arg, const struct sampler_entry *e)
{
	struct sums *sums = arg;

	assert_int_equal(e->event, 0);
	assert_true(e->count > 0);
	sums->entries++;
	sums->samples += e->count;
	*((pid_t)e->tgid == sums->me ? &sums->mine : &sums->others) += e->count;
	sums->outside_time += e->first_ns + 2048 < sums->from_ns || e->first_ns > sums->to_ns;
}

static void drain_all(struct sampler *s, struct sums *sums)
{
	struct diag diag;

	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	sums->to_ns = now_ns();
	sampler_drain(s, 0, sampler_cpus(s), add_entry, sums);
}

/* Whatever was counted in the kernel comes out, once, over many flips. */
static void test_every_sample_is_drained_once(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums sums = {.me = getpid(), .from_ns = now_ns()};
	struct sampler_counters c;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	for (int i = 0; i < 20; i++) {
		spin_ns(10000000);
		drain_all(s, &sums);
		if (i % 4 == 0)
			sampler_redraw(s, now_ns());
	}
	sampler_stop(s);
	drain_all(s, &sums);
	drain_all(s, &sums);
	sampler_read_counters(s, &c);
	assert_int_equal(c.samples, sums.samples + c.lost_spill);
	assert_int_equal(c.samples, c.hits + c.inserts);
	assert_int_equal(c.lost_spill, 0);
	assert_int_equal(sums.outside_time, 0);
	assert_true(sums.mine > 0);
	sampler_free(s);
}

/* As sampler_start, but forgets nothing. */
static void go_on(struct sampler *s)
{
	for (unsigned i = 0; i < sampler_cpus(s); i++)
		assert_int_equal(ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0), 0);
}

/* Fills the table that is in use; returns the samples that it then has. */
static uint64_t fill_tables(struct sampler *s)
{
	for (unsigned slot = 0; slot < sampler_cpus(s); slot++) {
		struct wire_table *t = &s->tables[2 * slot + (sampler_cpu(s, slot)->active & 1)];

		for (unsigned i = 0; i < WIRE_BUCKETS; i++) {
			t->touched[i] = (uint16_t)i;
			for (unsigned k = 0; k < WIRE_WAYS; k++)
				t->bucket[i].way[k] = (struct wire_entry){
					.pc_low = k, .tally = 1u << WIRE_EVENT_SHIFT | 2};
		}
		t->touched_count = WIRE_BUCKETS;
	}
	return 2ull * WIRE_WAYS * WIRE_BUCKETS * sampler_cpus(s);
}

/* What has to leave a full table is not lost. */
static void test_evicted_samples_are_drained(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums before = {0}, sums = {0};
	struct sampler_counters c;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	sampler_stop(s);
	drain_all(s, &before);
	uint64_t filled = fill_tables(s);
	go_on(s);
	spin_ns(50000000);
	sampler_stop(s);
	drain_all(s, &sums);
	sampler_read_counters(s, &c);
	assert_true(c.evictions > 0);
	assert_int_equal(filled + c.samples, before.samples + sums.samples + c.lost_spill);
	sampler_free(s);
}

/* A flip after which the handlers could not be waited for is followed by another, not by a drain.
 */
static void test_what_was_not_drained_keeps_its_times(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums sums = {.me = getpid(), .from_ns = now_ns()};
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(50000000);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	drain_all(s, &sums);
	assert_true(sums.mine > 0);
	assert_int_equal(sums.outside_time, 0);
	sampler_stop(s);
	sampler_free(s);
}

static void check_late(void *arg, const struct sampler_entry *e)
{
	struct sums *sums = arg;

	/* From the table's start as far as its entries can tell. */
	assert_int_equal(e->first_ns, sums->from_ns + ((uint64_t)WIRE_FIRST_MAX << 10 | 1023));
	sums->samples += e->count;
}

/* A collector that was stopped for hours: what was sampled then is not of the hour before. */
static void test_samples_after_hours_are_late(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums sums = {.from_ns = now_ns() - 2 * 3600 * 1000000000ull}, unused = {0};
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	sampler_stop(s);
	drain_all(s, &unused);
	drain_all(s, &unused);
	for (unsigned i = 0; i < 2 * sampler_cpus(s); i++)
		s->tables[i].start_ns = sums.from_ns;
	go_on(s);
	spin_ns(50000000);
	sampler_stop(s);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	sampler_drain(s, 0, sampler_cpus(s), check_late, &sums);
	assert_true(sums.samples > 0);
	sampler_free(s);
}

static void test_scope_holds_only_its_processes(void **state)
{
	struct sampler *s = start(true, 100000);
	struct sums sums = {.from_ns = now_ns()};
	struct sampler_counters c;
	struct diag diag;
	int go[2];

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid_t parent = fork();
	if (parent == 0) {
		char byte;

		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		/* The child's child is followed too, and not before the fork. */
		if (fork() == 0) {
			spin_ns(50000000);
			_exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	sums.me = parent;
	assert_int_equal(sampler_scope_add(s, parent, &diag), 0);
	assert_int_equal(sampler_start(s, &diag), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	spin_ns(20000000); /* not in the scope */
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	sampler_stop(s);
	drain_all(s, &sums);
	sampler_read_counters(s, &c);
	assert_true(sums.others > 0); /* the grandchild's spinning */
	assert_true(c.outside > 0);
	assert_int_equal(c.samples, sums.samples);
	assert_int_equal(c.scope_refused, 0);
	close(go[0]);
	close(go[1]);
	sampler_free(s);
}

/* The start time that the scope has, or -1. */
static int64_t scope_of(const struct sampler *s, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	uint64_t started;
	int r = bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.scope), &key, &started);

	return r ? -1 : (int64_t)started;
}

/* A number that another process had before is not in the scope with it. */
static void test_a_reused_number_is_not_in_the_scope(void **state)
{
	struct sampler *s = start(true, 100000);
	uint64_t another_start = 1;
	uint32_t me = (uint32_t)getpid();
	struct sums sums = {.me = getpid()};
	struct sampler_counters c;
	struct diag diag;

	(void)state;
	assert_int_equal(
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.scope), &me, &another_start, BPF_ANY),
		0);
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(50000000);
	/* Nor are its children. */
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	assert_int_equal(scope_of(s, child), -1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	sampler_stop(s);
	drain_all(s, &sums);
	sampler_read_counters(s, &c);
	assert_int_equal(sums.samples, 0);
	assert_true(c.outside > 0);
	assert_int_equal(scope_of(s, getpid()), 1);
	sampler_free(s);
}

/* So a number that was given leaves the scope with its process. The kernel may take its time. */
static void test_a_process_leaves_the_scope_with_its_end(void **state)
{
	struct sampler *s = start(true, 100000);
	struct diag diag;
	int go[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid_t child = fork();
	if (child == 0) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	assert_int_equal(sampler_scope_add(s, child, &diag), 0);
	assert_int_equal(sampler_start(s, &diag), 0);
	assert_int_equal(scope_of(s, child), 0);
	close(go[1]);
	close(go[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < 3000 && scope_of(s, child) != -1; i++)
		usleep(10000);
	assert_int_equal(scope_of(s, child), -1);
	sampler_stop(s);
	sampler_free(s);
}

static void add_user_samples(void *arg, const struct sampler_entry *e)
{
	uint64_t *count = arg;

	*count += e->pc >> 63 ? 0 : e->count;
}

/* Windows are one in so many of a program's own code, however much of its time is the kernel's. */
static void test_windows_are_of_user_code_alone(void **state)
{
	enum { FAR = 60000, PERIOD = 1000 };
	struct sampler *s = start(false, 100000);
	struct sums before = {0};
	uint64_t counted = 0, user = 0;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	sampler_stop(s);
	drain_all(s, &before);
	sampler_follow_event(s, 0);
	sampler_follow(s, WIRE_FOLLOW_WINDOW, PERIOD);
	for (unsigned i = 0; i < sampler_cpus(s); i++)
		sampler_cpu(s, i)->left[WIRE_FOLLOW_WINDOW] = FAR;
	go_on(s);
	spin_ns(20000000);
	for (uint64_t end = now_ns() + 50000000; now_ns() < end;)
		getppid(); /* some of the time in the kernel */
	sampler_stop(s);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	sampler_drain(s, 0, sampler_cpus(s), add_user_samples, &user);
	for (unsigned i = 0; i < sampler_cpus(s); i++)
		counted += FAR - sampler_cpu(s, i)->left[WIRE_FOLLOW_WINDOW];
	assert_int_equal(counted, user);
	assert_true(user > 0);
	sampler_free(s);
}

/* ... and of one event alone: here of another than the one that is sampled. */
static void test_windows_are_of_one_event(void **state)
{
	enum { FAR = 60000, PERIOD = 1000 };
	struct sampler *s = start(false, 100000);
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	sampler_stop(s);
	sampler_follow_event(s, 1);
	sampler_follow(s, WIRE_FOLLOW_WINDOW, PERIOD);
	for (unsigned i = 0; i < sampler_cpus(s); i++)
		sampler_cpu(s, i)->left[WIRE_FOLLOW_WINDOW] = FAR;
	go_on(s);
	spin_ns(50000000);
	sampler_stop(s);
	for (unsigned i = 0; i < sampler_cpus(s); i++)
		assert_int_equal(sampler_cpu(s, i)->left[WIRE_FOLLOW_WINDOW], FAR);
	sampler_free(s);
}

/* What ends a pair has the next sample of its event, whoever else is due to it, and no further one.
 */
static void check_pair(uint32_t followed, bool ends)
{
	enum { FAR = 60000, PERIOD = 1000, CPUS = 1024 };
	static uint64_t before[CPUS];
	struct sampler *s = start(false, 100000);
	uint64_t taken = 0;
	struct diag diag;

	assert_true(sampler_cpus(s) <= CPUS);
	assert_int_equal(sampler_start(s, &diag), 0);
	sampler_stop(s);
	sampler_follow_event(s, followed);
	sampler_follow(s, WIRE_FOLLOW_STACK, PERIOD);
	for (unsigned i = 0; i < sampler_cpus(s); i++) {
		sampler_cpu(s, i)->left[WIRE_FOLLOW_STACK] = FAR;
		sampler_cpu(s, i)->pair = 1;
		before[i] = sampler_cpu(s, i)->samples;
	}
	go_on(s);
	spin_ns(20000000);
	sampler_stop(s);
	for (unsigned i = 0; i < sampler_cpus(s); i++) {
		const struct wire_cpu *cpu = sampler_cpu(s, i);
		const uint64_t samples = cpu->samples - before[i];
		const bool ended = ends && samples > 0;

		taken += samples;
		assert_int_equal(cpu->pair, !ended);
		assert_int_equal(FAR - cpu->left[WIRE_FOLLOW_STACK], samples - ended);
	}
	assert_true(taken > 0);
	sampler_free(s);
}

static void test_pairs_take_the_next_sample(void **state)
{
	(void)state;
	check_pair(0, true);
	check_pair(1, false);
}

/* What is drawn at the first sample of a start, as the largest and the least of some draws. */
static void draw_distances(struct sampler *s, volatile uint16_t *left, unsigned *least,
			   unsigned *most)
{
	enum { DRAWS = 64 };
	struct diag diag;

	*least = UINT_MAX;
	*most = 0;
	for (int i = 0; i < DRAWS; i++) {
		assert_int_equal(sampler_start(s, &diag), 0);
		while (*left == 0)
			;
		sampler_stop(s);
		*least = *left < *least ? *left : *least;
		*most = *left > *most ? *left : *most;
	}
}

/* At fixed distances they would see the same part of whatever repeats itself. */
static void test_followers_come_at_random_distances(void **state)
{
	enum { PERIOD = 10000 };
	struct sampler *s = start(false, 100000);
	cpu_set_t all, one;
	unsigned least, most;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(s->cpus.number[0], &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		sampler_free(s);
		skip();
	}
	sampler_follow(s, WIRE_FOLLOW_STACK, PERIOD);
	draw_distances(s, &sampler_cpu(s, 0)->left[WIRE_FOLLOW_STACK], &least, &most);
	assert_true(least < PERIOD * 3 / 4 && most > PERIOD * 5 / 4 && most < 2 * PERIOD);
	sampler_follow(s, WIRE_FOLLOW_STACK, 0);
	sampler_follow_event(s, 0);
	sampler_follow(s, WIRE_FOLLOW_WINDOW, PERIOD);
	draw_distances(s, &sampler_cpu(s, 0)->left[WIRE_FOLLOW_WINDOW], &least, &most);
	assert_true(least < PERIOD * 3 / 4 && most > PERIOD * 5 / 4 && most < 2 * PERIOD);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	sampler_free(s);
}

static void test_event_times(void **state)
{
	struct sampler *s = start(false, 1000000);
	struct sampler_event_times t;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(20000000);
	sampler_stop(s);
	assert_int_equal(sampler_read_event(s, 0, &t), 0);
	assert_true(t.enabled_ns >= 20000000);
	assert_int_equal(t.enabled_ns, t.running_ns);
	sampler_free(s);
}

/* CPUs whose events do not go on; stopping all of them stands for the loss of a CPU. */
static void test_missed_cpus(void **state)
{
	struct sampler *s = start(false, 1000000);
	struct sampler_counters c;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(2000000);
	assert_int_equal(sampler_watch_cpus(s, 1000), 0);
	spin_ns(2000000);
	assert_int_equal(sampler_watch_cpus(s, 2000), 0);
	sampler_stop(s);
	sampler_watch_cpus(s, 3000);
	sampler_read_counters(s, &c);
	assert_int_equal(c.missed_ns, 0);
	assert_int_equal(sampler_watch_cpus(s, 4000), sampler_cpus(s));
	assert_int_equal(sampler_watch_cpus(s, 6000), sampler_cpus(s));
	sampler_read_counters(s, &c);
	assert_int_equal(c.missed_ns, 3000 * sampler_cpus(s));
	sampler_free(s);
}

/* One that came online later has no tables; a tracepoint is hit there all the same. */
static void test_a_cpu_without_tables_is_counted(void **state)
{
	struct sampler *s = start(false, 100000);
	unsigned last = s->cpus.number[s->cpus.count - 1];
	struct sampler_counters c;
	struct diag diag;
	cpu_set_t one;

	(void)state;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	if (s->cpus.count < 2 || sched_setaffinity(0, sizeof(one), &one)) {
		sampler_free(s);
		skip();
	}
	assert_int_equal(sampler_start(s, &diag), 0);
	s->state[last].slot = WIRE_NO_SLOT;
	spin_ns(50000000);
	sampler_stop(s);
	s->cpus.count--;
	sampler_read_counters(s, &c);
	s->cpus.count++;
	assert_true(c.lost_spill > 0);
	sampler_free(s);
}

#define LOOP_BYTES 128 /* at most; nothing else runs long */

static __attribute__((noinline)) void loop(uint64_t turns)
{
	while (turns--)
		__asm__ volatile("" : "+r"(turns));
}

struct places {
	uint64_t in[2], elsewhere[2]; /* of this process in user mode, by event */
	pid_t me;
};

static void add_place(void *arg, const struct sampler_entry *e)
{
	struct places *p = arg;
	bool in = e->pc - (uintptr_t)loop < LOOP_BYTES;

	assert_true(e->event < 2);
	if ((pid_t)e->tgid == p->me && !(e->pc >> 63))
		(in ? p->in : p->elsewhere)[e->event] += e->count;
}

/* The tick finds a program where a timer of the same period does, and as often. */
static void test_ticks_are_samples(void **state)
{
	uint64_t periods[2], begun;
	struct event events[2];
	struct sampler_config config = {.events = events,
					.periods = periods,
					.event_count = 2,
					.randomize = true,
					.seed = 1};
	struct places p = {.me = getpid()};
	struct sampler_counters c, later;
	struct sampler *s;
	struct diag diag;
	int r;

	(void)state;
	if (clock_refused || is_refusal(event_parse("tick", &events[0], &diag)))
		skip();
	events[1] = clock_event;
	periods[0] = periods[1] = events[0].period;
	r = sampler_new(&config, &s, &diag);
	if (is_refusal(r))
		skip();
	assert_int_equal(r, 0);
	assert_int_equal(sampler_start(s, &diag), 0);
	for (begun = now_ns(); now_ns() < begun + 1000000000 || p.in[0] + p.in[1] < 100;) {
		loop(10000000);
		if (sampler_pressure(s) == 0 && now_ns() < begun + 1000000000)
			continue;
		sampler_flip(s, 0, sampler_cpus(s), &diag);
		sampler_drain(s, 0, sampler_cpus(s), add_place, &p);
	}
	sampler_stop(s);
	assert_true(p.in[0] > 20 * p.elsewhere[0] && p.in[1] > 20 * p.elsewhere[1]);
	/* Less than twice as many of one as of the other: 100 of them are 6 standard errors off. */
	assert_true(p.in[0] < 2 * p.in[1] && p.in[1] < 2 * p.in[0]);
	sampler_flip(s, 0, sampler_cpus(s), &diag);
	sampler_drain(s, 0, sampler_cpus(s), add_place, &p);
	sampler_read_counters(s, &c);
	spin_ns(50000000);
	sampler_read_counters(s, &later);
	assert_int_equal(c.samples, later.samples); /* stopped */
	sampler_free(s);
	event_free(&events[0]);
}

static int parse_clock(void **state)
{
	(void)state;
	clock_refused = event_parse("cpu-clock", &clock_event, &clock_why);
	return clock_refused && !is_refusal(clock_refused);
}

static int free_clock(void **state)
{
	(void)state;
	if (!clock_refused)
		event_free(&clock_event);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_sample_is_drained_once),
		cmocka_unit_test(test_evicted_samples_are_drained),
		cmocka_unit_test(test_what_was_not_drained_keeps_its_times),
		cmocka_unit_test(test_samples_after_hours_are_late),
		cmocka_unit_test(test_scope_holds_only_its_processes),
		cmocka_unit_test(test_a_reused_number_is_not_in_the_scope),
		cmocka_unit_test(test_a_process_leaves_the_scope_with_its_end),
		cmocka_unit_test(test_windows_are_of_user_code_alone),
		cmocka_unit_test(test_windows_are_of_one_event),
		cmocka_unit_test(test_pairs_take_the_next_sample),
		cmocka_unit_test(test_followers_come_at_random_distances),
		cmocka_unit_test(test_event_times),
		cmocka_unit_test(test_missed_cpus),
		cmocka_unit_test(test_a_cpu_without_tables_is_counted),
		cmocka_unit_test(test_ticks_are_samples),
	};

	return cmocka_run_group_tests(tests, parse_clock, free_clock);
}
