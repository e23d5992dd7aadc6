/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/event_tracepoint.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "collect/host/host.h"

static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

const char *event_tracepoint_folder(const char *root, int *ret_denied)
{
	*ret_denied = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s%s/events", root, folders[i]);
		if (!access(path, R_OK | X_OK))
			return folders[i];
		if (errno == EACCES || errno == EPERM)
			*ret_denied = 1;
	}
	return NULL;
}

int event_tracepoint_encode(const char *root, const char *name, struct perf_event_attr *attr,
			    struct diag *diag)
{
	const char *colon = strchr(name, ':'), *folder;
	char path[PATH_MAX];
	int denied, r;
	long long id;

	if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':') || strchr(name, '/') ||
	    name[0] == '.' || colon[1] == '.')
		return -ENOENT;
	folder = event_tracepoint_folder(root, &denied);
	if (!folder && denied)
		return diag_fail(diag, EACCES,
				 "tracepoint '%s': tracefs may not be read; run as root, or: sudo "
				 "mount -o remount,mode=755 /sys/kernel/tracing",
				 name);
	if (!folder)
		return diag_fail(diag, EOPNOTSUPP,
				 "tracepoint '%s': tracefs is not mounted; run: sudo mount -t "
				 "tracefs nodev /sys/kernel/tracing",
				 name);
	if (snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", folder, (int)(colon - name), name,
		     colon + 1) >= (int)sizeof(path))
		return -ENOENT;
	r = host_read_number(root, path, &id);
	if (r == -EACCES || r == -EPERM)
		return diag_fail(diag, EACCES, "tracepoint '%s': %s may not be read; run as root",
				 name, path);
	if (r)
		return -ENOENT;
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = (uint64_t)id;
	return 0;
}

void event_tracepoint_each(const char *root, void (*f)(void *arg, const char *name), void *arg)
{
	int denied;
	const char *folder = event_tracepoint_folder(root, &denied);
	char path[PATH_MAX], name[2 * NAME_MAX + 2];
	DIR *systems, *points;

	if (!folder || snprintf(path, sizeof(path), "%s%s/events", root, folder) < 0 ||
	    !(systems = opendir(path)))
		return;
	for (struct dirent *s; (s = readdir(systems));) {
		if (s->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s%s/events/%s", root, folder, s->d_name) >=
			    (int)sizeof(path) ||
		    !(points = opendir(path)))
			continue;
		for (struct dirent *p; (p = readdir(points));) {
			if (p->d_name[0] == '.' || p->d_type != DT_DIR)
				continue;
			snprintf(name, sizeof(name), "%s:%s", s->d_name, p->d_name);
			f(arg, name);
		}
		closedir(points);
	}
	closedir(systems);
}
