/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/insight.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/culprits/culprits_scale.h"
#include "analyze/disassemble.h"
#include "analyze/insight_state.h"
#include "machine/listing_decoder.h"
#include "util/search.h"

#define INSIGHT_MAX_BYTES ((size_t)2 << 30)
#define MEMO_PLACES	  2048
/* Outcomes of a branch from which the shares of its ways are known: to a tenth, mostly. */
#define OUTCOMES_LEAST 20
/*
 * Instructions that cannot stall may give a block's scale up to this factor. The interval of a
 * single loop's count is far wider, but then they explain every stall away (of a loop that decoding
 * holds up there was nothing left, tests/accuracy/known).
 */
#define DOUBT_MOST 3

/* What one function's insight is made with. */
struct work {
	struct insights *all;
	struct insight_image *image;
	const struct cfg_function *f;
	const struct frequency_function *frequency; /* NULL: it has no evidence */
	struct cfg_loops *loops;
	struct best_case *best;
	struct isa_operands *operands;
	uint64_t *samples;
	double *charged, *fresh;
	double *block_count, *edge_count;
	bool *edge_known;
	struct culprit_site *sites;
	struct culprit_events *events;
	struct data_footprint *data; /* NULL: no window saw a load of the image */
	struct insight *result;
};

void insight_free(struct insight *i)
{
	if (!i)
		return;
	arena_free(i->memory);
	free(i);
}

static void work_free(struct work *w)
{
	cfg_loops_free(w->loops);
	best_case_free(w->best);
	free(w->operands);
	free(w->samples);
	free(w->charged);
	free(w->fresh);
	free(w->block_count);
	free(w->edge_count);
	free(w->edge_known);
	free(w->sites);
	free(w->events);
	free(w->data);
}

static int work_allocate(struct work *w)
{
	const struct cfg_function *f = w->f;
	size_t n = f->instruction_count + 1, edges = f->edge_count + 1;

	w->operands = calloc(n, sizeof(*w->operands));
	w->samples = calloc(n, sizeof(*w->samples));
	w->charged = calloc(n, sizeof(*w->charged));
	w->fresh = calloc(n, sizeof(*w->fresh));
	w->sites = calloc(n, sizeof(*w->sites));
	w->block_count = calloc(f->block_count + 1, sizeof(double));
	w->edge_count = calloc(edges, sizeof(double));
	w->edge_known = calloc(edges, sizeof(bool));
	return w->operands && w->samples && w->charged && w->fresh && w->sites && w->block_count &&
			       w->edge_count && w->edge_known
		       ? 0
		       : -ENOMEM;
}

static void decode(struct work *w)
{
	struct isa_instruction in;

	if (!w->image->memo) /* without memory for it: each is decoded again */
		w->image->memo = isa_memo_operands_new(MEMO_PLACES);
	for (uint32_t i = 0; i < w->f->instruction_count; i++) {
		uint64_t address = w->f->instructions[i].address;
		const uint8_t *code = insight_code_at(w->image, address);

		if (code)
			isa_memo_operands(w->image->memo, w->image->decoder, code,
					  w->f->instructions[i].size, address, &in,
					  &w->operands[i]);
	}
}

/* The first of the image's samples of time at an address or behind it. */
static size_t first_sample(const struct insight_image *image, uint64_t address)
{
	return SEARCH_FIRST(image->sample_count, i, image->samples[i].offset >= address);
}

/* Code that several functions jump into is in the graph of each, but its samples are of one. */
static bool is_own(const struct work *w, uint64_t address)
{
	const struct cfg_function *owner;

	return cfg_image_function(w->image->cfg, address, &owner) || owner == w->f;
}

