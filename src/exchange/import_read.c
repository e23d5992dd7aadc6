/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The parent's side of reading a foreign profile: it starts the process that reads, tells how far
 * that is, and gives it the tables of the images whose code it has stacks of. */
#include "exchange/import.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "exchange/import_files.h"
#include "exchange/import_talk.h"
#include "unwind/unwind.h"
#include "image/worker/worker_jail.h"

#define MEMORY_BYTES_DEFAULT (UINT64_C(4) << 30)
#define IMAGES_MAX	     65536 /* that are asked for */
#define PAUSE_MS	     100   /* between two words of progress */

struct talk {
	const struct import_source *source;
	int socket;
	uint64_t done, of;
	uint32_t asked;
	struct import_files files;
};

static int spawn(int input, int socket, const struct import_source *source, pid_t *ret)
{
	char memory[24];
	char *argv[] = {(char *)IMPORT_WORKER_NAME,
			memory,
			(char *)(source->format ? source->format : ""),
			(char *)(source->program ? source->program : ""),
			(char *)(source->raw ? IMPORT_KEEP_RAW : ""),
			NULL};
	char *envp[] = {(char *)"LC_ALL=C", (char *)"ASAN_OPTIONS=detect_leaks=0", NULL};
	posix_spawn_file_actions_t files;

	snprintf(memory, sizeof(memory), "%llu",
		 (unsigned long long)(source->memory_bytes ? source->memory_bytes
							   : MEMORY_BYTES_DEFAULT));
	posix_spawn_file_actions_init(&files);
	/* input has a number above all that are given here. */
	int r = posix_spawn_file_actions_adddup2(&files, input, IMPORT_INPUT);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&files, socket, WORKER_SOCKET);
	for (int fd = IMPORT_INPUT + 1; !r && fd < WORKER_SOCKET; fd++)
		r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	if (!r)
		r = posix_spawn(ret, "/proc/self/exe", &files, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

static int tell(const struct talk *t)
{
	const struct import_watch *w = &t->source->watch;

	return w->tell ? w->tell(w->arg, "reading", t->done, t->of) : 0;
}

/* Until the child speaks, or listens. 0, or what the watch returned. */
static int wait_for_child(const struct talk *t, short events)
{
	struct pollfd p = {.fd = t->socket, .events = events};

	while (poll(&p, 1, PAUSE_MS) <= 0) {
		int r = tell(t);

		if (r)
			return r;
	}
	return 0;
}

/* After n bytes went through the socket, or none of them yet: then it waits. */
static int went(const struct talk *t, ssize_t n, short events, size_t *done)
{
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return wait_for_child(t, events);
	if (n <= 0)
		return -EPIPE;
	*done += (size_t)n;
	return 0;
}

static int receive(const struct talk *t, void *out, size_t size)
{
	size_t done = 0;
	int r = 0;

	while (!r && done < size)
		r = went(t, recv(t->socket, (char *)out + done, size - done, MSG_DONTWAIT), POLLIN,
			 &done);
	return r;
}

static int give(const struct talk *t, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int))}};

	size_t done = 0;
	int r = 0;

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	while (!r && done < size) {
		struct iovec iov = {(char *)data + done, size - done};
		struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

		if (fd >= 0 && !done) {
			message.msg_control = control.bytes;
			message.msg_controllen = sizeof(control.bytes);
		}
		r = went(t, sendmsg(t->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT), POLLOUT,
			 &done);
	}
	return r;
}

/* The table of a file, as it came from the worker and was found to make sense. */
static int give_table(const struct talk *t, const struct import_file *file)
{
	struct import_table table = {.segment_count = file->facts.segment_count};
	struct image_unwind *unwind = NULL;
	struct buf bytes;

	buf_init(&bytes, IMPORT_TABLE_MAX);
	if (!image_worker_unwind(t->files.worker, file->fd, &unwind, NULL) &&
	    image_unwind_save(unwind, &bytes))
		buf_clear(&bytes);
	table.size = bytes.size;
	int r = give(t, &table, sizeof(table), file->fd);
	if (!r)
		r = give(t, file->facts.segments,
			 table.segment_count * sizeof(*file->facts.segments), -1);
	if (!r)
		r = give(t, bytes.data, bytes.size, -1);
	image_unwind_free(unwind);
	buf_free(&bytes);
	return r;
}

