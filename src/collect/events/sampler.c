/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/sampler.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collect/events/sampler_state.h"
#include "collect/events/tick.h"
#include "util/clock.h"

#define SCOPE_MAX 65536

/* libbpf explains a failure in many lines; the last warning is the one that says why. Of a thread:
 * others load the programs that follow samples. */
static _Thread_local char libbpf_said[256];

static int on_libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (level == LIBBPF_WARN) {
		vsnprintf(libbpf_said, sizeof(libbpf_said), format, args);
		libbpf_said[strcspn(libbpf_said, "\n")] = 0;
	}
	return 0;
}

static int explain_load_failure(int r, struct diag *diag)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return diag_fail(diag, EOPNOTSUPP,
				 "this kernel has no BTF (/sys/kernel/btf/vmlinux); it needs "
				 "CONFIG_DEBUG_INFO_BTF=y");
	if (r == -EPERM || r == -EACCES)
		return diag_fail(diag, EPERM,
				 "not allowed to load the sampling program (%s); run as root or "
				 "give CAP_BPF and CAP_PERFMON: see 'culprit doctor'",
				 libbpf_said[0] ? libbpf_said : strerror(-r));
	if (r == -ENOSYS)
		return diag_fail(diag, EOPNOTSUPP,
				 "this kernel has no BPF; it needs CONFIG_BPF_SYSCALL=y");
	return diag_fail(diag, -r, "cannot load the sampling program: %s (%s)", strerror(-r),
			 libbpf_said);
}

const void *sampler_object(size_t *ret_size)
{
	return sample_bpf__elf_bytes(ret_size);
}

/* Nothing here that a program on the tick could interrupt half done may itself interrupt that one.
 */
static int check_beside_tick(const struct sampler_config *config, struct diag *diag)
{
	for (size_t i = 0; i < config->event_count; i++) {
		const struct event *e = &config->events[i];

		if (e->attr.type != PERF_TYPE_SOFTWARE && !event_is_tracepoint(e))
			return diag_fail(diag, EINVAL,
					 "event '%s' cannot be sampled beside the tick, whose "
					 "program it would interrupt; use cpu-clock instead",
					 e->name);
	}
	return 0;
}

static int find_tick(struct sampler *s, const struct sampler_config *config, struct diag *diag)
{
	struct btf *btf;
	int r;

	for (size_t i = 0; i < config->event_count; i++)
		if (config->events[i].tick) {
			s->has_tick = true;
			s->tick.event = (uint32_t)i;
		}
	if (!s->has_tick)
		return 0;
	r = check_beside_tick(config, diag);
	if (r)
		return r;
	btf = config->types ? btf__parse(config->types, NULL) : btf__load_vmlinux_btf();
	if (!btf)
		return diag_fail(diag, errno, "cannot read the kernel's types: %s",
				 strerror(errno));
	r = tick_find(btf, &s->tick, diag);
	btf__free(btf);
	return r;
}

/* Programs that nothing is attached to would cost their verification all the same. */
static void choose_programs(struct sampler *s, const struct sampler_config *config)
{
	bool traced = false;

	for (size_t i = 0; i < config->event_count; i++)
		traced |= event_is_tracepoint(&config->events[i]);
	bpf_program__set_autoload(s->bpf->progs.sample, !config->scoped);
	bpf_program__set_autoload(s->bpf->progs.sample_scoped, config->scoped);
	bpf_program__set_autoload(s->bpf->progs.sample_tracepoint, traced);
	bpf_program__set_autoload(s->bpf->progs.sample_tick, s->has_tick && !config->scoped);
	bpf_program__set_autoload(s->bpf->progs.sample_tick_scoped, s->has_tick && config->scoped);
	bpf_program__set_autoload(s->bpf->progs.on_free, config->scoped);
}

