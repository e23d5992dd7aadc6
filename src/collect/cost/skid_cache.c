/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "collect/host/remembered.h"
#include "collect/cost/skid_cache.h"
#include "machine/core.h"

#define VERSION "2" /* of the loops: what was measured by others is measured again */

/* What a measurement holds for. */
static bool make_key(const char *event, char out[REMEMBERED_KEY])
{
	struct machine_cpu cpu = {.vendor = "?"};
	struct utsname u;
	char id[MACHINE_CPU_TEXT];

	machine_cpu_here(&cpu);
	machine_cpu_format(&cpu, id);
	if (uname(&u))
		return false;
	int n = snprintf(out, REMEMBERED_KEY, "culprit skid " VERSION " | %s | %s %s | %.40s", id,
			 u.release, u.version, event);
	return n > 0 && n < REMEMBERED_KEY;
}

/* Two lines: the fact, cycles a second. */
static int parse(char *text, struct skid_facts *ret)
{
	struct skid_facts facts = {.skid = ""};
	struct machine_skid skid;
	char *hz = strchr(text, '\n'), *end;

	if (!hz)
		return -ENOENT;
	*hz++ = '\0';
	if (machine_skid_parse(text, &skid) || strlen(text) >= sizeof(facts.skid))
		return -ENOENT;
	facts.clock_hz = strtod(hz, &end);
	if (end == hz || !(facts.clock_hz >= 0 && facts.clock_hz < 1e11))
		return -ENOENT;
	memcpy(facts.skid, text, strlen(text) + 1);
	*ret = facts;
	return 0;
}

int skid_cache_read(const char *directory, const char *event, struct skid_facts *ret)
{
	char key[REMEMBERED_KEY], text[REMEMBERED_TEXT];

	if (!make_key(event, key) || remembered_read(directory, key, text))
		return -ENOENT;
	return parse(text, ret);
}

int skid_cache_write(const char *directory, const char *event, const struct skid_facts *facts)
{
	char key[REMEMBERED_KEY], text[REMEMBERED_TEXT];

	if (!make_key(event, key))
		return -EINVAL;
	int n = snprintf(text, sizeof(text), "%s\n%.0f\n", facts->skid, facts->clock_hz);
	return n < (int)sizeof(text) ? remembered_write(directory, key, text) : -EINVAL;
}

int skid_recall(const struct event *e, struct skid_facts *ret)
{
	return skid_is_measurable(e) ? skid_cache_read(NULL, e->name, ret) : -ENOENT;
}
