/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The shim over LLVM's disassembler and its printer. Nothing of LLVM's types leaves this file. */
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include "machine/llvm_target.hh"
#include "machine/llvm_text.h"

using namespace llvm;

struct llvm_text : llvm_target {
	std::unique_ptr<MCInstPrinter> printer;
};

static bool create(llvm_text *t, const char *name)
{
	if (!t->create(name, "") || !t->disassembler)
		return false;
	t->printer.reset(t->target->createMCInstPrinter(t->triple, 0, *t->assembly,
							*t->instructions, *t->registers));
	if (!t->printer)
		return false;
	t->printer->setPrintImmHex(true);
	t->printer->setPrintBranchImmAsAddress(true);
	return true;
}

static llvm_text *text_open(unsigned bits)
{
	auto t = std::make_unique<llvm_text>();
	return create(t.get(), bits == 32 ? "i386-unknown-linux-gnu" : "x86_64-unknown-linux-gnu")
		       ? t.release()
		       : nullptr;
}

static void text_close(llvm_text *t)
{
	delete t;
}

/* Some prefixes (lock) are instructions of their own to LLVM: they are written before what follows.
 */
static bool text_write(llvm_text *t, const uint8_t *code, size_t size, uint64_t address, char *out,
		       size_t room)
{
	std::string text;
	for (size_t at = 0; at < size;) {
		MCInst in;
		uint64_t length = 0;
		if (t->disassembler->getInstruction(
			    in, length, ArrayRef<uint8_t>(code + at, size - at), address + at,
			    nulls()) != MCDisassembler::Success ||
		    length == 0)
			return false;
		raw_string_ostream stream(text);
		t->printer->printInst(&in, address + at + length, "", *t->subtarget, stream);
		at += length;
	}
	std::replace(text.begin(), text.end(), '\t', ' ');
	text.erase(0, text.find_first_not_of(' '));
	text.erase(std::unique(text.begin(), text.end(),
			       [](char a, char b) { return a == ' ' && b == ' '; }),
		   text.end());
	text.erase(text.find_last_not_of(' ') + 1);
	if (text.empty() || text.size() >= room)
		return false;
	memcpy(out, text.c_str(), text.size() + 1);
	return true;
}

extern "C" const llvm_text_table culprit_llvm_text = {
	LLVM_TEXT_ABI,
	text_open,
	text_close,
	text_write,
};
