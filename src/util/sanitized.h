/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_SANITIZED_H
#define CULPRIT_UTIL_SANITIZED_H

/*
 * SANITIZED is 1 in builds with AddressSanitizer, by gcc's or clang's macro. Its shadow memory
 * takes terabytes of address space, so address space cannot be limited, and its own code would be
 * found where a process looks at its own memory and code.
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
