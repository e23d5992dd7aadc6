/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/elf/debug_link.h"
#include "image/layout.h"
#include "workshop.h"

static struct image_layout *empty(void)
{
	struct image_layout *l = calloc(1, sizeof(*l));
	assert_non_null(l);
	l->machine = 62;
	l->bits = 64;
	return l;
}

static void add_range(struct image_layout *l, uint64_t start, uint64_t end)
{
	l->code = calloc(1, sizeof(*l->code));
	assert_non_null(l->code);
	l->code[0] = (struct image_range){start, end};
	l->code_count = 1;
}

/* Every cut is refused, and every changed byte is taken or refused, but never believed too far. */
static void check_damage(struct buf *b)
{
	struct image_layout *l;
	for (size_t cut = 0; cut < b->size; cut++)
		assert_int_equal(image_layout_open(b->data, cut, &l), -EBADMSG);
	for (size_t i = 0; i < b->size; i++) {
		b->data[i] ^= 0x91;
		if (image_layout_open(b->data, b->size, &l) == 0)
			image_layout_free(l);
		b->data[i] ^= 0x91;
	}
}

/* Against a plain array: overlapping additions keep what came first. */
static void test_add(void **state)
{
	(void)state;
	struct image_layout *l = empty(), *copy;
	uint8_t model[4096] = {0}, data[4096];
	uint64_t seed = 3;
	add_range(l, 0, 4000);
	for (int round = 1; round < 200; round++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t start = (seed >> 33) % 4000, size = 1 + (seed >> 20) % 96;
		memset(data, round, size);
		assert_int_equal(image_layout_add(l, start, data, size), 0);
		for (size_t i = start; i < start + size; i++)
			if (!model[i])
				model[i] = (uint8_t)round;
	}
	struct buf b;
	buf_init(&b, 1 << 20);
	assert_int_equal(image_layout_save(l, &b), 0);
	assert_int_equal(image_layout_open(b.data, b.size, &copy), 0);
	assert_int_equal(copy->part_bytes, l->part_bytes);
	assert_int_equal(copy->part_count, l->part_count);
	for (size_t i = 0; i < 4096; i++) {
		size_t size;
		const uint8_t *code = image_layout_code(copy, i, &size);
		assert_int_equal(code != NULL, i < 4000 && model[i] != 0);
		if (code)
			assert_int_equal(*code, model[i]);
	}
	check_damage(&b);
	buf_free(&b);
	image_layout_free(copy);
	image_layout_free(l);
}

static void test_limits(void **state)
{
	(void)state;
	struct image_layout *l = empty();
	uint8_t *block = calloc(1, IMAGE_LAYOUT_KEPT_MAX_BYTES + 1);
	assert_int_equal(image_layout_add(l, 0, block, 0), -EINVAL);
	assert_int_equal(image_layout_add(l, UINT64_MAX - 1, block, 4), -EINVAL);
	assert_int_equal(image_layout_add(l, 0, block, IMAGE_LAYOUT_KEPT_MAX_BYTES + 1), -ENOSPC);
	assert_int_equal(image_layout_add(l, 0, block, IMAGE_LAYOUT_KEPT_MAX_BYTES), 0);
	assert_int_equal(image_layout_add(l, UINT64_MAX - 9, block, 4), -ENOSPC);
	image_layout_free(l);
	free(block);
}

/* The head, its pieces each of one byte, and lists of nothing. */
static void build_pieces(struct buf *b, size_t count)
{
	static const uint8_t head[] = {'C', 'C', 'D', '2', 62, 64, 1};
	buf_clear(b);
	buf_append(b, head, sizeof(head));
	buf_append_varint(b, count);
	for (size_t i = 0; i < count; i++)
		buf_append(b, "\1\1\x90", 3);
	buf_append(b, "\0\0\0\0", 4);
}

static void test_many_pieces(void **state)
{
	struct image_layout *l;
	struct buf b;
	(void)state;
	buf_init(&b, 1 << 20);
	build_pieces(&b, IMAGE_LAYOUT_KEPT_MAX_PARTS);
	assert_int_equal(image_layout_open(b.data, b.size, &l), 0);
	assert_int_equal(image_layout_add(l, 0, (const uint8_t *)"x", 1), -ENOSPC);
	image_layout_free(l);
	build_pieces(&b, IMAGE_LAYOUT_KEPT_MAX_PARTS + 1);
	assert_int_equal(image_layout_open(b.data, b.size, &l), -EBADMSG);
	buf_free(&b);
}

