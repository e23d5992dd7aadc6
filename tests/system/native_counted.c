/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * Puts a copy of counted_work() (programs/counted.h), made by hand, into programs:
 *
 *     native-counted OFFSET whole PROGRAM ARGUMENT...       from the first instruction to the end
 *     native-counted OFFSET rounds COUNT PID                attach, count, detach, again and again
 *     native-counted OFFSET kills COUNT PID                 the same by others, who are killed at
 * it native-counted OFFSET clean PID                       takes out what one who was killed left
 *
 * OFFSET is that of the function in the program's file, in hexadecimal. Whole prints what was
 * counted to stderr, as the program itself does to stdout, and ends as the program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "native_start.h"
#include "instrument/attach/attach.h"
#include "instrument/attach/target.h"
#include "instrument/attach/tracer.h"

enum slot { SLOT_CALLS, SLOT_TURNS, SLOT_RETURNS, SLOT_COUNT };

#define COPY_BYTES 61
#define RELAY	   6 /* an instruction that the jump at the entry leaves idle */
#define LOOP	   11
#define CALL	   23 /* where the function calls, and is returned to */
#define RETURN	   28

static uint64_t offset;
static bool alone; /* nobody was killed here, who may have left children with copies */

/* incq %gs:slot * 8 */
static uint8_t *put_count(uint8_t *at, enum slot slot)
{
	const uint8_t code[9] = {0x65, 0x48, 0xff, 0x04, 0x25, slot * 8};

	memcpy(at, code, sizeof(code));
	return at + sizeof(code);
}

static uint8_t *put(uint8_t *at, const char *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

static void put_jump(uint8_t *at, uint64_t from, uint64_t to)
{
	int32_t by = (int32_t)(to - (from + 5));

	*at = 0xe9;
	memcpy(at + 1, &by, sizeof(by));
}

static void make_patch(struct instrument_patch *p, uint64_t at, uint64_t to, const char *before)
{
	*p = (struct instrument_patch){.address = at, .stands_for = at, .size = 5};
	memcpy(p->before, before, 5);
	put_jump(p->after, at, to);
}

/* One at the entry, one behind it that a short one at the place returned to leads to, and one in
 * the loop, which needs none. */
static void make_patches(struct instrument_patch *p, uint64_t entry, uint64_t address)
{
	make_patch(&p[0], entry, address, "\x53\x48\x89\xfb\x31");
	make_patch(&p[1], entry + RELAY, address + 46, "\x0f\x1f\x44\x00\x00");
	p[1].stands_for = entry + RETURN;
	make_patch(&p[2], entry + LOOP, address + 20, "\x48\x01\xd8\x48\x83");
	p[3] = (struct instrument_patch){.address = entry + RETURN,
					 .stands_for = entry + RETURN,
					 .size = 2,
					 .before = {0x48, 0x83},
					 .after = {0xeb, (uint8_t)(RELAY - (RETURN + 2))}};
}

static void make_copy(struct instrument_code *c, uint64_t entry, uint64_t address)
{
	/* One is left out, in the loop, inside of a patch: who is there has to be let run on. */
	static const uint32_t places[][2] = {{0, 0},   {1, 10},	 {4, 13},  {6, 15},
					     {11, 20}, {18, 36}, {20, 38}, {23, 41},
					     {28, 46}, {32, 59}, {33, 60}};
	const size_t count = sizeof(places) / sizeof(places[0]);
	uint8_t *at;

	*c = (struct instrument_code){.entry = entry, .address = address, .size = COPY_BYTES};
	c->bytes = calloc(1, COPY_BYTES);
	c->places = calloc(count, sizeof(*c->places));
	c->patches = calloc(4, sizeof(*c->patches));
	if (!c->bytes || !c->places || !c->patches)
		exit(1);
	c->place_count = count;
	c->patch_count = 4;
	c->slot_count = SLOT_COUNT;
	for (size_t i = 0; i < count; i++)
		c->places[i] = (struct instrument_place){entry + places[i][0], places[i][1]};
	at = put_count(c->bytes, SLOT_CALLS);
	at = put(at, "\x53\x48\x89\xfb\x31\xc0\x0f\x1f\x44\x00\x00", 11);
	at = put_count(at, SLOT_TURNS);
	at = put(at, "\x48\x01\xd8\x48\x83\xeb\x01\x75\xee\x48\x89\xc7", 12);
	put_jump(at, address + 41, entry + CALL);
	at = put_count(at + 5, SLOT_RETURNS);
	put(at, "\x48\x83\xc0\x01\x5b\xc3", 6);
	make_patches(c->patches, entry, address);
}

/* Where the program's own file begins in it, and where it ends. */
static int find_program(pid_t pid, uint64_t *ret_start, uint64_t *ret_end)
{
	char path[32], name[TARGET_NAME_BYTES] = "";
	struct target_maps maps;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, name, sizeof(name) - 1) < 0)
		return -errno;
	r = target_maps_read(pid, &maps);
	if (r)
		return r;
	*ret_start = 0;
	for (size_t i = 0; i < maps.count; i++)
		if (!strcmp(maps.list[i].name, name)) {
			if (!*ret_start)
				*ret_start = maps.list[i].start;
			*ret_end = maps.list[i].end;
		}
	target_maps_free(&maps);
	return *ret_start ? 0 : -ENOENT;
}

