/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_MACHINE_LLVM_TARGET_HH
#define CULPRIT_MACHINE_LLVM_TARGET_HH

#include <memory>
#include <string>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

/* What the shims over LLVM begin with: x86 up to its disassembler. C++, only for them. */
struct llvm_target {
	llvm::Triple triple;
	llvm::MCTargetOptions options;
	const llvm::Target *target = nullptr;
	std::unique_ptr<llvm::MCRegisterInfo> registers;
	std::unique_ptr<llvm::MCAsmInfo> assembly;
	std::unique_ptr<llvm::MCInstrInfo> instructions;
	std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
	std::unique_ptr<llvm::MCContext> context;
	std::unique_ptr<llvm::MCDisassembler> disassembler;

	/* False: LLVM was built without it. Leaves null what it lacks. cpu "": none in particular.
	 */
	bool create(const char *name, const char *cpu)
	{
		std::string error;
		LLVMInitializeX86TargetInfo();
		LLVMInitializeX86TargetMC();
		LLVMInitializeX86Disassembler();
		triple = llvm::Triple(name);
		target = llvm::TargetRegistry::lookupTarget(triple.str(), error);
		if (!target)
			return false;
		registers.reset(target->createMCRegInfo(triple.str()));
		assembly.reset(target->createMCAsmInfo(*registers, triple.str(), options));
		instructions.reset(target->createMCInstrInfo());
		subtarget.reset(target->createMCSubtargetInfo(triple.str(), cpu, ""));
		if (!subtarget)
			return true;
		context = std::make_unique<llvm::MCContext>(triple, assembly.get(), registers.get(),
							    subtarget.get());
		disassembler.reset(target->createMCDisassembler(*subtarget, *context));
		return true;
	}
};

#endif
