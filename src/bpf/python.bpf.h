/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_PYTHON_BPF_H
#define CULPRIT_BPF_PYTHON_BPF_H

/*
 * The Python frames of the current thread, for the unwinder. wire_python.h says what they are.
 * Its functions are not static, for the reason that look_up_mapping (unwind.bpf.c) has.
 *
 * The thread is at rest while we look at it, but its memory is hostile: every address is only ever
 * given to bpf_probe_read_user, every size is bounded here, and a chain that loops ends.
 */
#include "wire_python.h"

MAP_ARRAY(pythons, WIRE_PYTHONS, struct wire_python);
/* The collector gives these two their real sizes before loading. */
MAP_HASH(codes, struct wire_python_key, __u32);
MAP_RING(names);
MAP_HASH(tellers, __u32, __u32);

const volatile __u32 names_share; /* bytes of the ring, for each user, until it is emptied */
__u32 codes_given;		  /* numbers given to codes, by all CPUs */

/* The state of the current stack. */
struct python {
	__u64 mark;   /* the next structure that a C frame may have; 0: none */
	__u64 first;  /* the Python frame that the next evaluator is at */
	__u64 seek;   /* the frame at which to look for the mark next; 0: it is known */
	__u64 frame;  /* the next Python frame; 0: C frames go on */
	__u64 seen;   /* an earlier frame, to notice loops by */
	__u32 since;  /* frames since then */
	__u32 room;   /* ... after which another is remembered */
	__u32 number; /* of the interpreter; 0: none met yet */
	__u32 process;
	__u32 sought;	  /* frames that were looked at for marks */
	__u32 evaluators; /* C frames that Python frames stood for */
	/* As in struct wire_stack_counters. */
	__u32 frames, unnamed, crowded, strangers, broken;
	struct wire_python_code code; /* the one about to be sent */
};

