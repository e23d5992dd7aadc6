// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The sampling interrupt. Runs on every overflow of every event on every CPU, so it does one thing:
 * count (process, thread's name, PC, event) in this CPU's active table. See wire.h for the memory
 * and its rules.
 */
#include "program.bpf.h"
#include "mm_state.bpf.h"

/* The parts of the kernel's structures that are used; CO-RE finds them in the running kernel. */
struct cgroup;
struct css_set {
	struct cgroup *dfl_cgrp;
} __attribute__((preserve_access_index));

struct task_struct {
	struct mm_struct *mm;
	int pid, tgid;
	__u64 self_exec_id;
	__u64 start_boottime;
	struct task_struct *group_leader;
	char comm[WIRE_NAME_BYTES];
	struct css_set *cgroups;
} __attribute__((preserve_access_index));

#include "thread_name.bpf.h"
#include "tick.bpf.h"

/* Set before loading. */
const volatile bool scoped = false; /* only processes in the scope map and their children */

/* The collector gives these and the hash their real sizes before loading. */
MAP_SHARED_ARRAY(cpus, 1, struct wire_cpu);
MAP_SHARED_ARRAY(tables, 2, struct wire_table);

/* tgid -> start time of the process, or 0 for one that the collector put in by its number. */
MAP_HASH(scope, __u32, __u64);
MAP_RING(notices);

/* By event, for tracepoints only. */
MAP_CPU_ARRAY(tracepoints, WIRE_EVENTS, struct wire_period);

/* What the programs on no event cost: of the budget, like the samples. Not by the kernel's
 * statistics of programs, which slow every program of the machine and want CAP_SYS_ADMIN.
 */
MAP_CPU_ARRAY(programs, 1, struct wire_programs);

/* The interpreter of edge samples and the unwinder, if they run: interpret.bpf.c, unwind.bpf.c. */
MAP(followers, PROG_ARRAY, 0, WIRE_FOLLOWER_PROGRAMS, __u32, __u32);

/* The same of the tick: a program can call only those of its own type. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, WIRE_FOLLOWER_PROGRAMS);
	__type(key, __u32);
	__type(value, __u32);
} tick_followers SEC(".maps");

/* Forks that could not be taken into a full scope map; notices that found the ring full; ticks
 * within another sample. */
__u64 scope_refused, notices_lost, ticks_lost;

static __always_inline bool in_scope(__u32 tgid, __u64 start_boottime)
{
	__u64 *started = bpf_map_lookup_elem(&scope, &tgid);

	return started && (*started == 0 || *started == start_boottime);
}

/* An evicted entry leaves its bucket for the spill. */
static __always_inline void spill(struct wire_cpu *cpu, struct wire_table *t,
				  const struct wire_entry *e, __u8 name)
{
	__u32 n = t->spill_count;

	cpu->evictions++;
	if (n >= WIRE_SPILL) {
		cpu->lost_spill += e->tally & WIRE_COUNT_MASK;
		return;
	}
	t->spill[n & (WIRE_SPILL - 1)] = *e;
	t->spill_name[n & (WIRE_SPILL - 1)] = name;
	t->spill_count = n + 1;
}

static __always_inline void touch(struct wire_table *t, __u32 index)
{
	__u32 n = t->touched_count;

	if (n < WIRE_BUCKETS) {
		t->touched[n & (WIRE_BUCKETS - 1)] = index;
		t->touched_count = n + 1;
	}
}

#define NAMES_MASK ((1ull << 8 * WIRE_WAYS) - 1)

/* The last way leaves, the others move back by one, the front is free. */
static __always_inline void insert(struct wire_cpu *cpu, struct wire_table *t, __u32 index,
				   const struct wire_entry *e, __u8 name)
{
	struct wire_bucket *b = &t->bucket[index];

	if (b->way[0].tally == 0)
		touch(t, index);
	if (b->way[WIRE_WAYS - 1].tally != 0)
		spill(cpu, t, &b->way[WIRE_WAYS - 1], b->names >> 8 * (WIRE_WAYS - 1));
#pragma unroll
	for (int i = WIRE_WAYS - 1; i > 0; i--)
		b->way[i] = b->way[i - 1];
	b->way[0] = *e;
	b->names = (b->names << 8 | name) & NAMES_MASK;

	/* After 73 minutes without a drain (a collector that was stopped) all are of the last. */
	__u64 first = (bpf_ktime_get_ns() - t->start_ns) >> 10;

	b->way[0].first = first < WIRE_FIRST_MAX ? first : WIRE_FIRST_MAX;
}

static __always_inline bool same_key(const struct wire_entry *a, const struct wire_entry *b)
{
	return a->pc_low == b->pc_low && a->process == b->process && a->pc_high == b->pc_high &&
	       a->tally >> WIRE_COUNT_BITS == b->tally >> WIRE_COUNT_BITS;
}

/* Counts in way i, which is a constant here, and moves it to the front. */
static __always_inline bool count(struct wire_bucket *b, const int i)
{
	struct wire_entry found = b->way[i];

	/* A count that is full makes a second entry of the same key; the drain adds them. */
	if ((found.tally & WIRE_COUNT_MASK) == WIRE_COUNT_MASK)
		return false;
	found.tally++;
	if (i == 0) {
		b->way[0].tally = found.tally;
		return true;
	}
	if (i >= 5)
		b->way[5] = b->way[4];
	if (i >= 4)
		b->way[4] = b->way[3];
	if (i >= 3)
		b->way[3] = b->way[2];
	if (i >= 2)
		b->way[2] = b->way[1];
	b->way[1] = b->way[0];
	b->way[0] = found;

	/* The names move as their ways do. */
	__u64 before = b->names & ((1ull << 8 * i) - 1), own = b->names >> 8 * i & 0xff;

	b->names = (b->names >> 8 * (i + 1) << 8 * (i + 1)) | before << 8 | own;
	return true;
}

/* Counts the sample if its entry is there. */
static __always_inline bool hit(struct wire_bucket *b, const struct wire_entry *e, __u8 name)
{
	if (same_key(&b->way[0], e) && (__u8)b->names == name)
		return count(b, 0);
	if (same_key(&b->way[1], e) && (__u8)(b->names >> 8) == name)
		return count(b, 1);
	if (same_key(&b->way[2], e) && (__u8)(b->names >> 16) == name)
		return count(b, 2);
	if (same_key(&b->way[3], e) && (__u8)(b->names >> 24) == name)
		return count(b, 3);
	if (same_key(&b->way[4], e) && (__u8)(b->names >> 32) == name)
		return count(b, 4);
	if (same_key(&b->way[5], e) && (__u8)(b->names >> 40) == name)
		return count(b, 5);
	return false;
}

static __always_inline __u32 bucket_of(const struct wire_entry *e, __u8 name)
{
	/* Fibonacci hashing; the high bits of the product depend on all bits of the key. */
	__u64 key = ((__u64)e->pc_high << 32 | e->pc_low) + ((__u64)e->process << 20) +
		    ((__u64)e->tally << 7) + ((__u64)name << 40);

	return (key * 0x9e3779b97f4a7c15ull) >> 40 & (WIRE_BUCKETS - 1);
}

/*
 * Changes when the process unmaps code that ran, so that an entry never spans two libraries that
 * were at its address one after the other. Where the kernel does not tell, such libraries may get
 * each other's samples within a drain.
 */
static __always_inline __u32 mapping_count(const struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	return mm ? mm_code_state(mm) : 0;
}

/* The number of the current thread's name in the table. */
static __always_inline __u8 number_name(struct wire_table *t, const struct task_struct *task,
					const struct task_struct *leader)
{
	struct wire_name own;

	if (!thread_name(task, leader->comm, &own))
		return 0;

	__u32 slot = ((own.half[0] ^ own.half[1] >> 7) * 0x9e3779b97f4a7c15ull) >> 56;

#pragma unroll
	for (int i = 0; i < WIRE_NAME_PROBES; i++) {
		__u32 n = (slot + i) & (WIRE_NAMES - 1);
		struct wire_name *w = &t->name[n];

		if (n == 0)
			continue;
		if (w->half[0] == own.half[0] && w->half[1] == own.half[1])
			return n;
		if (!w->half[0]) {
			*w = own;
			t->name_count++;
			return n;
		}
	}
	t->names_refused++;
	return 0;
}

/* One in so many samples is due, at random distances. */
static __always_inline bool is_due(__u16 period, __u16 *left)
{
	if (*left > 1) {
		--*left;
		return false;
	}
	*left = 1 + bpf_get_prandom_u32() % (2 * period - 1);
	return true;
}

/* Who is to follow this sample. That one takes it in place of another is as random as both. */
static __always_inline int choose_follower(struct wire_cpu *cpu, __u64 pc, __u32 event)
{
	if (cpu->pair && event == cpu->followed_event) {
		cpu->pair = 0;
		return pc >> 63 ? WIRE_FOLLOW_PAIR_MISSED : WIRE_FOLLOW_PAIR;
	}
#pragma unroll
	for (int i = 0; i < WIRE_FOLLOWERS; i++) {
		__u16 period = cpu->period[i];

		if (!period)
			continue;
		if (WIRE_FOLLOWS_ONE_EVENT(i) && (event != cpu->followed_event || pc >> 63))
			continue;
		if (!is_due(period, &cpu->left[i]))
			continue;
		if (i == WIRE_FOLLOW_WINDOW)
			cpu->pair = bpf_get_prandom_u32() % WIRE_PAIR_PART == 0;
		return i;
	}
	return WIRE_FOLLOW_NONE;
}

/*
 * Counts one sample of the current task; returns who is to follow it. only_scope is a constant:
 * even a branch on one that the verifier knows costs the load, and a cache line.
 */
static __always_inline int take(__u64 pc, __u32 event, bool only_scope)
{
	__u32 cpu_index = bpf_get_smp_processor_id();
	struct wire_cpu *cpu = bpf_map_lookup_elem(&cpus, &cpu_index);

	if (!cpu)
		return WIRE_FOLLOW_NONE;

	struct task_struct *task = (void *)bpf_get_current_task_btf();
	/* Once: for each step from the task the verifier searches the names of all types. */
	struct task_struct *leader = task->group_leader;
	__u64 start = leader->start_boottime;
	__u32 tgid = task->tgid;

	cpu->idle += tgid == 0;
	if (only_scope && !in_scope(tgid, start)) {
		cpu->outside++;
		return WIRE_FOLLOW_NONE;
	}

	__u32 row = 2 * cpu->slot + (*(volatile __u8 *)&cpu->active & 1);
	struct wire_table *t = bpf_map_lookup_elem(&tables, &row);

	cpu->samples++;
	if (!t) {
		cpu->lost_spill++;
		return WIRE_FOLLOW_NONE;
	}

	__u32 mappings = pc >> 63 ? 0 : mapping_count(task) & WIRE_MAPPING_MASK;
	struct wire_entry e = {
		.pc_low = pc,
		.pc_high = pc >> 32,
		.process = wire_process(tgid, start, task->self_exec_id),
		.tally = (event + 1) << WIRE_EVENT_SHIFT | mappings << WIRE_COUNT_BITS | 1,
	};
	__u8 name = number_name(t, task, leader);
	__u32 index = bucket_of(&e, name);

	if (hit(&t->bucket[index & (WIRE_BUCKETS - 1)], &e, name))
		cpu->hits++;
	else
		insert(cpu, t, index & (WIRE_BUCKETS - 1), &e, name);
	return choose_follower(cpu, pc, event);
}

static __always_inline int take_and_follow(struct bpf_perf_event_data *ctx, bool only_scope)
{
	int follower = take(PT_REGS_IP(&ctx->regs), bpf_get_attach_cookie(ctx), only_scope);

	if (follower >= 0)
		bpf_tail_call(ctx, &followers, follower);
	return 0;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	return take_and_follow(ctx, false);
}

SEC("perf_event")
int sample_scoped(struct bpf_perf_event_data *ctx)
{
	return take_and_follow(ctx, true);
}

/*
 * The scheduler's tick, which a busy CPU takes anyway. Of the programs on events, which take
 * samples too, the kernel lets no other begin while one runs, but it does let this one.
 */
static __always_inline int take_tick(struct hrtimer *timer, bool only_scope)
{
	struct pt_regs *found;
	__u64 pc = 0;

	if (tick_read(timer, tick.running, sizeof(__u32))) {
		__sync_fetch_and_add(&ticks_lost, 1);
		return WIRE_FOLLOW_NONE;
	}
	found = tick_registers(timer);
	bpf_probe_read_kernel(&pc, sizeof(pc), &PT_REGS_IP(found));
	return take(pc, tick.event, only_scope);
}

/* Idle CPUs stop their ticks, so those that come there say nothing of idle time. */
static __always_inline int take_timer(struct hrtimer *timer, bool only_scope)
{
	__u64 begun_ns = bpf_ktime_get_ns();
	bool ticks = is_tick(timer) && bpf_get_current_pid_tgid() >> 32;
	int follower = ticks ? take_tick(timer, only_scope) : WIRE_FOLLOW_NONE;
	__u32 key = 0;
	struct wire_programs *cost = bpf_map_lookup_elem(&programs, &key);

	if (cost) {
		cost->ticks += ticks;
		cost->tick_ns += bpf_ktime_get_ns() - begun_ns;
	}
	return follower;
}

SEC("raw_tp/hrtimer_expire_entry")
int sample_tick(struct bpf_raw_tracepoint_args *ctx)
{
	int follower = take_timer((void *)ctx->args[0], false);

	if (follower >= 0)
		bpf_tail_call(ctx, &tick_followers, follower);
	return 0;
}

SEC("raw_tp/hrtimer_expire_entry")
int sample_tick_scoped(struct bpf_raw_tracepoint_args *ctx)
{
	int follower = take_timer((void *)ctx->args[0], true);

	if (follower >= 0)
		bpf_tail_call(ctx, &tick_followers, follower);
	return 0;
}

/*
 * Tracepoints: the kernel runs this at every hit, on every CPU, whatever the event's period, so one
 * in so many is taken here. The place is the one that perf says: in the kernel, where the
 * tracepoint is, but for system calls on older kernels (6.1), which pass the registers of the user,
 * where the call is.
 */
SEC("tracepoint")
int sample_tracepoint(void *ctx)
{
	__u32 event = bpf_get_attach_cookie(ctx);
	struct wire_period *p = bpf_map_lookup_elem(&tracepoints, &event);
	__u64 pc = 0;

	if (!p)
		return 0;
	if (p->left > 1) {
		p->left--;
		return 0;
	}
	p->left = p->low + (p->span ? bpf_get_prandom_u32() % p->span : 0);
	if (bpf_get_stack(ctx, &pc, sizeof(pc), 0) <= 0)
		bpf_get_stack(ctx, &pc, sizeof(pc), BPF_F_USER_STACK);
	take(pc, event, scoped); /* without a place it is an unknown sample */
	return 0;
}

/* For the benchmark and the governor: what an interrupt costs with a handler that does nothing. */
SEC("perf_event")
int sample_nothing(void *ctx)
{
	return 0;
}

static __always_inline void notice(__u32 tgid)
{
	struct wire_notice *n = bpf_ringbuf_reserve(&notices, sizeof(*n), 0);

	if (!n) {
		__sync_fetch_and_add(&notices_lost, 1);
		return;
	}
	n->tgid = tgid;
	n->unused = 0;
	n->time_ns = bpf_ktime_get_ns();
	/* The collector looks at every drain; waking it would cost more than the notice. */
	bpf_ringbuf_submit(n, BPF_RB_NO_WAKEUP);
}

static __always_inline void charge(__u64 begun_ns)
{
	__u32 key = 0;
	struct wire_programs *p = bpf_map_lookup_elem(&programs, &key);

	if (!p)
		return;
	p->runs++;
	p->ns += bpf_ktime_get_ns() - begun_ns;
}

/*
 * Not by "tp_btf": of those the verifier knows the arguments' types, and for each step of a pointer
 * that it trusts it searches all names of the kernel's types, which took 6 ms of every start; and
 * libbpf reads all of the types to attach them.
 */
static __always_inline void take_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);

	if (from == to)
		return; /* a thread */
	if (BPF_CORE_READ(parent, cgroups, dfl_cgrp) != BPF_CORE_READ(child, cgroups, dfl_cgrp))
		notice(to);
	if (scoped && in_scope(from, BPF_CORE_READ(parent, group_leader, start_boottime))) {
		__u64 start = BPF_CORE_READ(child, start_boottime);

		if (bpf_map_update_elem(&scope, &to, &start, BPF_ANY))
			__sync_fetch_and_add(&scope_refused, 1);
	}
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 begun_ns = bpf_ktime_get_ns();

	take_fork(parent, child);
	charge(begun_ns);
	return 0;
}

/* Not at exit: what the kernel does to take the process down is still its own. Only of a scope. */
SEC("raw_tp/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	__u64 begun_ns = bpf_ktime_get_ns();
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (scoped && BPF_CORE_READ(task, pid) == tgid &&
	    in_scope(tgid, BPF_CORE_READ(task, start_boottime)))
		bpf_map_delete_elem(&scope, &tgid);
	charge(begun_ns);
	return 0;
}

SEC("raw_tp/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *to, const char *path, struct task_struct *task)
{
	__u64 begun_ns = bpf_ktime_get_ns();

	notice(BPF_CORE_READ(task, tgid));
	charge(begun_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
