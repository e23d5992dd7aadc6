/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_PATHS_TALLY_H
#define CULPRIT_ANALYZE_PATHS_TALLY_H

#include "analyze/query/query.h"
#include "db/paths.h"
#include "util/arena.h"
#include "util/hash.h"

/* The paths of a selection, added up over epochs, and the functions that they are of. */
#define PATH_TALLY_ROWS_MAX (1u << 22)

struct path_function {
	uint32_t image; /* number in the tally */
	uint64_t entry;
	size_t first, count; /* rows */
	uint64_t executions; /* of its paths */
};

struct path_image {
	struct image_id id;
	const char *path;
};

struct path_tally {
	struct db_path_item *rows; /* by function, and there the most executed first */
	struct path_function *functions;
	struct path_image *images;
	size_t row_count, function_count, image_count;
	uint64_t executions, timed;
	uint64_t refused; /* executions of paths past PATH_TALLY_ROWS_MAX */

	/* Private. */
	struct arena *memory;
	struct intern *image_keys;
	size_t row_room, function_room, image_room;
};

int path_tally_init(struct path_tally *t);  /* of zeros. 0 or -ENOMEM */
void path_tally_free(struct path_tally *t); /* what it owns */

/* For query.path: adds a path. arg: a struct path_tally *. 0 or -ENOMEM. */
int path_tally_add(void *arg, const char *epoch, const struct db_path_item *item);
/* Makes one row of equal paths, and the functions. To be called when all have been added. 0 or
 * -ENOMEM. */
int path_tally_finish(struct path_tally *t);

#endif
