/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "instrument/attach/attach_state.h"
#include "util/hash.h"

#define BASE  0x10000000ULL
#define ENTRY 0x10400000ULL

static uint8_t bytes[40];
static struct instrument_place places[] = {
	{ENTRY, 0}, {ENTRY + 3, 12}, {ENTRY + 8, 20}, {ENTRY + 0x1c, 28}, {ENTRY + 0x20, 32}};
static struct instrument_patch patches[] = {
	{.address = ENTRY, .stands_for = ENTRY, .size = 5},
	{.address = ENTRY + 8, .stands_for = ENTRY + 8, .size = 2},
	{.address = ENTRY + 0x20, .stands_for = ENTRY + 8, .size = 5},
};
static const struct instrument_code code = {.entry = ENTRY,
					    .address = BASE + IMPLANT_HEADER_BYTES,
					    .bytes = bytes,
					    .size = sizeof(bytes),
					    .places = places,
					    .place_count = 5,
					    .patches = patches,
					    .patch_count = 3};

struct file {
	uint8_t *bytes;
	uint64_t size;
};

static int read_file(void *arg, uint64_t offset, void *data, size_t size)
{
	const struct file *f = arg;

	if (offset > f->size || size > f->size - offset)
		return -EIO;
	memcpy(data, f->bytes + offset, size);
	return 0;
}

static struct implant *make(struct file *f)
{
	struct implant *i;

	assert_int_equal(implant_make(BASE, &code, 1, &i, &f->bytes), 0);
	f->size = i->bytes;
	assert_int_equal(f->size % 4096, 0);
	return i;
}

static void check_moves(const struct implant *i)
{
	const uint64_t copy = BASE + IMPLANT_HEADER_BYTES;
	uint64_t to;

	assert_true(implant_enter(i, ENTRY + 3, &to));
	assert_int_equal(to, copy + 12);
	assert_true(implant_enter(i, ENTRY + 0x100, &to));
	assert_int_equal(to, ENTRY + 0x100);
	/* Inside of a patch, and no instruction begins there. */
	assert_false(implant_enter(i, ENTRY + 1, &to));
	assert_true(implant_hides(i, ENTRY + 0x24));
	assert_false(implant_hides(i, ENTRY + 0x25));
	/* Another's jump lies on an instruction's start, and the one before it leads there. */
	assert_true(implant_hides(i, ENTRY + 0x20));
	assert_true(implant_enter(i, ENTRY + 0x20, &to));
	assert_int_equal(to, copy + 32);
	assert_true(implant_hides(i, ENTRY + 0x1c));
	assert_false(implant_hides(i, ENTRY + 0x1b));
	assert_false(implant_hides(i, ENTRY + 8));
	assert_false(implant_hides(i, ENTRY));

	assert_true(implant_leave(i, copy + 12, &to));
	assert_int_equal(to, ENTRY + 3);
	/* A jump in a place of its own. */
	assert_int_equal(implant_relay(i, ENTRY + 0x20)->stands_for, ENTRY + 8);
	assert_null(implant_relay(i, ENTRY + 0x21));
	assert_null(implant_relay(i, ENTRY + 8));
	assert_true(implant_leave(i, ENTRY + 0x20, &to));
	assert_int_equal(to, ENTRY + 0x20);
	assert_false(implant_leave(i, copy + 13, &to));
	assert_true(implant_leave(i, ENTRY + 0x100, &to));
	assert_int_equal(to, ENTRY + 0x100);
}

static void test_moves(void **state)
{
	struct file f;
	struct implant *i = make(&f);

	(void)state;
	check_moves(i);
	implant_unref(i);
	free(f.bytes);
}

static void test_read_back(void **state)
{
	struct implant *i, *back;
	struct file f;

	(void)state;
	i = make(&f);
	assert_int_equal(implant_load(BASE, f.size, i->record_bytes - 1, read_file, &f, &back),
			 -E2BIG);
	assert_int_equal(implant_load(BASE, f.size, i->record_bytes, read_file, &f, &back), 0);
	check_moves(back);
	implant_unref(back);
	implant_unref(i);
	free(f.bytes);
}

