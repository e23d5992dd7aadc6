/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/foreign.h"
#include "util/hash.h"
#include "util/io.h"

#define TAB_COLUMNS    8
#define LINE_MAX_BYTES 1024 /* shown of one line */

#define MD5_BYTES 16

/* Of libiberty, which comes without its header. The digest is aligned as 32-bit numbers. */
void *md5_buffer(const char *text, size_t size, void *digest);

struct source_file {
	char *text;
	size_t size;
	uint32_t *starts; /* of line i + 1; line_count + 1 of them */
	uint32_t line_count;
	uint64_t written_ns; /* since 1970 */
	bool has_md5;
	_Alignas(uint32_t) uint8_t md5[MD5_BYTES];
	struct diag why;
};

struct sources {
	struct intern *paths;
	struct source_file *files[SOURCE_MAX_FILES];
	char line[LINE_MAX_BYTES + TAB_COLUMNS + 4];
};

struct sources *sources_new(void)
{
	struct sources *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->paths = intern_new(SOURCE_MAX_FILES);
	if (!s->paths) {
		free(s);
		return NULL;
	}
	return s;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < intern_count(s->paths); i++) {
		if (!s->files[i])
			continue;
		free(s->files[i]->text);
		free(s->files[i]->starts);
		free(s->files[i]);
	}
	intern_free(s->paths);
	free(s);
}

static int index_lines(struct source_file *file)
{
	uint32_t count = 0;

	for (size_t i = 0; i < file->size; i++)
		count += file->text[i] == '\n';
	if (file->size && file->text[file->size - 1] != '\n')
		count++;
	file->starts = reallocarray(NULL, count + 1, sizeof(*file->starts));
	if (!file->starts)
		return -ENOMEM;
	uint32_t n = 0;
	size_t at = 0;
	while (n < count) {
		file->starts[n++] = (uint32_t)at;
		const char *end = memchr(file->text + at, '\n', file->size - at);
		at = end ? (size_t)(end - file->text) + 1 : file->size;
	}
	file->starts[count] = (uint32_t)file->size;
	file->line_count = count;
	return 0;
}

/* Only a regular file: a path from debug information may name a device or a FIFO. */
static int read_file(struct source_file *file, const char *path)
{
	struct stat st;

	if (path[0] != '/')
		return diag_fail(&file->why, ENOENT, "%s: its directory is not recorded", path);
	int fd = foreign_open(path, &st);
	if (fd < 0 && fd != -EBADMSG)
		return diag_fail(&file->why, -fd, "%s: %s", path, strerror(-fd));
	if (fd < 0 || st.st_size > SOURCE_MAX_BYTES) {
		if (fd >= 0)
			close(fd);
		return diag_fail(&file->why, EINVAL, "%s: not a regular file of at most %u MB",
				 path, SOURCE_MAX_BYTES >> 20);
	}
	file->size = (size_t)st.st_size;
	file->written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	file->text = malloc(file->size + 1);
	int r = file->text ? io_read_all(&io_system, fd, file->text, file->size, 0) : -ENOMEM;
	close(fd);
	if (!r)
		r = index_lines(file);
	if (r < 0)
		return diag_fail(&file->why, -r, "%s: %s", path, strerror(-r));
	return 0;
}

static struct source_file *find_file(struct sources *s, const char *path, struct diag *diag)
{
	uint32_t index;

	if (intern_add(s->paths, path, strlen(path), &index) < 0) {
		diag_fail(diag, ENOSPC, "more than %d source files", SOURCE_MAX_FILES);
		return NULL;
	}
	if (!s->files[index]) {
		s->files[index] = calloc(1, sizeof(*s->files[index]));
		if (!s->files[index])
			return NULL;
		read_file(s->files[index], path);
	}
	return s->files[index];
}

static const char *expand(struct sources *s, const char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size && n < LINE_MAX_BYTES; i++) {
		if (text[i] == '\t')
			do
				s->line[n++] = ' ';
			while (n % TAB_COLUMNS);
		else if (text[i] != '\r' && text[i] != 0)
			s->line[n++] = text[i];
	}
	if (n >= LINE_MAX_BYTES) {
		memcpy(s->line + LINE_MAX_BYTES, "...", 4);
		return s->line;
	}
	s->line[n] = 0;
	return s->line;
}

const char *sources_line(struct sources *s, const char *path, uint32_t line, struct diag *diag)
{
	struct source_file *file = find_file(s, path, diag);

	if (!file)
		return NULL;
	if (line == 0 || line > file->line_count) {
		if (file->why.text[0])
			diag_fail(diag, ENOENT, "%s", file->why.text);
		else
			diag_fail(diag, ENOENT, "%s has no line %u: it has changed", path, line);
		return NULL;
	}
	size_t start = file->starts[line - 1], end = file->starts[line];
	if (end > start && file->text[end - 1] == '\n')
		end--;
	return expand(s, file->text + start, end - start);
}

const char *sources_problem(const struct sources *s, const char *path)
{
	uint32_t index;

	if (intern_find(s->paths, path, strlen(path), &index) < 0 || !s->files[index])
		return "";
	return s->files[index]->why.text;
}

static const uint8_t *md5_of(struct source_file *file)
{
	if (!file->has_md5)
		md5_buffer(file->text, file->size, file->md5);
	file->has_md5 = true;
	return file->md5;
}

enum source_age sources_age(struct sources *s, const char *path, const uint8_t *md5,
			    uint64_t built_ns)
{
	struct source_file *file = find_file(s, path, NULL);

	if (!file || !file->line_count)
		return SOURCE_AS_BUILT;
	if (md5)
		return memcmp(md5_of(file), md5, MD5_BYTES) == 0 ? SOURCE_AS_BUILT : SOURCE_DIFFERS;
	return built_ns && file->written_ns > built_ns ? SOURCE_NEWER : SOURCE_AS_BUILT;
}

const char *source_age_name(enum source_age age)
{
	static const char *const names[] = {NULL, "newer", "differs"};

	return names[age];
}

void source_age_describe(enum source_age age, const char *path, char *ret, size_t room)
{
	snprintf(ret, room, "%s %s: the source shown may not be what ran", path,
		 age == SOURCE_DIFFERS
			 ? "is not the file that the program was compiled from (its MD5 differs)"
			 : "was changed after the program was built");
}
