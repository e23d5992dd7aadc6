/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_OWNED_H
#define CULPRIT_CFG_OWNED_H

#include "cfg/source.h"
#include "image/layout.h"

/* A source that was made from a file or from the kernel, with all that it points to. */
struct cfg_owned {
	struct cfg_source source;
	struct cfg_bytes *code, *data;
	struct cfg_extent *extents;
	struct cfg_landing *landings;
	struct cfg_external *externals;
	struct image_layout *layout;
	uint8_t *memory; /* the kernel's code */
	char *names;	 /* of symbols */
};

void cfg_owned_free(struct cfg_owned *o);

#endif
