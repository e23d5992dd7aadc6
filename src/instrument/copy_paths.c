/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The code that counts paths. Each step is one of a few sequences, of which doc/paths.md says why
 * they are right at any instruction at which a signal, an exception or a longjmp takes the thread
 * away. A step that has to look further (a detour) does so behind the function.
 */
#include <stdbool.h>
#include "instrument/copy_state.h"
#include "instrument/paths.h"

#define NOW	      (INSTRUMENT_PATHS_NOW * 8)
#define CALL	      (NOW + 4)
#define STACK_POINTER (INSTRUMENT_PATHS_STACK_POINTER * 8)
#define DEPTH	      (INSTRUMENT_PATHS_DEPTH * 8)
#define STACK	      (INSTRUMENT_PATHS_STACK * 8)
#define FRAME	      24 /* bytes: the caller's NOW, its STACK_POINTER, entered_at */
#define DEPTH_MAX     (INSTRUMENT_PATHS_FRAMES_MAX * FRAME)
/* Of the innermost frame, from STACK + DEPTH. */
#define OF_NOW	   (STACK - 24)
#define OF_POINTER (STACK - 16)
#define OF_ENTERED (STACK - 8)
#define RED_ZONE   128

/* An instruction, or its beginning; its rest is 32 bits, once or twice. */
#define PUT(c, bytes) copying_put_inserted(c, bytes, sizeof(bytes) - 1)

static void put1(struct copying *c, const char *bytes, size_t size, uint32_t rest)
{
	copying_put_inserted(c, bytes, size);
	buf_append_u32(&c->out, rest);
}

static void put2(struct copying *c, const char *bytes, size_t size, uint32_t at, uint32_t rest)
{
	put1(c, bytes, size, at);
	buf_append_u32(&c->out, rest);
}

#define PUT1(c, bytes, rest)	 put1(c, bytes, sizeof(bytes) - 1, rest)
#define PUT2(c, bytes, at, rest) put2(c, bytes, sizeof(bytes) - 1, at, rest)

static void put_jump_to(struct copying *c, const char *bytes, size_t size, const uint32_t *label)
{
	copying_put_inserted(c, bytes, size);
	copying_put_link(c, label);
}

#define PUT_JUMP(c, bytes, label) put_jump_to(c, bytes, sizeof(bytes) - 1, label)

#define JE	  "\x0f\x84"
#define JNE	  "\x0f\x85"
#define JAE	  "\x0f\x83"
#define JB	  "\x0f\x82"
#define JMP	  "\xe9"
#define CALL_NEAR "\xe8"

static uint32_t here(const struct copying *c)
{
	return (uint32_t)c->out.size;
}

static uint32_t slot(const struct copying *c, uint32_t of_function)
{
	return c->to->first_slot + of_function;
}

static const struct paths_edge *added(const struct copying *c, uint32_t edge)
{
	return &c->plan->paths->numbering->edges[edge];
}

/* Where the stack is not as in the original: from the first change to behind the last. */
static void begin_pushed(struct copying *c, uint64_t *ret_stood)
{
	*ret_stood = c->inserted.stands_for;
	c->inserted.stands_for = INSTRUMENT_NOWHERE;
}

/* Counts the path whose register is in NOW, plus add; changes %rax and %rcx. */
static void put_count(struct copying *c, int32_t add)
{
	const uint32_t count = c->plan->paths->numbering->count;

	PUT1(c, "\x65\x8b\x04\x25", NOW);	    /* mov %gs:NOW,%eax */
	PUT1(c, "\x8d\x80", (uint32_t)add);	    /* lea add(%rax),%eax */
	PUT1(c, "\x8d\x88", 0 - c->to->first_slot); /* lea -first(%rax),%ecx */
	PUT1(c, "\x81\xf9", count);		    /* cmp $count,%ecx */
	PUT(c, "\x72\x05");			    /* jb over */
	PUT1(c, "\xb8", slot(c, count));	    /* mov $unseen,%eax */
	PUT1(c, "\x65\x48\xff\x04\xc5", 0);	    /* over: incq %gs:(,%rax,8) */
}

