/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/tui.h"
#include "util/buf.h"
#include "util/text.h"

#define LINE_MAX_BYTES 1024
#define HOT_PERCENT    0.5 /* that a jump to the next hot line looks for */

static const struct insight_instruction *find_instruction(const struct insight *i, uint64_t address)
{
	for (size_t k = 0; i && k < i->instruction_count; k++)
		if (i->instructions[k].address == address)
			return &i->instructions[k];
	return NULL;
}

/* "12.5 D-cache miss": cycles of an execution, and what is to blame for most of them. */
static void write_cycles(struct buf *b, const struct insight_instruction *in)
{
	char text[64] = "";

	if (in && in->cpi.value > 0)
		snprintf(text, sizeof(text), "%8.1f  %s", in->cpi.value,
			 in->culprits.count ? culprit_title(in->culprits.list[0].cause) : "");
	buf_printf(b, "%-27s ", text);
}

static void write_text(struct buf *b, const char *text)
{
	char escaped[LINE_MAX_BYTES];

	text_escape_controls(escaped, sizeof(escaped), text, strlen(text));
	buf_printf(b, "%s", escaped);
}

static void write_row(struct buf *b, const struct listing_row *row, const struct insight *i,
		      double heat)
{
	char share[16] = "";

	if (heat > 0)
		snprintf(share, sizeof(share), "%.2f", heat);
	buf_printf(b, "%6s ", share);
	if (row->kind == LISTING_INSTRUCTION) {
		write_cycles(b, find_instruction(i, row->address));
		buf_printf(b, "%8" PRIx64 "  ", row->address);
	} else if (row->kind == LISTING_SOURCE) {
		buf_printf(b, "%5" PRIu32 "  ", row->line);
	}
	write_text(b, row->text ?: "");
}

static int take_row(struct tui_pane *p, const struct listing_row *row, const struct insight *i,
		    uint64_t all)
{
	struct tui_line *line = &p->lines[p->count];
	struct buf b;

	line->heat = row->counts && all ? 100 * (double)row->counts[0] / (double)all : 0;
	buf_init(&b, 4 * LINE_MAX_BYTES);
	write_row(&b, row, i, line->heat);
	line->text = b.error ? NULL : strndup((char *)b.data, b.size);
	buf_free(&b);
	p->count += line->text != NULL;
	return line->text ? 0 : -ENOMEM;
}

static void free_lines(struct tui_pane *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->lines[i].text);
	free(p->lines);
	p->lines = NULL;
	p->count = 0;
}

static int take_listing(struct tui_pane *p, const struct list_report *l)
{
	size_t count;
	const struct listing_row *rows = listing_rows(l->listing, &count);
	int r = 0;

	free_lines(p);
	p->lines = calloc(count + 1, sizeof(*p->lines));
	if (!p->lines)
		return -ENOMEM;
	for (size_t i = 0; i < count && !r; i++)
		r = take_row(p, &rows[i], l->insight, l->pick.hit->counts[0]);
	return r;
}

/* The hottest line, instructions first where both have the same samples. */
static size_t hottest(const struct tui_pane *p)
{
	size_t best = 0;

	for (size_t i = 1; i < p->count; i++)
		if (p->lines[i].heat >= p->lines[best].heat && p->lines[i].heat > 0)
			best = i;
	return best;
}

static int make(struct tui *t, const struct browse_scope *scope, struct diag *diag)
{
	char address[32], id[IMAGE_ID_TEXT_MAX];
	struct report_options options =
		t->run->session.options ? *t->run->session.options : t->report;
	struct report_session session = {.options = &options};
	struct list_options o = {.what = address, .form = t->pane.form, .syntax = t->syntax};
	struct report_header header = {0};
	struct list_report made;

	snprintf(address, sizeof(address), "0x%" PRIx64, scope->start);
	image_id_format(&scope->image->id, id);
	options.selection.image = id;
	int r = list_make(&session, &o, &made, &header, diag);
	if (!r && (r = take_listing(&t->pane, &made)))
		diag_fail(diag, ENOMEM, "out of memory");
	list_free(&made);
	report_header_free(&header);
	report_session_close(&session);
	return r;
}

void tui_open_pane(struct tui *t)
{
	const struct browse_tree *tree = &t->browse.trees[t->view];
	uint32_t node = outline_node_at(&t->outlines[t->view]);
	const struct browse_scope *scope = &tree->scopes[node];
	char name[300];
	struct diag diag;

	if (!node || !scope->image) {
		tui_say(t, "this has no code of its own to show");
		return;
	}
	if (make(t, scope, &diag)) {
		tui_say(t, "%s", diag.text);
		return;
	}
	text_escape(name, sizeof(name), scope->name, strlen(scope->name));
	snprintf(t->pane.title, sizeof(t->pane.title), "%s, %s", name,
		 t->pane.form == LISTING_BOTH	    ? "source and instructions"
		 : t->pane.form == LISTING_ASSEMBLY ? "instructions"
						    : "source");
	t->pane.shown = true;
	t->pane.selected = hottest(&t->pane);
}

void tui_close_pane(struct tui *t)
{
	free_lines(&t->pane);
	t->pane.shown = false;
}

void tui_pane_hot(struct tui *t, bool down)
{
	struct tui_pane *p = &t->pane;

	for (size_t n = 1; n < p->count; n++) {
		size_t at = (down ? p->selected + n : p->selected + p->count - n) % p->count;

		if (p->lines[at].heat >= HOT_PERCENT) {
			p->selected = at;
			return;
		}
	}
}
