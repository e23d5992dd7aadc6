/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The interpreter in user space: long windows of this program's own code end as the processor ends
 * them, several hosts at once share nothing, and limits hold. That it computes what the processor
 * does, instruction by instruction, is tests/system/interpret.sh's business.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "micro/interpret_fixed.h"
#include "micro/interpret_host.h"
#include "micro/translate.h"

#define KEYS	    3000
#define SEED	    12345
#define STACK_WORDS 4096
#define MICROS	    65536
#define STARTS	    4096
#define LONG	    100000
#define SAVED	    0x5afe5afe5afe5af0u /* in registers that a function must leave as they were */

extern const char __executable_start, _end; /* of the linker */

#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined")))

static PLAIN void sift(uint64_t *heap, uint64_t at, uint64_t count)
{
	for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
		uint64_t key = heap[at];

		if (child + 1 < count && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= key)
			return;
		heap[at] = heap[child];
		heap[child] = key;
	}
}

static PLAIN uint64_t steps(uint64_t n)
{
	return n <= 1 ? 0 : 1 + steps(n & 1 ? 3 * n + 1 : n / 2);
}

/* Draws keys, sorts them, and sums up: branches, calls, recursion, divisions, a string operation.
 */
static PLAIN uint64_t work(uint64_t *keys, uint64_t count, uint64_t seed)
{
	uint64_t sum = 0, left = count, *to = keys;

	__asm__ volatile("rep stosq" : "+D"(to), "+c"(left) : "a"(seed) : "memory");
	for (uint64_t i = 0; i < count; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		keys[i] ^= seed % (1000003 + i);
	}
	for (uint64_t i = count / 2; i-- > 0;)
		sift(keys, i, count);
	for (uint64_t i = count; i-- > 1;) {
		uint64_t key = keys[0];

		keys[0] = keys[i];
		keys[i] = key;
		sift(keys, 0, i);
	}
	for (uint64_t i = 0; i < count; i++)
		sum = sum * 31 + keys[i];
	return sum + steps(27 + sum % 100);
}

/* A run of the work, interpreted. */
struct run {
	uint64_t keys[KEYS], stack[STACK_WORDS]; /* nobody writes these but the host's window */
	uint64_t seed, transfers, loads;
	struct interpret_host *host;
	struct interpret_state end;
	enum wire_end reason;
};

static struct run runs[2];
static uint64_t sorted[2][KEYS], sums[2]; /* natively */

/* This program's code, decoded as it was come to. */
static struct {
	struct micro_decoder *decoder;
	struct wire_strip *strips;
	struct wire_micro micros[MICROS];
	uint64_t starts[STARTS];
	uint32_t micro_count, start_count;
} code;

static uint64_t base(void)
{
	return (uint64_t)(uintptr_t)&__executable_start;
}

static uint64_t size(void)
{
	return (uint64_t)(&_end - &__executable_start);
}

static int read_memory(void *context, void *to, size_t bytes, uint64_t address)
{
	(void)context;
	if (address < base() || address - base() > size() - bytes)
		return -1;
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return 0;
}

static const struct wire_strip *find_strip(void *context, struct wire_strip_key key)
{
	(void)context;
	return &code.strips[key.number];
}

static const struct wire_micro *find_micro(void *context, uint32_t index)
{
	(void)context;
	return index < code.micro_count ? &code.micros[index] : NULL;
}

static int find_mapping(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
			uint64_t *ret_end, uint64_t *ret_shift)
{
	(void)context;
	if (address - base() >= size())
		return WIRE_END_ANONYMOUS;
	*ret_slot = 1;
	*ret_begin = base();
	*ret_end = base() + size();
	*ret_shift = 0 - base();
	return 0;
}

static void count_transfer(void *context, struct wire_place from, struct wire_place to)
{
	struct run *r = context;
	(void)from;
	(void)to;
	r->transfers++;
}

