/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/process/descendants.h"
#include "collect/process/process.h"
#include "collect/process/procfs.h"
#include "collect/process/subject.h"
#include "util/identity.h"

/* PIDs above the kernel's limit, so that no real process is meant. */
#define PID 5000000

static struct files *files;
static struct processes *processes;

static void record(struct sideband_record r)
{
	if (r.name)
		r.name_size = strlen(r.name);
	processes_take(processes, &r);
}

static void fork_at(int parent, int child, uint64_t time)
{
	record((struct sideband_record){.type = SIDEBAND_FORK,
					.time_ns = time,
					.pid = child,
					.tid = child,
					.ppid = parent});
}

static void exec_at(int pid, const char *name, uint64_t time)
{
	record((struct sideband_record){.type = SIDEBAND_COMM,
					.time_ns = time,
					.pid = pid,
					.tid = pid,
					.exec = true,
					.name = name});
}

static void map_at(int pid, uint64_t start, uint64_t size, const char *name, uint64_t time)
{
	record((struct sideband_record){.type = SIDEBAND_MMAP,
					.time_ns = time,
					.pid = pid,
					.tid = pid,
					.address = start,
					.size = size,
					.inode = 1,
					.name = name});
}

static void exit_at(int pid, uint64_t time)
{
	record((struct sideband_record){
		.type = SIDEBAND_EXIT, .time_ns = time, .pid = pid, .tid = pid});
}

static const char *path_at(int pid, uint64_t pc, uint64_t time)
{
	struct process *life = processes_find(processes, pid, time);
	struct mapping *m = life && life->space ? space_find(life->space, pc, time) : NULL;

	return m ? m->file->path : NULL;
}

static void check_comm(int pid, uint64_t time, const char *name)
{
	struct process *life = processes_find(processes, pid, time);

	assert_non_null(life);
	assert_int_equal(life->comm_size, strlen(name));
	assert_memory_equal(life->comm, name, strlen(name));
}

/* The same address means another file before and after an exec, and after the PID's reuse. */
static void test_lives(void **state)
{
	(void)state;
	fork_at(1, PID, 100);
	exec_at(PID, "shell", 110);
	map_at(PID, 0x400000, 0x1000, "/bin/sh", 111);
	fork_at(PID, PID + 1, 200);
	assert_string_equal(path_at(PID + 1, 0x400800, 205), "/bin/sh");
	exec_at(PID + 1, "true", 210);
	map_at(PID + 1, 0x400000, 0x1000, "/bin/true", 211);
	assert_string_equal(path_at(PID + 1, 0x400800, 205), "/bin/sh");
	assert_string_equal(path_at(PID + 1, 0x400800, 215), "/bin/true");
	check_comm(PID + 1, 205, "shell");
	check_comm(PID + 1, 215, "true");
	exit_at(PID + 1, 220);
	fork_at(PID, PID + 1, 230);
	exec_at(PID + 1, "false", 231);
	map_at(PID + 1, 0x400000, 0x1000, "/bin/false", 232);
	assert_string_equal(path_at(PID + 1, 0x400800, 215), "/bin/true");
	assert_string_equal(path_at(PID + 1, 0x400800, 235), "/bin/false");
	assert_string_equal(path_at(PID, 0x400800, 235), "/bin/sh");
	assert_null(path_at(PID + 2, 0x400800, 235));
}

static void test_threads_are_their_process(void **state)
{
	(void)state;
	fork_at(1, PID, 100);
	exec_at(PID, "main", 110);
	record((struct sideband_record){
		.type = SIDEBAND_FORK, .time_ns = 120, .pid = PID, .tid = PID + 9, .ppid = PID});
	record((struct sideband_record){.type = SIDEBAND_COMM,
					.time_ns = 130,
					.pid = PID,
					.tid = PID + 9,
					.name = "worker"});
	check_comm(PID, 140, "main");
	assert_null(processes_newest(processes, PID + 9));
	/* The main thread's new name is the process's. */
	record((struct sideband_record){
		.type = SIDEBAND_COMM, .time_ns = 150, .pid = PID, .tid = PID, .name = "renamed"});
	check_comm(PID, 160, "renamed");
}

