/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include "util/text.h"

/* systemd.exec(5): JOURNAL_STREAM names the device and inode of the stream to the journal. */
bool log_goes_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

void log_write(enum log_level level, const char *format, ...)
{
	static const struct {
		int priority;
		const char *word;
	} levels[] = {
		[LOG_LEVEL_ERROR] = {LOG_ERR, "error: "},
		[LOG_LEVEL_WARNING] = {LOG_WARNING, "warning: "},
		[LOG_LEVEL_NOTICE] = {LOG_NOTICE, ""},
	};
	char raw[2048], line[4096];
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	if (log_goes_to_journal())
		n = (size_t)snprintf(line, sizeof(line), "<%d>", levels[level].priority);
	else
		n = (size_t)snprintf(line, sizeof(line), "culprit: %s", levels[level].word);
	text_escape_controls(line + n, sizeof(line) - n - 1, raw, strlen(raw));
	strcat(line, "\n");
	/* One write a line, so that lines of several processes do not mix. */
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return; /* nowhere left to say so */
}