static void put_set(struct copying *c, uint32_t now)
{
	PUT2(c, "\x65\xc7\x04\x25", NOW, now); /* movl $now,%gs:NOW */
}

/* And that it is in no call. */
static void put_set_all(struct copying *c, uint32_t now)
{
	PUT2(c, "\x65\x48\xc7\x04\x25", NOW, now); /* movq $now,%gs:NOW */
}

static void put_cut(struct copying *c, uint32_t edge)
{
	const bool flags = c->plan->edges[edge].flags;
	uint64_t stood;

	PUT(c, "\x48\x8d\x64\x24\x80"); /* lea -128(%rsp),%rsp */
	begin_pushed(c, &stood);
	if (flags)
		PUT(c, "\x9c"); /* pushfq */
	PUT(c, "\x50");		/* push %rax */
	PUT(c, "\x51");		/* push %rcx */
	put_count(c, added(c, edge)->add);
	put_set(c, c->to->first_slot + (uint32_t)added(c, edge)->begin);
	PUT(c, "\x59"); /* pop %rcx */
	PUT(c, "\x58"); /* pop %rax */
	if (flags)
		PUT(c, "\x9d");		       /* popfq */
	PUT1(c, "\x48\x8d\xa4\x24", RED_ZONE); /* lea 128(%rsp),%rsp */
	c->inserted.stands_for = stood;
}

static void put_add(struct copying *c, uint32_t edge)
{
	const uint32_t add = (uint32_t)added(c, edge)->add;
	uint64_t stood;

	if (!c->plan->edges[edge].flags) {
		PUT2(c, "\x65\x81\x04\x25", NOW, add); /* addl $add,%gs:NOW */
		return;
	}
	PUT(c, "\x48\x8d\x64\x24\x80"); /* lea -128(%rsp),%rsp */
	begin_pushed(c, &stood);
	PUT(c, "\x50");			       /* push %rax */
	PUT1(c, "\x65\x8b\x04\x25", NOW);      /* mov %gs:NOW,%eax */
	PUT1(c, "\x8d\x80", add);	       /* lea add(%rax),%eax */
	PUT1(c, "\x65\x89\x04\x25", NOW);      /* mov %eax,%gs:NOW */
	PUT(c, "\x58");			       /* pop %rax */
	PUT1(c, "\x48\x8d\xa4\x24", RED_ZONE); /* lea 128(%rsp),%rsp */
	c->inserted.stands_for = stood;
}

static void put_flow(struct copying *c, uint32_t edge)
{
	if (added(c, edge)->cut)
		put_cut(c, edge);
	else if (added(c, edge)->add)
		put_add(c, edge);
}

/* A frame for the caller's path. Nothing below the stack pointer is in use at an entry. The frame
 * is complete when entered_at is written: it was 0. */
