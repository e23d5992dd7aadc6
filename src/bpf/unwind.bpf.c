// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Follows the stack of a sample to the thread's start and counts it. The sampling program calls
 * this by a tail call. wire_stacks.h has its maps and what they mean, unwind.h the way from one
 * frame to the next.
 */
#include "program.bpf.h"
#include "mapping.bpf.h"
#include "mm_state.bpf.h"

/* The verifier knows these sizes. */
#define UNWIND_FUNCTION		     static __always_inline
#define UNWIND_RARE_FUNCTION	     __noinline
#define host_read(to, size, address) bpf_probe_read_user(to, size, (const void *)(address))
/* Code that is not in memory, as all that the child of a fork has not run itself: whether it is
 * code at all is seen when it is followed. */
#define UNWIND_IS_UNSEEN(pc) true
#include "unwind.h"
#include "python.bpf.h"
#include "snapshot.bpf.h"

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct {
	struct mm_struct *mm;
	struct thread_struct thread;
	int pid, tgid;
	__u64 self_exec_id;
	__u64 start_boottime;
	struct task_struct *group_leader;
	char comm[WIRE_NAME_BYTES];
} __attribute__((preserve_access_index));

#include "thread_name.bpf.h"
#include "tick.bpf.h"

/* The collector gives these their real sizes before loading. */
MAP_ARRAY(tables, 1, struct wire_unwind_table);

/* An array's elements take 8 bytes at least: two to each. */
struct pair {
	__u32 of[2];
};

struct chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_UNWIND_CHUNK_ROWS / 2);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct pair));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct chunk);
} rows SEC(".maps");

MAP_SHARED_ARRAY(rules, 65536, struct wire_unwind_rule);
MAP_HASH(counts, struct wire_stack_key, struct wire_stack_count);
MAP_RING(stacks);
MAP_CPU_ARRAY(stacks_of_cpu, 1, struct wire_stack_counters);

/* Set by the collector: the slot of the vDSO, which is no file (0: it has none); and how often
 * files were taken away, whose slots may since mean others. */
__u32 vdso_slot, files_generation;

struct mapping {
	__u64 begin, end;
	__u64 shift;	/* file offset = address + shift */
	__u32 slot;	/* 0: none */
	__u32 is_known; /* whether there is a slot, or that there is none */
};

#define CACHED 8 /* mappings: the kernel's structures are cold at a sample */

/*
 * A frame and its rule. Tables are cold at a sample, and most frames were on a stack before. What a
 * slot and an offset mean does not change with the process, nor when its table makes room.
 */
struct known_rule {
	__u64 frame;
	__u32 rule, generation;
};

#define KNOWN_BITS 9

/* Of a CPU. An interrupt may come within another (NMI): then the second does without. */
struct unwind {
	struct wire_unwind_state state;
	struct mapping mapping[CACHED]; /* of the process, in the state of its mappings */
	struct mapping here;		/* of the frame at hand */
	__u64 mm;
	__u32 mm_state, process, generation;
	struct mapping_node node;
	__u32 next_cached, followed;
	/*
	 * Of the frame at hand, what later steps ask for. Here and not in variables, whose values
	 * the verifier would follow, and look at all that comes behind once for each.
	 */
	__u64 frame;
	__u32 called;
	int end; /* -1: there is another; why it is the last */
	struct python_c_frame c_frame;
	__u32 tick_frames; /* of the interrupt, at the head of the kernel's stack */
	__u64 hash[2];
	__u32 check;
	__u32 busy;
	struct python python;
	struct wire_stack stack;
	struct known_rule known[1 << KNOWN_BITS];
};

MAP_CPU_ARRAY(scratches, 1, struct unwind);

static __always_inline void mix(struct unwind *u, __u64 v)
{
	u->hash[0] = (u->hash[0] ^ v) * 0x9e3779b97f4a7c15ull;
	u->hash[0] ^= u->hash[0] >> 29;
	u->hash[1] = (u->hash[1] + v) * 0xc2b2ae3d27d4eb4full;
	u->hash[1] ^= u->hash[1] >> 31;
	u->check = (u->check ^ (__u32)v ^ (__u32)(v >> 32)) * 0x01000193u;
}

