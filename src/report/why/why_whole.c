/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/function_graph.h"
#include "report/why/why_state.h"
#include "util/text.h"

/* Sentences on all that was sampled. */

#define CAUSES_NAMED   3
#define CAUSE_PERCENT  3.0 /* less is not worth its words */
#define PROGRAMS_NAMED 3
#define PROGRAM_ALL    97.0 /* with more there is only one */
#define KERNEL_PERCENT 5.0
#define LOOP_PERCENT   5.0
#define PATH_SHARE     0.5
#define PATH_NAMED     4

static void begin(struct buf *text, struct buf *evidence)
{
	buf_init(text, 8192);
	buf_init(evidence, 65536);
}

static void write_causes(const struct why *w, struct buf *b)
{
	const struct insight_summary *s = &w->whole;
	bool told[CULPRIT_CAUSES] = {false};

	for (int n = 0; n < CAUSES_NAMED; n++) {
		unsigned best = CULPRIT_CAUSES;
		double most = CAUSE_PERCENT / 100 * s->samples, low, high;

		for (unsigned k = 0; k < CULPRIT_CAUSES; k++)
			if (!told[k] && s->fixed[k].likely + s->dynamic[k].likely > most) {
				most = s->fixed[k].likely + s->dynamic[k].likely;
				best = k;
			}
		if (best == CULPRIT_CAUSES)
			return;
		told[best] = true;
		low = s->fixed[best].low + s->dynamic[best].low;
		high = s->fixed[best].high + s->dynamic[best].high;
		buf_printf(b, ", ");
		why_write_share(b, 100 * most / s->samples);
		buf_printf(b, " %s (%.0f to %.0f%%)", culprit_title(best), 100 * low / s->samples,
			   100 * high / s->samples);
	}
}

static int tell_causes(struct why *w)
{
	const struct insight_summary *s = &w->whole;
	struct why_sentence one = {.kind = WHY_CAUSES,
				   .percent = why_share(w, s->samples),
				   .confidence = why_confidence(s->samples)};
	struct buf text, evidence;

	if (s->samples <= 0 || !insights_have_edges(w->estimates.all))
		one.confidence = FREQUENCY_LOW;
	if (s->samples <= 0)
		return 0;
	begin(&text, &evidence);
	buf_printf(&text, "Of the cycles of %llu %s with ",
		   TEXT_COUNT(w->looked_count, "function", "functions"));
	why_write_share(&text, one.percent);
	buf_printf(&text, " %s, ", w->of);
	why_write_share(&text, 100 * s->execution / s->samples);
	buf_printf(&text, " are execution");
	write_causes(w, &text);
	buf_printf(&text, one.confidence == FREQUENCY_LOW ? " (low confidence: %s)." : ".",
		   insights_have_edges(w->estimates.all)
			   ? "few samples"
			   : "how often code ran is estimated from samples alone");
	why_begin_evidence(w, &evidence, "summary");
	return why_add(w, &one, 2, &text, &evidence);
}

static int tell_programs(struct why *w)
{
	struct why_sentence one = {.kind = WHY_PROGRAM};
	struct buf text, evidence;
	double first;

	if (w->program_count < 2)
		return 0;
	first = 100 * (double)w->programs[0].samples / (double)w->program_samples;
	if (first >= PROGRAM_ALL)
		return 0;
	begin(&text, &evidence);
	one.percent = first;
	one.confidence = why_confidence((double)w->programs[0].samples);
	for (size_t i = 0; i < w->program_count && i < PROGRAMS_NAMED; i++) {
		double share = 100 * (double)w->programs[i].samples / (double)w->program_samples;

		if (i && share < 1)
			break;
		buf_printf(&text, "%s", i ? ", " : "");
		why_write_share(&text, share);
		if (!i)
			buf_printf(&text, " %s is spent by", w->of);
		buf_printf(&text, i ? " by " : " ");
		why_write_name(&text, w->programs[i].name);
	}
	buf_printf(&text,
		   one.confidence == FREQUENCY_LOW ? " (low confidence: few samples)." : ".");
	why_begin_evidence(w, &evidence, "prof --by subject");
	return why_add(w, &one, 4, &text, &evidence);
}