static void count_load(void *context, struct wire_place at, uint64_t address)
{
	struct run *r = context;
	(void)at;
	r->loads += address >= (uintptr_t)r->keys && address < (uintptr_t)(r->keys + KEYS);
}

/* Where the window came to code that is not decoded, an instruction begins. */
static void decode(uint32_t offset)
{
	uint32_t at = code.start_count++, number = offset >> WIRE_STRIP_BITS;
	uint64_t begin = (uint64_t)number << WIRE_STRIP_BITS, left = size() - begin;
	static struct wire_micro micros[WIRE_STRIP_BYTES];
	struct wire_strip *s = &code.strips[number];
	struct micro_code source = {(const uint8_t *)(uintptr_t)(base() + begin), begin,
				    left < WIRE_STRIP_BYTES + 16 ? left : WIRE_STRIP_BYTES + 16,
				    code.starts, code.start_count};

	assert_true(at < STARTS);
	for (; at > 0 && code.starts[at - 1] > offset; at--)
		code.starts[at] = code.starts[at - 1];
	code.starts[at] = offset;
	micro_translate_strip(code.decoder, &source, number, s, micros);
	assert_true(code.micro_count + s->count <= MICROS);
	s->first = code.micro_count;
	memcpy(code.micros + code.micro_count, micros, s->count * sizeof(*micros));
	code.micro_count += s->count;
}

static void begin(struct run *r, const struct interpret_limits *limits)
{
	const struct interpret_calls calls = {
		r, read_memory, find_strip, find_micro, find_mapping, count_transfer, count_load};
	struct interpret_registers registers = {.pc = (uintptr_t)work, .flags = 0x202};

	r->transfers = r->loads = 0;
	for (int i = 0; i < 16; i++)
		registers.gpr[i] = SAVED + (uint64_t)i;
	registers.gpr[4] = (uintptr_t)&r->stack[STACK_WORDS - 9]; /* to return to 0 */
	registers.gpr[7] = (uintptr_t)r->keys;
	registers.gpr[6] = KEYS;
	registers.gpr[2] = r->seed;
	assert_int_equal(interpret_host_new(&calls, limits, &r->host), 0);
	interpret_host_begin(r->host, &registers);
}

/* Goes on for so many instructions, or to the end: then false. */
static int go_on(struct run *r, uint64_t instructions)
{
	uint64_t before = 0, done = r->end.instructions;

	do {
		r->reason = interpret_host_run(r->host, instructions - before, NULL);
		interpret_host_get(r->host, &r->end);
		before = r->end.instructions - done;
		if (r->reason == WIRE_END_COLD)
			decode(r->end.place.offset);
	} while (r->reason == WIRE_END_COLD);
	return r->reason == WIRE_END_FULL;
}

/* It returned, with what the processor computed in registers and memory, and wrote nothing. */
static void expect_native_end(struct run *r, unsigned which)
{
	static const int saved[] = {3, 5, 12, 13, 14, 15};
	static uint64_t keys[KEYS];
	const struct interpret_registers *e = &r->end.registers;

	assert_int_equal(r->reason, WIRE_END_ANONYMOUS);
	assert_true(r->end.instructions > LONG);
	assert_true(e->pc == 0);
	assert_true(r->end.known & 1);
	assert_true(e->gpr[0] == sums[which]);
	assert_true(e->gpr[4] == (uintptr_t)&r->stack[STACK_WORDS - 8]);
	for (unsigned i = 0; i < sizeof(saved) / sizeof(*saved); i++) {
		assert_true(r->end.known >> saved[i] & 1);
		assert_true(e->gpr[saved[i]] == SAVED + (uint64_t)saved[i]);
	}
	assert_int_equal(interpret_host_read(r->host, keys, sizeof(keys), (uintptr_t)r->keys), 0);
	assert_memory_equal(keys, sorted[which], sizeof(keys));
	for (unsigned i = 0; i < KEYS; i++)
		assert_true(r->keys[i] == 0);
	assert_true(r->loads > KEYS && r->transfers > KEYS);
	interpret_host_free(r->host);
	r->end.instructions = 0;
}

