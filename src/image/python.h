/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_PYTHON_H
#define CULPRIT_IMAGE_PYTHON_H

#include <stdint.h>
#include "util/diag.h"

/* What a file that has a CPython interpreter in it (a program or a library) says of it. */
struct image_python {
	uint64_t runtime; /* virtual address of _PyRuntime */
	uint32_t version; /* as PY_VERSION_HEX: 0x030b02f0 is 3.11.2; 0: 3.7 to 3.10 */
	uint32_t unused;
};

/*
 * By the symbols _PyRuntime and Py_Version, of which the latter is there from CPython 3.11 on.
 * -ENOENT: there is no such interpreter; -EBADMSG. Foreign format: privileged callers go through
 * image/worker.h.
 */
int image_python_read(int fd, struct image_python *ret, struct diag *diag);

#endif