/* Samples that are at none of the function's instructions are counted, and left out. */
static void place_samples(struct work *w)
{
	const struct insight_image *image = w->image;

	for (uint32_t r = 0; r < w->f->range_count; r++) {
		uint64_t end = w->f->ranges[r].end;

		for (size_t i = first_sample(image, w->f->ranges[r].start);
		     i < image->sample_count && image->samples[i].offset < end; i++) {
			uint32_t at = cfg_function_instruction_at(w->f, image->samples[i].offset);

			if (!is_own(w, image->samples[i].offset))
				continue;
			w->result->samples += image->samples[i].count;
			if (at == CFG_OUTSIDE)
				w->result->samples_outside += image->samples[i].count;
			else
				w->samples[at] += image->samples[i].count;
		}
	}
}

static void set_frequencies(struct work *w)
{
	const struct frequency_function *q = w->frequency;

	for (uint32_t b = 0; b < w->f->block_count && q; b++)
		w->block_count[b] = q->block_count[b].value;
	for (uint32_t e = 0; e < w->f->edge_count && q; e++) {
		const uint32_t from = w->f->edges[e].from;

		w->edge_count[e] = q->edge_count[e].value;
		w->edge_known[e] =
			q->edge_count[e].confidence >= FREQUENCY_MEDIUM ||
			(from != CFG_OUTSIDE &&
			 frequency_outcomes(w->all->frequency, q, from) >= OUTCOMES_LEAST);
	}
}

static struct frequency_estimate count_of(const struct work *w, uint32_t block)
{
	static const struct frequency_estimate none = {0, 0, INFINITY, FREQUENCY_LOW};

	return w->frequency ? w->frequency->block_count[block] : none;
}

static void set_sites(struct work *w)
{
	double cycles = w->all->basis.cycles_per_sample;
	struct charge_request q = {w->f,       w->operands,  w->best->prepared, w->edge_count,
				   w->samples, w->all->skid, w->image->masks};

	charge_samples(&q, w->charged, w->fresh);
	for (uint32_t b = 0; b < w->f->block_count; b++) {
		struct frequency_estimate e = count_of(w, b);
		double count = w->block_count[b], doubt = 1;

		if (e.confidence == FREQUENCY_LOW && count > 0)
			doubt = fmin(DOUBT_MOST, fmax(1, fmax(e.high / count, count / e.low)));
		for (uint32_t k = 0; k < w->f->blocks[b].instruction_count && count > 0; k++) {
			uint32_t i = w->f->blocks[b].first_instruction + k;

			w->sites[i] =
				(struct culprit_site){count, doubt, w->charged[i] * cycles / count,
						      w->fresh[i] * cycles / count};
		}
	}
}

static double *event_field(struct culprit_events *e, enum insight_event kind)
{
	switch (kind) {
	case INSIGHT_EVENT_CACHE_MISSES:
		return &e->cache_misses;
	case INSIGHT_EVENT_DTLB_MISSES:
		return &e->dtlb_misses;
	case INSIGHT_EVENT_ICACHE_MISSES:
		return &e->icache_misses;
	case INSIGHT_EVENT_ITLB_MISSES:
		return &e->itlb_misses;
	case INSIGHT_EVENT_BRANCH_MISSES:
		return &e->branch_misses;
	case INSIGHT_EVENT_PAGE_FAULTS:
		return &e->page_faults;
	default:
		return NULL;
	}
}

/* An event's sample is shown at the instruction that caused it, or a little later: faults are
 * exact, counters overflow late. Both the instruction and the one before it get it. */
static void add_event(struct work *w, uint32_t at, enum insight_event kind, double events)
{
	double *field = event_field(&w->events[at], kind);

	if (w->sites[at].count > 0)
		*field += events / w->sites[at].count;
	if (kind != INSIGHT_EVENT_PAGE_FAULTS && at > 0 && w->sites[at - 1].count > 0)
		*event_field(&w->events[at - 1], kind) += events / w->sites[at - 1].count;
}

