/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The processes that come of those in scope and were there before: they fork and end meanwhile. */
#include <errno.h>
#include <string.h>

#include "collect/session_state.h"

#define PASSES_MAX 64

struct joining {
	struct session *s;
	bool joined; /* anybody, in this pass */
	struct diag why;
};

static int join_scope(void *arg, pid_t pid)
{
	struct joining *j = arg;
	int r = sampler_scope_join(j->s->sampler, pid, &j->why);

	/* One that was forked by a process in scope is in it already. */
	if (r == -EEXIST)
		return 0;
	j->joined = true;
	return r;
}

static void leave_scope(void *arg, pid_t pid)
{
	struct session *s = arg;

	sampler_scope_remove(s->sampler, pid);
}

static int leave_out(void *arg, pid_t pid)
{
	struct session *s = arg;

	(void)pid;
	s->left_out++;
	return 0;
}

/*
 * Whoever is in scope has his later children in it, by the program in the kernel. So when a pass
 * over all that was forked until then finds nobody who is not in it, nobody is outside; a process
 * that forked just before it was taken in is found by the kernel's record of that.
 */
static int join_all(struct session *s, struct descendants *d, struct diag *diag)
{
	struct joining j = {.s = s};
	int r = 0;

	for (int pass = 0; pass < PASSES_MAX && !r; pass++) {
		j.joined = false;
		session_follow_processes(s);
		r = descendants_find(d, join_scope, &j);
		if (!j.joined)
			break;
	}
	if (r)
		return diag_fail(diag, -r, "%s", *j.why.text ? j.why.text : strerror(-r));
	/* One that ended before it was taken in would leave its number to whoever gets it next. */
	descendants_ended(d, leave_scope, s);
	s->joined = descendants_count(d);
	return 0;
}

int session_take_descendants(struct session *s, struct diag *diag)
{
	struct descendants *d = descendants_new(s->processes, s->roots, s->root_count);

	if (!d)
		return diag_fail(diag, ENOMEM, "out of memory");
	int r = s->config.tree ? join_all(s, d, diag) : descendants_find(d, leave_out, s);
	descendants_free(d);
	return r;
}
