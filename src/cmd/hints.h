/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_HINTS_H
#define CULPRIT_CMD_HINTS_H

/*
 * What users of perf try first, and how it is done here. Each is half a sentence, static, to be put
 * after what is wrong; NULL: none.
 */

/* For an option that a subcommand does not have: "-g", "--call-graph". */
const char *hints_option(const char *command, const char *option);
/* For a subcommand that does not exist. */
const char *hints_command(const char *name);
/* For a column that --sort does not know. */
const char *hints_sort(const char *column);

#endif