static int answer_unwind(struct talk *t)
{
	struct import_wanted wanted;
	struct harvest_image image;
	struct import_file file;
	struct import_table none = {.status = -ENOENT};
	int r = receive(t, &wanted, sizeof(wanted));

	if (r)
		return r;
	if (wanted.path_size > sizeof(wanted.path) || wanted.build_id_size > IMAGE_ID_MAX ||
	    (wanted.kind != HARVEST_FILE && wanted.kind != HARVEST_VDSO))
		return -EPIPE;
	image = (struct harvest_image){
		.kind = wanted.kind,
		.path = wanted.path,
		.path_size = wanted.path_size,
		.inode = wanted.inode,
		.build_id_size = wanted.build_id_size,
	};
	memcpy(image.build_id, wanted.build_id, wanted.build_id_size);
	if (!t->files.worker)
		t->files.worker = image_worker_new(NULL);
	if (!t->files.worker || t->asked++ == IMAGES_MAX ||
	    import_files_open(&t->files, &image, &file))
		return give(t, &none, sizeof(none), -1);
	r = give_table(t, &file);
	close(file.fd);
	return r;
}

static int receive_harvest(const struct talk *t, uint64_t size, struct buf *out)
{
	while (size) {
		size_t piece = size < (1u << 20) ? (size_t)size : 1u << 20;
		void *room = buf_reserve(out, piece);
		int r = room ? receive(t, room, piece) : out->error;

		if (r)
			return r;
		out->size += piece;
		size -= piece;
	}
	return 0;
}

static int take_end(const struct talk *t, const struct import_message *m, struct buf *out,
		    char cut[IMPORT_CUT_MAX], struct diag *diag)
{
	char text[sizeof(diag->text)];

	if (m->text_size >= sizeof(text) || m->cut_size >= IMPORT_CUT_MAX || m->status > 0)
		return -EPIPE;
	int r = receive(t, text, m->text_size);
	if (!r)
		r = receive(t, cut, m->cut_size);
	if (r)
		return r;
	text[m->text_size] = cut[m->cut_size] = 0;
	if (m->status)
		return diag_fail(diag, -m->status, "%s", text[0] ? text : "out of memory");
	return receive_harvest(t, m->size, out);
}

/* Everything that the child says, up to its end. */
static int listen_to(struct talk *t, struct buf *out, char cut[IMPORT_CUT_MAX], struct diag *diag)
{
	struct import_message m;
	int r = 0;

	while (!r) {
		r = receive(t, &m, sizeof(m));
		if (r)
			break;
		if (m.kind == IMPORT_DONE)
			return take_end(t, &m, out, cut, diag);
		if (m.kind == IMPORT_PROGRESS) {
			t->done = m.done;
			t->of = m.of;
			r = tell(t);
		} else {
			r = m.kind == IMPORT_UNWIND ? answer_unwind(t) : -EPIPE;
		}
	}
	return r;
}

static int explain_end(int status, struct diag *diag)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) > WORKER_EXIT_UNSAFE)
		return diag_fail(diag, EPERM,
				 "the process that reads the file cannot be confined (step %d)",
				 WEXITSTATUS(status) - WORKER_EXIT_UNSAFE);
	if (WIFSIGNALED(status))
		return diag_fail(diag, EBADMSG, "reading it ended by signal %d (%s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	return diag_fail(diag, EBADMSG, "the process that reads it gave an invalid answer");
}

int import_read(const struct import_source *source, struct buf *out, char cut[IMPORT_CUT_MAX],
		struct diag *diag)
{
	struct talk t = {.source = source,
			 .files = {.root = source->root, .end_ns = source->end_ns}};
	int pair[2], input, status = 0, r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return diag_fail(diag, errno, "cannot start reading: %s", strerror(errno));
	/* Out of the way of the numbers that the child gives them. */
	input = fcntl(source->fd, F_DUPFD_CLOEXEC, 10);
	r = input < 0 ? -errno : spawn(input, pair[1], source, &pid);
	close(pair[1]);
	if (input >= 0)
		close(input);
	if (r) {
		close(pair[0]);
		return diag_fail(diag, -r, "cannot start reading: %s", strerror(-r));
	}
	t.socket = pair[0];
	r = listen_to(&t, out, cut, diag);
	image_worker_free(t.files.worker);
	close(pair[0]);
	if (r)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r == -EPIPE ? explain_end(status, diag) : r;
}
