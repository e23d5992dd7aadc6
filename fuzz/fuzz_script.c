/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The text of perf script, up to the harvest that is taken apart again. */
#include <stddef.h>
#include <stdint.h>
#include "exchange/readers.h"
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_reader(read_perf_script, data, size);
}