static int put_in(struct attach *a, pid_t pid, struct diag *diag)
{
	uint64_t start = 0, end = 0, room;
	enum attach_taken taken = ATTACH_TAKEN;
	struct instrument_code code;
	int r = find_program(pid, &start, &end);

	if (r)
		return diag_fail(diag, -r, "process %d: %s", (int)pid, strerror(-r));
	r = attach_find_room(pid, start, end, COPY_BYTES, &room, diag);
	if (r)
		return r;
	make_copy(&code, start + offset, room);
	r = attach_apply(a, pid, room, &code, 1, SLOT_COUNT, &taken, diag);
	instrument_code_free(&code);
	if (!r && taken != ATTACH_TAKEN)
		r = diag_fail(diag, EINVAL, "left out: %s", attach_taken_name(taken));
	return r;
}

static int fail(const struct diag *diag)
{
	fprintf(stderr, "native-counted: %s\n", diag->text);
	return 1;
}

struct whole {
	struct attach *attach;
	pid_t pid, fresh; /* has become a program just now */
	int status;
};

static void take_end(void *arg, pid_t pid, int status)
{
	struct whole *w = arg;

	if (pid == w->pid)
		w->status = status;
}

static bool take_program(void *arg, pid_t pid)
{
	struct whole *w = arg;

	w->fresh = pid;
	return true;
}

static bool has_ended(pid_t pid)
{
	long state = tracer_status(pid, 0, "State", 'X');

	return state == 'X' || state == 'Z';
}

/* A program that could shrink the counters would end us when we read them. */
static bool is_sealed(pid_t pid)
{
	struct target_maps maps = {0};
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	bool sealed = true;
	char path[128];

	if (target_maps_read(pid, &maps))
		return has_ended(pid);
	for (size_t i = 0; i < maps.count; i++) {
		const struct target_mapping *m = &maps.list[i];

		if (!strstr(m->name, "memfd:culprit"))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid, m->start,
			 m->end);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		sealed &= fd < 0 || (fcntl(fd, F_GET_SEALS) & seals) == seals;
		if (fd >= 0)
			close(fd);
	}
	target_maps_free(&maps);
	return sealed;
}

