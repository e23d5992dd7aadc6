/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The frequencies of everything that a query selected, and what they rest on. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/frequency/frequency_spread.h"
#include "analyze/insight_state.h"
#include "machine/measured.h"
#include "machine/skid.h"
#include "util/array.h"
#include "util/num.h"

/* Images that together have this share of the samples have their code read; the rest is too little
 * to be worth the time, and its samples count as those of images without code. */
#define CODE_SHARE 0.9995
/* From so many samples of a function on, where they are tells its scale; and the least weight of
 * that for which it is looked at. */
#define SCALE_SAMPLES	   200
#define SCALE_WEIGHT_LEAST 0.25
/* The weight from which on the scale is by that function alone [judge]: the rest of such programs
 * is what calls it. */
#define SCALE_WEIGHT_WHOLE 0.8
/* Error of the model over measured loops, nine of ten of which have less, up to which it fits. */
#define CORE_FITS 0.15

static enum insight_event event_kind(const char *name)
{
	static const struct {
		const char *name;
		enum insight_event kind;
	} known[] = {
		{"cycles", INSIGHT_EVENT_TIME},
		{"cpu-cycles", INSIGHT_EVENT_TIME},
		{"cpu-clock", INSIGHT_EVENT_TIME},
		{"task-clock", INSIGHT_EVENT_TIME},
		{"instructions", INSIGHT_EVENT_INSTRUCTIONS},
		{"cache-misses", INSIGHT_EVENT_CACHE_MISSES},
		{"L1-dcache-load-misses", INSIGHT_EVENT_CACHE_MISSES},
		{"dTLB-load-misses", INSIGHT_EVENT_DTLB_MISSES},
		{"L1-icache-load-misses", INSIGHT_EVENT_ICACHE_MISSES},
		{"iTLB-load-misses", INSIGHT_EVENT_ITLB_MISSES},
		{"branch-misses", INSIGHT_EVENT_BRANCH_MISSES},
		{"page-faults", INSIGHT_EVENT_PAGE_FAULTS},
		{"faults", INSIGHT_EVENT_PAGE_FAULTS},
	};
	size_t size = strcspn(name, ":@");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == size && strncmp(known[i].name, name, size) == 0)
			return known[i].kind;
	return INSIGHT_EVENT_OTHER;
}

/* The rows of one event, as the estimation wants them. */
static int collect_rows(const struct query_part *part, uint32_t event, struct evidence_sample **ret,
			size_t *ret_count)
{
	struct evidence_sample *list = calloc(part->row_count + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < part->row_count; i++)
		if (part->rows[i].event == event)
			list[n++] =
				(struct evidence_sample){part->rows[i].offset, part->rows[i].count};
	*ret = list;
	*ret_count = n;
	return 0;
}

/* True for samples that a timer's interrupt took of code that can turn interrupts off. */
static bool can_mask(const struct query *q, const struct image_id *id)
{
	const char *event = q->events[0].name;

	return image_id_is_kernel(id) &&
	       (strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0);
}

static int fill_image(struct insights *all, const struct query_part *part)
{
	struct insight_image *image = &all->images[part->image];
	int r = collect_rows(part, 0, &image->samples, &image->sample_count);

	image->part = part;
	image->masks = can_mask(all->query, &image->image->id);
	for (size_t i = 0; i < image->sample_count; i++)
		image->total += image->samples[i].count;
	all->samples += image->total;
	for (uint32_t e = 1; e < all->query->event_count && !r; e++)
		if (all->event_kinds[e] == INSIGHT_EVENT_INSTRUCTIONS && !image->executed)
			r = collect_rows(part, e, &image->executed, &image->executed_count);
	return r;
}

/* Opens an image's code; that it cannot be had is no error but a fact of the image. */
static int open_image(struct insights *all, struct insight_image *image)
{
	const struct query_image *q = image->image;
	uint16_t machine;
	unsigned bits;

	if (q->id.kind == IMAGE_UNKNOWN) {
		image->error = diag_fail(&image->why, ENOENT, "no mapping explains the samples");
		return 0;
	}
	image_find_symbols(all->finder, &q->id, q->path, &image->symbols, NULL);
	image_find_machine(all->finder, &q->id, q->path, &machine, &bits);
	image->error = isa_decoder_new(machine, bits, ISA_SYNTAX_ATT, &image->decoder, &image->why);
	if (!image->error)
		image->error =
			cfg_image_open(all->finder, &q->id, q->path, &image->cfg, &image->why);
	if (image->error == -ENOMEM)
		return -ENOMEM;
	if (image->error)
		return 0;
	image->kinds = culprit_kinds_new(image->decoder);
	return image->kinds ? 0 : -ENOMEM;
}

