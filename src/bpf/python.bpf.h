/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_PYTHON_BPF_H
#define CULPRIT_BPF_PYTHON_BPF_H

/*
 * The Python frames of the current thread, for the unwinder. wire_python.h says what they are.
 *
 * The thread is at rest while we look at it, but its memory is hostile: every address is only ever
 * given to bpf_probe_read_user, every size is bounded here, and a chain that loops ends.
 */
#include "wire_python.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_PYTHONS);
	__type(key, __u32);
	__type(value, struct wire_python);
} pythons SEC(".maps");

/* The collector gives these two their real sizes before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct wire_python_key);
	__type(value, __u32);
} codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} names SEC(".maps");

__u32 codes_given; /* numbers of codes, over all CPUs */

/* Of the stack at hand. */
struct python {
	__u64 cframe; /* the next that a C frame may have; 0: none */
	__u64 frame;  /* the next of Python's; 0: C frames go on */
	__u64 seen;   /* a frame before, to notice loops by */
	__u32 since;  /* frames since then */
	__u32 room;   /* ... when another will be remembered */
	__u32 number; /* of the interpreter; 0: not met yet */
	__u32 process;
	__u32 frames, unnamed, strangers, broken; /* as in struct wire_stack_counters */
	struct wire_python_code code;		  /* that is about to be sent */
};

static __always_inline void python_start(struct python *p, __u32 process)
{
	p->cframe = p->frame = p->seen = 0;
	p->number = 0;
	p->frames = p->unnamed = p->strangers = p->broken = 0;
	p->process = process;
}

static __always_inline __u64 python_word(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (const void *)address);
	return word;
}

static __always_inline __u32 python_half(__u64 address)
{
	__u32 half = 0;

	bpf_probe_read_user(&half, sizeof(half), (const void *)address);
	return half;
}

/* glibc's struct pthread: pthread_getspecific(key), of the first keys. */
#define THREAD_SPECIFIC	     0x310
#define THREAD_SPECIFIC_SIZE 16
#define THREAD_SPECIFIC_KEYS 32

/*
 * The state of the current thread: the one that has the interpreter's lock, else the thread's own,
 * as C code has it that works without the lock. Both say which thread they are of, by what
 * pthread_self() gives.
 */
static __always_inline __u64 python_thread(const struct wire_python *v, __u64 runtime, __u64 self)
{
	__u64 state = python_word(runtime + v->runtime_current), key;

	if (state && python_word(state + v->thread_id) == self)
		return state;
	key = python_word(runtime + v->runtime_key); /* whether there is one, and its number */
	if (!(__u32)key || key >> 32 >= THREAD_SPECIFIC_KEYS)
		return 0;
	state = python_word(self + THREAD_SPECIFIC + (key >> 32) * THREAD_SPECIFIC_SIZE + 8);
	return state && python_word(state + v->thread_id) == self ? state : 0;
}

/* The stack has come to the file of an interpreter: finds the thread's evaluators. */
static __always_inline void python_meet(struct python *p, __u32 number, __u64 base, __u64 self)
{
	const struct wire_python *v = bpf_map_lookup_elem(&pythons, &number);
	__u64 state;

	p->number = number;
	if (!v)
		return;
	state = python_thread(v, base + v->runtime, self);
	if (state)
		p->cframe = python_word(state + v->thread_cframe);
	else
		p->strangers++;
}

/* Whether a C frame is an evaluator's that runs Python frames, which then come next. */
static __always_inline bool python_enter(struct python *p, __u64 begin, __u64 end)
{
	const struct wire_python *v;

	if (p->cframe - begin >= end - begin)
		return false;
	v = bpf_map_lookup_elem(&pythons, &p->number);
	if (!v)
		return false;
	p->frame = python_word(p->cframe + v->cframe_frame);
	p->cframe = python_word(p->cframe + v->cframe_previous);
	p->seen = 0;
	p->since = p->room = 0;
	return p->frame != 0;
}

/* Brent's: the frame is compared with one before, at distances that double. */
static __always_inline bool python_loops(struct python *p)
{
	if (p->frame == p->seen)
		return true;
	if (p->since++ == p->room) {
		p->seen = p->frame;
		p->room = 2 * p->room + 1;
		p->since = 0;
	}
	return false;
}

static __always_inline void python_read_text(const struct wire_python *v, __u64 text, __u8 *to,
					     __u32 room, struct wire_python_text *ret)
{
	__u64 length = python_word(text + v->text_length);
	__u32 state = python_half(text + v->text_state), bytes;
	bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
	__u64 data = text + (ascii ? v->text_ascii : v->text_compact);

	ret->unit = ascii ? 1 : state >> 2 & 7;
	ret->bytes = 0;
	ret->is_cut = length > room;
	if (!compact || ret->unit > 4)
		return;
	length = length > room ? room : length * ret->unit;
	ret->is_cut |= length > room;
	bytes = length > room ? room : length;
	/* Verifiers before Linux 6.2 believe no bound but one on the very register. */
	asm volatile("" : "+r"(bytes));
	if (bytes <= room && bpf_probe_read_user(to, bytes, (const void *)data) == 0)
		ret->bytes = bytes;
}

