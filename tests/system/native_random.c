/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Holds the interpreter of edge samples against the processor, one random instruction at a time:
 * native-random TRIALS [SEED]. Of every instruction that the interpreter models: its registers,
 * flags and memory, with operands at random and at the edges.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "micro/interpret_host.h"
#include "micro/translate.h"

#define CODE	  0x10000000ull
#define DATA	  0x20000000ull
#define DATA_SIZE 8192u
#define FLAGS	  0x8c5u

static struct {
	pid_t pid;
	struct micro_decoder *micro;
	struct interpret_host *host;
	uint8_t code[256], data[DATA_SIZE];
	size_t code_size;
	struct wire_strip strip;
	struct wire_micro micros[WIRE_STRIP_BYTES];
	uint64_t compared, mismatches, seen[MICRO_OPS];
	bool vectors; /* the processor has AVX-512 */
} t;

static uint64_t random_state = 1;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dull;
}

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
	(void)context;
	return process_vm_readv(t.pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

static void write_memory(const void *from, size_t size, uint64_t address)
{
	struct iovec local = {(void *)(uintptr_t)from, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};
	if (process_vm_writev(t.pid, &local, 1, &remote, 1, 0) != (ssize_t)size) {
		fprintf(stderr, "native-random: process_vm_writev: %s\n", strerror(errno));
		exit(2);
	}
}

static const struct wire_strip *find_strip(void *context, struct wire_strip_key key)
{
	(void)context;
	return key.number == 0 ? &t.strip : NULL;
}

static const struct wire_micro *find_micro(void *context, uint32_t index)
{
	(void)context;
	return &t.micros[index];
}

static int find_mapping(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
			uint64_t *ret_end, uint64_t *ret_shift)
{
	(void)context;
	if (address < CODE || address >= CODE + 4096)
		return WIRE_END_ANONYMOUS;
	*ret_slot = 1;
	*ret_begin = CODE;
	*ret_end = CODE + 4096;
	*ret_shift = 0ull - CODE;
	return 0;
}

static void add_code(const void *bytes, size_t size)
{
	memcpy(t.code + t.code_size, bytes, size);
	t.code_size += size;
}

/* vmovdqu64 zmm, [DATA + 64 * place], or the other way. */
static void add_vector_move(unsigned vector, unsigned place, bool store)
{
	uint32_t address = (uint32_t)DATA + 64 * place;
	uint8_t move[] = {0x62, 0xf1, 0xfe, 0x48, store ? 0x7f : 0x6f, 0, 0x25, 0, 0, 0, 0};

	move[5] = (uint8_t)(0x04 | vector << 3);
	memcpy(move + 7, &address, 4);
	add_code(move, sizeof(move));
}

static void add_random(void)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0xf0};
	uint8_t bytes[16];
	size_t size = 0;
	uint64_t kind = draw() % (t.vectors ? 8 : 6);

	if (kind < 6 && draw() % 3 == 0)
		bytes[size++] = prefixes[draw() % sizeof(prefixes)];
	if (kind < 5 && draw() % 2)
		bytes[size++] = 0x40 | (draw() & 15);
	if (kind == 2 || kind == 3 || kind == 4)
		bytes[size++] = 0x0f;
	if (kind == 4)
		bytes[size++] = 0x38;
	if (kind == 5)
		bytes[size++] = draw() % 2 ? 0xc4 : 0xc5;
	if (kind >= 6) {
		bytes[size++] = 0x62;
		bytes[size++] = 0xf1 + draw() % 3;
		bytes[size++] = (uint8_t)(draw() | 0x04);
		bytes[size++] = (uint8_t)((draw() & 0x6f) | 0x08);
	}
	while (size < sizeof(bytes))
		bytes[size++] = (uint8_t)draw();
	add_code(bytes, sizeof(bytes));
}

/* Code with a random instruction that is modelled; returns its operation. */
static unsigned make_code(unsigned *ret_instructions)
{
	struct wire_micro micro;
	unsigned length, extra = 0;
	bool vectors;

	do {
		t.code_size = 0;
		add_random();
		length = micro_translate(t.micro, t.code, t.code_size, &micro);
	} while (length == 0 || micro.op < MICRO_PUSH || micro.op == MICRO_FILL ||
		 micro.op == MICRO_COPY);
	vectors = micro.op >= MICRO_V_FIRST && t.vectors;
	*ret_instructions = 1;
	if (vectors) {
		uint8_t instruction[16];
		memcpy(instruction, t.code, length);
		t.code_size = 0;
		for (; extra < 8; extra++)
			add_vector_move(extra, extra, false);
		/* kmovq k1, rcx; kmovq k2, rdx */
		add_code("\xc4\xe1\xfb\x92\xc9\xc4\xe1\xfb\x92\xd2", 10);
		add_code(instruction, length);
		add_vector_move(micro.registers & 7, 16, true);
		/* mov r8..r15, [DATA + 64 * 16 + 8 * i]; kmovq rsi, k1 */
		for (unsigned i = 0; i < 8; i++) {
			uint32_t address = (uint32_t)DATA + 64 * 16 + 8 * i;
			uint8_t load[] = {0x4c, 0x8b, (uint8_t)(0x04 | i << 3), 0x25, 0, 0, 0, 0};
			memcpy(load + 4, &address, 4);
			add_code(load, sizeof(load));
		}
		add_code("\xc4\xe1\xfb\x93\xf1", 5);
		*ret_instructions = extra + 2 + 1 + 1 + 8 + 1;
	} else {
		t.code_size = length;
	}
	return micro.op;
}