static int compare_totals(const void *pa, const void *pb)
{
	const struct insight_image *a = *(struct insight_image *const *)pa;
	const struct insight_image *b = *(struct insight_image *const *)pb;

	return NUM_ORDER(b->total, a->total) ?: NUM_ORDER(a, b);
}

static int open_images(struct insights *all)
{
	struct insight_image **order = calloc(all->image_count + 1, sizeof(struct insight_image *));
	uint64_t seen = 0;
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < all->image_count && !r; i++)
		order[i] = &all->images[i];
	if (!r)
		array_sort(order, all->image_count, sizeof(struct insight_image *), compare_totals);
	for (size_t i = 0; i < all->image_count && !r; i++) {
		struct insight_image *image = order[i];

		if (!image->part || (image->total == 0 && i > 0))
			continue;
		if (all->progress)
			all->progress("reading code, %zu of %zu", i, all->image_count);
		if ((double)seen < CODE_SHARE * (double)all->samples || i == 0)
			r = open_image(all, image);
		else
			image->error = diag_fail(&image->why, ENODATA, "not read: too few samples");
		seen += image->total;
		if (image->cfg)
			continue;
		if (all->basis.images_without_code++ == 0)
			all->basis.code_reason = image->why;
		all->basis.samples_without_code += image->total;
	}
	free(order);
	return r;
}

/* The core that recorded the profile, as it was measured, or, when that is not known, this one. */
static int find_core(struct insights *all, struct diag *diag)
{
	struct machine_cpu cpu = {0};
	struct machine_measured measured;
	struct machine_belief belief;
	char described[320];
	bool recorded = machine_cpu_parse(all->edges->cpu_id, &cpu) == 0;
	bool known = recorded || machine_cpu_here(&cpu);

	bool loops = recorded && machine_measured_parse(all->edges->core_loops, &measured) == 0;
	int r = machine_model_believe(&cpu, loops ? &measured : NULL, MACHINE_SOURCE_BEST,
				      &all->model, &belief, diag);
	if (r)
		return r;
	all->core = machine_model_core(all->model);
	machine_belief_describe(all->model, known ? &cpu : NULL, &belief, described,
				sizeof(described));
	snprintf(all->core_text, sizeof(all->core_text), "%s%s, costs from %s", described,
		 recorded ? "" : " (of this machine: the profile does not name its own)",
		 machine_model_source(all->model));
	all->basis.core = all->core_text;
	culprit_limits_of(all->core, &all->limits);
	all->limits.measured = belief.measured && !belief.refused && belief.after.loops > 0 &&
			       belief.after.high <= CORE_FITS;
	if (machine_simulator_new(all->model, NULL, &all->simulator))
		return diag_fail(diag, ENOMEM, "out of memory for the model of the core");
	return 0;
}

/* What the kernel says of this machine, for profiles that do not say it of theirs. */
static double clock_here(void)
{
	char line[256];
	double mhz = 0;
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && mhz == 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "cpu MHz", 7) == 0 && strchr(line, ':'))
			mhz = atof(strchr(line, ':') + 1);
	if (f)
		fclose(f);
	return mhz * 1e6;
}

/* Where this machine shows samples, as the collector measured it. */
static void find_skid(struct insights *all)
{
	struct machine_skid skid;

	if (machine_skid_parse(all->edges->skid, &skid) < 0)
		machine_skid_default(all->query->events[0].flags & DB_EVENT_PRECISE, &skid);
	else
		all->basis.skid_measured = true;
	all->basis.skid = machine_skid_back(&skid);
	/* A small rest is scattered anywhere; to leave it where it is would not be truer. */
	all->skid.back = all->basis.skid > 0.8 ? 1 : all->basis.skid < 0.2 ? 0 : all->basis.skid;
	all->skid.shows_divisions = machine_skid_shows_divisions(&skid);
}

