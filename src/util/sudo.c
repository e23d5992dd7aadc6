/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/sudo.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "util/num.h"

/* UINT32_MAX is refused: to chown(2), (uid_t)-1 means "leave unchanged". */
static bool read_number(const char *name, uint64_t *ret)
{
	const char *text = secure_getenv(name);

	return text && !num_parse_u64(text, ret) && *ret < UINT32_MAX;
}

bool sudo_find_caller(uid_t *ret_user, gid_t *ret_group)
{
	uint64_t user, group;

	if (getuid() != 0 || geteuid() != 0 || !read_number("SUDO_UID", &user) || user == 0 ||
	    !read_number("SUDO_GID", &group))
		return false;
	*ret_user = (uid_t)user;
	*ret_group = (gid_t)group;
	return true;
}
