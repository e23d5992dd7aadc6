/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/event_pfm.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

/* The library is loaded when a name is first looked up: its tables have 41,000 addresses, which
 * would be set in each process of ours, most of which never ask. */
#define LIBRARY "libpfm.so.4"
#define EACH_FUNCTION(f)                                                                         \
	f(initialize) f(get_pmu_info) f(get_event_next) f(get_event_info) f(get_event_attr_info) \
		f(find_event) f(get_os_event_encoding) f(strerror)

#define DECLARE(name) __typeof__(&pfm_##name) name;
static struct {
	EACH_FUNCTION(DECLARE)
} pfm;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded, ready;

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return;
	loaded = true;
#define FIND(name)                                          \
	*(void **)&pfm.name = dlsym(library, "pfm_" #name); \
	loaded &= pfm.name != NULL;
	EACH_FUNCTION(FIND)
	ready = loaded && pfm.initialize() == PFM_SUCCESS;
}

static bool pfm_is_ready(void)
{
	pthread_once(&once, load);
	return ready;
}

/* Generic names of the kernel are event_generic's subject. */
static bool is_core_table(pfm_pmu_t pmu)
{
	return pmu != PFM_PMU_PERF_EVENT && pmu != PFM_PMU_PERF_EVENT_RAW;
}

/* The event's own part of "pmu::EVENT:UMASK:...". */
static const char *event_part(const char *name, size_t *ret_size)
{
	const char *pmu_end = strstr(name, "::");

	if (pmu_end)
		name = pmu_end + 2;
	*ret_size = strcspn(name, ":");
	return name;
}

/* A processor whose table has this event: its description, or NULL. */
static const char *find_other_cpu(const char *name)
{
	size_t size;
	const char *event = event_part(name, &size);
	size_t prefix = event > name ? (size_t)(event - name) - 2 : 0;
	pfm_pmu_info_t pmu = {.size = sizeof(pmu)};
	pfm_event_info_t info = {.size = sizeof(info)};

	for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		if (pfm.get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS ||
		    !is_core_table(pmu.pmu) ||
		    (prefix && (strlen(pmu.name) != prefix || strncmp(pmu.name, name, prefix))))
			continue;
		for (int e = pmu.first_event; e >= 0; e = pfm.get_event_next(e))
			if (pfm.get_event_info(e, PFM_OS_NONE, &info) == PFM_SUCCESS &&
			    strlen(info.name) == size && !strncasecmp(info.name, event, size))
				return pmu.desc;
	}
	return NULL;
}

/* The unit masks of an event, "A, B, C", cut with "..." where they do not fit. */
static void list_masks(const char *name, char *out, size_t room)
{
	pfm_event_info_t info = {.size = sizeof(info)};
	pfm_event_attr_info_t mask = {.size = sizeof(mask)};
	int event = pfm.find_event(name), i;
	size_t used = 0;

	out[0] = 0;
	if (event < 0 || pfm.get_event_info(event, PFM_OS_NONE, &info) != PFM_SUCCESS)
		return;
	pfm_for_each_event_attr(i, &info)
	{
		if (pfm.get_event_attr_info(event, i, PFM_OS_NONE, &mask) != PFM_SUCCESS ||
		    mask.type != PFM_ATTR_UMASK)
			continue;
		if (used + strlen(mask.name) + 8 > room) {
			snprintf(out + used, room - used, ", ...");
			return;
		}
		used += (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "",
					 mask.name);
	}
}

static int explain(const char *name, pfm_err_t r, struct diag *diag)
{
	char bare[128], masks[400];
	const char *event, *cpu;
	size_t size;

	if (r == PFM_ERR_NOMEM)
		return -ENOMEM;
	event = event_part(name, &size);
	if (r == PFM_ERR_NOTFOUND || r == PFM_ERR_NOTSUPP) {
		cpu = find_other_cpu(name);
		if (!cpu)
			return -ENOENT;
		return diag_fail(diag, EOPNOTSUPP,
				 "libpfm4 knows '%s' for %s, not for this processor; "
				 "'cpu-clock' works everywhere",
				 name, cpu);
	}
	snprintf(bare, sizeof(bare), "%.*s", (int)(event + size - name), name);
	list_masks(bare, masks, sizeof(masks));
	return diag_fail(diag, EINVAL, "event '%s': %s%s%s", name, pfm.strerror(r),
			 masks[0] ? "; its unit masks are " : "", masks);
}

int event_pfm_encode(const char *name, struct perf_event_attr *attr, struct diag *diag)
{
	struct perf_event_attr made = {.size = sizeof(made)};
	pfm_perf_encode_arg_t arg = {.attr = &made, .size = sizeof(arg), .cpu = -1};
	pfm_err_t r;

	/* A path or a comma is never a name of the library, which takes commas for a list. */
	if (!name[0] || strpbrk(name, "/, \t\n"))
		return -ENOENT;
	if (!pfm_is_ready() && !loaded)
		return diag_fail(diag, EOPNOTSUPP,
				 "the kernel has no event '%s', and " LIBRARY
				 ", which knows the processors' events, is not installed",
				 name);
	if (!ready)
		return -ENOENT;
	r = pfm.get_os_event_encoding(name, PFM_PLM3 | PFM_PLM0, PFM_OS_PERF_EVENT, &arg);
	if (r != PFM_SUCCESS)
		return explain(name, r, diag);
	attr->type = made.type;
	attr->config = made.config;
	attr->config1 = made.config1;
	attr->config2 = made.config2;
	return 0;
}

void event_pfm_each(void (*f)(void *arg, const char *full_name, const char *bare_name), void *arg)
{
	pfm_pmu_info_t pmu = {.size = sizeof(pmu)};
	pfm_event_info_t info = {.size = sizeof(info)};
	char name[256];

	if (!pfm_is_ready())
		return;
	for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		if (pfm.get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS || !pmu.is_present ||
		    !is_core_table(pmu.pmu))
			continue;
		for (int e = pmu.first_event; e >= 0; e = pfm.get_event_next(e)) {
			if (pfm.get_event_info(e, PFM_OS_NONE, &info) != PFM_SUCCESS)
				continue;
			snprintf(name, sizeof(name), "%s::%s", pmu.name, info.name);
			f(arg, name, info.name);
		}
	}
}