static int tell_kernel(struct why *w)
{
	struct why_sentence one = {.kind = WHY_KERNEL};
	const struct rank_row *top = NULL;
	struct buf text, evidence;
	double samples = 0;

	for (size_t i = 0; i < w->functions->row_count; i++) {
		const struct rank_row *row = &w->functions->rows[i];

		if (!row->image || !image_id_is_kernel(&row->image->id))
			continue;
		samples += (double)row->counts[0];
		if (!top || row->counts[0] > top->counts[0])
			top = row;
	}
	if (!top || why_share(w, samples) < KERNEL_PERCENT)
		return 0;
	begin(&text, &evidence);
	one.percent = why_share(w, samples);
	one.confidence = why_confidence(samples);
	why_write_share(&text, one.percent);
	buf_printf(&text, " %s is spent in the kernel, ", w->of);
	why_write_share(&text, why_share(w, (double)top->counts[0]));
	buf_printf(&text, " in ");
	why_write_name(&text, top->function);
	buf_printf(&text,
		   one.confidence == FREQUENCY_LOW ? " (low confidence: few samples)." : ".");
	why_begin_evidence(w, &evidence, "prof --by image");
	return why_add(w, &one, 1, &text, &evidence);
}

static const struct rank_row *hottest_loop(const struct why *w)
{
	const struct rank_row *best = NULL;

	for (size_t i = 0; w->loops && i < w->loops->row_count; i++) {
		const struct rank_row *row = &w->loops->rows[i];

		if (row->depth && row->own && (!best || row->own[0] > best->own[0]))
			best = row;
	}
	return best;
}

static uint32_t block_at(const struct insight *i, uint64_t address)
{
	uint32_t block = 0;

	while (block < i->block_count &&
	       !(address >= i->blocks[block].start && address < i->blocks[block].end))
		block++;
	return block;
}

/* The executions of a loop's header, and how often it was entered. */
static bool count_loop(const struct insight *i, uint64_t header, double *ret_count,
		       double *ret_entries)
{
	uint32_t block = block_at(i, header), loop = CFG_LOOP_NONE;
	struct cfg_loops *loops;

	if (block == i->block_count || i->blocks[block].count.confidence < FREQUENCY_MEDIUM ||
	    cfg_loops_of_function(i->function, &loops))
		return false;
	for (uint32_t k = 0; k < loops->loop_count; k++)
		if (loops->loops[k].header == block)
			loop = k;
	*ret_count = i->blocks[block].count.value;
	*ret_entries = header == i->function->entry ? i->entries.value : 0;
	for (size_t k = 0; k < i->edge_count && loop != CFG_LOOP_NONE; k++) {
		uint32_t from = block_at(i, i->edges[k].from);

		if (i->edges[k].to == header && from < i->block_count &&
		    !cfg_loop_has(loops, loop, from))
			*ret_entries += i->edges[k].count.value;
	}
	cfg_loops_free(loops);
	return loop != CFG_LOOP_NONE;
}

/* How often it goes round, where that is known well. */
static int write_iterations(struct why *w, const struct rank_row *row, struct buf *b)
{
	double count, entries;
	struct insight *i;
	int r = w->tells_time && row->image
			? insight_new(w->estimates.all, row->image, row->header, &i, NULL)
			: -ENOENT;

	if (r)
		return r == -ENOMEM ? r : 0;
	if (count_loop(i, row->header, &count, &entries) && entries >= 1)
		buf_printf(b, ", which goes round %s%.3g times each time that it is entered",
			   i->counted ? "" : "about ", count / entries);
	insight_free(i);
	return 0;
}

