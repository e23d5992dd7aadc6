/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SKID_CACHE_H
#define CULPRIT_COLLECT_SKID_CACHE_H

#include "collect/skid.h"

/*
 * What was measured, a small file for each processor model, kernel and event: in
 * /var/cache/culprit/skid for root, else below $XDG_CACHE_HOME or ~/.cache. It can always be
 * measured again, so nothing here fails loudly.
 */
/* 0, or -ENOENT. A file that is not what was written is taken as none. */
int skid_cache_read(const char *event, struct skid_facts *ret);
int skid_cache_write(const char *event, const struct skid_facts *facts);

/* The same below a directory, for tests; the directory is made. */
int skid_cache_read_at(const char *directory, const char *event, struct skid_facts *ret);
int skid_cache_write_at(const char *directory, const char *event, const struct skid_facts *facts);

#endif
