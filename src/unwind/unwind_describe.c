/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/unwind.h"
#include "unwind/ehframe.h"
#include "image/elf/elf_code.h"
#include "unwind/frame_sections.h"
#include "unwind/go_frames.h"
#include "unwind/go_table.h"
#include "unwind/unwind.h"
#include "unwind/unwind_code.h"
#include "unwind/unwind_rule.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/search.h"

#define RULES_MAX 65535 /* what a 16-bit number can tell apart */

/* A row of any FDE, before they are brought into order. */
struct piece {
	uint64_t start, end;
	uint32_t rule;
};

struct describe {
	struct intern *rules; /* number 0: none */
	struct piece *pieces;
	size_t count, room;
	bool signal;		  /* of the FDE at hand */
	struct image_unwind head; /* without its lists */
};

static int add_piece(struct describe *d, struct piece piece)
{
	if (d->count == 2 * (size_t)IMAGE_UNWIND_ROWS_MAX)
		return -EFBIG;
	if (array_grow(&d->pieces, d->count, &d->room, sizeof(*d->pieces), 1024))
		return -ENOMEM;
	d->pieces[d->count++] = piece;
	return 0;
}

static int add_row(void *arg, const struct cfi_row *row)
{
	struct describe *d = arg;
	struct wire_unwind_rule rule;
	struct piece piece = {row->start, row->end, 0};
	int r = 0;

	if (unwind_rule_from_row(row, d->signal, &rule))
		r = intern_add(d->rules, &rule, sizeof(rule), &piece.rule);
	if (r == -ENOMEM)
		return r;
	if (r || !piece.rule)
		d->head.refused++;
	return add_piece(d, piece);
}

static int add_entry(void *arg, const struct ehframe_entry *e)
{
	struct describe *d = arg;

	d->signal = e->signal;
	int r = cfi_each_row(&e->program, add_row, d);
	if (r == -EBADMSG) {
		d->head.damaged++;
		r = 0;
	}
	return r;
}

#define DIGIT_BITS 11

/* One step of a radix sort, which leaves the order of those alone that have the same digit. */
static void sort_digit(const struct piece *from, struct piece *to, size_t count, uint64_t base,
		       unsigned shift)
{
	size_t places[1 << DIGIT_BITS] = {0}, place = 0;

	for (size_t i = 0; i < count; i++)
		places[(from[i].start - base) >> shift & ((1 << DIGIT_BITS) - 1)]++;
	for (size_t digit = 0; digit < 1 << DIGIT_BITS; digit++) {
		size_t these = places[digit];

		places[digit] = place;
		place += these;
	}
	for (size_t i = 0; i < count; i++)
		to[places[(from[i].start - base) >> shift & ((1 << DIGIT_BITS) - 1)]++] = from[i];
}

/* By start. What was added before comes before: of two with the same code .eh_frame's holds. */
static int sort_pieces(struct describe *d)
{
	uint64_t least = UINT64_MAX, most = 0;
	struct piece *other;
	bool sorted = true;

	for (size_t i = 0; i < d->count; i++) {
		sorted &= !i || d->pieces[i - 1].start <= d->pieces[i].start;
		least = d->pieces[i].start < least ? d->pieces[i].start : least;
		most = d->pieces[i].start > most ? d->pieces[i].start : most;
	}
	if (sorted)
		return 0;
	other = reallocarray(NULL, d->room, sizeof(*other));
	if (!other)
		return -ENOMEM;
	for (unsigned shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT_BITS) {
		struct piece *unsorted = d->pieces;

		sort_digit(unsorted, other, d->count, least, shift);
		d->pieces = other;
		other = unsorted;
	}
	free(other);
	return 0;
}

/*
 * Whether .eh_frame has all of this code: then what .debug_frame says of it is left out. The pieces
 * of .eh_frame are in order, ends rise with starts but for overlaps, which cost a row at most.
 */
