/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The plugin that qemu loads: tells, through the memory of wire.h, which blocks each thread runs
 * and which memory they access. It runs in the traced program's process, prints nothing and ends
 * nothing: what it cannot tell it counts.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sim/wire.h"

/*
 * Version 1 of QEMU's interface for plugins, as far as it is used here: after QEMU's documentation
 * (docs/devel/tcg-plugins), since Debian's package has plugins but not their header.
 */
#define QEMU_PLUGIN_API 1

typedef uint64_t qemu_id;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	int smp_vcpus, max_vcpus;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { QEMU_NO_REGISTERS = 0 };
enum { QEMU_MEMORY_BOTH = 3 };

void qemu_plugin_register_vcpu_exit_cb(qemu_id id, void (*f)(qemu_id id, unsigned vcpu));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_id id,
					   void (*f)(qemu_id id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*f)(unsigned vcpu, void *arg), int flags,
					  void *arg);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*f)(unsigned vcpu, uint32_t info, uint64_t address,
						void *arg),
				      int flags, int accesses, void *arg);
void qemu_plugin_register_vcpu_syscall_cb(qemu_id id,
					  void (*f)(qemu_id id, unsigned vcpu, int64_t number,
						    uint64_t a1, uint64_t a2, uint64_t a3,
						    uint64_t a4, uint64_t a5, uint64_t a6,
						    uint64_t a7, uint64_t a8));
void qemu_plugin_register_atexit_cb(qemu_id id, void (*f)(qemu_id id, void *arg), void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
bool qemu_plugin_mem_is_store(uint32_t info);

#define VCPUS	   4096
#define AREAS	   4096
#define PAGES_SEEN (1u << 14)

__attribute__((visibility("default"))) extern const int qemu_plugin_version;
const int qemu_plugin_version = QEMU_PLUGIN_API;
__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv);

/* An executable mapping of this process. */
struct area {
	uint64_t start, end, offset;
	uint32_t record;
};

