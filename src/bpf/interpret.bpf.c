// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Follows a sample: interprets the code at it and reports the path. The sampling program calls this
 * by a tail call. What it shares with the collector is in wire_edges.h, the interpreter itself in
 * micro/interpret.h; here are its maps and what it needs of the kernel.
 */
#include "program.bpf.h"
#include "mapping.bpf.h"
#include "mm_state.bpf.h"
#include "window.h"
#include "values.h"

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct {
	struct mm_struct *mm;
	int pid, tgid;
	__u64 self_exec_id;
	__u64 start_boottime;
	unsigned long nvcsw, nivcsw; /* times that it was switched out: it slept; it had to wait */
	struct task_struct *group_leader;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

/* The collector gives these their real sizes before loading. */
MAP_SPARSE_HASH(strips, struct wire_strip_key, struct wire_strip);
MAP_SHARED_ARRAY(micros, 1, struct wire_micro);
MAP_RING(windows);
MAP_RING(pairs);
MAP_RING(values);
MAP_CPU_ARRAY(windows_of_cpu, 1, struct wire_window_counters);

#define INTERPRET_HOST                                     \
	wire_u64 tag[INTERPRET_FIXED_WORDS];               \
	struct interpret_word word[INTERPRET_FIXED_WORDS]; \
	struct window_record record;                       \
	struct value_record values;
#include "micro/interpret_fixed.h"

/*
 * Reading memory of a device may do something. Whether this address and the size after it are in a
 * mapping that is none.
 */
__attribute__((noinline)) int may_read(__u64 address, __u32 size);

static __always_inline int host_read(struct interpret *s, void *to, __u32 size, __u64 address)
{
	if (!may_read(address, size))
		return -1;
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* The verifier loses the bound of a size that was shifted; the room is for what it sees. */
static __always_inline int host_read_word(struct interpret *s, __u64 to[2], __u32 size,
					  __u64 address)
{
	asm volatile("%0 &= 15" : "+r"(size));
	if (!may_read(address, size))
		return -1;
	return bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline const struct wire_strip *host_strip(struct interpret *s,
							   struct wire_strip_key *key)
{
	return bpf_map_lookup_elem(&strips, key);
}

static __always_inline const struct wire_micro *host_micro(struct interpret *s, __u32 index)
{
	return bpf_map_lookup_elem(&micros, &index);
}

static __always_inline wire_u32 host_place(struct interpret *s, wire_u64 word, wire_u32 *ret_free)
{
	return interpret_fixed_place(s, s->tag, word, ret_free);
}

static __always_inline wire_u32 host_claim(struct interpret *s, wire_u64 word, wire_u32 free)
{
	return free;
}

static __always_inline void host_transfer(struct interpret *s, struct wire_place from,
					  struct wire_place to)
{
	window_transfer(&s->record, from, to);
}

static __always_inline void host_load(struct interpret *s)
{
	struct wire_place at = {s->mapping.slot, s->pc + s->mapping.shift};

	window_load(&s->record, at, s->address);
}

#define HOST_PLACES(s)	INTERPRET_FIXED_WORDS
#define HOST_TURNS(s)	INTERPRET_FIXED_TURNS
#define HOST_REPEATS(s) INTERPRET_FIXED_REPEATS

/* A function of its own for the verifier. */
#define INTERPRET_FUNCTION __attribute__((noinline))
INTERPRET_FUNCTION int host_find(struct interpret *s);

#include "micro/interpret.h"

#include "values_take.h"

/* Whether values are wanted; the collector says so before loading. */
const volatile __u32 with_values;

/* A mapping that was found, and the state of the process in which it holds. */
struct found {
	__u64 mm, sequence;
	__u32 process, generation;
	struct interpret_mapping mapping;
};

/* Counts the files that were taken away, whose slots may since mean others. */
__u32 files_generation;

#define FOUND 4

/* Mappings that are no device's, of the process in the state that found it. */
#define READABLE 8
struct readable {
	__u64 begin[READABLE], end[READABLE];
	__u64 mm, sequence;
	__u32 process;
	__u32 next;
};

/* The first sample of a pair. */
struct half {
	struct task_struct *task; /* may have gone since */
	__u64 slept, waited;
	__u64 pc, reg[16];
	struct wire_place at;
	__u32 pid;
	__u32 generation; /* of files; 0 slot of at: there is none */
};

/* Of a CPU. An interrupt may come within another (NMI): then the second does without. */
struct scratch {
	struct interpret s;
	struct mapping_node node;
	struct found found[FOUND];
	__u32 found_next;
	__u32 busy;
	struct readable readable;
	struct half half;
};

MAP_CPU_ARRAY(scratches, 1, struct scratch);

/* The mapping that the tree has at an address, or one next to it, or 0. */
static __always_inline struct vm_area_struct *find_area(struct task_struct *task, __u64 address)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);

	return mm && scratch ? mapping_area(mm, &scratch->node, address) : 0;
}

INTERPRET_FUNCTION int find_in_kernel(struct interpret *s)
{
	if (!s)
		return WIRE_END_ANONYMOUS;

	struct vm_area_struct *area = find_area((void *)bpf_get_current_task_btf(), s->pc);
	struct wire_file *file = &s->record.window.file;

	if (!area)
		return WIRE_END_ANONYMOUS;

	__u64 begin = BPF_CORE_READ(area, vm_start), end = BPF_CORE_READ(area, vm_end);
	struct inode *inode = BPF_CORE_READ(area, vm_file, f_inode);

	if (!inode || s->pc < begin || s->pc >= end || !(BPF_CORE_READ(area, vm_flags) & VM_EXEC))
		return WIRE_END_ANONYMOUS;
	mapping_name_file(inode, file);

	__u64 offset = BPF_CORE_READ(area, vm_pgoff) << 12;
	struct wire_file key = *file; /* Linux 6.1 takes a key only from the stack */
	__u32 *slot = bpf_map_lookup_elem(&files, &key);

	s->record.window.file_offset = offset + (s->pc - begin);
	if (!slot)
		return WIRE_END_NO_FILE;
	if (*slot == 0 || offset + (end - begin) > 1ull << 32)
		return WIRE_END_ANONYMOUS;
	s->mapping.begin = begin;
	s->mapping.end = end;
	s->mapping.shift = offset - begin;
	s->mapping.slot = *slot;
	return 0;
}

/* Differs between two states of a process's mappings; false where the kernel does not tell. */
static __always_inline bool mappings_state(struct task_struct *task, __u64 *mm, __u64 *sequence)
{
	struct mm_struct *m = BPF_CORE_READ(task, mm);
	__u32 state;

	if (!m || !mm_state_read(m, &state))
		return false;
	*mm = (__u64)m;
	*sequence = state;
	return true;
}

/* The kernel's structures are cold in the cache at a sample, so what was found is kept. */
INTERPRET_FUNCTION int host_find(struct interpret *s)
{
	__u32 zero = 0, generation = files_generation; /* from before the search */
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	__u64 mm, sequence;
	int end;

	if (!s || !scratch)
		return WIRE_END_ANONYMOUS;
	if (!mappings_state((void *)bpf_get_current_task_btf(), &mm, &sequence))
		return find_in_kernel(s);
	for (int i = 0; i < FOUND; i++) {
		struct found *f = &scratch->found[i];

		if (f->mm == mm && s->pc >= f->mapping.begin && s->pc < f->mapping.end &&
		    f->sequence == sequence && f->process == s->record.window.process &&
		    f->generation == generation) {
			s->mapping = f->mapping;
			return 0;
		}
	}
	end = find_in_kernel(s);
	if (end == 0) {
		struct found *f = &scratch->found[scratch->found_next++ & (FOUND - 1)];

		f->mm = mm;
		f->sequence = sequence;
		f->process = s->record.window.process;
		f->generation = generation;
		f->mapping = s->mapping;
	}
	return end;
}

/* Forgets what another process, or another state of this one, may read. */
static __always_inline void begin_reading(struct scratch *scratch, struct task_struct *task)
{
	struct readable *r = &scratch->readable;
	__u64 mm = 0, sequence = 0;
	bool tells = mappings_state(task, &mm, &sequence);

	if (tells && r->mm == mm && r->sequence == sequence &&
	    r->process == scratch->s.record.window.process)
		return;
	__builtin_memset(r, 0, sizeof(*r));
	r->mm = mm;
	r->sequence = sequence;
	r->process = scratch->s.record.window.process;
}

int may_read(__u64 address, __u32 size)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);

	if (!scratch)
		return 0;

	struct readable *r = &scratch->readable;

	for (int i = 0; i < READABLE; i++)
		if (address >= r->begin[i] && address + size <= r->end[i])
			return 1;

	struct vm_area_struct *area = find_area((void *)bpf_get_current_task_btf(), address);

	if (!area)
		return 0;

	__u64 begin = BPF_CORE_READ(area, vm_start), end = BPF_CORE_READ(area, vm_end);
	__u32 place = r->next++ & (READABLE - 1);

	if (address < begin || address + size > end || address + size < address ||
	    BPF_CORE_READ(area, vm_flags) & (VM_IO | VM_PFNMAP))
		return 0;
	r->begin[place] = begin;
	r->end[place] = end;
	return 1;
}

