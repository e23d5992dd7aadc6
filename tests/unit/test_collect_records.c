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
#include <linux/perf_event.h>
#include <unistd.h>

#include "collect/host/cpus.h"
#include "collect/process/record_budget.h"
#include "collect/process/user_share.h"
#include "collect/process/rings.h"
#include "collect/process/sideband.h"
#include "util/buf.h"

static struct buf record;
static bool build_ids = true;

static void begin(uint32_t type, uint16_t misc)
{
	buf_clear(&record);
	buf_append_u32(&record, type);
	buf_append_u32(&record, misc); /* the size, above it, is set by parse */
}

static int parse(uint64_t time, struct sideband_record *ret)
{
	struct perf_event_header *h = (void *)record.data;

	buf_append_u64(&record, time);
	h = (void *)record.data;
	h->size = (uint16_t)record.size;
	return sideband_parse(record.data, record.size, build_ids, ret);
}

static void test_mmap2(void **state)
{
	struct sideband_record r;
	uint8_t id[20];

	(void)state;
	memset(id, 0xab, sizeof(id));
	begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	buf_append_u32(&record, 12);
	buf_append_u32(&record, 13);
	buf_append_u64(&record, 0x1000);
	buf_append_u64(&record, 0x2000);
	buf_append_u64(&record, 0x3000);
	buf_append_u32(&record, 20);
	buf_append(&record, id, 20);
	buf_append_u64(&record, 5);
	buf_append(&record, "/usr/bin/x\0\0\0\0\0\0", 16);
	assert_int_equal(parse(77, &r), 0);
	assert_int_equal(r.type, SIDEBAND_MMAP);
	assert_int_equal(r.time_ns, 77);
	assert_int_equal(r.pid, 12);
	assert_int_equal(r.address, 0x1000);
	assert_int_equal(r.size, 0x2000);
	assert_int_equal(r.file_offset, 0x3000);
	assert_int_equal(r.build_id_size, 20);
	assert_memory_equal(r.build_id, id, 20);
	assert_int_equal(r.name_size, 10);
	assert_memory_equal(r.name, "/usr/bin/x", 10);
	/* The mark of another listener's record: what follows are the file's numbers all the same.
	 */
	build_ids = false;
	record.size -= 8;
	assert_int_equal(parse(77, &r), 0);
	build_ids = true;
	assert_int_equal(r.build_id_size, 0);
	assert_int_equal(r.device_major, 20);
	assert_int_equal(r.device_minor, 0xabababab);
}

static void test_exec_and_ksymbol(void **state)
{
	struct sideband_record r;

	(void)state;
	begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	buf_append_u32(&record, 7);
	buf_append_u32(&record, 7);
	buf_append(&record, "a\nb\0\0\0\0\0", 8);
	assert_int_equal(parse(1, &r), 0);
	assert_true(r.exec);
	assert_int_equal(r.name_size, 3);
	begin(PERF_RECORD_KSYMBOL, 0);
	buf_append_u64(&record, 0xffffffffc0000000);
	buf_append_u32(&record, 100);
	buf_append_u32(&record, 1u << 16 | 1);
	buf_append(&record, "bpf_prog\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(parse(1, &r), 0);
	assert_int_equal(r.type, SIDEBAND_KSYMBOL);
	assert_true(r.gone);
	assert_int_equal(r.size, 100);
}

/* The kernel makes them 8 bytes longer than what it writes, for each further listener. */
static void test_overlong_ksymbol(void **state)
{
	struct sideband_record r;

	(void)state;
	for (int listeners = 0; listeners < 5; listeners++) {
		begin(PERF_RECORD_KSYMBOL, 0);
		buf_append_u64(&record, 0xffffffffc0000000);
		buf_append_u32(&record, 100);
		buf_append_u32(&record, 1);
		buf_append(&record, "bpf_prog\0\0\0\0\0\0\0\0", 16);
		for (int i = 0; i < listeners; i++)
			buf_append_u64(&record, i ? 0xdeadbeefdeadbeef : 77);
		assert_int_equal(parse(listeners ? 0xdeadbeefdeadbeef : 77, &r), 0);
		assert_int_equal(r.time_ns, 77);
		assert_int_equal(r.name_size, 8);
	}
}

/* Every truncation of a record, and sizes that lie, are refused or harmless. */
static void test_hostile(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_MMAP2,
					 PERF_RECORD_COMM,
					 PERF_RECORD_FORK,
					 PERF_RECORD_EXIT,
					 PERF_RECORD_KSYMBOL,
					 PERF_RECORD_LOST,
					 99};
	struct sideband_record r;
	uint8_t bytes[128];

	(void)state;
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		for (size_t size = 0; size <= sizeof(bytes); size++) {
			uint8_t *copy = malloc(size ?: 1); /* exact, so that a sanitizer sees */

			memset(bytes, 0xff, sizeof(bytes));
			memcpy(bytes, &types[t], 4);
			memcpy(copy, bytes, size);
			int got = sideband_parse(copy, size, size % 2, &r);
			assert_true(got == 0 || got == -EBADMSG || got == -ENOMSG);
			free(copy);
		}
}

static uint8_t ring[RINGS_BYTES], scratch[RINGS_RECORD_MAX];

