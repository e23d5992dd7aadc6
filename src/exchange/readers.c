/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/readers.h"

#include <errno.h>
#include <string.h>
#include "exchange/reader_start.h"

static const struct {
	const char *name;
	reader *read;
} readers[] = {
	{"perf", read_perf_data},     {"pprof", read_pprof}, {"folded", read_folded},
	{"script", read_perf_script}, {"gmon", read_gmon},
};

int reader_choose(const char *name, const uint8_t *start, size_t size, reader **ret,
		  struct diag *diag)
{
	const char *wanted = name ? name : size ? reader_name_by_start(start, size) : NULL;

	if (!wanted)
		return diag_fail(diag, EBADMSG, "%s",
				 size ? "it does not begin like any known profile (see --format)"
				      : "it is empty");
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(readers[i].name, wanted)) {
			*ret = readers[i].read;
			return 0;
		}
	return diag_fail(diag, EINVAL, "there is no format '%s'", wanted);
}