static int whole(char **argv)
{
	struct whole w = {0};
	struct attach_ops ops = {.ended = take_end, .became = take_program, .arg = &w};
	uint64_t counts[SLOT_COUNT];
	struct diag diag;
	int go = -1, r;

	w.pid = start(argv, &go);
	if (attach_open(w.pid, &ops, &w.attach, &diag))
		return fail(&diag);
	if (write(go, "x", 1) != 1)
		return 1;
	while ((r = attach_serve(w.attach, true)) != -ECHILD) {
		pid_t fresh = w.fresh;

		w.fresh = 0;
		if (fresh && put_in(w.attach, fresh, &diag) && !strstr(diag.text, "has ended"))
			return fail(&diag);
		if (fresh && !is_sealed(fresh)) {
			fprintf(stderr, "native-counted: what is mapped is not sealed\n");
			return 1;
		}
	}
	attach_read(w.attach, counts, SLOT_COUNT);
	fprintf(stderr, "calls %lu turns %lu\n", counts[SLOT_CALLS], counts[SLOT_TURNS]);
	fprintf(stderr, "returns %lu\n", counts[SLOT_RETURNS]);
	attach_close(w.attach);
	return WIFEXITED(w.status) ? WEXITSTATUS(w.status) : 128 + WTERMSIG(w.status);
}

/* Whether nothing of ours is mapped whose name has that in it. */
static bool is_without(pid_t pid, const char *name)
{
	struct target_maps maps = {0};
	bool clean = true;

	if (target_maps_read(pid, &maps))
		return has_ended(pid);
	for (size_t i = 0; i < maps.count; i++)
		clean &= !maps.list[i].in_memory || !strstr(maps.list[i].name, name);
	target_maps_free(&maps);
	return clean;
}

static bool is_clean(pid_t pid)
{
	return is_without(pid, "memfd:culprit");
}

/* Whether the program has copies, and no jump to them. */
static bool is_idle(pid_t pid)
{
	uint64_t start = 0, end = 0;
	struct target_maps maps = {0};
	uint8_t first = 0;
	char path[32];

	if (is_clean(pid) || find_program(pid, &start, &end) || target_maps_read(pid, &maps))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	bool read = mem >= 0 && !target_read(mem, &maps, start + offset, &first, 1);

	if (mem >= 0)
		close(mem);
	target_maps_free(&maps);
	return read && first != 0xe9;
}

/* Those forked while copies were put in are counted too. */
static bool are_counted(pid_t pid)
{
	char path[64], line[4096] = "", *at = line;
	bool counted = true;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *f = fopen(path, "r");

	if (f && fgets(line, sizeof(line), f))
		for (long child; (child = strtol(at, &at, 10)) > 0;)
			counted &= !is_idle((pid_t)child);
	if (f)
		fclose(f);
	return counted;
}

/* Attaches, counts for a while that differs from round to round, and detaches. */
static int one_round(pid_t pid, unsigned long round, unsigned long *calls, struct diag *diag)
{
	const struct attach_ops ops = {0};
	uint64_t counts[SLOT_COUNT];
	struct attach *a;
	int r = attach_open(pid, &ops, &a, diag);

	if (r)
		return r;
	r = put_in(a, pid, diag);
	if (!r && alone && !are_counted(pid))
		r = diag_fail(diag, EINVAL, "a child of process %d has idle copies", (int)pid);
	for (unsigned i = 0; !r && i < round % 7; i++) {
		usleep(100 * (round % 5));
		attach_serve(a, false);
	}
	r = r ? r : attach_remove(a, diag);
	attach_read(a, counts, SLOT_COUNT);
	attach_close(a);
	*calls += counts[SLOT_CALLS];
	if (!r && !is_clean(pid))
		r = diag_fail(diag, EEXIST, "something is left in process %d", (int)pid);
	return r;
}

/* Copies that stay mapped while the program is let into them and out again: counted is what it does
 * between, and nothing while it is out. */
