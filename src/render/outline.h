/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_OUTLINE_H
#define CULPRIT_RENDER_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A tree as lines of which a person opens and closes some: which nodes are shown, at what depth,
 * and which one is selected. It knows nothing of what they are.
 */

/* Node 0 is the root, which is not shown; a parent has a smaller number than its children. */
struct outline_node {
	uint32_t parent;
	uint32_t first_child, child_count; /* in the children's array */
};

struct outline_line {
	uint32_t node, depth;
};

#define OUTLINE_LINES_MAX (1u << 20)

struct outline {
	const struct outline_node *nodes; /* borrowed, as are the children */
	const uint32_t *children;	  /* in the order in which they are shown */
	size_t node_count;
	uint32_t flat; /* levels at the top that are taken away: their children stand there */

	struct outline_line *lines; /* owned */
	size_t line_count, line_room;
	size_t refused;	 /* lines past OUTLINE_LINES_MAX */
	size_t selected; /* a line; 0 where there is none */
	bool *open;	 /* owned: of each node */
};

/* 0 or -ENOMEM; outline_free() in any case. */
int outline_init(struct outline *o, const struct outline_node *nodes, const uint32_t *children,
		 size_t node_count);
void outline_free(struct outline *o);

/* After the children were put into another order, too. What is selected stays, or the node around
 * it that is shown. 0 or -ENOMEM, as of the next ones. */
int outline_update(struct outline *o);
/* The node selected; 0: there is none. */
uint32_t outline_node_at(const struct outline *o);
/* Opens or closes what is selected. */
int outline_set_open(struct outline *o, bool open);
/* Opens all around a node and selects it, with fewer levels taken away if it is one of them. */
int outline_reveal(struct outline *o, uint32_t node);
/* Takes away one level more, as long as that leaves something, or one less. */
int outline_flatten(struct outline *o, bool more);
/* Closes all. */
int outline_close_all(struct outline *o);
void outline_move(struct outline *o, bool down, size_t lines);
/* Selects the line around the selected one, if there is one. */
void outline_select_parent(struct outline *o);
/* The next node after the selected one that matches, in the order in which all would be shown, from
 * the top again after the last; 0: none matches. */
int outline_find(const struct outline *o, bool (*matches)(void *arg, uint32_t node), void *arg,
		 uint32_t *ret_node);

#endif
