/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * Programs that make it hard to count them:
 *
 *     counted-hostile KIND ROUNDS
 *
 * Those that come to an end print the sum of what counted_work() came to; the others wait to be
 * killed, after a line "ready", or "skip" where the machine does not let them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "counted.h"

COUNTED_WORK;

#define STACK_BYTES 65536
#define DEEP_BYTES  (63 << 20)
#define FILE_BYTES  65536
#define COPIES	    "memfd:culprit-copies (deleted)"

#define THREAD_FLAGS \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

static long plain(long sum)
{
	return sum;
}

long (*volatile counted_hook)(long) = plain;

static long rounds, sum;

static void work(long from, long to)
{
	for (long i = from; i < to; i++) {
		long n = 1 + i * 7919 % 97, got = counted_work(n);

		if (got != n * (n + 1) / 2 + 1)
			abort();
		__atomic_add_fetch(&sum, got, __ATOMIC_RELAXED);
	}
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static void answer(int fuse, uint64_t unique, int error, const void *data, size_t size)
{
	uint8_t all[256];
	struct fuse_out_header h = {
		.len = (uint32_t)(sizeof(h) + size), .error = -error, .unique = unique};

	memcpy(all, &h, sizeof(h));
	memcpy(all + sizeof(h), data, size);
	if (write(fuse, all, h.len) < 0 && errno != ENOENT)
		_exit(1);
}

static uint64_t attributes_last = 1000; /* seconds; then the server is asked again */

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == 1 ? 0 : FILE_BYTES,
				  .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755,
				  .nlink = 1,
				  .blksize = 4096};
}

/* A file system with any file, each of which is as long as the other. Who reads one waits until we
 * have said so and gone. */
static void serve(int fuse)
{
	static union {
		struct fuse_in_header h;
		uint8_t bytes[1 << 20];
	} in;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fuse, &in, sizeof(in)) > 0) {
		struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
		struct fuse_attr_out attr = {.attr_valid = attributes_last,
					     .attr = attributes(in.h.nodeid)};
		struct fuse_entry_out entry = {.nodeid = 2,
					       .entry_valid = 1000,
					       .attr_valid = attributes_last,
					       .attr = attributes(2)};
		struct fuse_open_out opened = {.fh = 1};

		switch (in.h.opcode) {
		case FUSE_INIT:
			answer(fuse, in.h.unique, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			answer(fuse, in.h.unique, 0, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			answer(fuse, in.h.unique, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(fuse, in.h.unique, 0, &opened, sizeof(opened));
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
			break;
		case FUSE_READ:
			say("read");
			_exit(1);
		default:
			answer(fuse, in.h.unique, ENOSYS, NULL, 0);
		}
	}
	_exit(0);
}

/* Maps a file that is read only by who waits for ever. */
static uint8_t *map_unanswered(const char *name)
{
	char options[64], path[64];
	uint8_t *map;
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), file;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mkdir("unanswered", 0755) ||
	    mount("counted", "unanswered", "fuse", 0, options)) {
		say("skip");
		exit(0);
	}
	if (!fork())
		serve(fuse);
	close(fuse);
	snprintf(path, sizeof(path), "unanswered/%s", name);
	file = open(path, O_RDWR);
	/* From then on its path begins where the file system does. */
	umount2("unanswered", MNT_DETACH);
	rmdir("unanswered");
	map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (file < 0 || map == MAP_FAILED)
		abort();
	return map;
}

/* Runs on a stack that it never touches. */
static void run_stack(void)
{
	uint8_t *stack = map_unanswered("stack");

	say("ready");
	__asm__ volatile("mov %0, %%rsp\n1: pause\njmp 1b" : : "r"(stack + 4096) : "memory");
}

/* What looks like that of a culprit that died. */
static void run_copies(void)
{
	map_unanswered(COPIES);
	say("ready");
	for (;;)
		work(0, 1000);
}

/* As instrument/attach/implant.c has it. */
struct header {
	char magic[16];
	uint64_t base, bytes;
	uint64_t record_at, record_bytes, record_hash;
	uint64_t function_count;
};