static struct wire_head *head;
static uint8_t *code;
static struct wire_lane *lanes[VCPUS]; /* of this process's threads; NULL: none yet */
static bool refused[VCPUS];
static struct area areas[AREAS];
static unsigned area_count;
static bool areas_stale = true;
static uint64_t pages_seen[PAGES_SEEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over areas and pages_seen */

static void add_one(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static uint64_t *ring_of(const struct wire_lane *lane)
{
	return (uint64_t *)((char *)head + WIRE_RINGS_AT) +
	       (uint64_t)(lane - head->lanes) * WIRE_RING_WORDS;
}

static void show(struct wire_lane *lane)
{
	__atomic_store_n(&lane->shown, lane->written, __ATOMIC_RELEASE);
}

/* A lane for a thread; NULL: all are taken. */
static struct wire_lane *claim(void)
{
	for (unsigned i = 0; i < WIRE_LANES; i++) {
		struct wire_lane *lane = &head->lanes[i];
		uint32_t is = WIRE_FREE;

		if (!__atomic_compare_exchange_n(&lane->state, &is, WIRE_RUNS, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		lane->process = (uint32_t)getpid();
		lane->thread = (uint32_t)syscall(SYS_gettid);
		return lane;
	}
	return NULL;
}

static struct wire_lane *lane_of(unsigned vcpu)
{
	if (vcpu >= VCPUS || refused[vcpu])
		return NULL;
	if (!lanes[vcpu]) {
		lanes[vcpu] = claim();
		refused[vcpu] = !lanes[vcpu];
		if (refused[vcpu])
			add_one(&head->threads_refused);
	}
	return lanes[vcpu];
}

static void wait_for_room(struct wire_lane *lane)
{
	show(lane);
	/* Room until it is asked for again. */
	while (lane->written - __atomic_load_n(&lane->read, __ATOMIC_ACQUIRE) >
		       WIRE_RING_WORDS - WIRE_PUBLISHED &&
	       !__atomic_load_n(&head->stop, __ATOMIC_RELAXED))
		usleep(100);
}

static inline void put(unsigned vcpu, uint64_t word)
{
	struct wire_lane *lane = vcpu < VCPUS && lanes[vcpu] ? lanes[vcpu] : lane_of(vcpu);

	if (!lane)
		return;
	if (lane->written % WIRE_PUBLISHED == 0)
		wait_for_room(lane);
	if (__atomic_load_n(&head->stop, __ATOMIC_RELAXED))
		return;
	ring_of(lane)[lane->written % WIRE_RING_WORDS] = word;
	lane->written++;
}

static void on_block(unsigned vcpu, void *arg)
{
	put(vcpu, (uint64_t)WIRE_BLOCK << WIRE_KIND_SHIFT | (uintptr_t)arg);
}

static void on_memory(unsigned vcpu, uint32_t info, uint64_t address, void *arg)
{
	uint64_t size = qemu_plugin_mem_size_shift(info);

	put(vcpu, (uintptr_t)arg << WIRE_INDEX_SHIFT | (uint64_t)(size & 7) << WIRE_SIZE_SHIFT |
			  (uint64_t)qemu_plugin_mem_is_store(info) << WIRE_STORE_SHIFT |
			  (address & ((UINT64_C(1) << WIRE_ADDRESS_BITS) - 1)));
}

/* Room for a record; NULL: there is none. */
static void *record_new(uint32_t kind, uint64_t bytes, struct wire_record_head **ret)
{
	uint64_t whole = (bytes + 7) / 8 * 8, at;
	struct wire_record_head *r;

	at = __atomic_fetch_add(&head->code_used, whole, __ATOMIC_ACQ_REL);
	if (at + whole > WIRE_CODE_BYTES) {
		__atomic_store_n(&head->code_full, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	r = (struct wire_record_head *)(code + at);
	r->kind = kind;
	*ret = r;
	return r;
}

static void record_end(struct wire_record_head *r, uint64_t bytes)
{
	__atomic_store_n(&r->bytes, (uint32_t)((bytes + 7) / 8 * 8), __ATOMIC_RELEASE);
}

static uint32_t number_of(const void *record)
{
	return (uint32_t)(((const uint8_t *)record - code) / 8);
}

static uint32_t add_mapping(const char *path, bool writable)
{
	struct wire_record_head *r;
	size_t size = strlen(path);
	struct wire_mapping *m = record_new(WIRE_RECORD_MAPPING, sizeof(*m) + size, &r);

	if (!m)
		return 0;
	m->path_bytes = (uint32_t)size;
	m->writable = writable;
	memcpy(m + 1, path, size);
	record_end(r, sizeof(*m) + size);
	return number_of(m);
}

/* The one that the area had before, where it had one: paths come again and again. */
static uint32_t find_mapping(const char *path, bool writable)
{
	for (unsigned i = 0; i < area_count; i++) {
		const struct wire_mapping *m = (const void *)(code + (uint64_t)areas[i].record * 8);

		if (areas[i].record && m->path_bytes == strlen(path) && m->writable == writable &&
		    !memcmp(m + 1, path, m->path_bytes))
			return areas[i].record;
	}
	return add_mapping(path, writable);
}

/* qemu maps the program's memory as it is, readable but not executable: code is where it says. */
static void read_areas(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	static struct area new[AREAS];
	char line[5000], mode[8], path[4200];
	unsigned long long start, end, offset;
	unsigned count = 0;

	areas_stale = false;
	while (f && count < AREAS && fgets(line, sizeof(line), f)) {
		path[0] = '\0';
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %4199[^\n]", &start, &end, mode,
			   &offset, path) < 4 ||
		    mode[0] != 'r')
			continue;
		new[count++] =
			(struct area){start, end, offset, find_mapping(path, mode[1] == 'w')};
	}
	if (f)
		fclose(f);
	memcpy(areas, new, count * sizeof(*new));
	area_count = count;
}

static const struct area *find_area(uint64_t host)
{
	if (areas_stale)
		read_areas();
	for (unsigned i = 0; i < area_count; i++)
		if (host >= areas[i].start && host < areas[i].end)
			return &areas[i];
	return NULL;
}

/* What is around code, for the wrong path: each page once. */
static void add_page(uint64_t address, uint64_t host, const struct area *a)
{
	uint64_t page = address / WIRE_PAGE * WIRE_PAGE, from = host - (address - page);
	uint64_t *seen = &pages_seen[page / WIRE_PAGE % PAGES_SEEN];
	struct wire_record_head *r;
	struct wire_page *p;

	if (*seen == page || !a || from < a->start || from + WIRE_PAGE > a->end)
		return;
	*seen = page;
	p = record_new(WIRE_RECORD_PAGE, sizeof(*p) + WIRE_PAGE, &r);
	if (!p)
		return;
	p->address = page;
	p->offset = a->offset + (from - a->start);
	p->mapping = a->record;
	memcpy(p + 1, (const void *)from, WIRE_PAGE);
	record_end(r, sizeof(*p) + WIRE_PAGE);
}

static uint32_t add_block(const struct qemu_plugin_tb *tb, size_t count)
{
	struct wire_record_head *r;
	struct wire_block *b;
	size_t bytes = 0, at = 0;
	uint64_t address = qemu_plugin_tb_vaddr(tb),
		 host = (uintptr_t)qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	const struct area *a = find_area(host);
	uint8_t *to;

	for (size_t i = 0; i < count; i++)
		bytes += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	add_page(address, host, a);
	b = record_new(WIRE_RECORD_BLOCK, sizeof(*b) + count + bytes, &r);
	if (!b)
		return 0;
	b->address = address;
	b->mapping = a ? a->record : 0;
	b->offset = a ? a->offset + (host - a->start) : 0;
	b->count = (uint16_t)count;
	b->bytes = (uint16_t)bytes;
	to = (uint8_t *)(b + 1);
	for (size_t i = 0; i < count; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = qemu_plugin_insn_size(insn);

		to[i] = (uint8_t)size;
		memcpy(to + count + at, qemu_plugin_insn_data(insn), size);
		at += size;
	}
	record_end(r, sizeof(*b) + count + bytes);
	return number_of(b);
}

static void on_translation(qemu_id id, struct qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	uint32_t number;

	(void)id;
	if (!count || count > WIRE_BLOCK_MAX)
		return;
	pthread_mutex_lock(&lock);
	number = add_block(tb, count);
	pthread_mutex_unlock(&lock);
	if (!number)
		return;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_NO_REGISTERS,
					     (void *)(uintptr_t)number);
	for (size_t i = 0; i < count; i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_memory,
						 QEMU_NO_REGISTERS, QEMU_MEMORY_BOTH,
						 (void *)(uintptr_t)i);
}

static void on_syscall(qemu_id id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2,
		       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct wire_lane *lane = lane_of(vcpu);

	(void)id, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
	/* It may last: what was done so far is to be seen. */
	if (lane)
		show(lane);
	if (number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect ||
	    number == SYS_mremap)
		areas_stale = true;
	else if (number == SYS_execve || number == SYS_execveat)
		add_one(&head->execs);
}

static void on_vcpu_exit(qemu_id id, unsigned vcpu)
{
	struct wire_lane *lane = vcpu < VCPUS ? lanes[vcpu] : NULL;

	(void)id;
	if (!lane)
		return;
	show(lane);
	lanes[vcpu] = NULL;
	__atomic_store_n(&lane->state, WIRE_ENDED, __ATOMIC_RELEASE);
}

static void end_all(void)
{
	for (unsigned i = 0; i < VCPUS; i++)
		if (lanes[i])
			on_vcpu_exit(0, i);
}

static void on_end(qemu_id id, void *arg)
{
	(void)id, (void)arg;
	end_all();
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* The child has lanes of its own. */
static void in_child(void)
{
	pthread_mutex_unlock(&lock);
	memset(lanes, 0, sizeof(lanes));
	memset(refused, 0, sizeof(refused));
	add_one(&head->forks);
}

static int map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, WIRE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return -1;
	head = at;
	code = (uint8_t *)at + WIRE_CODE_AT;
	return head->magic == WIRE_MAGIC ? 0 : -1;
}

int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv)
{
	if (argc != 1 || strncmp(argv[0], "to=", 3) != 0 || info->system_emulation ||
	    strcmp(info->target_name, "x86_64") != 0 || map(argv[0] + 3))
		return -1;
	/* A number of 0 is none. */
	add_mapping("", false);
	pthread_atfork(before_fork, after_fork, in_child);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
