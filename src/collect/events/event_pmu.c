/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/event_pmu.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/events/event_generic.h"
#include "collect/host/host.h"
#include "util/num.h"

#define DEVICES	    "/sys/bus/event_source/devices"
#define TERMS_BYTES 1024
#define CPUS_BYTES  4096

/* What one encoding needs at every level. */
struct pmu {
	const char *root;
	char name[NAME_MAX + 1];
	uint32_t type;
	struct event *event; /* being filled */
	struct diag *diag;
};

/* A component of a path from outside: one file name, nothing that climbs. */
static bool is_file_name(const char *s, size_t size)
{
	return size && size <= NAME_MAX && s[0] != '.' && !memchr(s, '/', size);
}

static long read_pmu_file(const struct pmu *p, const char *folder, const char *name, char *out,
			  size_t room)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), DEVICES "/%s/%s%s%s", p->name, folder, *folder ? "/" : "",
		     name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return host_read_text(p->root, path, out, room);
}

static int pmu_find(struct pmu *p, const char *name, size_t size)
{
	char text[CPUS_BYTES];
	uint64_t type;
	long n;

	if (!is_file_name(name, size))
		return diag_fail(p->diag, ENOENT, "'%.*s' is not the name of a PMU",
				 (int)(size > 100 ? 100 : size), name);
	snprintf(p->name, sizeof(p->name), "%.*s", (int)size, name);
	if (read_pmu_file(p, "", "type", text, sizeof(text)) < 0 || num_parse_u64(text, &type) ||
	    type > UINT32_MAX) {
		if (!strncmp(p->name, "cpu", 3) && !host_has_core_pmu(p->root))
			return diag_fail(p->diag, EOPNOTSUPP,
					 "this machine has no hardware counters, so no PMU '%s'; "
					 "'cpu-clock' samples time instead and works everywhere",
					 p->name);
		return diag_fail(p->diag, ENOENT,
				 "this machine has no PMU '%s' (those it has are in " DEVICES ")",
				 p->name);
	}
	p->type = p->event->attr.type = (uint32_t)type;
	/* Cores of one kind list theirs in "cpus"; a PMU outside the cores names in "cpumask" the
	 * CPU that reads it. */
	n = read_pmu_file(p, "", "cpus", text, sizeof(text));
	if (n <= 0)
		n = read_pmu_file(p, "", "cpumask", text, sizeof(text));
	if (n > 0 && !(p->event->cpus = strdup(text)))
		return -ENOMEM;
	return 0;
}

static uint64_t *config_word(struct perf_event_attr *attr, const char *name, size_t size)
{
	if (size == 6 && !memcmp(name, "config", 6))
		return (uint64_t *)&attr->config;
	if (size == 7 && !memcmp(name, "config1", 7))
		return (uint64_t *)&attr->config1;
	if (size == 7 && !memcmp(name, "config2", 7))
		return (uint64_t *)&attr->config2;
	return NULL;
}

/*
 * Puts a value into the bits that a format file names ("config:0-7,32-35"): its lowest bits go to
 * the first range. -ERANGE when bits are left over, -EINVAL when the file makes no sense.
 */
static int format_put(const char *format, uint64_t value, struct perf_event_attr *attr)
{
	size_t size = strcspn(format, ":");
	uint64_t *word = config_word(attr, format, size), set = 0;
	const char *at = format + size;

	if (!word || *at != ':')
		return -EINVAL;
	do {
		char *end;
		unsigned long first = strtoul(++at, &end, 10), last = first;

		if (end == at)
			return -EINVAL;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last > 63)
			return -EINVAL;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1) {
			*word &= ~(1ull << bit);
			set |= (value & 1) << bit;
		}
		at = end;
	} while (*at == ',');
	*word |= set;
	return *at ? -EINVAL : (value ? -ERANGE : 0);
}

static int put_term(struct pmu *p, const char *key, const char *value_text)
{
	char format[256];
	uint64_t value = 1, *word = config_word(&p->event->attr, key, strlen(key));

	if (value_text && num_parse_u64(value_text, &value))
		return diag_fail(p->diag, EINVAL, "'%s=%s' of PMU '%s': the value is not a number",
				 key, value_text, p->name);
	if (word) {
		*word = value;
		return 0;
	}
	if (read_pmu_file(p, "format", key, format, sizeof(format)) < 0)
		return diag_fail(p->diag, ENOENT,
				 "PMU '%s' has no event or field '%s' (see " DEVICES
				 "/%s/events and format)",
				 p->name, key, p->name);
	int r = format_put(format, value, &p->event->attr);
	if (r == -ERANGE)
		return diag_fail(p->diag, EINVAL,
				 "'%s=%s' of PMU '%s': the value does not fit its field (%s)", key,
				 value_text ? value_text : "1", p->name, format);
	if (r)
		return diag_fail(p->diag, EINVAL,
				 "PMU '%s' describes its field '%s' in an unknown way: %s", p->name,
				 key, format);
	return 0;
}

/* name=, period=, and what only perf's own machinery needs. True when the term was one of these. */
static bool put_special_term(struct pmu *p, const char *key, const char *value, int *ret)
{
	struct event *e = p->event;

	*ret = 0;
	if (value && !strcmp(key, "name")) {
		free(e->name);
		e->name = strdup(value);
		*ret = e->name ? 0 : -ENOMEM;
		return true;
	}
	if (value && !strcmp(key, "period")) {
		if (num_parse_count(value, &e->period) || !e->period || e->period > INT64_MAX)
			*ret = diag_fail(p->diag, EINVAL, "period '%s' is not a positive number",
					 value);
		return true;
	}
	return false;
}

