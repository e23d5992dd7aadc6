/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_FRAME_SECTIONS_H
#define CULPRIT_UNWIND_FRAME_SECTIONS_H

#include "image/elf/elf_code.h"
#include "unwind/ehframe.h"

/* Where an ELF file keeps its unwind rules. The data is the Elf's own. */

/* As ehframe_each, for a file's .eh_frame; 0 when it has none. */
int elf_each_frame(const struct elf_code *code, unsigned pointer_bytes,
		   int (*f)(void *arg, const struct ehframe_entry *entry), void *arg);
/* .debug_frame, decompressed if need be (which changes the code's Elf in memory); NULL: none. */
Elf_Data *elf_find_debug_frame(const struct elf_code *code);

#endif
