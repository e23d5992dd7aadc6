/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_VALUES_H
#define CULPRIT_CMD_VALUES_H

#include <stdint.h>
#include "util/diag.h"

/*
 * Values that options of several subcommands have, so that each is read, and refused, the same
 * way everywhere. option: its long name. 0, or -EINVAL with the sentence.
 */

/* From 0 to 100, with or without %. */
int values_take_percent(const char *option, const char *text, double *ret, struct diag *diag);
/* The same, but 0 makes no sense. */
int values_take_some_percent(const char *option, const char *text, double *ret, struct diag *diag);
/* A number from 1 to most; UINT64_MAX: any. */
int values_take_count(const char *option, const char *text, uint64_t most, uint64_t *ret,
		      struct diag *diag);

#endif