static void put_enter(struct copying *c, uint32_t edge)
{
	struct copying_detour *d = &c->detours[edge];
	uint64_t stood;

	PUT(c, "\x50"); /* push %rax */
	begin_pushed(c, &stood);
	PUT(c, "\x51");				/* push %rcx */
	PUT1(c, "\x65\x48\x8b\x04\x25", DEPTH); /* mov %gs:DEPTH,%rax */
	PUT1(c, "\x48\x3d", DEPTH_MAX);		/* cmp $DEPTH_MAX,%rax */
	PUT_JUMP(c, JAE, &d->start);
	d->back = here(c);
	PUT(c, "\x48\x8d\x48\x18");			/* lea FRAME(%rax),%rcx */
	PUT1(c, "\x65\x48\x89\x0c\x25", DEPTH);		/* mov %rcx,%gs:DEPTH */
	PUT1(c, "\x65\x48\x8b\x0c\x25", NOW);		/* mov %gs:NOW,%rcx */
	PUT1(c, "\x65\x48\x89\x88", STACK);		/* mov %rcx,%gs:STACK(%rax) */
	PUT1(c, "\x65\x48\x8b\x0c\x25", STACK_POINTER); /* mov %gs:STACK_POINTER,%rcx */
	PUT1(c, "\x65\x48\x89\x88", STACK + 8);		/* mov %rcx,%gs:STACK+8(%rax) */
	PUT(c, "\x48\x8d\x4c\x24\x10");			/* lea 16(%rsp),%rcx */
	PUT1(c, "\x65\x48\x89\x88", STACK + 16);	/* mov %rcx,%gs:STACK+16(%rax) */
	d->out = here(c);
	put_set_all(c, c->to->first_slot + (uint32_t)added(c, edge)->add);
	PUT(c, "\x59"); /* pop %rcx */
	PUT(c, "\x58"); /* pop %rax */
	c->inserted.stands_for = stood;
}

/* The stack of paths is full: of dead ones, or the caller's path is lost. */
static void put_enter_detour(struct copying *c, struct copying_detour *d)
{
	PUT(c, "\x52");			/* push %rdx */
	PUT(c, "\x48\x8d\x54\x24\x19"); /* lea 25(%rsp),%rdx */
	PUT_JUMP(c, CALL_NEAR, &c->leave_dead);
	PUT(c, "\x5a");				/* pop %rdx */
	PUT1(c, "\x65\x48\x8b\x04\x25", DEPTH); /* mov %gs:DEPTH,%rax */
	PUT1(c, "\x48\x3d", DEPTH_MAX);		/* cmp $DEPTH_MAX,%rax */
	PUT_JUMP(c, JB, &d->back);
	PUT1(c, "\x65\x48\xff\x04\x25", INSTRUMENT_PATHS_LOST * 8); /* incq %gs:LOST */
	PUT_JUMP(c, JMP, &d->out);
}

/* Bytes between the stack pointer and the return address, where the copy has not returned. */
static int32_t far_of(const struct copying *c, uint32_t edge)
{
	const struct cfg_block *b = &c->f->blocks[c->plan->edges[edge].block];

	return cfg_block_last(c->f, b)->branch == ISA_BRANCH_RETURN ? 0 : RED_ZONE;
}

/* Back to the caller's path, if the frame is this function's. What a function has below the stack
 * pointer when it returns is dead, but not where it jumps: that may be into code of its own. */
static void put_exit(struct copying *c, uint32_t edge)
{
	struct copying_detour *d = &c->detours[edge];
	const int32_t far = far_of(c, edge);
	uint64_t stood = c->inserted.stands_for;

	if (far) {
		PUT(c, "\x48\x8d\x64\x24\x80"); /* lea -128(%rsp),%rsp */
		begin_pushed(c, &stood);
	}
	PUT(c, "\x50"); /* push %rax */
	c->inserted.stands_for = INSTRUMENT_NOWHERE;
	PUT(c, "\x51"); /* push %rcx */
	put_count(c, added(c, edge)->add);
	PUT1(c, "\x65\x48\x8b\x0c\x25", DEPTH);		 /* mov %gs:DEPTH,%rcx */
	PUT1(c, "\x48\x8d\x84\x24", (uint32_t)far + 16); /* lea far+16(%rsp),%rax */
	PUT1(c, "\x65\x48\x39\x81", OF_ENTERED);	 /* cmp %rax,%gs:OF_ENTERED(%rcx) */
	PUT_JUMP(c, JNE, &d->start);
	d->back = here(c);
	PUT1(c, "\x65\x48\x8b\x81", OF_NOW);		/* mov %gs:OF_NOW(%rcx),%rax */
	PUT1(c, "\x65\x48\x89\x04\x25", NOW);		/* mov %rax,%gs:NOW */
	PUT1(c, "\x65\x48\x8b\x81", OF_POINTER);	/* mov %gs:OF_POINTER(%rcx),%rax */
	PUT1(c, "\x65\x48\x89\x04\x25", STACK_POINTER); /* mov %rax,%gs:STACK_POINTER */
	PUT2(c, "\x65\x48\xc7\x81", OF_ENTERED, 0);	/* movq $0,%gs:OF_ENTERED(%rcx) */
	PUT(c, "\x48\x8d\x49\xe8");			/* lea -FRAME(%rcx),%rcx */
	PUT1(c, "\x65\x48\x89\x0c\x25", DEPTH);		/* mov %rcx,%gs:DEPTH */
	d->out = here(c);
	PUT(c, "\x59"); /* pop %rcx */
	PUT(c, "\x58"); /* pop %rax */
	if (far)
		PUT1(c, "\x48\x8d\xa4\x24", RED_ZONE); /* lea 128(%rsp),%rsp */
	c->inserted.stands_for = stood;
}