static int set_events(struct work *w)
{
	const struct query *q = w->all->query;
	const struct query_part *part = w->image->part;
	struct culprit_events none = {-1, -1, -1, -1, -1, -1};
	bool any = false;

	for (uint32_t e = 0; e < q->event_count; e++) {
		double *field = event_field(&none, (enum insight_event)w->all->event_kinds[e]);

		if (field)
			*field = 0;
		any |= field != NULL;
	}
	if (!any)
		return 0;
	w->events = calloc(w->f->instruction_count + 1, sizeof(*w->events));
	if (!w->events)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->f->instruction_count; i++)
		w->events[i] = none;
	for (size_t i = 0; i < part->row_count; i++) {
		const struct query_row *row = &part->rows[i];
		const struct query_event *e = &q->events[row->event];
		enum insight_event kind = (enum insight_event)w->all->event_kinds[row->event];

		if (!event_field(&none, kind) || row->offset < w->f->low ||
		    row->offset >= w->f->high)
			continue;
		uint32_t at = cfg_function_instruction_at(w->f, row->offset);
		if (at != CFG_OUTSIDE)
			add_event(w, at, kind,
				  (double)row->count * (double)e->period * query_event_scale(e));
	}
	return 0;
}

/* Most functions have no such load, and most instructions are none. */
static int set_data(struct work *w)
{
	const struct evidence_edge *touches = w->image->touches;
	const size_t count = w->image->touch_count;

	for (uint32_t r = 0; r < w->f->range_count; r++) {
		const uint64_t end = w->f->ranges[r].end;

		for (size_t i = data_touches_seek(touches, count, w->f->ranges[r].start);
		     i < count && touches[i].from < end;
		     i = data_touches_seek(touches, count, touches[i].from + 1)) {
			uint32_t at = cfg_function_instruction_at(w->f, touches[i].from);

			if (!w->data)
				w->data = calloc(w->f->instruction_count + 1, sizeof(*w->data));
			if (!w->data)
				return -ENOMEM;
			if (at != CFG_OUTSIDE)
				w->data[at] = data_footprint_of(touches, count, touches[i].from);
		}
	}
	return 0;
}

static struct culprit_view view_of(const struct work *w)
{
	return (struct culprit_view){
		.function = w->f,
		.operands = w->operands,
		.kinds = w->image->kinds,
		.model = w->all->model,
		.prepared = w->best->prepared,
		.heads = w->best->heads,
		.expected = w->best->expected,
		.sites = w->sites,
		.block_count = w->block_count,
		.edge_count = w->edge_count,
		.edge_known = w->edge_known,
		.loops = w->loops,
		.events = w->events,
		.data = w->data,
		.limits = w->all->limits,
		.footprint = w->image->footprint,
		.masks = w->image->masks,
	};
}

/* In straight line: a jump right behind an sti is too rare to be followed. */
static uint64_t shown_at(const struct work *w, uint32_t at)
{
	const struct isa_instruction *in = &w->f->instructions[at];
	const bool later = w->image->masks && in->unmasks > 1 && at + 1 < w->f->instruction_count;

	return in->address + in->size + (later ? in[1].size : 0);
}

static void fill_instructions(struct work *w, const struct culprit_list *lists)
{
	struct insight *r = w->result;

	for (uint32_t b = 0; b < w->f->block_count; b++) {
		struct frequency_estimate count = count_of(w, b);

		for (uint32_t k = 0; k < w->f->blocks[b].instruction_count; k++) {
			uint32_t i = w->f->blocks[b].first_instruction + k;

			/* How long a miss takes is only as well known as how many there were. */
			for (uint32_t c = 0;
			     count.confidence == FREQUENCY_LOW && c < lists[i].count; c++)
				if (!lists[i].list[c].level_sure)
					lists[i].list[c].level = 0;
			r->instructions[i] = (struct insight_instruction){
				.address = w->f->instructions[i].address,
				.shown = shown_at(w, i),
				.size = w->f->instructions[i].size,
				.fused = w->best->prepared[i].traits & MACHINE_FUSED,
				.block = b,
				.samples = w->samples[i],
				.charged = w->charged[i],
				.best_cycles = w->best->expected[i],
				.slots = w->best->heads[i].slots,
				.cpi = cpi_estimate(w->charged[i], insights_sample(w->all), &count),
				.culprits = lists[i],
			};
		}
	}
}

