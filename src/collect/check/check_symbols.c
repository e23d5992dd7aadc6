/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/check/check.h"
#include "collect/host/host.h"

/* Variables of each CPU come first if the kernel has them at address 0, and the first are there. */
static bool has_address(const char *text)
{
	for (; *text; text += *text == '\n') {
		text += strspn(text, "0");
		if (isxdigit((unsigned char)*text))
			return true;
		text += strcspn(text, "\n");
	}
	return false;
}

/* kallsyms is always there; what counts is whether its addresses are more than zeroes. */
static void check_kallsyms(struct check_list *l)
{
	char text[4096];
	struct check *c;

	if (host_read_text(l->root, "/proc/kallsyms", text, sizeof(text)) <= 0) {
		c = check_add(l, "kallsyms", CHECK_PARTIAL,
			      "cannot be read: kernel functions have no names");
		check_mend(c, "use a kernel built with CONFIG_KALLSYMS=y");
		return;
	}
	if (!has_address(text)) {
		c = check_add(l, "kallsyms", CHECK_PARTIAL,
			      "addresses are hidden: kernel functions have no names");
		check_mend(c, "run with sudo, or with CAP_SYSLOG (see capabilities)");
		return;
	}
	check_add(l, "kallsyms", CHECK_GOOD, "readable");
}

/* Without it a BPF program reads the running kernel (image/kernel/kernel.h) where one may be. */
static void check_kcore(struct check_list *l)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/proc/kcore", l->root);
	if (!host_exists(l->root, "/proc/kcore")) {
		check_add(
			l, "kcore", CHECK_FACT,
			"no /proc/kcore: the kernel's instructions are read through BPF, by root");
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		close(fd);
		check_add(l, "kcore", CHECK_GOOD, "readable");
		return;
	}
	struct check *c =
		check_add(l, "kcore", CHECK_PARTIAL,
			  "may not be read: kernel functions have names, but no instructions");
	check_mend(c, "run list with sudo (the file needs cap_sys_rawio)");
}

static void check_debug_files(struct check_list *l)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct check *c;

	if (host_exists(l->root, "/usr/lib/debug/.build-id"))
		check_add(l, "debug_files", CHECK_GOOD, "/usr/lib/debug/.build-id");
	else
		check_add(l, "debug_files", CHECK_FACT,
			  "none in /usr/lib/debug: stripped programs show function starts only");
	if (urls && urls[strspn(urls, " ")]) {
		check_add(l, "debuginfod", CHECK_GOOD, "%s", urls);
		return;
	}
	c = check_add(l, "debuginfod", CHECK_FACT, "not configured");
	check_mend(c,
		   "export DEBUGINFOD_URLS=https://debuginfod.debian.net (sends build IDs there)");
}

void check_symbols(struct check_list *l)
{
	l->group = "symbols";
	check_kallsyms(l);
	check_kcore(l);
	check_debug_files(l);
}
