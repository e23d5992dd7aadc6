/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_SANITIZED_H
#define CULPRIT_UTIL_SANITIZED_H

/*
 * Whether this was built with the address sanitizer, as gcc and clang say it: its shadow takes
 * terabytes of address space, so memory cannot be limited, and its own code would be met where
 * programs are looked at from inside.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