static void fill_blocks(struct work *w)
{
	struct insight *r = w->result;

	for (uint32_t b = 0; b < w->f->block_count; b++) {
		const struct cfg_block *block = &w->f->blocks[b];
		struct insight_block *to = &r->blocks[b];

		*to = (struct insight_block){
			.start = block->start,
			.end = block->end,
			.first_instruction = block->first_instruction,
			.instruction_count = block->instruction_count,
			.best_cycles = w->best->block_cycles[b],
			.count = count_of(w, b),
		};
		if (w->frequency)
			to->relative = w->frequency->block_relative[b];
		for (uint32_t k = 0; k < block->instruction_count; k++)
			to->charged += w->charged[block->first_instruction + k];
		to->cycles = cpi_estimate(to->charged, insights_sample(w->all), &to->count);
	}
}

static void fill_edges(struct work *w)
{
	struct insight *r = w->result;
	size_t n = 0;

	for (uint32_t e = 0; e < w->f->edge_count; e++) {
		const struct cfg_edge *edge = &w->f->edges[e];

		if (edge->from == CFG_OUTSIDE || edge->to == CFG_OUTSIDE ||
		    w->f->blocks[edge->from].instruction_count == 0)
			continue;
		const struct cfg_block *from = &w->f->blocks[edge->from];
		uint32_t last = from->first_instruction + from->instruction_count - 1;
		r->edges[n] = (struct insight_edge){w->f->instructions[last].address,
						    w->f->blocks[edge->to].start,
						    edge->kind,
						    {0, 0, INFINITY, FREQUENCY_LOW}};
		if (w->frequency)
			r->edges[n].count = w->frequency->edge_count[e];
		n++;
	}
	r->edge_count = n;
}

/* Cycles by instructions over executions of instructions: the whole function's CPI. */
static void fill_totals(struct work *w)
{
	struct insight *r = w->result;
	struct frequency_estimate executed = {0, 0, 0, FREQUENCY_HIGH};
	double best = 0, charged = 0, unseen = 0;

	for (size_t b = 0; b < r->block_count; b++) {
		const struct insight_block *block = &r->blocks[b];
		double n = block->instruction_count;

		executed.value += n * block->count.value;
		executed.low += n * block->count.low;
		/* Blocks that were not seen share what nobody would have seen. */
		if (block->count.value > 0)
			executed.high += n * block->count.high;
		else
			unseen = fmax(unseen, n * block->count.high);
		if (block->charged > 0.01 * (double)r->samples &&
		    block->count.confidence < executed.confidence)
			executed.confidence = block->count.confidence;
		best += block->best_cycles * block->count.value;
		charged += block->charged;
	}
	executed.high += unseen;
	r->cpi = cpi_estimate(charged, insights_sample(w->all), &executed);
	r->best_cpi = executed.value > 0 ? best / executed.value : 0;
}

static void name_function(struct work *w)
{
	struct insight *r = w->result;
	const struct image_function *symbol = NULL;

	if (w->image->symbols)
		symbol = image_symbols_find(w->image->symbols, w->f->entry);
	r->image = w->image->image;
	r->start = w->f->entry;
	r->size = w->f->high - w->f->low;
	if (symbol) {
		r->name = symbol->demangled;
		r->start = symbol->start;
		r->size = symbol->size;
	}
	r->function = w->f;
	r->complete = w->f->complete;
	for (unsigned i = 0; i < CFG_REASONS && !r->complete; i++)
		if (w->f->why[i])
			r->why = cfg_reason_text((enum cfg_reason)i);
	r->entries = (struct frequency_estimate){.high = INFINITY};
	if (w->frequency) {
		r->entries = w->frequency->entries;
		r->counted = w->frequency->counted;
	}
}