static int load_program(struct sampler *s, const struct sampler_config *config, struct diag *diag)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = config->types);
	/* Numbers need not be dense. */
	uint32_t cpus = s->cpus.number[s->cpus.count - 1] + 1u;
	int possible, r;

	libbpf_set_print(on_libbpf_print);
	libbpf_said[0] = 0;
	possible = libbpf_num_possible_cpus();
	if (possible < 0)
		return diag_fail(diag, -possible, "cannot count the CPUs: %s", strerror(-possible));
	if ((uint32_t)possible > cpus)
		cpus = (uint32_t)possible;

	s->bpf = sample_bpf__open_opts(&options);
	if (!s->bpf)
		return diag_fail(diag, ENOMEM, "cannot open the sampling program: %s",
				 strerror(errno));
	s->bpf->rodata->scoped = config->scoped;
	s->bpf->rodata->tick = s->tick;
	bpf_map__set_max_entries(s->bpf->maps.cpus, cpus);
	bpf_map__set_max_entries(s->bpf->maps.tables, 2 * s->cpus.count);
	bpf_map__set_max_entries(s->bpf->maps.scope, config->scoped ? SCOPE_MAX : 1);
	choose_programs(s, config);
	r = sample_bpf__load(s->bpf);
	if (r)
		return explain_load_failure(r, diag);

	s->state_bytes = sizeof(struct wire_cpu) * (size_t)cpus;
	s->tables_bytes = sizeof(struct wire_table) * 2 * s->cpus.count;
	return 0;
}

static int map_tables(struct sampler *s, struct diag *diag)
{
	void *p = mmap(NULL, s->state_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(s->bpf->maps.cpus), 0);

	if (p == MAP_FAILED)
		goto fail;
	s->state = p;
	p = mmap(NULL, s->tables_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(s->bpf->maps.tables), 0);
	if (p == MAP_FAILED)
		goto fail;
	s->tables = p;

	/* CPUs without tables, such as ones that come online later, find none and count as lost. */
	for (size_t i = 0; i < s->state_bytes / sizeof(*s->state); i++)
		s->state[i].slot = WIRE_NO_SLOT;
	for (unsigned slot = 0; slot < s->cpus.count; slot++)
		s->state[s->cpus.number[slot]].slot = (uint16_t)slot;
	return 0;
fail:
	return diag_fail(diag, errno, "cannot map the sampling tables: %s", strerror(errno));
}

static int on_notice(void *arg, void *data, size_t size)
{
	struct sampler *s = arg;
	const struct wire_notice *n = data;

	if (size >= sizeof(*n) && s->changed)
		s->changed(s->changed_arg, (pid_t)n->tgid, n->time_ns);
	return 0;
}

/* Fork, free and cgroup tracepoints. All at once: without one a scope or subject would be wrong. */
static int attach_tracepoints(struct sampler *s, struct diag *diag)
{
	struct bpf_program *const programs[] = {s->bpf->progs.on_fork, s->bpf->progs.on_free,
						s->bpf->progs.on_cgroup_attach};
	struct bpf_link **const links[] = {&s->bpf->links.on_fork, &s->bpf->links.on_free,
					   &s->bpf->links.on_cgroup_attach};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		*links[i] = bpf_program__attach(programs[i]);
		if (!*links[i])
			return diag_fail(diag, errno,
					 "cannot attach to the kernel's tracepoints: %s",
					 strerror(errno));
	}
	s->notices = ring_buffer__new(bpf_map__fd(s->bpf->maps.notices), on_notice, s, NULL);
	if (!s->notices)
		return diag_fail(diag, errno, "cannot map the notices ring: %s", strerror(errno));
	return 0;
}

/* Tells the program the range of a tracepoint's periods, on all CPUs. */
static int set_tracepoint_period(struct sampler *s, uint32_t event, const struct period *p)
{
	int cpus = libbpf_num_possible_cpus();
	size_t stride = (sizeof(struct wire_period) + 7) / 8 * 8; /* as the kernel lays it out */
	struct wire_period value = {
		.left = 1,
		.low = (uint32_t)(p->low < UINT32_MAX ? p->low : UINT32_MAX),
		.span = (uint32_t)(p->high - p->low < UINT32_MAX ? p->high - p->low + 1
								 : UINT32_MAX),
	};
	char *bytes = cpus > 0 ? malloc(stride * (size_t)cpus) : NULL;
	int r = bytes ? 0 : -ENOMEM;

	for (int i = 0; !r && i < cpus; i++)
		memcpy(bytes + stride * (size_t)i, &value, sizeof(value));
	if (!r)
		r = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.tracepoints), &event, bytes,
					BPF_ANY);
	free(bytes);
	return r;
}

