/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/disassemble.h"
#include "analyze/listing_state.h"
#include "machine/listing_decoder.h"
#include "util/array.h"

static int add_item(struct listing *l, uint64_t address, const char *text)
{
	if (array_grow(&l->items, l->item_count, &l->item_room, sizeof(*l->items), 256))
		return -ENOMEM;
	uint64_t *counts = listing_zero_counts(l);
	if (!counts)
		return -ENOMEM;
	l->items[l->item_count++] =
		(struct listing_item){.address = address, .text = text, .counts = counts};
	return 0;
}

static int decode_all(struct listing *l, const struct listing_request *q, const uint8_t *code,
		      size_t size)
{
	const struct image_symbols *symbols = NULL;
	struct isa_decoder *d;
	struct diag diag = {""};
	uint16_t machine;
	unsigned bits;
	image_find_machine(q->finder, q->image, q->image_path, &machine, &bits);
	int err = machine_listing_decoder_new(machine, bits, q->syntax, &d, &diag);
	if (err < 0) {
		listing_add_note(l, diag.text);
		return err == -ENOMEM ? err : 0;
	}
	if (image_find_symbols(q->finder, q->image, q->image_path, &symbols, NULL) < 0)
		symbols = NULL;
	for (size_t at = 0; at < size && !err;) {
		struct isa_instruction in;
		isa_decode(d, code + at, size - at, q->start + at, &in);
		const char *text = disassemble(l->arena, d, symbols, code + at, &in);
		err = text ? add_item(l, in.address, text) : -ENOMEM;
		at += in.size;
	}
	isa_decoder_free(d);
	return err;
}

/* Adds the samples at one offset to its instruction; items is where the last one was found. */
static int add_samples(struct listing *l, const struct listing_request *q, size_t i,
		       uint64_t decoded_end, size_t *item)
{
	uint64_t offset = q->offsets[i];
	while (*item + 1 < l->item_count && l->items[*item + 1].address <= offset)
		++*item;
	/* Past what could be decoded each address stands for itself. */
	if (offset >= decoded_end || l->item_count == 0 || l->items[*item].address > offset) {
		int err = add_item(l, offset, NULL);
		if (err < 0)
			return err;
		*item = l->item_count - 1;
	}
	for (size_t e = 0; e < q->event_count; e++)
		l->items[*item].counts[e] += q->counts[i * q->event_count + e];
	return 0;
}

int listing_read_code(struct listing *l, const struct listing_request *q, struct diag *ret_why)
{
	struct diag diag = {""};
	uint8_t *code = NULL;
	size_t size = 0, item = 0;
	int err = image_find_code(q->finder, q->image, q->image_path, q->start, q->size, &code,
				  &size, &diag);
	if (err == -ESTALE) /* other code would be shown beside these samples */
		return diag_fail(ret_why, ESTALE, "%s", diag.text);
	if (err < 0) {
		char note[sizeof(diag.text) + 32];
		snprintf(note, sizeof(note), "no instructions: %s", diag.text);
		listing_add_note(l, note);
		err = 0;
	} else if (size < q->size) {
		listing_add_note(l, "only a part of the function's code is at hand");
	}
	if (code)
		err = decode_all(l, q, code, size);
	free(code);
	uint64_t end = l->item_count ? q->start + size : q->start;
	for (size_t i = 0; i < q->offset_count && !err; i++)
		err = add_samples(l, q, i, end, &item);
	return err;
}
