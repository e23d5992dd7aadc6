/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The shim over LLVM's MC layer. Nothing of LLVM's types leaves this file, no exception crosses it
 * (LLVM is built without them), and it decides nothing: corrections are made in cost_llvm.c.
 */
#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCSchedule.h>
#include "machine/llvm_costs.h"
#include "machine/llvm_target.hh"

using namespace llvm;

struct llvm_costs : llvm_target {
	std::vector<uint64_t> masks; /* units of each of LLVM's resources */
	std::vector<std::string> units;
};

/* Numbers the units of all resources; a group's are those of its members. */
static bool number_units(llvm_costs *c)
{
	const MCSchedModel &model = c->subtarget->getSchedModel();
	unsigned count = model.getNumProcResourceKinds();

	c->masks.assign(count, 0);
	for (unsigned i = 1; i < count; i++) {
		const MCProcResourceDesc *r = model.getProcResource(i);
		if (r->SubUnitsIdxBegin)
			continue;
		for (unsigned u = 0; u < r->NumUnits; u++) {
			if (c->units.size() >= LLVM_COSTS_UNITS_MAX)
				return false;
			c->masks[i] |= UINT64_C(1) << c->units.size();
			c->units.push_back(r->NumUnits == 1 ? std::string(r->Name)
							    : r->Name + std::to_string(u));
		}
	}
	for (unsigned i = 1; i < count; i++) {
		const MCProcResourceDesc *r = model.getProcResource(i);
		for (unsigned u = 0; r->SubUnitsIdxBegin && u < r->NumUnits; u++)
			c->masks[i] |= c->masks[r->SubUnitsIdxBegin[u]];
	}
	return true;
}

static const char *create(llvm_costs *c, const char *cpu)
{
	if (!c->create("x86_64-unknown-linux-gnu", cpu))
		return "LLVM was built without x86";
	if (!c->subtarget || !c->subtarget->isCPUStringValid(cpu))
		return "LLVM does not know this processor";
	if (!c->subtarget->getSchedModel().hasInstrSchedModel())
		return "LLVM has no scheduling model of this processor";
	if (!c->disassembler)
		return "LLVM was built without the disassembler of x86";
	return number_units(c) ? nullptr : "LLVM's model has too many units";
}

static llvm_costs *costs_open(const char *cpu, char *error, size_t room)
{
	auto c = std::make_unique<llvm_costs>();
	const char *why = create(c.get(), cpu);
	if (!why)
		return c.release();
	snprintf(error, room, "%s (%s)", why, cpu);
	return nullptr;
}

static void costs_close(llvm_costs *c)
{
	delete c;
}

static const char *costs_unit(const llvm_costs *c, unsigned number)
{
	return number < c->units.size() ? c->units[number].c_str() : nullptr;
}

struct use {
	uint64_t units;
	int cycles;
};

/*
 * A use of a unit is also listed as one of every group that it is in: takes those out again. Groups
 * of the same units under several names (Zen's floating point pipes by what they do) count once.
 */
static void take_uses(const llvm_costs *c, const MCSchedClassDesc *d, llvm_costs_form *ret)
{
	std::vector<use> uses;

	for (auto *w = c->subtarget->getWriteProcResBegin(d),
		  *end = c->subtarget->getWriteProcResEnd(d);
	     w != end; ++w)
		if (c->masks[w->ProcResourceIdx] && w->ReleaseAtCycle > w->AcquireAtCycle)
			uses.push_back({c->masks[w->ProcResourceIdx],
					w->ReleaseAtCycle - w->AcquireAtCycle});
	std::stable_sort(uses.begin(), uses.end(), [](const use &a, const use &b) {
		return std::popcount(a.units) < std::popcount(b.units);
	});
	for (size_t i = 0; i < uses.size(); i++)
		for (size_t k = i + 1; k < uses.size() && uses[i].cycles > 0; k++)
			if (uses[i].units == uses[k].units) {
				uses[i].cycles = std::max(uses[i].cycles, uses[k].cycles);
				uses[k].cycles = 0;
			} else if (!(uses[i].units & ~uses[k].units)) {
				uses[k].cycles -= uses[i].cycles;
			}
	for (const use &u : uses) {
		if (u.cycles <= 0)
			continue;
		if (ret->use_count == LLVM_COSTS_USES_MAX) {
			ret->uses_left_out++;
			continue;
		}
		ret->uses[ret->use_count].units = u.units;
		ret->uses[ret->use_count++].cycles = (uint16_t)u.cycles;
	}
}

static const MCSchedClassDesc *find_class(const llvm_costs *c, const MCInst &in)
{
	const MCSchedModel &model = c->subtarget->getSchedModel();
	unsigned number = c->instructions->get(in.getOpcode()).getSchedClass();

	while (number && model.getSchedClassDesc(number)->isVariant())
		number = c->subtarget->resolveVariantSchedClass(number, &in, c->instructions.get(),
								model.getProcessorID());
	const MCSchedClassDesc *d = number ? model.getSchedClassDesc(number) : nullptr;
	return d && d->isValid() && !d->isVariant() ? d : nullptr;
}

static int find_latency(const llvm_costs *c, const MCSchedClassDesc *d)
{
	int longest = 0;

	for (unsigned i = 0; i < d->NumWriteLatencyEntries; i++)
		longest = std::max<int>(longest, c->subtarget->getWriteLatencyEntry(d, i)->Cycles);
	return longest;
}

static int find_advance(const llvm_costs *c, const MCSchedClassDesc *d)
{
	int longest = 0;

	for (const MCReadAdvanceEntry &e : c->subtarget->getReadAdvanceEntries(*d))
		longest = std::max(longest, e.Cycles);
	return longest;
}

static bool costs_form(llvm_costs *c, const uint8_t *code, size_t size, llvm_costs_form *ret)
{
	MCInst in;
	uint64_t length = 0;
	llvm_costs_form form = {};

	if (c->disassembler->getInstruction(in, length, ArrayRef<uint8_t>(code, size), 0,
					    nulls()) != MCDisassembler::Success)
		return false;
	const MCSchedClassDesc *d = find_class(c, in);
	if (!d)
		return false;
	const MCInstrDesc &instruction = c->instructions->get(in.getOpcode());
	form.size = (uint8_t)length;
	form.operations = d->NumMicroOps;
	form.latency = (uint16_t)std::clamp(find_latency(c, d), 0, 10000);
	form.input_advance = (uint16_t)std::clamp(find_advance(c, d), 0, 100);
	form.loads = instruction.mayLoad();
	form.stores = instruction.mayStore();
	take_uses(c, d, &form);
	*ret = form;
	return true;
}

extern "C" const llvm_costs_table culprit_llvm_costs = {
	LLVM_COSTS_ABI, LLVM_VERSION_STRING, costs_open, costs_close, costs_unit, costs_form,
};
