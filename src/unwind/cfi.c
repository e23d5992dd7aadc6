/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "util/buf.h"

#define DEPTH_MAX 64 /* remembered states; compilers go 1 deep */

enum {
	ADVANCE = 0x40, /* these three carry an operand in their low 6 bits */
	OFFSET = 0x80,
	RESTORE = 0xc0,
	HIGH_BITS = 0xc0,

	NOP = 0x00,
	ADVANCE_1 = 0x02,
	ADVANCE_2 = 0x03,
	ADVANCE_4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER_STATE = 0x0a,
	RESTORE_STATE = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_EXTENDED_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_OFFSET_SF = 0x15,
	VAL_EXPRESSION = 0x16,
	GNU_ARGS_SIZE = 0x2e,
	GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

struct state {
	struct cfi_rule cfa, fp, ra, base;
};

struct run {
	const struct cfi_program *p;
	struct state now, initial, saved[DEPTH_MAX];
	unsigned depth;
	uint64_t at, end; /* where the row that is being made starts; of the code */
	int (*f)(void *arg, const struct cfi_row *row);
	void *arg;
};

/* The rule of a register, or of one that nobody asks for. */
static struct cfi_rule *rule_of(struct run *r, uint64_t reg, struct cfi_rule *nobody)
{
	return reg == r->p->ra_reg     ? &r->now.ra
	       : reg == r->p->fp_reg   ? &r->now.fp
	       : reg == r->p->base_reg ? &r->now.base
				       : nobody;
}

static void restore(struct run *r, uint64_t reg)
{
	if (reg == r->p->ra_reg)
		r->now.ra = r->initial.ra;
	else if (reg == r->p->fp_reg)
		r->now.fp = r->initial.fp;
	else if (reg == r->p->base_reg)
		r->now.base = r->initial.base;
}

static struct cfi_rule read_block(struct cursor *c, enum cfi_kind kind)
{
	uint64_t size = cursor_varint(c);
	struct cfi_rule rule = {.kind = kind, .expr = cursor_bytes(c, size), .expr_size = size};

	return rule;
}

static bool same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->offset == b->offset &&
	       a->expr_size == b->expr_size &&
	       (!a->expr_size || !memcmp(a->expr, b->expr, a->expr_size));
}

/* Ends the row at an address and begins the next. */
static int advance(struct run *r, uint64_t delta)
{
	struct cfi_row row = {r->at, r->at, r->now.cfa, r->now.fp, r->now.ra, r->now.base};
	uint64_t bytes;

	if (__builtin_mul_overflow(delta, r->p->code_align, &bytes) || bytes > r->end - r->at)
		bytes = r->end - r->at;
	row.end = r->at += bytes;
	return bytes ? r->f(r->arg, &row) : 0;
}

static int64_t scaled(const struct run *r, int64_t offset)
{
	int64_t product;

	return __builtin_mul_overflow(offset, r->p->data_align, &product) ? INT64_MIN : product;
}

/* By a number of so many bytes. */
static int advance_by(struct run *r, struct cursor *c, unsigned bytes)
{
	uint64_t delta = 0;

	for (unsigned i = 0; i < bytes; i++)
		delta |= (uint64_t)cursor_u8(c) << (8 * i);
	return c->error ? c->error : advance(r, delta);
}

static void define_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	r->now.cfa = (struct cfi_rule){
		.kind = reg <= UINT16_MAX ? CFI_REGISTER : CFI_UNDEFINED,
		.reg = (uint16_t)reg,
		.offset = offset,
	};
}

