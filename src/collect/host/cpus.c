/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/io.h"

static int parse_number(const char **at, unsigned long *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return -EINVAL;
	errno = 0;
	*ret = strtoul(*at, &end, 10);
	if (errno || *ret >= CPUS_MAX)
		return -EINVAL;
	*at = end;
	return 0;
}

int cpus_parse(const char *text, struct cpu_list *ret)
{
	struct cpu_list *list = calloc(1, sizeof(*list));
	unsigned long low, high, next = 0;
	int r = list ? 0 : -ENOMEM;

	while (!r && *text && *text != '\n') {
		r = parse_number(&text, &low);
		high = low;
		if (!r && *text == '-') {
			text++;
			r = parse_number(&text, &high);
		}
		if (r || low < next || high < low) {
			r = -EINVAL;
			break;
		}
		for (next = low; next <= high; next++)
			list->number[list->count++] = (unsigned short)next;
		if (*text == ',')
			text++;
		else if (*text && *text != '\n')
			r = -EINVAL;
	}
	if (!r && list->count == 0)
		r = -EINVAL;
	if (!r)
		*ret = *list;
	free(list);
	return r;
}

int cpus_read_online(struct cpu_list *ret, struct diag *diag)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char *text;
	size_t size;
	int r = io_read_file(path, 65536, &text, &size);

	if (r)
		return diag_fail(diag, -r, "cannot read %s: %s", path, strerror(-r));
	r = cpus_parse(text, ret);
	free(text);
	return r ? diag_fail(diag, -r, "%s is not a list of CPUs", path) : 0;
}
