/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_UNWIND_CODE_H
#define CULPRIT_UNWIND_UNWIND_CODE_H

#include "unwind/code_frames.h"
#include "image/elf/elf_code.h"

/*
 * The rules of a file's code that has no table, by code_frames.h. covered: ascending ranges that
 * have one. f gets them in ascending order of each range; none of a file with more than 16 MB of
 * such code, which is skipped. 0, -ENOMEM, or what f returned.
 */
int unwind_code_each(const struct elf_code *code, const struct elf_region *covered, size_t count,
		     code_frames_taker *f, void *arg, struct code_frames_counters *ret);

#endif
