/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "machine/measured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOPS_LEAST 10
#define CYCLES_MOST 2000

void machine_measured_format(const struct machine_measured *x, char out[MACHINE_MEASURED_TEXT])
{
	const struct machine_loop *l;
	int n = 0;

	out[0] = 0;
	for (size_t i = 0; (l = machine_loop_at(i)) && n < MACHINE_MEASURED_TEXT; i++)
		if (x->cycles[i] > 0)
			n += snprintf(out + n, MACHINE_MEASURED_TEXT - (size_t)n, "%s%s=%.2f",
				      n ? ";" : "", l->name, x->cycles[i]);
}

static int find_loop(const char *name, size_t size)
{
	const struct machine_loop *l;

	for (size_t i = 0; (l = machine_loop_at(i)); i++)
		if (strlen(l->name) == size && !memcmp(l->name, name, size))
			return (int)i;
	return -1;
}

/* "name=12.00", up to a semicolon or the end; where it ends, or NULL. */
static const char *take_loop(const char *text, struct machine_measured *x, unsigned *count)
{
	size_t name = strcspn(text, "=;");
	char *end;

	if (text[name] != '=' || strspn(text + name + 1, "0123456789") == 0)
		return NULL;
	double cycles = strtod(text + name + 1, &end);
	int i = find_loop(text, name);
	if ((*end && *end != ';') || !(cycles >= 0.2 && cycles <= CYCLES_MOST))
		return NULL;
	if (i >= 0 && !x->cycles[i]) {
		x->cycles[i] = cycles;
		++*count;
	}
	return end;
}

int machine_measured_parse(const char *text, struct machine_measured *ret)
{
	struct machine_measured x = {0};
	unsigned count = 0;

	while (*text) {
		text = take_loop(text, &x, &count);
		if (!text)
			return -EINVAL;
		text += *text == ';';
	}
	if (count < LOOPS_LEAST)
		return -EINVAL;
	*ret = x;
	return 0;
}
