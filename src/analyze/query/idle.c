/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <fnmatch.h>
#include <string.h>
#include "analyze/query/rank.h"

/*
 * Where the kernel's idle task spends its time. cpu-clock ticks there like anywhere else, cycles
 * are few but not none, and neither is work. By the names in kernel/sched/idle.c, drivers/idle,
 * drivers/cpuidle, drivers/acpi and arch/{x86,arm64}; a suffix that the compiler added
 * (.constprop.0, .isra.0, .cold) is the same function.
 */
static const char *const idle_functions[] = {
	"acpi_idle_do_entry",
	"acpi_idle_enter",
	"acpi_idle_enter_bm",
	"acpi_idle_enter_s2idle",
	"acpi_processor_ffh_cstate_enter",
	"acpi_safe_halt",
	"amd_e400_idle",
	"arch_cpu_idle",
	"arch_cpu_idle_enter",
	"arch_cpu_idle_exit",
	"call_cpuidle",
	"cpu_do_idle",
	"cpu_idle_poll",
	"cpu_startup_entry",
	"cpuidle_enter",
	"cpuidle_enter_s2idle",
	"cpuidle_enter_state",
	"cpuidle_idle_call",
	"default_enter_idle",
	"default_idle",
	"default_idle_call",
	"do_idle",
	"haltpoll_enter_idle",
	"hv_do_idle",
	"intel_idle*",
	"mwait_idle",
	"mwait_idle_with_hints",
	"native_halt",
	"native_safe_halt",
	"poll_idle",
	"psci_cpu_suspend_enter",
	"psci_enter_idle_state",
	"pv_native_safe_halt",
	"tdx_halt",
	"tdx_safe_halt",
	"xen_safe_halt",
};

bool rank_is_idle(const struct image_id *id, const char *function)
{
	char plain[64];
	size_t size = function ? strcspn(function, ".") : 0;

	if (!image_id_is_kernel(id) || !size || size >= sizeof(plain))
		return false;
	memcpy(plain, function, size);
	plain[size] = 0;
	for (size_t i = 0; i < sizeof(idle_functions) / sizeof(idle_functions[0]); i++) {
		if (!fnmatch(idle_functions[i], plain, 0))
			return true;
	}
	return false;
}
