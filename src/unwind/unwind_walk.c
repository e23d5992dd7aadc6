/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/unwind_walk.h"

#include <stddef.h>

static _Thread_local const struct unwind_walk *host; /* of the stack that is followed */

static int host_read(void *to, wire_u32 size, wire_u64 address)
{
	return host->read(host->arg, to, size, address);
}

static bool host_is_unseen(wire_u64 pc)
{
	return host->is_unseen && host->is_unseen(host->arg, pc);
}

#define UNWIND_IS_UNSEEN host_is_unseen
#define UNWIND_FUNCTION	 static inline
#include "bpf/unwind.h"

static const struct {
	const char *name, *text; /* text: NULL of complete ones */
} ends[WIRE_STACK_ENDS] = {
	[WIRE_STACK_COMPLETE] = {"complete", NULL},
	[WIRE_STACK_NO_TABLE] = {"no_table", "unwind table not loaded yet"},
	[WIRE_STACK_NO_RULE] = {"no_rule", "no unwind rule"},
	[WIRE_STACK_BAD_ADDRESS] = {"bad_address", "bad frame address"},
	[WIRE_STACK_NOT_CODE] = {"not_code", "return address outside code"},
	[WIRE_STACK_NOT_RESIDENT] = {"not_resident", "stack page not resident"},
	[WIRE_STACK_TOO_DEEP] = {"too_deep", "too deep"},
	[WIRE_STACK_NO_USER] = {"kernel_thread", NULL},
	[WIRE_STACK_32_BIT] = {"32_bit", "32-bit program"},
};

const char *unwind_end_name(unsigned end)
{
	return end < WIRE_STACK_ENDS ? ends[end].name : "unknown";
}

const char *unwind_end_text(unsigned end)
{
	return end < WIRE_STACK_ENDS ? ends[end].text : "unknown reason";
}

static int follow(const struct unwind_walk *walk, struct wire_unwind_state *state)
{
	const struct wire_unwind_rule *rule = NULL;
	int end = walk->enter(walk->arg, state->pc - !state->exact, !state->exact, &rule);

	if (end >= 0)
		return end;
	if (!rule || (rule->cfa == WIRE_CFA_NONE && rule->ra == WIRE_LOCATION_UNDEFINED))
		return unwind_follow_frame_pointer(state);
	return unwind_follow_rule(state, rule);
}

int unwind_walk(const struct unwind_walk *walk, struct wire_unwind_state *state,
		uint32_t frames_max)
{
	int end = -1;

	host = walk;
	for (uint32_t i = 0; i < frames_max && end < 0; i++)
		end = follow(walk, state);
	host = NULL;
	return end < 0 ? WIRE_STACK_TOO_DEEP : end;
}