/* Reads what names a code object. False: nothing does. */
static __always_inline bool python_read_code(struct python *p, const struct wire_python *v,
					     __u64 code)
{
	struct wire_python_code *c = &p->code;
	__u64 lines = python_word(code + v->code_lines);
	__u64 size = python_word(lines + v->bytes_size);
	__u32 bytes = size > WIRE_PYTHON_LINES_ROOM ? WIRE_PYTHON_LINES_ROOM : size;

	c->first_line = python_half(code + v->code_line);
	python_read_text(v, python_word(code + v->code_file), c->file_text, WIRE_PYTHON_FILE_ROOM,
			 &c->file);
	python_read_text(v, python_word(code + v->code_full_name), c->name_text,
			 WIRE_PYTHON_NAME_ROOM, &c->name);
	if (!c->name.bytes)
		return false;
	asm volatile("" : "+r"(bytes));
	if (bytes > WIRE_PYTHON_LINES_ROOM ||
	    bpf_probe_read_user(c->lines, bytes, (const void *)(lines + v->bytes_data)))
		bytes = 0;
	c->lines_bytes = bytes;
	return true;
}

/* A code object that is new: tells the collector of it. 0: it cannot be told now. */
static __always_inline __u32 python_tell_code(struct python *p, const struct wire_python *v,
					      const struct wire_python_key *key)
{
	__u32 bytes, number, *found;

	if (!python_read_code(p, v, key->code))
		return 0;
	number = __sync_fetch_and_add(&codes_given, 1) + 1;
	if (number >= WIRE_PYTHON_NUMBERS)
		return 0;
	p->code.number = number;
	bytes = __builtin_offsetof(struct wire_python_code, lines) + p->code.lines_bytes;
	asm volatile("" : "+r"(bytes));
	if (bytes > sizeof(p->code) ||
	    bpf_ringbuf_output(&names, &p->code, bytes, BPF_RB_NO_WAKEUP))
		return 0;
	if (bpf_map_update_elem(&codes, key, &number, BPF_NOEXIST) == 0)
		return number;
	/* Another CPU was faster, or there is no room: then it will be told again. */
	found = bpf_map_lookup_elem(&codes, key);
	return found ? *found : number;
}

static __always_inline __u32 python_number(struct python *p, const struct wire_python *v,
					   __u64 code)
{
	__u64 name = python_word(code + v->code_name), content;
	struct wire_python_key key = {.code = code, .process = p->process};
	__u32 *number;

	/* Names are interned, so that they have their hash. */
	content = python_word(name + v->text_hash) ^ name;
	content = content * 0x9e3779b97f4a7c15ull ^ python_word(code + v->code_file);
	content = content * 0x9e3779b97f4a7c15ull ^ python_word(code + v->code_lines);
	content = content * 0x9e3779b97f4a7c15ull ^ python_half(code + v->code_line);
	key.content = content * 0x9e3779b97f4a7c15ull >> 32;
	number = bpf_map_lookup_elem(&codes, &key);
	return number ? *number : python_tell_code(p, v, &key);
}

/* The frame at hand, as it is kept, and the way to the next of the same evaluator. */
static __always_inline __u64 python_follow(struct python *p)
{
	const struct wire_python *v = bpf_map_lookup_elem(&pythons, &p->number);
	__u64 frame = p->frame, code, instruction, begin;
	__u32 number = 0;
	__u8 is_entry = 1;

	p->frame = 0;
	p->frames++;
	if (!v)
		return WIRE_FRAME_PYTHON;
	code = python_word(frame + v->frame_code);
	instruction = python_word(frame + v->frame_instruction);
	bpf_probe_read_user(&is_entry, sizeof(is_entry), (const void *)(frame + v->frame_is_entry));
	if (code)
		number = python_number(p, v, code);
	p->unnamed += !number;
	if (!is_entry) {
		p->frame = python_word(frame + v->frame_previous);
		if (!p->frame || python_loops(p)) {
			p->frame = 0;
			p->broken++;
		}
	}
	/* Of a frame that has not begun it is the one before the first. */
	begin = code + v->code_bytecode;
	instruction = instruction < begin ? 0 : (instruction - begin) / 2;
	return WIRE_FRAME_PYTHON | (__u64)number << 32 | (__u32)instruction;
}

#endif
