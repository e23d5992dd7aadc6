// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Follows the stack of a sample to the thread's start and counts it. The sampling program calls this
 * by a tail call. wire_stacks.h has its maps and what they mean.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include "wire.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "wire_stacks.h"
#include "mapping.h"

struct task_struct {
	struct mm_struct *mm;
	int tgid;
	__u64 self_exec_id;
	__u64 start_boottime;
	struct task_struct *group_leader;
} __attribute__((preserve_access_index));

/* The collector gives these their real sizes before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_unwind_table);
} tables SEC(".maps");

/* An array's elements take 8 bytes at least: two to each. */
struct pair {
	__u32 of[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pair);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pair);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct wire_unwind_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct wire_stack_key);
	__type(value, struct wire_stack_count);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_stack_counters);
} stacks_of_cpu SEC(".maps");

#define CACHED 4 /* mappings that a stack goes through again and again */

/* DWARF's numbers of registers. */
#define RBP 6
#define RSP 7

/* Of a CPU. An interrupt may come within another (NMI): then the second does without. */
struct unwind {
	__u64 reg[WIRE_UNWIND_REGISTERS]; /* all known in the first frame, then RSP and RBP only */
	__u64 pc, cfa;
	struct mapping mapping[CACHED];
	struct mapping here; /* of the frame at hand */
	struct mapping_node node;
	__u32 next_cached, first, exact; /* exact: pc is where it is, not where it returns to */
	__u32 followed, fp_known;
	__u64 hash[2];
	__u32 check;
	__u32 busy;
	struct wire_stack stack;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind);
} scratches SEC(".maps");

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
	__u32 n = u->followed++;

	mix(u, frame);
	if (n >= WIRE_STACK_INNER)
		n = WIRE_STACK_INNER + n % WIRE_STACK_OUTER;
	u->stack.frame[WIRE_STACK_KERNEL + n] = frame;
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
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;

	if (!mm || !mapping_find(mm, &u->node, address, &u->here, &u->stack.file))
		return false;
	u->mapping[u->next_cached++ % CACHED] = u->here;
	return true;
}

/* 0 past the end, which no table points to. */
static __always_inline __u32 read_pair(void *map, __u32 index)
{
	__u32 key = index / 2;
	struct pair *pair = bpf_map_lookup_elem(map, &key);

	return pair ? pair->of[index & 1] : 0;
}

/* The number of the rule at an offset of a file; 0: none. */
static __always_inline __u32 find_rule(const struct wire_unwind_table *t, __u32 offset)
{
	__u32 page = t->first_page + (offset >> WIRE_UNWIND_PAGE_BITS);
	__u32 low = read_pair(&pages, page), high = read_pair(&pages, page + 1);

	/* A page has at most 65536 rows, one a byte. */
	for (int i = 0; i < 17 && high - low > 1; i++) {
		__u32 middle = low + (high - low) / 2;

		if (read_pair(&rows, middle) >> 16 <= (offset & 0xffff))
			low = middle;
		else
			high = middle;
	}
	return read_pair(&rows, low) & 0xffff;
}

static __always_inline bool read_word(__u64 address, __u64 *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (const void *)address) == 0;
}

/* A register's value in this frame. */
static __always_inline bool read_register(const struct unwind *u, __u32 number, __u64 *ret)
{
	if (!u->first && number != RSP && !(number == RBP && u->fp_known))
		return false;
	*ret = u->reg[number & (WIRE_UNWIND_REGISTERS - 1)];
	return true;
}

static __always_inline int find_cfa(struct unwind *u, const struct wire_unwind_rule *r)
{
	__u64 base;

	if (r->cfa == WIRE_CFA_NONE || !read_register(u, r->cfa_reg, &base))
		return WIRE_STACK_NO_RULE;
	base += (__s64)r->cfa_offset;
	if (r->cfa == WIRE_CFA_DEREF) {
		if (!read_word(base, &base))
			return WIRE_STACK_NOT_RESIDENT;
		base += (__s64)r->cfa_add;
	} else if (r->cfa == WIRE_CFA_PLT && (u->pc & 15) >= (__u32)r->cfa_add) {
		base += 8;
	}
	u->cfa = base;
	return 0;
}

/* What a register of the caller's is. 0, or the reason why it cannot be had. */
static __always_inline int find_place(const struct unwind *u, __u32 place, __u32 reg, __s64 offset,
				      __u64 *value)
{
	__u64 base;

	switch (place) {
	case WIRE_LOCATION_SAME:
		return 0;
	case WIRE_LOCATION_AT_CFA:
		return read_word(u->cfa + offset, value) ? 0 : WIRE_STACK_NOT_RESIDENT;
	case WIRE_LOCATION_AT_REGISTER:
		if (!read_register(u, reg, &base))
			return WIRE_STACK_NO_RULE;
		return read_word(base + offset, value) ? 0 : WIRE_STACK_NOT_RESIDENT;
	case WIRE_LOCATION_IS_CFA:
		*value = u->cfa + offset;
		return 0;
	case WIRE_LOCATION_REGISTER:
		return read_register(u, reg, value) ? 0 : WIRE_STACK_NO_RULE;
	default:
		return WIRE_STACK_NO_RULE;
	}
}

