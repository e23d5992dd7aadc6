/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Symbols, code, debug links and lines of ELF files, and the saved forms of all. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "image/code.h"
#include "image/elf/debug_link.h"
#include "image/layout.h"
#include "image/line_table.h"
#include "image/symbols.h"
#include "util/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_symbols(struct image_symbols *s)
{
	uint64_t end = 0;
	for (size_t i = 0; i < image_symbols_count(s); i++) {
		const struct image_function *f = image_symbols_at(s, i);
		if (f->start < end || !f->size || image_symbols_find(s, f->start) != f)
			abort();
		end = f->start + f->size;
	}
	image_symbols_free(s);
}

/* What is taken can be saved, and says the same again. */
static void use_layout(struct image_layout *l)
{
	struct image_layout *again;
	struct buf b;
	buf_init(&b, 64 << 20);
	if (image_layout_save(l, &b) == 0) {
		if (image_layout_open(b.data, b.size, &again))
			abort();
		image_layout_free(again);
	}
	buf_free(&b);
	image_layout_free(l);
}

static void use_table(struct image_line_table *t)
{
	struct image_line_table again;
	struct buf b;
	for (size_t i = 0; i < t->range_count; i++)
		if (image_line_table_find(t, t->ranges[i].end - 1) >= t->run_count)
			abort();
	buf_init(&b, 64 << 20);
	if (image_line_table_save(t, &b) == 0) {
		if (image_line_table_load(b.data, b.size, &again) ||
		    again.run_count != t->run_count)
			abort();
		image_line_table_free(&again);
	}
	buf_free(&b);
	image_line_table_free(t);
}

static void read_layout(int fd)
{
	struct image_layout *layout;
	struct buf description;
	buf_init(&description, 16 << 20);
	if (image_layout_describe(fd, &description, NULL) == 0 &&
	    image_layout_load(description.data, description.size, fd, 16 << 20, &layout, NULL) == 0)
		image_layout_free(layout);
	buf_free(&description);
}

static void read_file(int fd)
{
	static const uint64_t addresses[] = {0x1000, 0x1010, 0x1100, 0x401000, 0x401136};
	static const struct image_range ranges[] = {{0x1000, 0x1200}, {0x401000, 0x401200}};
	struct image_line_table table;
	struct image_symbols *s;
	struct image_lines *l;
	struct image_debug_link link;
	uint8_t *code;
	size_t size;
	if (image_symbols_read(fd, fd, 16 << 20, &s, NULL) == 0)
		use_symbols(s);
	if (image_data_symbols_read(fd, fd, 16 << 20, &s, NULL) == 0)
		use_symbols(s);
	if (image_lines_read(fd, -1, addresses, 5, &l, NULL) == 0)
		image_lines_free(l);
	if (image_line_table_read(fd, -1, ranges, 2, &table, NULL) == 0)
		use_table(&table);
	if (image_code_read(fd, 0x1000, 4096, &code, &size, NULL) == 0)
		free(code);
	image_debug_link_read(fd, &link, NULL);
	read_layout(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_symbols *s;
	struct image_lines *l;
	if (image_symbols_load(data, size, &s, NULL) == 0)
		use_symbols(s);
	if (image_lines_load(data, size, &l, NULL) == 0)
		image_lines_free(l);
	struct image_layout *layout;
	struct image_line_table table;
	if (image_layout_load(data, size, -1, 0, &layout, NULL) == 0)
		image_layout_free(layout);
	if (image_layout_open(data, size, &layout) == 0)
		use_layout(layout);
	if (image_line_table_load(data, size, &table) == 0)
		use_table(&table);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd >= 0 && io_write_all(&io_system, fd, data, size) == 0)
		read_file(fd);
	if (fd >= 0)
		close(fd);
	return 0;
}