/* Frames of functions that were left lie above this one's; or it is itself among these, as where an
 * unwinder returns into another frame; or it has none, as it was entered before it had a copy. The
 * path has been counted. */
static void put_exit_detour(struct copying *c, uint32_t edge, struct copying_detour *d)
{
	const uint32_t far = (uint32_t)far_of(c, edge);

	put_set(c, INSTRUMENT_PATHS_UNKNOWN);
	PUT(c, "\x52");			       /* push %rdx */
	PUT1(c, "\x48\x8d\x94\x24", far + 24); /* lea far+24(%rsp),%rdx */
	PUT_JUMP(c, CALL_NEAR, &c->leave_dead);
	PUT(c, "\x5a");				 /* pop %rdx */
	PUT1(c, "\x65\x48\x8b\x0c\x25", DEPTH);	 /* mov %gs:DEPTH,%rcx */
	PUT1(c, "\x48\x8d\x84\x24", far + 16);	 /* lea far+16(%rsp),%rax */
	PUT1(c, "\x65\x48\x39\x81", OF_ENTERED); /* cmp %rax,%gs:OF_ENTERED(%rcx) */
	PUT_JUMP(c, JE, &d->back);
	PUT_JUMP(c, JMP, &d->out);
}

static uint32_t call_of(const struct copying *c, uint32_t block)
{
	return slot(c, c->plan->paths->calls[block]);
}

/* A call comes back to the path that made it if that is what the thread is on, in this call, with
 * this stack. Below the stack pointer is what the call left there. */
static void put_return(struct copying *c, uint32_t edge)
{
	struct copying_detour *d = &c->detours[edge];

	PUT2(c, "\x65\x81\x3c\x25", CALL, call_of(c, c->plan->edges[edge].from)); /* cmpl $,%gs: */
	PUT_JUMP(c, JNE, &d->start);
	PUT1(c, "\x65\x48\x39\x24\x25", STACK_POINTER); /* cmp %rsp,%gs:STACK_POINTER */
	PUT_JUMP(c, JNE, &d->start);
	d->back = here(c);
	PUT2(c, "\x65\xc7\x04\x25", CALL, 0); /* movl $0,%gs:CALL */
	put_flow(c, edge);
}

static void put_return_detour(struct copying *c, uint32_t edge, struct copying_detour *d)
{
	PUT(c, "\x50");			/* push %rax */
	PUT(c, "\x51");			/* push %rcx */
	PUT(c, "\x52");			/* push %rdx */
	PUT(c, "\x48\x8d\x54\x24\x18"); /* lea 24(%rsp),%rdx */
	PUT_JUMP(c, CALL_NEAR, &c->leave_dead);
	PUT2(c, "\x65\x81\x3c\x25", CALL, call_of(c, c->plan->edges[edge].from)); /* cmpl $,%gs: */
	PUT(c, "\x75\x0b");							  /* jne is_other */
	PUT1(c, "\x65\x48\x39\x14\x25", STACK_POINTER); /* cmp %rdx,%gs:STACK_POINTER */
	PUT(c, "\x74\x11");				/* je is_same */
	PUT_JUMP(c, CALL_NEAR, &c->count_left);		/* is_other: */
	put_set(c, INSTRUMENT_PATHS_UNKNOWN);
	PUT(c, "\x5a"); /* is_same: pop %rdx */
	PUT(c, "\x59"); /* pop %rcx */
	PUT(c, "\x58"); /* pop %rax */
	PUT_JUMP(c, JMP, &d->back);
}

