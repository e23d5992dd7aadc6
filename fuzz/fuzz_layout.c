/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Names in a database's directories, and its meta file, as somebody else may have put them there.
 * The first byte says what the rest is. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "db/layout.h"
#include "db/epoch.h"
#include "fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_meta(const struct io *io)
{
	struct diag diag = {""};

	if (layout_read_meta(io, 3, "machine", &diag) && !diag.text[0])
		abort();
}

static void try_listing(const struct io *io)
{
	struct epoch_listing l;

	if (epoch_list(io, 3, &l))
		return;
	for (size_t i = 1; i < l.segment_count; i++)
		if (l.segments[i] < l.segments[i - 1])
			abort();
	for (size_t i = 1; i < l.base_count; i++)
		if (l.bases[i].generation > l.bases[i - 1].generation)
			abort();
	if (l.segment_count + l.base_count > l.name_count)
		abort();
	epoch_listing_free(&l);
}

/* A name of an epoch is the one that its time and number make. */
static void try_epochs(const struct io *io)
{
	char **names;
	size_t count;

	if (layout_list_epochs(io, 3, &names, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (!layout_is_epoch(names[i]) || strlen(names[i]) >= LAYOUT_NAME_MAX)
			abort();
	free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const try[])(const struct io *io) = {try_meta, try_listing, try_epochs};
	struct fuzz_memory m = {data + 1, size - 1};
	const struct io io = fuzz_memory_io(&m);

	if (size)
		try[data[0] % (sizeof(try) / sizeof(*try))](&io);
	return 0;
}