static uint64_t draw_value(void)
{
	static const uint64_t edges[] = {0,	     1,		2,	    0x7f,
					 0x80,	     0xff,	0x7fffffff, 0x80000000,
					 0xffffffff, INT64_MAX, 1ull << 63, UINT64_MAX};

	switch (draw() % 4) {
	case 0:
		return edges[draw() % (sizeof(edges) / sizeof(*edges))];
	case 1:
		return draw() % 256;
	default:
		return draw() >> draw() % 64;
	}
}

static void draw_state(struct user_regs_struct *r, struct interpret_registers *ret)
{
	unsigned long long *const gpr[16] = {&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
					     &r->rsi, &r->rdi, &r->r8,	&r->r9,	 &r->r10, &r->r11,
					     &r->r12, &r->r13, &r->r14, &r->r15};

	for (unsigned i = 0; i < sizeof(t.data); i++)
		t.data[i] = draw() % 4 ? (uint8_t)draw() : 0;
	for (unsigned i = 0; i < 16; i++) {
		*gpr[i] = draw() % 2 ? draw_value() : DATA + 2048 + draw() % 4096;
		ret->gpr[i] = *gpr[i];
	}
	r->rip = ret->pc = CODE;
	r->eflags = ret->flags = 0x202 | (uint32_t)(draw() & FLAGS);
	r->orig_rax = UINT64_MAX; /* no system call to restart */
	ret->fs_base = r->fs_base;
}

/* Runs the code natively; false when it raised an exception. */
static bool run(struct user_regs_struct *regs, unsigned instructions)
{
	int status;

	if (ptrace(PTRACE_SETREGS, t.pid, 0, regs))
		exit(2);
	for (unsigned i = 0; i < instructions; i++) {
		ptrace(PTRACE_SINGLESTEP, t.pid, 0, 0);
		if (waitpid(t.pid, &status, 0) != t.pid || !WIFSTOPPED(status)) {
			fprintf(stderr, "native-random: the process ended\n");
			exit(2);
		}
		if (WSTOPSIG(status) != SIGTRAP)
			return false;
	}
	ptrace(PTRACE_GETREGS, t.pid, 0, regs);
	return true;
}

static void compare(const struct user_regs_struct *r, const struct interpret_state *known,
		    unsigned op)
{
	const struct interpret_registers *end = &known->registers;
	const uint64_t gpr[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
				  r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};
	bool same =
		r->rip == end->pc && ((r->eflags ^ end->flags) & known->flags_known & FLAGS) == 0;

	for (unsigned i = 0; i < 16; i++)
		if (known->known >> i & 1 && gpr[i] != end->gpr[i]) {
			same = false;
			fprintf(stderr,
				"# register %u: %#" PRIx64 " interpreted, %#" PRIx64 " native\n", i,
				end->gpr[i], gpr[i]);
		}
	t.compared++;
	t.seen[op]++;
	if (same)
		return;
	t.mismatches++;
	fprintf(stderr, "# operation %u, flags %#x interpreted, %#llx native, known %#x; code", op,
		end->flags, r->eflags, known->flags_known);
	for (size_t i = 0; i < t.code_size; i++)
		fprintf(stderr, " %02x", t.code[i]);
	fprintf(stderr, "\n");
}

static void try_one(struct user_regs_struct *regs)
{
	static const struct interpret_calls calls = {.read = read_memory,
						     .strip = find_strip,
						     .micro = find_micro,
						     .find = find_mapping};
	struct interpret_registers r;
	struct interpret_state end;
	unsigned instructions, op = make_code(&instructions);
	struct micro_code code = {t.code, 0, t.code_size, NULL, 0};

	micro_translate_strip(t.micro, &code, 0, &t.strip, t.micros);
	draw_state(regs, &r);
	write_memory(t.code, t.code_size, CODE);
	write_memory(t.data, sizeof(t.data), DATA);
	if (!t.host && interpret_host_new(&calls, NULL, &t.host))
		exit(2);
	interpret_host_begin(t.host, &r);
	if (interpret_host_run(t.host, instructions, NULL) != WIRE_END_FULL ||
	    !run(regs, instructions))
		return;
	interpret_host_get(t.host, &end);
	compare(regs, &end, op);
}

static void start(void)
{
	int status;

	t.pid = fork();
	if (t.pid == 0) {
		int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
		if (mmap((void *)CODE, 4096, rights, flags, -1, 0) == MAP_FAILED ||
		    mmap((void *)DATA, DATA_SIZE, rights, flags, -1, 0) == MAP_FAILED)
			_exit(2);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	if (t.pid < 0 || waitpid(t.pid, &status, 0) != t.pid || !WIFSTOPPED(status)) {
		fprintf(stderr, "native-random: cannot start a process\n");
		exit(2);
	}
	ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL);
}

int main(int argc, char **argv)
{
	uint64_t trials = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	struct user_regs_struct regs, begin;
	struct diag diag = {0};
	unsigned operations = 0;

	if (trials == 0 || micro_decoder_new(EM_X86_64, &t.micro, &diag))
		return 2;
	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 88172645463325252ull;
	t.vectors = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
	start();
	ptrace(PTRACE_GETREGS, t.pid, 0, &begin);
	for (uint64_t i = 0; i < trials && t.mismatches < 20; i++) {
		regs = begin;
		try_one(&regs);
	}
	kill(t.pid, SIGKILL);
	for (unsigned op = 0; op < MICRO_OPS; op++)
		operations += t.seen[op] != 0;
	fprintf(stderr,
		"native-random: %" PRIu64 " instructions of %u operations compared, %" PRIu64
		" mismatches\n",
		t.compared, operations, t.mismatches);
	return t.mismatches != 0;
}
