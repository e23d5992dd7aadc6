/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A file's functions: which are planned, where their copies lie, and what their counters say. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "counting/plans.h"
#include "db/batch.h"
#include "elf_file.h"
#include "image/worker/worker.h"
#include "workshop.h"

/* Three functions: one that is left alone, a loop, and one whose counters come behind the loop's;
 * and what loaders call. */
static const char source[] = ".text\n"
			     ".globl _start, loops, lost, _dl_debug_state\n"
			     ".type lost, @function\n"
			     "lost: incq %gs:8\n"
			     "ret\n"
			     ".size lost, . - lost\n"
			     ".p2align 4, 0x90\n"
			     ".type _dl_debug_state, @function\n"
			     "_dl_debug_state: ret\n"
			     ".size _dl_debug_state, . - _dl_debug_state\n"
			     ".p2align 4, 0x90\n"
			     ".type loops, @function\n"
			     "loops: movl $0, %eax\n"
			     "1: inc %eax\n"
			     "cmp $10, %eax\n"
			     "jne 1b\n"
			     "ret\n"
			     ".size loops, . - loops\n"
			     ".p2align 4, 0x90\n"
			     ".type _start, @function\n"
			     "_start: movl $60, %eax\n"
			     "movl $0, %edi\n"
			     "ret\n"
			     ".size _start, . - _start\n";
/* Of the loop: its block, that block's last instruction, and what follows. */
enum { LOOP = 5, LOOP_LAST = 10, LOOP_OUT = 12 };

#define ROOM 0x500000
#define SLOT 100

struct made {
	struct plans *plans;
	struct plans_facts facts;
	struct instrument_code codes[8];
	const struct instrument_code *loops, *start;
};

static void make_program(char path[96], const char *options)
{
	char command[128];

	snprintf(command, sizeof(command), "gcc -nostdlib -static -no-pie %s plans.s -o plans",
		 options);
	assert_int_equal(workshop_write("plans.s", source), 0);
	assert_int_equal(workshop_run(command), 0);
	snprintf(path, 96, "%s/plans", workshop_dir);
}

static int copy_to(struct made *m, uint64_t address)
{
	const struct instrument_destination at = {0, address, SLOT};

	for (uint32_t i = 0; i < m->facts.planned; i++)
		instrument_code_free(&m->codes[i]);
	return plans_copy(m->plans, &at, m->codes);
}

static void set_up(struct made *m)
{
	struct diag why;
	char path[96];

	make_program(path, "");
	memset(m, 0, sizeof(*m));
	assert_int_equal(plans_new(path, NULL, &m->plans, &m->facts, &why), 0);
	assert_int_equal(m->facts.planned, 2);
	assert_int_equal(copy_to(m, ROOM), 0);
	m->loops = &m->codes[0];
	m->start = &m->codes[1];
}

static void tear_down(struct made *m)
{
	for (uint32_t i = 0; i < m->facts.planned; i++)
		instrument_code_free(&m->codes[i]);
	plans_free(m->plans);
}

static void test_facts(void **state)
{
	struct made m;

	(void)state;
	set_up(&m);
	assert_int_equal(m.facts.functions, 3);
	assert_int_equal(m.facts.left[INSTRUMENT_WHY_SEGMENT], 1);
	/* What loaders call is the gate, and no copy. */
	assert_int_equal(m.facts.gate, m.loops->entry - 16);
	assert_int_equal(m.facts.slots, m.loops->slot_count + m.start->slot_count);
	assert_int_equal(m.facts.image.id.kind, IMAGE_BUILD_ID);
	tear_down(&m);
}

/* Each has room and counters of its own. */
static void test_copies(void **state)
{
	struct made m;

	(void)state;
	set_up(&m);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(instrument_code_check(&m.codes[i]), 0);
	assert_int_equal(m.loops->address, ROOM);
	assert_true(m.start->address >= ROOM + m.loops->size);
	assert_true(m.start->address + m.start->size <= ROOM + m.facts.bytes);
	assert_int_equal(m.loops->first_slot, SLOT);
	assert_int_equal(m.start->first_slot, SLOT + m.loops->slot_count);
	/* Where no jump reaches there are none, and that is no failure. */
	assert_int_equal(copy_to(&m, 1ull << 40), 0);
	assert_int_equal(m.loops->size, 0);
	assert_int_equal(m.start->size, 0);
	tear_down(&m);
}

