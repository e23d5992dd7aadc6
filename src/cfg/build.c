/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "cfg/build.h"

/* Tables in code that is only reached through tables, and so on. */
#define ROUNDS_MAX 16

int cfg_build(struct cfg_image *image, uint64_t entry, struct cfg_function **ret)
{
	struct cfg_builder *b = image->builder;
	struct cfg_function *f = NULL;
	bool more = true;
	size_t size;
	if (!cfg_code_at(image, entry, &size))
		return -ENOENT;
	int err = build_start(b, image, entry);
	for (unsigned round = 0; more && !err; round++) {
		free(f);
		f = NULL;
		more = false;
		err = build_explore(b);
		if (!err)
			err = build_assemble(b, &f);
		if (!err && b->jump_count && round < ROUNDS_MAX)
			err = build_resolve_jumps(b, f, &more);
		if (!err && b->jump_count && !more) { /* once more, with what is known of them */
			free(f);
			f = NULL;
			err = build_assemble(b, &f);
		}
	}
	if (err < 0) {
		free(f);
		return err;
	}
	*ret = f;
	return 0;
}
