/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_FIND_HELP_H
#define CULPRIT_TESTS_FIND_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "db/blob.h"
#include "image/facts.h"
#include "find/find.h"
#include "find/finder.h"
#include "image/kernel/kernel.h"
#include "image/lines_new.h"
#include "workshop.h"

/* Finders of files in the workshop. */

static const char machine[] = "0123456789abcdef0123456789abcdef";

static char path[256], db[256];

static struct image_id identity(const char *name)
{
	struct image_facts facts;
	int fd = workshop_open(name);
	assert_true(fd >= 0);
	assert_int_equal(image_facts_read(fd, &facts, NULL), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/%s", workshop_dir, name);
	snprintf(db, sizeof(db), "%s/db", workshop_dir);
	return facts.id;
}

static struct image_finder *finder(const char *db_path)
{
	struct image_finder *f;
	assert_int_equal(image_finder_new(db_path, db_path ? machine : NULL, &f), 0);
	char root[256];
	snprintf(root, sizeof(root), "%s/debug", workshop_dir);
	assert_int_equal(image_finder_set_debug_root(f, root), 0);
	return f;
}

#endif
