/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/turns.h"

#include <errno.h>
#include <stdlib.h>

/* Somebody who has something queued. */
struct user {
	struct user *next;
	uid_t uid;
	struct turn *first, **last;
	size_t count;
};

struct turns {
	struct user *users; /* whose turn it is first */
	size_t user_max, max, count;
};

struct turns *turns_new(size_t user_max, size_t max)
{
	struct turns *t = calloc(1, sizeof(*t));

	if (t) {
		t->user_max = user_max;
		t->max = max;
	}
	return t;
}

void turns_free(struct turns *t)
{
	free(t);
}

static struct user **end(struct turns *t)
{
	struct user **at = &t->users;

	while (*at)
		at = &(*at)->next;
	return at;
}

/* Who is new is put behind all others. */
static struct user *find_user(struct turns *t, uid_t uid)
{
	struct user *user = t->users;

	while (user && user->uid != uid)
		user = user->next;
	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (user) {
		user->uid = uid;
		user->last = &user->first;
		*end(t) = user;
	}
	return user;
}

int turns_add(struct turns *t, struct turn *job)
{
	struct user *user;

	if (t->count >= t->max)
		return -EAGAIN;
	user = find_user(t, job->user);
	if (!user)
		return -ENOMEM;
	if (user->count >= t->user_max)
		return -EAGAIN;
	job->next = NULL;
	*user->last = job;
	user->last = &job->next;
	user->count++;
	t->count++;
	return 0;
}

struct turn *turns_take(struct turns *t, bool (*may)(void *arg, const struct turn *job), void *arg)
{
	struct user **at = &t->users, *user;
	struct turn *job;

	while (*at && may && !may(arg, (*at)->first))
		at = &(*at)->next;
	user = *at;
	if (!user)
		return NULL;
	job = user->first;
	user->first = job->next;
	user->count--;
	t->count--;
	*at = user->next;
	user->next = NULL;
	if (user->count)
		*end(t) = user;
	else
		free(user);
	return job;
}

size_t turns_count(const struct turns *t)
{
	return t->count;
}
