/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/predict.h"

#include <errno.h>
#include <stdlib.h>
#include "util/hash.h"

#define BASE_BITS    14
#define TAG_BITS     11
#define TARGET_BITS  11
#define AGE_TICKS    (1u << 18) /* branches after which what was useful is less so */
#define COUNTER_MOST 3
#define SURE_MOST    3

static const uint8_t lengths[PREDICT_TABLES] = {5, 11, 24, 52, 112, 240};
/* Of indirect branches: none, and the histories of two of the tables. */
static const int8_t target_tables[PREDICT_TARGETS] = {-1, 1, 3};

int predictor_init(struct predictor *p, unsigned kentries)
{
	*p = (struct predictor){.random = 1};
	for (p->table_bits = 8;
	     ((unsigned)PREDICT_TABLES << p->table_bits) < kentries * 1024 && p->table_bits < 18;)
		p->table_bits++;
	p->base = calloc(1u << BASE_BITS, 1);
	if (!p->base)
		return -ENOMEM;
	for (unsigned i = 0; i < PREDICT_TABLES; i++) {
		p->tables[i] = calloc(1u << p->table_bits, sizeof(*p->tables[i]));
		if (!p->tables[i])
			return -ENOMEM;
	}
	for (unsigned i = 0; i < PREDICT_TARGETS; i++) {
		p->targets[i] = calloc(1u << TARGET_BITS, sizeof(*p->targets[i]));
		if (!p->targets[i])
			return -ENOMEM;
	}
	return 0;
}

void predictor_free(struct predictor *p)
{
	free(p->base);
	for (unsigned i = 0; i < PREDICT_TABLES; i++)
		free(p->tables[i]);
	for (unsigned i = 0; i < PREDICT_TARGETS; i++)
		free(p->targets[i]);
}

/* Folds the bit that comes into a register of so many bits, and out the one that leaves the length.
 */
static inline uint32_t fold(uint32_t f, unsigned bits, unsigned length, unsigned in, unsigned out)
{
	f = f << 1 | in;
	f ^= out << length % bits;
	f ^= f >> bits;
	return f & ((1u << bits) - 1);
}

static void push(struct predictor *p, unsigned bit)
{
	struct predict_history *h = &p->history;

	for (unsigned i = 0; i < PREDICT_TABLES; i++) {
		unsigned last = lengths[i] - 1u, out = h->bits[last / 64] >> last % 64 & 1;

		h->index[i] = fold(h->index[i], p->table_bits, lengths[i], bit, out);
		h->tag[i] = fold(h->tag[i], TAG_BITS, lengths[i], bit, out);
		h->tag2[i] = fold(h->tag2[i], TAG_BITS - 1, lengths[i], bit, out);
	}
	h->bits[3] = h->bits[3] << 1 | h->bits[2] >> 63;
	h->bits[2] = h->bits[2] << 1 | h->bits[1] >> 63;
	h->bits[1] = h->bits[1] << 1 | h->bits[0] >> 63;
	h->bits[0] = h->bits[0] << 1 | bit;
}

static struct predict_entry *entry_of(const struct predictor *p, unsigned table, uint64_t pc)
{
	uint32_t at =
		(uint32_t)(pc ^ pc >> p->table_bits ^ pc >> (table + 5)) ^ p->history.index[table];

	return &p->tables[table][at & ((1u << p->table_bits) - 1)];
}

static uint16_t tag_of(const struct predictor *p, unsigned table, uint64_t pc)
{
	return (uint16_t)((pc ^ pc >> 9 ^ p->history.tag[table] ^ p->history.tag2[table] << 1) &
			  ((1u << TAG_BITS) - 1)) |
	       1u << TAG_BITS; /* 0: an entry that was never used */
}

/* What two entries say. */
struct found {
	struct predict_entry *entries[PREDICT_TABLES];
	int first, second; /* the longest histories that have an entry; -1: none */
	bool taken, other;
};

static void look_up(const struct predictor *p, uint64_t pc, struct found *f)
{
	bool base = p->base[pc & ((1u << BASE_BITS) - 1)] >= 0;

	f->first = f->second = -1;
	for (int i = PREDICT_TABLES - 1; i >= 0 && f->second < 0; i--) {
		f->entries[i] = entry_of(p, (unsigned)i, pc);
		if (f->entries[i]->tag != tag_of(p, (unsigned)i, pc))
			continue;
		if (f->first < 0)
			f->first = i;
		else
			f->second = i;
	}
	f->other = f->second >= 0 ? f->entries[f->second]->counter >= 0 : base;
	f->taken = f->first >= 0 ? f->entries[f->first]->counter >= 0 : base;
	/* A new entry that is not sure yet knows less than the one before it. */
	if (f->first >= 0 && !f->entries[f->first]->useful &&
	    (f->entries[f->first]->counter == 0 || f->entries[f->first]->counter == -1))
		f->taken = f->other;
}