/* Whatever lies there, it has whole copies or none. */
static void test_damage(void **state)
{
	struct implant *i, *back;
	struct file f;

	(void)state;
	i = make(&f);
	implant_unref(i);
	for (uint64_t at = 0; at < f.size; at += at < 128 || at > IMPLANT_HEADER_BYTES ? 1 : 64) {
		f.bytes[at] ^= 0x55;
		assert_int_equal(implant_load(BASE, f.size, f.size, read_file, &f, &back), 0);
		if (back->count)
			check_moves(back);
		implant_unref(back);
		f.bytes[at] ^= 0x55;
	}
	for (uint64_t size = 0; size < f.size; size += 64) {
		struct file cut = {f.bytes, size};

		assert_int_equal(implant_load(BASE, f.size, f.size, read_file, &cut, &back), 0);
		implant_unref(back);
	}
	assert_int_equal(implant_load(BASE + 4096, f.size, f.size, read_file, &f, &back), 0);
	assert_int_equal(back->count, 0);
	implant_unref(back);
	free(f.bytes);
}

/* A record that is whole, and of a copy elsewhere. */
static size_t load_forged(struct file *f, uint64_t address)
{
	uint64_t record_at, record_bytes, hash;
	struct implant *back;
	size_t count;

	/* Of the header: where the record is, its bytes, their hash. */
	memcpy(&record_at, f->bytes + 32, sizeof(record_at));
	memcpy(&record_bytes, f->bytes + 40, sizeof(record_bytes));
	/* Of the first function: the address of its copy. */
	memcpy(f->bytes + record_at + 8, &address, sizeof(address));
	hash = hash_bytes(f->bytes + record_at, record_bytes);
	memcpy(f->bytes + 48, &hash, sizeof(hash));
	assert_int_equal(implant_load(BASE, f->size, f->size, read_file, f, &back), 0);
	count = back->count;
	implant_unref(back);
	return count;
}

/* Copies lie in their mapping, behind its header. */
static void test_forged(void **state)
{
	struct file f;

	(void)state;
	implant_unref(make(&f));
	assert_int_equal(load_forged(&f, BASE + f.size - sizeof(bytes)), 1);
	assert_int_equal(load_forged(&f, BASE + f.size - sizeof(bytes) + 1), 0);
	assert_int_equal(load_forged(&f, BASE + f.size), 0);
	assert_int_equal(load_forged(&f, BASE + IMPLANT_HEADER_BYTES), 1);
	assert_int_equal(load_forged(&f, BASE + IMPLANT_HEADER_BYTES - 1), 0);
	assert_int_equal(load_forged(&f, BASE - 1), 0);
	assert_int_equal(load_forged(&f, UINT64_MAX - 8), 0);
	free(f.bytes);
}

static void test_below_header(void **state)
{
	struct implant *i;
	uint8_t *file;

	(void)state;
	assert_int_equal(implant_make(BASE + 1, &code, 1, &i, &file), -EINVAL);
}

static void expect_gap(const struct target_maps *m, uint64_t start, uint64_t end, uint64_t size,
		       uint64_t wanted)
{
	uint64_t got = 0;

	assert_int_equal(target_maps_gap(m, start, end, size, &got), wanted ? 0 : -ENOSPC);
	assert_int_equal(got, wanted);
}

static void test_gap(void **state)
{
	struct target_mapping list[] = {{.start = 0x400000, .end = 0x500000},
					{.start = 0x600000, .end = 0x900000},
					{.start = 0x7ffff0000000, .end = 0x7ffff0100000}};
	struct target_maps m = {.list = list, .count = 3};

	(void)state;
	/* Below, right before it. */
	expect_gap(&m, 0x400000, 0x500000, 0x1000, 0x3ff000);
	expect_gap(&m, 0x600000, 0x900000, 0x1000, 0x5ff000);
	/* Too large for what is below: above, far from what grows. */
	expect_gap(&m, 0x400000, 0x500000, 0x400000, 0x7fff0000ULL);
	expect_gap(&m, 0x400000, 0x500000, 0x80000000, 0);
	/* With all the room there is below. */
	expect_gap(&m, 0x7ffff0000000, 0x7ffff0100000, 0x1000, 0x7fffeffff000);
	/* Not where a stack grows. */
	strcpy(list[1].name, "[stack]");
	expect_gap(&m, 0x600000, 0x900000, 0x1000, 0x3ff000);
}

/* Whose stack is not found is not taken for one without frames. */
static void test_stacks(void **state)
{
	struct target_frame frames[TARGET_FRAMES_MAX];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t stack = (uint64_t)memory;
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct target_maps maps = {0};
	uint64_t left = 2 * page;

	(void)state;
	assert_int_not_equal(mprotect(memory + page, page, PROT_NONE), -1);
	assert_int_equal(target_maps_read(getpid(), &maps), 0);
	assert_int_equal(target_frames_find(mem, &maps, stack, &left, frames), 0);
	assert_int_equal(target_frames_find(mem, &maps, stack + page, &left, frames), 0);
	assert_int_equal(target_frames_find(mem, &maps, stack + page + 8, &left, frames), -EFAULT);
	assert_int_equal(target_frames_find(mem, &maps, 64, &left, frames), -EFAULT);
	assert_int_equal(left, page);
	target_maps_free(&maps);
	close(mem);
	munmap(memory, 2 * page);
}

