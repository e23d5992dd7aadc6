/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One function of `culprit calc --json`. */
#include <string.h>
#include "report/code/calc_form.h"
#include "report/code/cfg_view.h"
#include "report/estimates.h"
#include "render/json_writer.h"

#define FUNCTION_MAX_BYTES ((size_t)2 << 30)

static void put_range(struct json_writer *w, const char *key, double low, double high, double whole)
{
	double to_percent = whole > 0 ? 100 / whole : 0;

	json_writer_open(w, key, '[');
	json_writer_number(w, NULL, low * to_percent);
	json_writer_number(w, NULL, high * to_percent);
	json_writer_close(w, ']');
}

static void put_summary(struct json_writer *w, const struct insight_summary *s)
{
	json_writer_open(w, "summary", '{');
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		double low = s->fixed[c].low + s->dynamic[c].low;
		double high = s->fixed[c].high + s->dynamic[c].high;

		if (high > 0 || c == CULPRIT_UNEXPLAINED)
			put_range(w, culprit_name(c), low, high, s->samples);
	}
	put_range(w, "execution", s->execution, s->execution, s->samples);
	put_range(w, "gain", s->gain, s->gain, s->samples);
	json_writer_close(w, '}');
}

/* Static causes alone, and the middle of each range. */
static void put_likely(struct json_writer *w, const char *key, const struct insight_summary *s,
		       bool fixed_only)
{
	json_writer_open(w, key, '{');
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		double likely = s->fixed[c].likely + (fixed_only ? 0 : s->dynamic[c].likely);

		if (likely > 0)
			json_writer_number(w, culprit_name(c),
					   s->samples > 0 ? 100 * likely / s->samples : 0);
	}
	json_writer_close(w, '}');
}

static void put_culprits(struct json_writer *w, const struct culprit_list *list)
{
	json_writer_open(w, "culprits", '[');
	for (uint32_t i = 0; i < list->count; i++) {
		const struct culprit *c = &list->list[i];

		json_writer_open(w, NULL, '{');
		json_writer_text(w, "cause", culprit_name(c->cause));
		json_writer_number(w, "low", c->low);
		json_writer_number(w, "high", c->high);
		json_writer_number(w, "likely", c->likely);
		json_writer_bool(w, "static", c->is_static);
		if (c->blame == ISA_NO_ADDRESS)
			json_writer_text(w, "blame", NULL);
		else
			json_writer_address(w, "blame", c->blame);
		if (c->level)
			json_writer_count(w, "level", c->level);
		if (c->reg != ISA_REG_NONE)
			json_writer_text(w, "register", isa_register_name(c->reg));
		json_writer_close(w, '}');
	}
	json_writer_close(w, ']');
}

/* An estimate as KEY, KEY_low and KEY_high; its confidence is the caller's. */
static void put_estimate(struct json_writer *w, const char *key, const struct frequency_estimate *e)
{
	char name[64];
	size_t size = strlen(key);

	memcpy(name, key, size + 1);
	json_writer_number(w, name, e->value);
	memcpy(name + size, "_low", sizeof("_low"));
	json_writer_number(w, name, e->low);
	memcpy(name + size, "_high", sizeof("_high"));
	json_writer_number(w, name, e->high);
}

/* As calc_form_count. */
static void put_metrics(struct json_writer *w, const struct calc_form *c, const struct insight *i,
			uint64_t start, uint64_t end)
{
	uint64_t counts[QUERY_EVENTS_MAX];

	if (!calc_form_count(c, i, start, end, counts))
		return;
	json_writer_value(w, "metrics", metrics_json(c->metrics, counts));
}

static void put_instruction(struct json_writer *w, const struct calc_form *c,
			    const struct insight *f, const struct insight_instruction *in)
{
	const struct insight_block *block = &f->blocks[in->block];

	json_writer_open(w, NULL, '{');
	json_writer_address(w, "address", in->address);
	json_writer_text(w, "text", in->text);
	json_writer_count(w, "samples", in->samples);
	json_writer_number(w, "charged", in->charged);
	json_writer_address(w, "sampled", in->shown);
	json_writer_bool(w, "fused", in->fused);
	json_writer_text(w, "confidence", estimates_confidence(block->count.confidence));
	put_culprits(w, &in->culprits);
	put_estimate(w, "frequency", &block->count);
	put_estimate(w, "cpi", &in->cpi);
	json_writer_text(w, "cpi_confidence", estimates_confidence(in->cpi.confidence));
	json_writer_number(w, "best_cpi", in->best_cycles);
	put_metrics(w, c, f, in->address, in->address + in->size);
	json_writer_close(w, '}');
}

