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
	struct isa_decoder *d;
	struct diag diag = {""};
	uint16_t machine;
	unsigned bits;

	image_find_machine(q->finder, q->image, q->image_path, &machine, &bits);
	int r = machine_listing_decoder_new(machine, bits, q->syntax, &d, &diag);
	if (r < 0) {
		listing_add_note(l, diag.text);
		return r == -ENOMEM ? r : 0;
	}
	const struct disassembly all = {l->arena, d, q->finder, q->image, q->image_path};
	for (size_t at = 0; at < size && !r;) {
		struct isa_instruction in;

		isa_decode(d, code + at, size - at, q->start + at, &in);
		const char *text = disassemble(&all, code + at, &in);
		r = text ? add_item(l, in.address, text) : -ENOMEM;
		at += in.size;
	}
	isa_decoder_free(d);
	return r;
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
		int r = add_item(l, offset, NULL);

		if (r < 0)
			return r;
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
	int r = image_find_code(q->finder, q->image, q->image_path, q->start, q->size, &code, &size,
				&diag);

	if (r == -ESTALE) /* other code would be shown beside these samples */
		return diag_fail(ret_why, ESTALE, "%s", diag.text);
	if (r < 0) {
		char note[sizeof(diag.text) + 32];

		snprintf(note, sizeof(note), "no instructions: %s", diag.text);
		listing_add_note(l, note);
		r = 0;
	} else if (size < q->size) {
		listing_add_note(l, "only part of the function's code is available");
	}
	if (code)
		r = decode_all(l, q, code, size);
	free(code);
	uint64_t end = l->item_count ? q->start + size : q->start;
	for (size_t i = 0; i < q->offset_count && !r; i++)
		r = add_samples(l, q, i, end, &item);
	return r;
}
