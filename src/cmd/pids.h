/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_PIDS_H
#define CULPRIT_CMD_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "collect/session.h"
#include "util/diag.h"

/* The processes that -p PID[,PID...] names, for the commands that sample. */
#define PIDS_MAX 1024

struct pids {
	pid_t list[PIDS_MAX];
	size_t count;
	bool tree; /* with their existing descendants */
};

/* After the option -p of a command. */
#define PIDS_TREE_OPTION(type)                                                   \
	{                                                                        \
		"tree", 0, NULL, "with -p: also all their existing descendants", \
			CMD_AT(FLAG, type, pids.tree)                            \
	}

/* --tree is useless alone: -EINVAL and a sentence. */
int pids_check(const struct pids *p, struct diag *diag);
/* Says, when sampling has begun, what becomes of children that existed already. */
void pids_tell_descendants(const struct pids *p, const struct session *s);

/* Adds those of the text. -EINVAL, -ESRCH or -E2BIG and a sentence. */
int pids_parse(struct pids *p, const char *text, struct diag *diag);
/* Makes a scoped session sample them. */
int pids_follow(const struct pids *p, struct session *s, struct diag *diag);
bool pids_any_alive(const struct pids *p);

#endif
