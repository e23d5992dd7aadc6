/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One function of `culprit calc --json`. */
#include <errno.h>
#include <math.h>
#include "cmd/calc_form.h"
#include "cmd/insights.h"
#include "report/json.h"

static json_t *json_range(double low, double high, double whole)
{
	double to_percent = whole > 0 ? 100 / whole : 0;
	return json_pack("[o, o]", report_json_number(low * to_percent),
			 report_json_number(high * to_percent));
}

static json_t *json_summary(const struct insight_summary *s)
{
	json_t *object = json_object();
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		double low = s->fixed[c].low + s->dynamic[c].low;
		double high = s->fixed[c].high + s->dynamic[c].high;
		if (high > 0 || c == CULPRIT_UNEXPLAINED)
			json_object_set_new(object, culprit_name(c),
					    json_range(low, high, s->samples));
	}
	json_object_set_new(object, "execution",
			    json_range(s->execution, s->execution, s->samples));
	json_object_set_new(object, "gain", json_range(s->gain, s->gain, s->samples));
	return object;
}

/* Static causes alone, and the middle of each range. */
static json_t *json_likely(const struct insight_summary *s, bool fixed_only)
{
	json_t *object = json_object();
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		double likely = s->fixed[c].likely + (fixed_only ? 0 : s->dynamic[c].likely);
		if (likely > 0)
			json_object_set_new(
				object, culprit_name(c),
				report_json_number(s->samples > 0 ? 100 * likely / s->samples : 0));
	}
	return object;
}

static json_t *json_culprits(const struct culprit_list *list)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < list->count; i++) {
		const struct culprit *c = &list->list[i];
		json_t *one = json_pack(
			"{s:s, s:o, s:o, s:o, s:b, s:o}", "cause", culprit_name(c->cause), "low",
			report_json_number(c->low), "high", report_json_number(c->high), "likely",
			report_json_number(c->likely), "static", c->is_static, "blame",
			c->blame == ISA_NO_ADDRESS ? json_null() : report_json_address(c->blame));
		if (c->level)
			json_object_set_new(one, "level", json_integer(c->level));
		if (c->reg != ISA_REG_NONE)
			json_object_set_new(one, "register",
					    report_json_text(isa_register_name(c->reg)));
		json_array_append_new(array, one);
	}
	return array;
}

/* Adds an estimate as KEY, KEY_low and KEY_high; its confidence is the caller's. */
static void set_estimate(json_t *object, const char *key, const struct frequency_estimate *e)
{
	char name[64];
	json_object_set_new(object, key, report_json_number(e->value));
	snprintf(name, sizeof(name), "%s_low", key);
	json_object_set_new(object, name, report_json_number(e->low));
	snprintf(name, sizeof(name), "%s_high", key);
	json_object_set_new(object, name, report_json_number(e->high));
}

/* As calc_form_count. */
static void set_metrics(json_t *object, const struct calc_form *c, const struct insight *i,
			uint64_t start, uint64_t end)
{
	uint64_t counts[QUERY_EVENTS_MAX];
	if (calc_form_count(c, i, start, end, counts))
		json_object_set_new(object, "metrics", metrics_json(c->metrics, counts));
}

static json_t *json_instruction(const struct calc_form *c, const struct insight *f,
				const struct insight_instruction *in)
{
	const struct insight_block *block = &f->blocks[in->block];
	uint64_t next = in->address + in->size;
	json_t *one = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:o}", "address",
		report_json_address(in->address), "text", report_json_text(in->text), "samples",
		report_json_count(in->samples), "charged", report_json_number(in->charged),
		"sampled", report_json_address(next), "fused", in->fused, "confidence",
		insights_confidence(block->count.confidence), "culprits",
		json_culprits(&in->culprits));
	if (!one)
		return NULL;
	set_estimate(one, "frequency", &block->count);
	set_estimate(one, "cpi", &in->cpi);
	json_object_set_new(one, "cpi_confidence",
			    json_string(insights_confidence(in->cpi.confidence)));
	json_object_set_new(one, "best_cpi", report_json_number(in->best_cycles));
	set_metrics(one, c, f, in->address, next);
	return one;
}

