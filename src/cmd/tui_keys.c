/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "cmd/tui.h"

static struct outline *outline(struct tui *t)
{
	return &t->outlines[t->view];
}

static struct browse_tree *tree(struct tui *t)
{
	return &t->browse.trees[t->view];
}

static void keep(struct tui *t, int r)
{
	if (r)
		t->error = r;
}

static void next_view(struct tui *t)
{
	t->view = (t->view + 1) % BROWSE_VIEWS;
	if (!t->browse.has_stacks && t->view != BROWSE_FLAT) {
		t->view = BROWSE_FLAT;
		tui_say(t, "there are no stacks: only functions by image can be shown");
	}
}

static void next_order(struct tui *t)
{
	t->order[t->view] = (t->order[t->view] + 1) % BROWSE_ORDERS;
	browse_sort(tree(t), t->order[t->view]);
	keep(t, outline_update(outline(t)));
}

static bool has_children(struct tui *t, uint32_t node)
{
	return tree(t)->nodes[node].child_count > 0;
}

static void open_it(struct tui *t)
{
	uint32_t node = outline_node_at(outline(t));

	if (node && has_children(t, node))
		keep(t, outline_set_open(outline(t), true));
}

/* What is closed, or has nothing inside, leads to what is around it. */
static void close_it(struct tui *t)
{
	uint32_t node = outline_node_at(outline(t));

	if (node && outline(t)->open[node] && has_children(t, node))
		keep(t, outline_set_open(outline(t), false));
	else
		outline_select_parent(outline(t));
}

static void toggle(struct tui *t)
{
	uint32_t node = outline_node_at(outline(t));

	if (node && has_children(t, node))
		keep(t, outline_set_open(outline(t), !outline(t)->open[node]));
}

static void follow_hot(struct tui *t)
{
	uint32_t node = outline_node_at(outline(t)), end = browse_hot(tree(t), node);

	if (end == node)
		tui_say(t, "no child has half of it");
	else
		keep(t, outline_reveal(outline(t), end));
}

struct search {
	const struct browse_tree *tree;
	const char *text;
};

static bool matches(void *arg, uint32_t node)
{
	const struct search *s = arg;

	return strcasestr(s->tree->scopes[node].name, s->text) != NULL;
}

static void search_next(struct tui *t)
{
	struct search s = {tree(t), t->typed};
	uint32_t node = 0;

	if (!*t->typed)
		return;
	keep(t, outline_find(outline(t), matches, &s, &node));
	if (node)
		keep(t, outline_reveal(outline(t), node));
	else
		tui_say(t, "nothing has '%s' in its name", t->typed);
}

static void type(struct tui *t, int key)
{
	size_t size = strlen(t->typed);

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
		t->typing = false;
	if (key == SCREEN_ENTER) {
		search_next(t);
	} else if (key == SCREEN_ESCAPE) {
		t->typed[0] = 0;
	} else if (key == SCREEN_BACKSPACE) {
		/* A character, however many bytes. */
		while (size && (t->typed[--size] & 0xc0) == 0x80)
			;
		t->typed[size] = 0;
	} else if (key >= ' ' && key < 256 && size + 1 < sizeof(t->typed)) {
		t->typed[size] = (char)key;
		t->typed[size + 1] = 0;
	}
}

static void move(struct tui *t, bool down, size_t lines)
{
	struct tui_pane *p = &t->pane;
	size_t last = p->count ? p->count - 1 : 0;

	if (!p->shown)
		outline_move(outline(t), down, lines);
	else if (down)
		p->selected = lines < last - p->selected ? p->selected + lines : last;
	else
		p->selected -= lines < p->selected ? lines : p->selected;
}

static bool take_move(struct tui *t, int key)
{
	size_t page = t->rows_shown > 1 ? t->rows_shown - 1 : 1;

	switch (key) {
	case SCREEN_UP:
	case 'k':
		move(t, false, 1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		move(t, true, 1);
		return true;
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		move(t, key == SCREEN_PAGE_DOWN, page);
		return true;
	case SCREEN_HOME:
	case SCREEN_END:
		move(t, key == SCREEN_END, OUTLINE_LINES_MAX);
		return true;
	}
	return false;
}

static void take_in_pane(struct tui *t, int key)
{
	switch (key) {
	case 'q':
	case SCREEN_ESCAPE:
	case SCREEN_ENTER:
		tui_close_pane(t);
		break;
	case 'a':
		t->pane.form = (t->pane.form + 1) % (LISTING_BY_LINE + 1);
		tui_open_pane(t);
		break;
	case 'n':
	case 'p':
		tui_pane_hot(t, key == 'n');
		break;
	}
}

static void take_command(struct tui *t, int key)
{
	switch (key) {
	case 'q':
		t->done = true;
		break;
	case 'v':
	case '\t':
		next_view(t);
		break;
	case 's':
		next_order(t);
		break;
	case '+':
	case '>':
	case 'l':
		open_it(t);
		break;
	case '-':
	case '<':
		close_it(t);
		break;
	case ' ':
		toggle(t);
		break;
	case 'c':
		keep(t, outline_close_all(outline(t)));
		break;
	case 'f':
	case 'u':
		keep(t, outline_flatten(outline(t), key == 'f'));
		break;
	case 'p':
		follow_hot(t);
		break;
	case '/':
		t->typing = true;
		t->typed[0] = 0;
		break;
	case 'n':
		search_next(t);
		break;
	case SCREEN_ENTER:
		tui_open_pane(t);
		break;
	}
}

void tui_take_key(struct tui *t, int key)
{
	t->draw = true;
	t->message[0] = 0;
	if (t->typing)
		type(t, key);
	else if (t->help)
		t->help = false;
	else if (key == 'h' || key == '?')
		t->help = true;
	else if (take_move(t, key))
		return;
	else if (t->pane.shown)
		take_in_pane(t, key);
	else
		take_command(t, key);
}