static const struct interpret_limits wide = {KEYS + 1000, 1 << 20};

static void a_long_window_ends_as_natively(void **state)
{
	(void)state;
	begin(&runs[0], &wide);
	assert_int_equal(go_on(&runs[0], LONG), 1);
	assert_true(runs[0].end.instructions == LONG);
	while (go_on(&runs[0], UINT64_MAX))
		;
	expect_native_end(&runs[0], 0);
}

static void hosts_take_turns(void **state)
{
	int more[2] = {1, 1};
	(void)state;
	begin(&runs[0], &wide);
	begin(&runs[1], &wide);
	while (more[0] || more[1]) {
		for (unsigned i = 0; i < 2; i++)
			if (more[i])
				more[i] = go_on(&runs[i], 997 + 10 * i);
	}
	expect_native_end(&runs[0], 0);
	expect_native_end(&runs[1], 1);
}

static void *run_all(void *arg)
{
	while (go_on(arg, LONG))
		;
	return NULL;
}

/* What they come to was decoded before, so they only read it. */
static void hosts_run_in_threads(void **state)
{
	pthread_t threads[2];
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(&runs[i], &wide);
		assert_int_equal(pthread_create(&threads[i], NULL, run_all, &runs[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	expect_native_end(&runs[0], 0);
	expect_native_end(&runs[1], 1);
}

static void expect_stores_end(const struct interpret_limits *limits)
{
	struct run *r = &runs[0];

	begin(r, limits);
	assert_int_equal(go_on(r, UINT64_MAX), 0);
	assert_int_equal(r->reason, WIRE_END_STORES);
	interpret_host_free(r->host);
	r->end.instructions = 0;
}

/* Of words; of repetitions; and the kernel's own. */
static void limits_end_windows(void **state)
{
	struct interpret_limits words = {KEYS - 1, 1 << 20}, turns = {KEYS + 1000, KEYS - 1};
	struct interpret_limits many = {(size_t)INTERPRET_HOST_WORDS_MAX + 1, 1};
	struct interpret_calls none = {0};
	struct interpret_host *h;
	(void)state;
	expect_stores_end(&words);
	expect_stores_end(&turns);
	expect_stores_end(NULL);
	assert_int_equal(interpret_host_new(&none, &many, &h), -EINVAL);
}

/* A window knows nothing of the one before it, however large that was. */
static void windows_begin_anew(void **state)
{
	struct run *r = &runs[0];
	struct interpret_registers registers = {.pc = (uintptr_t)work};
	uint64_t key = 1;
	(void)state;
	begin(r, &wide);
	while (go_on(r, UINT64_MAX))
		;
	assert_int_equal(interpret_host_read(r->host, &key, 8, (uintptr_t)&r->keys[7]), 0);
	assert_true(key != 0);
	interpret_host_begin(r->host, &registers);
	assert_int_equal(interpret_host_read(r->host, &key, 8, (uintptr_t)&r->keys[7]), 0);
	assert_true(key == 0);
	assert_int_equal(interpret_host_read(r->host, &key, 8, 16), -EFAULT);
	interpret_host_free(r->host);
	r->end.instructions = 0;
}

static int set_up(void **state)
{
	struct diag diag;
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		runs[i].seed = SEED + i;
		sums[i] = work(sorted[i], KEYS, SEED + i);
	}
	code.strips = calloc((size() >> WIRE_STRIP_BITS) + 1, sizeof(*code.strips));
	return code.strips ? micro_decoder_new(EM_X86_64, &code.decoder, &diag) : -ENOMEM;
}

static int tear_down(void **state)
{
	(void)state;
	free(code.strips);
	micro_decoder_free(code.decoder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_window_ends_as_natively),
		cmocka_unit_test(hosts_take_turns),
		cmocka_unit_test(hosts_run_in_threads),
		cmocka_unit_test(limits_end_windows),
		cmocka_unit_test(windows_begin_anew),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
