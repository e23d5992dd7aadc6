/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_NAME_FOLD_H
#define CULPRIT_RENDER_NAME_FOLD_H

#include <stddef.h>

/*
 * A shorter form of a C++ or Rust name: what stands within its innermost template arguments and
 * parameter lists becomes an ellipsis, then what stands around them, until it has at most so many
 * bytes: "f(std::map<int, std::vector<long>> const&)", "f(std::map<int, std::vector<…>> const&)",
 * "f(std::map<…> const&)", "f(…)". To be freed. NULL: there is nothing to fold, the brackets do not
 * match, or no memory. May be longer than asked for.
 */
char *name_fold(const char *name, size_t size, size_t bytes);

#endif