static bool has_code(const struct describe *d, size_t count, uint64_t start)
{
	size_t low = SEARCH_FIRST(count, i, d->pieces[i].start > start);

	return low > 0 && start < d->pieces[low - 1].end;
}

/* The rows as they will be searched: in order, without gaps, each rule once in a run. */
struct writer {
	struct buf *out;
	uint64_t base, count;
	uint32_t rule;
};

static int write_row(struct writer *w, uint64_t address, uint32_t rule)
{
	struct image_unwind_row row = {(uint32_t)(address - w->base), rule};

	if (w->count && rule == w->rule)
		return 0;
	if (address - w->base > UINT32_MAX || w->count >= IMAGE_UNWIND_ROWS_MAX)
		return -EFBIG;
	w->rule = rule;
	w->count++;
	return buf_append(w->out, &row, sizeof(row));
}

static int write_rows(struct describe *d, struct writer *w)
{
	uint64_t end = 0;
	int r = sort_pieces(d);

	for (size_t i = 0; i < d->count && !r; i++) {
		struct piece p = d->pieces[i];

		if (i && p.start < end) {
			d->head.overlaps++;
			p.start = end;
		}
		if (p.start >= p.end)
			continue;
		if (i && p.start > end)
			r = write_row(w, end, 0);
		if (!r)
			r = write_row(w, p.start, p.rule);
		end = p.end;
	}
	return r ? r : write_row(w, end, 0);
}

static int append_table(struct describe *d, struct buf *out)
{
	struct image_unwind *head = &d->head;
	struct buf rows;
	struct writer w = {.out = &rows};

	head->base = UINT64_MAX;
	for (size_t i = 0; i < d->count; i++)
		if (d->pieces[i].start < head->base)
			head->base = d->pieces[i].start;
	buf_init(&rows, out->max);
	w.base = head->base;
	int r = write_rows(d, &w);
	head->row_count = w.count;
	head->rule_count = intern_count(d->rules);
	if (!r)
		r = buf_append(out, head, IMAGE_UNWIND_HEAD_BYTES);
	for (uint32_t i = 0; i < head->rule_count && !r; i++) {
		size_t size;
		const void *rule = intern_get(d->rules, i, &size);

		r = buf_append(out, rule, size);
	}
	if (!r)
		r = buf_append(out, rows.data, rows.size);
	buf_free(&rows);
	return r;
}

struct describe_more {
	struct describe *d;
	size_t eh_count; /* pieces of .eh_frame */
};

static int add_debug_entry(void *arg, const struct ehframe_entry *e)
{
	struct describe_more *debug = arg;

	return has_code(debug->d, debug->eh_count, e->start) ? 0 : add_entry(debug->d, e);
}

static int add_debug_frame(struct describe *d, const struct elf_code *code)
{
	struct describe_more debug = {d, d->count};
	Elf_Data *data = elf_find_debug_frame(code);

	if (!data || !data->d_buf)
		return 0;
	int r = sort_pieces(d);
	return r ? r : debugframe_each(data->d_buf, data->d_size, 8, add_debug_entry, &debug);
}

static int add_eh_frame(struct describe *d, const struct elf_code *code)
{
	return elf_each_frame(code, 8, add_entry, d);
}

/* Compiled functions keep the frame pointer below the return address when they have a frame. */
static int add_go_frame(void *arg, uint64_t start, uint64_t end, uint32_t depth)
{
	struct describe_more *go = arg;
	struct wire_unwind_rule rule = {.cfa = WIRE_CFA_REGISTER,
					.cfa_reg = UNWIND_RSP,
					.cfa_offset = (int32_t)depth + 8,
					.ra = WIRE_LOCATION_AT_CFA,
					.ra_offset = -8,
					.fp = WIRE_LOCATION_SAME,
					.rbx = WIRE_UNWIND_RBX_LOST};
	struct piece piece = {.start = start, .end = end};

	if (has_code(go->d, go->eh_count, start))
		return 0;
	if (depth) {
		rule.fp = WIRE_LOCATION_AT_CFA;
		rule.fp_offset = -16;
	}
	int r = intern_add(go->d->rules, &rule, sizeof(rule), &piece.rule);
	if (r)
		return r == -ENOMEM ? r : 0;
	return add_piece(go->d, piece);
}