static int allocate_result(struct work *w)
{
	struct insight *r = w->result = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->memory = arena_new(INSIGHT_MAX_BYTES);
	if (!r->memory)
		return -ENOMEM;
	r->instruction_count = w->f->instruction_count;
	r->block_count = w->f->block_count;
	r->instructions =
		arena_alloc(r->memory, (r->instruction_count + 1) * sizeof(*r->instructions));
	r->blocks = arena_alloc(r->memory, (r->block_count + 1) * sizeof(*r->blocks));
	r->edges = arena_alloc(r->memory, ((size_t)w->f->edge_count + 1) * sizeof(*r->edges));
	return r->instructions && r->blocks && r->edges ? 0 : -ENOMEM;
}

/* Where a function's cycles went, by cause: Figure 4 of Anderson et al., SOSP 1997. */
static void add_culprits(struct insight_summary *s, const struct insight_instruction *in,
			 double samples_per_cycle)
{
	for (uint32_t i = 0; i < in->culprits.count; i++) {
		const struct culprit *c = &in->culprits.list[i];

		if (c->is_static) {
			s->fixed[c->cause].low += c->low * samples_per_cycle;
			s->fixed[c->cause].high += c->high * samples_per_cycle;
			s->fixed[c->cause].likely += c->likely * samples_per_cycle;
		} else {
			s->dynamic[c->cause].low += c->low * samples_per_cycle;
			s->dynamic[c->cause].high += c->high * samples_per_cycle;
			s->dynamic[c->cause].likely += c->likely * samples_per_cycle;
		}
	}
	s->gain += in->culprits.gain * samples_per_cycle;
}

/*
 * What no culprit has is execution. Instructions of which it is not known how often they ran have
 * no culprits: all of theirs is unexplained.
 */
static void summarize(struct insight *r)
{
	struct insight_summary *s = &r->summary;
	double explained = 0;

	for (size_t i = 0; i < r->instruction_count; i++) {
		const struct insight_instruction *in = &r->instructions[i];

		s->samples += in->charged;
		if (in->cpi.value > 0)
			add_culprits(s, in, in->charged / in->cpi.value);
		else
			s->dynamic[CULPRIT_UNEXPLAINED].likely += in->charged;
	}
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++)
		explained += s->fixed[c].likely + s->dynamic[c].likely;
	s->dynamic[CULPRIT_UNEXPLAINED].low = s->dynamic[CULPRIT_UNEXPLAINED].high =
		s->dynamic[CULPRIT_UNEXPLAINED].likely;
	s->execution = fmax(0, s->samples - explained);
}

/* All that rules of culprits look at. */
static int gather(struct work *w)
{
	int r = cfg_loops_of_function(w->f, &w->loops);

	if (r == -EINVAL)
		r = 0;
	if (!r)
		r = insight_best_case(w->all, w->image, w->f, w->loops, &w->best);
	if (!r)
		r = work_allocate(w);
	if (!r)
		r = allocate_result(w);
	if (!r) {
		name_function(w);
		decode(w);
		place_samples(w);
		set_frequencies(w);
		set_sites(w);
		r = set_events(w);
	}
	return r ? r : set_data(w);
}

static int analyze(struct work *w, struct diag *diag)
{
	struct culprit_list *lists = NULL;
	int r = gather(w);

	if (!r) {
		const struct culprit_view v = view_of(w);

		lists = calloc(w->f->instruction_count + 1, sizeof(*lists));
		r = lists ? culprits_find(&v, w->result->memory, lists) : -ENOMEM;
	}
	if (!r) {
		fill_instructions(w, lists);
		fill_blocks(w);
		fill_edges(w);
		fill_totals(w);
		summarize(w->result);
	}
	free(lists);
	return r ? diag_fail(diag, -r, "out of memory for a function") : 0;
}