static int attach_program(const struct bpf_program *p, int perf_fd, size_t event, struct diag *diag)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = event);
	int link = bpf_link_create(bpf_program__fd(p), perf_fd, BPF_PERF_EVENT, &opts);

	if (link < 0)
		return diag_fail(diag, -link,
				 "cannot attach the sampling program to an event: %s; it needs "
				 "Linux 5.15 or newer",
				 strerror(-link));
	return link;
}

static struct bpf_program *counting_program(const struct sampler *s)
{
	return s->bpf->rodata->scoped ? s->bpf->progs.sample_scoped : s->bpf->progs.sample;
}

static struct bpf_program *ticking_program(const struct sampler *s)
{
	return s->bpf->rodata->scoped ? s->bpf->progs.sample_tick_scoped
				      : s->bpf->progs.sample_tick;
}

int sampler_attach(struct sampler *s, int perf_fd, bool nothing, struct diag *diag)
{
	return attach_program(nothing ? s->bpf->progs.sample_nothing : counting_program(s), perf_fd,
			      0, diag);
}

/* A file descriptor for each event and CPU, and one for each link: more than the usual limit. */
static void raise_file_limit(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* One event on one CPU. A CPU that does not have the event is left out. */
static int open_event(struct sampler *s, const struct event *e, size_t event, unsigned slot,
		      uint64_t period, struct diag *diag)
{
	size_t i = slot * s->event_count + event;
	struct event busy = *e;
	int fd;
	const struct bpf_program *program = counting_program(s);

	/* Idle CPUs take no ticks, and both are to tell of the same time. */
	busy.attr.exclude_idle |= s->has_tick;
	fd = event_open(&busy, (int)s->cpus.number[slot], period, -1, diag);
	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return fd;
	s->fds[i] = fd;
	s->tracepoint[event] = event_is_tracepoint(e);
	if (e->tick)
		return 0; /* it only tells the time; sampler_start attaches the program */
	if (s->tracepoint[event]) {
		/* Attached once, it runs on all CPUs. */
		if (slot > 0)
			return 0;
		program = s->bpf->progs.sample_tracepoint;
	}
	s->links[i] = attach_program(program, fd, event, diag);
	return s->links[i] < 0 ? s->links[i] : 0;
}

static int open_events(struct sampler *s, const struct sampler_config *config, struct diag *diag)
{
	size_t n = s->cpus.count * s->event_count;
	int r = 0;

	raise_file_limit();
	s->fds = malloc(n * sizeof(*s->fds));
	s->links = malloc(n * sizeof(*s->links));
	s->periods = calloc(n, sizeof(*s->periods));
	s->busy = calloc(s->cpus.count, sizeof(*s->busy));
	s->taken = calloc(s->cpus.count, sizeof(*s->taken));
	s->enabled_ns = calloc(s->cpus.count, sizeof(*s->enabled_ns));
	if (!s->fds || !s->links || !s->periods || !s->busy || !s->taken || !s->enabled_ns)
		return diag_fail(diag, ENOMEM, "out of memory");
	memset(s->fds, 0xff, n * sizeof(*s->fds));
	memset(s->links, 0xff, n * sizeof(*s->links));
	for (unsigned slot = 0; slot < s->cpus.count; slot++)
		for (size_t e = 0; !r && e < s->event_count; e++)
			r = open_event(s, &config->events[e], e, slot, config->periods[e], diag);
	return r;
}

int sampler_new(const struct sampler_config *config, struct sampler **ret, struct diag *diag)
{
	struct sampler *s;

	if (config->event_count == 0 || config->event_count > WIRE_EVENTS)
		return diag_fail(diag, EINVAL, "%zu events asked for; 1 to %d are possible",
				 config->event_count, WIRE_EVENTS);
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->event_count = config->event_count;
	s->width = config->randomize ? PERIOD_WIDTH_DEFAULT : 0;
	s->seed = config->seed;
	for (size_t i = 0; i < s->event_count; i++)
		s->clock[i] = event_is_clock(&config->events[i]);
	int r = cpus_read_online(&s->cpus, diag);
	if (!r)
		r = find_tick(s, config, diag);
	if (!r)
		r = load_program(s, config, diag);
	if (!r)
		r = map_tables(s, diag);
	if (!r)
		r = attach_tracepoints(s, diag);
	if (!r)
		r = open_events(s, config, diag);
	if (!r)
		sampler_set_periods(s, config->periods);
	if (r) {
		sampler_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->fds && s->links && i < s->cpus.count * s->event_count; i++) {
		if (s->links[i] >= 0)
			close(s->links[i]);
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	}
	bpf_link__destroy(s->tick_link);
	free(s->fds);
	free(s->links);
	free(s->periods);
	free(s->busy);
	free(s->taken);
	free(s->enabled_ns);
	ring_buffer__free(s->notices);
	if (s->state)
		munmap(s->state, s->state_bytes);
	if (s->tables)
		munmap(s->tables, s->tables_bytes);
	sample_bpf__destroy(s->bpf);
	free(s);
}

const struct wire_tick *sampler_tick(const struct sampler *s)
{
	return s->has_tick ? &s->tick : NULL;
}

void sampler_drop_tick(struct sampler *s)
{
	bpf_link__destroy(s->tick_link);
	s->tick_link = NULL;
	s->has_tick = false;
}

int sampler_set_follower(struct sampler *s, enum wire_follower follower, int program,
			 int tick_program, const char *name, struct diag *diag)
{
	uint32_t key = (uint32_t)follower;

	if (bpf_map_update_elem(bpf_map__fd(s->bpf->maps.followers), &key, &program, BPF_ANY) ||
	    (s->has_tick && bpf_map_update_elem(bpf_map__fd(s->bpf->maps.tick_followers), &key,
						&tick_program, BPF_ANY)))
		return diag_fail(diag, errno, "cannot attach the %s: %s", name, strerror(errno));
	return 0;
}

void sampler_follow(struct sampler *s, enum wire_follower follower, uint32_t one_in)
{
	uint16_t period =
		one_in < WIRE_FOLLOW_PERIOD_MAX ? (uint16_t)one_in : WIRE_FOLLOW_PERIOD_MAX;

	for (unsigned slot = 0; slot < s->cpus.count; slot++)
		__atomic_store_n(&sampler_cpu(s, slot)->period[follower], period, __ATOMIC_RELAXED);
}

void sampler_follow_event(struct sampler *s, uint32_t event)
{
	for (unsigned slot = 0; slot < s->cpus.count; slot++)
		__atomic_store_n(&sampler_cpu(s, slot)->followed_event, (uint8_t)event,
				 __ATOMIC_RELAXED);
}

/* While no program runs, both sides of the memory are ours. */
static void forget_all(struct sampler *s)
{
	for (unsigned slot = 0; slot < s->cpus.count; slot++) {
		struct wire_cpu *cpu = sampler_cpu(s, slot);
		struct wire_cpu kept = {.slot = cpu->slot, .followed_event = cpu->followed_event};

		memset(&s->tables[2 * slot], 0, 2 * sizeof(struct wire_table));
		s->tables[2 * slot].start_ns = clock_monotonic_ns();
		memcpy(kept.period, cpu->period, sizeof(kept.period));
		*cpu = kept;
		s->taken[slot] = 0;
	}
}

static int start_ticks(struct sampler *s, struct diag *diag)
{
	if (!s->has_tick)
		return 0;
	s->tick_link = bpf_program__attach(ticking_program(s));
	if (s->tick_link)
		return 0;
	return diag_fail(diag, errno, "cannot attach to the scheduler's tick: %s", strerror(errno));
}

int sampler_start(struct sampler *s, struct diag *diag)
{
	int r;

	forget_all(s);
	r = start_ticks(s, diag);
	if (r)
		return r;
	for (size_t i = 0; i < s->cpus.count * s->event_count; i++)
		if (s->fds[i] >= 0 && ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return diag_fail(diag, errno, "cannot start an event: %s", strerror(errno));
	return 0;
}

void sampler_stop(struct sampler *s)
{
	bpf_link__destroy(s->tick_link);
	s->tick_link = NULL;
	for (size_t i = 0; i < s->cpus.count * s->event_count; i++)
		if (s->fds[i] >= 0)
			ioctl(s->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

static int put_in_scope(struct sampler *s, pid_t tgid, uint64_t flags, struct diag *diag)
{
	uint32_t key = (uint32_t)tgid;
	uint64_t any_start = 0;
	int r = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.scope), &key, &any_start, flags);

	return r ? diag_fail(diag, -r, "cannot follow process %d: %s", (int)tgid, strerror(-r)) : 0;
}

int sampler_scope_add(struct sampler *s, pid_t tgid, struct diag *diag)
{
	return put_in_scope(s, tgid, BPF_ANY, diag);
}

int sampler_scope_join(struct sampler *s, pid_t tgid, struct diag *diag)
{
	return put_in_scope(s, tgid, BPF_NOEXIST, diag);
}

void sampler_scope_remove(struct sampler *s, pid_t tgid)
{
	uint32_t key = (uint32_t)tgid;

	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.scope), &key);
}