static json_t *json_block(const struct calc_form *c, const struct insight *i,
			  const struct insight_block *b)
{
	double n = b->instruction_count ? b->instruction_count : 1;
	struct frequency_estimate cpi = {b->cycles.value / n, b->cycles.low / n, b->cycles.high / n,
					 b->cycles.confidence};
	json_t *one = json_pack(
		"{s:o, s:o, s:i, s:o, s:o, s:s}", "start", report_json_address(b->start), "end",
		report_json_address(b->end), "instructions", (int)b->instruction_count, "samples",
		report_json_number(b->charged), "best_cpi", report_json_number(b->best_cycles / n),
		"confidence", insights_confidence(b->count.confidence));
	if (!one)
		return NULL;
	set_estimate(one, "cpi", &cpi);
	set_estimate(one, "frequency", &b->count);
	set_estimate(one, "relative", &b->relative);
	json_object_set_new(one, "relative_confidence",
			    json_string(insights_confidence(b->relative.confidence)));
	set_metrics(one, c, i, b->start, b->end);
	return one;
}

static json_t *json_edge(const struct insight_edge *e)
{
	static const char *const kinds[] = {
		[CFG_FALL_THROUGH] = "fall-through",
		[CFG_TAKEN] = "taken",
		[CFG_JUMP] = "jump",
		[CFG_INDIRECT] = "indirect",
		[CFG_AFTER_CALL] = "after-call",
	};
	const char *kind = e->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[e->kind] : NULL;
	json_t *one = json_pack("{s:o, s:o, s:s, s:s}", "from", report_json_address(e->from), "to",
				report_json_address(e->to), "kind", kind ? kind : "other",
				"confidence", insights_confidence(e->count.confidence));
	if (one)
		set_estimate(one, "frequency", &e->count);
	return one;
}

static json_t *json_function(const struct calc_form *c, const struct insight *i)
{
	char id[IMAGE_ID_TEXT_MAX], path[4096 + 1];
	image_id_format(&i->image->id, id);
	snprintf(path, sizeof(path), "%.*s", (int)i->image->path_size, i->image->path);
	json_t *one = json_pack(
		"{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "name",
		report_json_text(i->name), "image", report_json_text(path), "build_id", id, "start",
		report_json_address(i->start), "size", report_json_count(i->size), "samples",
		report_json_count(i->samples), "samples_outside",
		report_json_count(i->samples_outside), "percent",
		report_json_number(
			c->total_samples ? 100 * (double)i->samples / (double)c->total_samples : 0),
		"best_cpi", report_json_number(i->best_cpi), "complete", i->complete, "why",
		report_json_text(i->why), "summary", json_summary(&i->summary));
	if (!one)
		return NULL;
	json_object_set_new(one, "summary_likely", json_likely(&i->summary, false));
	json_object_set_new(one, "summary_static", json_likely(&i->summary, true));
	set_estimate(one, "cpi", &i->cpi);
	json_object_set_new(one, "confidence", json_string(insights_confidence(i->cpi.confidence)));
	set_estimate(one, "calls", &i->entries);
	set_metrics(one, c, i, 0, 0);
	return one;
}

int calc_json_function(struct calc_form *c, const struct insight *i)
{
	json_t *one = json_function(c, i);
	json_t *blocks = json_array(), *instructions = json_array(), *edges = json_array();
	for (size_t b = 0; b < i->block_count && !c->brief; b++) {
		const struct insight_block *block = &i->blocks[b];
		if (!calc_form_wants(c, i, block))
			continue;
		json_array_append_new(blocks, json_block(c, i, block));
		for (uint32_t n = 0; n < block->instruction_count; n++)
			json_array_append_new(
				instructions,
				json_instruction(c, i,
						 &i->instructions[block->first_instruction + n]));
	}
	for (size_t e = 0; e < i->edge_count && !c->brief; e++)
		if (c->block_percent <= 0 || i->edges[e].count.value > 0)
			json_array_append_new(edges, json_edge(&i->edges[e]));
	if (json_object_set_new(one, "blocks", blocks) |
	    json_object_set_new(one, "instructions", instructions) |
	    json_object_set_new(one, "edges", edges)) {
		json_decref(one);
		return -ENOMEM;
	}
	return report_json_print(one, 0, c->out);
}
