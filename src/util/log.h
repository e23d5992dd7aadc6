/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_LOG_H
#define CULPRIT_UTIL_LOG_H

#include <stdbool.h>

/*
 * Messages of the long-running commands to stderr, one line each, with systemd's <N> priority
 * prefix when stderr is the journal. Only collect/session and cmd/ write them: no other part of the
 * library does.
 */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_NOTICE };

/* Whether stderr is connected to the journal, so that lines must begin with their priority, <N>. */
bool log_goes_to_journal(void);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...)	 log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)

#endif
