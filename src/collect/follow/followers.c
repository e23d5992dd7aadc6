/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/follow/followers.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>

#define EACH(f, operation, ...)                 \
	for (size_t i = 0; i < (f)->count; i++) \
	(f)->list[i].wish.ops->operation((f)->list[i].self, ##__VA_ARGS__)

struct opening {
	struct follower *follower;
	struct follower_config config;
	pthread_t thread;
	bool beside;
	int r;
};

static void *open_one(void *arg)
{
	struct opening *o = arg;
	struct follower *f = o->follower;

	o->config.options = f->wish.options;
	o->r = f->wish.ops->open(&o->config, &f->self, &f->why);
	return NULL;
}

/* The kernel looks at one program while the next is loaded: each takes long. */
static void open_all(struct followers *f, struct opening *o)
{
	for (size_t i = 0; i < f->asked; i++)
		o[i].beside =
			i + 1 < f->asked && !pthread_create(&o[i].thread, NULL, open_one, &o[i]);
	for (size_t i = f->asked; i-- > 0;)
		if (o[i].beside)
			pthread_join(o[i].thread, NULL);
		else
			open_one(&o[i]);
}

/* Moves those that are open to the front. */
static void sort_out(struct followers *f)
{
	for (size_t i = 0; i < f->asked; i++) {
		struct follower one = f->list[i];

		if (!one.self)
			continue;
		f->list[i] = f->list[f->count];
		f->list[f->count++] = one;
	}
}

int followers_open(struct followers *f, const struct follower_wish *wishes, size_t count,
		   const struct follower_config *config, struct diag *diag)
{
	struct opening o[FOLLOWERS_MAX];
	int r = 0;

	*f = (struct followers){.asked = count < FOLLOWERS_MAX ? count : FOLLOWERS_MAX};
	if (count > f->asked)
		return diag_fail(diag, E2BIG, "more than %d followers of samples", FOLLOWERS_MAX);
	for (size_t i = 0; i < count; i++) {
		f->list[i].wish = wishes[i];
		o[i] = (struct opening){.follower = &f->list[i], .config = *config};
	}
	open_all(f, o);
	for (size_t i = 0; !r && i < count; i++)
		if (o[i].r && wishes[i].needed)
			r = diag_fail(diag, -o[i].r, "%s", f->list[i].why.text);
	sort_out(f);
	return r;
}

void followers_close(struct followers *f)
{
	EACH(f, close);
	f->count = 0;
}

void *followers_find(const struct followers *f, const struct follower_ops *ops,
		     const char **ret_why)
{
	if (ret_why)
		*ret_why = "";
	for (size_t i = 0; i < f->asked; i++) {
		if (f->list[i].wish.ops != ops)
			continue;
		if (ret_why && !f->list[i].self)
			*ret_why = f->list[i].why.text;
		return f->list[i].self;
	}
	return NULL;
}

struct follower_plan followers_plan(const struct followers *f)
{
	struct follower_plan sum = {0};

	for (size_t i = 0; i < f->count; i++) {
		struct follower_plan plan = f->list[i].wish.ops->plan(f->list[i].self);

		sum.share += plan.share;
		sum.hz = fmax(sum.hz, plan.hz);
		sum.each_ns += plan.each_ns;
	}
	return sum;
}

int followers_start(struct followers *f, const struct follower_start *start)
{
	int r = 0;

	for (size_t i = 0; !r && i < f->count; i++)
		r = f->list[i].wish.ops->start(f->list[i].self, start);
	return r;
}

void followers_set_pace(struct followers *f, double factor, double hz)
{
	EACH(f, set_pace, factor, hz);
}

void followers_drain(struct followers *f, uint64_t now_ns)
{
	EACH(f, drain, now_ns);
}

void followers_drain_due(struct followers *f, uint64_t now_ns)
{
	for (size_t i = 0; i < f->count; i++)
		if (now_ns >= f->list[i].wish.ops->next_ns(f->list[i].self))
			f->list[i].wish.ops->drain(f->list[i].self, now_ns);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t followers_next_ns(const struct followers *f)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < f->count; i++)
		next = sooner(next, f->list[i].wish.ops->next_ns(f->list[i].self));
	return next;
}

void followers_each_counter(const struct followers *f, const struct counter_taker *to)
{
	EACH(f, each_counter, to);
}

void followers_flush(struct followers *f)
{
	EACH(f, flush);
}

int followers_begin_batch(struct followers *f)
{
	int r = 0;

	for (size_t i = 0; i < f->count; i++)
		r = f->list[i].wish.ops->begin_batch(f->list[i].self) ?: r;
	return r;
}

void followers_charge(const struct followers *f, double spent_ns[BUDGET_PARTS])
{
	for (size_t i = 0; i < f->count; i++)
		spent_ns[f->list[i].wish.ops->part] +=
			(double)f->list[i].wish.ops->spent_ns(f->list[i].self);
}

uint64_t followers_poll(const struct followers *f, uint64_t now_ns, struct pollfd *fds)
{
	uint64_t again = UINT64_MAX;

	for (size_t i = 0; i < FOLLOWERS_FDS; i++)
		fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	for (size_t i = 0; i < f->count; i++, fds += FOLLOWER_FDS) {
		const struct follower_ops *ops = f->list[i].wish.ops;
		int own[FOLLOWER_FDS] = {-1, -1, -1};

		if (ops->poll)
			again = sooner(again, ops->poll(f->list[i].self, now_ns, own));
		for (size_t n = 0; n < FOLLOWER_FDS; n++)
			fds[n].fd = own[n];
	}
	return again;
}

void followers_wake(struct followers *f, const struct pollfd *fds)
{
	for (size_t i = 0; i < f->count; i++, fds += FOLLOWER_FDS) {
		int readable[FOLLOWER_FDS], any = 0;

		for (size_t n = 0; n < FOLLOWER_FDS; n++)
			any |= readable[n] = fds[n].revents;
		if (any)
			f->list[i].wish.ops->wake(f->list[i].self, readable);
	}
}

uint64_t followers_oldest_ns(const struct followers *f)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].wish.ops->oldest_ns)
			oldest = sooner(oldest, f->list[i].wish.ops->oldest_ns(f->list[i].self));
	return oldest;
}

void followers_finish(struct followers *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].wish.ops->finish)
			f->list[i].wish.ops->finish(f->list[i].self);
}