static void count_life(void *arg, struct process *life)
{
	(void)life;
	++*(int *)arg;
}

static void test_the_ended_are_forgotten(void **state)
{
	struct processes_counters c;
	int ending = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		fork_at(1, PID + i, 100);
		exec_at(PID + i, "brief", 110);
		map_at(PID + i, 0x400000, 0x1000, "/bin/brief", 111);
		exit_at(PID + i, 120);
	}
	processes_collect(processes, 90, 150, NULL, NULL);
	assert_string_equal(path_at(PID + 50, 0x400800, 115), "/bin/brief");
	/* It may have samples up to when it was seen to be gone, which are still to come. */
	processes_collect(processes, 140, 160, count_life, &ending);
	assert_string_equal(path_at(PID + 50, 0x400800, 145), "/bin/brief");
	processes_collect(processes, 200, 210, count_life, &ending);
	processes_collect(processes, 300, 310, count_life, &ending);
	assert_int_equal(ending, 200); /* a life before the exec and one after it */
	processes_read_counters(processes, &c);
	assert_int_equal(c.processes, 1); /* the idle tasks */
	assert_int_equal(c.lives, 1);
}

static void test_execs_without_end_are_bounded(void **state)
{
	struct processes_counters c;

	(void)state;
	fork_at(1, PID, 1);
	for (uint64_t i = 0; i < 20000; i++)
		exec_at(PID, "again", 10 + i);
	processes_read_counters(processes, &c);
	assert_true(c.lives <= 8200);
	check_comm(PID, 30000, "again");
	/* What is forgotten is not known, rather than taken for what came after. */
	assert_null(processes_find(processes, PID, 20));
}

static void test_lost_records_ask_for_a_scan(void **state)
{
	struct processes_counters c;

	(void)state;
	assert_false(processes_must_rescan(processes));
	record((struct sideband_record){.type = SIDEBAND_LOST, .time_ns = 5, .lost = 7});
	assert_true(processes_must_rescan(processes));
	assert_false(processes_must_rescan(processes));
	processes_read_counters(processes, &c);
	assert_int_equal(c.records_lost, 7);
}

static void test_scan_of_this_process(void **state)
{
	uint64_t pc = (uint64_t)(uintptr_t)&test_scan_of_this_process;
	struct diag diag;

	(void)state;
	assert_int_equal(processes_scan(processes, 0, &diag), 0);
	assert_non_null(strstr(path_at(getpid(), pc, 1), "test-collect-process"));
	assert_int_equal(processes_newest(processes, getpid())->parent, getppid());
	assert_true(processes_scan_one(processes, PID, 0) < 0);
}

/* What the records tell when this process has been read. */
static void tell_exec(void *arg)
{
	exec_at(getpid(), "other", *(uint64_t *)arg);
	map_at(getpid(), (uint64_t)(uintptr_t)&tell_exec & -4096ull, 4096, "/bin/other",
	       *(uint64_t *)arg);
}

static void tell_mapping(void *arg)
{
	map_at(getpid(), (uint64_t)(uintptr_t)&tell_exec & -4096ull, 4096, "/bin/newer",
	       *(uint64_t *)arg);
}

/* One that becomes another program between the last records and the look leaves that one's code to
 * nobody. */
