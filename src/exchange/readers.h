/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_READERS_H
#define CULPRIT_EXCHANGE_READERS_H

#include "exchange/reading.h"

/*
 * The readers of foreign profiles. They trust nothing, look at nothing but their input, and are run
 * by a process without privileges (import.h); only tests call them directly. Each returns 0, or a
 * negative errno with a sentence in diag when the harvest is of no use: -EBADMSG (not of this
 * form), -ENOMEM, -ENOSPC (larger than a harvest may be).
 */
typedef int reader(const struct reading *in, struct harvest *harvest, struct diag *diag);
reader read_perf_data, read_folded, read_perf_script, read_gmon, read_pprof;

#define READER_START_BYTES 4096

/* The reader called name or, when that is NULL, the one for inputs that begin like start
 * (READER_START_BYTES of the input, or all). -EINVAL: no such name. */
int reader_choose(const char *name, const uint8_t *start, size_t size, reader **ret,
		  struct diag *diag);

#endif