static __always_inline void read_registers(__u64 reg[16], const struct pt_regs *r)
{
	reg[0] = r->rax;
	reg[1] = r->rcx;
	reg[2] = r->rdx;
	reg[3] = r->rbx;
	reg[4] = r->rsp;
	reg[5] = r->rbp;
	reg[6] = r->rsi;
	reg[7] = r->rdi;
	reg[8] = r->r8;
	reg[9] = r->r9;
	reg[10] = r->r10;
	reg[11] = r->r11;
	reg[12] = r->r12;
	reg[13] = r->r13;
	reg[14] = r->r14;
	reg[15] = r->r15;
}

struct loop {
	struct interpret *s;
	int end;
};

static long step(__u32 index, void *context)
{
	struct loop *loop = context;

	if (with_values)
		values_before(loop->s);
	loop->end = interpret_step(loop->s);
	if (with_values && loop->end == 0)
		values_after(loop->s);
	return loop->end != 0;
}

/* As the samples have it. */
static __always_inline __u32 process_of(struct task_struct *task)
{
	return wire_process((__u32)task->tgid, BPF_CORE_READ(task, group_leader, start_boottime),
			    task->self_exec_id);
}

static __always_inline void report(struct interpret *s, struct wire_window_counters *count)
{
	struct wire_window *w = &s->record.window;
	__u32 edges = w->edge_count, reason = w->end_reason;

	w->instructions = s->instructions;
	count->windows++;
	count->instructions += w->instructions;
	count->edges += edges;
	if (reason < WIRE_END_REASONS)
		count->ends[reason]++;
	if (w->instructions == 0 && reason != WIRE_END_COLD && reason != WIRE_END_NO_FILE) {
		count->empty++;
		return;
	}
	w->end = interpret_place(s);
	w->address = s->pc;
	if (edges > WIRE_WINDOW_INSTRUCTIONS)
		edges = WIRE_WINDOW_INSTRUCTIONS;
	/* The collector looks at its tick; waking it would cost more than the window. */
	if (bpf_ringbuf_output(&windows, w,
			       __builtin_offsetof(struct wire_window, edge) +
				       edges * sizeof(struct wire_edge),
			       BPF_RB_NO_WAKEUP))
		count->lost++;
}

