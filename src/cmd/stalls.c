/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/insights.h"
#include "cmd/progress.h"
#include "cmd/cmd.h"
#include "report/estimate.h"

/* culprit stalls: the instructions that cost the most cycles, of everything that is selected. */

enum { STALLS_CAUSE = INSIGHTS_OPTION_END };

#define STALLS_MAX 100000 /* that can be asked for */
/* A stall smaller than this share of the samples is not looked for in functions that have less. */
#define CULPRITS_TEXT 64

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"limit", 'n', "N", "so many stalls; default 20"},
	{"cause", STALLS_CAUSE, "CAUSE", "those that may be of this cause, by what is of it",
	 INSIGHTS_CAUSES},
	INSIGHTS_OPTIONS,
	REPORT_METRIC_OPTION,
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_stalls_spec = {
	"stalls",
	"",
	"The worst stalls of everything that is selected: where, how many cycles, and what is to\n"
	"blame. Percentages are of all selected samples.",
	options,
	false,
};

struct stall {
	const struct query_image *image;
	const char *function;
	uint64_t address, sampled, blame;
	uint64_t block_start, block_end;
	double samples, cycles;			/* in all; an execution */
	struct frequency_estimate count, stall; /* stall: cycles an execution */
	char culprits[CULPRITS_TEXT], cause[24];
	const struct image_frame *frame;
};

struct stalls {
	struct insights_session session;
	uint64_t limit;
	enum culprit_cause cause; /* CULPRIT_CAUSES: any */
	struct stall *list;	  /* a heap, the smallest on top */
	size_t count;
	uint64_t left_out; /* functions without code */
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct stalls *s = arg;
	switch (value) {
	case 'n':
		return cmd_take_count("limit", text, STALLS_MAX, &s->limit, diag);
	case STALLS_CAUSE:
		return insights_take_cause(text, &s->cause, diag);
	}
	return insights_take_option(&s->session, value, text, diag);
}

