/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Whether what a process has mapped where the kernel stopped is what the kernel met there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "collect/process/files.h"
#include "collect/stacks/stack_rest.h"

#define DEVICE	0x100002
#define ADDRESS 0x7f0000012345

static struct mapped_file file = {.state = FILE_ELF,
				  .name = {.device_major = 1, .device_minor = 2, .inode = 30}};
static const struct mapping mapping = {
	.start = 0x7f0000010000, .end = 0x7f0000020000, .file_offset = 0x3000, .file = &file};

/* Stopped at ADDRESS. */
static struct wire_stack stop(uint64_t inode, uint64_t offset, uint64_t frame)
{
	struct wire_stack s = {.file = {.device = DEVICE, .inode = inode},
			       .address = ADDRESS,
			       .file_offset = offset,
			       .followed = 3};

	s.frame[WIRE_STACK_PLACE(2)] = frame;
	return s;
}

static void test_files_without_a_slot_are_known_by_their_numbers(void **state)
{
	struct wire_stack s = stop(30, 0x5345, WIRE_FRAME_ADDRESS | ADDRESS);

	(void)state;
	assert_false(stack_rest_is_other(&s, &mapping));
	s.file.inode = 31;
	assert_true(stack_rest_is_other(&s, &mapping));
}

/* The kernel remembers its mapping then, and the last file that it looked at is another's. */
static void test_files_with_a_slot_are_known_by_it(void **state)
{
	struct wire_stack s = stop(31, 0x5345, (uint64_t)7 << 32 | 0x5345);

	(void)state;
	assert_false(stack_rest_is_other(&s, &mapping));
	s = stop(30, 0x4345, (uint64_t)7 << 32 | 0x4345);
	assert_true(stack_rest_is_other(&s, &mapping));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_without_a_slot_are_known_by_their_numbers),
		cmocka_unit_test(test_files_with_a_slot_are_known_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
