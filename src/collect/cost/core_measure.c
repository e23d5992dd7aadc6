/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/core_measure.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "collect/host/remembered.h"
#include "config.h"
#include "machine/core.h"
#include "util/clock.h"
#include "util/hash.h"

#define ROUNDS	     3
#define PATIENCE_NS  4.4e6 /* of a loop in a round: with 34 loops 0.45 s */
#define ROUNDS_AGREE 0.015
#define MODES_APART  0.1 /* of loops that take one of two times */
#define LOOPS_LEAST  0.9 /* share of the loops that must have two times that agree */

/* Of keys. */
#define LOOPS	"loops"
#define REFUSED "loops refused"

static double measure_loop(core_measure_meter *meter, struct core_meter *state,
			   const struct machine_loop *l)
{
	_Alignas(64) static uint64_t buffer[512];

	memset(buffer, 0, sizeof(buffer));
	buffer[0] = (uint64_t)(uintptr_t)buffer;
	return meter(state, l->run, buffer, PATIENCE_NS);
}

/* The least of a loop's times that another confirms; 0: none. What disturbs a loop makes it slower,
 * so one that is much slower than the least was disturbed, though it was so twice. */
static double find_least(const struct machine_measured rounds[ROUNDS], size_t loop)
{
	double least = INFINITY, confirmed = INFINITY;

	for (unsigned i = 0; i < ROUNDS; i++) {
		double cycles = rounds[i].cycles[loop];

		if (!(cycles > 0))
			continue;
		least = fmin(least, cycles);
		for (unsigned k = 0; k < ROUNDS; k++)
			if (k != i && fabs(rounds[k].cycles[loop] / cycles - 1) < ROUNDS_AGREE)
				confirmed = fmin(confirmed, cycles);
	}
	return confirmed < least * (1 + MODES_APART) ? confirmed : 0;
}

/* Cycles of each loop; how many loops there are, and of how many no times agree. */
static unsigned measure_rounds(core_measure_meter *meter, struct machine_measured *x,
			       unsigned *ret_loops)
{
	struct machine_measured rounds[ROUNDS] = {0};
	const struct machine_loop *l;
	struct core_meter state = {0};
	unsigned loops = 0, differ = 0;

	for (unsigned r = 0; r < ROUNDS; r++)
		for (size_t i = 0; (l = machine_loop_at(i)); i++)
			rounds[r].cycles[i] = measure_loop(meter, &state, l);
	for (; machine_loop_at(loops); loops++) {
		x->cycles[loops] = find_least(rounds, loops);
		differ += x->cycles[loops] <= 0;
	}
	*ret_loops = loops;
	return differ;
}

int core_measure_loops(const struct machine_cpu *cpu, core_measure_meter *meter,
		       struct machine_measured *ret, struct diag *diag)
{
	char text[MACHINE_MEASURED_TEXT];
	struct machine_measured x = {0};
	unsigned loops;

	if (!machine_loop_at(0))
		return diag_fail(diag, EOPNOTSUPP, "no loops to measure this processor's core by");
	unsigned differ = measure_rounds(meter, &x, &loops);
	if (loops - differ < LOOPS_LEAST * loops)
		return diag_fail(
			diag, ENODATA,
			"%u of %u loops took another time each time; try again on a quieter "
			"machine",
			differ, loops);
	if (!machine_fit_is_alone(cpu, &x))
		return diag_fail(diag, ENODATA,
				 "a neighbour on the same core took part of its width; try again "
				 "later");
	/* As all who read it will see it. */
	machine_measured_format(&x, text);
	if (machine_measured_parse(text, ret))
		return diag_fail(diag, ENODATA, "the loops took times that no core takes");
	return 0;
}

/* What is kept holds for the processor with its microcode, as the kernel names it. */
static bool make_key(const char *what, char out[REMEMBERED_KEY])
{
	struct machine_cpu cpu = {.vendor = "?"};
	char id[MACHINE_CPU_TEXT], line[512], microcode[64] = "?";
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "microcode : %63s", microcode) == 1)
			break;
	if (f)
		fclose(f);
	machine_cpu_here(&cpu);
	machine_cpu_format(&cpu, id);
	int n = snprintf(out, REMEMBERED_KEY, "culprit core %s | %s | %s", what, id, microcode);
	return n > 0 && n < REMEMBERED_KEY;
}

