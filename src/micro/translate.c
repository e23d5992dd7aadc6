/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "micro/translate.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "micro/build.h"
#include "util/search.h"

struct micro_decoder {
	ZydisDecoder decoder;
};

int micro_decoder_new(uint16_t elf_machine, struct micro_decoder **ret, struct diag *diag)
{
	if (elf_machine != EM_X86_64)
		return diag_fail(diag, EOPNOTSUPP,
				 "code of ELF machine %u cannot be interpreted yet, only x86-64",
				 elf_machine);

	struct micro_decoder *m = calloc(1, sizeof(*m));
	if (!m)
		return diag_fail(diag, ENOMEM, "out of memory for a decoder");
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64))) {
		free(m);
		return diag_fail(diag, EOPNOTSUPP, "Zydis has no decoder for x86-64");
	}
	*ret = m;
	return 0;
}

void micro_decoder_free(struct micro_decoder *m)
{
	free(m);
}

static void collect_operands(struct micro_build *m)
{
	for (unsigned i = 0; i < m->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &m->operands[i];

		if (o->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		    o->encoding != ZYDIS_OPERAND_ENCODING_MASK)
			m->operand[m->count++] = o;
	}
}

static void clear_micro(struct micro_build *m)
{
	memset(&m->micro, 0, sizeof(m->micro));
	for (unsigned field = MICRO_DST; field <= MICRO_INDEX; field++)
		micro_set(m, field, MICRO_NO_REGISTER);
}

unsigned micro_translate(const struct micro_decoder *decoder, const uint8_t *code, size_t size,
			 struct wire_micro *ret)
{
	static bool (*const kinds[])(struct micro_build *) = {
		micro_build_control, micro_build_value, micro_build_vector};
	struct micro_build m = {0};
	bool built = false;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder->decoder, code, size, &m.z, m.operands)))
		return 0;
	collect_operands(&m);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !built; i++) {
		clear_micro(&m);
		built = kinds[i](&m);
	}
	if (!built) {
		clear_micro(&m);
		micro_build_clobber(&m);
	}
	m.micro.length |= m.z.length;
	*ret = m.micro;
	return m.z.length;
}

/* The last known start that is not past offset, or the begin of the code. */
static uint64_t sweep_begin(const struct micro_code *code, uint64_t offset, size_t *ret_next)
{
	size_t low = SEARCH_FIRST(code->start_count, i, code->starts[i] > offset);

	*ret_next = low;
	if (low > 0 && code->starts[low - 1] >= code->begin)
		return code->starts[low - 1];
	return code->begin;
}

unsigned micro_translate_strip(const struct micro_decoder *m, const struct micro_code *code,
			       uint32_t number, struct wire_strip *ret_strip,
			       struct wire_micro micros[WIRE_STRIP_BYTES])
{
	uint64_t begin = (uint64_t)number << WIRE_STRIP_BITS, end = begin + WIRE_STRIP_BYTES;
	struct wire_strip strip = {0};
	size_t next;
	uint64_t at = sweep_begin(code, begin, &next);

	for (unsigned length; at < end && at - code->begin < code->size; at += length) {
		struct wire_micro micro;
		size_t left = code->size - (at - code->begin);

		while (next < code->start_count && code->starts[next] <= at)
			next++;
		length = micro_translate(m, code->bytes + (at - code->begin), left, &micro);
		if (length == 0) {
			length = 1;
			continue;
		}
		if (next < code->start_count && code->starts[next] < at + length) {
			length = (unsigned)(code->starts[next] - at);
			continue;
		}
		if (at < begin)
			continue;
		unsigned byte = (unsigned)(at - begin);
		strip.starts[byte / 64] |= 1ull << (byte % 64);
		micros[strip.count++] = micro;
	}
	for (unsigned i = 1; i < WIRE_STRIP_WORDS; i++)
		strip.rank[i] =
			(uint16_t)(strip.rank[i - 1] + __builtin_popcountll(strip.starts[i - 1]));
	*ret_strip = strip;
	return strip.count;
}
