/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/governor_work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/cost/governor.h"
#include "collect/host/host.h"

#define LINE 64 /* bytes; where lines are longer, each is visited twice */
/* Without anything said of them. And a second level that cores share may be larger than what one
 * can go through between two interrupts. */
#define FIRST_USUAL  (32u << 10)
#define SECOND_USUAL (1u << 20)
#define SET_MOST     (4u << 20)

/* Sattolo's algorithm: a random cyclic permutation, so that the ring visits every line. The ring
 * is a chain of numbers first, made pointers in place. */
static void link_lines(char *memory, size_t count)
{
	uint64_t draw = 0x9e3779b97f4a7c15ull;

	for (size_t i = 0; i < count; i++)
		*(size_t *)(memory + i * LINE) = i;
	for (size_t i = count - 1; i > 0; i--) {
		size_t *a = (size_t *)(memory + i * LINE), *b, swap = *a;

		draw = draw * 6364136223846793005u + 1442695040888963407u;
		b = (size_t *)(memory + (draw >> 33) % i * LINE);
		*a = *b;
		*b = swap;
	}
	for (size_t i = 0; i < count; i++) {
		void **line = (void **)(memory + i * LINE);

		*line = memory + *(size_t *)line * LINE;
	}
}

int governor_work_new(size_t bytes, struct governor_work *ret)
{
	void *memory = NULL;

	if (bytes >= LINE) {
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		if (memory == MAP_FAILED)
			return -ENOMEM;
		link_lines(memory, bytes / LINE);
	}
	*ret = (struct governor_work){memory, bytes};
	return 0;
}

void governor_work_free(struct governor_work *w)
{
	if (w->lines)
		munmap(w->lines, w->bytes);
	*w = (struct governor_work){0};
}

/* The time of a step is the same each time, and the compiler cannot leave it out. */
void governor_work_run(const struct governor_work *w, uint64_t steps)
{
	void **line = w->lines;
	uint64_t x = steps | 1;

	if (!line)
		for (uint64_t i = 0; i < steps; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			__asm__ volatile("" : "+r"(x));
		}
	else
		for (uint64_t i = 0; i < steps; i++) {
			line = *line;
			__asm__ volatile("" : "+r"(line));
		}
}

uint64_t governor_work_round(const struct governor_work *w)
{
	return w->lines ? w->bytes / LINE : 0;
}

/* "48K", of data, of one level; 0: sysfs does not say. */
static size_t cache_bytes(const char *root, int cpu, long long level)
{
	char path[128], text[64], unit;
	unsigned long size;
	long long found;

	for (int i = 0; i < 8; i++) {
		int length = snprintf(path, sizeof(path),
				      "/sys/devices/system/cpu/cpu%d/cache/index%d/", cpu, i);

		snprintf(path + length, sizeof(path) - (size_t)length, "level");
		if (host_read_number(root, path, &found))
			return 0;
		snprintf(path + length, sizeof(path) - (size_t)length, "type");
		if (found != level || host_read_text(root, path, text, sizeof(text)) <= 0 ||
		    !strcmp(text, "Instruction"))
			continue;
		snprintf(path + length, sizeof(path) - (size_t)length, "size");
		if (host_read_text(root, path, text, sizeof(text)) > 0 &&
		    sscanf(text, "%lu%c", &size, &unit) == 2 && size <= 1u << 20)
			return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : 0;
	}
	return 0;
}

size_t governor_set_bytes(const char *root, int cpu, enum governor_set set)
{
	static const long said[GOVERNOR_SETS] = {[GOVERNOR_FIRST_LEVEL] = _SC_LEVEL1_DCACHE_SIZE,
						 [GOVERNOR_SECOND_LEVEL] = _SC_LEVEL2_CACHE_SIZE};
	size_t bytes;
	long by_library;

	if (set == GOVERNOR_REGISTERS)
		return 0;
	bytes = cache_bytes(root, cpu, set == GOVERNOR_FIRST_LEVEL ? 1 : 2);
	/* The C library asks the processor itself. */
	if (!bytes && !*root && (by_library = sysconf((int)said[set])) > 0)
		bytes = (size_t)by_library;
	if (!bytes)
		bytes = set == GOVERNOR_FIRST_LEVEL ? FIRST_USUAL : SECOND_USUAL;
	return bytes / 2 < SET_MOST ? bytes / 2 : SET_MOST;
}
