/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_PATTERN_H
#define CULPRIT_ANALYZE_PATTERN_H

#include <regex.h>
#include "util/diag.h"

/* The extended regular expression of --function. regfree() it. -EINVAL when it is none. */
int pattern_compile(const char *text, regex_t *ret, struct diag *diag);

#endif