static int enter_and_leave(struct attach *a, unsigned long round, unsigned long *calls,
			   struct diag *diag)
{
	uint64_t left[SLOT_COUNT], out[SLOT_COUNT], begun[SLOT_COUNT], ended[SLOT_COUNT];
	int r = attach_leave(a, diag);

	attach_read(a, left, SLOT_COUNT);
	attach_go_on(a);
	usleep(50 * (round % 5));
	attach_serve(a, false);
	/* Nobody is in: that stops all. Who enters may run before the last one has. */
	r = r ? r : attach_leave(a, diag);
	attach_read(a, out, SLOT_COUNT);
	attach_go_on(a);
	r = r ? r : attach_enter(a, diag);
	attach_read(a, begun, SLOT_COUNT);
	attach_go_on(a);
	for (unsigned i = 0; !r && i < round % 7; i++) {
		usleep(100 * (round % 5));
		attach_serve(a, false);
	}
	attach_read(a, ended, SLOT_COUNT);
	*calls += ended[SLOT_CALLS] - begun[SLOT_CALLS];
	if (!r && out[SLOT_CALLS] != left[SLOT_CALLS])
		r = diag_fail(diag, EINVAL, "was counted %llu times while it was out",
			      (unsigned long long)(out[SLOT_CALLS] - left[SLOT_CALLS]));
	return r;
}

static int bursts(unsigned long count, pid_t pid)
{
	const struct attach_ops ops = {0};
	unsigned long done = 0, calls = 0;
	struct diag diag;
	struct attach *a;
	int r = attach_open(pid, &ops, &a, &diag);

	if (r)
		return fail(&diag);
	r = put_in(a, pid, &diag);
	for (; !r && done < count && !has_ended(pid); done++)
		r = enter_and_leave(a, done, &calls, &diag);
	r = r ? r : attach_remove(a, &diag);
	attach_close(a);
	if (!r && !is_clean(pid))
		r = diag_fail(&diag, EEXIST, "something is left in process %d", (int)pid);
	if (r && has_ended(pid))
		r = 0;
	fprintf(stderr, "rounds %lu calls %lu\n", done, calls);
	return r ? fail(&diag) : !calls;
}

static int rounds(unsigned long count, pid_t pid)
{
	unsigned long done = 0, calls = 0;
	struct diag diag;
	int r = 0;

	for (; !r && done < count && !has_ended(pid); done++)
		r = one_round(pid, done, &calls, &diag);
	if (r && has_ended(pid))
		r = 0;
	fprintf(stderr, "rounds %lu calls %lu\n", done, calls);
	return r ? fail(&diag) : 0;
}

static int take_out(pid_t pid, struct diag *diag)
{
	const struct attach_ops ops = {0};
	struct attach *a;
	int r = attach_open(pid, &ops, &a, diag);

	if (r)
		return r;
	printf("cleaned %lu\n", attach_counters(a)->cleaned);
	attach_close(a);
	return is_clean(pid) ? 0
			     : diag_fail(diag, EEXIST, "something is left in process %d", (int)pid);
}

static int clean(pid_t pid)
{
	struct diag diag;

	return take_out(pid, &diag) ? fail(&diag) : 0;
}

