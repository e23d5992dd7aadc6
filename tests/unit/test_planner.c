/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "counting/planner.h"
#include "counting/planner_wire.h"
#include "elf_file.h"
#include "image/worker/worker.h"
#include "util/sanitized.h"

#define PLANNED 2
#define ROOM	0x10000
#define SLOT	100

static struct plans_facts good_facts(void)
{
	struct plans_facts f = {
		.bytes = 4096, .functions = PLANNED + 1, .planned = PLANNED, .slots = 10};

	f.image.id.kind = IMAGE_BUILD_ID;
	return f;
}

static int take_facts(const struct plans_facts *f)
{
	struct plans_facts taken;

	return planner_take_facts(f, sizeof(*f), &taken);
}

static void test_facts(void **state)
{
	struct plans_facts f = good_facts();

	(void)state;
	assert_int_equal(take_facts(&f), 0);
	assert_int_equal(planner_take_facts(&f, sizeof(f) - 1, &f), -EBADMSG);
	/* More than anybody adds 1 to. */
	f.functions = f.planned = UINT32_MAX;
	assert_int_equal(take_facts(&f), -EBADMSG);
	f = good_facts();
	f.planned = f.functions + 1;
	assert_int_equal(take_facts(&f), -EBADMSG);
	f = good_facts();
	f.bytes = UINT64_MAX / 4;
	assert_int_equal(take_facts(&f), -EBADMSG);
	f = good_facts();
	f.left[0] = f.functions + 1;
	assert_int_equal(take_facts(&f), -EBADMSG);
	f = good_facts();
	f.image.id.size = IMAGE_ID_MAX + 1;
	assert_int_equal(take_facts(&f), -EBADMSG);
	f = good_facts();
	f.image.id.kind = IMAGE_JIT;
	assert_int_equal(take_facts(&f), -EBADMSG);
}

/* One code of 16 bytes, without places and patches, and one that could not be made. */
static int take_codes(const struct planner_code *w, size_t missing)
{
	const struct plans_facts f = good_facts();
	const struct instrument_destination at = {0, ROOM, SLOT};
	struct instrument_code codes[PLANNED] = {0};
	uint8_t data[2 * sizeof(*w) + 16] = {0};
	int r;

	memcpy(data, w, sizeof(*w));
	r = planner_take_codes(data, sizeof(data) - missing, &f, &at, codes);
	for (size_t i = 0; i < PLANNED; i++)
		instrument_code_free(&codes[i]);
	return r;
}

static void test_codes(void **state)
{
	const struct planner_code good = {
		.entry = 1, .address = ROOM, .size = 16, .first_slot = SLOT + 3, .slot_count = 7};
	struct planner_code w = good;

	(void)state;
	assert_int_equal(take_codes(&w, 0), 0);
	assert_int_equal(take_codes(&w, 1), -EBADMSG);
	w.slot_count = 8; /* another image's */
	assert_int_equal(take_codes(&w, 0), -EBADMSG);
	w.slot_count = UINT32_MAX - w.first_slot;
	assert_int_equal(take_codes(&w, 0), -EBADMSG);
	w = good;
	w.first_slot = SLOT - 1;
	assert_int_equal(take_codes(&w, 0), -EBADMSG);
	w = good;
	w.address = ROOM + 4096 - 15;
	assert_int_equal(take_codes(&w, 0), -EBADMSG);
	w.address = ROOM - 1;
	assert_int_equal(take_codes(&w, 0), -EBADMSG);
	w = good;
	w.place_count = UINT32_MAX;
	assert_int_equal(take_codes(&w, 0), -EBADMSG);
}

/* A code of 16 bytes with two places and some pieces, and behind it, where it does not say to be
 * elsewhere, another that has nothing but bytes. */
struct wired {
	struct planner_code code;
	uint8_t bytes[16];
	struct instrument_place places[2];
	struct instrument_piece pieces[3];
	struct planner_code other;
	uint8_t other_bytes[16];
};

static const struct wired good_wired = {
	.code = {.entry = 1,
		 .address = ROOM,
		 .size = 16,
		 .place_count = 2,
		 .piece_count = 3,
		 .first_slot = SLOT},
	.places = {{0x5000, 4}, {0x5004, 8}},
	.pieces = {{0x5000, 0x5000, 0}, {0x5000, INSTRUMENT_NOWHERE, 6}, {0x5004, 0x5013, 15}},
	.other = {.entry = 2, .address = ROOM + 16, .size = 16, .first_slot = SLOT},
};