bool predictor_direction(const struct predictor *p, uint64_t pc)
{
	struct found f;

	look_up(p, pc, &f);
	return f.taken;
}

static void count(int8_t *counter, bool up, int most)
{
	if (up && *counter < most)
		++*counter;
	else if (!up && *counter > -most - 1)
		--*counter;
}

/* A place in a table of a longer history, for a branch that was predicted wrong. */
static void allocate(struct predictor *p, uint64_t pc, const struct found *f, bool taken)
{
	unsigned from = (unsigned)(f->first + 1);

	p->random = p->random * 1103515245u + 12345u;
	if (from + 1 < PREDICT_TABLES && (p->random >> 16 & 1))
		from++;
	for (unsigned i = from; i < PREDICT_TABLES; i++) {
		struct predict_entry *e = entry_of(p, i, pc);

		if (e->useful) {
			e->useful--;
			continue;
		}
		*e = (struct predict_entry){tag_of(p, i, pc), taken ? 0 : -1, 0};
		return;
	}
}

static void age(struct predictor *p)
{
	if (++p->ticks < AGE_TICKS)
		return;
	p->ticks = 0;
	for (unsigned i = 0; i < PREDICT_TABLES; i++)
		for (uint32_t k = 0; k < 1u << p->table_bits; k++)
			p->tables[i][k].useful >>= 1;
}

bool predictor_learn(struct predictor *p, uint64_t pc, bool taken)
{
	struct found f;

	look_up(p, pc, &f);
	if (f.first >= 0) {
		struct predict_entry *e = f.entries[f.first];
		bool says = e->counter >= 0;

		if (says != f.other && (says == taken ? e->useful < 3 : e->useful > 0))
			e->useful = (uint8_t)(e->useful + (says == taken ? 1 : -1));
		count(&e->counter, taken, COUNTER_MOST);
	}
	if (f.first < 0 || (f.entries[f.first]->useful == 0 && f.second < 0))
		count(&p->base[pc & ((1u << BASE_BITS) - 1)], taken, 1);
	if (f.taken != taken && f.first < PREDICT_TABLES - 1)
		allocate(p, pc, &f, taken);
	age(p);
	return f.taken;
}

static struct predict_target *target_of(const struct predictor *p, unsigned table, uint64_t pc,
					uint32_t *ret_tag)
{
	int history = target_tables[table];
	uint64_t key = pc * 2 + 1;

	if (history >= 0)
		key ^= (uint64_t)p->history.index[history] << 40 ^ (uint64_t)p->history.tag[history]
									   << 20;
	key = hash_u64(key);
	*ret_tag = (uint32_t)(key >> 32) | 1;
	return &p->targets[table][key & ((1u << TARGET_BITS) - 1)];
}

uint64_t predictor_target(const struct predictor *p, uint64_t pc)
{
	uint32_t tag;

	for (int i = PREDICT_TARGETS - 1; i >= 0; i--) {
		const struct predict_target *t = target_of(p, (unsigned)i, pc, &tag);

		if (t->tag == tag)
			return t->target;
	}
	return 0;
}

uint64_t predictor_learn_target(struct predictor *p, uint64_t pc, uint64_t target)
{
	uint64_t said = 0;
	uint32_t tag;

	for (int i = PREDICT_TARGETS - 1; i >= 0; i--) {
		struct predict_target *t = target_of(p, (unsigned)i, pc, &tag);

		if (t->tag == tag) {
			said = said ? said : t->target;
			if (t->target == target)
				t->sure = (uint8_t)(t->sure + (t->sure < SURE_MOST));
			else if (t->sure)
				t->sure--;
			else
				t->target = target;
		} else if (said != target && !t->sure) {
			*t = (struct predict_target){target, tag, 0};
		} else if (said != target) {
			t->sure--;
		}
		if (said == target)
			break;
	}
	return said;
}

uint64_t predictor_return(struct predictor *p)
{
	struct predict_history *h = &p->history;

	h->top = (h->top + PREDICT_RETURNS - 1) % PREDICT_RETURNS;
	return h->returns[h->top];
}

void predictor_push_direction(struct predictor *p, bool taken)
{
	p->history.directions = p->history.directions << 1 | taken;
	push(p, taken);
}

void predictor_push_target(struct predictor *p, uint64_t target)
{
	push(p, hash_u64(target) & 1);
}

void predictor_push_call(struct predictor *p, uint64_t back)
{
	struct predict_history *h = &p->history;

	h->returns[h->top] = back;
	h->top = (h->top + 1) % PREDICT_RETURNS;
}
