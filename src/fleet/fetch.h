/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_FETCH_H
#define CULPRIT_FLEET_FETCH_H

#include "fleet/scope.h"

/*
 * What a fleet has of a selection, summed up by its server, becomes a database of one machine and
 * one epoch: all reports are made of it as of any other.
 */
enum fleet_detail {
	FLEET_FUNCTIONS,  /* samples stand at the start of their function: enough for reports by
			     function,  image or subject, and a tenth of the rows */
	FLEET_EVERYTHING, /* offsets, stacks, branches; and code and lines of the images */
};

#define FLEET_MACHINE "fleet" /* the machine of such a database */

struct fleet_fetched {
	uint64_t machines, epochs, rows, samples, stacks, edges, blobs;
	uint64_t unnamed;	 /* samples and stacks of an event without a name: left out */
	uint64_t chunks_refused; /* of kinds that this version does not know, or damaged */
	uint64_t forged;	 /* names that are not what their number says: not taken */
};

/* path: of the database, which is made. Errors as fleet_scope_find(), db_writer_flush(). */
int fleet_fetch(struct fleet_server *s, const struct fleet_selection *selection,
		enum fleet_detail detail, const char *path, struct fleet_fetched *ret,
		struct diag *diag);

#endif
