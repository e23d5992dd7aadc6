/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Holds the interpreter against the processor: native-path INSTRUCTIONS COMMAND...
 * NATIVE_PATH_WINDOW is the length of windows; without it they are those of the kernel.
 *
 * Stops the command at many moments. At each, interprets a window from its registers and memory,
 * then steps the command natively through the same instructions: each address must be the one that
 * was interpreted, and at the end of a full window each register and flag that the interpreter
 * knows must have its value. Goes on until so many instructions were compared, or the command
 * ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <elf.h>
#include "bpf/wire_edges.h"
#include "micro/interpret_host.h"
#include "micro/translate.h"

#define SLOTS	   64
#define STRIPS	   8192 /* a power of two */
#define STARTS	   65536
#define TIMES_MAX  1000000 /* steps of a repeated string operation, which memset() may be */
#define GO_ON_USEC 300
#define FLAGS	   0x8c5u /* carry, parity, zero, sign, overflow */

static const char *const end_texts[WIRE_END_REASONS] = {
	"full window", "code not decoded yet", "file not known yet", "no file behind it",
	"system call", "unknown value",	       "too many stores",    "instruction not modelled",
	"exception",
};

struct strip {
	struct wire_strip_key key;
	struct wire_strip strip;
	struct wire_micro *micros;
};

struct mapping {
	uint64_t begin, end, shift;
	uint32_t slot;
};

static struct {
	pid_t pid;
	struct micro_decoder *micro;
	struct interpret_host *host;
	uint64_t length, *path; /* of a window */
	struct mapping mapping[SLOTS * 4];
	size_t mappings;
	char *file[SLOTS];
	size_t files;
	struct strip *strip[STRIPS];
	uint64_t *starts[SLOTS]; /* file offsets where instructions begin, ascending */
	size_t start_count[SLOTS];
	const struct strip *last;
	uint64_t instructions, windows, edges, stepped, ends[WIRE_END_REASONS];
	uint64_t known, registers; /* at the ends of windows */
	uint64_t path_mismatches, value_mismatches;
	bool verbose; /* say where windows ended */
} t;

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
	(void)context;
	return process_vm_readv(t.pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

static uint32_t slot_of(const char *file)
{
	for (size_t i = 0; i < t.files; i++)
		if (!strcmp(t.file[i], file))
			return (uint32_t)i + 1;
	if (t.files == SLOTS)
		return 0;
	t.file[t.files++] = strdup(file);
	return (uint32_t)t.files;
}

static void read_mappings(void)
{
	char path[64], line[4600];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t.pid);
	f = fopen(path, "re");
	t.mappings = 0;
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t begin, end, offset;
		char rights[8], file[4096] = "";
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &begin,
			   &end, rights, &offset, file) < 4 ||
		    rights[2] != 'x' || file[0] != '/' ||
		    t.mappings == sizeof(t.mapping) / sizeof(*t.mapping))
			continue;
		uint32_t slot = slot_of(file);
		if (slot)
			t.mapping[t.mappings++] =
				(struct mapping){begin, end, offset - begin, slot};
	}
	if (f)
		fclose(f);
}

static int find_mapping(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
			uint64_t *ret_end, uint64_t *ret_shift)
{
	(void)context;
	for (int attempt = 0; attempt < 2; attempt++) {
		for (size_t i = 0; i < t.mappings; i++) {
			const struct mapping *m = &t.mapping[i];
			if (address < m->begin || address >= m->end)
				continue;
			*ret_slot = m->slot;
			*ret_begin = m->begin;
			*ret_end = m->end;
			*ret_shift = m->shift;
			return 0;
		}
		if (attempt == 0)
			read_mappings();
	}
	return WIRE_END_ANONYMOUS;
}

static struct strip **strip_place(struct wire_strip_key key)
{
	uint32_t i = (key.slot * 0x9e3779b1u + key.number * 0x85ebca6bu) >> 8 & (STRIPS - 1);

	while (t.strip[i] &&
	       (t.strip[i]->key.slot != key.slot || t.strip[i]->key.number != key.number))
		i = (i + 1) & (STRIPS - 1);
	return &t.strip[i];
}

static const struct wire_strip *find_strip(void *context, struct wire_strip_key key)
{
	(void)context;
	t.last = *strip_place(key);
	return t.last ? &t.last->strip : NULL;
}

static const struct wire_micro *find_micro(void *context, uint32_t index)
{
	(void)context;
	return t.last && index < t.last->strip.count ? &t.last->micros[index] : NULL;
}

