/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* In the place of stacks.c and unwinder.c where there is no unwinder. */
#include <errno.h>

#include "collect/stacks/stacks.h"
#include "collect/stacks/unwinder.h"

const void *unwinder_object(size_t *ret_size)
{
	(void)ret_size;
	return NULL;
}

void stacks_read_status(const void *stacks, struct stacks_status *ret)
{
	(void)stacks;
	*ret = (struct stacks_status){0};
}

static int stacks_open(const struct follower_config *config, void **ret, struct diag *diag)
{
	(void)config, (void)ret;
	return diag_fail(diag, EOPNOTSUPP, "stacks are followed on x86-64 only");
}

const struct follower_ops stacks_follower = {.part = BUDGET_STACKS, .open = stacks_open};
