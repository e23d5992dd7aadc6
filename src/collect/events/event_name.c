/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The grammar: NAME[:MODIFIERS][:PERIOD | @PERIOD], or PMU/TERMS/[[:]MODIFIERS][:PERIOD | @PERIOD].
 * A tracepoint's and libpfm4's names have colons of their own, so the text is read from its end: a
 * last part that starts with a digit is the period, one of only u, k, h and p the modifiers, and
 * what is left is looked up. No tracepoint or unit mask that exists is spelt like either.
 */
#include "collect/events/event_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/events/event_generic.h"
#include "collect/events/event_pfm.h"
#include "collect/events/event_pmu.h"
#include "collect/events/event_suggest.h"
#include "collect/events/event_tracepoint.h"
#include "db/batch.h"
#include "util/num.h"

#define TEXT_BYTES 1024
/* The kernel does not fire timers more often, and lengthens shorter periods without a word. */
#define CLOCK_PERIOD_MIN_NS 10000

/* Where the part after the name may start: behind the last slash of a PMU's terms. */
static char *tail_of(char *text)
{
	char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

static int cut_period(char *text, uint64_t *ret, struct diag *diag)
{
	char *tail = tail_of(text), *at = strrchr(tail, '@'), *colon = strrchr(tail, ':');

	if (!at && colon && isdigit((unsigned char)colon[1]))
		at = colon;
	if (!at)
		return 0;
	/* Also what a signed 64-bit counter can hold, which is what the kernel takes. */
	if (num_parse_count(at + 1, ret) || !*ret || *ret > INT64_MAX)
		return diag_fail(diag, EINVAL,
				 "event '%s': the period '%s' is not a positive number (k, M and G "
				 "may follow it)",
				 text, at + 1);
	*at = 0;
	return 0;
}

/* Cuts the modifiers off and sets the modes. */
static int cut_modifiers(char *text, struct event *e, struct diag *diag)
{
	char *tail = tail_of(text), *part = strrchr(tail, ':');
	unsigned int precise = 0;
	bool user, kernel, hypervisor;

	if (part)
		part++;
	else if (tail != text)
		part = tail; /* perf's form without a colon: cpu/cycles/u */
	if (!part || !*part || part[strspn(part, "ukhp")]) {
		e->user = e->kernel = true;
		return 0;
	}
	user = strchr(part, 'u');
	kernel = strchr(part, 'k');
	hypervisor = strchr(part, 'h');
	for (const char *c = part; *c; c++)
		precise += *c == 'p';
	if (precise > 3)
		return diag_fail(diag, EINVAL, "event '%s': the most precise is ppp", text);
	if (hypervisor && !user && !kernel)
		return diag_fail(diag, EINVAL,
				 "event '%s': h alone would sample nothing, because the "
				 "hypervisor's addresses belong to no image here; add u or k",
				 text);
	e->user = user || !kernel;
	e->kernel = kernel || !user;
	e->attr.precise_ip = precise;
	e->attr.exclude_user = !e->user;
	e->attr.exclude_kernel = !e->kernel;
	e->attr.exclude_hv = (user || kernel) && !hypervisor;
	part[-(part > text && part[-1] == ':')] = 0;
	return 0;
}

static void offer_kind(void *arg, const char *kind, const char *name)
{
	(void)kind;
	event_suggest_offer(arg, name);
}

static void offer_both(void *arg, const char *full_name, const char *bare_name)
{
	event_suggest_offer(arg, full_name);
	event_suggest_offer(arg, bare_name);
}

static void offer(void *arg, const char *name)
{
	event_suggest_offer(arg, name);
}

static int fail_unknown(const char *root, const char *name, struct diag *diag)
{
	struct event_suggest s;
	char near[EVENT_SUGGEST_NAMES * (EVENT_SUGGEST_BYTES + 4)];

	event_suggest_init(&s, name);
	event_generic_each(offer_kind, &s);
	event_suggest_offer(&s, "tick");
	event_pmu_each(root, offer_both, &s);
	if (strchr(name, ':'))
		event_tracepoint_each(root, offer, &s);
	event_pfm_each(offer_both, &s);
	event_suggest_format(&s, near, sizeof(near));
	if (near[0])
		return diag_fail(diag, ENOENT, "no event is called '%s'; did you mean %s?", name,
				 near);
	return diag_fail(diag, ENOENT,
			 "no event is called '%s' (culprit doctor --events lists them)", name);
}

/* "cycles:x": what stands before the last colon is an event, so the rest is to blame. */
static bool is_bad_modifier(const char *name)
{
	struct perf_event_attr attr;
	const char *colon = strrchr(name, ':');
	char before[TEXT_BYTES];

	if (!colon)
		return false;
	snprintf(before, sizeof(before), "%.*s", (int)(colon - name), name);
	return !event_generic_encode(before, &attr) || !event_pfm_encode(before, &attr, NULL);
}

static int look_up(const char *root, const char *name, struct event *e, struct diag *diag)
{
	struct diag tracepoint_diag;
	int r, tracepoint;

	if (strchr(name, '/'))
		return event_pmu_encode(root, name, e, diag);
	e->tick = !strcmp(name, "tick") || !strcmp(name, DB_EVENT_TICK_NAME);
	if (!event_generic_encode(e->tick ? "cpu-clock" : name, &e->attr))
		return 0;
	r = event_pmu_encode_alias(root, name, e, diag);
	if (r != -ENOENT)
		return r;
	tracepoint = event_tracepoint_encode(root, name, &e->attr, &tracepoint_diag);
	if (!tracepoint)
		return 0;
	r = event_pfm_encode(name, &e->attr, diag);
	if (!r || r == -EOPNOTSUPP)
		return r;
	if (is_bad_modifier(name))
		return diag_fail(
			diag, EINVAL,
			"event '%s': '%s' is not a modifier; the modifiers are u (user), k "
			"(kernel), h and p (precise), and after another colon the period",
			name, strrchr(name, ':') + 1);
	if (r != -ENOENT)
		return r;
	if (tracepoint != -ENOENT)
		return diag_fail(diag, -tracepoint, "%s", tracepoint_diag.text);
	return fail_unknown(root, name, diag);
}

/* What is settled by the kind of event, before any kernel is asked. */
static int check_kind(struct event *e, struct diag *diag)
{
	bool software = e->attr.type == PERF_TYPE_SOFTWARE, clock = event_is_clock(e);
	bool in_kernel = event_is_tracepoint(e) ||
			 (software && (e->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
				       e->attr.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
				       e->attr.config == PERF_COUNT_SW_CGROUP_SWITCHES));

	if (e->attr.precise_ip && (software || event_is_tracepoint(e)))
		return diag_fail(diag, EOPNOTSUPP,
				 "event '%s': only hardware events can be precise; drop the p",
				 e->name);
	if (in_kernel && !e->kernel)
		return diag_fail(diag, EOPNOTSUPP,
				 "event '%s' happens in the kernel, so with u alone it would never "
				 "count; drop the u",
				 e->name);
	if (e->tick && (!e->user || !e->kernel || e->attr.exclude_hv || e->period))
		return diag_fail(diag, EOPNOTSUPP,
				 "event '%s': the scheduler's tick has no modifiers and no period: "
				 "it cannot be restricted to user mode or the kernel",
				 e->name);
	if (clock && e->period && e->period < CLOCK_PERIOD_MIN_NS)
		return diag_fail(diag, EINVAL,
				 "event '%s': its period is in nanoseconds, at least %d", e->name,
				 CLOCK_PERIOD_MIN_NS);
	/* A guest's addresses belong to no image here; software events have none. */
	e->attr.exclude_guest = !software && !event_is_tracepoint(e);
	return 0;
}

/*
 * As it was written, with its modifiers. But reports know a clock by its usual name, and what it
 * counts adds up with that of other recordings only under the same: PERF_COUNT_SW_CPU_CLOCK and
 * software/config=0/ are cpu-clock.
 */
static char *make_name(const struct event *e, const char *bare, const char *shown)
{
	const char *modifiers = shown + strlen(bare), *usual = NULL;
	char *name;

	if (e->tick)
		return strdup(DB_EVENT_TICK_NAME);
	if (e->attr.type == PERF_TYPE_HARDWARE && e->attr.config == PERF_COUNT_HW_CPU_CYCLES &&
	    strcmp(bare, "cpu-cycles") != 0)
		usual = "cycles";
	else if (event_is_clock(e))
		usual = e->attr.config == PERF_COUNT_SW_CPU_CLOCK ? "cpu-clock" : "task-clock";
	if (!usual || strcmp(bare, usual) == 0)
		return strdup(shown);
	if (asprintf(&name, "%s%s%s", usual, *modifiers && *modifiers != ':' ? ":" : "",
		     modifiers) < 0)
		return NULL;
	return name;
}

int event_name_parse(const char *root, const char *text, struct event *ret, struct diag *diag)
{
	struct event e = {.attr = {.size = sizeof(e.attr)}};
	char name[TEXT_BYTES], *shown = NULL;

	if (!text[0])
		return diag_fail(diag, EINVAL, "the event has no name");
	if (text[0] == '{')
		return diag_fail(diag, EINVAL,
				 "event '%s': event groups are not supported; leave out the "
				 "braces, and each event is counted on its own",
				 text);
	if (snprintf(name, sizeof(name), "%s", text) >= (int)sizeof(name))
		return diag_fail(diag, EINVAL, "the event is longer than %d bytes", TEXT_BYTES - 1);
	int r = cut_period(name, &e.period, diag);
	if (!r && !(shown = strdup(name)))
		r = -ENOMEM;
	/* One may be called like modifiers: x:up. */
	if (!r && !event_tracepoint_encode(root, name, &e.attr, NULL))
		e.user = e.kernel = true;
	else if (!r)
		r = cut_modifiers(name, &e, diag);
	if (!r && !name[0])
		r = diag_fail(diag, EINVAL, "event '%s' has no name", text);
	if (!r)
		r = look_up(root, name, &e, diag);
	if (!r && !e.name && !(e.name = make_name(&e, name, shown)))
		r = -ENOMEM;
	if (!r)
		r = check_kind(&e, diag);
	free(shown);
	if (r)
		event_free(&e);
	else
		*ret = e;
	return r;
}
