/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/code_cache.h"
#include "image/debug_link.h"
#include "workshop.h"

/* Against a plain array: overlapping additions keep what came first. */
static void test_add(void **state)
{
	(void)state;
	struct code_cache c = {0};
	uint8_t model[4096] = {0}, data[4096];
	uint64_t seed = 3;
	for (int round = 1; round < 200; round++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t start = (seed >> 33) % 4000, size = 1 + (seed >> 20) % 96;
		memset(data, round, size);
		assert_int_equal(code_cache_add(&c, start, data, size), 0);
		for (size_t i = start; i < start + size; i++)
			if (!model[i])
				model[i] = (uint8_t)round;
	}
	for (size_t i = 0; i < 4096; i++) {
		const struct code_piece *p = code_cache_find(&c, i);
		assert_int_equal(p != NULL, model[i] != 0);
		if (p)
			assert_int_equal(p->data[i - p->start], model[i]);
	}
	struct buf b;
	struct code_cache copy = {0};
	buf_init(&b, 1 << 20);
	assert_int_equal(code_cache_save(&c, &b), 0);
	assert_int_equal(code_cache_load(&copy, b.data, b.size), 0);
	assert_int_equal(copy.bytes, c.bytes);
	assert_int_equal(copy.count, c.count);
	code_cache_free(&copy);
	for (size_t cut = 0; cut < b.size; cut++) {
		assert_int_equal(code_cache_load(&copy, b.data, cut), -EBADMSG);
		code_cache_free(&copy);
	}
	for (size_t i = 0; i < b.size; i++) {
		b.data[i] ^= 0x91;
		code_cache_load(&copy, b.data, b.size);
		code_cache_free(&copy);
		b.data[i] ^= 0x91;
	}
	buf_free(&b);
	code_cache_free(&c);
}

static void test_limits(void **state)
{
	(void)state;
	struct code_cache c = {0};
	uint8_t *block = calloc(1, CODE_CACHE_MAX_BYTES + 1);
	assert_int_equal(code_cache_add(&c, 0, block, 0), -EINVAL);
	assert_int_equal(code_cache_add(&c, UINT64_MAX - 1, block, 4), -EINVAL);
	assert_int_equal(code_cache_add(&c, 0, block, CODE_CACHE_MAX_BYTES + 1), -ENOSPC);
	assert_int_equal(code_cache_add(&c, 0, block, CODE_CACHE_MAX_BYTES), 0);
	assert_int_equal(code_cache_add(&c, UINT64_MAX - 9, block, 4), -ENOSPC);
	code_cache_free(&c);
	free(block);
}

static void test_debug_link(void **state)
{
	(void)state;
	struct image_debug_link link;
	struct diag diag;
	assert_int_equal(workshop_write("p.c", "int main(void) { return 0; }\n"), 0);
	assert_int_equal(
		workshop_run("gcc -g p.c -o p; cp p plain; objcopy --only-keep-debug p p.debug;"
			     "strip p; objcopy --add-gnu-debuglink=p.debug p"),
		0);
	int fd = workshop_open("p");
	assert_int_equal(image_debug_link_read(fd, &link, NULL), 0);
	assert_string_equal(link.name, "p.debug");
	assert_int_not_equal(link.crc, 0);
	close(fd);
	fd = workshop_open("plain");
	assert_int_equal(image_debug_link_read(fd, &link, &diag), -ENOENT);
	close(fd);
	/* A name with a slash would lead anywhere. */
	size_t size;
	char *elf = workshop_read("p", &size);
	char *at = memmem(elf, size, "p.debug", 8);
	assert_non_null(at);
	at[1] = '/';
	fd = workshop_memory(elf, size);
	assert_int_equal(image_debug_link_read(fd, &link, &diag), -EBADMSG);
	close(fd);
	free(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_debug_link),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
