/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_FLAME_PAGE_H
#define CULPRIT_RENDER_FLAME_PAGE_H

#include <stddef.h>

/* The page before and after its profile: render/flame/ joined at build time. Not terminated. */
extern const char flame_page_head[], flame_page_tail[];
extern const size_t flame_page_head_size, flame_page_tail_size;

#endif
