/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_SCOPE_H
#define CULPRIT_FLEET_SCOPE_H

#include <stdbool.h>
#include "fleet/server.h"

/*
 * Which part of a fleet is asked for. Names are matched here, not on the server: it gets numbers.
 */
#define FLEET_LABELS_MAX 16

struct fleet_selection {
	const char *machines; /* glob of machines' names; NULL: all */
	const char *build;    /* glob of images' ids (build IDs), or how one begins; NULL: all */
	const char *since, *until; /* 7d, 12h, 2w before now; 2026-11-21; NULL: no limit */
	const char *labels[FLEET_LABELS_MAX]; /* KEY=GLOB */
	size_t label_count;
};

struct fleet_scope {
	struct buf where; /* conditions for tables of epochs: " day >= ... AND ..." */
	struct buf rows;  /* the same, with those for samples and functions */
	bool is_part;	  /* not all samples of the epochs */
	uint64_t epochs, machines, start_ns, end_ns;
};

/* Finds out what is meant. -ENOENT: nothing; -EINVAL: a time that is none; others as
 * fleet_server_run(). fleet_scope_free() in any case. */
int fleet_scope_find(struct fleet_server *s, const struct fleet_selection *selection,
		     struct fleet_scope *ret, struct diag *diag);
void fleet_scope_free(struct fleet_scope *scope);

/* The names of all machines that match, in order, each with a zero byte after it. */
int fleet_scope_machines(struct fleet_server *s, const char *glob, struct buf *ret,
			 struct diag *diag);

#endif
