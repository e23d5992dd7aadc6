/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_CFG_FILE_H
#define CULPRIT_TESTS_CFG_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "cfg/open.h"
#include "image/worker/worker.h"

/* The graphs of a file, as if it had been profiled. */
static inline int cfg_image_open_file(const char *path, struct cfg_image **ret, struct diag *diag)
{
	struct image_worker *worker = image_worker_new(NULL);
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = worker && fd >= 0 ? 0 : -ENOENT;
	struct image_finder *finder;
	struct image_facts facts;

	if (!r)
		r = image_worker_facts(worker, fd, &facts, diag);
	if (!r)
		r = image_finder_new(NULL, NULL, &finder);
	if (!r) {
		r = cfg_image_open(finder, &facts.id, path, ret, diag);
		image_finder_free(finder);
	}
	if (fd >= 0)
		close(fd);
	image_worker_free(worker);
	return r;
}

#endif
