/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/counted.h"
#include "util/text.h"

/* Basic block counts as text, for scripts: what pixie printed of an instrumented program. */

static void put_name(struct buf *b, const char *name)
{
	size_t room = text_escape(NULL, 0, name, strlen(name)) + 1;
	char *safe = malloc(room);

	if (safe) {
		text_escape(safe, room, name, strlen(name));
		buf_printf(b, " %s\n", safe);
	} else {
		b->error = -ENOMEM;
	}
	free(safe);
}

static void put_function(struct buf *b, const struct counted_image *image,
			 const struct counted_function *c)
{
	const struct cfg_function *f = c->function;
	const struct image_function *symbol =
		image->symbols ? image_symbols_find(image->symbols, f->entry) : NULL;

	buf_printf(b, "procedure 0x%" PRIx64 " %" PRIu64, f->entry, c->entries);
	put_name(b, symbol ? symbol->demangled : "[no symbol]");
	for (uint32_t i = 0; i < f->block_count; i++) {
		const struct cfg_block *block = &f->blocks[i];

		buf_printf(b, "block 0x%" PRIx64 " 0x%" PRIx64 " %u %" PRIu64 "\n", block->start,
			   block->end, block->instruction_count, c->blocks[i]);
	}
}

void block_counts_write(const struct counted_image *image, struct buf *out)
{
	buf_printf(out, "# procedure ENTRY CALLS NAME; block START END INSTRUCTIONS EXECUTIONS\n"
			"image");
	put_name(out, image->path);
	for (size_t i = 0; i < image->function_count; i++) {
		const bool counted = image->functions[i].counted;

		/* What was counted and what was not need not agree. */
		if (counted != (i && image->functions[i - 1].counted))
			buf_printf(out, "# %s\n", counted ? "counted" : "estimated");
		put_function(out, image, &image->functions[i]);
	}
}