static void apply_periods(struct sampler *s, unsigned slot)
{
	for (size_t e = 0; e < s->event_count; e++) {
		size_t i = slot * s->event_count + e;
		uint64_t period = period_draw(&s->periods[i]);

		if (s->links[i] >= 0 && !s->tracepoint[e])
			ioctl(s->fds[i], PERF_EVENT_IOC_PERIOD, &period);
	}
}

void sampler_set_periods(struct sampler *s, const uint64_t *means)
{
	for (size_t i = 0; i < s->cpus.count * s->event_count; i++) {
		size_t e = i % s->event_count;
		/* Other events' rates are not known; clocks have the one of their period. */
		double hz = s->clock[e] && means[e] ? 1e9 / (double)means[e] : 0;

		period_init(&s->periods[i], means[e], hz, s->width, s->seed, i);
		if (s->tracepoint[e] && i < s->event_count)
			set_tracepoint_period(s, (uint32_t)e, &s->periods[i]);
	}
	for (unsigned slot = 0; slot < s->cpus.count; slot++)
		apply_periods(s, slot);
}

/* Whether a CPU did anything but idle since the last time. To wake one up that is idle would cost
 * most, and nobody is charged wrongly there. */
static bool was_busy(struct sampler *s, unsigned slot)
{
	const volatile struct wire_cpu *cpu = sampler_cpu(s, slot);
	uint64_t busy = cpu->samples + cpu->outside - cpu->idle;
	bool grew = busy != s->busy[slot];

	s->busy[slot] = busy;
	return grew;
}

void sampler_redraw(struct sampler *s, uint64_t time_ns)
{
	if (s->width <= 0 || time_ns < s->next_redraw_ns)
		return;
	for (unsigned slot = 0; slot < s->cpus.count; slot++)
		if (was_busy(s, slot)) {
			apply_periods(s, slot);
			s->redraws += s->event_count - s->has_tick;
		}
	s->next_redraw_ns = time_ns + period_draw_interval_ns(&s->periods[0]);
}

unsigned sampler_cpus(const struct sampler *s)
{
	return s->cpus.count;
}

void sampler_cgroup_changes(struct sampler *s,
			    void (*changed)(void *arg, pid_t tgid, uint64_t time_ns), void *arg)
{
	s->changed = changed;
	s->changed_arg = arg;
	ring_buffer__consume(s->notices);
	s->changed = NULL;
}
