/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/user_share.h"

#include <stdint.h>
#include <stdlib.h>

#include "util/hash.h"

#define NOBODY	    UINT32_MAX /* no user has this number */
#define USERS_MAX   (USER_SHARE_LOOKUP + 1)
#define PARENTS_MAX 65536 /* that are known of in an interval */
#define STEPS_MAX   64	  /* to an ancestor who is known or lives */
/* Who made a process, and the how manieth fork that was: no PID is above the kernel's limit. */
#define PID_BITS      22
#define MAKER(link)   ((pid_t)((link) & ((1u << PID_BITS) - 1)))
#define FORK_OF(link) ((link) >> PID_BITS)

/* What was learnt of PIDs in an interval: the numbers may be others' later. */
struct learnt {
	struct map64 *users; /* PID -> user */
	struct map64 *links; /* PID -> who made it, of those that began */
	bool has_all_links;
};

static bool learnt_new(struct learnt *l)
{
	l->users = map64_new(USER_SHARE_LOOKUP);
	l->links = map64_new(PARENTS_MAX);
	l->has_all_links = true;
	return l->users && l->links;
}

static void learnt_free(struct learnt *l)
{
	map64_free(l->users);
	map64_free(l->links);
}

struct user_share {
	int (*read_user)(pid_t pid, uid_t *ret);
	struct learnt now, before; /* in this interval, and in the last */
	uint64_t forks;		   /* since the start */
	unsigned reads;		   /* in this one */
	struct map64 *taken;	   /* user -> records in this interval */
};

struct user_share *user_share_new(int (*read_user)(pid_t pid, uid_t *ret))
{
	struct user_share *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->read_user = read_user;
	s->taken = map64_new(USERS_MAX);
	if (learnt_new(&s->now) && learnt_new(&s->before) && s->taken)
		return s;
	user_share_free(s);
	return NULL;
}

void user_share_free(struct user_share *s)
{
	if (!s)
		return;
	learnt_free(&s->now);
	learnt_free(&s->before);
	map64_free(s->taken);
	free(s);
}

void user_share_renew(struct user_share *s)
{
	struct learnt oldest = s->before;

	s->before = s->now;
	s->now = oldest;
	map64_clear(s->now.users);
	map64_clear(s->now.links);
	s->now.has_all_links = true;
	map64_clear(s->taken);
	s->reads = 0;
}

void user_share_note_fork(struct user_share *s, pid_t pid, pid_t parent)
{
	map64_remove(s->now.users, (uint32_t)pid);
	map64_remove(s->before.users, (uint32_t)pid);
	/* A parent that is known by another's number would be worse than none. */
	map64_remove(s->before.links, (uint32_t)pid);
	map64_remove(s->now.links, (uint32_t)pid);
	if (map64_put(s->now.links, (uint32_t)pid, ++s->forks << PID_BITS | (uint32_t)parent))
		s->now.has_all_links = false;
}

static bool look_up(const struct map64 *now, const struct map64 *before, pid_t pid, uint64_t *ret)
{
	return map64_get(now, (uint32_t)pid, ret) == 0 ||
	       (before && map64_get(before, (uint32_t)pid, ret) == 0);
}

static bool read_user(struct user_share *s, pid_t pid, uid_t *ret)
{
	return s->reads < USER_SHARE_LOOKUP && ++s->reads && s->read_user(pid, ret) == 0;
}

/*
 * Of a process that is gone: the user of the next of its ancestors that is known or lives. Not if
 * that is root, who makes processes for everybody: nobody is to have his records charged to root.
 * Nor where another process got the ancestor's number since, or may have.
 */
static uid_t find_heir(struct user_share *s, pid_t pid)
{
	const bool all = s->now.has_all_links && s->before.has_all_links;
	uint64_t known, link, made = UINT64_MAX;
	uid_t user = NOBODY;

	for (unsigned step = 0; step < STEPS_MAX && (all || !step); step++) {
		const bool began = look_up(s->now.links, s->before.links, pid, &link);

		if (began && FORK_OF(link) > made)
			break;
		if (look_up(s->now.users, s->before.users, pid, &known)) {
			user = (uid_t)known;
			break;
		}
		if ((step && read_user(s, pid, &user)) || !began)
			break;
		made = FORK_OF(link);
		pid = MAKER(link);
	}
	return user ? user : NOBODY;
}

static uid_t find_user(struct user_share *s, pid_t pid)
{
	uint64_t known;
	uid_t user;

	if (look_up(s->now.users, NULL, pid, &known))
		return (uid_t)known;
	if (map64_count(s->now.users) == USER_SHARE_LOOKUP)
		return NOBODY;
	if (!read_user(s, pid, &user))
		user = find_heir(s, pid);
	/* What was found out once in so many steps is not looked for again. */
	map64_put(s->now.users, (uint32_t)pid, user);
	return user;
}

bool user_share_take(struct user_share *s, pid_t pid)
{
	uint64_t count = 0;
	uid_t user = find_user(s, pid);

	map64_get(s->taken, user, &count);
	if (count >= USER_SHARE)
		return false;
	map64_put(s->taken, user, count + 1);
	return true;
}
