/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What in-kernel programs meet is given a slot only where both sides mean one file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "collect/process/file_slots.h"

/* Above the kernel's limit, so that no real process is meant. */
#define PID    5000000
#define START  0x400000u
#define DEVICE (8u << 20 | 1)
#define INODE  77u
#define LOOKS  16

struct world {
	struct files *files;
	struct processes *processes;
	struct db_batch *batch;
	struct resolver *resolver;
	struct file_slots *slots;
	struct wire_file told; /* the program, last */
	uint32_t told_slot;
	unsigned given, dropped;
	int give_result;
};

static int put(void *arg, const struct wire_file *file, uint32_t slot)
{
	struct world *w = arg;

	w->told = *file;
	w->told_slot = slot;
	return 0;
}

static void drop(void *arg, const struct wire_file *file)
{
	struct world *w = arg;

	(void)file;
	w->dropped++;
}

static int give(void *arg, const struct mapping *m, pid_t pid, uint32_t *ret)
{
	struct world *w = arg;

	assert_int_equal(m->start, START);
	assert_int_equal(pid, PID);
	w->given++;
	*ret = 7;
	return w->give_result;
}

static int setup(void **state)
{
	static const struct subject_labels labels;
	struct world *w = calloc(1, sizeof(*w));
	struct resolver_config resolver = {.labels = &labels};
	struct file_slots_config slots = {.put = put, .drop = drop, .give = give, .arg = w};
	struct sideband_record map = {.type = SIDEBAND_MMAP,
				      .time_ns = 100,
				      .pid = PID,
				      .tid = PID,
				      .address = START,
				      .size = 0x2000,
				      .file_offset = 0x1000,
				      .device_major = 8,
				      .device_minor = 1,
				      .inode = INODE,
				      .name = "/nowhere/program",
				      .name_size = 16};

	w->files = files_new(NULL);
	w->processes = resolver.processes = processes_new(w->files);
	w->batch = resolver.batch = db_batch_new(16);
	resolver.files = w->files;
	w->resolver = slots.resolver = resolver_new(&resolver);
	w->slots = file_slots_new(&slots);
	assert_non_null(w->slots);
	processes_take(w->processes, &map);
	/* The mapping is asked about at once. */
	assert_true(files_wait(w->files, UINT64_MAX));
	assert_int_equal(files_take_answers(w->files), 1);
	file_slots_begin(w->slots, LOOKS);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	file_slots_free(w->slots);
	resolver_free(w->resolver);
	db_batch_free(w->batch);
	processes_free(w->processes);
	files_free(w->files);
	free(w);
	return 0;
}

static struct file_place met(void)
{
	return (struct file_place){.file = {.inode = INODE, .modified = 1, .device = DEVICE},
				   .offset = 0x1800,
				   .address = START + 0x800,
				   .time_ns = 200,
				   .tgid = PID};
}

static void a_file_is_learnt_once(void **state)
{
	struct world *w = *state;
	struct file_place place = met();

	assert_int_equal(file_slots_learn(w->slots, &place), 7);
	assert_int_equal(w->told_slot, 7);
	assert_memory_equal(&w->told, &place.file, sizeof(place.file));
	/* Wherever it is met next. */
	place.address = 1;
	assert_int_equal(file_slots_learn(w->slots, &place), 7);
	assert_int_equal(w->given, 1);
	assert_int_equal(file_slots_unplaced(w->slots), 0);
	file_slots_clear(w->slots);
	assert_int_equal(w->dropped, 1);
	place = met();
	assert_int_equal(file_slots_learn(w->slots, &place), 7);
	assert_int_equal(w->given, 2);
}

/* The mapping that we know of may be older, or newer, than what the program saw there. */
static void what_we_know_otherwise_gets_no_slot(void **state)
{
	struct world *w = *state;
	struct file_place place = met();

	place.file.inode++; /* of another file at the same place */
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	place = met();
	place.offset += 0x1000;
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	place = met();
	place.address += 0x4000;
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	assert_int_equal(w->given, 0);
	assert_int_equal(file_slots_unplaced(w->slots), 3);
	/* What was refused is looked at when it is met again. */
	place = met();
	assert_int_equal(file_slots_learn(w->slots, &place), 7);
}

/* Where the kernel's numbers and the record's are of different worlds, only the place counts. */
static void numbers_of_another_device_tell_nothing(void **state)
{
	struct world *w = *state;
	struct file_place place = met();

	place.file.device++;
	place.file.inode++;
	assert_int_equal(file_slots_learn(w->slots, &place), 7);
}

static void what_was_written_to_since_gets_no_slot(void **state)
{
	struct world *w = *state;
	struct file_place place = met();

	assert_int_equal(file_slots_learn(w->slots, &place), 7);
	place.file.modified++;
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	assert_int_equal(w->told_slot, 0);
}

static void looks_are_limited(void **state)
{
	struct world *w = *state;
	struct file_place place = met();

	file_slots_begin(w->slots, 1);
	place.offset++;
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	place.offset--;
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	assert_int_equal(file_slots_unplaced(w->slots), 1);
	file_slots_begin(w->slots, 1);
	w->give_result = -ENOSPC;
	assert_int_equal(file_slots_learn(w->slots, &place), 0);
	assert_true(file_slots_full(w->slots));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_learnt_once, setup, teardown),
		cmocka_unit_test_setup_teardown(what_we_know_otherwise_gets_no_slot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(numbers_of_another_device_tell_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_was_written_to_since_gets_no_slot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(looks_are_limited, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
