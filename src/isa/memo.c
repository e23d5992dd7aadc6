/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "isa/memo.h"

#include <stdlib.h>
#include <string.h>
#include "util/hash.h"

/* Enough for nearly all instructions: those with more operands are decoded each time. */
#define KEPT_OPERANDS 6
#define KEPT_BYTES \
	(offsetof(struct isa_operands, list) + KEPT_OPERANDS * sizeof(struct isa_operand))

struct place {
	uint64_t key[2];  /* the bytes */
	uint64_t address; /* where the value is right; ISA_NO_ADDRESS: anywhere */
	uint32_t size;	  /* of the bytes; 0: the value is still to be made */
	uint32_t next_size;
	uint64_t value[];
};

struct isa_memo {
	size_t places, stride;
	uint8_t *table;
};

/* What isa_memo_operands keeps. */
struct decoded {
	struct isa_instruction in;
	uint8_t operands[KEPT_BYTES];
};

struct isa_memo *isa_memo_new(size_t places, size_t value_size)
{
	struct isa_memo *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->places = places;
	m->stride = sizeof(struct place) + (value_size + 7) / 8 * 8;
	m->table = calloc(places, m->stride);
	if (!m->table) {
		free(m);
		return NULL;
	}
	return m;
}

void isa_memo_free(struct isa_memo *m)
{
	if (!m)
		return;
	free(m->table);
	free(m);
}

/* All of the bytes, the same for the same bytes: parts that overlap, so as to read no others. */
static void make_key(const uint8_t *code, size_t size, uint64_t key[2])
{
	uint32_t low = 0, high = 0;

	if (size >= 8) {
		memcpy(&key[0], code, 8);
		memcpy(&key[1], code + size - 8, 8);
		return;
	}
	if (size >= 4) {
		memcpy(&low, code, 4);
		memcpy(&high, code + size - 4, 4);
	} else {
		low = code[0] | (uint32_t)code[size / 2] << 8 | (uint32_t)code[size - 1] << 16;
	}
	key[0] = low;
	key[1] = high;
}

void *isa_memo_find(struct isa_memo *m, const uint8_t *code, size_t size, uint64_t address,
		    bool *ret_known)
{
	uint64_t key[2];

	*ret_known = false;
	if (!m || size == 0 || size > ISA_MEMO_BYTES_MAX)
		return NULL;
	make_key(code, size, key);
	uint64_t hash = hash_u64(key[0] ^ (key[1] + size) * UINT64_C(0x9e3779b97f4a7c15));
	struct place *p = (struct place *)(m->table + (hash & (m->places - 1)) * m->stride);
	*ret_known = p->size == size && p->key[0] == key[0] && p->key[1] == key[1] &&
		     (p->address == ISA_NO_ADDRESS || p->address == address);
	if (!*ret_known) {
		memcpy(p->key, key, sizeof(key));
		p->size = 0;
		p->next_size = (uint32_t)size;
	}
	return p->value;
}

void isa_memo_keep(void *value, uint64_t address)
{
	struct place *p = (struct place *)((uint8_t *)value - offsetof(struct place, value));

	p->address = address;
	p->size = p->next_size;
}

struct isa_memo *isa_memo_operands_new(size_t places)
{
	return isa_memo_new(places, sizeof(struct decoded));
}

/* True for what says something else at another address. */
static bool is_tied(const struct isa_instruction *in, const struct isa_operands *o)
{
	for (unsigned i = 0; i < o->count; i++)
		if (o->list[i].kind == ISA_OPERAND_MEMORY && o->list[i].base == ISA_REG_PC)
			return true;
	return in->target != ISA_NO_ADDRESS;
}

bool isa_memo_operands(struct isa_memo *m, const struct isa_decoder *d, const uint8_t *code,
		       size_t size, uint64_t address, struct isa_instruction *ret,
		       struct isa_operands *ret_operands)
{
	bool known;
	struct decoded *kept = isa_memo_find(m, code, size, address, &known);

	if (known) {
		*ret = kept->in;
		ret->address = address;
		memcpy(ret_operands, kept->operands, KEPT_BYTES);
		memset((uint8_t *)ret_operands + KEPT_BYTES, 0, sizeof(*ret_operands) - KEPT_BYTES);
		return true;
	}
	bool valid = isa_decode_operands(d, code, size, address, ret, ret_operands);
	if (kept && valid && ret->size == size && ret_operands->count <= KEPT_OPERANDS) {
		kept->in = *ret;
		memcpy(kept->operands, ret_operands, KEPT_BYTES);
		isa_memo_keep(kept, is_tied(ret, ret_operands) ? address : ISA_NO_ADDRESS);
	}
	return valid;
}
