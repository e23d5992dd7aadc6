/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * loops NAME:MICROSECONDS[,NAME:MICROSECONDS...] SECONDS: runs loops (loops.py) in turn, a
 * millisecond at a time, in calls of about so many microseconds, for so long of processor time.
 * Prints of each: name, calls, rounds, nanoseconds of the thread. One turn of ten is a chain of
 * additions, of a cycle each, printed as a loop named clock whose rounds are cycles: in cycles of
 * that, a time has neither the clock's frequency nor the interrupts and neighbours in it, which
 * both meet alike.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define TURN_NS	      1000000
#define TURNS_A_CHAIN 10
#define CHAIN_ROUNDS  50000 /* of 16 cycles: 250 us, so that asking for the time is nothing */
#define MOST	      8

struct loop {
	const char *name;
	void *(*run)(uint64_t rounds, void *memory); /* of a ring: where it ended */
	const char *form;
	size_t bytes, stride;
	int huge;
};

#define LOOP(name, form, bytes, stride, huge) void *loop_##name(uint64_t rounds, void *memory);
#include "loops.inc"
#undef LOOP
#define LOOP(name, form, bytes, stride, huge) {#name, loop_##name, form, bytes, stride, huge},
static const struct loop loops[] = {
#include "loops.inc"
};

struct turn {
	const struct loop *loop;
	char *memory;
	uint64_t call_ns, rounds_a_call, calls, rounds, ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static char *memory_new(size_t bytes, int huge)
{
	const size_t align = (size_t)2 << 20;
	char *p = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED) {
		perror("loops: mmap");
		exit(1);
	}
	p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
	madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return memset(p, 0, bytes);
}

/* Pointers through all places in the order of a permutation, moved by lines within a stride. */
static char *ring_new(const struct loop *l)
{
	const size_t count = l->bytes / l->stride, lines = l->stride / 64;
	char *memory = memory_new(l->bytes, l->huge);
	uint64_t i = 0;

	for (size_t n = 0; n < count; n++) {
		const uint64_t next = (i * 1664525u + 1013904223u) & (count - 1);

		*(void **)(memory + i * l->stride + i % lines * 64) =
			memory + next * l->stride + next % lines * 64;
		i = next;
	}
	return memory;
}

static char *memory_of(const struct loop *l)
{
	char *p;

	if (!strcmp(l->form, "ring"))
		return ring_new(l);
	p = memory_new(l->bytes, l->huge);
	if (!strcmp(l->form, "guard")) {
		mprotect(p + 4096, 4096, PROT_NONE);
		/* Behind the last 16 bytes lies what must not be read: half of the vector is not.
		 */
		return p + 4096 - 16;
	}
	return p;
}

static void run(struct turn *t, uint64_t rounds)
{
	void *end = t->loop->run(rounds, t->memory);

	if (!strcmp(t->loop->form, "ring"))
		t->memory = end;
}

static uint64_t call(struct turn *t, uint64_t rounds)
{
	const int fresh = !strcmp(t->loop->form, "fresh");
	const uint64_t most = t->loop->bytes / t->loop->stride;
	uint64_t begin, ns;

	if (fresh) {
		rounds = rounds < most ? rounds : most;
		madvise(t->memory, t->loop->bytes, MADV_DONTNEED);
	}
	begin = now_ns();
	run(t, rounds);
	ns = now_ns() - begin;
	t->calls++;
	t->rounds += rounds;
	t->ns += ns;
	return ns;
}

static void take_turn(struct turn *t)
{
	const uint64_t begin = now_ns(), times = TURN_NS / t->call_ns + 1;
	uint64_t rounds = t->rounds_a_call;

	if (!strcmp(t->loop->form, "fresh")) {
		for (uint64_t i = 0; i < times; i++)
			call(t, rounds);
		return;
	}
	for (uint64_t i = 0; i < times; i++)
		run(t, rounds);
	t->calls += times;
	t->rounds += times * rounds;
	t->ns += now_ns() - begin;
}

/* The lesser of two: one may be interrupted, or find the caches cold. */
static uint64_t time_call(struct turn *t, uint64_t rounds)
{
	const uint64_t first = call(t, rounds), second = call(t, rounds);

	return first < second ? first : second;
}

static void set_up(struct turn *t, char *text)
{
	char *colon = strchr(text, ':');
	uint64_t ns = 0;

	t->call_ns = (uint64_t)(colon ? atof(colon + 1) * 1000 : 100000);
	if (colon)
		*colon = 0;
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
		if (!strcmp(loops[i].name, text))
			t->loop = &loops[i];
	if (!t->loop) {
		fprintf(stderr, "loops: no loop %s\n", text);
		exit(2);
	}
	t->memory = memory_of(t->loop);
	for (t->rounds_a_call = 1; ns < 200000 && t->rounds_a_call < 1 << 30; t->rounds_a_call *= 2)
		ns = time_call(t, t->rounds_a_call);
	t->rounds_a_call = t->rounds_a_call * t->call_ns / 2 / (ns + 1) + 1;
}

/* A turn of cycles that are known. */
static void take_clock_turn(struct turn *t)
{
	const uint64_t end = now_ns() + TURN_NS, begin = end - TURN_NS;
	uint64_t now;

	do {
		uint64_t n = CHAIN_ROUNDS;

		__asm__ volatile("1:\n\t"
				 ".rept 8\n\t"
				 "add %%rcx, %%rax\n\t"
				 "add %%rax, %%rax\n\t"
				 ".endr\n\t"
				 "dec %0\n\t"
				 "jnz 1b\n\t"
				 : "+r"(n)
				 :
				 : "rax", "cc");
		t->rounds += 16 * CHAIN_ROUNDS;
		now = now_ns();
	} while (now < end);
	t->calls++;
	t->ns += now - begin;
}

static void print_turn(const char *name, const struct turn *t)
{
	printf("%s %llu %llu %llu\n", name, (unsigned long long)t->calls,
	       (unsigned long long)t->rounds, (unsigned long long)t->ns);
}

int main(int argc, char **argv)
{
	struct turn turns[MOST] = {{0}}, chain = {0};
	size_t count = 0, taken = 0;
	uint64_t end;

	if (argc != 3)
		return 2;
	for (char *save, *p = strtok_r(argv[1], ",", &save); p && count < MOST;
	     p = strtok_r(NULL, ",", &save))
		set_up(&turns[count++], p);
	end = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
	while (now_ns() < end)
		for (size_t i = 0; i < count; i++, taken++) {
			take_turn(&turns[i]);
			if (taken % TURNS_A_CHAIN == 0)
				take_clock_turn(&chain);
		}
	for (size_t i = 0; i < count; i++)
		print_turn(turns[i].loop->name, &turns[i]);
	print_turn("clock", &chain);
	return 0;
}