static int run_cfa(struct run *r, struct cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case DEF_CFA:
		reg = cursor_varint(c);
		define_cfa(r, reg, (int64_t)cursor_varint(c));
		return 0;
	case DEF_CFA_SF:
		reg = cursor_varint(c);
		define_cfa(r, reg, scaled(r, cursor_signed(c)));
		return 0;
	case DEF_CFA_REGISTER:
		define_cfa(r, cursor_varint(c), r->now.cfa.offset);
		return 0;
	case DEF_CFA_OFFSET:
		r->now.cfa.offset = (int64_t)cursor_varint(c);
		return 0;
	case DEF_CFA_OFFSET_SF:
		r->now.cfa.offset = scaled(r, cursor_signed(c));
		return 0;
	case DEF_CFA_EXPRESSION:
		r->now.cfa = read_block(c, CFI_IS_EXPR);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int run_state(struct run *r, uint8_t op)
{
	if (op == REMEMBER_STATE) {
		if (r->depth == DEPTH_MAX)
			return -EBADMSG;
		r->saved[r->depth++] = r->now;
		return 0;
	}
	if (r->depth == 0)
		return -EBADMSG;
	r->now = r->saved[--r->depth];
	return 0;
}

static int run_register(struct run *r, struct cursor *c, uint8_t op)
{
	struct cfi_rule nobody, *rule;
	uint64_t reg = cursor_varint(c);

	rule = rule_of(r, reg, &nobody);
	switch (op) {
	case OFFSET_EXTENDED:
	case OFFSET_EXTENDED_SF:
	case GNU_NEGATIVE_OFFSET_EXTENDED: {
		int64_t n = op == OFFSET_EXTENDED_SF ? cursor_signed(c) : (int64_t)cursor_varint(c);

		n = scaled(r, n);
		if (op == GNU_NEGATIVE_OFFSET_EXTENDED && n != INT64_MIN)
			n = -n;
		*rule = (struct cfi_rule){.kind = CFI_AT_CFA, .offset = n};
		return 0;
	}
	case VAL_OFFSET:
		*rule = (struct cfi_rule){.kind = CFI_IS_CFA,
					  .offset = scaled(r, (int64_t)cursor_varint(c))};
		return 0;
	case VAL_OFFSET_SF:
		*rule = (struct cfi_rule){.kind = CFI_IS_CFA,
					  .offset = scaled(r, cursor_signed(c))};
		return 0;
	case UNDEFINED:
		*rule = (struct cfi_rule){.kind = CFI_UNDEFINED};
		return 0;
	case SAME_VALUE:
		*rule = (struct cfi_rule){.kind = CFI_SAME};
		return 0;
	case REGISTER:
		reg = cursor_varint(c);
		*rule = (struct cfi_rule){.kind = reg <= UINT16_MAX ? CFI_REGISTER : CFI_UNDEFINED,
					  .reg = (uint16_t)reg};
		return 0;
	case EXPRESSION:
		*rule = read_block(c, CFI_AT_EXPR);
		return 0;
	case VAL_EXPRESSION:
		*rule = read_block(c, CFI_IS_EXPR);
		return 0;
	case RESTORE_EXTENDED:
		restore(r, reg);
		return 0;
	default:
		return -EBADMSG;
	}
}

static int run_operation(struct run *r, struct cursor *c, uint8_t op)
{
	struct cfi_rule nobody;

	switch (op & HIGH_BITS) {
	case ADVANCE:
		return advance(r, op & ~HIGH_BITS);
	case OFFSET:
		*rule_of(r, op & ~HIGH_BITS, &nobody) = (struct cfi_rule){
			.kind = CFI_AT_CFA, .offset = scaled(r, (int64_t)cursor_varint(c))};
		return 0;
	case RESTORE:
		restore(r, op & ~HIGH_BITS);
		return 0;
	}
	switch (op) {
	case NOP:
		return 0;
	case ADVANCE_1:
		return advance_by(r, c, 1);
	case ADVANCE_2:
		return advance_by(r, c, 2);
	case ADVANCE_4:
		return advance_by(r, c, 4);
	case REMEMBER_STATE:
	case RESTORE_STATE:
		return run_state(r, op);
	case GNU_ARGS_SIZE: /* what a call pushed: of no use to unwinding */
		cursor_varint(c);
		return 0;
	}
	if ((op >= DEF_CFA && op <= DEF_CFA_EXPRESSION) || op == DEF_CFA_SF ||
	    op == DEF_CFA_OFFSET_SF)
		return run_cfa(r, c, op);
	return run_register(r, c, op);
}

static int run_program(struct run *r, const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);

	while (cursor_left(&c) && r->at < r->end) {
		/* Before the operation: a broken one must not make a row. */
		struct cursor look = c;
		uint8_t op = cursor_u8(&look);
		int err = run_operation(r, &look, op);

		if (err || look.error)
			return err ? err : look.error;
		c = look;
	}
	return 0;
}

/* Adjoining rows that say the same become one. */
struct joiner {
	struct cfi_row row;
	bool any;
	int (*f)(void *arg, const struct cfi_row *row);
	void *arg;
};

static int join(void *arg, const struct cfi_row *row)
{
	struct joiner *j = arg;
	int r = 0;

	if (j->any && same_rule(&j->row.cfa, &row->cfa) && same_rule(&j->row.fp, &row->fp) &&
	    same_rule(&j->row.ra, &row->ra) && same_rule(&j->row.base, &row->base)) {
		j->row.end = row->end;
		return 0;
	}
	if (j->any)
		r = j->f(j->arg, &j->row);
	j->row = *row;
	j->any = true;
	return r;
}

int cfi_each_row(const struct cfi_program *p, int (*f)(void *arg, const struct cfi_row *row),
		 void *arg)
{
	struct joiner j = {.f = f, .arg = arg};
	struct run r = {
		.p = p,
		.now.cfa.kind = CFI_UNDEFINED,
		.now.fp.kind = CFI_SAME,
		.now.ra.kind = CFI_SAME,
		.now.base.kind = CFI_SAME,
		.at = p->start,
		.end = p->size > UINT64_MAX - p->start ? UINT64_MAX : p->start + p->size,
		.f = join,
		.arg = &j,
	};
	int err = run_program(&r, p->initial, p->initial_size);

	r.initial = r.now;
	if (!err)
		err = run_program(&r, p->body, p->body_size);
	if (!err)
		err = advance(&r, UINT64_MAX); /* the last row lasts to the end */
	if (j.any && (!err || err == -EBADMSG)) {
		int last = f(arg, &j.row);

		err = err ? err : last;
	}
	return err;
}
