/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/*
 * Counts a whole run of a program, its own functions as far as they can be:
 *
 *     native-exact FILE PROGRAM ARGUMENT...
 *
 * writes "ADDRESS COUNT" to the file for each instruction of a function that was counted, and what
 * was left alone to stderr; ends as the program.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../unit/cfg_file.h"
#include "native_start.h"
#include "instrument/attach/attach.h"
#include "instrument/copy.h"
#include "instrument/counts.h"
#include "instrument/attach/target.h"

struct exact {
	struct cfg_image *image;
	struct instrument_plan **plans;
	struct instrument_code *codes;
	enum attach_taken *taken;
	uint32_t *first_slots;
	size_t count;
	uint32_t slots;
	unsigned long left[INSTRUMENT_REASONS], left_late[ATTACH_TAKEN_COUNT];
	struct attach *attach;
	pid_t pid, fresh;
	int status;
};

static int fail(const struct diag *diag)
{
	fprintf(stderr, "native-exact: %s\n", diag->text);
	return 1;
}

static void plan_all(struct exact *x)
{
	size_t functions, entered_count;
	uint64_t *entered;

	/* Which finds functions that nothing but calls tells of. */
	if (instrument_entered_new(x->image, &entered, &entered_count))
		exit(1);
	functions = cfg_image_count(x->image);
	x->plans = calloc(functions, sizeof(*x->plans));
	x->codes = calloc(functions, sizeof(*x->codes));
	x->taken = calloc(functions, sizeof(*x->taken));
	x->first_slots = calloc(functions, sizeof(*x->first_slots));
	if (!x->plans || !x->codes || !x->taken || !x->first_slots)
		exit(1);
	for (size_t i = 0; i < functions; i++) {
		struct instrument_request q = {.entered = entered, .entered_count = entered_count};
		uint64_t entry = cfg_image_entry(x->image, i);
		enum instrument_reason why;

		if (cfg_image_function(x->image, entry, &q.function) || q.function->entry != entry)
			continue;
		if (instrument_plan_new(&q, &x->plans[x->count], &why))
			x->left[why]++;
		else
			x->count++;
	}
	free(entered);
}

/* Where the program's own file is mapped, and how far from its own addresses. */
static void find_program(pid_t pid, uint64_t *ret_start, uint64_t *ret_end, uint64_t *ret_bias)
{
	char path[32], name[TARGET_NAME_BYTES] = "";
	struct target_maps maps;
	Elf64_Ehdr header;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, name, sizeof(name) - 1) < 0 || target_maps_read(pid, &maps))
		exit(1);
	for (size_t i = 0; i < maps.count; i++)
		if (!strcmp(maps.list[i].name, name)) {
			*ret_start = *ret_start ? *ret_start : maps.list[i].start;
			*ret_end = maps.list[i].end;
		}
	target_maps_free(&maps);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &header, sizeof(header)) != sizeof(header))
		exit(1);
	close(fd);
	*ret_bias = header.e_type == ET_EXEC ? 0 : *ret_start;
}

static int put_in(struct exact *x, pid_t pid, struct diag *diag)
{
	uint64_t start = 0, end = 0, bias = 0, room, all = 0;
	struct instrument_destination at;
	int r;

	find_program(pid, &start, &end, &bias);
	for (size_t i = 0; i < x->count; i++)
		all += instrument_copy_size_max(x->plans[i]);
	r = attach_find_room(pid, start, end, all, &room, diag);
	if (r)
		return r;
	at = (struct instrument_destination){.bias = bias, .address = room};
	for (size_t i = 0; !r && i < x->count; i++) {
		r = instrument_copy_new(x->plans[i], &at, &x->codes[i]);
		x->first_slots[i] = at.first_slot;
		at.first_slot += x->codes[i].slot_count;
		at.address += instrument_copy_size_max(x->plans[i]);
	}
	if (r)
		return diag_fail(diag, -r, "copies: %s", strerror(-r));
	x->slots = at.first_slot;
	return attach_apply(x->attach, pid, room, x->codes, x->count, x->slots, x->taken, diag);
}

static void print_function(const struct instrument_plan *plan,
			   const struct instrument_counts *counts, FILE *out)
{
	const struct cfg_function *f = plan->function;

	for (uint32_t b = 0; b < f->block_count; b++)
		for (uint32_t k = 0; k < f->blocks[b].instruction_count; k++)
			fprintf(out, "%" PRIx64 " %" PRIu64 "\n",
				f->instructions[f->blocks[b].first_instruction + k].address,
				counts->blocks[b]);
}

static int print_all(struct exact *x, FILE *out)
{
	uint64_t *sums = calloc(x->slots + 1, sizeof(*sums));
	unsigned long counted = 0, inconsistent = 0;
	int r = sums ? 0 : -ENOMEM;

	if (!r)
		attach_read(x->attach, sums, x->slots);
	for (size_t i = 0; !r && i < x->count; i++) {
		struct instrument_counts *counts;

		x->left_late[x->taken[i]]++;
		if (x->taken[i] != ATTACH_TAKEN)
			continue;
		r = instrument_counts_new(x->plans[i], sums + x->first_slots[i], NULL, 0, &counts);
		if (r)
			break;
		counted++;
		inconsistent += counts->inconsistent;
		print_function(x->plans[i], counts, out);
		instrument_counts_free(counts);
	}
	free(sums);
	fprintf(stderr, "counted %lu functions, inconsistent %lu\n", counted, inconsistent);
	for (int i = 0; i < INSTRUMENT_REASONS; i++)
		if (x->left[i])
			fprintf(stderr, "left alone %lu: %s\n", x->left[i],
				instrument_reason_text(i));
	for (int i = 1; i < ATTACH_TAKEN_COUNT; i++)
		if (x->left_late[i])
			fprintf(stderr, "left out %lu: %s\n", x->left_late[i],
				attach_taken_name(i));
	return r;
}

static void take_end(void *arg, pid_t pid, int status)
{
	struct exact *x = arg;

	if (pid == x->pid)
		x->status = status;
}

static bool take_program(void *arg, pid_t pid)
{
	struct exact *x = arg;

	if (pid == x->pid)
		x->fresh = pid;
	return pid == x->pid;
}

int main(int argc, char **argv)
{
	struct exact x = {0};
	const struct attach_ops ops = {.ended = take_end, .became = take_program, .arg = &x};
	struct diag diag = {""};
	FILE *out;
	int go = -1;

	image_worker_dispatch(argc, argv);
	if (argc < 3)
		return 2;
	if (cfg_image_open_file(argv[2], &x.image, &diag))
		return fail(&diag);
	plan_all(&x);
	x.pid = start(argv + 2, &go);
	if (attach_open(x.pid, &ops, &x.attach, &diag))
		return fail(&diag);
	if (write(go, "x", 1) != 1)
		return 1;
	while (attach_serve(x.attach, true) != -ECHILD) {
		pid_t fresh = x.fresh;

		x.fresh = 0;
		if (fresh && put_in(&x, fresh, &diag))
			return fail(&diag);
	}
	out = fopen(argv[1], "w");
	if (!out || print_all(&x, out) || fclose(out))
		return 1;
	attach_close(x.attach);
	for (size_t i = 0; i < x.count; i++) {
		instrument_plan_free(x.plans[i]);
		instrument_code_free(&x.codes[i]);
	}
	free(x.plans);
	free(x.codes);
	free(x.taken);
	free(x.first_slots);
	cfg_image_free(x.image);
	return WIFEXITED(x.status) ? WEXITSTATUS(x.status) : 128 + WTERMSIG(x.status);
}
