/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/cfg.h"
#include "util/search.h"

const char *cfg_reason_text(enum cfg_reason why)
{
	static const char *const texts[CFG_REASONS] = {
		[CFG_WHY_INDIRECT] = "indirect jump without a proven table",
		[CFG_WHY_TABLE] = "jump table that cannot be read",
		[CFG_WHY_DECODE] = "flow into bytes that are not an instruction",
		[CFG_WHY_CODE] = "flow to an address without code",
		[CFG_WHY_LIMIT] = "too large",
	};

	return why < CFG_REASONS ? texts[why] : "?";
}

/* Index of the last element with start <= address; both lists are sorted. */
uint32_t cfg_function_instruction_at(const struct cfg_function *f, uint64_t address)
{
	const size_t n =
		SEARCH_FIRST(f->instruction_count, i, f->instructions[i].address >= address);

	return n < f->instruction_count && f->instructions[n].address == address ? (uint32_t)n
										 : CFG_OUTSIDE;
}

uint32_t cfg_function_block_at(const struct cfg_function *f, uint64_t address)
{
	const uint32_t i = cfg_function_instruction_at(f, address);

	if (i == CFG_OUTSIDE)
		return CFG_OUTSIDE;
	return (uint32_t)SEARCH_FIRST(f->block_count, n, f->blocks[n].first_instruction > i) - 1;
}
