/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/import.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "exchange/readers.h"
#include "image/worker_jail.h"
#include "util/hash.h"
#include "util/io.h"
#include "util/num.h"

#define NAME		     "culprit-import-worker"
#define MEMORY_BYTES_DEFAULT (UINT64_C(4) << 30)
#define HARVEST_BYTES_MAX    (UINT64_C(2) << 30)
#define INPUT		     0

/* Then the text, the reason it is not all, and the harvest. */
struct reply {
	int32_t status;
	uint32_t text_size, cut_size;
	uint64_t size;
};

/* What the input begins with; of a pipe nothing can be put back, so in keeps it. */
static ssize_t look(struct reading *in, uint8_t start[READER_START_BYTES], struct diag *diag)
{
	struct stat st;
	ssize_t n;

	if (fstat(INPUT, &st))
		return diag_fail(diag, errno, "cannot read: %s", strerror(errno));
	if (S_ISREG(st.st_mode)) {
		n = io_pread(INPUT, start, READER_START_BYTES, 0);
	} else {
		n = io_read(INPUT, start, READER_START_BYTES);
		in->start = start;
		in->start_size = n < 0 ? 0 : (size_t)n;
	}
	if (n < 0)
		return diag_fail(diag, (int)-n, "cannot read: %s", strerror((int)-n));
	in->key = hash_u64((uint64_t)st.st_ino ^ hash_u64((uint64_t)st.st_dev) ^
			   (uint64_t)st.st_size << 20 ^ (uint64_t)st.st_mtim.tv_nsec);
	return n;
}

static int read_input(const char *format, const char *program, struct harvest *h, char *cut,
		      struct diag *diag)
{
	struct reading in = {.fd = INPUT, .cut = cut, .program = *program ? program : NULL};
	uint8_t start[READER_START_BYTES];
	reader *read_form;
	ssize_t size = look(&in, start, diag);
	int r = size < 0 ? (int)size
			 : reader_choose(*format ? format : NULL, start, (size_t)size, &read_form,
					 diag);

	return r ? r : read_form(&in, h, diag);
}

static int serve(const char *format, const char *program)
{
	char cut[READING_CUT_MAX] = "";
	struct diag diag = {""};
	struct harvest *h = harvest_new();
	struct reply reply = {0};
	struct buf bytes;

	buf_init(&bytes, HARVEST_BYTES_MAX);
	reply.status = h ? read_input(format, program, h, cut, &diag) : -ENOMEM;
	if (!reply.status)
		harvest_save(h, &bytes);
	if (bytes.error)
		reply.status = diag_fail(&diag, -bytes.error, "it holds more than one import can");
	if (reply.status)
		buf_clear(&bytes);
	reply.text_size = (uint32_t)strlen(diag.text);
	reply.cut_size = (uint32_t)strlen(cut);
	reply.size = bytes.size;
	return !(worker_jail_send(&reply, sizeof(reply)) &&
		 worker_jail_send(diag.text, reply.text_size) &&
		 worker_jail_send(cut, reply.cut_size) && worker_jail_send(bytes.data, bytes.size));
}

void import_dispatch(int argc, char **argv)
{
	uint64_t memory;
	int step;

	if (argc != 4 || strcmp(argv[0], NAME) || num_parse_u64(argv[1], &memory))
		return;
	step = worker_jail_enter(memory);
	_exit(step ? WORKER_EXIT_UNSAFE + step : serve(argv[2], argv[3]));
}

static int spawn(int input, int socket, const struct import_source *source, pid_t *ret)
{
	char memory[24];
	char *argv[] = {(char *)NAME, memory, (char *)(source->format ? source->format : ""),
			(char *)(source->program ? source->program : ""), NULL};
	char *envp[] = {(char *)"LC_ALL=C", (char *)"ASAN_OPTIONS=detect_leaks=0", NULL};
	posix_spawn_file_actions_t files;
	int r;

	snprintf(memory, sizeof(memory), "%llu",
		 (unsigned long long)(source->memory_bytes ? source->memory_bytes
							   : MEMORY_BYTES_DEFAULT));
	posix_spawn_file_actions_init(&files);
	/* input has a number above all that are given here. */
	r = posix_spawn_file_actions_adddup2(&files, input, INPUT);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&files, socket, WORKER_SOCKET);
	for (int fd = INPUT + 1; !r && fd < WORKER_SOCKET; fd++)
		r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	if (!r)
		r = posix_spawn(ret, "/proc/self/exe", &files, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

static int receive(int socket, void *out, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(socket, (char *)out + done, size - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

static int receive_harvest(int socket, uint64_t size, struct buf *out)
{
	while (size) {
		size_t piece = size < (1u << 20) ? (size_t)size : 1u << 20;
		void *room = buf_reserve(out, piece);

		if (!room)
			return out->error;
		if (receive(socket, room, piece))
			return -EPIPE;
		out->size += piece;
		size -= piece;
	}
	return 0;
}

static int take_reply(int socket, struct buf *out, char cut[IMPORT_CUT_MAX], struct diag *diag)
{
	struct reply reply;
	char text[sizeof(diag->text)];

	if (receive(socket, &reply, sizeof(reply)))
		return -EPIPE;
	if (reply.text_size >= sizeof(text) || reply.cut_size >= IMPORT_CUT_MAX || reply.status > 0)
		return -EPIPE;
	if (receive(socket, text, reply.text_size) || receive(socket, cut, reply.cut_size))
		return -EPIPE;
	text[reply.text_size] = cut[reply.cut_size] = 0;
	if (reply.status)
		return diag_fail(diag, -reply.status, "%s", text[0] ? text : "out of memory");
	return receive_harvest(socket, reply.size, out);
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
	return diag_fail(diag, EBADMSG, "the process that reads it answered nonsense");
}

int import_read(const struct import_source *source, struct buf *out, char cut[IMPORT_CUT_MAX],
		struct diag *diag)
{
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
	r = take_reply(pair[0], out, cut, diag);
	close(pair[0]);
	if (r)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r == -EPIPE ? explain_end(status, diag) : r;
}
