/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/why/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "render/wrap.h"
#include "report/describe.h"
#include "report/why/why_state.h"
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

#define MEMORY_MAX    (64u << 20)
#define DOUBTS_MAX    3
#define WHOLE_MAX     4
#define GRAVE_PERCENT 25.0 /* of doubt: it is said first */
#define PROGRAMS_MAX  4096

static const char *kind_name(enum why_kind kind)
{
#define NAME(kind, name) name,
	static const char *const names[] = {WHY_LIST(NAME)};

	return kind < WHY_KINDS ? names[kind] : "";
}

static int compare_programs(const void *pa, const void *pb)
{
	const struct why_program *a = pa, *b = pb;

	return NUM_ORDER(b->samples, a->samples) ?: strcmp(a->name, b->name);
}

static int count_program(struct why *w, const struct query *q, const struct rank_row *row)
{
	size_t size, name_size = 0, i;
	const void *subject =
		row->group == QUERY_NO_GROUP ? NULL : intern_get(q->groups, row->group, &size);
	const char *name = subject ? subject_get(subject, size, "comm", &name_size) : NULL;

	if (!name || !row->counts[0])
		return 0;
	for (i = 0; i < w->program_count; i++)
		if (strlen(w->programs[i].name) == name_size &&
		    !memcmp(w->programs[i].name, name, name_size))
			break;
	if (i == w->program_count) {
		char *kept;

		if (i == PROGRAMS_MAX)
			return 0;
		kept = arena_strndup(w->memory, name, name_size);
		if (!kept || array_grow_short(&w->programs, i, sizeof(*w->programs)))
			return -ENOMEM;
		w->programs[w->program_count++] = (struct why_program){kept, 0};
	}
	w->programs[i].samples += row->counts[0];
	return 0;
}

/* A reading of its own: what is apart by program is not added up by image. */
static int find_programs(struct why *w, struct diag *diag)
{
	const struct rank_options by = {.by = RANK_THREAD};
	struct rank_source source = report_session_source(w->session);
	struct rank *k = NULL;
	int r = report_session_read(w->session, NULL, QUERY_THREAD, diag);

	if (!r)
		r = rank_new(w->session->query, &by, &source, &k, diag);
	if (r)
		return r;
	for (size_t i = 0; w->session->query->event_count && i < k->row_count && !r; i++)
		r = count_program(w, w->session->query, &k->rows[i]);
	if (w->session->query->event_count)
		w->program_samples = k->ranked[0];
	rank_free(k);
	array_sort(w->programs, w->program_count, sizeof(*w->programs), compare_programs);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

static int build_tree(struct why *w, const struct rank_source *source, struct diag *diag)
{
	const struct stack_options stacks = {.inlines = false};
	const struct tree_options tree = {.merge_sites = true, .no_inlined = true};
	int r = stack_set_finish(w->stacks, &stacks, source, diag);

	if (r || !w->stacks->quality.stacks)
		return r;
	return tree_new(w->stacks, &tree, &w->tree, diag);
}

/* All that sentences are made from. */
static int read_all(struct why *w, struct diag *diag)
{
	const struct estimates_options options = {.classic = false};
	struct rank_options by = {.by = RANK_FUNCTION};
	struct rank_source source = report_session_source(w->session);
	int r = find_programs(w, diag);

	if (!r)
		r = report_session_open(w->session, NULL, QUERY_WHOLE, diag);
	if (!r)
		r = stack_set_new(w->session->query, &w->stacks, diag);
	if (!r)
		r = query_read(w->session->query, w->session->reader, diag);
	if (!r)
		r = rank_new(w->session->query, &by, &source, &w->functions, diag);
	if (r || !w->session->query->event_count)
		return r;
	r = build_tree(w, &source, diag);
	if (r)
		return r;
	r = estimates_new(&w->estimates, w->session, &options, diag);
	w->tells_time = !r;
	if (r && r != -ENODATA)
		return r;
	by.by = RANK_LOOP;
	return rank_new(w->session->query, &by, &source, &w->loops, diag);
}

static void name_total(struct why *w)
{
	const struct query *q = w->session->query;

	w->of = "of all time";
	if (!q->event_count)
		return;
	w->total = (double)w->functions->ranked[0];
	if (!w->tells_time)
		w->of = arena_printf(w->memory, "of all samples of %s", q->events[0].label)
				?: "of all samples";
	else if (w->functions->ranked[0] < w->functions->totals[0])
		w->of = "of the selected time";
}

static int compare_weights(const void *pa, const void *pb)
{
	const struct why_candidate *a = pa, *b = pb;

	return NUM_ORDER(b->weight, a->weight) ?: strcmp(a->sentence.text, b->sentence.text);
}

/* What one part found, the weightiest first; at most so many. */
static int take(struct why *w, int (*tell)(struct why *w), struct why_candidate **ret,
		size_t *ret_count)
{
	int r = tell(w);

	array_sort(w->found, w->found_count, sizeof(*w->found), compare_weights);
	*ret = w->found;
	*ret_count = w->found_count;
	w->found = NULL;
	w->found_count = 0;
	return r;
}

static int tell_where(struct why *w)
{
	int r = w->tells_time ? why_tell_places(w) : 0;

	return r ?: why_tell_functions(w);
}

struct part {
	struct why_candidate *list;
	size_t count;
};

static void append(struct why_report *r, const struct part *p, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < p->count && r->count < WHY_SENTENCES_MAX; i++)
		r->list[r->count++] = p->list[i].sentence;
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Places and functions, then the whole, then doubts; but those first that question all else. The
 * first part has the room that the others leave. */
static void order(struct why_report *r, struct part *where, struct part *whole, struct part *doubts)
{
	size_t grave = 0, room;

	doubts->count = at_most(doubts->count, DOUBTS_MAX);
	whole->count = at_most(whole->count, WHOLE_MAX);
	while (grave < doubts->count && doubts->list[grave].weight >= GRAVE_PERCENT)
		grave++;
	room = WHY_SENTENCES_MAX - doubts->count - whole->count;
	append(r, doubts, 0, grave);
	append(r, where, 0, room);
	append(r, whole, 0, whole->count);
	append(r, doubts, grave, doubts->count);
}

static int tell_all(struct why *w)
{
	struct part where = {0}, whole = {0}, doubts = {0};
	int r = take(w, tell_where, &where.list, &where.count);

	r = r ?: take(w, why_tell_whole, &whole.list, &whole.count);
	r = r ?: take(w, why_tell_doubts, &doubts.list, &doubts.count);
	if (!r)
		order(w->made, &where, &whole, &doubts);
	free(where.list);
	free(whole.list);
	free(doubts.list);
	return r;
}

static void fill(const struct why_report *r, struct table *t)
{
	int percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	int confidence = table_add_column(t, TABLE_NAME, "confidence", "confid.");
	int text = table_add_text_column(t, "text", "what");
	int evidence = table_add_text_column(t, "evidence", "evidence");
	int kind = table_add_column(t, TABLE_NAME, "kind", NULL);
	int function = table_add_column(t, TABLE_NAME, "function", NULL);
	int file = table_add_column(t, TABLE_NAME, "file", NULL);
	int line = table_add_column(t, TABLE_COUNT, "line", NULL);
	int address = table_add_column(t, TABLE_ADDRESS, "address", NULL);
	int image = table_add_column(t, TABLE_NAME, "image", NULL);
	int build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);

	for (size_t i = 0; i < r->count; i++) {
		const struct why_sentence *s = &r->list[i];

		table_add_row(t);
		table_set_real(t, percent, s->percent);
		table_set_text(t, confidence, estimates_confidence(s->confidence));
		table_set_text(t, text, s->text);
		table_set_text(t, evidence, s->evidence);
		table_set_text(t, kind, kind_name(s->kind));
		table_set_text(t, function, s->function);
		table_set_text(t, file, s->file);
		if (s->line)
			table_set_count(t, line, s->line);
		if (s->has_address)
			table_set_address(t, address, s->address);
		table_set_text(t, image, s->image);
		table_set_text(t, build_id, s->build_id);
	}
}

