/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Graphs of any code, with any claims of where functions, landing pads and names are.
 *
 * Input: flags (1: kernel, 2: 32 bits), numbers of extents, landings and externals (a byte each),
 * size of the data (16 bits); then each extent (start, size, flags: 16 + 16 + 8 bits), landing (16
 * + 16), external (16 + 8); the data; the code.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../tests/unit/cfg_check.h"
#include "isa/operands.h"
#include "util/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE 0x10000
#define DATA 0x40000
#define MAX  16

struct claims {
	struct cfg_source source;
	struct cfg_extent extents[MAX];
	struct image_layout_landing landings[MAX];
	struct image_layout_external externals[MAX];
	struct cfg_bytes code, data;
};

static uint16_t read_u16(struct cursor *c)
{
	unsigned low = cursor_u8(c);
	return (uint16_t)(low | (unsigned)cursor_u8(c) << 8);
}

static int compare_u64(const void *pa, const void *pb)
{
	uint64_t a, b;
	memcpy(&a, pa, sizeof(a));
	memcpy(&b, pb, sizeof(b));
	return a < b ? -1 : a > b;
}

static void read_claims(struct cursor *c, struct claims *s)
{
	static const char *const names[] = {"exit", "f", "f.cold", "x@plt", "__x86_return_thunk"};
	const uint8_t flags = cursor_u8(c);
	s->source.kernel = flags & 1;
	s->source.machine = EM_X86_64;
	s->source.bits = flags & 2 ? 32 : 64;
	s->source.extent_count = cursor_u8(c) % MAX;
	s->source.landing_count = cursor_u8(c) % MAX;
	s->source.external_count = cursor_u8(c) % MAX;
	uint16_t data_size = read_u16(c);
	for (size_t i = 0; i < s->source.extent_count; i++) {
		uint16_t start = read_u16(c), size = read_u16(c);
		uint8_t kind = cursor_u8(c);
		s->extents[i] =
			(struct cfg_extent){.start = CODE + start,
					    .size = size == UINT16_MAX ? UINT64_MAX - start : size,
					    .name = kind & 4 ? names[(kind >> 3) % 5] : NULL,
					    .frame = kind & 1,
					    .part = kind & 2};
	}
	for (size_t i = 0; i < s->source.landing_count; i++) {
		uint16_t function = read_u16(c), address = read_u16(c);
		s->landings[i] = (struct image_layout_landing){CODE + function, CODE + address};
	}
	for (size_t i = 0; i < s->source.external_count; i++) {
		uint16_t slot = read_u16(c);
		s->externals[i] =
			(struct image_layout_external){DATA + slot, names[cursor_u8(c) % 5]};
	}
	qsort(s->extents, s->source.extent_count, sizeof(*s->extents), compare_u64);
	qsort(s->landings, s->source.landing_count, sizeof(*s->landings), compare_u64);
	qsort(s->externals, s->source.external_count, sizeof(*s->externals), compare_u64);
	if (data_size > cursor_left(c))
		data_size = (uint16_t)cursor_left(c);
	s->data = (struct cfg_bytes){DATA, cursor_bytes(c, data_size), data_size};
	size_t code_size = cursor_left(c);
	s->code = (struct cfg_bytes){CODE, cursor_bytes(c, code_size), code_size};
}

static void decode_all(const struct cfg_bytes *code, unsigned bits)
{
	struct isa_decoder *d;
	if (isa_decoder_new(EM_X86_64, bits, ISA_SYNTAX_ATT, &d, NULL) < 0)
		abort();
	for (size_t at = 0; at < code->size;) {
		struct isa_instruction in, fast;
		struct isa_operands o;
		isa_decode(d, code->data + at, code->size - at, code->address + at, &fast);
		if (isa_decode_operands(d, code->data + at, code->size - at, code->address + at,
					&in, &o) != fast.valid ||
		    in.size != fast.size || in.target != fast.target || in.data != fast.data)
			abort();
		at += in.size;
	}
	isa_decoder_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct claims s = {0};
	struct cfg_image *image;
	struct cursor c = cursor_over(data, size);
	read_claims(&c, &s);
	if (c.error || s.code.size == 0)
		return 0;
	decode_all(&s.code, s.source.bits);
	s.source.code = &s.code;
	s.source.code_count = 1;
	s.source.data = &s.data;
	s.source.data_count = s.data.size != 0;
	s.source.extents = s.extents;
	s.source.landings = s.landings;
	s.source.externals = s.externals;
	if (cfg_image_new(&s.source, &image, NULL) < 0)
		abort();
	const struct cfg_function *f;
	if (cfg_image_function(image, CODE + s.code.size / 2, &f) == 0)
		cfg_check_function(f);
	for (size_t i = 0; i < cfg_image_count(image); i++)
		if (cfg_image_function(image, cfg_image_entry(image, i), &f) == 0)
			cfg_check_function(f);
	cfg_image_free(image);
	return 0;
}