/* How well the clock is known where nobody measured it while samples were taken: hosts change it.
 */
#define CLOCK_ONCE 0.05
/* And at best, while they were: a recording of a second has few readings [judge]. */
#define CLOCK_LEAST 0.02
/* What a program loses to an interrupt, of what one costs a program that lives in the caches, and
 * how far that may be off (doc/trials/culprits.md). */
#define INTERRUPT_PART 0.65
#define INTERRUPT_OFF  0.2
/* A share that is more is none. */
#define INTERRUPTED_MOST 0.5

/* A clock's samples stand for the time between them, in which interrupts run too. */
static void find_cycles(struct insights *all, double hz)
{
	const struct query_event *e = &all->query->events[0];
	const double taken = fmin(fmax(all->edges->interrupted, 0), INTERRUPTED_MOST);
	struct insights_basis *b = &all->basis;

	b->cycles_per_sample = (double)e->period * query_event_scale(e);
	if (!strstr(e->name, "clock"))
		return;
	/* Its period is in nanoseconds. */
	b->cycles_per_sample *= hz / 1e9 * (1 - INTERRUPT_PART * taken);
	b->cycles_deviation = hypot(all->edges->clock_deviation > 0
					    ? fmax(all->edges->clock_deviation, CLOCK_LEAST)
					    : CLOCK_ONCE,
				    INTERRUPT_OFF * taken);
}

static void find_clock(struct insights *all)
{
	double hz = all->edges->clock_hz;
	struct insights_basis *b = &all->basis;

	b->clock_source = "measured";
	if (hz <= 0) {
		hz = clock_here();
		b->clock_source = "of this machine, from the kernel";
	}
	if (hz <= 0) {
		hz = 3e9;
		b->clock_source = "assumed";
	}
	b->clock_ghz = hz / 1e9;
	find_cycles(all, hz);
}

static double block_cost(void *arg, const struct cfg_function *function, size_t block)
{
	struct insights *all = arg;

	if (all->cost_function != function) {
		insight_keep_best_case(all, all->cost_function, all->cost);
		all->cost = NULL;
		all->cost_function = function;
		for (size_t i = 0; i < all->image_count && !all->cost; i++)
			if (all->images[i].cfg && all->images[i].cfg == function->image)
				insight_best_case(all, &all->images[i], function, NULL, &all->cost);
	}
	if (all->cost)
		return all->cost->block_cycles[block];
	return (double)function->blocks[block].instruction_count / 4;
}

/* Pairs are of one clock's samples, and do not say which: they tell where there is but one. */
static bool has_one_clock(const struct insights *all)
{
	uint32_t clocks = 0;

	for (uint32_t e = 0; e < all->query->event_count; e++)
		clocks += all->event_kinds[e] == INSIGHT_EVENT_TIME;
	return clocks == 1;
}

/*
 * The scale of all counts is what programs of many causes usually take over their best case, where
 * nothing is counted. Where one loop has the time, where its samples are in it tells more: as far
 * as it has them, and as it is of one cause (frequency_causes).
 */
static int rescale(struct insights *all)
{
	size_t count, top = 0;
	const struct frequency_function *list = frequency_functions(all->frequency, &count);
	const struct evidence_function *e;
	double said = 0, shape = 0, samples = 0;

	for (size_t i = 0; i < count; i++) {
		samples += (double)list[i].samples;
		top = list[i].samples > list[top].samples ? i : top;
	}
	if (!count || all->basis.functions_counted || all->basis.records ||
	    all->basis.samples_looped || frequency_is_classic(all->frequency) ||
	    list[top].samples < SCALE_SAMPLES)
		return 0;
	e = evidence_find(all->evidence, list[top].image, list[top].function->entry);
	const double causes = e ? frequency_causes(all->evidence, e) : 0;
	const double weight = causes > 0 ? (double)list[top].samples / samples / causes : 0;
	if (weight < SCALE_WEIGHT_LEAST)
		return 0;
	int r = insight_stall(all, &all->images[all->by_number[list[top].image]], &list[top], &said,
			      &shape);
	if (!r && said > 0 && shape > 0)
		frequency_rescale(all->frequency,
				  pow(said / shape, fmin(1, weight / SCALE_WEIGHT_WHOLE)));
	return r;
}

