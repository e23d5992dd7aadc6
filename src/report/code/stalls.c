/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "render/estimate.h"
#include "report/describe.h"
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

struct stalls {
	struct estimates *estimates;
	uint64_t limit;
	enum culprit_cause cause; /* CULPRIT_CAUSES: any */
	struct stall *list;	  /* a heap, the smallest on top */
	size_t count;
	uint64_t left_out;
};

static int compare_stalls(const void *pa, const void *pb)
{
	const struct stall *a = pa, *b = pb;

	return NUM_ORDER(b->samples, a->samples) ?: NUM_ORDER(a->address, b->address);
}

static void sift_down(struct stall *heap, size_t count, size_t at)
{
	struct stall moved = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && compare_stalls(&heap[child + 1], &heap[child]) > 0)
			child++;
		if (compare_stalls(&heap[child], &moved) <= 0)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* Keeps the largest ones. */
static void keep(struct stalls *s, const struct stall *one)
{
	if (s->count < s->limit) {
		s->list[s->count++] = *one;
		if (s->count == s->limit)
			for (size_t i = s->count / 2; i-- > 0;)
				sift_down(s->list, s->count, i);
	} else if (compare_stalls(one, &s->list[0]) < 0) {
		s->list[0] = *one;
		sift_down(s->list, s->count, 0);
	}
}

/* "dcache dtlb": the causes, the most likely first. */
static void write_culprits(const struct culprit_list *list, double stall, struct stall *to)
{
	uint32_t seen = 0;
	size_t at = 0;

	for (uint32_t k = 0; k < list->count; k++) {
		const struct culprit *c = &list->list[k];
		const char *name = culprit_name(c->cause);

		if ((seen & 1u << c->cause) || (k > 0 && c->likely < 0.03 * stall) ||
		    at + strlen(name) + 2 > sizeof(to->culprits))
			continue;
		if (seen == 0)
			strcpy(to->cause, name);
		seen |= 1u << c->cause;
		at += (size_t)snprintf(to->culprits + at, sizeof(to->culprits) - at, "%s%s",
				       at ? " " : "", name);
	}
}

static void take_instruction(struct stalls *s, const struct insight *i,
			     const struct insight_instruction *in)
{
	const struct culprit_list *list = &in->culprits;
	struct stall one = {.image = i->image, .function = i->name, .blame = ISA_NO_ADDRESS};
	double stall = 0;

	for (uint32_t k = 0; k < list->count; k++)
		if (s->cause == CULPRIT_CAUSES || list->list[k].cause == s->cause) {
			if (one.cycles == 0)
				one.blame = list->list[k].blame;
			one.cycles += list->list[k].likely;
		}
	for (uint32_t k = 0; k < list->count; k++)
		stall += list->list[k].likely;
	if (one.cycles <= 0 || in->cpi.value <= 0)
		return;
	one.address = in->address;
	one.sampled = in->shown;
	one.count = i->blocks[in->block].count;
	one.stall = (struct frequency_estimate){
		one.cycles, in->cpi.low * one.cycles / in->cpi.value,
		in->cpi.high * one.cycles / in->cpi.value, in->cpi.confidence};
	one.block_start = i->blocks[in->block].start;
	one.block_end = i->blocks[in->block].end;
	one.samples = in->charged * one.cycles / in->cpi.value;
	write_culprits(list, stall, &one);
	keep(s, &one);
}

/* Functions come in falling order of samples: one with fewer than the smallest stall kept cannot
 * have a larger one, and neither can those after it. */
