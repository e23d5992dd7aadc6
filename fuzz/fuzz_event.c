/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Event names as a person may type them, on a machine with a PMU and tracepoints (a tree of files:
 * dev/fuzz-one runs targets in the repository's root). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "collect/events/event_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct event e;
	struct diag diag = {{0}};
	int r;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	r = event_name_parse("tests/unit/data/machines/plain", text, &e, &diag);
	/* What is refused is explained, what is taken is usable. */
	if (r && !diag.text[0])
		abort();
	if (!r && (!e.name || (!e.user && !e.kernel) || e.period > INT64_MAX))
		abort();
	if (!r)
		event_free(&e);
	free(text);
	return 0;
}
