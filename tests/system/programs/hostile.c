/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Works for some seconds of processor time with stacks that lie: hostile KIND SECONDS. What an
 * unwinder does of each is known (tests/system/stacks-hostile.sh).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define TIMES	 200000

static double seconds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each spins for so many rounds, with unwind tables that say: */
void lies_loop(uint64_t times);	  /* the caller's frame is where this one is */
void lies_far(uint64_t times);	  /* it is 2 GiB up */
void lies_kernel(uint64_t times); /* it is in the kernel */
void lies_data(uint64_t times);	  /* it returns to data */
void lies_patch(uint64_t times);  /* it has pushed a register, which it has not when patched */
extern char patch_push[], patch_pop[], bare_begin[], bare_end[], framed_begin[], framed_end[];

#define SPIN "1:\tdec %rdi\n\tjnz 1b\n"
/* A function that does something, spins, and undoes it. */
#define DEFINE(name, head, tail)                                                       \
	__asm__(".globl " #name "\n.type " #name ",@function\n" #name                  \
		":\n.cfi_startproc\n" head SPIN tail "ret\n.cfi_endproc\n.size " #name \
		", .-" #name "\n")

__asm__(".data\n.balign 8\nstray: .quad 0, 0\n.text\n");
/* The CFA is what is in memory at rsp, which is rsp. */
DEFINE(lies_loop, "sub $8, %rsp\n mov %rsp, (%rsp)\n .cfi_escape 0x0f, 3, 0x77, 0, 6\n",
       "add $8, %rsp\n .cfi_def_cfa %rsp, 8\n");
DEFINE(lies_far, ".cfi_def_cfa %rsp, 0x7ffffff0\n", ".cfi_def_cfa %rsp, 8\n");
DEFINE(lies_kernel, "push %rbx\n mov $-4096, %rbx\n .cfi_def_cfa %rbx, 16\n",
       "pop %rbx\n .cfi_def_cfa %rsp, 8\n");
DEFINE(lies_data, "lea stray(%rip), %rax\n push %rax\n", "pop %rax\n");
DEFINE(patched, "patch_push: push %rbx\n .cfi_adjust_cfa_offset 8\n",
       "patch_pop: pop %rbx\n .cfi_adjust_cfa_offset -8\n");
/* What is on the stack above its return address is no code. */
DEFINE(lies_patch, "push $0x1234\n .cfi_adjust_cfa_offset 8\n call patched\n mov $1, %edi\n",
       "pop %rax\n .cfi_adjust_cfa_offset -8\n");
__asm__("bare_begin:\n" SPIN "ret\nbare_end:\n");
__asm__("framed_begin: push %rbp\n mov %rsp, %rbp\n" SPIN "pop %rbp\n ret\nframed_end:\n");

NOINLINE static void lie(void (*f)(uint64_t))
{
	while (now() < seconds)
		f(TIMES);
}

static void *page_of(const void *p)
{
	return (void *)((uintptr_t)p & ~4095ul);
}

/* Code of a file, without the push and the pop that its tables tell of. */
NOINLINE static int patch(void)
{
	if (mprotect(page_of(patch_push), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	*(volatile char *)patch_push = *(volatile char *)patch_pop = (char)0x90;
	lie(lies_patch);
	return 0;
}

/* Code that is rewritten all the time: with a frame pointer, and without. */
NOINLINE static int rewrite(void)
{
	void (*f)(uint64_t);
	char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	memcpy(&f, &code, sizeof(f));
	while (now() < seconds) {
		memcpy(code, framed_begin, (size_t)(framed_end - framed_begin));
		f(TIMES);
		memcpy(code, bare_begin, (size_t)(bare_end - bare_begin));
		f(TIMES);
	}
	return 0;
}

/* What looks like CPython 3.11, as far as anybody reads it. */
#define PYTHON __attribute__((used, visibility("default")))
extern const unsigned long Py_Version;
extern char _PyRuntime[];
PYTHON const unsigned long Py_Version = 0x030b02f0;
PYTHON char _PyRuntime[4096];

#define FRAMES 20000

struct text {
	uint64_t count, type, length, hash;
	uint32_t state, unused;
	uint64_t wide;
	char text[64];
};

static struct frame {
	void *unused[4];
	void *code;
	void *object;
	struct frame *previous;
	char *instruction;
	int top;
	char is_entry, owner;
} frames[FRAMES];
static char codes[FRAMES][192];
static char state[512];
static struct text name, file;

static void put(void *at, size_t offset, const void *value)
{
	memcpy((char *)at + offset, &value, sizeof(value));
}

static void set_text(struct text *t, const char *value)
{
	*t = (struct text){.length = strlen(value), .hash = 1, .state = 1 << 2 | 1 << 5 | 1 << 6};
	strcpy(t->text, value);
}

static void set_code(void *code, const void *file_text, const void *name_text)
{
	put(code, 112, file_text);
	put(code, 120, name_text);
	put(code, 128, name_text);
	put(code, 136, name_text); /* no table of lines */
}

/* Spins in an evaluator that runs the first frame. */
NOINLINE static void evaluate(void)
{
	volatile struct {
		uint64_t tracing;
		struct frame *frame;
		void *previous;
	} cframe = {0, frames, NULL};

	put(state, 56, (const void *)&cframe);
	while (now() < seconds)
		for (volatile int i = 0; i < 20000; i++)
			;
	put(state, 56, NULL);
}

NOINLINE static int pretend(const char *kind)
{
	void *bad[] = {(void *)8, (void *)0xffffffff81000000, (void *)0x7fffffffe000, (void *)-8ul};

	put(_PyRuntime, 576, state);
	put(state, 152, (const void *)pthread_self());
	set_text(&file, "/nowhere/\033[31m.py");
	set_text(&name, strcmp(kind, "escape") ? "named" : "\033[2J\n<b>name</b>");
	for (int i = 0; i < FRAMES; i++) {
		frames[i] = (struct frame){.code = codes[i], .previous = &frames[(i + 1) % FRAMES]};
		set_code(codes[i], &file, &name);
	}
	if (!strcmp(kind, "loop"))
		frames[7].previous = &frames[3];
	else if (!strcmp(kind, "wild"))
		for (int i = 0; i < 4; i++) {
			frames[i].code = bad[i];
			set_code(codes[4 + i], bad[i], bad[i]);
			frames[8].previous = bad[i];
		}
	else if (!strcmp(kind, "huge"))
		name.length = file.length = 1ull << 62, name.state = UINT32_MAX,
		frames[3].is_entry = 1;
	else if (!strcmp(kind, "escape"))
		frames[3].is_entry = 1;
	evaluate();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*f)(uint64_t);
	} lies[] = {{"loop", lies_loop},
		    {"far", lies_far},
		    {"kernel", lies_kernel},
		    {"data", lies_data}};
	const char *kind = argc == 3 ? argv[1] : "";

	seconds = argc == 3 ? atof(argv[2]) : 0;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (!strcmp(kind, lies[i].name)) {
			lie(lies[i].f);
			return 0;
		}
	if (!strcmp(kind, "patch"))
		return patch();
	if (!strcmp(kind, "rewrite"))
		return rewrite();
	if (!strncmp(kind, "python-", 7))
		return pretend(kind + 7);
	fprintf(stderr, "usage: hostile KIND SECONDS\n");
	return 2;
}