static int put_terms(struct pmu *p, const char *text, bool in_alias);

/* A term without a value: an event of the PMU, a generic event, or a one-bit field. */
static int put_bare_term(struct pmu *p, const char *key, bool in_alias)
{
	struct perf_event_attr generic = {0};
	char text[TERMS_BYTES];

	if (!in_alias && read_pmu_file(p, "events", key, text, sizeof(text)) >= 0)
		return put_terms(p, text, true);
	if (!in_alias && !event_generic_encode(key, &generic) &&
	    (generic.type == PERF_TYPE_HARDWARE || generic.type == PERF_TYPE_HW_CACHE)) {
		/* The kernel's extended form: the PMU's number in the upper half. */
		p->event->attr.type = generic.type;
		p->event->attr.config = generic.config | (uint64_t)p->type << 32;
		return 0;
	}
	return put_term(p, key, NULL);
}

static int put_terms(struct pmu *p, const char *text, bool in_alias)
{
	char terms[TERMS_BYTES], *save = NULL;
	int r = 0;

	if (snprintf(terms, sizeof(terms), "%s", text) >= (int)sizeof(terms))
		return diag_fail(p->diag, EINVAL, "event of PMU '%s' is longer than %d bytes",
				 p->name, TERMS_BYTES - 1);
	for (char *t = strtok_r(terms, ",\n", &save); t && !r; t = strtok_r(NULL, ",\n", &save)) {
		char *value = strchr(t, '=');

		if (value)
			*value++ = 0;
		if (put_special_term(p, t, value, &r))
			continue;
		if (!is_file_name(t, strlen(t)))
			return diag_fail(p->diag, EINVAL, "'%s' is not a field of PMU '%s'", t,
					 p->name);
		r = value ? put_term(p, t, value) : put_bare_term(p, t, in_alias);
	}
	return r;
}

int event_pmu_encode(const char *root, const char *text, struct event *ret, struct diag *diag)
{
	struct pmu p = {.root = root, .event = ret, .diag = diag};
	const char *slash = strchr(text, '/'), *end;
	char terms[TERMS_BYTES];

	end = slash ? strchr(slash + 1, '/') : NULL;
	if (!end || end[1])
		return diag_fail(diag, EINVAL,
				 "event '%s': write it as PMU/term,term=value/ (two slashes)",
				 text);
	if (end - slash - 1 >= TERMS_BYTES)
		return diag_fail(diag, EINVAL, "event is longer than %d bytes", TERMS_BYTES - 1);
	snprintf(terms, sizeof(terms), "%.*s", (int)(end - slash - 1), slash + 1);
	int r = pmu_find(&p, text, (size_t)(slash - text));
	return r ? r : put_terms(&p, terms, false);
}

/* Calls f for each event file of each PMU until f says stop. */
static void each_event_file(const char *root,
			    bool (*f)(void *arg, const char *pmu, const char *event), void *arg)
{
	char path[PATH_MAX];
	bool stop = false;
	DIR *devices, *events;

	if (snprintf(path, sizeof(path), "%s" DEVICES, root) >= (int)sizeof(path) ||
	    !(devices = opendir(path)))
		return;
	for (struct dirent *d; !stop && (d = readdir(devices));) {
		if (d->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s" DEVICES "/%s/events", root, d->d_name) >=
			    (int)sizeof(path) ||
		    !(events = opendir(path)))
			continue;
		for (struct dirent *e; !stop && (e = readdir(events));)
			if (e->d_name[0] != '.' && !strchr(e->d_name, '.'))
				stop = f(arg, d->d_name, e->d_name);
		closedir(events);
	}
	closedir(devices);
}

struct alias_search {
	const char *wanted;
	char pmu[NAME_MAX + 1];
};

static bool search_alias(void *arg, const char *pmu, const char *event)
{
	struct alias_search *s = arg;

	/* Of several PMUs with this event, that of the cores: its name is the shortest in use. */
	if (!strcmp(event, s->wanted) && (!s->pmu[0] || !strncmp(pmu, "cpu", 3)))
		snprintf(s->pmu, sizeof(s->pmu), "%s", pmu);
	return !strcmp(s->pmu, "cpu");
}

int event_pmu_encode_alias(const char *root, const char *name, struct event *ret, struct diag *diag)
{
	struct alias_search s = {.wanted = name};
	struct pmu p = {.root = root, .event = ret, .diag = diag};

	if (!is_file_name(name, strlen(name)))
		return -ENOENT;
	each_event_file(root, search_alias, &s);
	if (!s.pmu[0])
		return -ENOENT;
	int r = pmu_find(&p, s.pmu, strlen(s.pmu));
	return r ? r : put_bare_term(&p, name, false);
}

struct each {
	void (*f)(void *arg, const char *full_name, const char *bare_name);
	void *arg;
};

static bool visit_name(void *arg, const char *pmu, const char *event)
{
	char name[2 * NAME_MAX + 4];
	struct each *e = arg;

	snprintf(name, sizeof(name), "%s/%s/", pmu, event);
	e->f(e->arg, name, event);
	return false;
}

void event_pmu_each(const char *root,
		    void (*f)(void *arg, const char *full_name, const char *bare_name), void *arg)
{
	struct each e = {f, arg};

	each_event_file(root, visit_name, &e);
}