static __always_inline void push(struct unwind *u, __u64 frame)
{
	__u32 place = WIRE_STACK_PLACE(u->followed);

	mix(u, frame);
	u->followed++;
	/* Verifiers before Linux 6.2 believe no bound but one on the very register. */
	asm volatile("" : "+r"(place));
	if (place < WIRE_STACK_KERNEL + WIRE_STACK_INNER + WIRE_STACK_OUTER)
		u->stack.frame[place] = frame;
}

/* What code without a file is: the vDSO, or made at run time. */
static __always_inline void find_special(struct mm_struct *mm, struct mapping *m)
{
	m->is_known = 1;
	if (!bpf_core_field_exists(mm->context.vdso) ||
	    (__u64)BPF_CORE_READ(mm, context.vdso) != m->begin)
		return;
	m->slot = vdso_slot;
	m->shift = -m->begin;
}

/*
 * Functions that are not static are looked at once by the verifier, and not once for each way to
 * each of their calls: that is most of what the start of a recording costs. They are not in the way
 * of a frame's usual code either.
 */

/* The executable mapping at an address, and its file. 0: there is none. */
__noinline int look_up_mapping(struct unwind *u, __u64 address)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct vm_area_struct *area;
	struct wire_file file;
	struct mapping *m;
	struct inode *inode;
	__u32 *slot;

	if (!u || !mm)
		return 0;
	m = &u->here;
	area = mapping_area(mm, &u->node, address);
	if (!area)
		return 0;
	m->begin = BPF_CORE_READ(area, vm_start);
	m->end = BPF_CORE_READ(area, vm_end);
	m->slot = m->is_known = 0;
	if (address < m->begin || address >= m->end || !(BPF_CORE_READ(area, vm_flags) & VM_EXEC))
		return 0;
	inode = BPF_CORE_READ(area, vm_file, f_inode);
	if (!inode) {
		find_special(mm, m);
		return 1;
	}
	m->shift = (BPF_CORE_READ(area, vm_pgoff) << 12) - m->begin;
	/* Verifiers before Linux 6.2 take no key from behind an argument. */
	mapping_name_file(inode, &file);
	u->stack.file = file;
	slot = bpf_map_lookup_elem(&files, &file);
	/* Offsets from 4 GiB on have no place in a frame. */
	if (slot && m->end + m->shift <= 1ull << 32)
		m->slot = *slot;
	m->is_known = slot != 0;
	return 1;
}

/* Into u->here. */
static __always_inline bool find_mapping(struct unwind *u, __u64 address)
{
	for (int i = 0; i < CACHED; i++) {
		if (address - u->mapping[i].begin < u->mapping[i].end - u->mapping[i].begin) {
			u->here = u->mapping[i];
			return true;
		}
	}
	if (!look_up_mapping(u, address))
		return false;
	if (u->here.is_known)
		u->mapping[u->next_cached++ % CACHED] = u->here;
	return true;
}

static __always_inline void *find_chunk(__u32 row)
{
	__u32 number = row >> WIRE_UNWIND_CHUNK_BITS;

	return bpf_map_lookup_elem(&rows, &number);
}

static __always_inline struct pair *read_pair(void *chunk, __u32 row)
{
	__u32 key = row / 2 & (WIRE_UNWIND_CHUNK_ROWS / 2 - 1);

	return chunk ? bpf_map_lookup_elem(chunk, &key) : 0;
}

/*
 * The row at an offset of a file; 0: none. With is_original what is behind the rows for it, else
 * the number of its rule.
 */
