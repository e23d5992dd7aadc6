/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/cost_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "collect/host/host.h"
#include "collect/host/remembered.h"
#include "config.h"
#include "machine/core.h"
#include "util/clock.h"

/* What a cost holds for. The boot says which addresses and mitigations, and which other handlers
 * (tracers, another profiler's settings) were there. */
static bool make_key(const struct event *e, bool scoped, char out[REMEMBERED_KEY])
{
	struct machine_cpu cpu = {.vendor = "?"};
	char id[MACHINE_CPU_TEXT], boot[64];
	struct event stand;
	struct utsname u;
	int n;

	machine_cpu_here(&cpu);
	machine_cpu_format(&cpu, id);
	governor_stand_in(e, &stand);
	if (uname(&u) ||
	    host_read_text("", "/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) <= 0)
		return false;
	n = snprintf(out, REMEMBERED_KEY,
		     "culprit interrupt in caches " CULPRIT_VERSION " | %s | %s %s | %s | "
		     "%" PRIu32 ":%" PRIx64 ":%u%s",
		     id, u.release, u.version, boot, (uint32_t)stand.attr.type,
		     (uint64_t)stand.attr.config, (unsigned)stand.attr.precise_ip,
		     scoped ? " scoped" : "");
	return n > 0 && n < REMEMBERED_KEY;
}

int cost_cache_read(const char *directory, const struct event *e, bool scoped,
		    struct governor_cost *ret, uint64_t *ret_age_s)
{
	char key[REMEMBERED_KEY], text[REMEMBERED_TEXT], end;
	struct governor_cost cost = {.measured = true, .why = ""};
	uint64_t when_s, now_s = clock_uptime_s();
	unsigned int busy;

	if (!make_key(e, scoped, key) || remembered_read(directory, key, text) ||
	    sscanf(text, "%lf %lf %zu %" SCNu64 " %u%c", &cost.cost_ns, &cost.error_ns,
		   &cost.set_bytes, &when_s, &busy, &end) != 6 ||
	    end != '\n' || !governor_cost_is_sane(&cost) || when_s > now_s ||
	    now_s - when_s >= (busy ? COST_CACHE_BUSY_S : COST_CACHE_S))
		return -ENOENT;
	cost.busy = busy;
	*ret = cost;
	*ret_age_s = now_s - when_s;
	return 0;
}

int cost_cache_write(const char *directory, const struct event *e, bool scoped,
		     const struct governor_cost *cost)
{
	char key[REMEMBERED_KEY], text[REMEMBERED_TEXT];

	if (!cost->measured || !governor_cost_is_sane(cost) || !make_key(e, scoped, key))
		return -EINVAL;
	snprintf(text, sizeof(text), "%.1f %.1f %zu %" PRIu64 " %d\n", cost->cost_ns,
		 cost->error_ns, cost->set_bytes, clock_uptime_s(), cost->busy);
	return remembered_write(directory, key, text);
}