/* What looks like the frame of a signal that came while that stack was in use. */
static void forge_frame(uint64_t *at, const void *stack)
{
	at[0] = (uint64_t)stack;
	at[2] = 0x202;
	at[3] = 0x002b000000000033;
}

/* However many stacks lead from one to the next, a thread's have one limit, and so have those of
 * all threads. */
static void test_deep_stacks(void **state)
{
	enum { STACKS = 4 };
	const size_t size = TARGET_STACKS_MAX_BYTES / 2 - (1 << 20);
	struct target_frame frames[TARGET_FRAMES_MAX];
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	uint64_t left = 2 * TARGET_STACKS_MAX_BYTES;
	struct target_maps maps = {0};
	uint8_t *stack[STACKS];

	(void)state;
	for (int i = 0; i < STACKS; i++) {
		/* With a guard behind it, lest one becomes a part of the next. */
		stack[i] = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		assert_true(stack[i] != MAP_FAILED);
		assert_int_equal(mprotect(stack[i] + size, 4096, PROT_NONE), 0);
		if (i)
			forge_frame((uint64_t *)(void *)stack[i - 1], stack[i]);
	}
	assert_int_equal(target_maps_read(getpid(), &maps), 0);
	assert_int_equal(target_frames_find(mem, &maps, (uint64_t)stack[2], &left, frames), 1);
	assert_int_equal(left, 2 * TARGET_STACKS_MAX_BYTES - 2 * size);
	assert_int_equal(target_frames_find(mem, &maps, (uint64_t)stack[0], &left, frames), -E2BIG);
	assert_int_equal(left, 2 * TARGET_STACKS_MAX_BYTES - 4 * size);
	/* What is left suffices for none. */
	assert_int_equal(target_frames_find(mem, &maps, (uint64_t)stack[3], &left, frames), -E2BIG);
	target_maps_free(&maps);
	close(mem);
	for (int i = 0; i < STACKS; i++)
		munmap(stack[i], size + 4096);
}

static bool ending;

static bool is_ending(void *arg)
{
	(void)arg;
	return ending;
}

/* Each look has its limit; from when it is to end on, all have one together. */
static void test_limits_of_looks(void **state)
{
	const struct attach_ops ops = {.is_ending = is_ending};
	struct attach a = {.ops = &ops};

	(void)state;
	for (int i = 0; i < 10; i++) {
		attach_begin_look(&a);
		assert_true(attach_may_stir(&a, ATTACH_STIRS - 1));
		assert_false(attach_may_stir(&a, ATTACH_STIRS));
		attach_charge_look(&a, ATTACH_STIR_MAX_BYTES);
		assert_true(attach_may_stir(&a, 0));
		assert_false(attach_may_stir(&a, 1));
		attach_charge_look(&a, ATTACH_LOOK_MAX_BYTES);
		assert_int_equal(a.look_left, 0);
	}
	ending = true;
	for (uint64_t i = 0; i < ATTACH_END_MAX_BYTES / ATTACH_STIR_MAX_BYTES; i++) {
		attach_begin_look(&a);
		assert_true(attach_may_stir(&a, 1));
		attach_charge_look(&a, ATTACH_STIR_MAX_BYTES);
	}
	attach_begin_look(&a);
	assert_int_equal(a.look_left, 0);
	assert_true(attach_is_deep(&a));
	ending = false;
}

/* What one program's copies have in records is limited, and how many they are. */
static void test_records(void **state)
{
	struct attach_space s = {.record_bytes = ATTACH_RECORD_MAX_BYTES - 100};
	struct implant large = {.refs = 1, .record_bytes = 101}, fits = {.refs = 1};

	(void)state;
	fits.record_bytes = 100;
	assert_int_equal(attach_space_add_implant(&s, &large), -E2BIG);
	assert_int_equal(attach_space_add_implant(&s, &fits), 0);
	assert_int_equal(s.record_bytes, ATTACH_RECORD_MAX_BYTES);
	fits.record_bytes = 1;
	assert_int_equal(attach_space_add_implant(&s, &fits), -E2BIG);
	fits.record_bytes = 0;
	for (size_t i = 1; i < ATTACH_IMPLANTS_MAX; i++)
		assert_int_equal(attach_space_add_implant(&s, &fits), 0);
	assert_int_equal(attach_space_add_implant(&s, &fits), -E2BIG);
	assert_int_equal(s.implant_count, ATTACH_IMPLANTS_MAX);
	free(s.implants);
}

