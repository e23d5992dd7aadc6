/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* One function of `culprit calc`: Figure 2 of Anderson et al., SOSP 1997, and Figure 4. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/code/calc_form.h"
#include "report/estimates.h"
#include "render/estimate.h"
#include "render/wrap.h"
#include "util/text.h"

#define TEXT_COLUMNS	 44 /* of an instruction, where there is room */
#define TEXT_COLUMNS_MIN 24
#define NUMBER_COLUMNS	 33 /* of what stands around it, without whom to blame */
#define BLAME_COLUMNS	 16
#define MEANING_COLUMNS	 42   /* of a letter: "(d = ...)" */
#define BUBBLE_LINES_MAX 3    /* a long stall is as high as this, and has its cycles beside it */
#define SMALL_CYCLES	 0.25 /* a stall that is not worth a bubble */
#define LETTERS_MAX	 6

struct state {
	const struct calc_form *form;
	const struct insight *i;
	FILE *out;
	uint32_t explained; /* letters whose meaning was shown, a bit a cause */
	int text_columns;
	bool narrow;
};

static void print_name(FILE *out, const char *name, size_t size)
{
	char *escaped = malloc(4 * size + 1);

	if (escaped) {
		text_escape(escaped, 4 * size + 1, name, size);
		fputs(escaped, out);
	}
	free(escaped);
}

static void print_estimate(FILE *out, const struct frequency_estimate *e)
{
	char text[ESTIMATE_TEXT_MAX];

	estimate_format(e->value, e->low, e->high, estimates_confidence(e->confidence), text);
	fputs(text, out);
}

static void print_head(const struct state *s)
{
	const struct insight *i = s->i;
	char id[IMAGE_ID_TEXT_MAX];

	image_id_format(&i->image->id, id);
	fputs("\n*** ", s->out);
	if (i->name)
		print_name(s->out, i->name, strlen(i->name));
	else
		fprintf(s->out, "0x%llx", (unsigned long long)i->start);
	fputs(" in ", s->out);
	print_name(s->out, i->image->path, i->image->path_size);
	fprintf(s->out, " (%.16s), from 0x%llx\n", id, (unsigned long long)i->start);
	fprintf(s->out, "*** %llu %s, %.2f%% of %s; called ",
		TEXT_COUNT(i->samples, "sample", "samples"),
		s->form->total_samples ? 100 * (double)i->samples / (double)s->form->total_samples
				       : 0,
		s->form->is_part ? "the selection" : "all");
	print_estimate(s->out, &i->entries);
	fputs("\n", s->out);
	if (!i->complete)
		fprintf(s->out, "*** not all of its edges are known: %s\n",
			i->why ? i->why : "its code could not be followed");
	if (i->samples_outside)
		fprintf(s->out, "*** %llu %s at no instruction of its graph\n",
			TEXT_COUNT(i->samples_outside, "sample is", "samples are"));
	fprintf(s->out, "*** Best-case %.2f CPI\n*** Actual    CPI ", i->best_cpi);
	print_estimate(s->out, &i->cpi);
	fputs("\n", s->out);
}

/* As calc_form_count. */
static void print_metrics(const struct state *s, uint64_t start, uint64_t end)
{
	uint64_t counts[QUERY_EVENTS_MAX];
	struct buf b;

	if (!calc_form_count(s->form, s->i, start, end, counts))
		return;
	buf_init(&b, METRICS_MAX * (METRIC_TEXT_MAX + 64));
	metrics_write(s->form->metrics, counts, &b);
	if (!b.error) {
		fputs("*** ", s->out);
		print_name(s->out, (const char *)b.data, b.size);
		fputs("\n", s->out);
	}
	buf_free(&b);
}

static double stall_of(const struct insight_instruction *in)
{
	double sum = 0;

	for (uint32_t k = 0; k < in->culprits.count; k++)
		sum += in->culprits.list[k].likely;
	return sum;
}

/* Letters of the causes, the most likely first, each once; small ones are left out. */
static unsigned collect(const struct insight_instruction *in, double stall,
			const struct culprit *ret[LETTERS_MAX])
{
	unsigned n = 0, k;

	for (uint32_t c = 0; c < in->culprits.count && n < LETTERS_MAX; c++) {
		const struct culprit *one = &in->culprits.list[c];

		for (k = 0; k < n && ret[k]->cause != one->cause; k++)
			;
		if (k == n && one->likely >= 0.03 * stall)
			ret[n++] = one;
	}
	return n;
}

static void explain(struct state *s, const struct culprit *c, char *out, size_t room)
{
	static const char *const levels[] = {"", "", " served by L2", " served by L3",
					     " served by memory"};
	const char *level = c->cause == CULPRIT_DCACHE && c->level <= 4 ? levels[c->level] : "";

	s->explained |= 1u << c->cause;
	snprintf(out, room, "(%c = %s%s)", culprit_letter(c->cause), culprit_title(c->cause),
		 level);
}