static int estimate(struct insights *all, enum frequency_method method, struct diag *diag)
{
	struct frequency_options options = {.method = method,
					    .cycles_per_sample = all->basis.cycles_per_sample};
	struct evidence_totals totals;
	uint32_t number = 0;
	int r = evidence_new(&all->evidence, diag);

	for (size_t i = 0; i < all->image_count && !r; i++) {
		struct insight_image *image = &all->images[i];

		image->number = UINT32_MAX;
		if (!image->part)
			continue;
		image->number = number++;
		all->by_number[image->number] = (uint32_t)i;
	}
	for (size_t i = 0; i < all->image_count && !r; i++) {
		struct insight_image *image = &all->images[i];
		struct edge_list *edges = &all->edges->images[i];
		struct edge_list *touches = &all->edges->touches[i];
		size_t kept = 0;

		if (!image->part)
			continue;
		image->touches = touches->rows;
		image->touch_count = data_touches_join(touches->rows, touches->count);
		for (size_t k = 0; k < edges->count; k++) {
			struct evidence_edge e = edges->rows[k];

			e.to_image = all->images[e.to_image].number;
			if (e.to_image != UINT32_MAX)
				edges->rows[kept++] = e;
		}
		edges->count = kept;
		struct evidence_image one = {
			.cfg = image->cfg,
			.samples = image->samples,
			.sample_count = image->sample_count,
			.edges = edges->rows,
			.edge_count = edges->count,
			.executed = image->executed,
			.executed_count = image->executed_count,
			.pairs = all->edges->pairs[i].rows,
			.pair_count = has_one_clock(all) ? all->edges->pairs[i].count : 0,
			.masks = image->masks};
		r = evidence_add_image(all->evidence, &one, diag);
	}
	for (uint32_t e = 1; e < all->query->event_count; e++)
		if (all->event_kinds[e] == INSIGHT_EVENT_INSTRUCTIONS)
			options.instructions_per_sample = (double)all->query->events[e].period *
							  query_event_scale(&all->query->events[e]);
	if (!r) {
		evidence_set_cost(all->evidence, block_cost, all);
		evidence_set_counted(all->evidence, all->edges->counted_epochs);
		r = evidence_build(all->evidence, diag);
	}
	if (r)
		return r;
	evidence_totals(all->evidence, &totals);
	all->basis.functions_counted = totals.functions_counted;
	all->basis.functions_part = totals.functions_part;
	all->basis.functions_bursts = totals.functions_bursts;
	all->basis.functions_misfit = totals.functions_misfit;
	all->basis.samples_counted = totals.samples_counted;
	all->basis.loops = totals.loops;
	all->basis.samples_looped = totals.samples_looped;
	all->basis.samples_unplaced =
		totals.samples - totals.samples_placed - all->basis.samples_without_code;
	r = frequency_new(all->evidence, &options, &all->frequency, diag);
	if (!r && options.instructions_per_sample <= 0 && rescale(all))
		r = diag_fail(diag, ENOMEM, "out of memory for a function");
	return r;
}

static int compare_functions(const void *pa, const void *pb)
{
	const struct insights_function *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	int images = strcmp(a->image->path, b->image->path);
	return images ? images : NUM_ORDER(a->start, b->start);
}

static int list_functions(struct insights *all)
{
	size_t count, n = 0;
	const struct frequency_function *list = frequency_functions(all->frequency, &count);

	all->functions = calloc(count + 1, sizeof(*all->functions));
	if (!all->functions)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct insight_image *image = &all->images[all->by_number[list[i].image]];
		const struct image_function *symbol = NULL;

		if (list[i].samples == 0)
			continue;
		if (image->symbols)
			symbol = image_symbols_find(image->symbols, list[i].function->entry);
		all->functions[n++] = (struct insights_function){
			.image = image->image,
			.start = list[i].function->entry,
			.name = symbol ? symbol->demangled : NULL,
			.samples = list[i].samples,
			.function = list[i].function,
		};
	}
	array_sort(all->functions, n, sizeof(*all->functions), compare_functions);
	all->function_count = n;
	return 0;
}