static int take_wired(const struct wired *w)
{
	const struct plans_facts f = good_facts();
	const struct instrument_destination at = {0, ROOM, SLOT};
	struct instrument_code codes[PLANNED] = {0};
	int r = planner_take_codes(w, sizeof(*w), &f, &at, codes);

	if (!r) {
		assert_int_equal(codes[0].piece_count, 3);
		assert_memory_equal(codes[0].pieces, w->pieces, sizeof(w->pieces));
	}
	for (size_t i = 0; i < PLANNED; i++)
		instrument_code_free(&codes[i]);
	return r;
}

/* Whoever is told of inserted code is told of what the function has, and finds it in order. */
static void test_pieces(void **state)
{
	static const struct {
		unsigned number;
		struct instrument_piece bad;
	} bad[] = {
		{0, {0x4fff, 0x5000, 0}},  /* charged to what the function has not */
		{0, {0x5002, 0x5000, 0}},  /* or to the middle of an instruction */
		{0, {0x5000, 0x4fff, 0}},  /* before the function */
		{2, {0x5004, 0x5014, 15}}, /* past it by more than an instruction */
		{0, {INSTRUMENT_NOWHERE, 0x5000, 0}},
		{0, {0x5000, 0x5000, 4}}, /* at a place */
		{1, {0x5000, 0x5000, 0}}, /* twice */
		{2, {0x5000, 0x5000, 5}},
		{2, {0x5000, 0x5000, 16}}, /* outside of the copy */
	};
	struct wired w = good_wired;

	(void)state;
	_Static_assert(sizeof(w) == 2 * (sizeof(w.code) + 16) + sizeof(w.places) + sizeof(w.pieces),
		       "as it is sent");
	assert_int_equal(take_wired(&w), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		w = good_wired;
		w.pieces[bad[i].number] = bad[i].bad;
		assert_int_equal(take_wired(&w), -EBADMSG);
	}
	w = good_wired;
	w.code.piece_count = UINT32_MAX;
	assert_int_equal(take_wired(&w), -EBADMSG);
	w = good_wired;
	w.other.address--; /* a copy in another */
	assert_int_equal(take_wired(&w), -EBADMSG);
}

/* What the planner of one file is: the child of our only child. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%d", &child) != 1)
		child = 0;
	if (file)
		fclose(file);
	return child;
}

/* The number behind a word of a file of a process. */
static unsigned long long read_number(pid_t pid, const char *name, const char *word, int base)
{
	char path[64], line[256];
	unsigned long long n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			n = strtoull(line + strlen(word), NULL, base);
	fclose(file);
	return n;
}

struct made_file {
	char path[32];
	struct stat st;
};

static struct made_file make_file(void)
{
	struct made_file m = {.path = "/tmp/planner-XXXXXX"};
	struct elf_file elf = elf_file_64(1);
	int fd = mkstemp(m.path);

	assert_true(fd >= 0 && write(fd, elf.bytes, sizeof(elf.bytes)) == sizeof(elf.bytes));
	assert_int_equal(fstat(fd, &m.st), 0);
	close(fd);
	return m;
}

/* Who understands foreign code may read, and have so much memory and time. */
static void test_rights(void **state)
{
	struct made_file m = make_file();
	struct plans_facts facts;
	struct planner *p;
	struct diag why;
	pid_t pid;

	(void)state;
	assert_int_equal(planner_new(NULL, &p, &why), 0);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), 0);
	pid = child_of(child_of(getpid()));
	if (pid) {
		assert_true(!geteuid() ? read_number(pid, "status", "Uid:", 10) == 65534 : true);
		assert_int_equal(read_number(pid, "status", "CapPrm:", 16) & ~4ull, 0);
		assert_int_equal(read_number(pid, "status", "CapEff:", 16) & ~4ull, 0);
		assert_int_equal(read_number(pid, "status", "NoNewPrivs:", 10), 1);
		assert_int_equal(read_number(pid, "status", "Seccomp:", 10), 2);
		assert_int_equal(read_number(pid, "limits", "Max cpu time", 10), 600);
#if !SANITIZED
		assert_int_equal(read_number(pid, "limits", "Max data size", 10), 2ull << 30);
#endif
	}
	planner_free(p);
	unlink(m.path);
}

