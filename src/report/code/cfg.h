/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_CFG_H
#define CULPRIT_REPORT_CODE_CFG_H

#include "report/code/cfg_view.h"
#include "report/code/pick.h"
#include "report/estimates.h"

/* One function's control-flow graph; dcpi2ps of Anderson et al., SOSP 1997, drew it. */

struct cfg_options {
	struct estimates_options estimates;
	const char *function; /* as in pick_function */
	enum isa_syntax syntax;
	uint64_t path; /* the number of a path that was counted, to be marked; 0: none */
};

struct cfg_report {
	struct estimates estimates; /* all of it NULL when no event tells time */
	struct pick pick;
	struct cfg_view *view;
	struct paths_one path; /* its blocks NULL: none */
};

/* Errors as in pick_function and cfg_view_new. o must outlive ret, which cfg_free() frees after a
 * failure, too. */
int cfg_make(struct report_session *s, const struct cfg_options *o, struct cfg_report *ret,
	     struct report_header *h, struct diag *diag);
void cfg_free(struct cfg_report *r); /* what it owns */

/* Blocks and edges as rows; tells h of function and metrics. */
struct table *cfg_table(struct cfg_report *r, struct report_header *h);

#endif
