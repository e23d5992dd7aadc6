/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_CHILD_H
#define CULPRIT_COLLECT_HOST_CHILD_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include "util/diag.h"

/*
 * A command to be sampled: started but held just before its exec until sampling is on, so that
 * nothing of it is missed.
 */
struct child {
	pid_t pid;
	int pidfd;    /* readable when it has ended */
	int go, said; /* pipes: to release it, and from it when exec fails */
};

/* What a command would inherit from our caller, had we not come between: it is to run as it would
 * without us (except that SIGCHLD is no longer ignored). Noted before any of it is changed. */
struct child_heritage {
	sigset_t blocked;
	struct rlimit files; /* RLIMIT_NOFILE, which a sampler raises */
};
void child_note_heritage(struct child_heritage *ret);

/* Whether a command can be run, by its name or path, before anything is done for it. */
int child_check(const char *name, struct diag *diag);
int child_start(char *const argv[], const struct child_heritage *heritage, struct child *ret,
		struct diag *diag);
/* Lets it run. When its exec fails: -errno, with the reason in diag; the child is gone then. */
int child_release(struct child *c, struct diag *diag);
/* Reaps it, waiting if need be. Its exit status, or 128 + the signal that ended it. */
int child_reap(struct child *c);
/* Before it was released: makes it go away without running anything. */
void child_cancel(struct child *c);

#endif