static int tell_loop(struct why *w)
{
	const struct rank_row *row = hottest_loop(w);
	struct why_sentence one = {.kind = WHY_LOOP};
	struct buf text, evidence;

	if (!row || why_share(w, (double)row->own[0]) < LOOP_PERCENT)
		return 0;
	begin(&text, &evidence);
	one.percent = why_share(w, (double)row->counts[0]);
	one.confidence = why_confidence((double)row->counts[0]);
	one.function = why_keep(w, row->function);
	one.file = why_keep(w, row->file);
	one.line = row->line;
	one.has_address = true;
	one.address = row->header;
	why_write_share(&text, one.percent);
	buf_printf(&text, " %s is in %s loop at ", w->of,
		   row->irreducible ? "the irreducible" : "the");
	if (row->file && row->line)
		why_write_line(&text, &(struct image_frame){.file = row->file, .line = row->line});
	else
		buf_printf(&text, "0x%llx", (unsigned long long)row->header);
	buf_printf(&text, " in ");
	why_write_name(&text, row->function ? row->function : RANK_NO_SYMBOL);
	if (row->counts[0] > row->own[0]) {
		buf_printf(&text, ", ");
		why_write_share(&text, why_share(w, (double)row->own[0]));
		buf_printf(&text, " outside the loops inside it");
	}
	int r = write_iterations(w, row, &text);
	buf_printf(&text,
		   one.confidence == FREQUENCY_LOW ? " (low confidence: few samples)." : ".");
	why_begin_evidence(w, &evidence, "prof --by loop");
	r = r ?: row->image ? why_set_image(w, &one, row->image) : 0;
	return why_add(w, &one, 3, &text, &evidence) ?: r;
}

/* The child with most of the samples, if it has so much of all. */
static uint32_t hot_child(const struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes[node];
	uint32_t child = n->child_count ? t->children[n->first_child] : 0;

	return child && (double)tree_total(t, child, 0) >= PATH_SHARE * (double)t->selected[0]
		       ? child
		       : 0;
}

/* The functions of the hot path, from its end out; returns how many. */
static size_t walk_path(const struct tree *t, uint32_t *list, size_t room, uint32_t *ret_end)
{
	const struct stack_function *f;
	uint32_t node = 0, next;
	size_t count = 0;

	while ((next = hot_child(t, node)) != 0)
		node = next;
	*ret_end = node;
	for (; node && count < room; node = t->nodes[node].parent) {
		f = tree_function(t, node);
		if (!f || f->kind == STACK_NOTE || why_is_start(f->name))
			break;
		if (!count || list[count - 1] != t->nodes[node].function)
			list[count++] = t->nodes[node].function;
	}
	return count;
}

static int tell_path(struct why *w)
{
	struct why_sentence one = {.kind = WHY_PATH};
	uint32_t list[64], end;
	struct buf text, evidence;
	double samples;

	if (!w->tree || !w->tree->event_count || !w->tree->selected[0])
		return 0;
	size_t count = walk_path(w->tree, list, sizeof(list) / sizeof(list[0]), &end);
	if (count < 2)
		return 0;
	begin(&text, &evidence);
	samples = (double)tree_total(w->tree, end, 0);
	one.percent = why_share(w, samples);
	one.confidence = why_confidence((double)w->stacks->quality.stacks);
	one.function = why_keep(w, w->stacks->functions[list[0]].name);
	why_write_share(&text, one.percent);
	buf_printf(&text, " %s is spent under one chain of calls: ", w->of);
	for (size_t i = count; i-- > 0;) {
		/* The ends are what matters. */
		if (count > PATH_NAMED + 1 && i == count - 3)
			i = 1;
		why_write_name(&text, w->stacks->functions[list[i]].name);
		buf_printf(&text, "%s",
			   !i					      ? ""
			   : count > PATH_NAMED + 1 && i == count - 2 ? " > ... > "
								      : " > ");
	}
	buf_printf(&text, one.confidence == FREQUENCY_LOW ? " (low confidence: few stacks)." : ".");
	why_begin_evidence(w, &evidence, "calls --hot");
	return why_add(w, &one, 2.5, &text, &evidence);
}

int why_tell_whole(struct why *w)
{
	int r = w->tells_time ? tell_causes(w) : 0;

	r = r ?: tell_programs(w);
	r = r ?: tell_kernel(w);
	r = r ?: tell_loop(w);
	return r ?: tell_path(w);
}