/* As the collector does when a window came to code that is not decoded. */
static bool decode(struct wire_place place, uint64_t address)
{
	static uint8_t bytes[WIRE_STRIP_BYTES + 16];
	static struct wire_micro micros[WIRE_STRIP_BYTES];
	struct wire_strip_key key = {place.slot, place.offset >> WIRE_STRIP_BITS};
	uint64_t *starts = t.starts[place.slot - 1],
		 begin = (uint64_t)key.number << WIRE_STRIP_BITS;
	size_t count = t.start_count[place.slot - 1], at = 0;
	struct strip **to = strip_place(key), *s = *to;

	if (!starts)
		starts = t.starts[place.slot - 1] = calloc(STARTS, sizeof(*starts));
	while (at < count && starts[at] < place.offset)
		at++;
	if (count == STARTS || (at < count && starts[at] == place.offset))
		return false;
	memmove(&starts[at + 1], &starts[at], (count - at) * sizeof(*starts));
	starts[at] = place.offset;
	t.start_count[place.slot - 1] = ++count;

	/* The last page of a mapping may be all that is there. */
	uint64_t from = address - (place.offset - begin);
	size_t size = sizeof(bytes);
	while (size > 0 && read_memory(NULL, bytes, size, from))
		size -= size > 16 ? 16 : size;
	if (!s)
		s = *to = calloc(1, sizeof(*s));
	struct micro_code code = {bytes, begin, size, starts, count};
	s->key = key;
	micro_translate_strip(t.micro, &code, key.number, &s->strip, micros);
	free(s->micros);
	s->micros = malloc((s->strip.count + 1) * sizeof(*micros));
	memcpy(s->micros, micros, s->strip.count * sizeof(*micros));
	return true;
}

static void die(const char *what)
{
	fprintf(stderr, "native-path: %s: %s\n", what, strerror(errno));
	if (t.pid > 0)
		kill(t.pid, SIGKILL);
	exit(2);
}

/* Waits for a stop; false when the command ended. */
static bool await(int *ret_signal)
{
	int status;

	if (waitpid(t.pid, &status, 0) != t.pid)
		die("waitpid");
	if (!WIFSTOPPED(status))
		return false;
	*ret_signal = WSTOPSIG(status);
	return true;
}

/* One instruction; a signal that comes with it is handed on later. */
static bool step(int *pending, struct user_regs_struct *regs)
{
	int signal;

	if (ptrace(PTRACE_SINGLESTEP, t.pid, 0, 0))
		die("PTRACE_SINGLESTEP");
	if (!await(&signal))
		return false;
	if (signal != SIGTRAP)
		*pending = signal;
	if (ptrace(PTRACE_GETREGS, t.pid, 0, regs))
		die("PTRACE_GETREGS");
	t.stepped++;
	return true;
}

static void to_interpreter(const struct user_regs_struct *r, struct interpret_registers *ret)
{
	*ret = (struct interpret_registers){.gpr = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
						    r->rsi, r->rdi, r->r8, r->r9, r->r10, r->r11,
						    r->r12, r->r13, r->r14, r->r15},
					    .pc = r->rip,
					    .fs_base = r->fs_base,
					    .flags = (uint32_t)r->eflags};
}

static void print_code(const char *what, uint64_t address)
{
	uint8_t code[16];

	fprintf(stderr, "# %s at %#" PRIx64 ":", what, address);
	if (!read_memory(NULL, code, sizeof(code), address))
		for (size_t i = 0; i < sizeof(code); i++)
			fprintf(stderr, " %02x", code[i]);
	fprintf(stderr, "\n");
}

/* Registers and flags at the end of a window. */
static void compare_values(const struct user_regs_struct *regs, const struct interpret_state *s,
			   uint64_t start)
{
	const struct interpret_registers *end = &s->registers;
	struct interpret_registers native;

	to_interpreter(regs, &native);
	for (int i = 0; i < 16; i++) {
		t.registers++;
		if (!(s->known >> i & 1))
			continue;
		t.known++;
		if (native.gpr[i] == end->gpr[i])
			continue;
		t.value_mismatches++;
		fprintf(stderr, "# register %d: %#" PRIx64 " interpreted, %#" PRIx64 " native\n", i,
			end->gpr[i], native.gpr[i]);
		print_code("in the window", start);
	}
	if ((native.flags ^ end->flags) & s->flags_known & FLAGS) {
		t.value_mismatches++;
		fprintf(stderr, "# flags: %#x interpreted, %#x native, known %#x\n", end->flags,
			native.flags, s->flags_known);
		print_code("in the window", start);
	}
}

/* One window from where the command stands, into path. */
static enum wire_end interpret(const struct user_regs_struct *regs, struct interpret_state *ret)
{
	struct interpret_registers r;
	enum wire_end end;

	to_interpreter(regs, &r);
	interpret_host_begin(t.host, &r);
	for (uint64_t done = 0;; done = ret->instructions) {
		end = interpret_host_run(t.host, t.length - done, t.path + done);
		interpret_host_get(t.host, ret);
		if (end != WIRE_END_COLD || !ret->place.slot ||
		    !decode(ret->place, ret->registers.pc))
			return end;
	}
}