/* A record of that size at tail, its bytes numbered, where left bytes were written. */
static const uint8_t *peek(uint64_t tail, uint16_t size, uint64_t left)
{
	struct perf_event_header h = {.type = PERF_RECORD_COMM, .size = size}, got;

	for (size_t i = sizeof(h); i < size; i++)
		ring[(tail + i) % sizeof(ring)] = (uint8_t)(i / 8);
	memcpy(ring + tail % sizeof(ring), &h, sizeof(h));
	const uint8_t *found = rings_peek(ring, tail, left, scratch, &got);

	if (found) {
		assert_memory_equal(found, &h, sizeof(h));
		for (size_t i = sizeof(h); i < size; i++)
			assert_int_equal(found[i], (uint8_t)(i / 8));
	}
	return found;
}

/* A ring is read up to its head, and no further whatever stands in it. */
static void test_rings(void **state)
{
	const uint64_t size = sizeof(ring), around = 7 * size - 8;

	(void)state;
	assert_ptr_equal(peek(0, 64, 64), ring);
	assert_ptr_equal(peek(size - 64, 64, size), ring + size - 64);
	assert_ptr_equal(peek(around, 16, 16), scratch);
	assert_ptr_equal(peek(around, 65528, size), scratch);
	assert_null(peek(64, 72, 64)); /* longer than what was written */
	assert_null(peek(64, 64, size + 8));
	assert_null(peek(64, 0, size)); /* no time in it */
	assert_null(peek(64, 8, size));
	assert_null(peek(64, 60, size));
}

static struct record_budget *budget;

static int read_user(pid_t pid, uid_t *ret)
{
	*ret = (uid_t)pid;
	return 0;
}

/* How many records of that type and those numbers are wanted of more than a process may have. */
static int wanted(uint32_t type, uint16_t misc, uint32_t first, uint32_t second, uint32_t third)
{
	struct {
		struct perf_event_header h;
		uint32_t numbers[3];
	} r = {{.type = type, .misc = misc, .size = sizeof(r)}, {first, second, third}};
	int count = 0;

	for (int i = 0; i < RECORD_BUDGET + 10; i++)
		count += rings_want(budget, &r.h, (const uint8_t *)&r, 1);
	return count;
}

/* Names and mappings are left out when they are too many; threads always are. */
static void test_wanted_records(void **state)
{
	const int all = RECORD_BUDGET + 10;

	(void)state;
	budget = record_budget_new(read_user);
	assert_non_null(budget);
	assert_int_equal(wanted(PERF_RECORD_COMM, 0, 10, 10, 0), RECORD_BUDGET);
	assert_int_equal(wanted(PERF_RECORD_COMM, 0, 11, 12, 0), 0);
	assert_int_equal(wanted(PERF_RECORD_MMAP2, 0, 13, 14, 0), RECORD_BUDGET);
	assert_int_equal(wanted(PERF_RECORD_MMAP2, 0, 10, 10, 0), 0);
	assert_int_equal(wanted(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 10, 10, 0), all);
	assert_int_equal(wanted(PERF_RECORD_FORK, 0, 15, 10, 15), all);
	assert_int_equal(wanted(PERF_RECORD_FORK, 0, 10, 10, 16), 0);
	assert_int_equal(wanted(PERF_RECORD_EXIT, 0, 10, 1, 10), all);
	assert_int_equal(wanted(PERF_RECORD_EXIT, 0, 10, 1, 16), 0);
	assert_int_equal(wanted(PERF_RECORD_LOST, 0, 10, 10, 0), all);
	record_budget_free(budget);
}

static int read_living(pid_t pid, uid_t *ret)
{
	*ret = (uid_t)pid;
	return pid < 100 ? 0 : -1;
}

/* Whose a process is that is gone by then is told by the record of its fork. */
static void test_forks_tell_of_users(void **state)
{
	int taken = 0;

	(void)state;
	budget = record_budget_new(read_living);
	assert_non_null(budget);
	for (uint32_t pid = 100; pid < 104; pid++)
		wanted(PERF_RECORD_FORK, 0, pid, 10, pid);
	for (uint32_t pid = 100; pid < 104; pid++)
		taken += wanted(PERF_RECORD_MMAP2, 0, pid, pid, 0);
	assert_int_equal(taken, USER_SHARE);
	assert_int_equal(wanted(PERF_RECORD_MMAP2, 0, 10, 10, 0), 0);
	assert_int_equal(wanted(PERF_RECORD_MMAP2, 0, 11, 11, 0), RECORD_BUDGET);
	record_budget_free(budget);
}

static void test_cpu_lists(void **state)
{
	static struct cpu_list l;

	(void)state;
	assert_int_equal(cpus_parse("0-3,8\n", &l), 0);
	assert_int_equal(l.count, 5);
	assert_int_equal(l.number[4], 8);
	assert_int_equal(cpus_parse("5", &l), 0);
	assert_int_equal(l.count, 1);
	static const char *const bad[] = {"",	"x",	"3-1",	   "1,1",    "-1",
					  "0-", "0,,1", "0-99999", "0-8192", "1 2"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpus_parse(bad[i], &l), -EINVAL);
}

static int setup(void **state)
{
	(void)state;
	buf_init(&record, 65536);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	buf_free(&record);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mmap2),
		cmocka_unit_test(test_exec_and_ksymbol),
		cmocka_unit_test(test_overlong_ksymbol),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_wanted_records),
		cmocka_unit_test(test_forks_tell_of_users),
		cmocka_unit_test(test_cpu_lists),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
