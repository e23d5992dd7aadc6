/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a client says to the daemon's socket, in pieces: a piece each time that the first byte of
 * what is left says how long it is. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "collect/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct control *control;

static void end(void)
{
	control_free(control);
}

static void answer(void *arg, const char *request, struct buf *out)
{
	(void)arg;
	if (strlen(request) >= CONTROL_REQUEST_MAX || strchr(request, '\n'))
		abort();
	buf_printf(out, "%s", request);
}

/* A client is gone after its first line, or when it has said too much. */
static void talk(int fd, const uint8_t *data, size_t size)
{
	struct pollfd fds[CONTROL_CLIENTS_MAX + 1];

	control_serve(control, 0, answer, NULL);
	while (size && control_poll_fds(control, fds, CONTROL_CLIENTS_MAX + 1) > 1) {
		size_t piece = (size_t)data[0] + 1;

		data++;
		size--;
		piece = piece < size ? piece : size;
		if (piece && send(fd, data, piece, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		data += piece;
		size -= piece;
		control_serve(control, 0, answer, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pollfd fds[CONTROL_CLIENTS_MAX + 1];
	struct diag diag;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!control) {
		snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/fuzz-control-%d",
			 getpid());
		if (control_new(address.sun_path, &control, &diag) || atexit(end))
			abort();
	}
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		abort();
	talk(fd, data, size);
	close(fd);
	control_serve(control, CONTROL_PATIENCE_NS + 1, answer, NULL);
	if (control_poll_fds(control, fds, CONTROL_CLIENTS_MAX + 1) != 1)
		abort();
	return 0;
}
