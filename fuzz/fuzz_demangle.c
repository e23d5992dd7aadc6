/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names of symbols, which any file may choose. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "image/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), out[DEMANGLE_MAX_RESULT];

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = 0;
	if (image_demangle(name, out) && (!out[0] || strlen(out) >= sizeof(out)))
		abort();
	free(name);
	return 0;
}
