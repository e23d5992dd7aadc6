/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/tick.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include "collect/host/host.h"

const char *const tick_variables[] = {"tick_cpu_sched", "hrtimer_bases", "__irq_regs",
				      "bpf_prog_active", NULL};

static uint64_t resolution_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_getres(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* This clock goes on by ticks. */
uint64_t tick_period_ns(void)
{
	return resolution_ns(CLOCK_MONOTONIC_COARSE);
}

int tick_check(const char *root, struct diag *diag)
{
	char text[256] = "", *full = text;

	/* Timers that wait for ticks make none: there the tick is an interrupt and no timer. */
	if (resolution_ns(CLOCK_MONOTONIC) >= tick_period_ns())
		return diag_fail(diag, EOPNOTSUPP,
				 "this kernel has no high-resolution timers (highres=off, or no "
				 "clock for them), and without them its tick cannot be followed");
	host_read_text(root, "/sys/devices/system/cpu/nohz_full", text, sizeof(text));
	full += strspn(full, " ");
	full[strcspn(full, "\n")] = 0;
	if (full[0] && strcmp(full, "(null)") != 0)
		return diag_fail(diag, EOPNOTSUPP,
				 "busy CPUs take no tick here while one thread runs (nohz_full=%s)",
				 full);
	return 0;
}

/* Of a variable in the memory of each CPU, from the first of them. */
static bool find_variable(const struct btf *btf, const char *name, int64_t *ret)
{
	int number = btf__find_by_name_kind(btf, TICK_SECTION, BTF_KIND_DATASEC);
	const struct btf_type *section = number < 0 ? NULL : btf__type_by_id(btf, (uint32_t)number);
	const struct btf_var_secinfo *v = section ? btf_var_secinfos(section) : NULL;

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_type *t = btf__type_by_id(btf, v[i].type);

		if (strcmp(btf__name_by_offset(btf, t->name_off), name) == 0) {
			*ret = v[i].offset;
			return true;
		}
	}
	return false;
}

static bool find_member(const struct btf *btf, const char *type, const char *name, int64_t *ret)
{
	int number = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = number < 0 ? NULL : btf__type_by_id(btf, (uint32_t)number);

	for (uint32_t i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name) == 0) {
			*ret = btf_member_bit_offset(t, i) / 8;
			return true;
		}
	return false;
}

int tick_offered(struct diag *diag)
{
	struct wire_tick places;
	struct btf *btf;
	int r = tick_check("", diag);

	if (r)
		return r;
	btf = btf__load_vmlinux_btf();
	r = btf ? tick_find(btf, &places, diag)
		: diag_fail(diag, EOPNOTSUPP, "the kernel's types (BTF) cannot be read");
	btf__free(btf);
	return r;
}

int tick_find(const struct btf *btf, struct wire_tick *ret, struct diag *diag)
{
	int64_t timer, timer_in, clock, clock_in, registers, running;

	/* Its clock is the first of the CPU's: the monotonic one. */
	if (!find_variable(btf, "tick_cpu_sched", &timer) ||
	    !find_member(btf, "tick_sched", "sched_timer", &timer_in) ||
	    !find_variable(btf, "hrtimer_bases", &clock) ||
	    !find_member(btf, "hrtimer_cpu_base", "clock_base", &clock_in) ||
	    !find_variable(btf, "__irq_regs", &registers) ||
	    !find_variable(btf, "bpf_prog_active", &running))
		return diag_fail(diag, EOPNOTSUPP,
				 "the kernel's types (BTF) do not say where its tick is");
	timer += timer_in;
	*ret = (struct wire_tick){.base = clock + clock_in - timer,
				  .registers = registers - timer,
				  .running = running - timer};
	return 0;
}