/* The unwinder has taken the thread out of the path that it was on here. */
static void put_land(struct copying *c, uint32_t edge)
{
	uint64_t stood;

	PUT(c, "\x50"); /* push %rax */
	begin_pushed(c, &stood);
	PUT(c, "\x51");			/* push %rcx */
	PUT(c, "\x52");			/* push %rdx */
	PUT(c, "\x48\x8d\x54\x24\x18"); /* lea 24(%rsp),%rdx */
	PUT_JUMP(c, CALL_NEAR, &c->leave_dead);
	PUT_JUMP(c, CALL_NEAR, &c->count_left);
	put_set_all(c, c->to->first_slot + (uint32_t)added(c, edge)->add);
	PUT(c, "\x5a"); /* pop %rdx */
	PUT(c, "\x59"); /* pop %rcx */
	PUT(c, "\x58"); /* pop %rax */
	c->inserted.stands_for = stood;
}

/* Nothing follows, unless a signal's handler makes something follow. */
static void put_stop(struct copying *c, uint32_t edge)
{
	uint64_t stood;

	PUT(c, "\x48\x8d\x64\x24\x80"); /* lea -128(%rsp),%rsp */
	begin_pushed(c, &stood);
	PUT(c, "\x50"); /* push %rax */
	PUT(c, "\x51"); /* push %rcx */
	put_count(c, added(c, edge)->add);
	put_set(c, INSTRUMENT_PATHS_UNKNOWN);
	PUT(c, "\x59");			       /* pop %rcx */
	PUT(c, "\x58");			       /* pop %rax */
	PUT1(c, "\x48\x8d\xa4\x24", RED_ZONE); /* lea 128(%rsp),%rsp */
	c->inserted.stands_for = stood;
}

void copying_put_step(struct copying *c, uint32_t edge)
{
	c->detours[edge].charged = c->inserted.charged;
	switch (c->plan->paths->steps[edge]) {
	case INSTRUMENT_STEP_ENTER:
		put_enter(c, edge);
		break;
	case INSTRUMENT_STEP_LAND:
		put_land(c, edge);
		break;
	case INSTRUMENT_STEP_RETURN:
		put_return(c, edge);
		break;
	case INSTRUMENT_STEP_EXIT:
		put_exit(c, edge);
		break;
	case INSTRUMENT_STEP_STOP:
		put_stop(c, edge);
		break;
	default:
		put_flow(c, edge);
	}
}

void copying_put_call(struct copying *c, uint32_t block)
{
	PUT2(c, "\x65\xc7\x04\x25", CALL, call_of(c, block)); /* movl $call,%gs:CALL */
	PUT1(c, "\x65\x48\x89\x24\x25", STACK_POINTER);	      /* mov %rsp,%gs:STACK_POINTER */
}

/* Of the path in NOW, if it is one: in a call the register is its number. Changes %rax, %rcx. */
static void put_count_left(struct copying *c)
{
	const uint32_t first = INSTRUMENT_PATHS_FIRST_SLOT;

	c->count_left = here(c);
	PUT1(c, "\x65\x8b\x04\x25", NOW);	   /* mov %gs:NOW,%eax */
	PUT1(c, "\x8d\x88", 0 - first);		   /* lea -first(%rax),%ecx */
	PUT1(c, "\x81\xf9", c->to->slots - first); /* cmp $slots-first,%ecx */
	PUT(c, "\x73\x19");			   /* jae out */
	PUT1(c, "\x65\x83\x3c\x25", CALL);	   /* cmpl $0,%gs:CALL */
	buf_append_u8(&c->out, 0);
	PUT(c, "\x75\x05");			/* jne is_call */
	PUT1(c, "\xb8", INSTRUMENT_PATHS_LEFT); /* mov $LEFT,%eax */
	PUT1(c, "\x65\x48\xff\x04\xc5", 0);	/* is_call: incq %gs:(,%rax,8) */
	PUT(c, "\xc3");				/* out: ret */
}

