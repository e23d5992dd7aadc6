/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_STRUCTURE_H
#define CULPRIT_REPORT_CODE_STRUCTURE_H

#include <stdio.h>
#include "structure/structure.h"

/* The structure of a file, for other programs (doc/structure.md): what bloop makes in HPCToolkit.
 */

struct structure_report {
	struct image_finder *finder;
	struct structure *structure;
	struct image_id id;
	const char *path; /* borrowed */
};

enum structure_format { STRUCTURE_XML, STRUCTURE_JSON };

/* Of the file at path. Errors as in image_find_identity and structure_new. Freed by
 * structure_report_free(), also after a failure. */
int structure_report_make(const char *path, struct structure_report *ret, struct diag *diag);
void structure_report_free(struct structure_report *r);

/* As XML in the form of structure.xsd, or as JSON. Written function by function; a failure to write
 * is returned without a sentence in diag. */
int structure_report_write(struct structure_report *r, enum structure_format format, FILE *out,
			   struct diag *diag);

#endif