static int begin(struct insights *all, const struct query *q)
{
	all->image_count = intern_count(q->image_keys);
	all->images = calloc(all->image_count + 1, sizeof(*all->images));
	all->by_number = calloc(all->image_count + 1, sizeof(*all->by_number));
	if (!all->images || !all->by_number)
		return -ENOMEM;
	for (size_t i = 0; i < all->image_count; i++)
		all->images[i].image = &q->images[i];
	for (uint32_t e = 0; e < q->event_count; e++)
		all->event_kinds[e] = (uint8_t)event_kind(q->events[e].name);
	for (size_t i = 0; i < q->part_count; i++) {
		int r = q->parts[i].selected ? fill_image(all, &q->parts[i]) : 0;

		if (r)
			return r;
	}
	return 0;
}

int insights_new(const struct insights_request *r, struct insights **ret, struct diag *diag)
{
	const struct query *q = r->query;

	if (q->event_count == 0 || event_kind(q->events[0].name) != INSIGHT_EVENT_TIME)
		return diag_fail(diag, ENODATA,
				 "no selected event measures time: record cycles or cpu-clock, or "
				 "do not leave it out with --event");
	struct insights *all = calloc(1, sizeof(*all));
	int err = all ? 0 : -ENOMEM;
	if (!err) {
		all->query = q;
		all->finder = r->finder;
		all->progress = r->progress;
		err = begin(all, q);
	}
	if (!err)
		err = open_images(all);
	if (err) {
		insights_free(all);
		return diag_fail(diag, -err, "out of memory for functions");
	}
	err = edge_profile_read(q, r->reader, &all->edges, diag);
	if (!err)
		err = find_core(all, diag);
	if (!err) {
		find_clock(all);
		find_skid(all);
		all->basis.edges = all->edges->passes;
		all->basis.windows = all->edges->windows;
		all->basis.records = all->edges->records;
		all->basis.counts = all->edges->counts;
		all->basis.counts_part = all->edges->part;
		err = estimate(all, r->method, diag);
	}
	if (!err && (list_functions(all) || insight_footprints(all)))
		err = diag_fail(diag, ENOMEM, "out of memory for functions");
	if (err) {
		insights_free(all);
		return err;
	}
	all->basis.instructions = frequency_instructions(all->frequency);
	all->basis.classic = frequency_is_classic(all->frequency);
	*ret = all;
	return 0;
}

void insights_free(struct insights *all)
{
	if (!all)
		return;
	frequency_free(all->frequency);
	evidence_free(all->evidence);
	best_case_free(all->cost);
	insight_free_best_cases(all);
	for (size_t i = 0; i < all->image_count && all->images; i++) {
		struct insight_image *image = &all->images[i];

		cfg_image_free(image->cfg);
		culprit_kinds_free(image->kinds);
		isa_decoder_free(image->decoder);
		isa_memo_free(image->memo);
		for (size_t k = 0; k < sizeof(image->writers) / sizeof(image->writers[0]); k++)
			isa_decoder_free(image->writers[k]);
		free(image->samples);
		free(image->executed);
	}
	machine_simulator_free(all->simulator);
	machine_model_free(all->model);
	edge_profile_free(all->edges);
	free(all->functions);
	free(all->by_number);
	free(all->images);
	free(all);
}

const struct insights_basis *insights_basis(const struct insights *all)
{
	return &all->basis;
}

void insights_count_forms(const struct insights *all, struct machine_counters *ret)
{
	machine_read_counters(all->model, ret);
}

const struct insights_function *insights_functions(struct insights *all, size_t *ret_count)
{
	*ret_count = all->function_count;
	return all->functions;
}

const struct frequency_function *
insights_frequencies(const struct insights *all, const struct query_image *image, size_t *ret_count)
{
	uint32_t number = all->images[image - all->query->images].number;
	size_t count, begin = 0, end;
	const struct frequency_function *list = frequency_functions(all->frequency, &count);

	while (begin < count && list[begin].image != number)
		begin++;
	for (end = begin; end < count && list[end].image == number;)
		end++;
	*ret_count = end - begin;
	return begin < end ? list + begin : NULL;
}

uint64_t insights_samples(const struct insights *all)
{
	return all->samples;
}
