/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_LLVM_LOAD_H
#define CULPRIT_MACHINE_LLVM_LOAD_H

#include "machine/llvm_costs.h"
#include "machine/llvm_text.h"
#include "util/diag.h"

/* The module that links to LLVM, loaded once and kept: LLVM cannot be unloaded safely. */
struct llvm_module {
	const struct llvm_costs_table *table;
	const struct llvm_text_table *text;
};

/*
 * -ENOENT: the module or LLVM is not installed; -EPERM: users other than root and the caller can
 * write to it (util/trusted.h); -EPROTO: it is of another version of culprit. It is looked for
 * where $CULPRIT_LLVM_MODULE says (not for programs with more rights than their caller), where it
 * is installed, and beside the program as built. The result is static.
 */
int llvm_module_load(struct llvm_module **ret, struct diag *diag);

#endif
