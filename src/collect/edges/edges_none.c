/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* In the place of edges.c and windows.c where there is no interpreter. */
#include <errno.h>

#include "collect/edges/edges.h"
#include "collect/edges/windows.h"

const void *windows_object(size_t *ret_size)
{
	(void)ret_size;
	return NULL;
}

void edges_read_status(const void *edges, struct edges_status *ret)
{
	(void)edges;
	*ret = (struct edges_status){0};
}

static int edges_open(const struct follower_config *config, void **ret, struct diag *diag)
{
	(void)config, (void)ret;
	return diag_fail(diag, EOPNOTSUPP, "edge samples are interpreted on x86-64 only");
}

const struct follower_ops edges_follower = {.part = BUDGET_WINDOWS, .open = edges_open};