/* Counts as left the paths of all functions that were entered below the address in %rdx, and goes
 * back to that of who called them. Changes %rax and %rcx. */
static void put_leave_dead(struct copying *c)
{
	uint32_t *again = &c->leave_dead;

	c->leave_dead = here(c);
	PUT1(c, "\x65\x48\x8b\x0c\x25", DEPTH);	 /* again: mov %gs:DEPTH,%rcx */
	PUT(c, "\x48\x85\xc9");			 /* test %rcx,%rcx */
	PUT(c, "\x74\x70");			 /* je out */
	PUT1(c, "\x65\x48\x39\x91", OF_ENTERED); /* cmp %rdx,%gs:OF_ENTERED(%rcx) */
	PUT(c, "\x73\x66");			 /* jae out */
	PUT_JUMP(c, CALL_NEAR, &c->count_left);
	PUT1(c, "\x65\x48\x8b\x0c\x25", DEPTH);	 /* mov %gs:DEPTH,%rcx */
	PUT1(c, "\x65\x48\x83\xb9", OF_ENTERED); /* cmpq $0,%gs:OF_ENTERED(%rcx) */
	buf_append_u8(&c->out, 0);
	PUT1(c, "\x65\x48\x8b\x81", OF_NOW);		/* mov %gs:OF_NOW(%rcx),%rax */
	PUT1(c, "\x65\x48\x89\x04\x25", NOW);		/* mov %rax,%gs:NOW */
	PUT1(c, "\x65\x48\x8b\x81", OF_POINTER);	/* mov %gs:OF_POINTER(%rcx),%rax */
	PUT1(c, "\x65\x48\x89\x04\x25", STACK_POINTER); /* mov %rax,%gs:STACK_POINTER */
	PUT(c, "\x75\x0d");				/* jne is_complete */
	put_set_all(c, INSTRUMENT_PATHS_UNKNOWN);
	PUT2(c, "\x65\x48\xc7\x81", OF_ENTERED, 0); /* is_complete: movq $0,%gs:OF_ENTERED(%rcx) */
	PUT(c, "\x48\x8d\x49\xe8");		    /* lea -FRAME(%rcx),%rcx */
	PUT1(c, "\x65\x48\x89\x0c\x25", DEPTH);	    /* mov %rcx,%gs:DEPTH */
	PUT_JUMP(c, JMP, again);
	PUT(c, "\xc3"); /* out: ret */
}

static void put_detour(struct copying *c, uint32_t edge)
{
	struct copying_detour *d = &c->detours[edge];

	c->inserted.charged = d->charged;
	c->inserted.stands_for = INSTRUMENT_NOWHERE;
	d->start = here(c);
	switch (c->plan->paths->steps[edge]) {
	case INSTRUMENT_STEP_ENTER:
		put_enter_detour(c, d);
		break;
	case INSTRUMENT_STEP_EXIT:
		put_exit_detour(c, edge, d);
		break;
	default:
		put_return_detour(c, edge, d);
	}
}

void copying_put_detours(struct copying *c)
{
	for (uint32_t i = 0; i < c->plan->edge_count; i++)
		if (c->detours[i].back)
			put_detour(c, i);
	c->inserted.charged = c->f->entry + c->to->bias;
	c->inserted.stands_for = INSTRUMENT_NOWHERE;
	put_count_left(c);
	put_leave_dead(c);
}