/* Beside the bubble stands what its letters mean; on a narrow terminal before it. */
static void print_bubble_line(const struct state *s, const char *letters, const char *stall,
			      const char *meaning)
{
	fprintf(s->out, "%10s  %*s %8s ", "", s->text_columns, s->narrow ? meaning : "", "");
	if (*stall)
		fprintf(s->out, "%-6s ...%7scy", letters, stall);
	else
		fprintf(s->out, *meaning && !s->narrow ? "%-6s           " : "%s", letters);
	if (*meaning && !s->narrow)
		fprintf(s->out, "  %s", meaning);
	fputs("\n", s->out);
}

static void print_bubble(struct state *s, const struct insight_instruction *in)
{
	const struct culprit *list[LETTERS_MAX];
	double stall = stall_of(in);
	unsigned n, lines, next = 0;
	char letters[LETTERS_MAX + 1] = "", meaning[80], cycles[ESTIMATE_TEXT_MAX];

	if (stall < SMALL_CYCLES || in->charged < 2)
		return;
	/* It is as well known as the cycles that it is a part of. */
	estimate_format_value(stall, stall * in->cpi.low / in->cpi.value,
			      stall * in->cpi.high / in->cpi.value, cycles);
	n = collect(in, stall, list);
	for (unsigned k = 0; k < n; k++)
		letters[k] = culprit_letter(list[k]->cause);
	letters[n] = 0;
	lines = stall < 1.5 ? 1 : stall < 5 ? 2 : BUBBLE_LINES_MAX;
	for (unsigned line = 0; line < lines; line++) {
		*meaning = 0;
		while (next < n && (s->explained & 1u << list[next]->cause))
			next++;
		if (next < n)
			explain(s, list[next++], meaning, sizeof(meaning));
		print_bubble_line(s, letters, line + 1 == lines ? cycles : "", meaning);
	}
}

/* Whom to blame, each address once; on a terminal that is full, on lines of their own. */
static void print_blame(const struct state *s, const struct insight_instruction *in)
{
	const struct culprit *list[LETTERS_MAX];
	double stall = stall_of(in);
	unsigned n = stall < SMALL_CYCLES || in->charged < 2 ? 0 : collect(in, stall, list);
	int used = NUMBER_COLUMNS + s->text_columns;

	for (unsigned k = 0; k < n; k++) {
		char text[96];

		if (list[k]->blame == ISA_NO_ADDRESS)
			continue;
		int size = snprintf(text, sizeof(text), " %c:%llx", culprit_letter(list[k]->cause),
				    (unsigned long long)list[k]->blame);
		if (list[k]->reg != ISA_REG_NONE)
			size += snprintf(text + size, sizeof(text) - (size_t)size, "(%s)",
					 isa_register_name(list[k]->reg));
		if (s->form->width > 0 && used + size > s->form->width) {
			used = s->form->width > size ? s->form->width - size : 0;
			fprintf(s->out, "\n%*s", used, "");
		}
		fputs(text, s->out);
		used += size;
	}
}

static void print_cycles(FILE *out, const struct frequency_estimate *cycles)
{
	char text[ESTIMATE_TEXT_MAX];

	estimate_format_value(cycles->value, cycles->low, cycles->high, text);
	fprintf(out, "%9scy", text);
}

static void print_instruction(struct state *s, const struct insight_instruction *in)
{
	char text[512];
	const char *from = in->text ? in->text : "(its code is not available)";
	/* Addresses of the kernel are longer than others. */
	int longer = snprintf(NULL, 0, "%llx", (unsigned long long)in->address) - 10;
	int columns = s->text_columns - (s->form->width > 0 && longer > 0 ? longer : 0);

	text_escape_controls(text, sizeof(text), from, strlen(from));
	print_bubble(s, in);
	fprintf(s->out, "%10llx  %-*.*s %8llu ", (unsigned long long)in->address, columns, columns,
		text, (unsigned long long)in->samples);
	if (in->fused)
		fputs("    (fused)", s->out);
	else if (in->cpi.value >= 0.05)
		print_cycles(s->out, &in->cpi);
	else
		fprintf(s->out, "%11s", "");
	print_blame(s, in);
	fputs("\n", s->out);
}

