/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "unwind/cfi.h"
#include "unwind/unwind.h"

#define RSP 7
#define RBX 3
#define RBP 6
#define RA  16

static struct image_unwind *compile(const char *path)
{
	struct image_unwind *u = NULL;
	struct diag diag = {""};
	struct buf out;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	buf_init(&out, 256 << 20);
	assert_int_equal(image_unwind_describe(fd, &out, &diag), 0);
	assert_int_equal(image_unwind_load(out.data, out.size, &u), 0);
	buf_free(&out);
	close(fd);
	return u;
}

/* What elfutils' own interpreter says of a register, in our terms. */
static void check_place(Dwarf_Frame *frame, int reg, unsigned place, unsigned place_reg,
			int32_t offset)
{
	Dwarf_Op mem[3], *ops = NULL;
	size_t n = 0;

	assert_int_equal(dwarf_frame_register(frame, reg, mem, &ops, &n), 0);
	if (!n) {
		assert_int_equal(place, ops == mem ? WIRE_LOCATION_UNDEFINED : WIRE_LOCATION_SAME);
		return;
	}
	switch (place) {
	case WIRE_LOCATION_AT_CFA:
		assert_int_equal(ops[0].atom, DW_OP_call_frame_cfa);
		assert_true(n == 1 ? offset == 0 : (int64_t)ops[1].number == offset);
		break;
	case WIRE_LOCATION_REGISTER:
		assert_int_equal(ops[0].atom, DW_OP_regx);
		assert_int_equal(ops[0].number, place_reg);
		break;
	case WIRE_LOCATION_AT_REGISTER:
		assert_int_equal(ops[n - 1].atom, DW_OP_breg0 + place_reg);
		assert_true((int64_t)ops[n - 1].number == offset);
		break;
	default:
		/* What we cannot follow is undefined, and never the return address. */
		assert_int_not_equal(reg, RA);
	}
}

static void check_rbx(Dwarf_Frame *frame, const struct wire_unwind_rule *rule)
{
	Dwarf_Op memory[3], *ops = NULL;
	size_t n = 0;

	assert_int_equal(dwarf_frame_register(frame, RBX, memory, &ops, &n), 0);
	if (rule->rbx == WIRE_UNWIND_RBX_LOST)
		return;
	if (!rule->rbx) {
		/* As it is; elfutils takes what nothing is said of for undefined. */
		assert_int_equal(n, 0);
	} else if (rule->flags & WIRE_UNWIND_SIGNAL) {
		assert_int_equal(ops[n - 1].atom, DW_OP_breg0 + RSP);
		assert_int_equal(ops[n - 1].number, 8 * rule->rbx);
	} else {
		assert_int_equal(ops[0].atom, DW_OP_call_frame_cfa);
		assert_true(n == 2 && ops[1].atom == DW_OP_plus_uconst);
		assert_true((int64_t)ops[1].number == -8 * (int64_t)rule->rbx);
	}
}

static void check_cfa(Dwarf_Frame *frame, const struct wire_unwind_rule *rule)
{
	Dwarf_Op *ops = NULL;
	size_t n = 0;
	unsigned first;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
	assert_true(n > 0);
	first = ops[0].atom == DW_OP_bregx ? (unsigned)ops[0].number
					   : (unsigned)ops[0].atom - DW_OP_breg0;
	assert_int_equal(rule->cfa_reg, first);
	if (n == 1) {
		assert_int_equal(rule->cfa, WIRE_CFA_REGISTER);
		assert_true(rule->cfa_offset ==
			    (int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number));
		return;
	}
	assert_int_equal(rule->cfa, ops[1].atom == DW_OP_deref ? WIRE_CFA_DEREF : WIRE_CFA_PLT);
	assert_true(rule->cfa_offset == (int64_t)ops[0].number);
}

/* Every row of real files against elfutils. */
static void agrees_with_elfutils(void **state)
{
	static const char *const paths[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
					    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"};
	size_t compared = 0, with_rbx = 0;

	(void)state;
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
		Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;

		if (!cfi)
			continue;
		struct image_unwind *u = compile(paths[i]);

		for (size_t row = 0; row < u->row_count; row++) {
			uint64_t address = u->base + u->rows[row].offset;
			const struct wire_unwind_rule *rule = image_unwind_find(u, address);
			Dwarf_Frame *frame = NULL;
			int found = dwarf_cfi_addrframe(cfi, address, &frame);

			if (!rule) {
				assert_true(found != 0 || u->refused);
				if (!found)
					free(frame);
				continue;
			}
			/* What the code told is what it has nothing of. */
			assert_int_equal(found != 0, (rule->flags & WIRE_UNWIND_DERIVED) != 0);
			if (found)
				continue;
			check_cfa(frame, rule);
			check_place(frame, RBP, rule->fp, rule->fp_reg, rule->fp_offset);
			check_rbx(frame, rule);
			with_rbx += rule->rbx && rule->rbx != WIRE_UNWIND_RBX_LOST;
			check_place(frame, RA, rule->ra, rule->ra_reg, rule->ra_offset);
			free(frame);
			compared++;
		}
		assert_int_equal(u->damaged, 0);
		image_unwind_free(u);
		dwarf_cfi_end(cfi);
		elf_end(elf);
		close(fd);
	}
	print_message("%zu rows compared\n", compared);
	assert_true(compared > 1000 && with_rbx > 1000);
}

