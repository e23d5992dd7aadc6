/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a client says to the daemon's socket, in pieces: a piece each time that the first byte of
 * what is left says how long it is. Labels are set as the daemon sets them. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "collect/control.h"
#include "collect/process/subject.h"
#include "render/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct control *control;

static struct subject_labels labels;

static void end(void)
{
	subject_labels_free(&labels);
	control_free(control);
}

/* Whatever the labels are by now there is room for a subject of them. */
static void check_labels(void)
{
	struct subject_pair pairs[SUBJECT_LABELS_MAX];
	char subject[SUBJECT_MAX_BYTES];

	if (labels.count > SUBJECT_LABELS_MAX)
		abort();
	for (size_t i = 0; i < labels.count; i++)
		pairs[i] = (struct subject_pair){labels.key[i], labels.value[i],
						 strlen(labels.key[i]), strlen(labels.value[i])};
	if (subject_build(pairs, labels.count, subject, sizeof(subject)) < 0)
		abort();
}

static void answer(void *arg, const char *request, struct buf *out)
{
	struct diag diag = {""};
	json_t *text;
	char *line;

	(void)arg;
	if (strlen(request) >= CONTROL_REQUEST_MAX || strchr(request, '\n'))
		abort();
	if (!strncmp(request, "label ", 6) && subject_labels_set(&labels, request + 6, &diag) &&
	    !diag.text[0])
		abort();
	check_labels();
	text = report_json_text(diag.text[0] ? diag.text : request);
	line = text ? json_dumps(text, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	if (!line || strchr(line, '\n'))
		abort();
	buf_printf(out, "%s", line);
	free(line);
	json_decref(text);
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
	subject_labels_free(&labels); /* so that an input fails by itself */
	if (control_poll_fds(control, fds, CONTROL_CLIENTS_MAX + 1) != 1)
		abort();
	return 0;
}
