/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Makes a flame graph's page of stacks on stdin, for tests and benchmarks: lines
 * "function@image;function@image COUNT...", sorted, from the outermost frame in; a count for each
 * event. \xNN stands for a byte.
 *
 *	mkflame EVENT... <stacks >page.html
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "render/flame.h"

#define DEPTH_MAX  1024
#define EVENTS_MAX 8

static void stop(const char *what)
{
	fprintf(stderr, "mkflame: %s\n", what);
	exit(1);
}

static void unescape(char *text)
{
	char *to = text;
	unsigned byte;

	for (; *text; text++) {
		if (text[0] == '\\' && sscanf(text + 1, "x%2x", &byte) == 1) {
			*to++ = (char)byte;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

static uint32_t add_function(struct flame *f, char *name)
{
	struct flame_function function = {.name = name};
	char *at = strrchr(name, '@');
	uint32_t number;

	if (at) {
		*at = 0;
		function.image = at + 1;
		function.kind = !strcmp(at + 1, "[kernel]") ? FLAME_KERNEL : FLAME_USER;
	}
	unescape(name);
	if (flame_add_function(f, &function, &number))
		stop("cannot add a function");
	return number;
}

/* Adds what this stack does not have in common with the one before. */
static void add_stack(struct flame *f, char *line, size_t event_count)
{
	static uint32_t path[DEPTH_MAX];
	static size_t path_size;
	uint64_t samples[EVENTS_MAX] = {0}, none[EVENTS_MAX] = {0};
	uint32_t stack[DEPTH_MAX];
	size_t size = 0, shared = 0;
	char *space, *name;

	for (size_t i = event_count; i-- > 0;) {
		space = strrchr(line, ' ');
		if (!space)
			stop("a line lacks a count");
		samples[i] = strtoull(space + 1, NULL, 10);
		*space = 0;
	}
	while ((name = strsep(&line, ";")) && size < DEPTH_MAX)
		stack[size++] = add_function(f, name);
	while (shared < size && shared < path_size && stack[shared] == path[shared])
		shared++;
	if (shared == size)
		stop("the stacks are not sorted");
	for (size_t i = shared; i < size; i++) {
		if (flame_add_context(f, (uint32_t)i, stack[i], i + 1 < size ? none : samples))
			stop("cannot add a context");
		path[i] = stack[i];
	}
	path_size = size;
}

int main(int argc, char **argv)
{
	char *notes[] = {"made of stacks on stdin"};
	struct report_header h = {.notes = notes, .note_count = 1};
	const struct flame_look look = {"mkflame", "stacks on stdin", false};
	size_t event_count = (size_t)argc - 1, room = 0;
	struct flame *f;
	char *line = NULL;

	if (event_count > EVENTS_MAX || flame_new(event_count, &f))
		stop("usage: mkflame EVENT...");
	for (size_t i = 0; i < event_count; i++)
		flame_add_event(f, argv[i + 1], i ? 0 : 1e7);
	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = 0;
		add_stack(f, line, event_count);
	}
	if (flame_write(f, &look, &h, stdout))
		stop("cannot write");
	flame_free(f);
	free(line);
	return 0;
}
