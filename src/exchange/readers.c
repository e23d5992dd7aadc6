/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	reader *read;
} readers[] = {
	{"perf", read_perf_data},
};

static const char *name_by_start(const uint8_t *start, size_t size)
{
	if (size >= 8 && (!memcmp(start, "PERFILE2", 8) || !memcmp(start, "2ELIFREP", 8)))
		return "perf";
	return NULL;
}

int reader_choose(const char *name, const uint8_t *start, size_t size, reader **ret,
		  struct diag *diag)
{
	const char *wanted = name ? name : name_by_start(start, size);

	if (!wanted)
		return diag_fail(diag, EBADMSG, "%s",
				 size ? "it begins like no profile that is known (see --format)"
				      : "it is empty");
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(readers[i].name, wanted)) {
			*ret = readers[i].read;
			return 0;
		}
	return diag_fail(diag, EINVAL, "no format is called '%s'", wanted);
}
