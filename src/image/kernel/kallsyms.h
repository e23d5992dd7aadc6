/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_KERNEL_KALLSYMS_H
#define CULPRIT_IMAGE_KERNEL_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/* One line of /proc/kallsyms. The strings are not terminated and live only during the call. */
struct kallsyms_line {
	uint64_t address;
	char type;
	const char *name, *module; /* module_size 0: the core kernel; else without the brackets */
	size_t name_size, module_size;
};

/*
 * Calls f for each line of the file in its order, until f returns other than 0, which is then the
 * result. Reads it in pieces, never whole. Lines that are not of the form, or longer than 4 KiB,
 * are counted in ret_refused and skipped.
 */
int kallsyms_each(const char *path, int (*f)(void *arg, const struct kallsyms_line *line),
		  void *arg, uint64_t *ret_refused, struct diag *diag);

#endif