/* What programs have together is limited; who was forked has his maker's. */
static void test_memory(void **state)
{
	struct implant implants[4] = {0}, *lists[8];
	struct attach_space spaces[8] = {0};
	struct attach a = {.spaces = spaces};
	struct diag why;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		implants[i / 2] = (struct implant){.refs = 2, .bytes = ATTACH_COPIES_MAX_BYTES / 4};
		lists[i] = &implants[i / 2];
		spaces[i] = (struct attach_space){.implants = &lists[i], .implant_count = 1};
		spaces[i].next = i < 7 ? &spaces[i + 1] : NULL;
	}
	assert_int_equal(attach_copies_fit(&a, 4096, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "MiB"));
	/* A small machine's has room for this, too. */
	for (size_t i = 0; i < 4; i++)
		implants[i].bytes = 4 << 20;
	assert_int_equal(attach_copies_fit(&a, 4096, &why), 0);
	assert_int_equal(attach_copies_fit(&a, ATTACH_COPIES_MAX_BYTES, &why), -ENOSPC);
}

/* Copies of which one calls the other; both are patched in this program's own text. */
struct calling {
	struct instrument_patch caller[2], callee;
	struct instrument_code codes[2];
};

static void patch_text(struct instrument_patch *p, uint64_t address, uint8_t opcode, uint64_t to)
{
	const int32_t distance = (int32_t)(to - address - 5);

	*p = (struct instrument_patch){.address = address, .stands_for = address, .size = 5};
	memcpy(p->before, (const void *)address, 5);
	p->after[0] = opcode;
	memcpy(p->after + 1, &distance, sizeof(distance));
}

static void make_calling(struct calling *c, uint64_t call)
{
	const uint64_t page = (uint64_t)&make & ~4095ULL;

	memset(c, 0, sizeof(*c));
	c->codes[0] = (struct instrument_code){
		.address = page - 0x100000, .size = 64, .patches = c->caller, .patch_count = 2};
	c->codes[1] = (struct instrument_code){.address = page - 0x90000,
					       .size = 64,
					       .entrance = 7,
					       .patches = &c->callee,
					       .patch_count = 1};
	patch_text(&c->caller[0], page + 16, 0xe9, c->codes[0].address);
	patch_text(&c->caller[1], page + call, 0xe8, c->codes[1].address + 7);
	patch_text(&c->callee, page + 32, 0xe9, c->codes[1].address + 7);
}

/* How many patches of the first are put in, and copies. */
static void expect_chosen(struct calling *c, uint32_t patch_count, size_t code_count)
{
	struct attach_space s = {.mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
	enum attach_taken taken[2];
	struct attach_chosen chosen;
	struct target_maps maps;

	assert_int_equal(target_maps_read(getpid(), &maps), 0);
	assert_int_equal(attach_choose(&s, &maps, c->codes, 2, taken, &chosen), 0);
	assert_int_equal(taken[0], ATTACH_TAKEN);
	assert_int_equal(taken[1], code_count == 2 ? ATTACH_TAKEN : ATTACH_CHANGED);
	assert_int_equal(chosen.count, code_count);
	assert_int_equal(chosen.list[0].patch_count, patch_count);
	assert_int_equal(chosen.list[0].patches[0].after[0], 0xe9);
	attach_chosen_free(&chosen);
	target_maps_free(&maps);
	close(s.mem);
}

/* A call leads only into a copy that is put in, and is left out where it cannot be written. */
static void test_calls(void **state)
{
	struct calling c;

	(void)state;
	make_calling(&c, 64);
	expect_chosen(&c, 2, 2);
	c.callee.before[0] ^= 1;
	expect_chosen(&c, 1, 1);
	make_calling(&c, 4096 - 2);
	expect_chosen(&c, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),	    cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_damage),	    cmocka_unit_test(test_below_header),
		cmocka_unit_test(test_forged),	    cmocka_unit_test(test_records),
		cmocka_unit_test(test_gap),	    cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_deep_stacks), cmocka_unit_test(test_limits_of_looks),
		cmocka_unit_test(test_memory),	    cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
