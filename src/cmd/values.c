/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/values.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "util/num.h"

int values_take_percent(const char *option, const char *text, double *ret, struct diag *diag)
{
	int r = num_parse_percent(text, ret);

	if (r == -ERANGE && strspn(text, "0.%") == strlen(text)) {
		*ret = 0;
		r = 0;
	}
	if (r)
		return diag_fail(diag, EINVAL, "--%s '%s' is not a percentage from 0 to 100",
				 option, text);
	return 0;
}

int values_take_some_percent(const char *option, const char *text, double *ret, struct diag *diag)
{
	if (num_parse_percent(text, ret))
		return diag_fail(diag, EINVAL,
				 "--%s '%s' is not a percentage above 0, of at most 100", option,
				 text);
	return 0;
}

int values_take_count(const char *option, const char *text, uint64_t most, uint64_t *ret,
		      struct diag *diag)
{
	uint64_t n;

	if (!num_parse_u64(text, &n) && n && n <= most) {
		*ret = n;
		return 0;
	}
	if (most == UINT64_MAX)
		return diag_fail(diag, EINVAL, "--%s '%s' is not a number from 1", option, text);
	return diag_fail(diag, EINVAL, "--%s '%s' is not a number from 1 to %" PRIu64, option, text,
			 most);
}