static int collect(struct stalls *s, struct diag *diag)
{
	const struct report_session *session = s->estimates->session;
	size_t count;
	const struct insights_function *list = insights_functions(s->estimates->all, &count);

	for (size_t i = 0; i < count; i++) {
		struct insight *one;

		if (estimates_skips(s->estimates, &list[i]))
			continue;
		if (s->count == s->limit && (double)list[i].samples < s->list[0].samples)
			break;
		if (session->progress)
			session->progress("explaining functions, %zu of %zu", i + 1, count);
		int r = insight_new(s->estimates->all, list[i].image, list[i].start, &one, diag);
		if (r == -ENOMEM)
			return r;
		if (r) {
			s->left_out++;
			continue;
		}
		for (size_t k = 0; k < one->instruction_count; k++)
			take_instruction(s, one, &one->instructions[k]);
		insight_free(one);
	}
	array_sort(s->list, s->count, sizeof(*s->list), compare_stalls);
	return 0;
}

struct columns {
	int percent, cumulative, samples, cycles, count, confidence, stall, culprits, cause, blame,
		address, sampled, function, line, file, position, image, build_id;
};

static void add_columns(struct table *t, struct metrics_bound *metrics, struct columns *c)
{
	c->percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c->cumulative = table_add_column(t, TABLE_PERCENT, "cumulative_percent", "cum%");
	c->samples = table_add_column(t, TABLE_REAL, "samples", NULL);
	c->cycles = table_add_column(t, TABLE_COUNT, "cycles", "cycles");
	c->count = table_add_estimate(t, "count", "count", NULL, 3);
	c->confidence = table_add_column(t, TABLE_NAME, "confidence", "confid.");
	c->stall = table_add_estimate(t, "stall", "stall", "(90%)", 1);
	metrics_add_columns(metrics, t, "metrics", "");
	c->culprits = table_add_column(t, TABLE_NAME, "culprits", "culprits");
	c->cause = table_add_column(t, TABLE_NAME, "cause", NULL);
	c->address = table_add_column(t, TABLE_ADDRESS, "address", "address");
	c->blame = table_add_column(t, TABLE_ADDRESS, "blame", "blame");
	c->sampled = table_add_column(t, TABLE_ADDRESS, "sampled", NULL);
	c->function = table_add_column(t, TABLE_NAME, "function", "function");
	c->position = table_add_column(t, TABLE_NAME, NULL, "line");
	c->file = table_add_column(t, TABLE_NAME, "file", NULL);
	c->line = table_add_column(t, TABLE_COUNT, "line", NULL);
	c->image = table_add_column(t, TABLE_NAME, "image", "image");
	c->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	table_set_spare(t, c->cumulative, 1);
	table_set_spare(t, c->confidence, 2);
	table_set_spare(t, c->stall, 0);
	table_set_spare(t, c->image, 4);
	table_set_spare(t, c->blame, 5);
	table_set_spare(t, c->cycles, 6);
}

static void set_position(struct table *t, const struct columns *c, const struct image_frame *frame)
{
	char text[256];
	const char *name;

	if (!frame || !frame->file)
		return;
	name = strrchr(frame->file, '/');
	snprintf(text, sizeof(text), "%s:%u", name ? name + 1 : frame->file, frame->line);
	if (frame->line)
		table_set_count(t, c->line, frame->line);
	table_set_text(t, c->file, frame->file);
	table_set_text(t, c->position, text);
}

/* Events are not all seen at the instruction that made them, so the block that has it tells. */
static void set_metrics(struct stalls *s, struct table *t, const struct stall *one)
{
	uint64_t counts[QUERY_EVENTS_MAX] = {0};

	if (s->estimates->bound.metrics->count)
		query_part_count(query_find_part(s->estimates->session->query, one->image),
				 one->block_start, one->block_end, counts);
	metrics_set(&s->estimates->bound, t, counts);
}

