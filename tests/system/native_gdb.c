/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Holds the unwinder in the kernel against gdb's, in all threads: native-gdb STACKS COMMAND...
 *
 * Stops the command at many moments. Each thread's context is switched where it stops, which is the
 * event that the unwinder is attached to; then gdb tells the frames of all threads, which stand
 * there still. Threads that stand at the same instruction are left out, as a stack does not say
 * whose it is.
 */
#include <ctype.h>
#include <dirent.h>
#include <sys/wait.h>
#include "native_unwind.h"

#define THREADS	   64
#define STACKS	   512
#define GO_ON_USEC 5000

/* Its lines: "thread TID", then of each frame "ADDRESS EXACT" from the innermost on, then "end" and
 * whether the thread's start was reached. */
static const char script[] =
	"python\n"
	"for thread in gdb.selected_inferior().threads():\n"
	"    thread.switch()\n"
	"    print('thread', thread.ptid[1])\n"
	"    frame, exact, last = gdb.newest_frame(), 1, None\n"
	"    while frame:\n"
	"        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):\n"
	"            print(frame.pc(), exact)\n"
	"            exact = int(frame.type() == gdb.SIGTRAMP_FRAME)\n"
	"        frame, last = frame.older(), frame\n"
	"    print('end', int(last.unwind_stop_reason() <= gdb.FRAME_UNWIND_OUTERMOST))\n"
	"end\n";

struct thread {
	pid_t tid;
	int event;
	uint64_t standing; /* as frame_of has it; 0: not known */
};

static struct {
	struct thread thread[THREADS];
	size_t threads;
	struct wire_stack stack[STACKS];
	size_t stacks;
	uint64_t others; /* of `compared`: in other threads than the first */
	char script[64];
} g;

/* Where no table says anything gdb guesses by the code, as in libc's clone3 just after a thread was
 * made; ours says that there is no rule. */
static bool has_rule(uint32_t i)
{
	return i + 1 != t.stack.followed || t.stack.end != WIRE_STACK_NO_RULE;
}

static void print_place(const char *who, uint64_t address)
{
	const struct mapping *m = find_mapping(address);

	fprintf(stderr, "#   %s %#" PRIx64 " %s+%#" PRIx64 "\n", who, address,
		m && m->file ? m->file : "no file", m ? address - m->begin + m->offset : 0);
}

static void take_stack(void *arg, const struct wire_stack *stack)
{
	(void)arg;
	if (stack->followed && g.stacks < STACKS)
		memcpy(&g.stack[g.stacks++], stack, unwinder_stack_bytes(stack));
}

static void take_snapshot(void *arg, const struct wire_snapshot *snapshot)
{
	take_stack(arg, &snapshot->stack);
}

static void drain(void)
{
	struct unwinder_taker taker = {take_count,    counted,	 take_stack,
				       take_snapshot, take_code, NULL};

	g.stacks = 0;
	unwinder_drain(t.unwinder, &taker);
	unwinder_take_snapshots(t.unwinder, &taker);
}

/* Threads that are there now; their events are enabled a moment before the stop. */
static void find_threads(void)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	for (size_t i = 0; i < g.threads; i++)
		close(g.thread[i].event);
	g.threads = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)t.pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)) && g.threads < THREADS) {
		struct thread *to = &g.thread[g.threads];

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		to->tid = atoi(e->d_name);
		to->event = attach_unwinder(to->tid);
		g.threads += to->event >= 0;
	}
	if (dir)
		closedir(dir);
}

static bool is_stopped(pid_t tid)
{
	char path[64], line[512] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)t.pid, (int)tid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		*line = 0;
	if (f)
		fclose(f);
	state = strrchr(line, ')');
	return !state || state[2] == 'T' || state[2] == 't';
}

/* The last word of the file is the program counter. */
static uint64_t read_standing(pid_t tid)
{
	char path[64], line[512] = "";
	const char *pc;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)t.pid, (int)tid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		*line = 0;
	if (f)
		fclose(f);
	pc = strrchr(line, ' ');
	return pc ? strtoull(pc, NULL, 16) : 0;
}

