/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_CORE_TABLE_H
#define CULPRIT_MACHINE_CORE_TABLE_H

#include "machine/core.h"

/* The tables of cores/, one of each generation of one maker's pipeline. */
extern const struct machine_core machine_core_skylake;
extern const struct machine_core machine_core_icelake;
extern const struct machine_core machine_core_alderlake_p;
extern const struct machine_core machine_core_sapphirerapids;
extern const struct machine_core machine_core_zen2;
extern const struct machine_core machine_core_zen3;
extern const struct machine_core machine_core_zen4;
extern const struct machine_core machine_core_zen5;

#endif