/* Kills who counts, at any moment; at last what they left is taken out. */
static int kills(long count, pid_t pid)
{
	uint32_t random = 1;
	struct diag diag;

	for (long i = 0; i < count && !has_ended(pid); i++) {
		pid_t child = fork();

		if (!child) {
			alarm(60);
			_exit(rounds(1000000, pid));
		}
		random = random * 1664525 + 1013904223;
		usleep((random >> 8) % 30000);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	/* It may have come to its end. */
	return take_out(pid, &diag) && !has_ended(pid) ? fail(&diag) : 0;
}

/*
 * All that a program can see of us are these calls: the linker leads them here (--wrap), where we
 * die before the one whose turn it is.
 */
static unsigned long calls_made, die_before;

static void count_call(void)
{
	if (++calls_made == die_before)
		kill(getpid(), SIGKILL);
}

/* What happens in between, where nobody expects it. */
static void (*before_ptrace)(int request, pid_t pid), (*after_write)(void);
static void (*after_registers)(struct user_regs_struct *regs);

long __real_ptrace(int request, pid_t pid, void *address, void *data);
long __wrap_ptrace(int request, pid_t pid, void *address, void *data);
long __wrap_ptrace(int request, pid_t pid, void *address, void *data)
{
	count_call();
	if (before_ptrace)
		before_ptrace(request, pid);
	long r = __real_ptrace(request, pid, address, data);
	if (!r && request == PTRACE_GETREGS && after_registers)
		after_registers(data);
	return r;
}

int __real_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	count_call();
	return __real_waitid(type, id, info, options);
}

ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at)
{
	count_call();
	ssize_t n = __real_pwrite64(fd, data, size, at);
	if (after_write)
		after_write();
	return n;
}

int __real_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size)
{
	count_call();
	return __real_ftruncate64(fd, size);
}

/* A round in which the program forbids itself the calls that take copies out: they stay, and so
 * does it. */
static int leave(pid_t pid)
{
	const struct attach_ops ops = {0};
	struct attach *a;
	struct diag diag;
	int r = attach_open(pid, &ops, &a, &diag);

	if (r)
		return fail(&diag);
	r = put_in(a, pid, &diag);
	kill(pid, SIGUSR1);
	while (!r && !tracer_status(pid, 0, "Seccomp", 1)) {
		attach_serve(a, false);
		usleep(100);
	}
	r = r ? r : attach_remove(a, &diag);
	attach_close(a);
	kill(pid, SIGUSR1);
	return r == -EBUSY ? 0 : r ? fail(&diag) : 1;
}

/* A round by one who dies before the first of its calls, one by another who dies before the second,
 * ... until one lives through it; most at most. Every second is cleaned up after, the others by the
 * next round. */
static int steps(unsigned long most, pid_t pid)
{
	unsigned long died = 0, none = 0;
	struct diag diag;
	int status = 1;

	for (unsigned long i = 1; i <= most && !has_ended(pid); i++) {
		pid_t child = fork();

		if (!child) {
			die_before = i;
			calls_made = 0;
			_exit(one_round(pid, 0, &none, &diag) ? fail(&diag) : 0);
		}
		waitpid(child, &status, 0);
		if (!WIFSIGNALED(status))
			break;
		died++;
		if (i % 2)
			continue;
		if (clean(pid))
			return 1;
	}
	fprintf(stderr, "died %lu\n", died);
	if (has_ended(pid))
		return fail(&(struct diag){"the program ended before all was tried"});
	return clean(pid) || !WIFEXITED(status) || WEXITSTATUS(status);
}

static int fail_with(const char *what)
{
	fprintf(stderr, "native-counted: %s\n", what);
	return 1;
}

/* A number that goes to another process when it has been looked at. */
static void exchange(int request, pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};

	if (request != PTRACE_SEIZE)
		return;
	before_ptrace = NULL;
	usleep(20000); /* the start of a process is told in hundredths of a second */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!syscall(SYS_clone3, &args, sizeof(args)))
		for (;;)
			pause();
}

static int recycled(void)
{
	const struct attach_ops ops = {0};
	pid_t pid = fork();
	struct attach *a;
	struct diag diag;

	if (!pid)
		for (;;)
			pause();
	before_ptrace = exchange;
	int r = attach_open(pid, &ops, &a, &diag);
	kill(pid, SIGKILL);
	return r == -ESRCH && strstr(diag.text, "has ended") ? 0 : r ? fail(&diag) : 1;
}

static void touch(const char *path)
{
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}

/* Is told to start a thread, and has, between being traced and being stopped. */
static void bear(int request, pid_t pid)
{
	if (request != PTRACE_INTERRUPT)
		return;
	before_ptrace = NULL;
	touch("go");
	while (tracer_status(pid, 0, "Threads", 0) < 2)
		usleep(100);
}