/* One that calls another that has a copy, one that has none, and one through a register. */
static const char calling[] = ".text\n"
			      ".globl _start, called, lost\n"
			      ".type lost, @function\n"
			      "lost: incq %gs:8\n"
			      "ret\n"
			      ".size lost, . - lost\n"
			      ".p2align 4, 0x90\n"
			      ".type called, @function\n"
			      "called: xorl %eax, %eax\n"
			      "movl $1, %ecx\n"
			      "ret\n"
			      ".size called, . - called\n"
			      ".p2align 4, 0x90\n"
			      ".type _start, @function\n"
			      "_start: subq $8, %rsp\n"
			      "movl $1, %edi\n"
			      "call called\n"
			      "movl $1, %edi\n"
			      "call lost\n"
			      "movl $1, %edi\n"
			      "call *%rdx\n"
			      "addq $8, %rsp\n"
			      "ret\n"
			      ".size _start, . - _start\n";
enum { CALL = 9 }; /* of what has a copy */

/* A call leads straight into the copy of what it calls, at the counter of its entry. */
static void test_calls(void **state)
{
	const struct instrument_code *start, *called;
	const struct instrument_patch *call = NULL;
	struct made m = {0};
	uint32_t calls = 0;
	struct diag why;
	char path[96];
	int32_t distance;

	(void)state;
	assert_int_equal(workshop_write("calls.s", calling), 0);
	assert_int_equal(workshop_run("gcc -nostdlib -static -no-pie calls.s -o calls"), 0);
	snprintf(path, sizeof(path), "%s/calls", workshop_dir);
	assert_int_equal(plans_new(path, NULL, &m.plans, &m.facts, &why), 0);
	assert_int_equal(m.facts.planned, 2);
	assert_int_equal(copy_to(&m, ROOM), 0);
	called = &m.codes[0];
	start = &m.codes[1];
	assert_int_equal(instrument_code_check(start), 0);
	for (uint32_t i = 0; i < start->patch_count; i++)
		if (instrument_patch_is_call(&start->patches[i])) {
			call = &start->patches[i];
			calls++;
		}
	assert_int_equal(calls, 1);
	assert_int_equal(call->address, start->entry + CALL);
	assert_int_equal(call->size, INSTRUMENT_PATCH_BYTES);
	assert_int_equal(call->before[0], 0xe8);
	memcpy(&distance, call->after + 1, sizeof(distance));
	assert_int_equal(call->address + call->size + (uint64_t)(int64_t)distance,
			 called->address + called->entrance);
	assert_memory_equal(called->bytes + called->entrance, "\x65\x48\xff\x04\x25", 5);
	tear_down(&m);
}

static uint64_t count_of(const struct buf *edges, uint64_t from, uint64_t to)
{
	const struct plans_edge *e = (const void *)edges->data;
	uint64_t count = 0;

	for (size_t i = 0; i < edges->size / sizeof(*e); i++)
		count += e[i].from == from && e[i].to == to ? e[i].count : 0;
	return count;
}

/* Returns what plans_count does; counters: two of the loop, one of the other. */
static int count(const struct made *m, const uint64_t counters[3], const uint8_t left[2],
		 struct buf *edges)
{
	assert_int_equal(m->loops->slot_count, 2);
	assert_int_equal(m->start->slot_count, 1);
	buf_clear(edges);
	return plans_count(m->plans, counters, left, edges);
}

static void check_start(const struct made *m, const struct buf *edges, uint64_t runs)
{
	assert_int_equal(count_of(edges, DB_EDGE_START, m->start->entry), runs);
	assert_int_equal(count_of(edges, m->start->entry + 10, DB_EDGE_END), runs);
}