/* A culprit's copies, count times, with records of so many bytes that nothing fits. */
static void forge(int count, uint64_t record_bytes)
{
	for (int i = 0; i < count; i++) {
		struct header h = {"culprit copies 1", .record_at = 4096};
		int file = memfd_create("culprit-copies", MFD_CLOEXEC);
		uint8_t *map;

		h.record_bytes = record_bytes;
		h.bytes = h.record_at + record_bytes;
		if (file < 0 || ftruncate(file, (off_t)h.bytes))
			abort();
		map = mmap(NULL, h.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (map == MAP_FAILED)
			abort();
		h.base = (uint64_t)map;
		memcpy(map, &h, sizeof(h));
		close(file);
	}
	say("ready");
	for (;;)
		pause();
}

static void run_many(void)
{
	forge(1025, 4096);
}

static void run_large(void)
{
	forge(2, 160 << 20);
}

static int wait_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

/* Threads with what looks like frames of signals, which lead from one stack to the next, and each
 * of these is as large as is looked at. */
static void run_deep(void)
{
	enum { THREADS = 4, STACKS = 9 };
	uint8_t *stack[STACKS];

	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < STACKS; k++) {
			stack[k] = mmap(NULL, DEEP_BYTES + 4096, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			if (stack[k] == MAP_FAILED ||
			    mprotect(stack[k] + DEEP_BYTES, 4096, PROT_NONE))
				abort();
			/* Stack pointer, program counter, flags, selectors. */
			if (k)
				memcpy(stack[k - 1] + 2 * STACK_BYTES,
				       (uint64_t[]){(uint64_t)stack[k], 0, 0x202,
						    0x002b000000000033},
				       4 * sizeof(uint64_t));
		}
		if (clone(wait_on, stack[0] + STACK_BYTES, THREAD_FLAGS, NULL) < 0)
			abort();
	}
	say("ready");
	wait_on(NULL);
}

static int work_and_end(void *arg)
{
	(void)arg;
	work(0, rounds);
	_exit(0);
}

/* Two processes that have all memory in common. */
static void run_shares(void)
{
	uint8_t *stack = malloc(STACK_BYTES);
	pid_t pid = clone(work_and_end, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
	int status;

	work(0, rounds);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		abort();
}

static volatile int hidden_tid;

static int work_hidden(void *arg)
{
	long i = (long)(intptr_t)arg;

	work(i * 100, (i + 1) * 100);
	syscall(SYS_exit, 0);
	return 0;
}

/* Threads of which a tracer is not told. */
static void run_hidden(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_UNTRACED | CLONE_PARENT_SETTID |
			  CLONE_CHILD_CLEARTID;
	uint8_t *stack = malloc(STACK_BYTES);

	for (long i = 0; i < rounds; i++) {
		if (clone(work_hidden, stack + STACK_BYTES, flags, (void *)(intptr_t)i, &hidden_tid,
			  NULL, &hidden_tid) < 0)
			abort();
		work(i, i + 100);
		while (hidden_tid)
			sched_yield();
	}
}

static void run_forks(void)
{
	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			work(0, 100);
			_exit(0);
		}
		work(0, 1000);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			abort();
	}
}

static void wait_for(const char *path)
{
	while (access(path, F_OK))
		usleep(1000);
}