static void put_block(struct json_writer *w, const struct calc_form *c, const struct insight *i,
		      const struct insight_block *b)
{
	double n = b->instruction_count ? b->instruction_count : 1;
	struct frequency_estimate cpi = {b->cycles.value / n, b->cycles.low / n, b->cycles.high / n,
					 b->cycles.confidence};

	json_writer_open(w, NULL, '{');
	json_writer_address(w, "start", b->start);
	json_writer_address(w, "end", b->end);
	json_writer_count(w, "instructions", b->instruction_count);
	json_writer_number(w, "samples", b->charged);
	json_writer_number(w, "best_cpi", b->best_cycles / n);
	json_writer_text(w, "confidence", estimates_confidence(b->count.confidence));
	put_estimate(w, "cpi", &cpi);
	put_estimate(w, "frequency", &b->count);
	put_estimate(w, "relative", &b->relative);
	json_writer_text(w, "relative_confidence", estimates_confidence(b->relative.confidence));
	put_metrics(w, c, i, b->start, b->end);
	json_writer_close(w, '}');
}

static void put_edge(struct json_writer *w, const struct insight_edge *e)
{
	json_writer_open(w, NULL, '{');
	json_writer_address(w, "from", e->from);
	json_writer_address(w, "to", e->to);
	json_writer_text(w, "kind", e->kind <= CFG_AFTER_CALL ? cfg_view_kind(e->kind) : "other");
	json_writer_text(w, "confidence", estimates_confidence(e->count.confidence));
	put_estimate(w, "frequency", &e->count);
	json_writer_close(w, '}');
}

static void put_function(struct json_writer *w, const struct calc_form *c, const struct insight *i)
{
	char id[IMAGE_ID_TEXT_MAX], path[4096 + 1];
	double total = (double)c->total_samples;

	image_id_format(&i->image->id, id);
	snprintf(path, sizeof(path), "%.*s", (int)i->image->path_size, i->image->path);
	json_writer_text(w, "name", i->name);
	json_writer_text(w, "image", path);
	json_writer_text(w, "build_id", id);
	json_writer_address(w, "start", i->start);
	json_writer_count(w, "size", i->size);
	json_writer_count(w, "samples", i->samples);
	json_writer_count(w, "samples_outside", i->samples_outside);
	json_writer_number(w, "percent", c->total_samples ? 100 * (double)i->samples / total : 0);
	json_writer_number(w, "best_cpi", i->best_cpi);
	json_writer_bool(w, "counted", i->counted);
	json_writer_bool(w, "complete", i->complete);
	json_writer_text(w, "why", i->why);
	put_summary(w, &i->summary);
	put_likely(w, "summary_likely", &i->summary, false);
	put_likely(w, "summary_static", &i->summary, true);
	put_estimate(w, "cpi", &i->cpi);
	json_writer_text(w, "confidence", estimates_confidence(i->cpi.confidence));
	put_estimate(w, "calls", &i->entries);
	put_metrics(w, c, i, 0, 0);
}

static void put_blocks(struct json_writer *w, const struct calc_form *c, const struct insight *i)
{
	json_writer_open(w, "blocks", '[');
	for (size_t b = 0; b < i->block_count && !c->brief; b++)
		if (calc_form_wants(c->block_percent, i, &i->blocks[b]))
			put_block(w, c, i, &i->blocks[b]);
	json_writer_close(w, ']');
}

static void put_instructions(struct json_writer *w, const struct calc_form *c,
			     const struct insight *i)
{
	json_writer_open(w, "instructions", '[');
	for (size_t b = 0; b < i->block_count && !c->brief; b++) {
		const struct insight_block *block = &i->blocks[b];

		for (uint32_t n = 0;
		     n < block->instruction_count && calc_form_wants(c->block_percent, i, block);
		     n++)
			put_instruction(w, c, i, &i->instructions[block->first_instruction + n]);
	}
	json_writer_close(w, ']');
}

int calc_json_function(struct calc_form *c, const struct insight *i)
{
	struct json_writer w;

	json_writer_init(&w, FUNCTION_MAX_BYTES);
	json_writer_open(&w, NULL, '{');
	put_function(&w, c, i);
	put_blocks(&w, c, i);
	put_instructions(&w, c, i);
	json_writer_open(&w, "edges", '[');
	for (size_t e = 0; e < i->edge_count && !c->brief; e++)
		if (c->block_percent <= 0 || i->edges[e].count.value > 0)
			put_edge(&w, &i->edges[e]);
	json_writer_close(&w, ']');
	json_writer_close(&w, '}');
	return json_writer_end(&w, c->out);
}