__noinline __u32 find_row(__u32 first_page, __u32 offset, __u32 is_original)
{
	__u32 place = (first_page + (offset >> WIRE_UNWIND_PAGE_BITS)) * WIRE_UNWIND_PAGE_ROWS;
	struct pair *pair = read_pair(find_chunk(place), place);
	__u32 in_page = offset & ((1 << WIRE_UNWIND_PAGE_BITS) - 1), low, high, past, count;
	void *chunk;

	if (!pair)
		return 0;
	low = pair->of[0];
	count = pair->of[1];
	high = low + count;
	chunk = find_chunk(low);
	if (!chunk)
		return 0;
	for (int i = 0; i <= WIRE_UNWIND_PAGE_BITS && high - low > 1; i++) {
		__u32 middle = low + (high - low) / 2;

		pair = read_pair(chunk, middle);
		if (!pair)
			return 0;
		/* All ones if the row is past the offset: by numbers, as each way would be another
		 * to look at for the verifier. */
		past = ((__s32)in_page - (__s32)(pair->of[middle & 1] >> 16)) >> 31;
		low += (middle - low) & ~past;
		high += (middle - high) & past;
	}
	low += is_original ? count : 0;
	pair = read_pair(chunk, low);
	if (!pair)
		return 0;
	return is_original ? pair->of[low & 1] : pair->of[low & 1] & 0xffff;
}

/* The same, of the frame at hand. */
static __always_inline __u32 know_rule(struct unwind *u, const struct wire_unwind_table *t,
				       __u32 offset)
{
	__u64 frame = (__u64)u->here.slot << 32 | offset;
	struct known_rule *known = &u->known[frame * 0x9e3779b97f4a7c15ull >> (64 - KNOWN_BITS)];

	if (known->frame != frame || known->generation != u->generation) {
		known->rule = offset >> WIRE_UNWIND_PAGE_BITS < t->page_count
				      ? find_row(t->first_page, offset, 0)
				      : 0;
		known->frame = frame;
		known->generation = u->generation;
	}
	return known->rule;
}

/* For code that has no rule. */
__noinline int follow_frame_pointer(struct wire_unwind_state *state)
{
	return state ? unwind_follow_frame_pointer(state) : WIRE_STACK_NO_RULE;
}

/*
 * From code that runs in a copy of itself to the original, where registers and the stack are the
 * same. Return addresses are the original's always.
 */
__noinline int leave_copy(struct unwind *u, const struct wire_unwind_table *t)
{
	const struct wire_unwind_table *places;
	__u32 slot, offset, step = 0;

	if (!u || !t)
		return 0;
	slot = t->originals;
	offset = u->state.pc + u->here.shift;
	places = bpf_map_lookup_elem(&tables, &slot);
	if (places && offset >> WIRE_UNWIND_PAGE_BITS < places->page_count)
		step = find_row(places->first_page, offset, 1);
	if (step)
		u->state.pc = t->bias + (__u32)(offset + step - WIRE_UNWIND_STEP);
	return step != 0;
}

/* The way from a frame to the next by the table of its file. */
static __always_inline int follow_table(struct unwind *u, const struct wire_unwind_table *t,
					__u64 pc)
{
	struct wire_unwind_rule *rule;
	__u32 number;

	if (u->here.is_known && !u->here.slot)
		return follow_frame_pointer(&u->state);
	if (!u->here.slot || !t || t->page_count == 0) {
		u->stack.address = pc;
		u->stack.file_offset = pc + u->here.shift;
		return WIRE_STACK_NO_TABLE;
	}
	number = know_rule(u, t, pc + u->here.shift);
	rule = bpf_map_lookup_elem(&rules, &number);
	if (!rule)
		return WIRE_STACK_NO_RULE;
	return number ? unwind_follow_rule(&u->state, rule) : follow_frame_pointer(&u->state);
}

/* At the first frame in an interpreter's file. */
static __always_inline void meet_python(struct unwind *u, const struct wire_unwind_table *t)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (t && t->python && !u->python.number)
		python_meet(&u->python, t->python, -u->here.shift, task->thread.fsbase);
}