static __always_inline void report_values(struct interpret *s, struct wire_window_counters *count)
{
	struct wire_values *v = &s->values.out;
	__u32 n = v->count;

	if (!n)
		return;
	if (n > WIRE_WINDOW_VALUES)
		n = WIRE_WINDOW_VALUES;
	v->process = s->record.window.process;
	if (bpf_ringbuf_output(&values, v,
			       __builtin_offsetof(struct wire_values, value) +
				       n * sizeof(struct wire_value),
			       BPF_RB_NO_WAKEUP))
		count->values_lost++;
}

/* Only where a window was stored: its place is known to the collector. */
static __always_inline void begin_pair(struct half *h, const struct interpret *s,
				       const struct pt_regs *regs, struct task_struct *task)
{
	h->at = s->record.window.start;
	if (!s->record.window.instructions)
		h->at.slot = 0;
	h->task = task;
	h->pid = task->pid;
	h->slept = task->nvcsw;
	h->waited = task->nivcsw;
	h->generation = files_generation;
	h->pc = regs->rip;
	read_registers(h->reg, regs);
}

/* Whether the first's thread is not here because it has to wait. */
static __always_inline bool waits(const struct half *h)
{
	struct task_struct *first = h->task;

	return BPF_CORE_READ(first, pid) == h->pid && BPF_CORE_READ(first, nvcsw) == h->slept;
}