int core_measure_cache_read(const char *directory, struct machine_measured *ret)
{
	char key[REMEMBERED_KEY], text[REMEMBERED_TEXT];

	if (!make_key(LOOPS, key) || remembered_read(directory, key, text) ||
	    machine_measured_parse(text, ret))
		return -ENOENT;
	return 0;
}

int core_measure_cache_write(const char *directory, const struct machine_measured *x)
{
	char key[REMEMBERED_KEY], text[MACHINE_MEASURED_TEXT];

	if (!make_key(LOOPS, key))
		return -EINVAL;
	machine_measured_format(x, text);
	return remembered_write(directory, key, text);
}

int core_measure_recall(struct machine_measured *ret)
{
	return core_measure_cache_read(NULL, ret);
}

/* Where neighbours are busy the next try would fail too, and each costs half a second. */
static bool was_refused(const char *directory)
{
	char key[REMEMBERED_KEY], text[REMEMBERED_TEXT];
	const uint64_t now_s = clock_uptime_s();
	uint64_t when_s;

	return make_key(REFUSED, key) && !remembered_read(directory, key, text) &&
	       sscanf(text, "%" SCNu64, &when_s) == 1 && when_s <= now_s &&
	       now_s - when_s < CORE_MEASURE_AGAIN_S;
}

static void note_refusal(const char *directory)
{
	char key[REMEMBERED_KEY], text[32];

	snprintf(text, sizeof(text), "%" PRIu64, clock_uptime_s());
	if (make_key(REFUSED, key))
		remembered_write(directory, key, text);
}

static int measure_pinned(core_measure_meter *meter, struct machine_measured *ret,
			  struct diag *diag)
{
	cpu_set_t before, one;
	struct machine_cpu here = {0};
	int cpu = sched_getcpu();
	bool pinned =
		cpu >= 0 && cpu < CPU_SETSIZE && !sched_getaffinity(0, sizeof(before), &before);

	machine_cpu_here(&here);
	/* Not needed, slices in which it moved are dropped; but fewer are. */
	CPU_ZERO(&one);
	if (pinned)
		CPU_SET((size_t)cpu, &one);
	pinned = pinned && !sched_setaffinity(0, sizeof(one), &one);
	int r = core_measure_loops(&here, meter, ret, diag);
	if (pinned)
		sched_setaffinity(0, sizeof(before), &before);
	return r;
}

static int measure(const char *directory, core_measure_meter *meter, struct machine_measured *ret,
		   struct diag *diag)
{
	int r = measure_pinned(meter, ret, diag);

	if (r)
		note_refusal(directory);
	else
		core_measure_cache_write(directory, ret);
	return r;
}

int core_measure(struct machine_measured *ret, struct diag *diag)
{
	return measure(NULL, core_meter_cycles, ret, diag);
}

/* By built-in costs: a recorder loads no LLVM. */
static void describe(const struct machine_measured *x, struct core_facts *ret)
{
	struct machine_cpu cpu = {0};
	struct machine_belief b;
	struct machine_model *m;
	struct diag unused;

	if (!machine_cpu_here(&cpu) ||
	    machine_model_believe(&cpu, x, MACHINE_SOURCE_BUILTIN, &m, &b, &unused))
		return;
	machine_belief_describe(m, &cpu, &b, ret->core, sizeof(ret->core));
	machine_model_free(m);
}

/* Remembered beside the times that it is of: to find the words takes longer than all else that a
 * recording of a short command does. */
static void recall_or_describe(const char *directory, const struct machine_measured *x,
			       struct core_facts *ret)
{
	char what[64], key[REMEMBERED_KEY], text[REMEMBERED_TEXT];

	snprintf(what, sizeof(what), "words " CULPRIT_VERSION " %016" PRIx64,
		 hash_bytes(ret->loops, strlen(ret->loops)));
	const bool keyed = make_key(what, key);
	if (keyed && !remembered_read(directory, key, text) && strlen(text) < sizeof(ret->core)) {
		memcpy(ret->core, text, strlen(text) + 1);
		return;
	}
	describe(x, ret);
	if (keyed)
		remembered_write(directory, key, ret->core);
}

void core_measure_learn(const char *directory, core_measure_meter *meter, struct core_facts *ret)
{
	struct machine_measured x;
	struct diag unused;
	const bool measured = !core_measure_cache_read(directory, &x) ||
			      (!was_refused(directory) && !measure(directory, meter, &x, &unused));

	*ret = (struct core_facts){.core = ""};
	if (measured)
		machine_measured_format(&x, ret->loops);
	recall_or_describe(directory, measured ? &x : NULL, ret);
}
