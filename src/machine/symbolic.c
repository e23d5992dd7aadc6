/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "machine/symbolic.h"
#include "util/hash.h"

void machine_symbolic_reset(struct symbolic *s)
{
	for (unsigned i = 0; i < 16; i++) {
		s->registers[i].version = ++s->versions;
		s->registers[i].offset = 0;
	}
}

/* One of 2^44 places for each unknown, 1 MB of constants around each. */
static uint64_t place(uint64_t version, uint64_t salt)
{
	return version ? hash_u64(version * 4 + salt) << 20 : 0;
}

static uint64_t address_of(const struct symbolic *s, const struct machine_instruction *in)
{
	uint64_t address = (uint64_t)in->memory_value;
	if (in->base < 16)
		address += place(s->registers[in->base].version, 0) +
			   (uint64_t)s->registers[in->base].offset;
	if (in->index < 16)
		address += place(s->registers[in->index].version, 1) * in->scale +
			   (uint64_t)s->registers[in->index].offset * in->scale;
	if (in->index != ISA_REG_NONE && in->index >= 16)
		return UINT64_MAX;
	return address == UINT64_MAX ? 0 : address;
}

void machine_symbolic_step(struct symbolic *s, const struct machine_instruction *in,
			   struct machine_execution *ret)
{
	uint64_t address = address_of(s, in);
	ret->load_address = in->traits & MACHINE_LOADS ? address : UINT64_MAX;
	ret->store_address = in->traits & MACHINE_STORES ? address : UINT64_MAX;
	if (in->adds_to < 16 && in->adds_from < 16) {
		s->registers[in->adds_to] = s->registers[in->adds_from];
		s->registers[in->adds_to].offset += in->adds;
	}
	for (unsigned i = 0; i < in->write_count; i++) {
		if (in->writes[i] >= 16 || in->writes[i] == in->adds_to)
			continue;
		s->registers[in->writes[i]].version = ++s->versions;
		s->registers[in->writes[i]].offset = 0;
	}
}
