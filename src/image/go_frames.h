/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_GO_FRAMES_H
#define CULPRIT_IMAGE_GO_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#define GO_FRAMES_SECTION ".gopclntab"

/* From start to before end the return address is so many bytes above the stack pointer. Non-zero
 * ends it. */
typedef int go_frames_taker(void *arg, uint64_t start, uint64_t end, uint32_t depth);

/*
 * The frames of what Go's compiler made, by the table that every Go program brings for its own run
 * time, stripped or not (Go 1.18 and on: src/debug/gosym/pclntab.go, src/runtime/symtab.go and
 * runtime2.go). Assembly is left out, since it may move to other stacks, and so are functions whose
 * entries make no sense. 64-bit and little endian only. In the table's order, which is that of
 * addresses. 0, what f returned, or -EBADMSG: it is no such table, or one whose addresses only the
 * loader knows.
 */
int go_frames_each(const void *table, size_t size, go_frames_taker *f, void *arg);

#endif