static void test_what_is_read_is_of_the_life_that_is_meant(void **state)
{
	const uint64_t pc = (uint64_t)(uintptr_t)&tell_exec;
	uint64_t later = 1ull << 60;

	(void)state;
	fork_at(1, getpid(), 100);
	exec_at(getpid(), "one", 110);
	processes_set_catch_up(processes, tell_exec, &later);
	assert_int_equal(processes_scan_one(processes, getpid(), 120), 0);
	assert_null(path_at(getpid(), pc, 130));
	check_comm(getpid(), 130, "one");
	assert_string_equal(path_at(getpid(), pc, later), "/bin/other");
	/* A mapping made since is the newer one; all else is kept. */
	exec_at(getpid(), "two", later + 1);
	later += 2;
	processes_set_catch_up(processes, tell_mapping, &later);
	assert_int_equal(processes_scan_one(processes, getpid(), later), 0);
	assert_string_equal(path_at(getpid(), pc, later), "/bin/newer");
	assert_non_null(path_at(getpid(), (uint64_t)(uintptr_t)&write, later));
}

/* Whoever has records left out, or lost, again and again is looked at now and then. */
static void test_looks_are_rationed(void **state)
{
	const uint64_t now = 1ull << 60, later = now + (1ull << 50);
	uint64_t pc = (uint64_t)(uintptr_t)&test_looks_are_rationed;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct processes_counters c;
	void *at;

	(void)state;
	/* Of whom nobody knows: of all. */
	assert_false(processes_must_rescan(processes));
	record((struct sideband_record){.type = SIDEBAND_LEFT_OUT, .time_ns = now, .lost = 1});
	assert_true(processes_must_rescan(processes));
	record((struct sideband_record){
		.type = SIDEBAND_LEFT_OUT, .time_ns = now, .pid = getpid(), .lost = 6});
	assert_false(processes_must_rescan(processes));
	processes_read_counters(processes, &c);
	assert_int_equal(c.records_left_out, 7);
	assert_null(processes_newest(processes, getpid()));
	processes_scan_due(processes, now);
	assert_non_null(strstr(path_at(getpid(), pc, now), "test-collect-process"));
	/* What came since is not looked at until as much time has passed as a look may take. */
	processes_newest(processes, getpid())->scan_next_ns = later;
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	record((struct sideband_record){
		.type = SIDEBAND_LEFT_OUT, .time_ns = now, .pid = getpid(), .lost = 1});
	processes_scan_due(processes, later - 1);
	assert_int_equal(processes_scan(processes, later - 1, NULL), 0);
	assert_null(path_at(getpid(), (uint64_t)(uintptr_t)at, later - 1));
	processes_scan_due(processes, later);
	assert_non_null(path_at(getpid(), (uint64_t)(uintptr_t)at, later));
	munmap(at, 4096);
	close(fd);
}

static void test_maps_lines(void **state)
{
	struct procfs_mapping m;
	char plain[] = "55d0-66e0 r-xp 00001000 fd:01 123   /a b\\012c (deleted)\n";
	char anon[] = "7f00-7f10 rwxp 00000000 00:00 0 \n", data[] = "1-2 rw-p 0 00:00 0 /x";
	char bad[] = "nonsense",
	     high[] = "ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]";

	(void)state;
	assert_int_equal(procfs_parse_mapping(plain, &m), 0);
	assert_int_equal(m.start, 0x55d0);
	assert_int_equal(m.file_offset, 0x1000);
	assert_int_equal(m.name.inode, 123);
	assert_int_equal(m.name.device_major, 0xfd);
	assert_true(m.name.deleted);
	assert_int_equal(m.name.path_size, strlen("/a b\nc"));
	assert_memory_equal(m.name.path, "/a b\nc", m.name.path_size);
	assert_int_equal(procfs_parse_mapping(anon, &m), 0);
	assert_string_equal(m.name.path, "//anon");
	assert_int_equal(procfs_parse_mapping(data, &m), -ENOMSG);
	assert_int_equal(procfs_parse_mapping(bad, &m), -EBADMSG);
	assert_int_equal(procfs_parse_mapping(high, &m), 0);
	assert_int_equal(m.end, 0xffffffffff601000);
}

struct code {
	size_t count;
	struct {
		uint64_t start, end, offset, inode;
		uint32_t major, minor;
		bool deleted;
		char path[256];
	} list[256];
};