/* In a process of its own: whether one who plans may do what he must, and nothing that he need not.
 */
static void try_calls(const char *path)
{
	int pair[2];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || planner_jail_enter())
		_exit(1);
	if (open(path, O_RDONLY | O_CLOEXEC) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		_exit(2);
	if (open(path, O_WRONLY | O_CLOEXEC) >= 0 || errno != EPERM ||
	    open(path, O_RDONLY | O_TRUNC | O_CLOEXEC) >= 0 || errno != EPERM ||
	    open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 || unlink(path) >= 0)
		_exit(3);
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		_exit(4);
	if (!unshare(CLONE_NEWUSER) || !kill(getppid(), 0) ||
	    ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) != -1 || errno != EPERM)
		_exit(5);
	_exit(0);
}

static void test_calls(void **state)
{
	struct made_file m = make_file();
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid)
		try_calls(m.path);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(unlink(m.path), 0);
}

/* However many files there are, they have programs wait for so long and no longer. */
static void test_time(void **state)
{
	const struct planner_limits limits = {.all_ns = 1};
	struct made_file m = make_file();
	struct plans_facts facts;
	struct planner *p;
	struct diag why;

	(void)state;
	assert_int_equal(planner_new(&limits, &p, &why), 0);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), -ETIMEDOUT);
	assert_string_equal(why.text, "it takes too long to be planned");
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), -ETIMEDOUT);
	assert_string_equal(why.text, "other files used up the 0 s allowed for all plans");
	planner_free(p);
	assert_int_equal(unlink(m.path), 0);
}

/* Files that are not what was looked at cost no time and nothing else. */
static void test_files(void **state)
{
	struct made_file m = make_file();
	struct plans_facts facts;
	struct planner *p;
	struct diag why;
	struct stat other = m.st;

	(void)state;
	assert_int_equal(planner_new(NULL, &p, &why), 0);
	other.st_ino++;
	assert_int_equal(planner_plan(p, m.path, &other, NULL, &facts, &why), -ESTALE);
	other = m.st;
	other.st_mtim.tv_nsec ^= 1;
	assert_int_equal(planner_plan(p, m.path, &other, NULL, &facts, &why), -ESTALE);
	assert_int_equal(unlink(m.path), 0);
	assert_int_equal(mkfifo(m.path, 0600), 0);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), -EBADMSG);
	assert_int_equal(unlink(m.path), 0);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), -ENOENT);
	planner_free(p);
}

/* A planner that dies costs its own file; from when it is cancelled nothing is planned, and what
 * was planned is counted. */
static void test_ends(void **state)
{
	struct made_file m = make_file();
	const struct instrument_destination at = {0, ROOM, SLOT};
	const uint64_t counters[1] = {0};
	const uint8_t left[1] = {0};
	struct instrument_code codes[1] = {0};
	struct plans_facts facts;
	struct buf edges;
	struct planner *p;
	struct diag why;
	pid_t pid;

	(void)state;
	buf_init(&edges, SIZE_MAX);
	assert_int_equal(planner_new(NULL, &p, &why), 0);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), 0);
	pid = child_of(child_of(getpid()));
	assert_int_equal(facts.planned, 0);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), 0);
	if (pid && !kill(pid, SIGKILL))
		assert_int_equal(planner_count(p, 0, &facts, counters, left, &edges), -EPIPE);
	planner_cancel(p);
	assert_int_equal(planner_plan(p, m.path, &m.st, NULL, &facts, &why), -ECANCELED);
	assert_string_equal(why.text, "the recording ended before it was planned");
	assert_int_equal(planner_count(p, 1, &facts, counters, left, &edges), 0);
	assert_int_equal(planner_copy(p, 1, &facts, &at, codes), -ECANCELED);
	planner_free(p);
	buf_free(&edges);
	unlink(m.path);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),  cmocka_unit_test(test_codes),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_rights),
		cmocka_unit_test(test_files),  cmocka_unit_test(test_ends),
		cmocka_unit_test(test_calls),  cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
