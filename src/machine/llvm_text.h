/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_LLVM_TEXT_H
#define CULPRIT_MACHINE_LLVM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LLVM's writer of instructions behind C, in the module that has the costs (llvm_costs.h). */
#ifdef __cplusplus
extern "C" {
#endif

struct llvm_text;

#define LLVM_TEXT_ABI 1

struct llvm_text_table {
	unsigned abi;
	/* Of x86-64 or, with 32 bits, of x86-32. NULL: LLVM was built without it. */
	struct llvm_text *(*open)(unsigned bits);
	void (*close)(struct llvm_text *t);
	/* Writes the instruction that is all of code in AT&T's syntax, branch targets absolute.
	 * False when LLVM does not know it, or it has more than room. */
	bool (*write)(struct llvm_text *t, const uint8_t *code, size_t size, uint64_t address,
		      char *out, size_t room);
};

extern const struct llvm_text_table culprit_llvm_text;

#ifdef __cplusplus
}
#endif
#endif