/* To the caller's frame. -1: there is one; or the reason to end. */
static __always_inline int follow_rule(struct unwind *u, const struct wire_unwind_rule *r)
{
	__u64 ra = u->pc, fp = u->reg[RBP], sp = u->reg[RSP];
	bool fp_known;
	int end;

	if (r->ra == WIRE_LOCATION_UNDEFINED && r->cfa != WIRE_CFA_NONE)
		return WIRE_STACK_COMPLETE;
	end = find_cfa(u, r);
	if (!end)
		end = find_place(u, r->ra, r->ra_reg, r->ra_offset, &ra);
	if (end)
		return end;
	fp_known = find_place(u, r->fp, r->fp_reg, r->fp_offset, &fp) == 0 &&
		   (r->fp != WIRE_LOCATION_SAME || u->fp_known);
	/* Signal handlers may have a stack of their own. */
	if (!(r->flags & WIRE_UNWIND_SIGNAL) && (u->cfa <= sp || u->cfa >> 47))
		return WIRE_STACK_BAD_ADDRESS;
	u->reg[RSP] = u->cfa;
	u->reg[RBP] = fp;
	u->fp_known = fp_known;
	u->pc = ra;
	u->exact = r->flags & WIRE_UNWIND_SIGNAL;
	return ra == 0 ? WIRE_STACK_COMPLETE : -1;
}

/* Whether the instruction before this one is a call, as far as its bytes say. */
static __always_inline bool is_after_call(__u64 pc)
{
	__u8 b[8] = {0};

	if (bpf_probe_read_user(b, 7, (const void *)(pc - 7)))
		return false;
	return b[2] == 0xe8 || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[1] == 0xff && (b[2] & 0x38) == 0x10) ||
	       (b[0] == 0xff && (b[1] & 0x38) == 0x10);
}

/* In a frame that was interrupted: where the return address is while the frame pointer is still, or
 * again, the caller's. 0: it is this frame's. */
static __always_inline __u64 find_bare_return(const struct unwind *u)
{
	__u8 code[4] = {0};

	if (!u->exact || bpf_probe_read_user(code, 3, (const void *)u->pc))
		return 0;
	if (code[0] == 0x55 || code[0] == 0xc3) /* push rbp; ret */
		return u->reg[RSP];
	if (code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xe5) /* mov rbp, rsp */
		return u->reg[RSP] + 8;
	return 0;
}

/*
 * By the frame pointer, for code that has no rule: what compilers make at run time, and assembly.
 * That it is used as one is not known, so a return address must follow a call.
 */
static __always_inline int follow_frame_pointer(struct unwind *u)
{
	__u64 frame[2] = {u->reg[RBP], 0}, fp = u->reg[RBP], bare = find_bare_return(u);

	if (!u->fp_known)
		return WIRE_STACK_NO_RULE;
	if (bare) {
		if (!read_word(bare, &frame[1]))
			return WIRE_STACK_NOT_RESIDENT;
		fp = bare - 8;
	} else {
		if (fp == 0)
			return WIRE_STACK_COMPLETE;
		if (fp < u->reg[RSP] || fp >> 47 || (fp & 7))
			return WIRE_STACK_NO_RULE;
		if (bpf_probe_read_user(frame, sizeof(frame), (const void *)fp))
			return WIRE_STACK_NOT_RESIDENT;
	}
	if (frame[1] == 0)
		return WIRE_STACK_COMPLETE;
	if (!is_after_call(frame[1]))
		return WIRE_STACK_NO_RULE;
	u->reg[RSP] = fp + sizeof(frame);
	u->reg[RBP] = frame[0];
	u->pc = frame[1];
	u->exact = u->first = 0;
	return -1;
}