static void take_code(void *arg, const struct procfs_mapping *m)
{
	struct code *c = arg;

	assert_true(c->count < sizeof(c->list) / sizeof(c->list[0]));
	c->list[c->count].start = m->start;
	c->list[c->count].end = m->end;
	c->list[c->count].offset = m->file_offset;
	c->list[c->count].inode = m->name.inode;
	c->list[c->count].major = m->name.device_major;
	c->list[c->count].minor = m->name.device_minor;
	c->list[c->count].deleted = m->name.deleted;
	snprintf(c->list[c->count++].path, sizeof(c->list[0].path), "%.*s", (int)m->name.path_size,
		 m->name.path);
}

/* However the kernel is asked, it is what the text says. */
static void test_maps_of_process(void **state)
{
	(void)state;
	static struct code asked, read;
	struct procfs_mapping m;
	char *line = NULL, path[] = "/tmp/culprit maps XXXXXX";
	int fd = mkstemp(path);
	size_t room = 0;
	void *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *file, *data;

	assert_int_equal(ftruncate(fd, 16384), 0);
	file = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 8192);
	data = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(code != MAP_FAILED && file != MAP_FAILED && data != MAP_FAILED);
	unlink(path);
	assert_int_equal(procfs_each_mapping(getpid(), take_code, &asked), 0);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (getline(&line, &room, maps) > 0)
		/* That one is none of the process's memory. */
		if (!procfs_parse_mapping(line, &m) &&
		    (m.name.path_size != 10 || memcmp(m.name.path, "[vsyscall]", 10) != 0))
			take_code(&read, &m);
	fclose(maps);
	free(line);
	assert_true(asked.count >= 5);
	/* Before Linux 6.11 it is among them. */
	assert_in_range(asked.count, read.count, read.count + 1);
	assert_memory_equal(asked.list, read.list, read.count * sizeof(read.list[0]));
	munmap(code, 8192);
	munmap(file, 4096);
	munmap(data, 4096);
	close(fd);
}