static void print_block(struct state *s, const struct insight_block *b)
{
	unsigned n = b->instruction_count ? b->instruction_count : 1;
	double all = (double)s->i->samples;

	fprintf(s->out, "\n*** Block 0x%llx: %.1f%% of the samples, executed ",
		(unsigned long long)b->start, all > 0 ? 100 * b->charged / all : 0);
	print_estimate(s->out, &b->count);
	fprintf(s->out, "\n*** Best-case %.1f/%u = %.2f CPI\n*** Actual    CPI ", b->best_cycles, n,
		b->best_cycles / n);
	print_estimate(s->out,
		       &(struct frequency_estimate){b->cycles.value / n, b->cycles.low / n,
						    b->cycles.high / n, b->cycles.confidence});
	fputs("\n", s->out);
	print_metrics(s, b->start, b->end);
	fprintf(s->out, "%10s  %-*s %8s %11s %s\n", "address", s->text_columns, "instruction",
		"samples", "CPI", "culprit");
	for (uint32_t k = 0; k < b->instruction_count; k++)
		print_instruction(s, &s->i->instructions[b->first_instruction + k]);
}

static void print_share(FILE *out, const char *title, double low, double high, double whole)
{
	double to_percent = whole > 0 ? 100 / whole : 0;

	fprintf(out, "***   %-24s %5.1f%% to %5.1f%%\n", title, low * to_percent,
		high * to_percent);
}

static void print_line(FILE *out, const char *title, double part, double whole)
{
	fprintf(out, "*** %-26s           %5.1f%%\n", title, whole > 0 ? 100 * part / whole : 0);
}

/* Where a function's cycles went (Figure 4 of the paper). */
static void print_summary(FILE *out, const struct insight_summary *s)
{
	static const char rule[] = "----------------------------------------------";
	double dynamic = 0, fixed = 0;

	for (unsigned c = 0; c < CULPRIT_CAUSES; c++) {
		dynamic += s->dynamic[c].likely;
		fixed += s->fixed[c].likely;
		if (c != CULPRIT_UNEXPLAINED && s->dynamic[c].high >= 0.0005 * s->samples)
			print_share(out, culprit_title(c), s->dynamic[c].low, s->dynamic[c].high,
				    s->samples);
	}
	print_share(out, "unexplained stall", s->dynamic[CULPRIT_UNEXPLAINED].low,
		    s->dynamic[CULPRIT_UNEXPLAINED].high, s->samples);
	if (s->gain >= 0.0005 * s->samples)
		print_share(out, "unexplained gain", -s->gain, -s->gain, s->samples);
	fprintf(out, "***   %s\n", rule);
	print_line(out, "subtotal dynamic", dynamic, s->samples);
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++)
		if (s->fixed[c].likely >= 0.0005 * s->samples)
			print_share(out, culprit_title(c), s->fixed[c].low, s->fixed[c].high,
				    s->samples);
	fprintf(out, "***   %s\n", rule);
	print_line(out, "subtotal static", fixed, s->samples);
	print_line(out, "total stall", dynamic + fixed, s->samples);
	print_line(out, "execution", s->execution, s->samples);
	print_line(out, "total tallied", dynamic + fixed + s->execution, s->samples);
}

static void print_function(struct state *s)
{
	const struct calc_form *c = s->form;
	const struct insight *i = s->i;
	size_t hidden = 0;
	double hidden_samples = 0;

	print_head(s);
	print_metrics(s, 0, 0);
	if (i->samples) {
		fputs("***\n", s->out);
		print_summary(s->out, &i->summary);
	}
	for (size_t b = 0; b < i->block_count && !c->brief; b++) {
		if (!calc_form_wants(c->block_percent, i, &i->blocks[b])) {
			hidden++;
			hidden_samples += i->blocks[b].charged;
			continue;
		}
		print_block(s, &i->blocks[b]);
	}
	if (hidden)
		fprintf(s->out, "\n*** %llu %s with %.0f %s %s left out (--blocks 0)\n",
			TEXT_COUNT(hidden, "block", "blocks"), hidden_samples,
			text_plural((uint64_t)hidden_samples, "sample", "samples"),
			text_plural(hidden, "is", "are"));
}

/* The width of the text of instructions that leaves room for the rest. */
static int text_columns_of(int width)
{
	int room = width - NUMBER_COLUMNS - BLAME_COLUMNS;

	if (width <= 0 || room > TEXT_COLUMNS)
		return TEXT_COLUMNS;
	return room > TEXT_COLUMNS_MIN ? room : TEXT_COLUMNS_MIN;
}

int calc_text_function(struct calc_form *c, const struct insight *i)
{
	struct state s = {c, i, c->out, 0, text_columns_of(c->width), false};
	char *text = NULL;
	size_t size;

	if (c->width <= 0) {
		print_function(&s);
		return 0;
	}
	s.narrow = c->width < NUMBER_COLUMNS + TEXT_COLUMNS + MEANING_COLUMNS;
	s.out = open_memstream(&text, &size);
	if (!s.out)
		return -ENOMEM;
	print_function(&s);
	int r = fclose(s.out) ? -ENOMEM : 0;
	if (!r)
		wrap_print_lines(c->out, text, "***   ", c->width);
	free(text);
	return r;
}
