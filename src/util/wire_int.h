/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_WIRE_INT_H
#define CULPRIT_UTIL_WIRE_INT_H

/* Integer types for code that is compiled both for the kernel and for user space. */
#ifdef __bpf__
typedef __u8 wire_u8;
typedef __u16 wire_u16;
typedef __u32 wire_u32;
typedef __s32 wire_i32;
typedef __s64 wire_i64;
typedef __u64 wire_u64;
#else
#include <stdint.h>
typedef uint8_t wire_u8;
typedef uint16_t wire_u16;
typedef uint32_t wire_u32;
typedef int32_t wire_i32;
typedef int64_t wire_i64;
typedef uint64_t wire_u64;
#endif

#endif