/* A loop has a counter for its own edge, and one for the way through it. */
static void test_counts(void **state)
{
	const uint8_t none[2] = {0, 0}, first[2] = {1, 0}, second[2] = {0, 1};
	uint64_t entry, runs, again;
	struct buf edges;
	struct made m;

	(void)state;
	set_up(&m);
	entry = m.loops->entry;
	buf_init(&edges, SIZE_MAX);
	assert_int_equal(count(&m, (uint64_t[]){3, 27, 5}, none, &edges), 0);
	runs = count_of(&edges, DB_EDGE_START, entry);
	again = count_of(&edges, entry + LOOP_LAST, entry + LOOP);
	assert_true((runs == 3 && again == 27) || (runs == 27 && again == 3));
	assert_int_equal(count_of(&edges, entry, entry + LOOP), runs);
	assert_int_equal(count_of(&edges, entry + LOOP_LAST, entry + LOOP_OUT), runs);
	assert_int_equal(count_of(&edges, entry + LOOP_OUT, DB_EDGE_END), runs);
	check_start(&m, &edges, 5);
	assert_int_equal(edges.size, 7 * sizeof(struct plans_edge));
	/* What no process had a copy of has no counts, and others have theirs. */
	assert_int_equal(count(&m, (uint64_t[]){3, 27, 5}, first, &edges), 0);
	check_start(&m, &edges, 5);
	assert_int_equal(edges.size, 2 * sizeof(struct plans_edge));
	assert_int_equal(count(&m, (uint64_t[]){3, 27, 5}, second, &edges), 0);
	check_start(&m, &edges, 0);
	assert_int_equal(edges.size, 5 * sizeof(struct plans_edge));
	/* So have those beside one whose counters somebody has written to. */
	assert_int_equal(count(&m, (uint64_t[]){1ull << 63, 1ull << 63, 5}, none, &edges), 1);
	check_start(&m, &edges, 5);
	assert_int_equal(edges.size, 2 * sizeof(struct plans_edge));
	/* What did not run has no edge. */
	assert_int_equal(count(&m, (uint64_t[]){0, 0, 0}, none, &edges), 0);
	assert_int_equal(edges.size, 0);
	buf_free(&edges);
	tear_down(&m);
}

static void test_refused(void **state)
{
	struct elf_file elf = elf_file_64(1);
	struct plans_facts facts;
	struct plans *plans;
	char path[64];
	struct diag why;
	int fd;

	(void)state;
	assert_int_equal(plans_new("/nowhere/program", NULL, &plans, &facts, &why), -ENOENT);
	assert_string_equal(why.text, "cannot be read: No such file or directory");
	elf_file_header(&elf)->e_machine = EM_AARCH64;
	fd = file_with(elf.bytes, sizeof(elf.bytes));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(plans_new(path, NULL, &plans, &facts, &why), -EOPNOTSUPP);
	assert_string_equal(why.text, "is not a 64-bit program for x86-64");
	close(fd);
	fd = file_with("text", 4);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(plans_new(path, NULL, &plans, &facts, &why) < 0);
	assert_true(why.text[0]);
	close(fd);
}

/* Only what has samples, once; of what lies in no function nothing is planned. */
static void test_sampled(void **state)
{
	uint64_t list[3];
	const struct plans_request q = {.sampled = {list, 3}};
	struct plans_facts facts;
	struct plans *plans;
	uint64_t loops, start;
	struct diag why;
	struct made m;
	char path[96];

	(void)state;
	set_up(&m);
	loops = m.loops->entry;
	start = m.start->entry;
	tear_down(&m);
	make_program(path, "");
	list[0] = loops;
	list[1] = loops + 1;
	list[2] = 0x10;
	assert_int_equal(plans_new(path, &q, &plans, &facts, &why), 0);
	assert_int_equal(facts.planned, 1);
	assert_int_equal(facts.functions, 1);
	plans_free(plans);
	list[2] = start;
	assert_int_equal(plans_new(path, &q, &plans, &facts, &why), 0);
	assert_int_equal(facts.planned, 2);
	plans_free(plans);
}

/* What the file says is not what runs. */
static void test_written_code(void **state)
{
	struct plans_facts facts;
	struct plans *plans;
	struct diag why;
	char path[96];

	(void)state;
	make_program(path, "-Wl,--omagic");
	assert_int_equal(plans_new(path, NULL, &plans, &facts, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why.text, "its code is written to"));
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),	     cmocka_unit_test(test_copies),
		cmocka_unit_test(test_calls),	     cmocka_unit_test(test_counts),
		cmocka_unit_test(test_sampled),	     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_written_code),
	};

	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
