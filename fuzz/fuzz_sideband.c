/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's records of what processes do, with names in them that anybody may choose. The first
 * byte says whether build-ids were asked for. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "collect/process/sideband.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sideband_record r;
	uint8_t *record;

	if (!size--)
		return 0;
	record = malloc(size ? size : 1); /* just so long, so that the sanitizer sees */
	if (!record)
		return 0;
	memcpy(record, data + 1, size);
	if (sideband_parse(record, size, data[0] & 1, &r) == 0) {
		if (r.build_id_size > sizeof(r.build_id) || r.name_size > size)
			abort();
		if (r.name_size && ((const uint8_t *)r.name < record ||
				    (const uint8_t *)r.name + r.name_size > record + size ||
				    memchr(r.name, 0, r.name_size)))
			abort();
	}
	free(record);
	return 0;
}
