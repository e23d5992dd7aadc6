/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Code of any bytes, translated and interpreted from any registers over a small memory. The first
 * 256 bytes set registers and memory, the rest is code, a strip of it at most.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "micro/interpret_host.h"
#include "micro/translate.h"

#define CODE 0x400000u
#define DATA 0x10000u
#define HEAD 256
#define LONG 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t memory[4096];
static struct wire_strip strip;
static uint64_t transfers;
static struct wire_micro micros[WIRE_STRIP_BYTES];

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	(void)context;
	if (address < DATA || address - DATA > sizeof(memory) - size)
		return -1;
	memcpy(to, memory + (address - DATA), size);
	return 0;
}

static const struct wire_strip *find_strip(void *context, struct wire_strip_key key)
{
	(void)context;
	return key.slot == 1 && key.number == 0 ? &strip : NULL;
}

static const struct wire_micro *find_micro(void *context, uint32_t index)
{
	(void)context;
	return index < strip.count ? &micros[index] : NULL;
}

static int find_mapping(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
			uint64_t *ret_end, uint64_t *ret_shift)
{
	(void)context;
	if (address < CODE || address >= CODE + WIRE_STRIP_BYTES)
		return WIRE_END_NO_FILE;
	*ret_slot = 1;
	*ret_begin = CODE;
	*ret_end = CODE + WIRE_STRIP_BYTES;
	*ret_shift = 0ull - CODE;
	return 0;
}

static void check_strip(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < WIRE_STRIP_WORDS; i++) {
		if (strip.rank[i] != count)
			abort();
		count += (unsigned)__builtin_popcountll(strip.starts[i]);
	}
	if (count != strip.count)
		abort();
	for (unsigned i = 0; i < count; i++)
		if (micros[i].op >= MICRO_OPS || (micros[i].length & 15) == 0)
			abort();
}

static void count_transfer(void *context, struct wire_place from, struct wire_place to)
{
	(void)context;
	(void)to;
	transfers++;
	if (!from.slot)
		abort();
}

/* As in the kernel, and as long as four of its windows. */
static void interpret(const struct interpret_registers *r, const struct interpret_limits *limits,
		      uint64_t instructions)
{
	static const struct interpret_calls calls = {.read = read_memory,
						     .strip = find_strip,
						     .micro = find_micro,
						     .find = find_mapping,
						     .transfer = count_transfer};
	uint64_t path[LONG + 1];
	struct interpret_host *host;
	struct interpret_state s;
	enum wire_end end;

	if (interpret_host_new(&calls, limits, &host))
		abort();
	transfers = 0;
	interpret_host_begin(host, r);
	end = interpret_host_run(host, instructions, path);
	interpret_host_get(host, &s);
	interpret_host_free(host);
	if (s.instructions > instructions || transfers > s.instructions ||
	    end >= WIRE_END_REASONS || (end == WIRE_END_FULL && s.instructions != instructions) ||
	    s.registers.pc != path[s.instructions])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct interpret_limits limits = {2048, 4096};
	static struct micro_decoder *micro;
	uint64_t starts[2] = {0, 0};
	struct interpret_registers r = {.pc = CODE, .fs_base = DATA};
	struct diag diag;

	if (size <= HEAD)
		return 0;
	if (!micro && micro_decoder_new(EM_X86_64, &micro, &diag))
		abort();
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = data[i % HEAD];
	memcpy(r.gpr, data, sizeof(r.gpr));
	memcpy(&r.flags, data + sizeof(r.gpr), sizeof(r.flags));
	/* Half of the registers point to memory. */
	for (unsigned i = 0; i < 16; i++)
		if (data[HEAD - 16 + i] & 1)
			r.gpr[i] = DATA + r.gpr[i] % sizeof(memory);
	starts[1] = data[HEAD - 1];
	struct micro_code code = {data + HEAD, 0, size - HEAD, starts, 1u + (starts[1] != 0)};
	micro_translate_strip(micro, &code, 0, &strip, micros);
	check_strip();
	interpret(&r, NULL, LONG / 4);
	interpret(&r, &limits, LONG);
	return 0;
}
