/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The worker: that it answers as the functions that it stands for, that its child can do nothing
 * else, and that whatever happens to the child costs one request.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "elf_file.h"
#include "image/code.h"
#include "image/worker/worker.h"
#include "image/worker/worker_wire.h"
#include "util/clock.h"
#include "util/sanitized.h"

#define MS UINT64_C(1000000)

static struct image_worker *worker_new(uint64_t memory_bytes, uint64_t time_ns)
{
	struct image_worker_limits limits = {.memory_bytes = memory_bytes, .time_ns = time_ns};
	struct image_worker *w = image_worker_new(&limits);

	assert_non_null(w);
	return w;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Asks a question whose answer is known. */
static void assert_works(struct image_worker *w)
{
	struct elf_file f = elf_file_64(1);
	struct image_facts facts;
	struct diag diag = {0};
	int fd = file_with(&f, sizeof(f)), r = image_worker_facts(w, fd, &facts, &diag);

	close(fd);
	if (r)
		fail_msg("%d: %s", r, diag.text);
	assert_int_equal(facts.id.bytes[0], 1);
	assert_int_equal(facts.segments[0].address, ELF_FILE_CODE_ADDRESS);
}

/* A request to a child that was stopped: fails as said, and the one after it works. */
static void assert_costs_one(struct image_worker *w, int error, const char *reason)
{
	struct elf_file f = elf_file_64(1);
	struct image_facts facts;
	struct diag diag = {0};
	int fd = file_with(&f, sizeof(f));
	struct image_worker_stats before = image_worker_stats(w);

	assert_int_equal(image_worker_facts(w, fd, &facts, &diag), -error);
	close(fd);
	if (!strstr(diag.text, reason))
		fail_msg("'%s' does not say '%s'", diag.text, reason);
	assert_int_equal(image_worker_stats(w).failed, before.failed + 1);
	assert_int_equal(image_worker_stats(w).pid, 0);
	assert_works(w);
	assert_int_equal(image_worker_stats(w).starts, before.starts + 1);
	assert_int_equal(image_worker_stats(w).failed, before.failed + 1);
}

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_facts(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct image_facts direct, asked;
	struct image_layout *layout;
	int fd = open_self();

	memset(&direct, 0, sizeof(direct));
	memset(&asked, 0, sizeof(asked));
	assert_int_equal(image_facts_read(fd, &direct, NULL), 0);
	assert_int_equal(image_worker_facts(w, fd, &asked, NULL), 0);
	assert_memory_equal(&direct, &asked, sizeof(direct));
	close(fd);
	struct diag diag = {0};
	fd = file_with("#!/bin/sh\necho culprit\n", 23);
	assert_int_equal(image_worker_facts(w, fd, &asked, &diag), -EBADMSG);
	assert_string_equal(diag.text, "not an ELF file");
	assert_int_equal(image_worker_layout(w, fd, SIZE_MAX, &layout, &diag), -EBADMSG);
	assert_non_null(strstr(diag.text, "ELF file"));
	assert_int_equal(image_worker_stats(w).failed, 0); /* a refusal is an answer */
	assert_int_equal(image_worker_stats(w).starts, 1);
	close(fd);
	image_worker_free(w);
	assert_no_children();
}

static void test_symbols_and_code(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct image_symbols *direct, *asked;
	int fd = open_self();

	assert_int_equal(image_symbols_read(fd, -1, 64 << 20, &direct, NULL), 0);
	assert_int_equal(image_worker_symbols(w, fd, -1, 64 << 20, &asked, NULL), 0);
	assert_int_equal(image_symbols_count(direct), image_symbols_count(asked));
	uint64_t address = 0, size = 0;
	for (size_t i = 0; i < image_symbols_count(direct); i++) {
		const struct image_function *a = image_symbols_at(direct, i);
		const struct image_function *b = image_symbols_at(asked, i);
		assert_int_equal(a->start, b->start);
		assert_string_equal(a->name, b->name);
		if (!strcmp(a->name, "test_symbols_and_code")) {
			address = a->start;
			size = a->size;
		}
	}
	assert_true(address);
	uint8_t *code, *expected;
	size_t code_size, expected_size;
	assert_int_equal(image_worker_code(w, fd, address, size, &code, &code_size, NULL), 0);
	assert_int_equal(image_code_read(fd, address, size, &expected, &expected_size, NULL), 0);
	assert_int_equal(code_size, expected_size);
	assert_memory_equal(code, expected, size);
	assert_int_equal(image_worker_code(w, fd, 1ull << 60, 16, &code, &code_size, NULL),
			 -ERANGE);
	free(code);
	free(expected);
	image_symbols_free(direct);
	image_symbols_free(asked);
	close(fd);
	image_worker_free(w);
}

static void test_starts(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	uint64_t *starts;
	struct diag diag = {0};
	size_t count, at = 0;
	struct image_symbols *symbols;
	int fd = open_self();

	assert_int_equal(image_worker_starts(w, fd, 64 << 20, &starts, &count, &diag), 0);
	assert_int_equal(image_symbols_read(fd, -1, 64 << 20, &symbols, NULL), 0);
	for (size_t i = 0; i < image_symbols_count(symbols); i++)
		if (!strcmp(image_symbols_at(symbols, i)->name, "test_starts"))
			at = image_symbols_at(symbols, i)->start;
	assert_true(at && bsearch(&at, starts, count, sizeof(*starts), compare_u64));
	free(starts);
	image_symbols_free(symbols);
	close(fd);
	fd = file_with("#!/bin/sh\necho culprit\n", 23);
	assert_int_equal(image_worker_starts(w, fd, 1 << 20, &starts, &count, &diag), -EBADMSG);
	close(fd);
	image_worker_free(w);
}

static void test_lines(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	enum { COUNT = 100000 }; /* more than a socket holds */
	static uint64_t addresses[COUNT];
	struct image_lines *lines = NULL;
	const struct image_frame *frames = NULL;
	struct image_symbols *symbols;
	struct diag diag = {0};
	int fd = open_self();

	assert_int_equal(image_worker_symbols(w, fd, -1, 64 << 20, &symbols, NULL), 0);
	for (size_t i = 0; i < image_symbols_count(symbols); i++)
		if (!strcmp(image_symbols_at(symbols, i)->name, "test_lines"))
			addresses[COUNT - 1] = image_symbols_at(symbols, i)->start;
	image_symbols_free(symbols);
	assert_true(addresses[COUNT - 1]);
	if (image_worker_lines(w, fd, -1, addresses, COUNT, &lines, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(image_lines_frames(lines, 0, &frames), 0);
	assert_int_equal(image_lines_frames(lines, COUNT - 1, &frames), 1);
	assert_string_equal(frames[0].function, "test_lines");
	assert_non_null(strstr(frames[0].file, "test_image_worker.c"));
	image_lines_free(lines);
	assert_int_equal(image_worker_lines(w, fd, -1, addresses, SIZE_MAX / 8, &lines, &diag),
			 -E2BIG);
	close(fd);
	image_worker_free(w);
}

/* The value of a line of /proc/PID/status. */
static void read_status(pid_t pid, const char *key, char value[64])
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	value[0] = 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			sscanf(line + strlen(key) + 1, " %63[^\n]", value);
	fclose(f);
}

static void assert_status(pid_t pid, const char *key, const char *expected)
{
	char value[64];

	read_status(pid, key, value);
	if (strcmp(value, expected))
		fail_msg("%s is '%s', not '%s'", key, value, expected);
}

static void test_child_has_nothing(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	int leak = open("/", O_RDONLY | O_DIRECTORY); /* not close-on-exec, by mistake */
	int far_leak = fcntl(leak, F_DUPFD, 100);

	assert_works(w);
	pid_t pid = image_worker_stats(w).pid;
	assert_status(pid, "CapInh", "0000000000000000");
	assert_status(pid, "CapPrm", "0000000000000000");
	assert_status(pid, "CapEff", "0000000000000000");
	assert_status(pid, "CapAmb", "0000000000000000");
	assert_status(pid, "NoNewPrivs", "1");
	assert_status(pid, "Seccomp", "2");
	if (geteuid() == 0) {
		char path[64];
		int files = 0;
		assert_status(pid, "CapBnd", "0000000000000000");
		assert_status(pid, "Uid", "65534\t65534\t65534\t65534");
		assert_status(pid, "Gid", "65534\t65534\t65534\t65534");
		assert_status(pid, "Groups", "");
		snprintf(path, sizeof(path), "/proc/%d/fd", pid);
		DIR *d = opendir(path);
		assert_non_null(d);
		for (struct dirent *e; (e = readdir(d));)
			files += e->d_name[0] != '.';
		closedir(d);
		assert_int_equal(files, WORKER_SOCKET + 1);
	}
	close(far_leak);
	close(leak);
	image_worker_free(w);
}

/* What a child does that a file has taken over: its exit status, or the signal it died of. */
static int in_jail(int (*f)(void))
{
	pid_t pid = fork();

	if (!pid) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || dup2(pair[0], WORKER_SOCKET) < 0)
			_exit(99);
		int step = worker_jail_enter(64 << 20);
		_exit(step ? WORKER_EXIT_UNSAFE + step : f());
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int jail_opens(void)
{
	return open("/etc/passwd", O_RDONLY) < 0 ? errno : 0;
}

static int jail_writes(void)
{
	return write(2, "!", 1) < 0 ? errno : 0;
}

static int jail_stats(void)
{
	struct stat st;
	return stat("/etc/passwd", &st) ? errno : 0;
}

static int jail_connects(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int jail_executes(void)
{
	char *argv[] = {(char *)"/bin/true", NULL};
	return execve(argv[0], argv, NULL);
}

static int jail_kills(void)
{
	return kill(getppid(), 0);
}

static int jail_forks(void)
{
	return fork() < 0 ? 1 : 0;
}

static int jail_makes_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	return p == MAP_FAILED;
}

static int jail_turns_to_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED || mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static int jail_shares(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED;
}

static int jail_sends_elsewhere(void)
{
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	return sendmsg(WORKER_SOCKET + 1, &message, 0) < 0;
}

static int jail_allocates(void)
{
	void *volatile small = malloc(1 << 20);
	void *volatile large = malloc(128 << 20);
	return small && !large ? 0 : 1;
}

static void test_jail(void **state)
{
	(void)state;
	assert_int_equal(in_jail(jail_opens), EACCES);
	assert_int_equal(in_jail(jail_writes), EACCES);
	assert_int_equal(in_jail(jail_stats), EACCES);
	assert_int_equal(in_jail(jail_connects), -SIGSYS);
	assert_int_equal(in_jail(jail_executes), -SIGSYS);
	assert_int_equal(in_jail(jail_kills), -SIGSYS);
	assert_int_equal(in_jail(jail_forks), -SIGSYS);
	assert_int_equal(in_jail(jail_makes_code), -SIGSYS);
	assert_int_equal(in_jail(jail_turns_to_code), -SIGSYS);
	assert_int_equal(in_jail(jail_shares), -SIGSYS);
	assert_int_equal(in_jail(jail_sends_elsewhere), -SIGSYS);
#if !SANITIZED
	assert_int_equal(in_jail(jail_allocates), 0);
#endif
}

static void enter_and_wait(int socket_fd)
{
	char byte = 0;

	if (dup2(socket_fd, WORKER_SOCKET) < 0)
		_exit(99);
	int step = worker_jail_enter(64 << 20);
	if (step || !worker_jail_send(&byte, 1))
		_exit(WORKER_EXIT_UNSAFE + step);
	while (read(WORKER_SOCKET, &byte, 1) > 0)
		;
	_exit(0);
}

/* A child in the jail, after what it does before that; it ends when the socket is closed. */
static pid_t start_in_jail(void (*before)(void), int *ret_socket)
{
	int pair[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid_t pid = fork();
	if (!pid) {
		close(pair[1]);
		before();
		enter_and_wait(pair[0]);
	}
	close(pair[0]);
	assert_int_equal(read(pair[1], &byte, 1), 1);
	*ret_socket = pair[1];
	return pid;
}

static void end_in_jail(pid_t pid, int socket_fd)
{
	int status;

	close(socket_fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A user's own child: what root's change of user does to it is not done there. */
static void become_a_user(void)
{
	if ((!geteuid() && setresuid(65533, 65533, 65533)) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		_exit(98);
}

/* Nobody else of that user traces it or reads its memory: /proc says so by the owner of its files.
 */
static void test_jail_is_not_dumpable(void **state)
{
	(void)state;
	char path[64];
	struct stat st;
	int socket_fd;
	pid_t pid = start_in_jail(become_a_user, &socket_fd);

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	end_in_jail(pid, socket_fd);
}

static void join_a_group(void)
{
	if (setgroups(1, &(gid_t){4321}))
		_exit(98);
}

static void test_jail_has_no_groups(void **state)
{
	(void)state;
	int socket_fd;

	if (geteuid())
		skip();
	pid_t pid = start_in_jail(join_a_group, &socket_fd);
	assert_status(pid, "Groups", "");
	end_in_jail(pid, socket_fd);
}

static void test_killed_between(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);

	for (int i = 1; i <= 5; i++) {
		assert_works(w);
		assert_int_equal(image_worker_stats(w).starts, i);
		pid_t pid = image_worker_stats(w).pid;
		siginfo_t info;
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	}
	assert_int_equal(image_worker_stats(w).failed, 0);
	assert_works(w);
	image_worker_idle(w);
	assert_int_equal(image_worker_stats(w).pid, 0);
	assert_no_children();
	image_worker_idle(w);
	assert_works(w);
	image_worker_free(w);
	image_worker_free(NULL);
	assert_no_children();
}

static void *kill_later(void *arg)
{
	usleep(20000);
	kill(*(pid_t *)arg, SIGKILL);
	return NULL;
}

static void test_killed_during(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	pthread_t killer;

	assert_works(w);
	pid_t pid = image_worker_stats(w).pid;
	kill(pid, SIGSTOP); /* so that it is in the middle of the request for sure */
	assert_int_equal(pthread_create(&killer, NULL, kill_later, &pid), 0);
	assert_costs_one(w, EBADMSG, "Killed");
	pthread_join(killer, NULL);
	image_worker_free(w);
	assert_no_children();
}

static void test_timeout(void **state)
{
	(void)state;
	struct image_worker *w = worker_new(0, 2000 * MS);
	struct image_symbols *symbols;

	/* A child that does not run. */
	assert_works(w);
	kill(image_worker_stats(w).pid, SIGSTOP);
	assert_costs_one(w, ETIMEDOUT, "2000 ms");
	assert_int_equal(image_worker_stats(w).timeouts, 1);
	image_worker_free(w);
	/* A file that takes long: a perf map of which a gibibyte is to be read. */
	int fd = file_with("", 0);
	assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
	w = worker_new(0, 10 * MS);
	assert_int_equal(image_worker_jit(w, fd, false, 1u << 30, &symbols, NULL), -ETIMEDOUT);
	image_worker_free(w);
	close(fd);
	assert_no_children();
}

static void *go_on_later(void *arg)
{
	usleep(300000);
	kill(*(pid_t *)arg, SIGCONT);
	return NULL;
}

/* Waiting for the processor is no work: a busy machine makes no file unreadable. */
static void test_time_of_processor(void **state)
{
	(void)state;
	const struct image_worker_limits limits = {.time_ns = 100 * MS, .wait_ns = 100000 * MS};
	const struct image_worker_limits brief = {.time_ns = 10 * MS, .wait_ns = 100000 * MS};
	struct image_worker *w = image_worker_new(&limits);
	struct image_symbols *symbols;
	struct diag diag = {0};
	pthread_t thread;
	pid_t pid;
	int fd;

	assert_non_null(w);
	assert_works(w);
	pid = image_worker_stats(w).pid;
	kill(pid, SIGSTOP);
	assert_int_equal(pthread_create(&thread, NULL, go_on_later, &pid), 0);
	assert_works(w);
	pthread_join(thread, NULL);
	assert_int_equal(image_worker_stats(w).failed, 0);
	image_worker_free(w);
	/* Of such work there is an end all the same: a perf map of which a gibibyte is to be read.
	 */
	w = image_worker_new(&brief);
	assert_non_null(w);
	fd = file_with("", 0);
	assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
	assert_int_equal(image_worker_jit(w, fd, false, 1u << 30, &symbols, &diag), -ETIMEDOUT);
	assert_non_null(strstr(diag.text, "10 ms of the processor"));
	assert_int_equal(image_worker_stats(w).timeouts, 1);
	image_worker_free(w);
	close(fd);
	assert_no_children();
}

/* Code larger than the memory that reading it may take. */
static void test_memory(void **state)
{
	(void)state;
#if SANITIZED
	skip();
#endif
	struct elf_file f = elf_file_64(1);
	struct image_worker *w = worker_new(16 << 20, 0);
	struct diag diag = {0};
	uint8_t *data;
	size_t size;

	elf_file_segments(&f)[0].p_filesz = 1 << 30;
	elf_file_segments(&f)[0].p_memsz = 1 << 30;
	int fd = file_with(&f, sizeof(f));
	assert_int_equal(ftruncate(fd, INT64_C(1) << 31), 0);
	assert_int_equal(image_worker_code(w, fd, ELF_FILE_CODE_ADDRESS, 4096, &data, &size, NULL),
			 0);
	free(data);
	assert_int_equal(
		image_worker_code(w, fd, ELF_FILE_CODE_ADDRESS, 60 << 20, &data, &size, &diag),
		-EBADMSG);
	assert_non_null(strstr(diag.text, "16 MiB"));
	assert_works(w);
	close(fd);
	image_worker_free(w);
}

static void test_not_regular(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct image_facts facts;
	struct image_symbols *symbols;
	struct diag diag = {0};
	int pair[2], fd = open_self();

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(image_worker_facts(w, pair[0], &facts, &diag), -EBADMSG);
	assert_string_equal(diag.text, "not a regular file");
	assert_int_equal(image_worker_symbols(w, fd, pair[0], 1 << 20, &symbols, NULL), -EBADMSG);
	assert_int_equal(image_worker_facts(w, -1, &facts, NULL), -EBADF);
	assert_int_equal(image_worker_stats(w).starts, 0);
	close(pair[0]);
	close(pair[1]);
	close(fd);
	image_worker_free(w);
}

/* Any file, however broken: an answer or a reason, and the worker goes on. */
static void test_broken_files(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct elf_file good = elf_file_64(1);
	uint32_t random = 12345;

	for (int i = 0; i < 500; i++) {
		struct elf_file f = good;
		struct image_symbols *symbols;
		struct image_facts facts;
		for (int j = 0; j < 4; j++) {
			random = random * 1664525 + 1013904223;
			f.bytes[(random >> 8) % ELF_FILE_CODE_OFFSET] = (uint8_t)(random >> 24);
		}
		int fd = file_with(&f, sizeof(f));
		image_worker_facts(w, fd, &facts, NULL);
		if (!image_worker_symbols(w, fd, fd, 1 << 20, &symbols, NULL))
			image_symbols_free(symbols);
		close(fd);
	}
	assert_works(w);
	image_worker_free(w);
}

struct said {
	struct worker_reply reply;
	char more[64];
};

/* What the parent makes of a child that says this, and then ends. */
static int hear(const void *data, size_t size, bool *ret_told, struct diag *diag)
{
	struct buf out;
	int pair[2];

	buf_init(&out, 32);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(write(pair[1], data, size), (ssize_t)size);
	close(pair[1]);
	int r = worker_receive_reply(pair[0], clock_monotonic_ns() + 5000 * MS, 7, &out, ret_told,
				     diag);
	close(pair[0]);
	buf_free(&out);
	return r;
}

static void test_hostile_replies(void **state)
{
	(void)state;
	struct said said = {{.serial = 7, .payload_size = 32}, "0123456789"};
	struct diag diag = {0};
	bool told;

	assert_int_equal(hear(&said, sizeof(said.reply) + 32, &told, NULL), 0);
	assert_true(told);
	for (size_t size = 0; size < sizeof(said.reply) + 32; size++) {
		assert_int_equal(hear(&said, size, &told, NULL), -EPIPE);
		assert_false(told);
	}
	said.reply.payload_size = 33; /* more than was asked for */
	assert_int_equal(hear(&said, sizeof(said), &told, NULL), -EPROTO);
	said.reply.payload_size = UINT64_MAX;
	assert_int_equal(hear(&said, sizeof(said), &told, NULL), -EPROTO);
	said.reply = (struct worker_reply){.serial = 6};
	assert_int_equal(hear(&said, sizeof(said), &told, NULL), -EPROTO);
	said.reply = (struct worker_reply){.serial = 7, .status = -EIO, .reason_size = UINT32_MAX};
	assert_int_equal(hear(&said, sizeof(said), &told, NULL), -EPROTO);
	assert_false(told);
	/* Its errors are not the parent's: what could be mistaken for one of those is EBADMSG. */
	said.reply = (struct worker_reply){.serial = 7, .status = -EINTR, .reason_size = 10};
	memcpy(said.more, "\033[2J\nx%s%n", 10);
	assert_int_equal(hear(&said, sizeof(said), &told, &diag), -EBADMSG);
	assert_true(told);
	assert_null(strchr(diag.text, '\033'));
	assert_null(strchr(diag.text, '\n'));
	said.reply.status = INT32_MIN;
	assert_int_equal(hear(&said, sizeof(said), &told, &diag), -EBADMSG);
	said.reply.status = 1;
	assert_int_equal(hear(&said, sizeof(said), &told, &diag), -EBADMSG);
}

/* A worker whose parent dies ends, even while it is stopped. */
static void test_parent_dies(void **state)
{
	(void)state;
	int pair[2], status;
	pid_t worker = 0;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	pid_t parent = fork();
	if (!parent) {
		struct image_worker *w = image_worker_new(NULL);
		assert_works(w);
		worker = image_worker_stats(w).pid;
		kill(worker, SIGSTOP);
		_exit(write(pair[1], &worker, sizeof(worker)) != sizeof(worker));
	}
	assert_int_equal(read(pair[0], &worker, sizeof(worker)), sizeof(worker));
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(worker, &status, 0), worker); /* else the test's time ends */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(pair[0]);
	close(pair[1]);
}

/* What was charged to a budget is not taken back, whoever has reaped the child. */
static void test_time_never_falls(void **state)
{
	(void)state;
	struct image_worker *w = image_worker_new(NULL);
	struct image_symbols *s;
	int fd = open_self();
	pid_t child;
	uint64_t before;

	assert_int_equal(image_worker_symbols(w, fd, -1, 256u << 20, &s, NULL), 0);
	image_symbols_free(s);
	close(fd);
	before = image_worker_cpu_ns(w);
	assert_true(before > 0);
	child = image_worker_stats(w).pid;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	image_worker_idle(w);
	assert_true(image_worker_cpu_ns(w) >= before);
	assert_works(w);
	assert_true(image_worker_cpu_ns(w) > before);
	image_worker_free(w);
}

/* Without any privilege of its own, culprit uses the worker just so. */
static void test_not_root(void **state)
{
	(void)state;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (geteuid() == 0 &&
		    (setresgid(65533, 65533, 65533) || setresuid(65533, 65533, 65533)))
			_exit(77);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the change of user hides /proc/self */
		if (access("/proc/self/exe", X_OK))
			_exit(77); /* the tests are in somebody's home */
		struct image_worker *w = image_worker_new(NULL);
		assert_works(w);
		assert_status(image_worker_stats(w).pid, "CapEff", "0000000000000000");
		assert_status(image_worker_stats(w).pid, "Seccomp", "2");
		image_worker_free(w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_symbols_and_code),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_child_has_nothing),
		cmocka_unit_test(test_jail),
		cmocka_unit_test(test_jail_is_not_dumpable),
		cmocka_unit_test(test_jail_has_no_groups),
		cmocka_unit_test(test_killed_between),
		cmocka_unit_test(test_killed_during),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_time_of_processor),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_not_regular),
		cmocka_unit_test(test_broken_files),
		cmocka_unit_test(test_hostile_replies),
		cmocka_unit_test(test_parent_dies),
		cmocka_unit_test(test_time_never_falls),
		cmocka_unit_test(test_not_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