/* Whether all its threads but one are traced by us, or none of them is. */
static bool are_traced(pid_t pid, pid_t but, bool wanted)
{
	char path[32];
	bool traced = true;
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	while (d && (e = readdir(d)))
		traced &=
			atoi(e->d_name) == 0 || atoi(e->d_name) == but ||
			(tracer_status(pid, atoi(e->d_name), "TracerPid", 0) == getpid()) == wanted;
	if (d)
		closedir(d);
	return traced;
}

static int born(pid_t pid)
{
	const struct attach_ops ops = {0};
	uint64_t counts[SLOT_COUNT] = {0};
	struct attach *a;
	struct diag diag;

	before_ptrace = bear;
	if (attach_open(pid, &ops, &a, &diag) || put_in(a, pid, &diag))
		return fail(&diag);
	bool traced = are_traced(pid, 0, true);
	while (traced && counts[SLOT_CALLS] < 1000 && !has_ended(pid)) {
		attach_serve(a, false);
		attach_read(a, counts, SLOT_COUNT);
	}
	int r = attach_remove(a, &diag);
	attach_close(a);
	return r ? fail(&diag) : !traced ? fail_with("a thread is not traced") : has_ended(pid);
}

/* A thread is said to be inside of a patch; when it is let run, the code changes. */
static struct changing {
	pid_t pid;
	uint64_t at;
	bool armed;
} changing;

static void arm(void)
{
	changing.armed = changing.armed || !is_without(changing.pid, "memfd:culprit-copies");
}

static void pretend(struct user_regs_struct *regs)
{
	if (changing.armed)
		regs->rip = changing.at + LOOP + 3;
}

static void change(int request, pid_t pid)
{
	const uint8_t other = 1;
	char path[32];

	(void)pid;
	if (!changing.armed || request != PTRACE_CONT)
		return;
	before_ptrace = NULL;
	after_write = NULL;
	after_registers = NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)changing.pid);
	int mem = open(path, O_RDWR | O_CLOEXEC);
	if (__real_pwrite64(mem, &other, 1, (off_t)(changing.at + RELAY + 4)) != 1)
		exit(1);
	close(mem);
}

static int changed(pid_t pid)
{
	const struct attach_ops ops = {0};
	uint64_t start = 0, end = 0;
	struct attach *a;
	struct diag diag;

	if (attach_open(pid, &ops, &a, &diag) || find_program(pid, &start, &end))
		return fail(&diag);
	changing = (struct changing){.pid = pid, .at = start + offset};
	before_ptrace = change;
	after_write = arm;
	after_registers = pretend;
	int r = put_in(a, pid, &diag);
	attach_close(a);
	return r == -ESTALE && is_clean(pid) ? 0 : r ? fail(&diag) : fail_with("was put in");
}

/* A thread that waits in the kernel, past the patience of who attaches, beside one that does not.
 */
static int late(pid_t pid)
{
	const struct attach_ops ops = {0};
	char path[64], line[32] = "";
	struct attach *a;
	struct diag diag;

	if (attach_open(pid, &ops, &a, &diag) != -EAGAIN)
		return fail_with("all threads stopped");
	if (!are_traced(pid, pid, false))
		return fail_with("one that need not wait is traced");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f))
		kill((pid_t)atoi(line), SIGKILL);
	if (f)
		fclose(f);
	touch("go");
	while (access("went", F_OK) && tracer_status(pid, 0, "State", 0) != 't')
		usleep(1000);
	/* The other one has gone on, without anybody to serve it. */
	while (access("gone", F_OK))
		if (has_ended(pid))
			return fail_with("the program ended");
	while (attach_serve(NULL, false))
		usleep(1000);
	return tracer_status(pid, 0, "TracerPid", 0) ? fail_with("still traced") : 0;
}

