/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VIEW_VIEW_PAGE_H
#define CULPRIT_VIEW_VIEW_PAGE_H

#include <stddef.h>

/* The page before and after its data: page/ joined at build time. Not terminated. */
extern const char view_page_head[], view_page_tail[];
extern const size_t view_page_head_size, view_page_tail_size;

#endif
