/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * kinds KIND SECONDS: spends so much processor time in the kernel, the vDSO, a BPF program, a
 * filter of system calls (which reads the word of data that it compares 2000 times), or code that
 * it makes at run time and describes in a perf map or a jitdump file. Prints its process number.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "spin.h"

#define PAGE 4096

static uint64_t end_ns;

static int time_left(void)
{
	return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns;
}

static int in_kernel(void)
{
	static char zero[1 << 16];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (time_left())
		for (int i = 0; i < 100; i++)
			if (read(fd, zero, sizeof(zero)) < 0)
				return 1;
	return 0;
}

static int in_vdso(void)
{
	while (time_left())
		for (int i = 0; i < 10000; i++)
			clock_now_ns(CLOCK_MONOTONIC);
	return 0;
}

/* for (r6 = 0; r6 < 2000; r6++) r0 += r6; run again and again by the kernel. */
static int in_bpf(void)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 6, .imm = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 0, .src_reg = 6},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 6, .imm = 1},
		{.code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = 6, .off = -3, .imm = 2000},
		{.code = BPF_JMP | BPF_EXIT},
	};
	char packet[64] = {0};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.license = (uintptr_t) "GPL",
		.prog_name = "busy_filter",
	};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));

	if (fd < 0) {
		perror("bpf");
		return 1;
	}
	while (time_left()) {
		union bpf_attr run = {.test = {.prog_fd = (uint32_t)fd,
					       .repeat = 5000,
					       .data_in = (uintptr_t)packet,
					       .data_size_in = sizeof(packet)}};

		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run)))
			return 1;
	}
	return 0;
}

/* mov %edi,%eax; 1: dec %rax; jnz 1b; ret */
static const uint8_t loop[] = {0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

#define FIRST_AT  64
#define SECOND_AT 256

static FILE *open_map(char *path, size_t room, char *code)
{
	FILE *f;

	snprintf(path, room, "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "we");
	if (f) {
		fprintf(f, "%llx %zx made_first\n", (unsigned long long)(uintptr_t)code + FIRST_AT,
			sizeof(loop));
		fprintf(f, "%llx %zx made_second\n",
			(unsigned long long)(uintptr_t)code + SECOND_AT, sizeof(loop));
	}
	return f;
}

/* The format of linux/tools/perf/Documentation/jitdump-specification.txt. */
static void dump_function(FILE *f, const char *name, const char *at, uint64_t index)
{
	struct {
		uint32_t id, total_size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} load = {
		.id = 0,
		.total_size = (uint32_t)(sizeof(load) + strlen(name) + 1 + sizeof(loop)),
		.time = clock_now_ns(CLOCK_MONOTONIC),
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.vma = (uintptr_t)at,
		.address = (uintptr_t)at,
		.size = sizeof(loop),
		.index = index,
	};

	fwrite(&load, sizeof(load), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(loop, sizeof(loop), 1, f);
}

static FILE *open_dump(char *path, size_t room, const char *code)
{
	struct {
		uint32_t magic, version, total_size, elf_machine, unused, pid;
		uint64_t time, flags;
	} header = {0x4A695444,
		    1,
		    sizeof(header),
		    62,
		    0,
		    (uint32_t)getpid(),
		    clock_now_ns(CLOCK_MONOTONIC),
		    0};
	FILE *f;

	snprintf(path, room, "%s/jit-%d.dump", getenv("TMPDIR") ?: "/tmp", (int)getpid());
	f = fopen(path, "w+e");
	if (!f)
		return NULL;
	fwrite(&header, sizeof(header), 1, f);
	dump_function(f, "made_first", code + FIRST_AT, 0);
	dump_function(f, "made_second", code + SECOND_AT, 1);
	/* How a profiler learns of it: code is mapped from it. */
	fflush(f);
	mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
	return f;
}

static int in_made_code(int dump)
{
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *first = code + FIRST_AT, *second = code + SECOND_AT;
	void (*run_first)(uint32_t), (*run_second)(uint32_t);
	char path[4096];
	FILE *f;

	if (code == MAP_FAILED)
		return 1;
	memcpy(first, loop, sizeof(loop));
	memcpy(second, loop, sizeof(loop));
	memcpy(&run_first, &first, sizeof(first));
	memcpy(&run_second, &second, sizeof(second));
	f = dump ? open_dump(path, sizeof(path), code) : open_map(path, sizeof(path), code);
	if (!f || fflush(f))
		return 1;
	while (time_left()) {
		run_first(1000000);
		run_second(3000000);
	}
	fclose(f);
	return 0;
}

static int in_filter(void)
{
	enum { LOADS = 2000 };
	static struct sock_filter code[LOADS + 1];
	struct sock_fprog filter = {.len = LOADS + 1, .filter = code};

	for (int i = 0; i < LOADS; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						       offsetof(struct seccomp_data, args));
	code[LOADS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 1;
	}
	/* lseek is not in the kernel's table of calls that the filter allows whatever their words.
	 */
	while (time_left())
		for (int i = 0; i < 1000; i++)
			syscall(SYS_lseek, -1, 0, SEEK_SET);
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	printf("%d\n", (int)getpid());
	end_ns = (uint64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e9);
	if (!strcmp(kind, "kernel"))
		return in_kernel();
	if (!strcmp(kind, "vdso"))
		return in_vdso();
	if (!strcmp(kind, "bpf"))
		return in_bpf();
	if (!strcmp(kind, "filter"))
		return in_filter();
	return in_made_code(!strcmp(kind, "dump"));
}
