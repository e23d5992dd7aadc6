/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/seal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/chunk.h"
#include "util/array.h"

/*
 *	culprit seal, version 1
 *	clock NS BOOT_NS BOOT_ID
 *	file NAME BYTES SAMPLES SUM
 *	...
 *	sum SUM
 */
#define SEAL_TITLE     "culprit seal, version 1\n"
#define SEAL_FILES_MAX (1u << 18)
#define SEAL_BYTES_MAX ((size_t)SEAL_FILES_MAX * 128)
#define SEAL_SUM_SIZE  21 /* "sum ", 16 digits, line end */

void seal_free(struct seal *s)
{
	free(s->files);
	*s = (struct seal){0};
}

static int compare_files(const void *a, const void *b)
{
	const struct seal_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

const struct seal_file *seal_find(const struct seal *s, const char *name)
{
	struct seal_file key;

	if (!s->count || strlen(name) >= sizeof(key.name))
		return NULL;
	strcpy(key.name, name);
	return bsearch(&key, s->files, s->count, sizeof(key), compare_files);
}

bool seal_fits(const struct seal_file *f, const struct pack *p)
{
	/* What cannot be told because of damage is told as that. */
	return !f->sum || !p->index_end || (f->bytes == p->size && f->sum == p->index_sum);
}

static int file_add(struct seal *s, const struct seal_file *f)
{
	if (s->count >= SEAL_FILES_MAX)
		return -EFBIG;
	if (array_grow_short(&s->files, s->count, sizeof(*s->files)))
		return -ENOMEM;
	s->files[s->count++] = *f;
	return 0;
}

int seal_add(struct seal *s, const struct io *io, int epoch_fd, const char *name)
{
	struct seal_file f = {0};
	struct pack *p;
	int r = pack_open(io, epoch_fd, name, name, NULL, NULL, &p, NULL);

	snprintf(f.name, sizeof(f.name), "%s", name);
	if (r == -EPROTONOSUPPORT || r == -EACCES || r == -EPERM) /* not ours to judge */
		return file_add(s, &f);
	if (r == -EBADMSG || layout_is_stray(r))
		return 0;
	if (r < 0)
		return r;
	f.bytes = p->size;
	f.samples = p->catalog.samples;
	f.sum = p->index_end ? p->index_sum : 0;
	pack_close(p);
	return file_add(s, &f);
}

static int put_seal(const struct io *io, int epoch_fd, const struct buf *text)
{
	return io_replace_file(io, epoch_fd, LAYOUT_SEALED, text->data, text->size, 0640);
}

int seal_write(const struct io *io, int epoch_fd, struct seal *s)
{
	struct buf text;

	array_sort(s->files, s->count, sizeof(*s->files), compare_files);

	buf_init(&text, SEAL_BYTES_MAX);
	buf_printf(&text, SEAL_TITLE "clock %" PRIu64 " %" PRIu64 " %s\n", s->clock.ns,
		   s->clock.last.boot_ns, *s->clock.last.boot_id ? s->clock.last.boot_id : "-");
	for (size_t i = 0; i < s->count; i++)
		buf_printf(&text, "file %s %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n",
			   s->files[i].name, s->files[i].bytes, s->files[i].samples,
			   s->files[i].sum);
	if (!text.error)
		buf_printf(&text, "sum %016" PRIx64 "\n", chunk_sum(text.data, text.size));
	int r = text.error ? text.error : put_seal(io, epoch_fd, &text);
	if (r == -EISDIR)
		r = layout_make_way(io, epoch_fd, LAYOUT_SEALED) ?: put_seal(io, epoch_fd, &text);
	buf_free(&text);
	return r;
}

static int line_parse(struct seal *s, const char *line)
{
	struct seal_file f = {0};
	uint32_t number, upto;

	if (sscanf(line, "clock %" SCNu64 " %" SCNu64 " %36s", &s->clock.ns, &s->clock.last.boot_ns,
		   s->clock.last.boot_id) == 3) {
		if (!strcmp(s->clock.last.boot_id, "-"))
			*s->clock.last.boot_id = 0;
		return 0;
	}
	if (sscanf(line, "file %63s %" SCNu64 " %" SCNu64 " %16" SCNx64, f.name, &f.bytes,
		   &f.samples, &f.sum) != 4 ||
	    (!layout_parse_segment(f.name, &number) && !layout_parse_base(f.name, &number, &upto)))
		return -EBADMSG;
	return file_add(s, &f);
}

/* text ends with a zero byte; it is taken apart. */
static int seal_parse(char *text, size_t size, struct seal *ret)
{
	char sum[SEAL_SUM_SIZE + 1];
	char *at, *end, *next;
	int r = 0;

	if (size < strlen(SEAL_TITLE) + SEAL_SUM_SIZE || memchr(text, 0, size) ||
	    strncmp(text, SEAL_TITLE, strlen(SEAL_TITLE)) != 0)
		return -EBADMSG;
	end = text + size - SEAL_SUM_SIZE;
	ret->sum = chunk_sum(text, size - SEAL_SUM_SIZE);
	snprintf(sum, sizeof(sum), "sum %016" PRIx64 "\n", ret->sum);
	if (strcmp(end, sum) != 0)
		return -EBADMSG;
	for (at = text + strlen(SEAL_TITLE); at < end && r == 0; at = next) {
		next = at + strcspn(at, "\n");
		*next++ = 0;
		r = line_parse(ret, at);
	}
	if (r == 0 && ret->count)
		array_sort(ret->files, ret->count, sizeof(*ret->files), compare_files);
	return r;
}

int seal_read(const struct io *io, int epoch_fd, struct seal *ret)
{
	struct seal s = {0};
	int fd = layout_open_file(io, epoch_fd, LAYOUT_SEALED), r;
	struct stat st;
	char *text;

	if (fd < 0)
		return layout_is_stray(fd) ? -EBADMSG : fd;
	r = io->stat(io->arg, fd, &st);
	if (r == 0 && (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > SEAL_BYTES_MAX))
		r = -EBADMSG;
	text = r < 0 ? NULL : malloc((size_t)st.st_size + 1);
	if (r == 0 && !text)
		r = -ENOMEM;
	if (r == 0)
		r = io_read_all(io, fd, text, (size_t)st.st_size, 0);
	io->close(io->arg, fd);
	if (r == 0) {
		text[st.st_size] = 0;
		r = seal_parse(text, (size_t)st.st_size, &s);
	}
	free(text);
	if (r < 0)
		seal_free(&s);
	else
		*ret = s;
	return r;
}
