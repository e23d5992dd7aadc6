/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_manager(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = path ? strlen(path) : 0;
	int fd;

	if (!size || size >= sizeof(address.sun_path) || !strchr("/@", path[0]))
		return;
	memcpy(address.sun_path, path, size);
	/* An abstract name begins with a zero byte and ends where its size says. */
	if (path[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
	close(fd);
}