/* One frame, and the way to the next. */
static __always_inline int follow(struct unwind *u)
{
	__u64 pc = u->pc - !u->exact;
	struct wire_unwind_table *t = 0;
	struct wire_unwind_rule *rule;
	__u32 number = 0, offset;
	int end;

	if (!find_mapping(u, pc))
		return WIRE_STACK_NOT_CODE;
	offset = pc + u->here.shift;
	if (u->here.slot)
		push(u, (__u64)u->here.slot << 32 | offset);
	else
		push(u, WIRE_FRAME_ADDRESS | pc);
	if (!u->here.has_file)
		return follow_frame_pointer(u);
	t = bpf_map_lookup_elem(&tables, &u->here.slot);
	if (!u->here.slot || !t || t->page_count == 0) {
		u->stack.address = pc;
		u->stack.file_offset = pc + u->here.shift;
		return WIRE_STACK_NO_TABLE;
	}
	if (offset >> WIRE_UNWIND_PAGE_BITS < t->page_count)
		number = find_rule(t, offset);
	rule = bpf_map_lookup_elem(&rules, &number);
	if (!rule)
		return WIRE_STACK_NO_RULE;
	if (number == 0)
		return follow_frame_pointer(u);
	end = follow_rule(u, rule);
	u->first = 0;
	return end;
}

struct loop {
	struct unwind *u;
	int end;
};

static long step(__u32 index, void *context)
{
	struct loop *loop = context;

	loop->end = follow(loop->u);
	return loop->end >= 0;
}

static __always_inline void read_registers(struct unwind *u, const struct pt_regs *r)
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

static __always_inline void begin(struct unwind *u, struct task_struct *task, __u32 event)
{
	__u32 generation = (__u32)(task->group_leader->start_boottime >> 10) * 0x61 +
			   (__u32)task->self_exec_id;

	u->stack.process = (task->tgid & WIRE_TGID_MASK) | generation << WIRE_TGID_BITS;
	u->stack.event = event;
	u->stack.kernel_count = 0;
	u->followed = 0;
	u->first = u->exact = u->fp_known = 1;
	u->next_cached = 0;
	u->hash[0] = u->hash[1] = u->stack.process;
	u->check = event;
	mix(u, event);
	for (int i = 0; i < CACHED; i++)
		u->mapping[i].begin = u->mapping[i].end = 0;
}

/* The kernel's part, by its own unwinder. */
static __always_inline void take_kernel(struct unwind *u, void *ctx)
{
	long size = bpf_get_stack(ctx, u->stack.frame, WIRE_STACK_KERNEL * sizeof(__u64), 0);
	__u32 count = size > 0 ? size / sizeof(__u64) : 0;

	u->stack.kernel_count = count;
	for (__u32 i = 0; i < WIRE_STACK_KERNEL; i++) {
		if (i >= count)
			break;
		mix(u, u->stack.frame[i]);
	}
}

static __always_inline int take_user(struct unwind *u)
{
	struct loop loop = {u, -1};

	bpf_loop(WIRE_STACK_DEPTH, step, &loop, 0);
	return loop.end < 0 ? WIRE_STACK_TOO_DEEP : loop.end;
}

/* The first of its key: with its frames. */
static __always_inline void send(struct unwind *u, struct wire_stack_counters *count)
{
	__u32 kept = u->followed;

	if (kept > WIRE_STACK_INNER + WIRE_STACK_OUTER)
		kept = WIRE_STACK_INNER + WIRE_STACK_OUTER;
	u->stack.followed = u->followed;
	u->stack.time_ns = bpf_ktime_get_ns();
	/* The collector looks at its tick; waking it would cost more than the stack. */
	if (bpf_ringbuf_output(&stacks, &u->stack,
			       __builtin_offsetof(struct wire_stack, frame) +
				       (WIRE_STACK_KERNEL + kept) * sizeof(__u64),
			       BPF_RB_NO_WAKEUP))
		count->lost_ring++;
}

static __always_inline void count_stack(struct unwind *u, struct wire_stack_counters *count)
{
	struct wire_stack_count first = {1, u->check}, *found;

	u->stack.key.hash[0] = u->hash[0];
	u->stack.key.hash[1] = u->hash[1];
	found = bpf_map_lookup_elem(&counts, &u->stack.key);
	if (!found) {
		if (bpf_map_update_elem(&counts, &u->stack.key, &first, BPF_NOEXIST) == 0) {
			send(u, count);
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

SEC("perf_event")
int unwind(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0, end;
	struct unwind *u = bpf_map_lookup_elem(&scratches, &zero);
	struct wire_stack_counters *count = bpf_map_lookup_elem(&stacks_of_cpu, &zero);
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (!u || !count || u->busy)
		return 0;
	u->busy = 1;
	begin(u, task, bpf_get_attach_cookie(ctx));
	if ((ctx->regs.cs & 3) == 3) {
		read_registers(u, &ctx->regs);
	} else {
		read_registers(u, (struct pt_regs *)bpf_task_pt_regs((void *)task));
		take_kernel(u, ctx);
	}
	end = task->mm ? take_user(u) : WIRE_STACK_NO_USER;
	mix(u, end);
	u->stack.end = end;
	count->stacks++;
	count->frames += u->followed;
	if (end < WIRE_STACK_ENDS)
		count->ends[end]++;
	count_stack(u, count);
	u->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
