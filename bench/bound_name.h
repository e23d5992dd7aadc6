/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BENCH_BOUND_NAME_H
#define CULPRIT_BENCH_BOUND_NAME_H

#include "machine/simulate.h"

static const char *const bound_names[MACHINE_BOUNDS] = {
	[MACHINE_BOUND_RETIRE] = "retire",	   [MACHINE_BOUND_DEPENDENCY] = "dependency",
	[MACHINE_BOUND_MEMORY] = "memory",	   [MACHINE_BOUND_FORWARD] = "store-forward",
	[MACHINE_BOUND_LATENCY] = "latency",	   [MACHINE_BOUND_PORT] = "port",
	[MACHINE_BOUND_DIVIDER] = "divider",	   [MACHINE_BOUND_ISSUE] = "issue",
	[MACHINE_BOUND_FRONT_END] = "front-end",   [MACHINE_BOUND_ICACHE] = "icache",
	[MACHINE_BOUND_MISPREDICT] = "mispredict", [MACHINE_BOUND_REORDER] = "reorder-buffer",
	[MACHINE_BOUND_SCHEDULER] = "scheduler",   [MACHINE_BOUND_LOADS] = "load-buffer",
	[MACHINE_BOUND_STORES] = "store-buffer",   [MACHINE_BOUND_SERIAL] = "serial",
};

#endif