static void touch(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

static int work_for_ever(void *arg)
{
	for (long i = 0;; i++) {
		work(i, i + 100);
		if (!arg || access("go", F_OK))
			continue;
		touch("gone");
		arg = NULL;
	}
	return 0;
}

static void start_thread(void *arg)
{
	uint8_t *stack = malloc(STACK_BYTES);

	if (clone(work_for_ever, stack + STACK_BYTES, THREAD_FLAGS, arg) < 0)
		abort();
}

/* Starts a thread when it is told to. */
static void run_bears(void)
{
	say("ready");
	wait_for("go");
	start_thread(NULL);
	for (;;)
		pause();
}

static int wait_to_be_killed(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	syscall(SYS_write, 1, "ready\n", 6);
	for (;;)
		pause();
	return 0;
}

/* One thread waits in the kernel for a child that nobody is told of, the other works. */
static void run_waits(void)
{
	uint8_t *stack = malloc(STACK_BYTES);

	start_thread("");
	clone(wait_to_be_killed, stack + STACK_BYTES,
	      CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | SIGCHLD, NULL);
	touch("went");
	for (;;)
		pause();
}

/* Its child becomes another program, whose child is its own too. */
static void run_uncle(void)
{
	say("ready");
	wait_for("go");
	if (!fork()) {
		execl("/proc/self/exe", "program", "father", "1", NULL);
		_exit(1);
	}
	for (;;)
		pause();
}

static void run_father(void)
{
	if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL))
		_exit(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	touch("born");
	for (;;)
		pause();
}

/* The first mapping of copies; NULL: there are none. */
static volatile uint8_t *find_copies(char range[64])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long start = 0;

	while (maps && !start && fgets(line, sizeof(line), maps))
		if (strstr(line, COPIES) && sscanf(line, "%63s", range) == 1)
			sscanf(line, "%lx", &start);
	if (maps)
		fclose(maps);
	return (volatile uint8_t *)start;
}