/* regs: of the second in user mode, NULL: it was not. */
static __always_inline void end_pair(struct half *h, const struct pt_regs *regs,
				     struct wire_window_counters *count)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	bool same = h->task == task && h->pid == task->pid;
	struct wire_pair *p;

	if (!h->at.slot || h->generation != files_generation)
		return;
	if (same ? h->slept == task->nvcsw && h->waited != task->nivcsw : waits(h))
		return;
	p = bpf_ringbuf_reserve(&pairs, sizeof(*p), 0);
	if (!p) {
		count->lost++;
		return;
	}
	__builtin_memset(p, 0, sizeof(*p));
	p->at = h->at;
	p->missed = !regs || !same || h->slept != task->nvcsw;
	if (!p->missed) {
		p->distance = regs->rip - h->pc;
		__builtin_memcpy(p->before, h->reg, sizeof(p->before));
		read_registers(p->after, regs);
	}
	bpf_ringbuf_submit(p, BPF_RB_NO_WAKEUP);
	count->pairs++;
}

static __always_inline int pair_up(const struct pt_regs *regs)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	struct wire_window_counters *count = bpf_map_lookup_elem(&windows_of_cpu, &zero);
	__u64 begin_ns = bpf_ktime_get_ns();

	if (!scratch || !count || scratch->busy)
		return 0;
	end_pair(&scratch->half, regs, count);
	scratch->half.at.slot = 0;
	count->spent_ns += bpf_ktime_get_ns() - begin_ns;
	return 0;
}

#define USER_CODE_64 0x33 /* of the code segment; 0x23 for 32-bit programs */

static __always_inline int follow(const struct pt_regs *regs)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	struct wire_window_counters *count = bpf_map_lookup_elem(&windows_of_cpu, &zero);
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (!scratch || !count || regs->cs != USER_CODE_64 || scratch->busy)
		return 0;

	struct loop loop = {&scratch->s, 0};
	__u64 begin_ns = bpf_ktime_get_ns();

	scratch->busy = 1;
	read_registers(loop.s->reg, regs);
	loop.s->pc = regs->rip;
	loop.s->flags = regs->eflags;
	loop.s->fs_base = task->thread.fsbase;
	interpret_begin(loop.s);
	window_begin(&loop.s->record);
	loop.s->record.window.time_ns = begin_ns;
	loop.s->record.window.process = process_of(task);
	if (with_values)
		values_begin(&loop.s->values,
			     (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32());
	begin_reading(scratch, task);
	loop.end = interpret_arrive(loop.s);
	loop.s->record.window.start = interpret_place(loop.s);
	if (loop.end == 0)
		bpf_loop(WIRE_WINDOW_INSTRUCTIONS, step, &loop, 0);
	loop.s->record.window.end_reason = loop.end;
	report(loop.s, count);
	if (with_values)
		report_values(loop.s, count);
	begin_pair(&scratch->half, loop.s, regs, task);
	count->spent_ns += bpf_ktime_get_ns() - begin_ns;
	scratch->busy = 0;
	return 0;
}

SEC("perf_event")
int interpret(struct bpf_perf_event_data *ctx)
{
	return follow(&ctx->regs);
}

/* The tick found the thread in user mode, so these are what it found. */
SEC("raw_tp")
int interpret_tick(struct bpf_raw_tracepoint_args *ctx)
{
	return follow((void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
}

SEC("perf_event")
int pair(struct bpf_perf_event_data *ctx)
{
	return pair_up(ctx->regs.cs == USER_CODE_64 ? &ctx->regs : NULL);
}

SEC("raw_tp")
int pair_tick(struct bpf_raw_tracepoint_args *ctx)
{
	return pair_up((void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
}

SEC("perf_event")
int pair_missed(struct bpf_perf_event_data *ctx)
{
	return pair_up(NULL);
}

SEC("raw_tp")
int pair_missed_tick(struct bpf_raw_tracepoint_args *ctx)
{
	return pair_up(NULL);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
