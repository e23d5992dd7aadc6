/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <asm/prctl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "cmd/counts.h"
#include "collect/process/resolve.h"
#include "counting/gate.h"
#include "counting/report.h"
#include "instrument/attach/implant.h"

#define FUNCTION 0x7f0000001000
#define COPY	 0x7f0000900000

/* What the resolver of samples knows copies by. */
static void test_name(void **state)
{
	(void)state;
	assert_string_equal(RESOLVER_COPIES, "/memfd:" IMPLANT_NAME);
}

static int make_gate(const char *bytes, size_t size, struct instrument_code *ret)
{
	uint8_t function[GATE_LOOKS_AT];

	memset(function, 0xcc, sizeof(function));
	memcpy(function, bytes, size);
	return gate_new(FUNCTION, function, COPY, ret);
}

static void test_gate(void **state)
{
	struct instrument_code c;

	(void)state;
	assert_int_equal(make_gate("\xc3", 1, &c), 0);
	assert_int_equal(instrument_code_check(&c), 0);
	assert_int_equal(c.patches[0].address, FUNCTION);
	assert_memory_equal(c.patches[0].after, "\xe9\xfb\xef\x8f\x00", 5);
	assert_int_equal(instrument_code_at_copy(&c, COPY)->original, FUNCTION);
	instrument_code_free(&c);
	/* Behind what marks a target of indirect calls. */
	assert_int_equal(make_gate("\xf3\x0f\x1e\xfa\xc3\x66\x66\x2e\x0f\x1f\x84", 11, &c), 0);
	assert_int_equal(c.patches[0].address, FUNCTION + 4);
	instrument_code_free(&c);
	/* It does something; there is no room; it is too far. */
	assert_int_equal(make_gate("\x55", 1, &c), -EOPNOTSUPP);
	assert_int_equal(make_gate("\x90\xc3", 2, &c), -EOPNOTSUPP);
	assert_int_equal(make_gate("\xc3\x48\x89\xf8\xc3", 5, &c), -EOPNOTSUPP);
	assert_int_equal(gate_new(FUNCTION,
				  (const uint8_t *)"\xc3\x0f\x1f\x80\0\0\0\0\0\0\0\0\0\0\0",
				  FUNCTION + (1ull << 32), &c),
			 -ERANGE);
}

#define NAPS 20 /* that a gate is seen to sleep before it is opened */

struct opener {
	uint64_t *table;
	long naps; /* of the thread at the gate, when it has not come there yet */
	char status[64];
};

static long count_naps(const char *path)
{
	char line[256];
	long naps = -1;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "voluntary_ctxt_switches: %ld", &naps);
	if (f)
		fclose(f);
	return naps;
}

/* Opens the gate when who waits there has slept, or given up. */
static void *open_gate(void *arg)
{
	struct opener *o = arg;
	volatile uint64_t *table = o->table;

	while (count_naps(o->status) < o->naps + NAPS && table[GATE_PASSED] != UINT64_MAX)
		usleep(100);
	if (table[GATE_PASSED] != UINT64_MAX)
		table[GATE_PASSED] = 1;
	return NULL;
}

