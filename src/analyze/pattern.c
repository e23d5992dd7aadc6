/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/pattern.h"

#include <errno.h>

int pattern_compile(const char *text, regex_t *ret, struct diag *diag)
{
	char reason[200];
	int r = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);

	if (!r)
		return 0;
	regerror(r, ret, reason, sizeof(reason));
	return diag_fail(diag, EINVAL, "'%s' is not a regular expression: %s", text, reason);
}
