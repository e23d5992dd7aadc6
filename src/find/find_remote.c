/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "find/finder.h"

struct debuginfod {
	debuginfod_client *client; /* NULL: there is no library, or it failed */
	void *library;
	__typeof__(&debuginfod_find_debuginfo) find_debuginfo, find_executable;
	__typeof__(&debuginfod_end) end;
};

static struct debuginfod *client_new(void)
{
	struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->library = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!d->library)
		return d;
	__typeof__(&debuginfod_begin) begin;
	begin = (__typeof__(begin))dlsym(d->library, "debuginfod_begin");
	d->end = (__typeof__(d->end))dlsym(d->library, "debuginfod_end");
	d->find_debuginfo =
		(__typeof__(d->find_debuginfo))dlsym(d->library, "debuginfod_find_debuginfo");
	d->find_executable =
		(__typeof__(d->find_executable))dlsym(d->library, "debuginfod_find_executable");
	if (begin && d->end && d->find_debuginfo && d->find_executable)
		d->client = begin();
	return d;
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	free(d); /* the library stays: it may have started threads */
}

int debuginfod_fetch(struct debuginfod **client, const struct image_id *id, bool debug,
		     char **ret_path, struct diag *diag)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	char *path = NULL;

	if (!urls || !*urls || id->kind == IMAGE_CONTENT || id->size == 0)
		return diag_fail(diag, ENOENT, "no debuginfod server is configured");
	if (!*client)
		*client = client_new();
	if (!*client || !(*client)->client)
		return diag_fail(diag, ENOENT, "$%s is set but %s cannot be loaded",
				 DEBUGINFOD_URLS_ENV_VAR, DEBUGINFOD_SONAME);
	int fd = (debug ? (*client)->find_debuginfo : (*client)->find_executable)(
		(*client)->client, id->bytes, id->size, &path);
	if (fd < 0)
		return diag_fail(diag, ENOENT, "debuginfod: %s", strerror(-fd));
	*ret_path = path;
	return fd;
}