struct seen {
	struct cfi_row rows[8];
	size_t count;
};

static int see(void *arg, const struct cfi_row *row)
{
	struct seen *s = arg;

	assert_true(s->count < 8);
	s->rows[s->count++] = *row;
	return 0;
}

static struct cfi_program program(const uint8_t *body, size_t size)
{
	/* CFA = rsp + 8; the return address at CFA - 8. */
	static const uint8_t initial[] = {0x0c, RSP, 8, 0x80 | RA, 1};

	return (struct cfi_program){
		.initial = initial,
		.initial_size = sizeof(initial),
		.body = body,
		.body_size = size,
		.start = 0x1000,
		.size = 0x100,
		.code_align = 1,
		.data_align = -8,
		.ra_reg = RA,
		.fp_reg = RBP,
		.base_reg = RBX,
	};
}

static void follows_a_prologue(void **state)
{
	/* push rbp; mov rbp, rsp; ...; remember; leave; ret; restore. */
	static const uint8_t body[] = {0x41, 0x0e, 16,	0x80 | RBP, 2,	  0x43, 0x0d, RBP, 0x50,
				       0x0a, 0x0c, RSP, 8,	    0x41, 0x0b, 0x00, 0x00};
	struct cfi_program p = program(body, sizeof(body));
	struct seen s = {.count = 0};

	(void)state;
	assert_int_equal(cfi_each_row(&p, see, &s), 0);
	assert_int_equal(s.count, 5);
	assert_true(s.rows[0].start == 0x1000 && s.rows[0].end == 0x1001);
	assert_true(s.rows[0].cfa.reg == RSP && s.rows[0].cfa.offset == 8);
	assert_int_equal(s.rows[0].fp.kind, CFI_SAME);
	assert_true(s.rows[1].cfa.offset == 16 && s.rows[1].fp.offset == -16);
	assert_true(s.rows[2].start == 0x1004 && s.rows[2].cfa.reg == RBP);
	assert_true(s.rows[3].start == 0x1014 && s.rows[3].end == 0x1015);
	assert_true(s.rows[3].cfa.reg == RSP && s.rows[3].cfa.offset == 8);
	assert_true(s.rows[4].cfa.reg == RBP && s.rows[4].cfa.offset == 16);
	assert_true(s.rows[4].end == 0x1100);
	assert_int_equal(s.rows[4].ra.kind, CFI_AT_CFA);
}

static void damage_ends_the_rows(void **state)
{
	static const struct {
		uint8_t bytes[4];
		size_t size, rows;
	} bad[] = {
		{{0x44, 0x3f}, 2, 1},	    /* no such operation */
		{{0x44, 0x0b}, 2, 1},	    /* nothing was remembered */
		{{0x44, 0x0e}, 2, 1},	    /* ends in the middle */
		{{0x44, 0x0f, 0x7f}, 3, 1}, /* an expression that is longer than the program */
		{{0x03, 0x01}, 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct cfi_program p = program(bad[i].bytes, bad[i].size);
		struct seen s = {.count = 0};

		assert_int_equal(cfi_each_row(&p, see, &s), -EBADMSG);
		assert_int_equal(s.count, bad[i].rows);
	}
}

static void remembers_only_so_deep(void **state)
{
	uint8_t body[100];
	struct cfi_program p = program(body, sizeof(body));
	struct seen s = {.count = 0};

	(void)state;
	memset(body, 0x0a, sizeof(body));
	assert_int_equal(cfi_each_row(&p, see, &s), -EBADMSG);
}

static void advances_stay_in_the_function(void **state)
{
	static const uint8_t body[] = {0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16, 0x41};
	struct cfi_program p = program(body, sizeof(body));
	struct seen s = {.count = 0};

	(void)state;
	p.code_align = UINT64_MAX;
	assert_int_equal(cfi_each_row(&p, see, &s), 0);
	assert_int_equal(s.count, 1);
	assert_true(s.rows[0].end == 0x1100);
	p.start = UINT64_MAX - 16;
	s.count = 0;
	assert_int_equal(cfi_each_row(&p, see, &s), 0);
	assert_true(s.rows[0].end == UINT64_MAX);
}

static void nonsense_is_not_loaded(void **state)
{
	struct image_unwind *u = NULL;
	uint64_t head[6] = {0x1000, 1, UINT64_MAX};

	(void)state;
	assert_int_equal(image_unwind_load(head, 4, &u), -EBADMSG);
	assert_int_equal(image_unwind_load(head, sizeof(head), &u), -EBADMSG);
	head[2] = 0;
	head[1] = 0;
	assert_int_equal(image_unwind_load(head, sizeof(head), &u), -EBADMSG);
	assert_null(u);
	image_unwind_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_elfutils),
		cmocka_unit_test(follows_a_prologue),
		cmocka_unit_test(damage_ends_the_rows),
		cmocka_unit_test(remembers_only_so_deep),
		cmocka_unit_test(advances_stay_in_the_function),
		cmocka_unit_test(nonsense_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
