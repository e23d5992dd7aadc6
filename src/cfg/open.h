/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_OPEN_H
#define CULPRIT_CFG_OPEN_H

#include "cfg/cfg.h"
#include "find/find.h"

/*
 * The graphs of a profiled image: finds its code, data, symbols and frames wherever they still are
 * (find/find.h), and makes a cfg_image that owns them. cfg_image_free() it. The finder is needed
 * for this call only. -ENOENT, -ESTALE (another build has taken the file's place), ... with the
 * reason in diag.
 */
int cfg_image_open(struct image_finder *finder, const struct image_id *id, const char *path,
		   struct cfg_image **ret, struct diag *diag);

#endif
