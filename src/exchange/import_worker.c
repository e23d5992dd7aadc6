/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "exchange/import_talk.h"
#include "exchange/readers.h"
#include "image/worker/worker_jail.h"
#include "util/hash.h"
#include "util/io.h"
#include "util/num.h"

#define HARVEST_BYTES_MAX (UINT64_C(2) << 30)

/* What the input begins with; of a pipe nothing can be put back, so in keeps it. */
static ssize_t look(struct reading *in, uint8_t start[READER_START_BYTES], struct diag *diag)
{
	struct stat st;
	ssize_t n;

	if (fstat(IMPORT_INPUT, &st))
		return diag_fail(diag, errno, "cannot read: %s", strerror(errno));
	if (S_ISREG(st.st_mode)) {
		n = io_pread(IMPORT_INPUT, start, READER_START_BYTES, 0);
	} else {
		n = io_read(IMPORT_INPUT, start, READER_START_BYTES);
		in->start = start;
		in->start_size = n < 0 ? 0 : (size_t)n;
	}
	if (n < 0)
		return diag_fail(diag, (int)-n, "cannot read: %s", strerror((int)-n));
	in->key = hash_u64((uint64_t)st.st_ino ^ hash_u64((uint64_t)st.st_dev) ^
			   (uint64_t)st.st_size << 20 ^ (uint64_t)st.st_mtim.tv_nsec);
	return n;
}

/* All of it from the parent, with the descriptor that comes with it, -1: none. */
static bool receive(void *out, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;

	for (size_t done = 0; done < size;) {
		struct iovec iov = {(char *)out + done, size - done};
		struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
		struct cmsghdr *c;
		ssize_t n;

		if (ret_fd) {
			message.msg_control = control.bytes;
			message.msg_controllen = sizeof(control);
		}
		n = recvmsg(WORKER_SOCKET, &message, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		c = ret_fd ? CMSG_FIRSTHDR(&message) : NULL;
		if (c && c->cmsg_type == SCM_RIGHTS)
			memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
		done += (size_t)n;
	}
	return true;
}

/* Into what the reader may look at it as. */
static int take_code(const struct import_table *table, int fd, struct reading_code *ret)
{
	size_t segments = table->segment_count * sizeof(*ret->segments);
	struct stat st;
	struct buf bytes;
	int r = 0;

	if (table->segment_count > IMAGE_SEGMENTS_MAX || table->size > IMPORT_TABLE_MAX)
		return -EBADMSG;
	buf_init(&bytes, IMPORT_TABLE_MAX);
	ret->segments = malloc(segments + 1);
	ret->segment_count = table->segment_count;
	if (!ret->segments || !buf_reserve(&bytes, table->size + 1))
		r = -ENOMEM;
	else if (!receive(ret->segments, segments, NULL) || !receive(bytes.data, table->size, NULL))
		r = -EPIPE;
	else if (table->size)
		r = image_unwind_load(bytes.data, table->size, &ret->unwind);
	if (!r && fd >= 0 && !fstat(fd, &st) && st.st_size > 0) {
		void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE,
				  fd, 0);

		ret->file = file == MAP_FAILED ? NULL : file;
		ret->file_size = file == MAP_FAILED ? 0 : (size_t)st.st_size;
	}
	buf_free(&bytes);
	return r;
}

static int find_code(void *arg, const struct harvest_image *image, struct reading_code *ret)
{
	struct import_message message = {.kind = IMPORT_UNWIND};
	struct import_wanted wanted = {
		.kind = image->kind,
		.path_size = (uint32_t)image->path_size,
		.inode = image->inode,
		.build_id_size = image->build_id_size,
	};
	struct import_table table;
	int fd = -1, r;

	(void)arg;
	memcpy(wanted.build_id, image->build_id, image->build_id_size);
	memcpy(wanted.path, image->path, image->path_size);
	if (!worker_jail_send(&message, sizeof(message)) ||
	    !worker_jail_send(&wanted, sizeof(wanted)) || !receive(&table, sizeof(table), &fd))
		return -EPIPE;
	*ret = (struct reading_code){0};
	r = table.status ? table.status : take_code(&table, fd, ret);
	if (fd >= 0)
		close(fd);
	if (r)
		reading_code_free(ret);
	return r;
}

static void tell_progress(void *arg, uint64_t done, uint64_t of)
{
	struct import_message message = {.kind = IMPORT_PROGRESS, .done = done, .of = of};

	(void)arg;
	worker_jail_send(&message, sizeof(message));
}

/* What follows the name and the limit of memory on the worker's command line. */
struct wish {
	const char *format, *program, *raw;
};

static int read_input(const struct wish *wish, struct harvest *h, char *cut, struct diag *diag)
{
	static const struct reading_host host = {.find_code = find_code, .progress = tell_progress};
	struct reading in = {.fd = IMPORT_INPUT,
			     .cut = cut,
			     .program = *wish->program ? wish->program : NULL,
			     .keep_raw = !strcmp(wish->raw, IMPORT_KEEP_RAW),
			     .host = &host};
	uint8_t start[READER_START_BYTES];
	reader *read_form;
	ssize_t size = look(&in, start, diag);
	int r = size < 0 ? (int)size
			 : reader_choose(*wish->format ? wish->format : NULL, start, (size_t)size,
					 &read_form, diag);

	return r ? r : read_form(&in, h, diag);
}

static int serve(const struct wish *wish)
{
	char cut[READING_CUT_MAX] = "";
	struct diag diag = {""};
	struct harvest *h = harvest_new();
	struct import_message reply = {.kind = IMPORT_DONE};
	struct buf bytes;

	buf_init(&bytes, HARVEST_BYTES_MAX);
	reply.status = h ? read_input(wish, h, cut, &diag) : -ENOMEM;
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

	if (argc != 5 || strcmp(argv[0], IMPORT_WORKER_NAME) || num_parse_u64(argv[1], &memory))
		return;
	step = worker_jail_enter(memory);
	_exit(step ? WORKER_EXIT_UNSAFE + step : serve(&(struct wish){argv[2], argv[3], argv[4]}));
}