static bool stop(void)
{
	struct timespec pause = {.tv_nsec = 100000};
	int status;

	kill(t.pid, SIGCONT);
	usleep(GO_ON_USEC);
	if (waitpid(t.pid, &status, WNOHANG) == t.pid)
		return false;
	drain(); /* what was before */
	find_threads();
	kill(t.pid, SIGSTOP);
	for (size_t i = 0; i < g.threads; i++)
		for (int tries = 0; tries < 20000 && !is_stopped(g.thread[i].tid); tries++)
			nanosleep(&pause, NULL);
	drain();
	read_mappings();
	for (size_t i = 0; i < g.threads; i++) {
		uint64_t pc = read_standing(g.thread[i].tid);

		g.thread[i].standing = pc ? frame_of(pc) : 0;
	}
	return true;
}

/* How many of the threads stand there. */
static size_t count_standing(uint64_t standing)
{
	size_t count = 0;

	for (size_t i = 0; i < g.threads; i++)
		count += g.thread[i].standing == standing;
	return count;
}

/* The last stack from where the thread stands. */
static bool find_stack(const struct thread *thread)
{
	for (size_t i = g.stacks; i-- > 0;)
		if (thread->standing && g.stack[i].frame[WIRE_STACK_KERNEL] == thread->standing) {
			t.stack = g.stack[i];
			return true;
		}
	return false;
}

static void compare_thread(pid_t tid)
{
	uint64_t before = t.compared;

	for (size_t i = 0; i < g.threads; i++) {
		if (g.thread[i].tid != tid)
			continue;
		if (count_standing(g.thread[i].standing) > 1)
			continue;
		if (!find_stack(&g.thread[i]))
			t.unseen++;
		else if (!give_table())
			compare();
	}
	g.others += tid == t.pid ? 0 : t.compared - before;
}

static void ask_gdb(void)
{
	char command[256], line[256];
	pid_t tid = 0;
	FILE *f;

	snprintf(
		command, sizeof(command),
		"gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'set backtrace past-main on' "
		"-ex 'set backtrace past-entry on' -p %d -x %s 2>/dev/null",
		(int)t.pid, g.script);
	f = popen(command, "re");
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t pc;
		int exact;

		if (sscanf(line, "thread %d", &tid) == 1) {
			t.truth.count = 0;
		} else if (sscanf(line, "end %d", &exact) == 1) {
			t.truth.complete = exact;
			compare_thread(tid);
		} else if (tid && sscanf(line, "%" SCNu64 " %d", &pc, &exact) == 2 &&
			   t.truth.count < WIRE_STACK_DEPTH) {
			t.truth.pc[t.truth.count] = pc;
			t.truth.exact[t.truth.count++] = exact;
		}
	}
	if (f)
		pclose(f);
}

static void write_script(void)
{
	int fd;

	strcpy(g.script, "/tmp/native-gdb.XXXXXX");
	fd = mkstemp(g.script);
	if (fd < 0 || write(fd, script, sizeof(script) - 1) < 0)
		die("mkstemp");
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	if (argc < 3 || wanted == 0) {
		fprintf(stderr, "usage: native-gdb STACKS COMMAND...\n");
		return 2;
	}
	t.print_place = print_place;
	t.has_rule = has_rule;
	start_unwinder();
	add_vdso();
	write_script();
	t.pid = fork();
	if (t.pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	usleep(200000);
	while (t.compared < wanted && stop())
		ask_gdb();
	kill(t.pid, SIGKILL);
	unlink(g.script);
	print_sums(argv[2]);
	fprintf(stderr, "%s: %" PRIu64 " of them in other threads than the first\n",
		program_invocation_short_name, g.others);
	return g.others == 0 || (double)(t.equal + t.guessed) < 0.995 * (double)t.compared ||
	       10 * t.guessed > t.compared;
}
