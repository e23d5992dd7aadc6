/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "bpf/interpret_user.h"

#include <string.h>

static const struct interpret_user *host; /* of the window that runs */

struct interpret;

static int host_read(void *to, wire_u32 size, wire_u64 address)
{
	int err = host->read(host->context, to, size, address);
	if (err)
		memset(to, 0, size); /* as the kernel does */
	return err;
}

static int host_read_word(wire_u64 to[2], wire_u32 size, wire_u64 address)
{
	return host_read(to, size, address);
}

static const struct wire_strip *host_strip(struct wire_strip_key *key)
{
	return host->strip(host->context, *key);
}

static const struct wire_micro *host_micro(wire_u32 index)
{
	return host->micro(host->context, index);
}

static int host_find(struct interpret *s);

#define INTERPRET_FUNCTION static
#include "interpret.h"

static int host_find(struct interpret *s)
{
	wire_u32 slot = 0;
	struct interpret_mapping *m = &s->mapping;
	int end = host->find(host->context, s->pc, &slot, &m->begin, &m->end, &m->shift);
	m->slot = end ? 0 : slot;
	return end;
}

void interpret_user(const struct interpret_user *user, struct interpret_registers *registers,
		    unsigned instructions, struct wire_window *ret,
		    struct interpret_user_result *ret_result, uint64_t *path)
{
	static struct interpret s;
	int end = 0;

	host = user;
	memcpy(s.reg, registers->gpr, sizeof(registers->gpr));
	s.pc = registers->pc;
	s.fs_base = registers->fs_base;
	s.flags = registers->flags;
	interpret_begin(&s);
	end = interpret_arrive(&s);
	s.window.start = interpret_place(&s);
	for (unsigned i = 0; i < instructions && i < WIRE_WINDOW_INSTRUCTIONS && !end; i++) {
		if (path)
			path[i] = s.pc;
		end = interpret_step(&s);
	}
	if (path)
		path[s.window.instructions] = s.pc;
	s.window.end_reason = (wire_u8)end;
	s.window.end = interpret_place(&s);
	s.window.address = s.pc;
	memcpy(registers->gpr, s.reg, sizeof(registers->gpr));
	registers->pc = s.pc;
	registers->flags = s.flags;
	*ret = s.window;
	if (ret_result)
		*ret_result = (struct interpret_user_result){s.known & 0xffff, s.flags_known};
}
