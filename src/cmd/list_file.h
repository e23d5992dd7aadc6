/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_LIST_FILE_H
#define CULPRIT_CMD_LIST_FILE_H

#include "cmd/list_hot.h"
#include "cmd/metrics.h"
#include "cmd/report.h"

/*
 * culprit list --file: a whole source file, with the samples of each line, of all functions and
 * images that have code of it. name: its path as debug information has it, or the end of that.
 * Returns an exit status, or -ENOENT: no samples in such a file, -EEXIST: it may be any of several,
 * others as of report_open, query_read and rank_new.
 */
int list_file_show(struct report_options *o, const struct metrics *metrics, struct list_hot *hot,
		   const char *name, struct diag *diag);

#endif
