/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_USER_SHARE_H
#define CULPRIT_COLLECT_PROCESS_USER_SHARE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * How many records all processes of one user may have taken in an interval, so that a crowd of them
 * takes no more than one does from the records of others. Only busy processes are asked about,
 * since finding out whose one is takes a read.
 */
struct user_share;

/* Records in an interval. */
#define USER_SHARE 32768
/* How often in it the user of a process is read; those unknown then count as one user's. */
#define USER_SHARE_LOOKUP 16384

/* read_user: whose a process is (0), or a negative errno: see procfs_read_user. NULL: no memory. */
struct user_share *user_share_new(int (*read_user)(pid_t pid, uid_t *ret));
void user_share_free(struct user_share *s);

/* Notes that one process made another: so its user is known even if it is gone before it is asked
 * about, and what was known of its PID is known to be another process's. */
void user_share_note_fork(struct user_share *s, pid_t pid, pid_t parent);
/* Another interval begins. */
void user_share_renew(struct user_share *s);
/* Whether one more record of a process is within the share of its user. */
bool user_share_take(struct user_share *s, pid_t pid);

#endif