static __always_inline void python_start(struct python *p, __u32 process)
{
	p->mark = p->first = p->seek = p->frame = p->seen = 0;
	p->number = p->sought = p->evaluators = 0;
	p->frames = p->unnamed = p->crowded = p->strangers = p->broken = 0;
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

/* glibc's struct pthread: pthread_getspecific(key), for the first keys. */
#define THREAD_SPECIFIC	     0x310
#define THREAD_SPECIFIC_SIZE 16
#define THREAD_SPECIFIC_KEYS 32

/*
 * The state of the current thread: the one that holds the interpreter's lock, else the thread's
 * own, which C code that works without the lock has. Both say which thread they belong to, by what
 * pthread_self() returns.
 */
static __always_inline __u64 python_thread(const struct wire_python *v, __u64 runtime, __u64 self)
{
	__u64 state = 0, key;

	if (v->runtime_current)
		state = python_word(runtime + v->runtime_current);
	if (state && python_word(state + v->thread_id) == self)
		return state;
	key = python_word(runtime + v->runtime_key); /* whether there is one, and its number */
	if (!(__u32)key || key >> 32 >= THREAD_SPECIFIC_KEYS)
		return 0;
	state = python_word(self + THREAD_SPECIFIC + (key >> 32) * THREAD_SPECIFIC_SIZE + 8);
	return state && python_word(state + v->thread_id) == self ? state : 0;
}

/* Begins a chain of frames, in which loops are to be noticed. */
static __always_inline void python_begin_chain(struct python *p)
{
	p->seen = 0;
	p->since = p->room = 0;
}

/* Brent's algorithm: the frame is compared with an earlier one, at distances that double. */
static __always_inline bool python_loops(struct python *p, __u64 frame)
{
	if (frame == p->seen)
		return true;
	if (p->since++ == p->room) {
		p->seen = frame;
		p->room = 2 * p->room + 1;
		p->since = 0;
	}
	return false;
}

/* The stack has reached the file of an interpreter: finds the thread's evaluators. */
__noinline int python_meet(struct python *p, __u32 number, __u64 base, __u64 self)
{
	const struct wire_python *v = bpf_map_lookup_elem(&pythons, &number);
	__u64 state;

	if (!p)
		return 0;
	p->number = number;
	if (!v)
		return 0;
	state = python_thread(v, base + v->runtime, self);
	if (!state) {
		p->strangers++;
		return 0;
	}
	if (v->thread_cframe)
		p->mark = python_word(state + v->thread_cframe);
	if (v->thread_frame)
		p->first = python_word(state + v->thread_frame);
	if (v->by == WIRE_PYTHON_BY_ENTRY)
		p->seek = p->first;
	python_begin_chain(p);
	return 0;
}

static __always_inline bool python_is_entry(const struct wire_python *v, __u64 frame)
{
	__u8 owner = 0;

	bpf_probe_read_user(&owner, sizeof(owner), (const void *)(frame + v->frame_owner));
	return owner == WIRE_PYTHON_OWNED_BY_C;
}

/* One step towards the frame on the C stack that follows those that the next evaluator runs. */
__noinline int python_seek(struct python *p)
{
	const struct wire_python *v;
	__u64 frame;
	__u32 number;

	if (!p)
		return 0;
	number = p->number; /* verifiers before Linux 6.2 take no key read through an argument */
	v = bpf_map_lookup_elem(&pythons, &number);
	frame = p->seek;
	p->seek = 0;
	if (!v)
		return 0;
	if (python_is_entry(v, frame)) {
		p->mark = frame;
		return 0;
	}
	frame = python_word(frame + v->frame_previous);
	if (frame && p->sought++ < WIRE_PYTHON_DEPTH && !python_loops(p, frame))
		p->seek = frame;
	else
		p->broken++;
	return 0;
}

/* Whether the code at an offset of its file is the evaluator's. */
static __always_inline bool python_is_code(const struct wire_python *v, __u32 offset)
{
	for (int i = 0; i < WIRE_PYTHON_RANGES_MAX; i++)
		if (offset - v->evaluator[i].begin < v->evaluator[i].end - v->evaluator[i].begin)
			return true;
	return false;
}

/* Whether it is a frame object that returns to the one that the thread's state has as its
 * innermost; previous: the offset in it of the pointer to that. */
__noinline int python_is_next(__u64 frame, __u64 first, __u64 type, __u32 previous)
{
	return frame > 4096 && !(frame & 7) && frame != first &&
	       python_word(frame + previous) == first && python_word(frame + 8) == type;
}

#define PYTHON_SAVED 6 /* registers that the evaluator saves below its return address */

/*
 * An evaluator that has just begun, or is about to end, is not yet, or no longer, in the thread's
 * state: the innermost frame there is its caller's. Its own is where its caller has it: in a
 * register, which the evaluator saves; or, if it was itself interrupted, in one of its own
 * registers.
 */
__noinline __u64 python_find_first(struct python *p, const struct wire_unwind_state *state,
				   __u32 is_interrupted)
{
	const struct wire_python *v;
	__u64 type, found = 0, at;
	__u32 number;

	if (!p || !state)
		return 0;
	number = p->number;
	v = bpf_map_lookup_elem(&pythons, &number);
	if (!v || !p->first)
		return 0;
	type = python_word(p->first + 8);
	at = state->reg[UNWIND_RSP] - 8 * (PYTHON_SAVED + 1);
	for (int i = 0; i < PYTHON_SAVED; i++) {
		__u64 word = python_word(at + 8 * i);

		if (!found && python_is_next(word, p->first, type, v->frame_previous))
			found = word;
	}
	for (int i = 3; is_interrupted && i < WIRE_UNWIND_REGISTERS; i++)
		if (!found && python_is_next(state->reg[i], p->first, type, v->frame_previous))
			found = state->reg[i];
	return found;
}

/* A C frame; is_there: it is in the file of the interpreter that was met. */
struct python_c_frame {
	__u64 begin, end; /* its stack */
	__u32 offset;	  /* of its code in the file */
	__u32 is_there, is_interrupted;
};

/* The first Python frame of a C frame; 0: it is not the evaluator's, or has none yet. */
static __always_inline __u64 python_take_first(struct python *p, const struct wire_python *v,
					       const struct python_c_frame *c,
					       const struct wire_unwind_state *state)
{
	bool is_marked = p->mark - c->begin < c->end - c->begin;
	__u64 mark = p->mark, frame = p->first, own = 0;

	if (is_marked && v->by != WIRE_PYTHON_BY_ENTRY)
		p->mark = python_word(mark + v->cframe_previous);
	if (v->by == WIRE_PYTHON_BY_CODE) {
		if (!is_marked && !(c->is_there && python_is_code(v, c->offset)))
			return 0;
		if (!p->evaluators)
			own = python_find_first(p, state, c->is_interrupted);
		if (!own && frame)
			p->first = python_word(frame + v->frame_previous);
		return own ? own : frame;
	}
	if (!is_marked)
		return 0;
	if (v->by == WIRE_PYTHON_BY_CFRAME)
		return python_word(mark + v->cframe_frame);
	p->first = p->seek = python_word(mark + v->frame_previous);
	p->mark = 0;
	return frame == mark ? 0 : frame;
}

/* Whether a C frame is an evaluator's that runs Python frames, which then come next. */
__noinline int python_enter(struct python *p, const struct python_c_frame *c,
			    const struct wire_unwind_state *state)
{
	const struct wire_python *v;
	__u64 frame;
	__u32 number;

	if (!p || !c || !state)
		return 0;
	number = p->number;
	v = bpf_map_lookup_elem(&pythons, &number);
	if (!v)
		return 0;
	frame = python_take_first(p, v, c, state);
	if (!frame || (v->run == WIRE_PYTHON_TO_ENTRY && python_is_entry(v, frame)))
		return 0;
	p->frame = frame;
	p->evaluators++;
	python_begin_chain(p);
	return 1;
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
	c->lines_form = v->lines;
	return true;
}

/* Whether the user of the current thread has room left in the ring; takes that many bytes of it. */
static __always_inline bool python_may_tell(__u32 bytes)
{
	__u32 user = bpf_get_current_uid_gid(), none = 0, *told;

	told = bpf_map_lookup_elem(&tellers, &user);
	if (!told) {
		bpf_map_update_elem(&tellers, &user, &none, BPF_NOEXIST);
		told = bpf_map_lookup_elem(&tellers, &user);
	}
	return told && __sync_fetch_and_add(told, bytes) < names_share;
}

/* Tells the collector of a new code object. Its number; 0: it cannot be told now. */
static __always_inline __u32 python_tell_code(struct python *p, const struct wire_python *v,
					      const struct wire_python_key *key)
{
	__u32 bytes, number, *found;

	if (!python_read_code(p, v, key->code))
		return 0;
	bytes = __builtin_offsetof(struct wire_python_code, lines) + p->code.lines_bytes;
	if (!python_may_tell(bytes)) {
		p->crowded++;
		return 0;
	}
	number = __sync_fetch_and_add(&codes_given, 1) + 1;
	if (number >= WIRE_PYTHON_NUMBERS)
		return 0;
	p->code.number = number;
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

	/* Names are interned, so their hash is known. */
	content = python_word(name + v->text_hash) ^ name;
	content = content * 0x9e3779b97f4a7c15ull ^ python_word(code + v->code_file);
	content = content * 0x9e3779b97f4a7c15ull ^ python_word(code + v->code_lines);
	content = content * 0x9e3779b97f4a7c15ull ^ python_half(code + v->code_line);
	key.content = content * 0x9e3779b97f4a7c15ull >> 32;
	number = bpf_map_lookup_elem(&codes, &key);
	return number ? *number : python_tell_code(p, v, &key);
}

/* The frame that follows one in the same evaluator; 0: it was the last. */
static __always_inline __u64 python_next(struct python *p, const struct wire_python *v, __u64 frame)
{
	__u8 is_last = 1;
	__u64 next;

	if (v->run == WIRE_PYTHON_ONE)
		return 0;
	if (v->run == WIRE_PYTHON_TO_FLAG) {
		bpf_probe_read_user(&is_last, sizeof(is_last),
				    (const void *)(frame + v->frame_is_entry));
		if (is_last)
			return 0;
	}
	next = python_word(frame + v->frame_previous);
	if (!next || python_loops(p, next)) {
		p->broken++;
		return 0;
	}
	return v->run == WIRE_PYTHON_TO_ENTRY && python_is_entry(v, next) ? 0 : next;
}

/* The instruction that a frame is at, or, if it has not begun, its first. */
static __always_inline __u32 python_instruction(const struct wire_python *v, __u64 frame,
						__u64 code)
{
	__u64 at = frame + v->frame_instruction, begin = code + v->code_bytecode;
	__s32 last;

	if (v->at == WIRE_PYTHON_POINTER) {
		at = python_word(at);
		return at < begin ? 0 : (at - begin) / 2;
	}
	last = python_half(at);
	if (last < 0)
		return 0;
	return v->at == WIRE_PYTHON_BYTES ? last / 2 : last;
}

/* Returns the current frame, as it is kept, and goes on to the next of the same evaluator. */
__noinline __u64 python_follow(struct python *p)
{
	const struct wire_python *v;
	__u64 frame, code;
	__u32 number;

	if (!p)
		return 0;
	number = p->number;
	v = bpf_map_lookup_elem(&pythons, &number);
	frame = p->frame;
	number = 0;
	p->frame = 0;
	p->frames++;
	if (!v)
		return WIRE_FRAME_PYTHON;
	code = python_word(frame + v->frame_code);
	if (code)
		number = python_number(p, v, code);
	p->unnamed += !number;
	p->frame = python_next(p, v, frame);
	return WIRE_FRAME_PYTHON | (__u64)number << 32 | python_instruction(v, frame, code);
}

#endif