/* Go's own table, which says more than its code does. */
static int add_go_frames(struct describe *d, const struct elf_code *code)
{
	struct describe_more go = {d, d->count};
	GElf_Shdr header;
	Elf_Scn *section = elf_find_section(code->elf, GO_TABLE_SECTION, &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (!data || !data->d_buf)
		return 0;
	int r = sort_pieces(d);
	return r ? r : go_frames_each(data->d_buf, data->d_size, add_go_frame, &go);
}

static int add_derived(void *arg, uint64_t start, uint64_t end, const struct wire_unwind_rule *rule)
{
	struct describe *d = arg;
	struct piece piece = {.start = start, .end = end};
	int r = intern_add(d->rules, rule, sizeof(*rule), &piece.rule);

	if (r)
		return r == -ENOMEM ? r : 0;
	d->head.derived++;
	return add_piece(d, piece);
}

/* The ranges that the pieces cover, which this brings into order. */
static struct elf_region *list_covered(struct describe *d, size_t *ret_count)
{
	struct elf_region *list = sort_pieces(d) ? NULL : malloc((d->count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < d->count; i++) {
		const struct piece *p = &d->pieces[i];

		if (count && p->start <= list[count - 1].end) {
			if (p->end > list[count - 1].end)
				list[count - 1].end = p->end;
			continue;
		}
		list[count++] = (struct elf_region){p->start, p->end};
	}
	*ret_count = count;
	return list;
}

/* What no table has is found in the code itself. */
static int add_code(struct describe *d, const struct elf_code *code)
{
	size_t count = 0;
	struct elf_region *covered = list_covered(d, &count);
	struct code_frames_counters counters = {0};
	int r = covered ? unwind_code_each(code, covered, count, add_derived, d, &counters)
			: -ENOMEM;

	d->head.derived_bytes = counters.bytes;
	d->head.skipped_bytes = counters.skipped;
	free(covered);
	return r;
}

static int describe_elf(struct describe *d, const struct elf_code *code, struct buf *out)
{
	static int (*const adders[])(struct describe *, const struct elf_code *) = {
		add_eh_frame, add_debug_frame, add_go_frames};
	static const struct wire_unwind_rule none;
	uint32_t number;

	if (code->header.e_machine != EM_X86_64 || code->header.e_type == ET_REL ||
	    code->header.e_ident[EI_CLASS] != ELFCLASS64)
		return -EOPNOTSUPP;
	int r = intern_add(d->rules, &none, sizeof(none), &number);
	for (unsigned i = 0; !r && i < sizeof(adders) / sizeof(adders[0]); i++) {
		r = adders[i](d, code);
		if (r == -EBADMSG) {
			d->head.damaged++;
			r = 0;
		}
	}
	if (!r)
		r = add_code(d, code);
	if (!r && !d->count)
		r = -ENOENT;
	return r ? r : append_table(d, out);
}

int image_unwind_describe(int fd, struct buf *out, struct diag *diag)
{
	struct describe d = {.rules = intern_new(RULES_MAX)};
	struct elf_code code = {0};
	Elf *elf = NULL;
	int r = d.rules ? 0 : -ENOMEM;

	elf_version(EV_CURRENT);
	if (!r && !(elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)))
		r = -EBADMSG;
	if (!r)
		r = elf_code_init(&code, elf);
	if (!r)
		r = describe_elf(&d, &code, out);
	elf_code_free(&code);
	elf_end(elf);
	intern_free(d.rules);
	free(d.pieces);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "there is no table, and the code does not tell");
	if (r == -EOPNOTSUPP)
		return diag_fail(diag, EOPNOTSUPP, "stacks are followed on x86-64 only");
	return r ? diag_fail(diag, -r, "the unwind table of an ELF file: %s", strerror(-r)) : 0;
}