/* Who is forked by one without copies, but has the parent of one with copies for its own. */
static int cousins(pid_t pid)
{
	struct whole w = {0};
	const struct attach_ops ops = {.became = take_program, .arg = &w};
	struct diag diag;
	uint64_t room = 0;

	if (attach_open(pid, &ops, &w.attach, &diag) || put_in(w.attach, pid, &diag))
		return fail(&diag);
	touch("go");
	while (access("born", F_OK)) {
		attach_serve(w.attach, false);
		if (w.fresh &&
		    attach_apply(w.attach, w.fresh, room, NULL, 0, SLOT_COUNT, NULL, &diag))
			return fail(&diag);
		w.fresh = 0;
	}
	if (attach_remove(w.attach, &diag))
		return fail(&diag);
	bool taken = attach_counters(w.attach)->patches_gone != 0;
	attach_close(w.attach);
	return taken ? fail_with("a cousin was taken for a child") : 0;
}

/* No file can be opened any more when a child is born. */
static int full(pid_t pid)
{
	const struct attach_ops ops = {0};
	struct rlimit limit, none;
	struct attach *a;
	struct diag diag;

	if (attach_open(pid, &ops, &a, &diag) || put_in(a, pid, &diag) ||
	    getrlimit(RLIMIT_NOFILE, &limit))
		return fail(&diag);
	none = limit;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	while (!attach_counters(a)->forks_uncounted && attach_serve(a, true) != -ECHILD)
		;
	setrlimit(RLIMIT_NOFILE, &limit);
	int r = attach_remove(a, &diag);
	attach_close(a);
	return r == -EBUSY && strstr(diag.text, "could not be followed") ? 0
	       : r							 ? fail(&diag)
		   : fail_with("was not said");
}

/* No file can be opened any more when the process becomes another program. */
static int closed(pid_t pid)
{
	struct whole w = {0};
	const struct attach_ops ops = {.became = take_program, .arg = &w};
	const struct attach_counters *counters;
	struct rlimit limit, none;
	struct diag diag;

	if (attach_open(pid, &ops, &w.attach, &diag) || getrlimit(RLIMIT_NOFILE, &limit))
		return fail(&diag);
	none = limit;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	w.fresh = 0; /* of an exec before */
	while (attach_serve(w.attach, true) != -ECHILD)
		;
	setrlimit(RLIMIT_NOFILE, &limit);
	counters = attach_counters(w.attach);
	bool said = counters->execs_uncounted == 1 &&
		    strstr(counters->execs_why.text, "cannot be opened");
	attach_close(w.attach);
	return !said ? fail_with("was not said") : w.fresh ? fail_with("was said to be kept") : 0;
}

static const struct {
	const char *name;
	int (*run)(pid_t pid);
} modes[] = {{"leave", leave}, {"clean", clean},     {"born", born}, {"changed", changed},
	     {"late", late},   {"cousins", cousins}, {"full", full}, {"closed", closed}};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "recycled"))
		return recycled();
	if (argc < 4)
		return 2;
	offset = strtoull(argv[1], NULL, 16);
	if (!strcmp(argv[2], "whole"))
		return whole(argv + 3);
	alone = !strcmp(argv[2], "rounds");
	if (alone && argc == 5)
		return rounds(strtoul(argv[3], NULL, 10), atoi(argv[4]));
	if (!strcmp(argv[2], "bursts") && argc == 5)
		return bursts(strtoul(argv[3], NULL, 10), atoi(argv[4]));
	if (!strcmp(argv[2], "kills") && argc == 5)
		return kills(atol(argv[3]), atoi(argv[4]));
	if (!strcmp(argv[2], "steps") && argc == 5)
		return steps(strtoul(argv[3], NULL, 10), atoi(argv[4]));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[2], modes[i].name))
			return modes[i].run(atoi(argv[3]));
	return 2;
}