/* One frame, and the way to the next. */
static __always_inline int follow(struct unwind *u)
{
	__u64 pc = u->state.pc - !u->state.exact;
	struct python_c_frame *c = &u->c_frame;
	struct wire_unwind_table *t;
	int end;

	if (u->python.frame) {
		push(u, python_follow(&u->python));
		return u->python.frames < WIRE_PYTHON_DEPTH ? -1 : WIRE_STACK_TOO_DEEP;
	}
	if (u->python.seek) {
		python_seek(&u->python);
		return -1;
	}
	if (!find_mapping(u, pc))
		return WIRE_STACK_NOT_CODE;
	u->frame = u->here.slot ? (__u64)u->here.slot << 32 | (__u32)(pc + u->here.shift)
				: WIRE_FRAME_ADDRESS | pc;
	t = bpf_map_lookup_elem(&tables, &u->here.slot);
	if (t && t->originals && u->state.exact && leave_copy(u, t))
		return -1;
	meet_python(u, t);
	if (u->python.seek)
		return -1; /* and this frame again */
	c->begin = u->state.reg[UNWIND_RSP];
	c->is_interrupted = u->state.first;
	c->is_there = t && t->python && t->python == u->python.number;
	c->offset = u->frame;
	u->called = !u->state.exact;
	end = follow_table(u, t, pc);
	c->end = u->state.reg[UNWIND_RSP];
	/* What a handler returns to called nothing: the frame is where that begins. */
	u->frame += u->called && u->state.exact && (__u32)u->frame != ~0u;
	if (end >= 0 || (!u->python.mark && !u->python.first) ||
	    !python_enter(&u->python, c, &u->state))
		push(u, u->frame);
	return end;
}

static long step(__u32 index, void *context)
{
	struct unwind *u = *(struct unwind **)context;

	u->end = follow(u);
	return u->end >= 0;
}

static __always_inline void read_registers(struct wire_unwind_state *u, const struct pt_regs *r)
{
	u->reg[0] = r->rax;
	u->reg[1] = r->rdx;
	u->reg[2] = r->rcx;
	u->reg[3] = r->rbx;
	u->reg[4] = r->rsi;
	u->reg[5] = r->rdi;
	u->reg[6] = r->rbp;
	u->reg[7] = r->rsp;
	u->reg[8] = r->r8;
	u->reg[9] = r->r9;
	u->reg[10] = r->r10;
	u->reg[11] = r->r11;
	u->reg[12] = r->r12;
	u->reg[13] = r->r13;
	u->reg[14] = r->r14;
	u->reg[15] = r->r15;
	u->pc = r->rip;
}

/* Forgets those of another process, or of another state of this one. */
static __always_inline void keep_mappings(struct unwind *u, struct mm_struct *mm)
{
	__u32 state = 0, generation = files_generation; /* from before any search */
	bool tells = mm && mm_state_read(mm, &state);

	if (tells && u->mm == (__u64)mm && u->mm_state == state && u->process == u->stack.process &&
	    u->generation == generation)
		return;
	for (int i = 0; i < CACHED; i++)
		u->mapping[i].begin = u->mapping[i].end = 0;
	u->mm = (__u64)mm;
	u->mm_state = state;
	u->process = u->stack.process;
	u->generation = generation;
}

static __always_inline void begin(struct unwind *u, struct task_struct *task, __u32 event)
{
	/* Not task->group_leader, for which the verifier searches the names of all types. */
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 start = BPF_CORE_READ(leader, start_boottime);
	struct wire_name process = {};

	u->stack.process = wire_process((__u32)task->tgid, start, task->self_exec_id);
	u->stack.event = event;
	u->stack.kernel_count = 0;
	u->followed = 0;
	u->state.first = u->state.exact = u->state.fp_known = u->state.rbx_known = 1;
	u->state.rbx_at = 0;
	u->state.thread = task->thread.fsbase;
	u->hash[0] = u->hash[1] = u->stack.process;
	u->check = event;
	mix(u, event);
	if (task->pid != task->tgid)
		bpf_probe_read_kernel(&process, sizeof(process), leader->comm);
	if (thread_name(task, &process, &u->stack.thread)) {
		mix(u, u->stack.thread.half[0]);
		mix(u, u->stack.thread.half[1]);
	} else {
		u->stack.thread = (struct wire_name){};
	}
	python_start(&u->python, u->stack.process);
	keep_mappings(u, BPF_CORE_READ(task, mm));
}

