/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "image/kernel/kernel.h"
#include "image/kernel/kernel_scan.h"

struct kernel_ahead {
	const char *root;
	pthread_t thread;
	bool joined;
	int result;
	struct image_id id;
	struct image_symbols *symbols;
};

static void *read_symbols(void *arg)
{
	struct kernel_ahead *a = arg;

	a->result = kernel_scan_core_id(a->root, &a->id, NULL);
	if (!a->result)
		a->result = image_kernel_core_symbols(a->root, &a->id, &a->symbols, NULL);
	return NULL;
}

int kernel_ahead_start(const char *root, struct kernel_ahead **ret)
{
	struct kernel_ahead *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->root = root;
	int r = pthread_create(&a->thread, NULL, read_symbols, a);
	if (r) {
		free(a);
		return -r;
	}
	*ret = a;
	return 0;
}

static void join(struct kernel_ahead *a)
{
	if (!a->joined)
		pthread_join(a->thread, NULL);
	a->joined = true;
}

int kernel_ahead_take(struct kernel_ahead *a, const struct image_id *id, struct image_symbols **ret)
{
	join(a);
	if (a->result)
		return a->result;
	if (!a->symbols || memcmp(&a->id, id, sizeof(*id)) != 0)
		return -ENOENT;
	*ret = a->symbols;
	a->symbols = NULL;
	return 0;
}

void kernel_ahead_free(struct kernel_ahead *a)
{
	if (!a)
		return;
	join(a);
	image_symbols_free(a->symbols);
	free(a);
}
