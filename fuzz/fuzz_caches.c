/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What is kept from one recording to the next, as an earlier version or a broken disk may leave it.
 * The first byte says what the rest is: a table of unwinding, a compressed file, the text of a
 * cost, of a skid or of a core's loops. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "collect/cost/core_measure.h"
#include "collect/cost/cost_cache.h"
#include "collect/cost/skid_cache.h"
#include "db/blob.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_TABLE, INPUT_BLOB, INPUT_COST, INPUT_SKID, INPUT_CORE, INPUT_KINDS };

/* One of the directories of remembered.h, with one file in it, whose first line is its key. */
struct kept {
	char directory[64], file[320];
	int fd;
	off_t key_size;
};
static struct kept cost_kept, skid_kept, core_kept;
static const struct event clock_event = {.name = (char *)"cpu-clock",
					 .attr = {.type = PERF_TYPE_SOFTWARE}};

static void forget(void)
{
	unlink(cost_kept.file);
	rmdir(cost_kept.directory);
	unlink(skid_kept.file);
	rmdir(skid_kept.directory);
	unlink(core_kept.file);
	rmdir(core_kept.directory);
}

static void find_kept(struct kept *k)
{
	DIR *d = opendir(k->directory);
	char text[2048];
	const struct dirent *e;
	ssize_t size;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(k->file, sizeof(k->file), "%s/%s", k->directory, e->d_name);
	closedir(d);
	k->fd = open(k->file, O_RDWR | O_CLOEXEC);
	size = k->fd < 0 ? -1 : read(k->fd, text, sizeof(text));
	if (size <= 0 || !memchr(text, '\n', (size_t)size))
		abort();
	k->key_size = (const char *)memchr(text, '\n', (size_t)size) + 1 - text;
}

static void set_up(void)
{
	const struct governor_cost cost = {.measured = true, .cost_ns = 1000, .error_ns = 10};
	struct skid_facts facts = {.clock_hz = 3e9};
	struct machine_measured loops = {0};
	struct machine_skid skid;

	for (size_t i = 0; i < 12; i++)
		loops.cycles[i] = 12;
	machine_skid_default(false, &skid);
	machine_skid_format(&skid, facts.skid);
	strcpy(cost_kept.directory, "/tmp/fuzz-caches-XXXXXX");
	strcpy(skid_kept.directory, "/tmp/fuzz-caches-XXXXXX");
	strcpy(core_kept.directory, "/tmp/fuzz-caches-XXXXXX");
	if (!mkdtemp(cost_kept.directory) || !mkdtemp(skid_kept.directory) ||
	    !mkdtemp(core_kept.directory) ||
	    core_measure_cache_write(core_kept.directory, &loops) ||
	    cost_cache_write(cost_kept.directory, &clock_event, false, &cost) ||
	    skid_cache_write(skid_kept.directory, "cpu-clock", &facts))
		abort();
	find_kept(&cost_kept);
	find_kept(&skid_kept);
	find_kept(&core_kept);
	atexit(forget);
}

static void put_text(const struct kept *k, const uint8_t *data, size_t size)
{
	if (ftruncate(k->fd, k->key_size) ||
	    pwrite(k->fd, data, size, k->key_size) != (ssize_t)size)
		abort();
}

static void try_cost(const uint8_t *data, size_t size)
{
	struct governor_cost cost;
	uint64_t age_s;

	put_text(&cost_kept, data, size);
	if (cost_cache_read(cost_kept.directory, &clock_event, false, &cost, &age_s) == 0 &&
	    (!isfinite(cost.cost_ns) || !isfinite(cost.error_ns) || age_s >= COST_CACHE_S))
		abort();
}

static void try_skid(const uint8_t *data, size_t size)
{
	struct skid_facts facts;
	struct machine_skid skid;

	put_text(&skid_kept, data, size);
	if (skid_cache_read(skid_kept.directory, "cpu-clock", &facts) == 0 &&
	    (machine_skid_parse(facts.skid, &skid) || !isfinite(facts.clock_hz)))
		abort();
}

/* What is taken can be written again, and a model can go by it. */
static void try_core(const uint8_t *data, size_t size)
{
	static const struct machine_cpu cpu = {"GenuineIntel", 6, 143, 0};
	struct machine_measured loops, again;
	char text[MACHINE_MEASURED_TEXT];
	struct machine_belief belief;
	struct machine_model *m;
	struct diag diag;

	put_text(&core_kept, data, size);
	if (core_measure_cache_read(core_kept.directory, &loops))
		return;
	machine_measured_format(&loops, text);
	if (machine_measured_parse(text, &again) ||
	    machine_model_believe(&cpu, &loops, MACHINE_SOURCE_BUILTIN, &m, &belief, &diag))
		abort();
	machine_model_free(m);
}

/* Whatever it takes is in order, and its rules are there. */
static void try_table(const uint8_t *data, size_t size)
{
	struct image_unwind *u;

	if (image_unwind_load(data, size, &u))
		return;
	for (size_t i = 0; i < u->row_count; i++)
		if (u->rows[i].rule >= u->rule_count ||
		    (i && u->rows[i].offset <= u->rows[i - 1].offset))
			abort();
	image_unwind_free(u);
}

static void try_blob(const uint8_t *data, size_t size)
{
	static int fd = -1;
	size_t unpacked;
	void *bytes;

	if (fd < 0)
		fd = memfd_create("blob", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (db_blob_unpack(&io_system, fd, 1 << 20, &bytes, &unpacked) == 0) {
		if (unpacked > 1 << 20)
			abort();
		free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const try[INPUT_KINDS])(const uint8_t *data, size_t size) = {
		try_table, try_blob, try_cost, try_skid, try_core};

	if (!cost_kept.fd)
		set_up();
	/* The last kind came later: the corpus keeps its meaning. */
	if (size)
		try[data[0] == INPUT_CORE ? INPUT_CORE : data[0] % INPUT_CORE](data + 1, size - 1);
	return 0;
}