/* What a database's writer could have put there. */
static void test_hostile_lists(void **state)
{
	struct image_layout *l;
	struct buf b;
	(void)state;
	buf_init(&b, 1 << 20);
	build_pieces(&b, 1);
	assert_int_equal(image_layout_open(b.data, b.size, &l), 0);
	image_layout_free(l);
	buf_append_u8(&b, 0); /* more than is told */
	assert_int_equal(image_layout_open(b.data, b.size, &l), -EBADMSG);
	/* One word of the linker's, whose name ends before its end. */
	b.size -= 2;
	buf_append(&b, "\1\0\3a\0b", 6);
	assert_int_equal(image_layout_open(b.data, b.size, &l), -EBADMSG);
	b.data[b.size - 2] = '_';
	assert_int_equal(image_layout_open(b.data, b.size, &l), 0);
	assert_string_equal(l->externals[0].name, "a_b");
	image_layout_free(l);
	/* More ranges than there is memory for are seen to be too many. */
	build_pieces(&b, 1);
	b.size -= 4;
	buf_append_varint(&b, UINT64_MAX / 16);
	assert_int_equal(image_layout_open(b.data, b.size, &l), -EBADMSG);
	buf_free(&b);
}

static const char thrower[] = "#include <stdexcept>\n"
			      "#include <cstdlib>\n"
			      "int main(int c, char **v) {\n"
			      "	try { if (c > 1) throw std::runtime_error(v[1]); }\n"
			      "	catch (std::exception &e) { return 1; }\n"
			      "	return atoi(v[0]); }\n";

/* Of a file, all that an analysis wants comes back: the saved form of what was saved is the same.
 */
static void test_file(void **state)
{
	(void)state;
	struct image_layout *l, *kept;
	struct buf description, first, second;
	assert_int_equal(workshop_write("t.cc", thrower), 0);
	assert_int_equal(workshop_run("g++ -O1 t.cc -o t"), 0);
	int fd = workshop_open("t");
	buf_init(&description, 64 << 20);
	buf_init(&first, 64 << 20);
	buf_init(&second, 64 << 20);
	assert_int_equal(image_layout_describe(fd, &description, NULL), 0);
	assert_int_equal(image_layout_load(description.data, description.size, fd,
					   IMAGE_LAYOUT_KEPT_MAX_BYTES, &l, NULL),
			 0);
	assert_true(l->whole);
	assert_int_equal(image_layout_save(l, &first), 0);
	assert_int_equal(image_layout_open(first.data, first.size, &kept), 0);
	assert_true(kept->whole);
	assert_int_equal(kept->machine, l->machine);
	assert_int_equal(kept->bits, l->bits);
	assert_int_equal(kept->code_count, l->code_count);
	assert_int_equal(kept->frame_count, l->frame_count);
	assert_true(kept->landing_count && kept->landing_count == l->landing_count);
	assert_memory_equal(kept->landings, l->landings, l->landing_count * sizeof(*l->landings));
	assert_true(kept->external_count && kept->external_count == l->external_count);
	for (size_t i = 0; i < l->external_count; i++) {
		assert_int_equal(kept->externals[i].address, l->externals[i].address);
		assert_string_equal(kept->externals[i].name, l->externals[i].name);
	}
	assert_int_equal(image_layout_save(kept, &second), 0);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	image_layout_free(kept);
	image_layout_free(l);
	/* Of a large one everything but its bytes. */
	assert_int_equal(image_layout_load(description.data, description.size, fd, 64, &l, NULL),
			 0);
	assert_false(l->whole);
	assert_int_equal(l->part_count, 0);
	assert_true(l->frame_count > 0);
	image_layout_free(l);
	close(fd);
	buf_free(&description);
	buf_free(&first);
	buf_free(&second);
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
		cmocka_unit_test(test_add),	    cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_pieces), cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_file),	    cmocka_unit_test(test_debug_link),
	};
	return cmocka_run_group_tests(tests, workshop_setup, workshop_teardown);
}
