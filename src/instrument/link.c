/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/copy.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

#define CALL	   0xe8 /* with 32 bits of displacement, and without a prefix */
#define CALL_BYTES 5

/* Where calls of a function lead. */
struct callee {
	uint64_t entry, copy;
};

struct callees {
	struct callee *list; /* ascending by entry */
	size_t count;
};

static int compare_callees(const void *pa, const void *pb)
{
	const struct callee *a = pa, *b = pb;

	return NUM_ORDER(a->entry, b->entry);
}

static int list_callees(const struct instrument_code *codes, size_t count, struct callees *ret)
{
	*ret = (struct callees){.list = calloc(count + 1, sizeof(*ret->list))};
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (codes[i].size)
			ret->list[ret->count++] = (struct callee){
				codes[i].entry, codes[i].address + codes[i].entrance};
	array_sort(ret->list, ret->count, sizeof(*ret->list), compare_callees);
	return 0;
}

/* False: it is none that can be led elsewhere, or there is no copy to lead it to. */
static bool make_patch(const struct cfg_function *f, const struct cfg_call *call, uint64_t bias,
		       const struct callees *callees, struct instrument_patch *ret)
{
	const struct isa_instruction *in = &f->instructions[call->instruction];
	const uint64_t address = in->address + bias, entry = call->target + bias;
	const size_t i = SEARCH_FIRST(callees->count, k, callees->list[k].entry >= entry);
	size_t size;
	const uint8_t *code = cfg_code_at(f->image, in->address, &size);

	if (call->tail || call->target == ISA_NO_ADDRESS || in->size != CALL_BYTES ||
	    *code != CALL || i == callees->count || callees->list[i].entry != entry)
		return false;
	const int64_t distance = (int64_t)(callees->list[i].copy - (address + CALL_BYTES));
	const int32_t near = (int32_t)distance;

	*ret = (struct instrument_patch){
		.address = address, .stands_for = address, .size = CALL_BYTES};
	memcpy(ret->before, code, CALL_BYTES);
	ret->after[0] = CALL;
	memcpy(ret->after + 1, &near, sizeof(near));
	return near == distance;
}

static int compare_patches(const void *pa, const void *pb)
{
	const struct instrument_patch *a = pa, *b = pb;

	return NUM_ORDER(a->address, b->address);
}

static int link_function(const struct cfg_function *f, uint64_t bias, const struct callees *callees,
			 struct instrument_code *code)
{
	const size_t room = (size_t)code->patch_count + f->call_count;
	struct instrument_patch *patches = realloc(code->patches, room * sizeof(*patches) + 1);

	if (!patches)
		return -ENOMEM;
	code->patches = patches;
	for (uint32_t i = 0; i < f->call_count; i++)
		if (make_patch(f, &f->calls[i], bias, callees, &patches[code->patch_count]))
			code->patch_count++;
	array_sort(patches, code->patch_count, sizeof(*patches), compare_patches);
	return 0;
}

int instrument_link_calls(struct instrument_plan *const *plans, struct instrument_code *codes,
			  size_t count, uint64_t bias)
{
	struct callees callees;
	int r = list_callees(codes, count, &callees);

	for (size_t i = 0; i < count && !r; i++)
		if (codes[i].size)
			r = link_function(plans[i]->function, bias, &callees, &codes[i]);
	free(callees.list);
	return r;
}