static int compare_stalls(const void *pa, const void *pb)
{
	const struct stall *a = pa, *b = pb;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
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
	size_t count;
	const struct insights_function *list = insights_functions(s->session.all, &count);
	for (size_t i = 0; i < count; i++) {
		struct insight *one;
		if (insights_skips(&s->session, &list[i]))
			continue;
		if (s->count == s->limit && (double)list[i].samples < s->list[0].samples)
			break;
		progress_show("culprit: explaining functions, %zu of %zu", i + 1, count);
		int err = insight_new(s->session.all, list[i].image, list[i].start, &one, diag);
		if (err == -ENOMEM)
			return err;
		if (err) {
			s->left_out++;
			continue;
		}
		for (size_t k = 0; k < one->instruction_count; k++)
			take_instruction(s, one, &one->instructions[k]);
		insight_free(one);
	}
	qsort(s->list, s->count, sizeof(*s->list), compare_stalls);
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

static int set_text(struct table *t, int column, const char *text)
{
	return text ? table_set_name(t, column, text, strlen(text)) : 0;
}

static int set_position(struct table *t, const struct columns *c, const struct image_frame *frame)
{
	char text[256];
	const char *name;
	if (!frame || !frame->file)
		return 0;
	name = strrchr(frame->file, '/');
	snprintf(text, sizeof(text), "%s:%u", name ? name + 1 : frame->file, frame->line);
	if (frame->line)
		table_set_count(t, c->line, frame->line);
	int err = set_text(t, c->file, frame->file);
	return err ? err : set_text(t, c->position, text);
}

/* Events are not all seen at the instruction that made them, so the block that has it tells. */
static void set_metrics(struct stalls *s, struct table *t, const struct stall *one)
{
	uint64_t counts[QUERY_EVENTS_MAX] = {0};
	if (s->session.metrics.count)
		query_part_count(query_find_part(s->session.query, one->image), one->block_start,
				 one->block_end, counts);
	metrics_set(&s->session.bound, t, counts);
}

static int add_row(struct stalls *s, struct table *t, const struct columns *c,
		   const struct stall *one, double *sum)
{
	double total = (double)(insights_samples(s->session.all) - s->session.idle);
	char id[IMAGE_ID_TEXT_MAX];
	int err = table_add_row(t);
	if (err)
		return err;
	*sum += one->samples;
	table_set_real(t, c->percent, total > 0 ? 100 * one->samples / total : 0);
	table_set_real(t, c->cumulative, total > 0 ? 100 * *sum / total : 0);
	table_set_real(t, c->samples, one->samples);
	table_set_count(
		t, c->cycles,
		(uint64_t)(one->samples * insights_basis(s->session.all)->cycles_per_sample));
	table_set_estimate(t, c->count, one->count.value, one->count.low, one->count.high);
	/* Samples where nothing is estimated to run have no time an execution. */
	if (one->count.value >= 1)
		table_set_estimate(t, c->stall, one->stall.value, one->stall.low, one->stall.high);
	set_metrics(s, t, one);
	table_set_address(t, c->address, one->address);
	table_set_address(t, c->sampled, one->sampled);
	if (one->blame != ISA_NO_ADDRESS)
		table_set_address(t, c->blame, one->blame);
	image_id_format(&one->image->id, id);
	err = set_text(t, c->confidence, insights_confidence(one->count.confidence));
	err = err ? err : set_text(t, c->culprits, one->culprits);
	err = err ? err : set_text(t, c->cause, one->cause);
	err = err ? err : set_text(t, c->function, one->function ? one->function : RANK_NO_SYMBOL);
	err = err ? err : set_position(t, c, one->frame);
	err = err ? err : table_set_name(t, c->image, one->image->path, one->image->path_size);
	return err ? err : set_text(t, c->build_id, id);
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
		if (n == 0 || image_find_lines(s->session.finder, &image->id, image->path,
					       addresses, n, &lines[sets], NULL))
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

static int show(struct stalls *s, struct diag *diag)
{
	struct report_header h = {0};
	struct columns c = {0};
	struct table *t = table_new("stalls");
	double sum = 0;
	int err = t ? insights_describe(&s->session, &h) : -ENOMEM;
	if (!err) {
		add_columns(t, &s->session.bound, &c);
		if (s->left_out)
			report_header_note(&h, "%llu functions have no code at hand",
					   (unsigned long long)s->left_out);
	}
	for (size_t i = 0; i < s->count && !err; i++)
		err = add_row(s, t, &c, &s->list[i], &sum);
	return insights_print(&s->session, t, &h, err, diag);
}

static int run(struct stalls *s, struct diag *diag)
{
	struct image_lines **lines;
	size_t sets = 0;
	int err = insights_open(&s->session, diag);
	if (err)
		return err;
	s->list = calloc(s->limit, sizeof(*s->list));
	lines = calloc(s->limit, sizeof(struct image_lines *));
	if (!s->list || !lines)
		err = diag_fail(diag, ENOMEM, "out of memory");
	if (!err)
		err = collect(s, diag);
	if (!err) {
		sets = find_lines(s, lines);
		err = show(s, diag);
	}
	for (size_t i = 0; i < sets; i++)
		image_lines_free(lines[i]);
	free(lines);
	free(s->list);
	return err;
}

int cmd_stalls(int argc, char **argv)
{
	struct stalls s = {.limit = 20, .cause = CULPRIT_CAUSES};
	struct diag diag = {""};
	int err = cmd_parse(&cmd_stalls_spec, argc, argv, take_option, &s, NULL);
	if (err >= 0) {
		insights_close(&s.session);
		return err;
	}
	err = run(&s, &diag);
	insights_close(&s.session);
	if (err == -EINVAL)
		return cmd_fail_usage("stalls", &diag);
	return err < 0 ? cmd_fail(&diag) : err;
}
