/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_CHECK_CHECK_H
#define CULPRIT_COLLECT_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What this machine allows a profiler, one check a row. Whatever can be tried is tried: a kernel
 * that says yes is better evidence than a version, a user number or a configuration file.
 */
enum check_state {
	CHECK_FACT, /* nothing to judge */
	CHECK_GOOD,
	CHECK_PARTIAL, /* sampling works, something about it is missing */
	CHECK_BAD,     /* sampling of the whole machine does not work */
};

struct check {
	const char *group, *name; /* static; name is the key in JSON */
	enum check_state state;
	char value[512]; /* what was found */
	char mend[240];	 /* the exact command that fixes it, "" when none is needed or known */
};

#define CHECKS_MAX 64

struct check_list {
	const char *root; /* as in host.h; for the checks that read files */
	const char *group;
	size_t count, refused; /* refused: more than CHECKS_MAX */
	struct check rows[CHECKS_MAX];
};

/* Appends a row; never NULL (past the maximum the last row is used again). */
struct check *check_add(struct check_list *l, const char *name, enum check_state state,
			const char *format, ...) __attribute__((format(printf, 4, 5)));
void check_mend(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *check_state_name(enum check_state state); /* "good", ... */

/* The subjects, in the order of the report. */
void check_kernel(struct check_list *l); /* version, configuration, BTF, clock, virtual machine */
void check_privilege(struct check_list *l); /* capabilities, sysctls, lockdown, limits */
void check_sampling(struct check_list *l);  /* opens events, loads and attaches a BPF program */
void check_symbols(struct check_list *l);   /* kallsyms, kcore, debug files */
/* The core's model and where samples land: from the cache, or measured, which takes about 0.7 s. */
void check_core(struct check_list *l, bool measure);
/* What a sample costs; takes about 0.4 s. */
void check_cost(struct check_list *l, double budget_percent);

/* True when no row is bad. */
bool check_passed(const struct check_list *l);

#endif