/* The kernel's part, by its own unwinder. */
static __always_inline void take_kernel(struct unwind *u, void *ctx, __u64 skip)
{
	long size = bpf_get_stack(ctx, u->stack.frame, WIRE_STACK_KERNEL * sizeof(__u64), skip);

	u->stack.kernel_count = size > 0 ? size / sizeof(__u64) : 0;
}

/*
 * The same of what the tick has interrupted, which begins below the frames of the interrupt itself:
 * as many each time, so they are looked for once.
 */
static __always_inline void take_kernel_below(struct unwind *u, void *ctx, __u64 pc)
{
	take_kernel(u, ctx, u->tick_frames);
	if (u->stack.kernel_count && u->stack.frame[0] == pc)
		return;
	take_kernel(u, ctx, 0);
	for (__u32 i = 0; i < WIRE_STACK_KERNEL && i < u->stack.kernel_count; i++)
		if (u->stack.frame[i] == pc) {
			u->tick_frames = i;
			take_kernel(u, ctx, i);
			return;
		}
	u->stack.frame[0] = pc;
	u->stack.kernel_count = 1;
}

static __always_inline void mix_kernel(struct unwind *u)
{
	for (__u32 i = 0; i < WIRE_STACK_KERNEL; i++) {
		if (i >= u->stack.kernel_count)
			break;
		mix(u, u->stack.frame[i]);
	}
}

static __always_inline int take_user(struct unwind *u)
{
	u->end = -1;
	bpf_loop(WIRE_STACK_DEPTH, step, &u, 0);
	return u->end < 0 ? WIRE_STACK_TOO_DEEP : u->end;
}

/* What a record has of it. */
static __always_inline __u32 stack_bytes(const struct unwind *u)
{
	__u32 kept = u->followed;

	if (kept > WIRE_STACK_INNER + WIRE_STACK_OUTER)
		kept = WIRE_STACK_INNER + WIRE_STACK_OUTER;
	return __builtin_offsetof(struct wire_stack, frame) +
	       (WIRE_STACK_KERNEL + kept) * sizeof(__u64);
}

/*
 * The first of its key: with its frames. Where the ring has no room for them the collector will
 * have a count without frames, and counts it as lost.
 */
static __always_inline void send(struct unwind *u)
{
	/* The collector looks at its tick; waking it would cost more than the stack. */
	bpf_ringbuf_output(&stacks, &u->stack, stack_bytes(u), BPF_RB_NO_WAKEUP);
}

/* For the collector to go on with. 0: there is no room. */
__noinline int send_snapshot(struct unwind *u)
{
	__u32 there = u ? snapshot_count_pages(snapshot_begin(&u->state)) : 0;
	/* Whose end is not in sight (a goroutine's lies in the heap) has it far off, or never. */
	__u32 pages = there < WIRE_SNAPSHOT_PAGES ? there : WIRE_SNAPSHOT_ENDLESS;

	if (!u)
		return 0;
	/* Most stacks are small, and a few large ones fill the ring: better a cut one than none. */
	return (pages > 32 && snapshot_send(&u->state, &u->stack, there, 64)) ||
	       (pages > 20 && snapshot_send(&u->state, &u->stack, there, 32)) ||
	       (pages > 12 && snapshot_send(&u->state, &u->stack, there, 20)) ||
	       (pages > 4 && snapshot_send(&u->state, &u->stack, there, 12)) ||
	       snapshot_send(&u->state, &u->stack, there, 4);
}

static __always_inline void count_stack(struct unwind *u, struct wire_stack_counters *count)
{
	struct wire_stack_count first = {1, u->check}, *found;

	u->stack.key.hash[0] = u->hash[0];
	u->stack.key.hash[1] = u->hash[1];
	found = bpf_map_lookup_elem(&counts, &u->stack.key);
	if (!found) {
		if (bpf_map_update_elem(&counts, &u->stack.key, &first, BPF_NOEXIST) == 0) {
			send(u);
			return;
		}
		/* Another CPU was faster, or there is no room. */
		found = bpf_map_lookup_elem(&counts, &u->stack.key);
	}
	if (!found)
		count->lost_full++;
	else if (found->check != u->check)
		count->collisions++;
	else
		__sync_fetch_and_add(&found->count, 1);
}