/* In a child: writes over the copies, in its memory and into the file. */
static void forge_copies(volatile uint8_t *copies, const char *range)
{
	char path[128];
	int file;

	snprintf(path, sizeof(path), "/proc/self/map_files/%s", range);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file >= 0 && pwrite(file, "x", 1, 0) == 1)
		say("written");
	if (!mprotect((void *)copies, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		*copies = 'x';
	_exit(0);
}

/* Its child, which may have other rights, writes over the copies that it runs. */
static void run_forger(void)
{
	char range[64];
	volatile uint8_t *copies = find_copies(range);
	uint8_t was = copies ? *copies : 0;
	pid_t pid = fork();

	if (!pid && copies)
		forge_copies(copies, range);
	waitpid(pid, NULL, 0);
	say(!copies ? "no copies" : *copies == was ? "unchanged" : "changed");
}

/* Writes to its counters, some of those behind the gate's: they are of the loader, counted first.
 */
static void run_spoiler(void)
{
	char range[64];

	if (!find_copies(range)) {
		say("no copies");
		return;
	}
	for (uint64_t slot = 2; slot < 64; slot++)
		__asm__ volatile("movq %0, %%gs:(%1)" : : "r"(1UL << 63), "r"(slot * 8) : "memory");
	say("spoilt");
}

/* Whoever looks at a file of which it has code mapped waits for a server that it forked. */
static void run_served(void)
{
	uint8_t *map;

	attributes_last = 0;
	map = map_unanswered("served");
	if (mprotect(map, FILE_BYTES, PROT_READ | PROT_EXEC) || !dlopen("libm.so.6", RTLD_NOW))
		abort();
	say("loaded");
}

/* A gate's slots, in a thread that has copies: who comes, and who may go on. */
static void knock(void)
{
#ifdef __x86_64__
	uint64_t passed;

	do
		__asm__ volatile("incq %%gs:0\n\tmov %%gs:8, %0" : "=r"(passed) : : "memory");
	while (passed != UINT64_MAX);
#endif
}

static int knock_and_end(void *arg)
{
	knock();
	*(volatile int *)arg = 1;
	syscall(SYS_exit, 0);
	return 0;
}

/* Says without end that it waits for copies of libraries, until it is not heard any more. */
static void run_knocks(void)
{
	static volatile int ended;
	uint8_t *stack = malloc(STACK_BYTES);

	knock();
	if (clone(knock_and_end, stack + STACK_BYTES, THREAD_FLAGS, (void *)&ended) < 0)
		abort();
	while (!ended)
		usleep(1000);
	say("unheard");
}

/* More threads than there are tables; the last, which shares one, comes to a gate. */
static void run_crowd(void)
{
	static volatile int ended;

	for (long i = 1; i <= rounds; i++) {
		uint8_t *stack = malloc(STACK_BYTES);

		if (clone(i < rounds ? wait_on : knock_and_end, stack + STACK_BYTES, THREAD_FLAGS,
			  (void *)&ended) < 0)
			abort();
	}
	while (!ended)
		usleep(1000);
	say("passed");
	exit(0);
}

static char *argument;

/* Waits in the kernel, for a child that nobody is told of, and cannot be stopped. */
static void stand(void)
{
	if (syscall(SYS_clone, CLONE_VFORK | CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	touch("stands");
	for (;;)
		pause();
}

/* Another program runs beside. */
static void run_stands(void)
{
	pid_t stands = fork(), beside;
	int status = 1;

	if (!stands) {
		stand();
		_exit(1);
	}
	wait_for("stands");
	beside = fork();
	if (!beside) {
		execl(argument, argument, "plain", "1000", NULL);
		_exit(1);
	}
	waitpid(beside, &status, 0);
	kill(stands, SIGKILL);
	waitpid(stands, NULL, 0);
	exit(WEXITSTATUS(status));
}

long altered_work(long n);
__attribute__((noinline, noclone)) long altered_work(long n)
{
	long to = 0;

	for (long i = 0; i < n; i++) {
		__asm__ volatile("add $0x11223344, %0" : "+r"(to));
		to ^= to & 1 ? i : n;
	}
	return to;
}

/* Changes a number in its own code before it runs that. */
static void run_altered(void)
{
	const uint8_t number[] = {0x44, 0x33, 0x22, 0x11};
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uint8_t *code = (uint8_t *)altered_work, *at = memmem(code, 256, number, sizeof(number));
	void *from = (void *)((uintptr_t)code & -page);

	if (!at || mprotect(from, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	at[2] = 0;
	mprotect(from, 2 * page, PROT_READ | PROT_EXEC);
	for (long i = 0; i < rounds; i++)
		sum += altered_work(1000 + i % 7);
}

/* Has a thread that runs in the kernel alone: it waits for what never comes. */
static void run_ring(void)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 1, &p), ends[2];
	static char byte;

	if (ring < 0 || pipe(ends)) {
		say("skip");
		return;
	}
	char *queue = mmap(NULL, p.sq_off.array + sizeof(uint32_t), PROT_READ | PROT_WRITE,
			   MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entry = mmap(NULL, sizeof(*entry), PROT_READ | PROT_WRITE, MAP_SHARED,
					  ring, IORING_OFF_SQES);

	if (queue == MAP_FAILED || entry == MAP_FAILED)
		abort();
	*entry = (struct io_uring_sqe){.opcode = IORING_OP_READ,
				       .flags = IOSQE_ASYNC,
				       .fd = ends[0],
				       .addr = (uintptr_t)&byte,
				       .len = 1};
	*(uint32_t *)(void *)(queue + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(queue + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1)
		abort();
	/* Until it has the thread: a link for each, and two more. */
	for (struct stat st = {0}; st.st_nlink < 4; stat("/proc/self/task", &st))
		usleep(1000);
	say("ready");
	for (;;)
		work(0, 1000);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {{"stack", run_stack},     {"copies", run_copies}, {"many", run_many},
	     {"large", run_large},     {"shares", run_shares}, {"hidden", run_hidden},
	     {"bears", run_bears},     {"waits", run_waits},   {"uncle", run_uncle},
	     {"father", run_father},   {"forks", run_forks},   {"forger", run_forger},
	     {"spoiler", run_spoiler}, {"served", run_served}, {"knocks", run_knocks},
	     {"stands", run_stands},   {"crowd", run_crowd},   {"stand", stand},
	     {"altered", run_altered}, {"ring", run_ring},     {"deep", run_deep}};

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	rounds = atol(argv[2]);
	argument = argv[2];
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run();
			printf("sum %ld\n", sum);
			return 0;
		}
	return 2;
}