static void describe(struct why *w)
{
	if (w->tells_time)
		estimates_describe(&w->estimates, w->header);
	else
		report_describe(w->header, w->session);
	if (w->stacks && w->stacks->quality.stacks)
		report_describe_stacks(w->header, w->stacks);
}

static int make(struct why *w, struct diag *diag)
{
	int r = read_all(w, diag);

	if (r)
		return r;
	name_total(w);
	if (w->tells_time)
		r = why_find_places(w, diag);
	if (!r && (r = tell_all(w)))
		diag_fail(diag, -r, "out of memory");
	if (r)
		return r;
	describe(w);
	w->made->table = table_new("why");
	fill(w->made, w->made->table);
	return 0;
}

int why_make(struct report_session *s, struct why_report *ret, struct report_header *h,
	     struct diag *diag)
{
	struct why w = {.session = s, .made = ret, .header = h};

	*ret = (struct why_report){.memory = arena_new(MEMORY_MAX)};
	w.memory = ret->memory;
	int r = w.memory ? make(&w, diag) : diag_fail(diag, ENOMEM, "out of memory");

	free(w.found);
	for (size_t i = 0; i < w.line_sets; i++)
		image_lines_free(w.lines[i]);
	free(w.lines);
	free(w.places);
	free(w.looked);
	free(w.programs);
	tree_free(w.tree);
	rank_free(w.loops);
	estimates_free(&w.estimates);
	rank_free(w.functions);
	stack_set_free(w.stacks);
	return r;
}

void why_free(struct why_report *r)
{
	table_free(r->table);
	arena_free(r->memory);
	*r = (struct why_report){0};
}

static int print_one(const char *text, size_t taken, const char *lead, FILE *out, int width)
{
	struct buf b;
	size_t size = strlen(text);
	int r = -ENOMEM;

	buf_init(&b, 4 * size + 1);
	char *room = buf_reserve(&b, 4 * size + 1);
	if (room) {
		text_escape_controls(room, 4 * size + 1, text, size);
		wrap_print(out, room, taken, lead, width);
		putc('\n', out);
		r = 0;
	}
	buf_free(&b);
	return r;
}

int why_print(const struct why_report *w, const struct report_header *h, FILE *out, int width)
{
	int r = h->error;

	for (size_t i = 0; i < w->count && !r; i++) {
		fprintf(out, "%2zu. ", i + 1);
		r = print_one(w->list[i].text, 4, "    ", out, width);
		fputs("      ", out);
		/* Stays on one line, to be copied. */
		if (!r)
			r = print_one(w->list[i].evidence, 6, "", out, 0);
	}
	putc('\n', out);
	return r ?: report_header_print(h, out, width);
}