int insight_new(struct insights *all, const struct query_image *image, uint64_t address,
		struct insight **ret, struct diag *diag)
{
	struct work w = {.all = all, .image = &all->images[image - all->query->images]};
	int r = 0;

	if (!w.image->cfg)
		return diag_fail(diag, w.image->error ? -w.image->error : ENOENT, "%s",
				 w.image->why.text);
	if (w.image->number != UINT32_MAX)
		w.frequency = frequency_find(all->frequency, w.image->number, address);
	if (w.frequency)
		w.f = w.frequency->function;
	else
		r = cfg_image_function(w.image->cfg, address, &w.f);
	if (r == -ENOENT)
		return diag_fail(diag, ENOENT, "there is no code at 0x%llx",
				 (unsigned long long)address);
	if (r)
		return diag_fail(diag, -r, "out of memory for a function");
	r = analyze(&w, diag);
	work_free(&w);
	if (r)
		insight_free(w.result);
	else
		*ret = w.result;
	return r;
}

int insight_stall(struct insights *all, struct insight_image *image,
		  const struct frequency_function *frequency, double *ret_said, double *ret_shape)
{
	struct work w = {
		.all = all, .image = image, .frequency = frequency, .f = frequency->function};
	double cycles = 0, best = 0;
	int r = gather(&w);

	for (uint32_t i = 0; i < w.f->instruction_count && !r; i++) {
		cycles += w.sites[i].cycles * w.sites[i].count;
		best += w.best->expected[i] * w.sites[i].count;
	}
	if (!r) {
		const struct culprit_view v = view_of(&w);

		*ret_said = best > 0 ? cycles / best : 0;
		*ret_shape = culprit_stall_by_shape(&v);
	}
	insight_free(w.result);
	work_free(&w);
	return r;
}

void insight_summary_add(struct insight_summary *to, const struct insight_summary *from)
{
	to->samples += from->samples;
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		to->fixed[c].low += from->fixed[c].low;
		to->fixed[c].high += from->fixed[c].high;
		to->fixed[c].likely += from->fixed[c].likely;
		to->dynamic[c].low += from->dynamic[c].low;
		to->dynamic[c].high += from->dynamic[c].high;
		to->dynamic[c].likely += from->dynamic[c].likely;
	}
	to->execution += from->execution;
	to->gain += from->gain;
}

/* Of an instruction that the graph has, all of whose bytes are there. */
const uint8_t *insight_code_at(void *image, uint64_t address)
{
	const struct insight_image *i = image;
	size_t size;

	return cfg_code_at(i->cfg, address, &size);
}

uint64_t insight_samples_between(const struct insight_image *image, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	for (size_t i = first_sample(image, start);
	     i < image->sample_count && image->samples[i].offset < end; i++)
		sum += image->samples[i].count;
	return sum;
}

int insight_disassemble(struct insights *all, struct insight *i, size_t block,
			enum isa_syntax syntax)
{
	struct insight_image *image = &all->images[i->image - all->query->images];
	const struct insight_block *b = &i->blocks[block];
	struct isa_decoder **d = &image->writers[syntax];
	uint16_t machine;
	unsigned bits;
	int r = 0;

	if (!*d) {
		image_find_machine(all->finder, &image->image->id, image->image->path, &machine,
				   &bits);
		r = machine_listing_decoder_new(machine, bits, syntax, d, NULL);
	}
	const struct disassembly texts = {i->memory, *d, all->finder, &image->image->id,
					  image->image->path};
	for (uint32_t k = 0; k < b->instruction_count && !r; k++) {
		uint32_t n = b->first_instruction + k;
		const uint8_t *code = insight_code_at(image, i->instructions[n].address);

		if (!code)
			continue;
		i->instructions[n].text = disassemble(&texts, code, &i->function->instructions[n]);
		r = i->instructions[n].text ? 0 : -ENOMEM;
	}
	return r;
}