/* Goes through a gate; false: a register is not as it was. */
static bool go_through(const void *gate)
{
	const uint64_t in[9] = {11, 22, 33, 44, 55, 66, 77, 88, 99};
	const uint64_t *from = in;
	uint64_t out[9];

	/* Below the red zone. */
	__asm__ volatile("sub $128, %%rsp\n\t"
			 "mov 0(%[in]), %%rax\n\t"
			 "mov 8(%[in]), %%rcx\n\t"
			 "mov 16(%[in]), %%rdx\n\t"
			 "mov 24(%[in]), %%rsi\n\t"
			 "mov 32(%[in]), %%rdi\n\t"
			 "mov 40(%[in]), %%r8\n\t"
			 "mov 48(%[in]), %%r10\n\t"
			 "mov 56(%[in]), %%r11\n\t"
			 "mov 64(%[in]), %[in]\n\t"
			 "call *%[gate]\n\t"
			 "mov %%rax, 0(%[out])\n\t"
			 "mov %%rcx, 8(%[out])\n\t"
			 "mov %%rdx, 16(%[out])\n\t"
			 "mov %%rsi, 24(%[out])\n\t"
			 "mov %%rdi, 32(%[out])\n\t"
			 "mov %%r8, 40(%[out])\n\t"
			 "mov %%r10, 48(%[out])\n\t"
			 "mov %%r11, 56(%[out])\n\t"
			 "mov %[in], 64(%[out])\n\t"
			 "add $128, %%rsp\n\t"
			 : [in] "+b"(from)
			 : [out] "r"(out), [gate] "r"(gate)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r10", "r11", "cc", "memory");
	return !memcmp(in, out, sizeof(in));
}

/* A gate that is run: it sleeps until it is let on, and changes no register. */
static void test_gate_waits(void **state)
{
	uint64_t table[GATE_SLOTS] = {0}, gs;
	struct opener o = {.table = table};
	struct instrument_code c;
	pthread_t thread;
	bool same;

	(void)state;
	void *gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(gate != MAP_FAILED);
	assert_int_equal(make_gate("\xc3", 1, &c), 0);
	memcpy(gate, c.bytes, c.size);
	instrument_code_free(&c);
	snprintf(o.status, sizeof(o.status), "/proc/self/task/%d/status", (int)gettid());
	o.naps = count_naps(o.status);
	assert_true(o.naps >= 0);
	syscall(SYS_arch_prctl, ARCH_GET_GS, &gs);
	assert_int_equal(pthread_create(&thread, NULL, open_gate, &o), 0);
	syscall(SYS_arch_prctl, ARCH_SET_GS, table);
	same = go_through(gate);
	syscall(SYS_arch_prctl, ARCH_SET_GS, gs);
	pthread_join(thread, NULL);
	assert_true(same);
	assert_int_equal(table[GATE_ENTERED], 1);
	assert_int_equal(table[GATE_PASSED], 1);
	/* Open from now on. */
	table[GATE_PASSED] = UINT64_MAX;
	syscall(SYS_arch_prctl, ARCH_SET_GS, table);
	same = go_through(gate);
	syscall(SYS_arch_prctl, ARCH_SET_GS, gs);
	assert_true(same);
	assert_int_equal(table[GATE_ENTERED], 2);
	munmap(gate, 4096);
}

/* Counts are of the whole run if nothing that is counted anywhere ran uncounted. */
static void test_report(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNTING_MISSES; i++) {
		struct counting_report r = {0};

		assert_true(counting_is_whole(&r));
		counting_miss(&r, i, 0, NULL, "nothing happened");
		assert_true(counting_is_whole(&r));
		counting_miss(&r, i, 1, "/a/path", "why");
		counting_miss(&r, i, 2, NULL, "another reason");
		assert_int_equal(r.missed[i], 3);
		assert_string_equal(r.why[i].text, "/a/path: why");
		assert_int_equal(counting_is_whole(&r),
				 i == COUNTING_MISS_FILE || i == COUNTING_MISS_SUMS);
		/* By the same number, as reports tell of it. */
		assert_int_equal(counters_of_misses.count, COUNTING_MISSES);
		assert_non_null(counters_of_misses.counters[i].told.rest);
	}
	for (unsigned i = 0; i < COUNTING_LEFTS; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(counting_left_text(i), counting_left_text(k));
}

static char *told_of(const struct counting_report *r)
{
	FILE *before = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	assert_non_null(stderr);
	counts_tell(r, true, false);
	fclose(stderr);
	stderr = before;
	return text;
}

/* Of several, the reason that is told may be that of the first. */
static void test_told(void **state)
{
	struct counting_report r = {0}, crowd = {0};
	char *text;

	(void)state;
	counting_miss(&r, COUNTING_MISS_FILE, 1, "/a/path", "why");
	text = told_of(&r);
	assert_string_equal(text, "culprit: 1 file was not counted: /a/path: why\n");
	free(text);
	counting_miss(&r, COUNTING_MISS_FILE, 1, "/another/path", "another reason");
	text = told_of(&r);
	assert_string_equal(text, "culprit: 2 files were not counted, the first: /a/path: why\n");
	free(text);
	counting_miss(&crowd, COUNTING_MISS_TABLE, 2, NULL, "too many");
	text = told_of(&crowd);
	assert_string_equal(text, "culprit: 2 threads shared counters with others: too many\n"
				  "culprit: so the counts cover only part of the run\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),	   cmocka_unit_test(test_gate),
		cmocka_unit_test(test_gate_waits), cmocka_unit_test(test_report),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
