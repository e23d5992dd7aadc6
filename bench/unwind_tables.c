/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Memory of unwind tables, and the CPU time to make them, against the .eh_frame that they are made
 * of.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "collect/stacks/unwind_tables.h"
#include "image/facts.h"
#include "unwind/unwind.h"

#define ROWS  (64u << 20)
#define RULES 65536

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int put(void *arg, uint32_t slot, const struct wire_unwind_table *table)
{
	(void)arg, (void)slot, (void)table;
	return 0;
}

static int quiesce(void *arg)
{
	(void)arg;
	return 0;
}

static uint64_t section_bytes(int fd, const char *wanted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *section = NULL;
	uint64_t bytes = 0;
	size_t names;

	while (elf && !elf_getshdrstrndx(elf, &names) && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && !strcmp(name, wanted))
			bytes = header.sh_size;
	}
	elf_end(elf);
	return bytes;
}

static void measure(const char *path, struct unwind_tables *tables, uint32_t slot)
{
	struct unwind_tables_counters before, after;
	struct image_unwind *u = NULL;
	struct image_facts facts;
	struct diag diag = {""};
	struct buf out;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double megabytes, seconds;
	uint64_t begin;

	if (fd < 0 || image_facts_read(fd, &facts, &diag)) {
		printf("note %s is not there\n", path);
		return;
	}
	buf_init(&out, 256 << 20);
	unwind_tables_count(tables, &before);
	begin = cpu_ns();
	if (image_unwind_describe(fd, &out, &diag) == 0)
		image_unwind_load(out.data, out.size, &u);
	unwind_tables_put(tables, slot, u, facts.segments, facts.segment_count);
	seconds = (double)(cpu_ns() - begin) / 1e9;
	unwind_tables_count(tables, &after);
	megabytes = (double)section_bytes(fd, ".eh_frame") / 1048576;
	printf("row\tunwind table of %s\tMB\t%.4g\t.eh_frame\t%.4g\t-\n", path,
	       (double)(after.rows - before.rows) * 4 / 1048576, megabytes);
	printf("note %s: %.1f ms, %.1f ms a MB of .eh_frame; rules by now %llu; %llu rows from "
	       "%llu kB of code\n",
	       path, 1e3 * seconds, 1e3 * seconds / megabytes, (unsigned long long)after.rules,
	       (unsigned long long)(u ? u->derived : 0),
	       (unsigned long long)(u ? u->derived_bytes >> 10 : 0));
	image_unwind_free(u);
	buf_free(&out);
	close(fd);
}

int main(void)
{
	static const char *const paths[] = {
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/bin/perl",
		"/usr/bin/python3.11",
		"/usr/bin/git",
		"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
		"/usr/bin/node",
		"/usr/lib/llvm-19/lib/libLLVM.so.1",
		/* Mostly assembly without a table. */
		"/usr/lib/x86_64-linux-gnu/libx265.so.199",
		"/usr/lib/x86_64-linux-gnu/libavcodec.so.59",
	};
	struct unwind_memory memory = {
		.rows = calloc(ROWS, sizeof(uint32_t)),
		.rules = calloc(RULES, sizeof(*memory.rules)),
		.row_count = ROWS,
		.rule_count = RULES,
		.slot_count = 64,
		.put = put,
		.quiesce = quiesce,
	};
	struct unwind_tables *tables = unwind_tables_new(&memory);

	elf_version(EV_CURRENT);
	if (!tables || !memory.rows || !memory.rules)
		return 1;
	for (uint32_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		measure(paths[i], tables, i + 1);
	unwind_tables_free(tables);
	free(memory.rows);
	free(memory.rules);
	return 0;
}
