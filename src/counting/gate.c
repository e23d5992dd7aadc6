/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/gate.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define RET  0xc3
#define JUMP 5 /* bytes of one */

/*
 * All registers but the flags are as they were: a function may be called by who knows it. It sleeps
 * by a lock's system call, which is what a filter of system calls that comes later leaves to a
 * program most likely; the word that it waits for is the first of the time, both on the stack.
 */
#define NAP	0xa0, 0x86, 0x01, 0x00 /* 100000 ns */
#define NAPS	0xa8, 0x61, 0x00, 0x00 /* 25000: some seconds */
#define ENTERED GATE_ENTERED * 8, 0, 0, 0
#define PASSED	GATE_PASSED * 8, 0, 0, 0
/* clang-format off */
static const uint8_t code[] = {
	0x65, 0x48, 0xff, 0x04, 0x25, ENTERED, /* incq %gs:ENTERED */
	0x50, 0x51, 0x52, 0x53,		/* push %rax, %rcx, %rdx, %rbx */
	0x56, 0x57,			/* push %rsi, %rdi */
	0x41, 0x52, 0x41, 0x53,		/* push %r10, %r11 */
	0x68, NAP,			/* pushq $NAP */
	0x6a, 0x00,			/* pushq $0 */
	0xbb, NAPS,			/* mov $NAPS, %ebx */
	/* again: */
	0x65, 0x48, 0x8b, 0x04, 0x25, PASSED,  /* mov %gs:PASSED, %rax */
	0x65, 0x48, 0x3b, 0x04, 0x25, ENTERED, /* cmp %gs:ENTERED, %rax */
	0x73, 0x25,			/* jae out */
	0xb8, SYS_futex, 0, 0, 0,	/* mov $SYS_futex, %eax */
	0x48, 0x89, 0xe7,		/* mov %rsp, %rdi */
	0xbe, FUTEX_WAIT_PRIVATE, 0, 0, 0, /* mov $FUTEX_WAIT_PRIVATE, %esi */
	0x31, 0xd2,			/* xor %edx, %edx */
	0x49, 0x89, 0xe2,		/* mov %rsp, %r10 */
	0x0f, 0x05,			/* syscall */
	0xff, 0xcb,			/* dec %ebx */
	0x75, 0xd4,			/* jnz again */
	0x65, 0x48, 0xc7, 0x04, 0x25, PASSED, 0xff, 0xff, 0xff, 0xff, /* movq $-1, %gs:PASSED */
	/* out: */
	0x48, 0x83, 0xc4, 0x10,		/* add $16, %rsp */
	0x41, 0x5b, 0x41, 0x5a,		/* pop %r11, %r10 */
	0x5f, 0x5e,			/* pop %rdi, %rsi */
	0x5b, 0x5a, 0x59, 0x58,		/* pop %rbx, %rdx, %rcx, %rax */
	RET,
};
/* clang-format on */
_Static_assert(sizeof(code) <= GATE_BYTES_MAX, "the gate has room");

/* Whether so many bytes that nothing runs follow: one filler of that length, or several. */
static bool is_filler(const uint8_t *at, size_t needed)
{
	static const struct {
		uint8_t size, bytes[6], known;
	} fillers[] = {
		{10, {0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84}, 6},
		{9, {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00}, 6},
		{8, {0x0f, 0x1f, 0x84, 0x00}, 4},
		{7, {0x0f, 0x1f, 0x80, 0x00}, 4},
		{5, {0x0f, 0x1f, 0x44, 0x00}, 4},
		{4, {0x0f, 0x1f, 0x40, 0x00}, 4},
		{1, {0x90}, 1},
		{1, {0xcc}, 1},
	};
	size_t done = 0;

	while (done < needed) {
		size_t i = 0, count = sizeof(fillers) / sizeof(fillers[0]);

		while (i < count && memcmp(at + done, fillers[i].bytes, fillers[i].known) != 0)
			i++;
		if (i == count)
			return false;
		done += fillers[i].size;
	}
	return true;
}

int gate_new(uint64_t function, const uint8_t bytes[GATE_LOOKS_AT], uint64_t address,
	     struct instrument_code *ret)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t skip = memcmp(bytes, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
	int64_t by = (int64_t)(address - (function + skip + JUMP));
	struct instrument_patch p = {.address = function + skip, .size = JUMP, .after = {0xe9}};
	struct instrument_code c = {.entry = function, .address = address, .size = sizeof(code)};

	if (bytes[skip] != RET || !is_filler(bytes + skip + 1, JUMP - 1))
		return -EOPNOTSUPP;
	if (by != (int32_t)by)
		return -ERANGE;
	p.stands_for = p.address;
	memcpy(p.before, bytes + skip, JUMP);
	memcpy(p.after + 1, &(int32_t){(int32_t)by}, sizeof(int32_t));
	c.bytes = malloc(sizeof(code));
	c.places = malloc(sizeof(*c.places));
	c.patches = malloc(sizeof(*c.patches));
	if (!c.bytes || !c.places || !c.patches) {
		instrument_code_free(&c);
		return -ENOMEM;
	}
	memcpy(c.bytes, code, sizeof(code));
	*c.places = (struct instrument_place){.original = p.address};
	*c.patches = p;
	c.place_count = c.patch_count = 1;
	c.first_slot = GATE_ENTERED;
	c.slot_count = GATE_SLOTS;
	*ret = c;
	return 0;
}
