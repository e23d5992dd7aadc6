/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_STRUCTURE_SCOPES_H
#define CULPRIT_STRUCTURE_SCOPES_H

#include "structure/moves.h"
#include "structure/structure.h"

/* The scopes of a function, from its code by source and its loops. */
struct scopes {
	struct structure_scope *list; /* in preorder */
	struct image_range *ranges;
	uint32_t count;
};

/* function: what is known of the function itself: names, file, first_line. 0 or -ENOMEM. Freed by
 * scopes_free(), also after a failure. */
int scopes_new(const struct moves *m, const struct structure_scope *function, struct scopes *ret);
void scopes_free(struct scopes *s);

#endif