/* One window from where the command stands; false when the command ended. */
static bool compare_window(struct user_regs_struct *regs, int *pending)
{
	const uint64_t *path = t.path;
	struct interpret_state end;
	enum wire_end reason = interpret(regs, &end);

	t.windows++;
	t.ends[reason]++;
	if (t.verbose && reason != WIRE_END_FULL)
		print_code(end_texts[reason], end.registers.pc);
	for (uint64_t i = 1; i <= end.instructions; i++) {
		/* A repeated string operation takes a step for each time: a large memset() of a
		 * core that is fast at them is one instruction. */
		unsigned again = 0;
		do {
			if (!step(pending, regs))
				return false;
		} while (regs->rip == path[i - 1] && path[i] != path[i - 1] && again++ < TIMES_MAX);
		t.instructions++;
		if (regs->rip == path[i])
			continue;
		t.path_mismatches++;
		fprintf(stderr,
			"# step %" PRIu64 " of %" PRIu64 ": %#" PRIx64 " interpreted, %#" PRIx64
			" native\n",
			i, end.instructions, path[i], (uint64_t)regs->rip);
		print_code("after", path[i - 1]);
		return true;
	}
	/* An instruction that ended the window may have been done in part. */
	if (reason == WIRE_END_FULL)
		compare_values(regs, &end, path[0]);
	return true;
}

/* Lets the command run for a while, and stops it at an instruction. */
static bool go_on(int *pending, struct user_regs_struct *regs)
{
	int signal = 0;

	if (ptrace(PTRACE_CONT, t.pid, 0, *pending))
		die("PTRACE_CONT");
	*pending = 0;
	usleep(GO_ON_USEC);
	kill(t.pid, SIGSTOP);
	while (await(&signal)) {
		if (signal == SIGSTOP)
			/* Beyond a system call that is restarted. */
			return step(pending, regs);
		if (ptrace(PTRACE_CONT, t.pid, 0, signal == SIGTRAP ? 0 : signal))
			die("PTRACE_CONT");
	}
	return false;
}

static void start(char **command)
{
	int signal;

	t.pid = fork();
	if (t.pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(command[0], command);
		_exit(127);
	}
	if (t.pid < 0 || !await(&signal))
		die("cannot start the command");
	ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL);
}

static void print_sums(const char *command)
{
	fprintf(stderr,
		"native-path: %s: %" PRIu64 " instructions in %" PRIu64 " windows, %" PRIu64
		" path mismatches, %" PRIu64
		" value mismatches; %.1f transfers a window; %.1f%% of "
		"the registers known at the end\n",
		command, t.instructions, t.windows, t.path_mismatches, t.value_mismatches,
		(double)t.edges / (double)(t.windows ? t.windows : 1),
		100.0 * (double)t.known / (double)(t.registers ? t.registers : 1));
	for (unsigned i = 0; i < WIRE_END_REASONS; i++)
		if (t.ends[i])
			fprintf(stderr, "  %5.1f%% %s\n",
				100.0 * (double)t.ends[i] / (double)t.windows, end_texts[i]);
}

static void count_transfer(void *context, struct wire_place from, struct wire_place to)
{
	(void)context;
	(void)from;
	(void)to;
	t.edges++;
}

static void make_host(const char *length)
{
	static const struct interpret_calls calls = {.read = read_memory,
						     .strip = find_strip,
						     .micro = find_micro,
						     .find = find_mapping,
						     .transfer = count_transfer};
	static const struct interpret_limits limits = {1 << 20, 1 << 20};

	t.length = length ? strtoull(length, NULL, 10) : WIRE_WINDOW_INSTRUCTIONS;
	t.path = calloc(t.length + 1, sizeof(*t.path));
	if (!t.path || interpret_host_new(&calls, length ? &limits : NULL, &t.host))
		die("interpret_host_new");
}

int main(int argc, char **argv)
{
	struct user_regs_struct regs;
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int pending = 0;
	struct diag diag = {0};

	if (argc < 3 || wanted == 0) {
		fprintf(stderr, "usage: native-path INSTRUCTIONS COMMAND...\n");
		return 2;
	}
	t.verbose = getenv("NATIVE_PATH_VERBOSE") != NULL;
	if (micro_decoder_new(EM_X86_64, &t.micro, &diag))
		die("micro_decoder_new");
	make_host(getenv("NATIVE_PATH_WINDOW"));
	start(argv + 2);
	while (t.instructions < wanted && go_on(&pending, &regs) && compare_window(&regs, &pending))
		;
	kill(t.pid, SIGKILL);
	print_sums(argv[2]);
	return t.path_mismatches || t.value_mismatches;
}
