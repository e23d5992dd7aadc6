/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BPF_WIRE_FILE_H
#define CULPRIT_BPF_WIRE_FILE_H

#include "wire.h"

/* A file and the state of its content, as the kernel has it. Opaque to the collector. */
struct wire_file {
	wire_u64 inode;
	wire_u64 modified; /* seconds and nanoseconds, mixed */
	wire_u32 device;
	wire_u32 generation;
};

#endif