/* Which have neither code of their own nor children: less is read of them. */
static void test_kernel_threads(void **state)
{
	(void)state;
	struct procfs_status status;
	char comm[16] = "";
	FILE *f = fopen("/proc/2/comm", "r");

	assert_int_equal(procfs_read_status(getpid(), &status), 0);
	assert_false(status.is_kernel);
	assert_int_equal(processes_scan_one(processes, getpid(), 0), 0);
	assert_non_null(processes_newest(processes, getpid())->cgroup);
	/* In a container that number is somebody else's. */
	if (f && !fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	if (f)
		fclose(f);
	if (strcmp(comm, "kthreadd\n") != 0)
		skip();
	assert_int_equal(procfs_read_status(2, &status), 0);
	assert_true(status.is_kernel);
	assert_int_equal(processes_scan_one(processes, 2, 0), 0);
	assert_null(processes_newest(processes, 2)->cgroup);
	assert_int_equal(processes_newest(processes, 2)->comm_size, 8);
}

static void check_cgroup(const char *text, const char *want)
{
	char *got = procfs_parse_cgroup(text);

	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
	free(got);
}

static void test_cgroups(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	char path[200];
	const char *found;

	(void)state;
	check_cgroup("0::/system.slice/a.service\n", "/system.slice/a.service");
	check_cgroup("5:memory:/docker/x\n1:name=systemd:/\n0::/\n", "/docker/x");
	check_cgroup("5:memory:/docker/x\n0::/user.slice/u\n", "/user.slice/u");
	check_cgroup("0::/\n", "/");
	check_cgroup("", NULL);
	check_cgroup("garbage", NULL);
	snprintf(path, sizeof(path), "/system.slice/docker-%s.scope", id);
	assert_int_equal(subject_container(path, &found), 64);
	assert_memory_equal(found, id, 64);
	snprintf(path, sizeof(path), "/kubepods/pod1/%s0/x", id);
	assert_int_equal(subject_container(path, &found), 0);
}

static void check_subject(const struct process *life, const char *key, const char *want)
{
	size_t size;
	const char *value = subject_get(life->subject, life->subject_size, key, &size);

	if (!want) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	assert_int_equal(size, strlen(want));
	assert_memory_equal(value, want, size);
}

static void test_subjects(void **state)
{
	struct subject_labels labels = {0};
	struct process *life;
	struct diag diag;

	(void)state;
	fork_at(1, PID, 100);
	exec_at(PID, "odd\nname", 110);
	life = processes_newest(processes, PID);
	assert_int_equal(subject_labels_set(&labels, "run=a=b", &diag), 0);
	assert_int_equal(subject_labels_set(&labels, "gone=x", &diag), 0);
	assert_int_equal(subject_labels_set(&labels, "gone=", &diag), 0);
	assert_int_equal(subject_labels_set(&labels, "=x", &diag), -EINVAL);
	assert_int_equal(subject_labels_set(&labels, "nothing", &diag), -EINVAL);
	assert_int_equal(subject_of(life, true, &labels), 0);
	check_subject(life, "comm", "odd\nname");
	check_subject(life, "pid", "5000000");
	check_subject(life, "label.run", "a=b");
	check_subject(life, "label.gone", NULL);
	subject_labels_free(&labels);
}

/* A name that no room is left for is left out, and nothing else; it is told, once. */
static void test_long_cgroup(void **state)
{
	static char cgroup[SUBJECT_MAX_BYTES];
	struct subject_labels labels = {0};
	struct process *life;
	struct diag diag;
	char label[256];

	(void)state;
	fork_at(1, PID, 100);
	exec_at(PID, "deep", 110);
	life = processes_newest(processes, PID);
	memset(cgroup, 'a', sizeof(cgroup) - 1);
	memcpy(cgroup, "/docker-", 8);
	memset(cgroup + 8, '5', 64);
	cgroup[72] = '/';
	free(life->cgroup);
	life->cgroup = strdup(cgroup);
	assert_int_equal(subject_labels_set(&labels, "run=deep", &diag), 0);
	assert_int_equal(subject_of(life, true, &labels), 1);
	assert_int_equal(subject_of(life, true, &labels), 0);
	check_subject(life, "comm", "deep");
	check_subject(life, "pid", "5000000");
	check_subject(life, "label.run", "deep");
	check_subject(life, "cgroup", NULL);
	memset(cgroup, '5', 64);
	cgroup[64] = 0;
	check_subject(life, "container", cgroup);

	/* As many labels as there is room for, whatever cgroup a process has. */
	for (int i = 0; i < SUBJECT_LABELS_MAX; i++) {
		snprintf(label, sizeof(label), "l%d=%0200d", i, i);
		if (subject_labels_set(&labels, label, &diag))
			break;
	}
	assert_in_range(labels.count, 5, SUBJECT_LABELS_MAX - 1);
	assert_non_null(strstr(diag.text, "bytes"));
	assert_int_equal(subject_labels_set(&labels, "run=again", &diag), 0);
	free(life->subject);
	life->subject = NULL;
	assert_int_equal(subject_of(life, true, &labels), 1);
	check_subject(life, "label.run", "again");
	subject_labels_free(&labels);
}

static void take_fork(pid_t pid, pid_t parent, uint64_t time_ns)
{
	const struct sideband_record r = {
		.type = SIDEBAND_FORK, .pid = pid, .tid = pid, .ppid = parent, .time_ns = time_ns};

	processes_take(processes, &r);
}

static int note_pid(void *arg, pid_t pid)
{
	pid_t *last = arg;

	*last = pid;
	return 0;
}

static int count_pid(void *arg, pid_t pid)
{
	(void)pid;
	++*(unsigned *)arg;
	return 0;
}

/* A child of a child of a child, many times: to look at all for each would take minutes. */
static void test_long_chain(void **state)
{
	const pid_t root = 0x7f000000;
	const int length = 150000;
	struct descendants *d = descendants_new(processes, &root, 1);
	unsigned told = 0;

	(void)state;
	assert_non_null(d);
	for (int i = 1; i <= length; i++)
		fork_at(root + i - 1, root + i, 10);
	assert_int_equal(descendants_find(d, count_pid, &told), 0);
	assert_int_equal(told, length);
	assert_int_equal(descendants_count(d), length);
	assert_int_equal(descendants_find(d, count_pid, &told), 0);
	assert_int_equal(told, length);
	descendants_free(d);
}

/* A process may name its threads as it likes: past so many names a sample has none. */
static void test_so_many_threads(void **state)
{
	struct wire_name name = {{0}};
	struct process *life;

	(void)state;
	fork_at(1, PID, 10);
	life = processes_newest(processes, PID);
	assert_non_null(life);
	for (long i = 1; i <= SUBJECT_THREADS_MAX + 10; i++) {
		snprintf((char *)name.half, sizeof(name.half), "thread %ld", i);
		assert_int_equal(subject_thread(life, &name),
				 i > SUBJECT_THREADS_MAX ? -ENOSPC : i);
	}
	snprintf((char *)name.half, sizeof(name.half), "thread 1");
	assert_int_equal(subject_thread(life, &name), 1);
}

static void note_drop(void *arg, pid_t pid)
{
	*(uint32_t *)arg += (uint32_t)pid;
}

/* Those that are forked between two looks too, also by somebody who is gone by then. */
static void test_descendants(void **state)
{
	const pid_t root = 0x7f000001, none = 0x7f000010;
	struct descendants *d = descendants_new(processes, &root, 1);
	pid_t last = 0;

	(void)state;
	assert_non_null(d);
	take_fork(root + 1, root, 10);
	take_fork(root + 2, root + 1, 20);
	take_fork(none + 1, none, 20);
	assert_int_equal(descendants_find(d, note_pid, &last), 0);
	assert_int_equal(descendants_count(d), 2);
	/* Each is told once. */
	last = 0;
	assert_int_equal(descendants_find(d, note_pid, &last), 0);
	assert_int_equal(last, 0);
	take_fork(root + 3, root + 2, 30);
	assert_int_equal(descendants_find(d, note_pid, &last), 0);
	assert_int_equal(last, root + 3);
	assert_int_equal(descendants_count(d), 3);
	/* None of these processes is there: the numbers are beyond the kernel's. */
	last = 0;
	descendants_ended(d, note_drop, &last);
	assert_int_equal((uint32_t)last, 3u * (uint32_t)root + 6);
	descendants_free(d);
	/* A number that went on to somebody else's child is not theirs any more. */
	d = descendants_new(processes, &root, 1);
	take_fork(getpid(), root, 40);
	assert_int_equal(descendants_find(d, note_pid, &last), 0);
	last = 0;
	descendants_ended(d, note_drop, &last);
	assert_int_equal((uint32_t)last, 3u * (uint32_t)root + 6);
	take_fork(getpid(), none, 50);
	last = 0;
	descendants_ended(d, note_drop, &last);
	assert_int_equal((uint32_t)last, 3u * (uint32_t)root + 6 + (uint32_t)getpid());
	descendants_free(d);
}

static int setup(void **state)
{
	(void)state;
	files = files_new(NULL);
	processes = files ? processes_new(files) : NULL;
	return processes ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	processes_free(processes);
	files_free(files);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_long_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lives, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descendants, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_so_many_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads_are_their_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_ended_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_execs_without_end_are_bounded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_lost_records_ask_for_a_scan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_of_this_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_read_is_of_the_life_that_is_meant,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_looks_are_rationed, setup, teardown),
		cmocka_unit_test(test_maps_lines),
		cmocka_unit_test(test_maps_of_process),
		cmocka_unit_test_setup_teardown(test_kernel_threads, setup, teardown),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test_setup_teardown(test_subjects, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
