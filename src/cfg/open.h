/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_OPEN_H
#define CULPRIT_CFG_OPEN_H

#include "cfg/cfg.h"
#include "find/find.h"

/*
 * Opens a profiled image for its graphs: finds its code, data, symbols and frames wherever they
 * still are (find/find.h), and makes a cfg_image that owns them. The caller frees it by
 * cfg_image_free(). The finder is used during this call only. -ENOENT, -ESTALE (another build has
 * taken the file's place) or another errno, with the reason in diag.
 */
int cfg_image_open(struct image_finder *finder, const struct image_id *id, const char *path,
		   struct cfg_image **ret, struct diag *diag);

#endif