#define USER_CODE_64 0x33 /* of the code segment; 0x23 for 32-bit programs */

/* The registers with which a task last left user mode, or the interrupt found it there. */
static __always_inline struct pt_regs *user_registers(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs((void *)task);
}

#define IS_USER(cs) (((cs)&3) == 3)

/* What an event has interrupted, in u; the segment of the user's code. */
static __always_inline __u64 take_event(struct unwind *u, struct bpf_perf_event_data *ctx,
					struct task_struct *task)
{
	struct pt_regs *regs;

	if (IS_USER(ctx->regs.cs)) {
		read_registers(&u->state, &ctx->regs);
		return ctx->regs.cs;
	}
	regs = user_registers(task);
	read_registers(&u->state, regs);
	take_kernel(u, ctx, 0);
	return regs->cs;
}

static __always_inline __u64 take_tick(struct unwind *u, struct bpf_raw_tracepoint_args *ctx,
				       struct task_struct *task)
{
	struct pt_regs *found = tick_registers((void *)ctx->args[0]), *regs = user_registers(task);
	__u64 pc = 0, cs = 0;

	read_registers(&u->state, regs);
	bpf_probe_read_kernel(&pc, sizeof(pc), &found->rip);
	bpf_probe_read_kernel(&cs, sizeof(cs), &found->cs);
	if (!IS_USER(cs))
		take_kernel_below(u, ctx, pc);
	return regs->cs;
}

/* The stack of the task, in u; why it ends. */
static __always_inline __u32 take(struct unwind *u, __u64 cs)
{
	__u32 end;

	mix_kernel(u);
	if (!u->mm)
		return WIRE_STACK_NO_USER;
	if ((cs & 0xffff) != USER_CODE_64)
		return WIRE_STACK_32_BIT;
	end = take_user(u);
	/* Within exec what called the kernel is there no more. */
	return end == WIRE_STACK_NOT_CODE && !u->followed ? WIRE_STACK_NO_USER : end;
}

static __always_inline int follow_stack(void *ctx, const bool is_tick)
{
	__u64 begin_ns = bpf_ktime_get_ns();
	__u32 zero = 0, end;
	struct unwind *u = bpf_map_lookup_elem(&scratches, &zero);
	struct wire_stack_counters *count = bpf_map_lookup_elem(&stacks_of_cpu, &zero);
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (!u || !count || u->busy)
		return 0;
	u->busy = 1;
	begin(u, task, is_tick ? tick.event : bpf_get_attach_cookie(ctx));
	end = take(u, is_tick ? take_tick(u, ctx, task) : take_event(u, ctx, task));
	mix(u, end);
	u->stack.end = end;
	u->stack.followed = u->followed;
	u->stack.time_ns = begin_ns;
	count->stacks++;
	count->frames += u->followed;
	count->python_frames += u->python.frames;
	count->python_unnamed += u->python.unnamed;
	count->python_crowded += u->python.crowded;
	count->python_strangers += u->python.strangers;
	count->python_broken += u->python.broken;
	if (end == WIRE_STACK_NO_TABLE && send_snapshot(u)) {
		count->snapshots++;
	} else {
		if (end < WIRE_STACK_ENDS)
			count->ends[end]++;
		count_stack(u, count);
	}
	count->spent_ns += bpf_ktime_get_ns() - begin_ns;
	u->busy = 0;
	return 0;
}

SEC("perf_event")
int unwind(struct bpf_perf_event_data *ctx)
{
	return follow_stack(ctx, false);
}

SEC("raw_tp")
int unwind_tick(struct bpf_raw_tracepoint_args *ctx)
{
	return follow_stack(ctx, true);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
