/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a reader of foreign profiles sends, should a hostile file have taken it over. */
#include <stddef.h>
#include <stdint.h>
#include "exchange/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store s = {0};
	struct diag diag;

	store_load(&s, data, size, &diag);
	arena_free(s.memory);
	return 0;
}
