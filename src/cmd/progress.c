/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "cmd/pager.h"
#include "util/clock.h"
#include "util/text.h"

#define SILENT_NS 1000000000ull /* most work is done by then */
#define PAUSE_NS  100000000ull	/* between pictures */
#define LINE_MAX  256		/* columns */
#define ERASE	  "\r\033[K"
#define WHO	  "culprit: "

static uint64_t began_ns, last_ns;
static bool shown;

/* Columns that a line may fill without a wrap; 0: nothing can be drawn over. */
static size_t measure_room(int fd)
{
	const char *terminal = getenv("TERM");
	struct winsize size;

	if (fd < 0 || !terminal || !strcmp(terminal, "dumb"))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return 79;
	return size.ws_col < LINE_MAX ? size.ws_col - 1u : LINE_MAX - 1u;
}

void progress_show(const char *format, ...)
{
	char text[4 * LINE_MAX] = WHO, line[4 * LINE_MAX + sizeof(ERASE)];
	uint64_t now = clock_monotonic_ns();
	int fd = pager_terminal_fd();
	size_t room, size;
	va_list list;

	if (!began_ns)
		began_ns = now;
	if (now - began_ns < SILENT_NS || now - last_ns < PAUSE_NS)
		return;
	room = measure_room(fd);
	if (!room)
		return;
	last_ns = now;
	va_start(list, format);
	vsnprintf(text + strlen(WHO), sizeof(text) - strlen(WHO), format, list);
	va_end(list);
	size = strlen(text);
	do
		text_escape(line, sizeof(line) - sizeof(ERASE), text, size);
	while (size && text_width(line) > room && size--);
	memmove(line + strlen(ERASE), line, strlen(line) + 1);
	memcpy(line, ERASE, strlen(ERASE));
	shown = write(fd, line, strlen(line)) > 0;
}

void progress_clear(void)
{
	if (shown && write(pager_terminal_fd(), ERASE, strlen(ERASE)) < 0)
		return;
	shown = false;
}