static void add_row(struct stalls *s, struct table *t, const struct columns *c,
		    const struct stall *one, double *sum)
{
	double total = (double)estimates_samples(s->estimates);

	table_add_row(t);
	*sum += one->samples;
	table_set_real(t, c->percent, total > 0 ? 100 * one->samples / total : 0);
	table_set_real(t, c->cumulative, total > 0 ? 100 * *sum / total : 0);
	table_set_real(t, c->samples, one->samples);
	table_set_count(
		t, c->cycles,
		(uint64_t)(one->samples * insights_basis(s->estimates->all)->cycles_per_sample));
	table_set_estimate(t, c->count, one->count.value, one->count.low, one->count.high);
	/* Samples where nothing is estimated to run have no time an execution. */
	if (one->count.value >= 1)
		table_set_estimate(t, c->stall, one->stall.value, one->stall.low, one->stall.high);
	set_metrics(s, t, one);
	table_set_address(t, c->address, one->address);
	table_set_address(t, c->sampled, one->sampled);
	if (one->blame != ISA_NO_ADDRESS)
		table_set_address(t, c->blame, one->blame);
	table_set_text(t, c->confidence, estimates_confidence(one->count.confidence));
	table_set_text(t, c->culprits, one->culprits);
	table_set_text(t, c->cause, one->cause);
	table_set_text(t, c->function, one->function ? one->function : RANK_NO_SYMBOL);
	set_position(t, c, one->frame);
	report_set_image(t, c->image, c->build_id, one->image);
}

/* Source positions, image by image. Kept in lines until the table is made. */
static size_t find_lines(struct stalls *s, struct image_lines **lines)
{
	uint64_t *addresses = calloc(s->count + 1, sizeof(*addresses));
	size_t *rows = calloc(s->count + 1, sizeof(*rows)), sets = 0;

	for (size_t i = 0; i < s->count && addresses && rows; i++) {
		const struct query_image *image = s->list[i].image;
		bool done = false;
		size_t n = 0;

		for (size_t k = 0; k < i && !done; k++)
			done = s->list[k].image == image;
		for (size_t k = i; k < s->count && !done; k++) {
			if (s->list[k].image != image)
				continue;
			rows[n] = k;
			addresses[n++] = s->list[k].address;
		}
		if (n == 0 || image_find_lines(s->estimates->session->finder, &image->id,
					       image->path, addresses, n, &lines[sets], NULL))
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct image_frame *frames;

			if (image_lines_frames(lines[sets], k, &frames))
				s->list[rows[k]].frame = frames;
		}
		sets++;
	}
	free(addresses);
	free(rows);
	return sets;
}

static struct table *make_table(struct stalls *s, struct report_header *h)
{
	struct table *t = table_new("stalls");
	struct columns c = {0};
	double sum = 0;

	estimates_describe(s->estimates, h);
	estimates_describe_shares(s->estimates, h);
	if (s->left_out)
		report_header_note(h, "%llu %s no code available",
				   TEXT_COUNT(s->left_out, "function has", "functions have"));
	add_columns(t, &s->estimates->bound, &c);
	for (size_t i = 0; i < s->count; i++)
		add_row(s, t, &c, &s->list[i], &sum);
	metrics_describe(&s->estimates->bound, NULL, h);
	return t;
}

int stalls_make(struct report_session *session, const struct stalls_options *o,
		struct stalls_report *ret, struct report_header *h, struct diag *diag)
{
	struct stalls s = {.estimates = &ret->estimates, .limit = o->limit, .cause = o->cause};

	*ret = (struct stalls_report){0};
	int r = estimates_read(&ret->estimates, session, &o->estimates, diag);
	if (r)
		return r;
	ret->list = s.list = calloc(o->limit, sizeof(*s.list));
	ret->lines = calloc(o->limit, sizeof(*ret->lines));
	if (!ret->list || !ret->lines)
		return diag_fail(diag, ENOMEM, "out of memory");
	r = collect(&s, diag);
	if (r)
		return r;
	ret->count = s.count;
	ret->left_out = s.left_out;
	ret->line_sets = find_lines(&s, ret->lines);
	ret->table = make_table(&s, h);
	return 0;
}

void stalls_free(struct stalls_report *r)
{
	for (size_t i = 0; i < r->line_sets; i++)
		image_lines_free(r->lines[i]);
	free(r->lines);
	free(r->list);
	table_free(r->table);
	estimates_free(&r->estimates);
}
